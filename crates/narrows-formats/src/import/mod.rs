//! Networks and flows of other simulators as scenarios.
//!
//! An importer reads text and returns text: a scenario, the traces beside it, and what it could not express. It accepts what the
//! programs accept that the files are written for. Numbers that a file announces are never used to reserve memory.

pub mod hpcc;
pub mod htsim;
mod scenario;
mod words;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source};

pub use self::words::Ignored;

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The scenario, as TOML.
    pub scenario: String,
    /// Files beside it: name and content.
    pub files: Vec<(String, String)>,
    /// What was read, in a line each.
    pub read: Vec<String>,
    /// What has no counterpart, or an inexact one.
    pub notes: Vec<Note>,
}

/// Something that has no counterpart, or an inexact one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What: a key of a file, for example.
    pub what: String,
    /// What became of it, and why.
    pub why: String,
}

impl Note {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// Larger files are refused.
const LARGEST: u64 = 1 << 30;

/// Reads a text.
///
/// # Errors
/// If it cannot be read, is no UTF-8, or is larger than 1 GiB.
pub fn read(path: &Path) -> Checked<Arc<Source>> {
    let failed = |message: String| Diagnostic::error(Code::InputFailed, message);
    let name = path.display();
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| failed(format!("cannot read {name}: {error}")))?;
    let read = file.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| failed(format!("cannot read {name}: {error}")))?;
    if text.len() as u64 > LARGEST {
        return Err(failed(format!("{name} is larger than 1 GiB, which is the most that is read")).into());
    }
    Ok(source(&name.to_string(), text))
}

/// A text with a name, for messages.
pub fn source(name: &str, text: impl Into<String>) -> Arc<Source> {
    Arc::new(Source { name: name.to_owned(), text: text.into() })
}
