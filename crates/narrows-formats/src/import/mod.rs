//! Networks and flows of other simulators as scenarios.
//!
//! An importer reads text and returns text: a scenario, the traces beside it, and what it could not express. It accepts what the
//! programs accept that the files are written for. Numbers that a file announces are never used to reserve memory.

pub mod chakra;
pub mod goal;
pub mod hpcc;
pub mod htsim;
mod scenario;
mod schedule;
mod words;

use std::path::Path;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Source};
use narrows::input_file;

pub use self::scenario::plain_name;
pub use self::schedule::Star;
pub use self::words::Ignored;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The scenario, as TOML.
    pub scenario: String,
    /// Files beside it: name and content.
    pub files: Vec<(String, String)>,
    /// Summary of the input, in lines.
    pub read: Vec<String>,
    /// Parts that have no counterpart, or an inexact one.
    pub notes: Vec<Note>,
}

/// Something that has no counterpart, or an inexact one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its subject: a key of a file, for example.
    pub what: String,
    /// Treatment of the subject, and the reason.
    pub why: String,
}

impl Note {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// Reads a text.
///
/// # Errors
/// If it cannot be read, is no UTF-8, or is larger than [`input_file::LARGEST_TABLE`].
pub fn read(path: &Path) -> Checked<Arc<Source>> {
    input_file::read_text(path, input_file::LARGEST_TABLE)
}

/// A text with a name, for messages.
pub fn source(name: &str, text: impl Into<String>) -> Arc<Source> {
    Arc::new(Source { name: name.to_owned(), text: text.into() })
}
