//! Results of cells in a folder: each there as a whole or not at all.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Manifest;
use super::task::Task;
use crate::diagnostic::{Checked, Code, Diagnostic, Rejection};
use crate::input_file::{LARGEST_SUMMARY, read_bytes};
use crate::results::{Results, Staging, cannot_write, make_readable, write_folder, write_text};

/// What was asked, in the folder of a sweep.
const MANIFEST: &str = "sweep.json";
/// What belongs to a cell, in its folder.
const CELL: &str = "cell.json";
/// Where cells are.
const CELLS: &str = "cells";

/// The folder of a sweep: `sweep.json`, `cells/ID/` with the results of each cell, and the data set.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// None if it is only looked at.
    staging: Option<Staging>,
}

/// `cell.json`: which files belong to a cell, with their sizes. A cell counts only if all of them are there, so one that was not on the
/// disk yet when the power failed is run again.
#[derive(Debug, Deserialize, Serialize)]
struct Complete {
    id: String,
    engine: String,
    seed: u64,
    files: BTreeMap<String, u64>,
}

/// Why a cell has no results.
#[derive(Debug)]
pub struct Trouble {
    /// What went wrong.
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

impl Store {
    /// Opens the folder of a sweep, which is made if it is not there, and says in it what was asked.
    ///
    /// # Errors
    /// If it cannot be written to, or belongs to something else.
    pub fn open(folder: &Path, manifest: &Manifest) -> Checked<Self> {
        let failed = |error: io::Error| cannot_write(folder, &error);
        Self::look(folder, manifest)?;
        std::fs::create_dir_all(folder.join(CELLS)).map_err(failed)?;
        let staging = Some(Staging::begin(folder).map_err(failed)?);
        let store = Self { folder: folder.to_owned(), staging };
        let text = manifest.to_text();
        if std::fs::read_to_string(folder.join(MANIFEST)).ok().as_ref() != Some(&text) {
            let staged = store.staging().join(MANIFEST);
            let write = write_text(&staged, &text, true);
            write.and_then(|()| std::fs::rename(staged, folder.join(MANIFEST))).map_err(failed)?;
        }
        Ok(store)
    }

    /// The same to look at what is there: nothing is made, nothing can be put.
    ///
    /// # Errors
    /// If the folder belongs to something else.
    pub fn look(folder: &Path, manifest: &Manifest) -> Checked<Self> {
        let failed = |error: io::Error| cannot_write(folder, &error);
        if let Some(other) = Self::manifest(folder)?.filter(|other| other.name != manifest.name) {
            let message = format!("{} has the sweep \"{}\"", folder.display(), other.name);
            return Err(Diagnostic::error(Code::OutputExists, message)
                .help("choose another with --out")
                .into());
        }
        if !folder.join(MANIFEST).exists() && is_used(folder).map_err(failed)? {
            let message = format!("{} exists, and is no folder of a sweep", folder.display());
            return Err(Diagnostic::error(Code::OutputExists, message)
                .help("choose another with --out")
                .into());
        }
        Ok(Self { folder: folder.to_owned(), staging: None })
    }

    /// What was asked of the sweep in a folder; none if there is none.
    ///
    /// # Errors
    /// If there is something else in its place.
    pub fn manifest(folder: &Path) -> Checked<Option<Manifest>> {
        let path = folder.join(MANIFEST);
        let unreadable = |error: &dyn std::fmt::Display| {
            Diagnostic::error(Code::BadResults, format!("cannot read {}: {error}", path.display()))
        };
        match read_bytes(&path, LARGEST_SUMMARY) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).map_err(|error| unreadable(&error))?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let message = format!("{} is not a folder", folder.display());
                Err(Diagnostic::error(Code::OutputExists, message).help("choose another with --out").into())
            }
            Err(error) => Err(unreadable(&error).into()),
        }
    }

    /// The folder of the sweep.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A hidden folder for what is not finished.
    pub(super) fn staging(&self) -> &Path {
        self.staging.as_ref().expect("a store that is written to was opened to write").path()
    }

    /// The folder of a cell, whether it is there or not.
    pub fn cell(&self, id: &str) -> PathBuf {
        cell_in(&self.folder, id)
    }

    /// The folder of a cell in the folder of a sweep.
    pub(super) fn place(folder: &Path, id: &str) -> PathBuf {
        cell_in(folder, id)
    }

    /// Whether the results of a cell are in the folder of a sweep.
    pub(super) fn holds(folder: &Path, id: &str) -> bool {
        is_complete(&cell_in(folder, id), id)
    }

    /// The results of a cell are there.
    pub fn has(&self, id: &str) -> bool {
        Self::holds(&self.folder, id)
    }

    /// The value of a metric in the results of a cell; none if there was nothing to take it of.
    ///
    /// # Errors
    /// If the cell cannot be read.
    pub(super) fn metric(folder: &Path, id: &str, name: &str) -> Checked<Option<f64>> {
        Ok(summary(&cell_in(folder, id))?["metrics"][name].as_f64())
    }

    /// Begins a cell: a folder to write its results into.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn begin(&self, id: &str) -> Result<Begun<'_>, Trouble> {
        let folder = tempfile::Builder::new().prefix(id).tempdir_in(self.staging());
        let folder = folder.map_err(|error| Trouble::written(&self.cell(id), &error))?;
        Ok(Begun { store: self, id: id.to_owned(), folder })
    }

    /// Puts results that came from elsewhere: the files of [`Task::run_to_bytes`].
    ///
    /// # Errors
    /// If they cannot be written, or are not complete.
    pub fn put(&self, id: &str, files: &[(String, Vec<u8>)]) -> Result<(), Trouble> {
        let begun = self.begin(id)?;
        for (name, content) in files {
            let plain = Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
            let path = begun.path().join(name);
            let written =
                if plain { std::fs::write(&path, content) } else { Err(io::ErrorKind::InvalidInput.into()) };
            written.map_err(|error| Trouble::written(&self.cell(id), &error))?;
        }
        begun.finish()
    }

    /// Copies a cell from the folder of another sweep, if it is there and not here.
    pub(super) fn copy(&self, id: &str, from: &Path) -> Result<(), Trouble> {
        let source = cell_in(from, id);
        if self.has(id) || !is_complete(&source, id) {
            return Ok(());
        }
        let files = collect(&source).map_err(|error| Trouble::written(&source, &error))?;
        self.put(id, &files)
    }
}

