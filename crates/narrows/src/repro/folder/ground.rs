//! Where in a file something is wrong, and which names may stand there.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Place, Rejection};
use crate::document::Document;

/// A file, to say where in it something is wrong.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) document: Document,
}

impl Ground {
    pub(super) fn at(&self, path: &str, error: Diagnostic) -> Rejection {
        error.at(self.document.place(path)).into()
    }

    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        self.document.locate(span)
    }
}

/// A name that may be that of a file, on any system.
pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
}
