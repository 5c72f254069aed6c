//! Folders of shards put together.

use std::path::{Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::complete::{damaged_cells, warn_of_cells};
use super::manifest::KeptInput;
use super::trouble::Trouble;
use super::{Attached, Damaged, DataSet, Health, Manifest, Store, Supplies, assemble};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::inputs;

/// Outcome of a merge.
#[derive(Debug)]
pub struct Merged {
    /// The sweep as requested.
    pub manifest: Manifest,
    /// Metrics of its points.
    pub data: DataSet,
    /// Cells that are damaged in one folder and were taken from another.
    pub damaged: Vec<Damaged>,
    /// Number of cells without checksums, as an older version wrote them.
    pub unverified: u64,
}

/// Where the results of a cell were found.
#[derive(Default)]
struct Found {
    unverified: bool,
    damaged: Option<Damaged>,
    /// There are results that can be used.
    sound: bool,
}

/// Puts cells of several folders together in one, and writes the data set if none is missing. A cell that is damaged in one
/// folder is taken from another.
///
/// # Errors
/// If the folders are of different sweeps, cells are missing or damaged in all of them, or something cannot be written. Cells
/// that have been copied stay.
pub fn merge(folders: &[PathBuf], out: &Path) -> Checked<Merged> {
    let manifest = common(folders)?;
    let supplies = supplies(&manifest, folders)?;
    let store = Store::open(out, &manifest)?;
    let inputs: Vec<Attached> = manifest.inputs.iter().map(|input| input.kept.clone()).collect();
    store.keep(&inputs, &supplies)?;
    let ids: Vec<&String> = manifest.points.iter().flat_map(|point| &point.cells).collect();
    let take = |id: &&String| take(id, folders, &store);
    let found: Vec<Found> = ids.par_iter().map(take).collect::<Result<_, Trouble>>()?;
    let (sound, lost): (Vec<_>, Vec<_>) = found.into_iter().partition(|cell| cell.sound);
    let lost: Vec<Damaged> = lost.into_iter().filter_map(|cell| cell.damaged).collect();
    // Cells beyond those that are enough may be damaged: nobody needs them.
    let data = assemble(&manifest, &store).map_err(|rejection| match rejection.0.first() {
        Some(first) if first.code == Code::MissingCells && !lost.is_empty() => refuse(&lost).into(),
        _ => rejection,
    })?;
    let unverified = sound.iter().filter(|cell| cell.unverified).count() as u64;
    let damaged = sound.into_iter().filter_map(|cell| cell.damaged).collect();
    Ok(Merged { manifest, data, damaged, unverified })
}

impl Merged {
    /// Damage that was found, if any was.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        warn_of_cells(&self.damaged, "in one folder, and taken from another", self.unverified)
    }
}

fn refuse(lost: &[Damaged]) -> Diagnostic {
    let message = damaged_cells(lost, "and cannot be merged");
    let help = "restart the sweep in the folder of the shard, which runs damaged cells again, then merge";
    Diagnostic::error(Code::DamagedCells, message).help(help)
}

/// The sweep that all these folders belong to.
fn common(folders: &[PathBuf]) -> Checked<Manifest> {
    let mut first: Option<(Manifest, &Path)> = None;
    for folder in folders {
        let Some(manifest) = Store::manifest(folder)? else {
            let message = format!("{} holds no sweep.json", folder.display());
            let help = "name folders that narrows sweep has written, such as out/NAME";
            return Err(Diagnostic::error(Code::NoResults, message).help(help).into());
        };
        match &first {
            None => first = Some((manifest, folder)),
            Some((other, _)) if other.is_same(&manifest) => {}
            Some((other, place)) => {
                let (why, help) = if other.engine == manifest.engine {
                    let same =
                        "the same sweep, --set and --seeds, and the same content of the files it names";
                    ("they have different cells".to_owned(), same)
                } else {
                    (
                        format!("their engines are {} and {}", other.engine, manifest.engine),
                        "one version of Narrows",
                    )
                };
                let (place, folder) = (place.display(), folder.display());
                let message = format!("{place} and {folder} are of different sweeps: {why}");
                let help = format!("all shards need {help}");
                return Err(Diagnostic::error(Code::OtherSweep, message).help(help).into());
            }
        }
    }
    let none = || Diagnostic::error(Code::NoResults, "there is no folder to merge").into();
    first.map(|(manifest, _)| manifest).ok_or_else(none)
}

/// The files that scenarios name, each from the first folder that has it as it was.
fn supplies(manifest: &Manifest, folders: &[PathBuf]) -> Checked<Supplies> {
    let mut supplies = Supplies::default();
    for KeptInput { kept: Attached { name, hash }, .. } in &manifest.inputs {
        let read = |folder: &PathBuf| inputs::read(&inputs::input_in(folder, hash, name), hash);
        let mut tried = folders.iter().map(read);
        let content = tried.find(Result::is_ok).or_else(|| folders.first().map(read));
        if let Some(content) = content.transpose()? {
            supplies.files.insert(hash.clone(), content);
        }
    }
    Ok(supplies)
}

/// Copies a cell from the first folder where it is whole, or at least has no checksums to compare with.
fn take(id: &str, folders: &[PathBuf], store: &Store) -> Result<Found, Trouble> {
    let mut found = Found::default();
    let mut unverified = None;
    let own = std::iter::once((None, store.health(id)));
    let theirs = folders.iter().map(|folder| (Some(folder), Store::health_in(folder, id)));
    for (folder, health) in own.chain(theirs) {
        match health {
            Health::Missing => {}
            Health::Damaged(file) => found.damaged = Some(Damaged { id: id.to_owned(), file }),
            Health::Unverified => unverified = unverified.or(Some(folder)),
            Health::Whole => {
                folder.map_or(Ok(()), |folder| store.copy(id, folder))?;
                return Ok(Found { sound: true, ..found });
            }
        }
    }
    if let Some(folder) = unverified {
        folder.map_or(Ok(()), |folder| store.copy(id, folder))?;
        return Ok(Found { sound: true, unverified: true, ..found });
    }
    Ok(found)
}
