//! `cell.json`: the files of a cell with their checksums, so that a cell that is not as it was written is noticed.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::checksum::{self, Sum};
use crate::diagnostic::{Code, Diagnostic};
use crate::input_file::{LARGEST_SUMMARY, read_bytes};
use crate::results::write_text;

/// File in a cell's folder that lists the others.
pub(super) const CELL: &str = "cell.json";
/// More damaged cells than this are counted, not named.
const NAMED: usize = 20;
/// Every cell has a summary.
const SUMMARY: &str = "run.json";

/// In which state the results of a cell are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// They are not there.
    Missing,
    /// Every file is as it was written.
    Whole,
    /// Every file is there with its size. An older version wrote them, which kept no checksums.
    Unverified,
    /// This file is missing, or not as it was written.
    Damaged(String),
}

impl Health {
    /// The results may be used.
    pub fn is_sound(&self) -> bool {
        matches!(self, Self::Whole | Self::Unverified)
    }
}

/// A cell whose results are not as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Which one.
    pub id: String,
    /// The first of its files that is missing or not as it was written.
    pub file: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.file)
    }
}

/// Damaged cells in words, and what becomes of them: `2 cells are damaged and run again: ID (run.json), …`.
pub(super) fn damaged_cells(cells: &[Damaged], what: &str) -> String {
    let count = if cells.len() == 1 { "1 cell is".into() } else { format!("{} cells are", cells.len()) };
    let names: Vec<_> = cells.iter().take(NAMED).map(ToString::to_string).collect();
    let more = cells.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{count} damaged {what}: {}{more}", names.join(", "))
}

/// Warnings of cells that are damaged, with what becomes of them, and of those that could not be verified.
pub(super) fn warn_of_cells(damaged: &[Damaged], what: &str, unverified: u64) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if !damaged.is_empty() {
        warnings.push(Diagnostic::warning(Code::DamagedCells, damaged_cells(damaged, what)));
    }
    if unverified > 0 {
        let cells = if unverified == 1 { "1 cell has".into() } else { format!("{unverified} cells have") };
        let message =
            format!("{cells} no checksums, as an older version wrote them: only file sizes were compared");
        warnings.push(Diagnostic::warning(Code::DamagedCells, message));
    }
    warnings
}

/// Content of `cell.json`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Complete {
    id: String,
    engine: String,
    seed: u64,
    files: BTreeMap<String, Recorded>,
    /// Of all the above, written in the same way without this line; cells of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
}

/// Checksum or size of a file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Recorded {
    Sum(Sum),
    /// Its size, which was all that older versions kept.
    Size(u64),
}

impl Complete {
    /// As it is written, with its checksum.
    fn text(&mut self) -> String {
        self.checksum = None;
        self.checksum = Some(checksum::of_bytes(self.pretty().as_bytes()));
        self.pretty()
    }

    fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Writes `cell.json` beside the files of a cell, of which it is known what was written.
pub(super) fn seal(
    folder: &Path,
    id: &str,
    engine: &str,
    seed: u64,
    files: Vec<(String, Sum)>,
) -> io::Result<()> {
    let files = files.into_iter().map(|(name, sum)| (name, Recorded::Sum(sum))).collect();
    let (id, engine) = (id.to_owned(), engine.to_owned());
    let text = Complete { id, engine, seed, files, checksum: None }.text();
    write_text(&folder.join(CELL), &text, false)
}

/// Reads all files of a cell, and says whether they are those that were written.
pub(super) fn health(folder: &Path, id: &str) -> Health {
    let damaged = |file: &str| Health::Damaged(file.to_owned());
    let text = match read_bytes(&folder.join(CELL), LARGEST_SUMMARY).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => return damaged(CELL),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => return Health::Missing,
        Err(_) => return damaged(CELL),
    };
    let Ok(mut complete) = serde_json::from_str::<Complete>(&text) else { return damaged(CELL) };
    let sealed = complete.checksum.is_some();
    if complete.id != id || sealed && complete.text() != text || !complete.files.contains_key(SUMMARY) {
        return damaged(CELL);
    }
    let is_whole = |(name, recorded): &(&String, &Recorded)| {
        let path = folder.join(name);
        let has_size = |size| std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() == size);
        match recorded {
            Recorded::Sum(Sum { size, blake3 }) => {
                sealed && has_size(*size) && checksum::of_file(&path).is_ok_and(|found| found == *blake3)
            }
            Recorded::Size(size) => !sealed && has_size(*size),
        }
    };
    match complete.files.iter().find(|file| !is_whole(file)) {
        Some((name, _)) => damaged(name),
        None if sealed => Health::Whole,
        None => Health::Unverified,
    }
}

/// The files of a cell that is sound, `cell.json` included, with their content.
pub(super) fn collect(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let text = std::fs::read(folder.join(CELL))?;
    let complete: Complete = serde_json::from_slice(&text)?;
    let read = |name: &String| Ok((name.clone(), std::fs::read(folder.join(name))?));
    let files = complete.files.keys().map(read).collect::<io::Result<Vec<_>>>()?;
    Ok(files.into_iter().chain([(CELL.to_owned(), text)]).collect())
}
