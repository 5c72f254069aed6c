//! Mistakes of a scenario, collected so that one attempt shows all of them.

use narrows_proto::cc::OutOfRange;
use narrows_proto::units::Bytes;

use super::limits::Limits;
use crate::diagnostic::{Code, Diagnostic, Rejection, Severity};
use crate::document::{Document, MOST_MISTAKES};

/// The largest frame of a control packet.
pub(crate) const LARGEST_FRAME: Bytes = Bytes::new(u16::MAX as u64);

/// Collects what is wrong.
pub(crate) struct Checker<'a> {
    pub(super) document: &'a Document,
    pub(super) limits: Limits,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Mistakes beyond [`MOST_MISTAKES`].
    unlisted: usize,
}

impl<'a> Checker<'a> {
    pub(super) fn new(document: &'a Document, limits: Limits) -> Self {
        Self { document, limits, errors: Vec::new(), warnings: Vec::new(), unlisted: 0 }
    }

    /// Number of mistakes so far.
    pub(super) fn mistakes(&self) -> usize {
        self.errors.len() + self.unlisted
    }

    /// It is of no use to look for more mistakes.
    pub(super) fn is_full(&self) -> bool {
        self.unlisted > 0
    }

    /// Notes a mistake; where the diagnostic has no place of its own, it is that of the value at `path`.
    pub(crate) fn error(&mut self, path: &str, diagnostic: Diagnostic) {
        if self.errors.len() >= MOST_MISTAKES {
            self.unlisted += 1;
            return;
        }
        let place = diagnostic.place.clone().or_else(|| self.document.place(path));
        let diagnostic = diagnostic.at(place);
        match diagnostic.severity {
            Severity::Error => self.errors.push(diagnostic),
            Severity::Warning => self.warnings.push(diagnostic),
        }
    }

    /// Notes a setting out of its range, one of those at `path`. Whether all are in theirs.
    pub(crate) fn in_range(&mut self, path: &str, checked: Result<(), OutOfRange>) -> bool {
        let Err(error) = checked else { return true };
        let diagnostic = Diagnostic::error(Code::OutOfRange, error.to_string());
        self.error(&format!("{path}.{}", error.setting), diagnostic);
        false
    }

    pub(super) fn rejection(mut self) -> Rejection {
        if let Some(last) = self.errors.last().filter(|_| self.unlisted > 0) {
            self.errors.push(Diagnostic::error(last.code, "there are more mistakes than these"));
        }
        Rejection(self.errors)
    }
}

/// A checker within a table.
pub(crate) struct At<'a, 'b>(pub(crate) &'a mut Checker<'b>, pub(crate) String);

impl At<'_, '_> {
    pub(crate) fn error(&mut self, key: &str, diagnostic: Diagnostic) {
        self.0.error(&format!("{}.{key}", self.1), diagnostic);
    }

    pub(crate) fn unless(&mut self, holds: bool, key: &str, message: &str) {
        if !holds {
            self.error(key, Diagnostic::error(Code::OutOfRange, message));
        }
    }

    pub(crate) fn frame(&mut self, key: &str, size: Bytes) {
        let message = format!("a frame of {size}, expected 64 B to {LARGEST_FRAME}");
        self.unless((Bytes::new(64)..=LARGEST_FRAME).contains(&size), key, &message);
    }
}
