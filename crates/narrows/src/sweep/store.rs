//! Results of cells in a folder: each there as a whole or not at all.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::complete::{self, Health, collect};
use super::trouble::Trouble;
use super::{Attached, Manifest, Supplies};
use crate::checksum;
use crate::diagnostic::{Checked, Code, Diagnostic, Rejection};
use crate::input_file::{LARGEST_SUMMARY, read_bytes};
use crate::inputs::input_in;
use crate::results::{Staging, cannot_write, make_readable, write_text};

/// The sweep as requested, in its folder.
const MANIFEST: &str = "sweep.json";
/// Where cells are.
const CELLS: &str = "cells";
/// Where it stands why cells failed, until they have been run.
const FAILED: &str = "failed";

/// The folder of a sweep: `sweep.json`, `cells/ID/` with the results of each cell, `failed/ID` with the reasons of those that
/// failed, `inputs/HASH/NAME` with the files that their scenarios name, and the data set.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// None if it is only looked at.
    staging: Option<Staging>,
    /// Cells that have been found sound. They do not change any more, so they are looked at once.
    sound: Mutex<HashMap<String, Health>>,
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
        let store = Self::join(folder)?;
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
        Ok(Self::at(folder))
    }

    /// The store in the folder of a sweep, to look at what is there.
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), staging: None, sound: Mutex::default() }
    }

    /// Opens the folder of a sweep that somebody else has begun.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn join(folder: &Path) -> Checked<Self> {
        let staging = Staging::begin(folder).map_err(|error| cannot_write(folder, &error))?;
        Ok(Self { staging: Some(staging), ..Self::at(folder) })
    }

    /// Where the folder of a sweep says what was asked.
    pub fn manifest_in(folder: &Path) -> PathBuf {
        folder.join(MANIFEST)
    }

    /// The folder of a cell of the sweep in a folder, whether it is there or not.
    pub fn cell_of(folder: &Path, id: &str) -> PathBuf {
        cell_in(folder, id)
    }

    /// The sweep that a folder was made for; none if there is none.
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

    /// The results of a cell are there, as they were written.
    pub fn has(&self, id: &str) -> bool {
        self.health(id).is_sound()
    }

    /// In which state the results of a cell are. All its files are read, once.
    pub fn health(&self, id: &str) -> Health {
        let known = || self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(health) = known().get(id) {
            return health.clone();
        }
        let health = Self::health_in(&self.folder, id);
        if health.is_sound() {
            known().insert(id.to_owned(), health.clone());
        }
        health
    }

    /// Looks at many cells, on all cores.
    pub(super) fn verify<'a>(&self, ids: impl Iterator<Item = &'a String>) {
        let ids: Vec<_> = ids.collect();
        ids.par_iter().for_each(|id| drop(self.health(id)));
    }

    /// In which state the results of a cell are in the folder of a sweep, which need not be there.
    pub fn health_in(folder: &Path, id: &str) -> Health {
        complete::health(&cell_in(folder, id), id)
    }

    /// Keeps the files that the scenarios of cells name, each once: `inputs/HASH/NAME`. A store that is only looked at keeps none.
    ///
    /// # Errors
    /// If one is not at hand, or cannot be written.
    pub fn keep(&self, inputs: &[Attached], supplies: &Supplies) -> Checked<()> {
        let Some(staging) = &self.staging else { return Ok(()) };
        for Attached { name, hash } in inputs {
            let place = input_in(&self.folder, hash, name);
            if checksum::of_file(&place).is_ok_and(|found| found == *hash) {
                continue;
            }
            let Some(content) = supplies.files.get(hash) else {
                let message = format!("{} is missing or damaged", place.display());
                return Err(Diagnostic::error(Code::BadResults, message).into());
            };
            let write = || {
                let folder = place.parent().unwrap_or(&self.folder);
                std::fs::create_dir_all(folder)?;
                let staged = tempfile::Builder::new().prefix(hash.as_str()).tempfile_in(staging.path())?;
                write_text(staged.path(), content.text(), true)?;
                make_readable(staged.path(), 0o644)?;
                staged.persist(&place).map(drop).map_err(|error| error.error)
            };
            write().map_err(|error: io::Error| cannot_write(&place, &error))?;
        }
        Ok(())
    }

    /// The value of a metric in the results of a cell; none if there was nothing to take it of.
    ///
    /// # Errors
    /// If the cell cannot be read.
    pub(super) fn metric(&self, id: &str, name: &str) -> Checked<Option<f64>> {
        Ok(summary(&self.cell(id))?["metrics"][name].as_f64())
    }

    /// Keeps why a cell failed. It is a remark: what cannot be written is left out.
    pub(super) fn note_failure(&self, id: &str, reason: &str) {
        let Some(staging) = &self.staging else { return };
        let (staged, folder) = (staging.path().join(format!("{FAILED}-{id}")), self.folder.join(FAILED));
        let write = write_text(&staged, reason, false).and_then(|()| std::fs::create_dir_all(&folder));
        let _ = write.and_then(|()| std::fs::rename(staged, folder.join(id)));
    }

    /// Why a cell failed; none if it did not, or nobody knows.
    pub(super) fn failure(&self, id: &str) -> Option<String> {
        let text = read_bytes(&self.folder.join(FAILED).join(id), LARGEST_SUMMARY).ok()?;
        String::from_utf8(text).ok()
    }

    /// A cell that failed before is there.
    fn forget_failure(&self, id: &str) {
        let folder = self.folder.join(FAILED);
        if std::fs::remove_file(folder.join(id)).is_ok() {
            // Only if it is empty.
            let _ = std::fs::remove_dir(folder);
        }
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

    /// Puts results that came from elsewhere: the files of [`Task::run_to_bytes`](super::Task::run_to_bytes).
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
        match complete::health(begun.path(), id) {
            Health::Damaged(file) => {
                let message =
                    format!("the results of cell {id} are not complete: {file} is not what was written");
                Err(Rejection::from(Diagnostic::error(Code::BadTask, message)).into())
            }
            health => begun.place(health),
        }
    }

    /// Copies a cell from the folder of another sweep, where it is sound.
    pub(super) fn copy(&self, id: &str, from: &Path) -> Result<(), Trouble> {
        let source = cell_in(from, id);
        self.put(id, &collect(&source).map_err(|error| Trouble::written(&source, &error))?)
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

    /// Puts the cell in its place, which is complete. If another process was faster, its results stay: they are the same.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn finish(self) -> Result<(), Trouble> {
        self.place(Health::Whole)
    }

    fn place(self, health: Health) -> Result<(), Trouble> {
        let target = self.store.cell(&self.id);
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
        place().map_err(|error| Trouble::written(&target, &error))?;
        self.store.forget_failure(&self.id);
        let known = &self.store.sound;
        known.lock().unwrap_or_else(PoisonError::into_inner).insert(self.id, health);
        Ok(())
    }
}

fn cell_in(folder: &Path, id: &str) -> PathBuf {
    folder.join(CELLS).join(id)
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