/// A cell in the making; dropped before [`Begun::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Begun<'a> {
    store: &'a Store,
    id: String,
    folder: tempfile::TempDir,
}

impl Begun<'_> {
    /// Where results are written to.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the cell in its place. If another process was faster, its results stay: they are the same.
    ///
    /// # Errors
    /// If it is not complete, or cannot be renamed.
    pub fn finish(self) -> Result<(), Trouble> {
        let target = self.store.cell(&self.id);
        if !is_complete(self.path(), &self.id) {
            let message = format!("the results of cell {} are not complete", self.id);
            return Err(Rejection::from(Diagnostic::error(Code::BadTask, message)).into());
        }
        let place = || {
            make_readable(self.path(), 0o755)?;
            if std::fs::rename(self.path(), &target).is_ok() || self.store.has(&self.id) {
                return Ok(());
            }
            // What stands there is no whole cell.
            let broken = self.store.staging().join(format!("broken-{}", self.id));
            std::fs::rename(&target, broken)?;
            std::fs::rename(self.path(), &target)
        };
        place().map_err(|error| Trouble::written(&target, &error))
    }
}

/// Writes the results of a cell into a folder.
pub(super) fn write_cell(results: &Results, task: &Task, folder: &Path) -> Result<(), Trouble> {
    // They are not flushed to the disk: `cell.json` tells what was not written.
    write_folder(results, folder, false)
        .map_err(|(name, error)| Trouble::written(&folder.join(name), &error))?;
    let complete = || {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            files.insert(entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len());
        }
        let complete = Complete { id: task.id.clone(), engine: task.engine.clone(), seed: task.seed, files };
        let text = serde_json::to_string_pretty(&complete).unwrap_or_default() + "\n";
        write_text(&folder.join(CELL), &text, false)
    };
    complete().map_err(|error| Trouble::written(folder, &error))
}

/// All files of a folder.
pub(super) fn collect(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}

fn cell_in(folder: &Path, id: &str) -> PathBuf {
    folder.join(CELLS).join(id)
}

/// The folder holds the whole results of a cell.
fn is_complete(folder: &Path, id: &str) -> bool {
    let complete = read_bytes(&folder.join(CELL), LARGEST_SUMMARY).ok();
    let Some(complete) = complete.and_then(|text| serde_json::from_slice::<Complete>(&text).ok()) else {
        return false;
    };
    let is_there = |(name, size): (&String, &u64)| {
        std::fs::metadata(folder.join(name)).is_ok_and(|metadata| metadata.len() == *size)
    };
    complete.id == id && complete.files.contains_key("run.json") && complete.files.iter().all(is_there)
}

/// `run.json` of a cell.
pub(super) fn summary(cell: &Path) -> Checked<Value> {
    let path = cell.join("run.json");
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("cannot read {}: {error}", path.display());
        let help = format!("remove {} and start again, and it is run anew", cell.display());
        Diagnostic::error(Code::BadResults, message).help(help)
    };
    let text = read_bytes(&path, LARGEST_SUMMARY).map_err(|error| unreadable(&error))?;
    Ok(serde_json::from_slice(&text).map_err(|error| unreadable(&error))?)
}

/// Something is there that does not belong to a sweep.
fn is_used(folder: &Path) -> io::Result<bool> {
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                let name = entry?.file_name();
                let name = name.to_string_lossy();
                if name != CELLS && !name.starts_with('.') {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
