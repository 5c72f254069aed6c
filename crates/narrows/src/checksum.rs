//! Checksums of content, the same on every machine: BLAKE3, of which 128 bits distinguish files.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::input_file;

/// Size and checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sum {
    pub(crate) size: u64,
    pub(crate) blake3: String,
}

/// Of bytes: 32 hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    text(&blake3::hash(bytes))
}

/// Of the content of a regular file, which need not fit into memory.
///
/// # Errors
/// As [`input_file::open`], and if it cannot be read.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(input_file::open(path)?)?;
    Ok(text(&hasher.finalize()))
}

/// A hash as 32 hexadecimal digits.
pub(crate) fn text(hash: &blake3::Hash) -> String {
    hash.to_hex()[..32].to_owned()
}
