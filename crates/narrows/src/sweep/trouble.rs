//! Why a cell has no results.

use std::io;
use std::path::Path;

use crate::diagnostic::Rejection;
use crate::results::cannot_write;

/// Why a cell has no results.
#[derive(Debug)]
pub struct Trouble {
    /// The error.
    pub rejection: Rejection,
    /// All further cells would fail as well: there is no room, or nothing may be written.
    pub for_all: bool,
    /// Trying again may help.
    pub again: bool,
}

impl From<Rejection> for Trouble {
    fn from(rejection: Rejection) -> Self {
        Self { rejection, for_all: false, again: false }
    }
}

impl From<Trouble> for Rejection {
    fn from(trouble: Trouble) -> Self {
        trouble.rejection
    }
}

impl Trouble {
    /// Something that could not be written.
    pub(super) fn written(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let for_all = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | ReadOnlyFilesystem);
        let diagnostic = cannot_write(path, error);
        let help = "finished cells are kept; make room and start again to go on";
        let diagnostic = if for_all { diagnostic.help(help) } else { diagnostic };
        Self { rejection: diagnostic.into(), for_all, again: true }
    }
}
