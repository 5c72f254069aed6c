//! A process that runs cells for a sweep whose folder it may see.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use narrows_proto::cc::custom::Maker;

use super::task::CellFiles;
use super::trouble::Trouble;
use super::{Store, Task};

/// A process that runs cells, one after the other or side by side.
#[derive(Debug, Default)]
pub struct Worker {
    /// The sweep that it works for. Its `sweep.json` has all cells, so it is not read for each of them.
    known: Mutex<Option<Known>>,
    #[cfg(test)]
    reads: std::sync::atomic::AtomicU32,
}

/// Outcome of a cell.
#[derive(Debug)]
pub enum Ran {
    /// It was requested to end early.
    Interrupted,
    /// Its results are in the folder of the sweep.
    Stored,
    /// Its results, as the folder of the sweep is not in reach.
    Bytes(CellFiles),
}

/// Cells of the sweep in a folder.
#[derive(Debug)]
struct Known {
    folder: PathBuf,
    /// When `sweep.json` was written, and how long it is.
    version: (SystemTime, u64),
    ids: HashSet<String>,
}

impl Worker {
    /// One that knows no sweep yet.
    pub const fn new() -> Self {
        Self {
            known: Mutex::new(None),
            #[cfg(test)]
            reads: std::sync::atomic::AtomicU32::new(0),
        }
    }

    /// Runs a cell with the content of its files by hash, and makers by name. Its results go into the `folder` of the sweep, if that is in
    /// reach from here.
    ///
    /// # Errors
    /// As [`Task::run_into`] and [`Task::run_to_bytes`].
    pub fn run(
        &self,
        task: &Task,
        files: &BTreeMap<String, Vec<u8>>,
        makers: &BTreeMap<String, Arc<dyn Maker>>,
        threads: usize,
        folder: Option<&Path>,
        progress: impl FnMut(f64) -> ControlFlow<()> + Send,
    ) -> Result<Ran, Trouble> {
        let Some(folder) = folder.filter(|folder| self.waits(folder, &task.id)) else {
            let results = task.run_to_bytes(files, makers, threads, progress)?;
            return Ok(results.map_or(Ran::Interrupted, Ran::Bytes));
        };
        let store = Store::join(folder)?;
        // Somebody else has run it, or this worker has and was not heard.
        if store.has(&task.id) {
            return Ok(Ran::Stored);
        }
        let begun = store.begin(&task.id)?;
        if !task.run_into(&task.supplies(files, makers)?, threads, begun.path(), progress)? {
            return Ok(Ran::Interrupted);
        }
        begun.finish().map(|()| Ran::Stored)
    }

    /// The sweep in a folder has a cell.
    fn waits(&self, folder: &Path, id: &str) -> bool {
        let metadata = std::fs::metadata(Store::manifest_in(folder)).ok();
        let version = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        let Some(version) = version else { return false };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = |known: &Known| known.folder == folder && known.version == version;
        if !known.as_ref().is_some_and(is_current) {
            #[cfg(test)]
            self.reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let manifest = Store::manifest(folder).ok().flatten();
            let points = manifest.into_iter().flat_map(|manifest| manifest.points);
            let ids = points.flat_map(|point| point.cells).collect();
            *known = Some(Known { folder: folder.to_owned(), version, ids });
        }
        known.as_ref().is_some_and(|known| known.ids.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use serde_json::{Map, json};

    use super::super::Sweep;
    use super::*;
    use crate::templates;

    fn sweep() -> Sweep {
        let grid = Map::from_iter([("stop.after".to_owned(), json!(["100 us", "200 us"]))]);
        let base = templates::find("incast").unwrap().document().unwrap();
        Sweep::from_json("two", base, &Map::new(), &grid, None, None).unwrap()
    }

    fn run(worker: &Worker, task: &Task, folder: Option<&Path>) -> Ran {
        let goes_on = |_| ControlFlow::Continue(());
        worker.run(task, &BTreeMap::new(), &BTreeMap::new(), 1, folder, goes_on).unwrap()
    }

    #[test]
    fn a_worker_reads_the_description_of_its_sweep_once_for_all_cells() {
        let (place, sweep, worker) = (tempfile::tempdir().unwrap(), sweep(), Worker::new());
        let store = Store::open(place.path(), &sweep.manifest().unwrap()).unwrap();
        let tasks = [0, 1].map(|point| sweep.task(point, 1).unwrap());
        for task in tasks.iter().chain(&tasks) {
            assert!(matches!(run(&worker, task, Some(place.path())), Ran::Stored));
            assert!(store.has(&task.id));
        }
        assert_eq!(worker.reads.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn results_come_back_where_the_folder_is_not_in_reach_and_are_the_same() {
        let (place, sweep, worker) = (tempfile::tempdir().unwrap(), sweep(), Worker::new());
        let task = sweep.task(0, 1).unwrap();
        let Ran::Bytes(files) = run(&worker, &task, Some(place.path())) else { panic!("no folder waits") };
        let store = Store::open(place.path(), &sweep.manifest().unwrap()).unwrap();
        run(&worker, &task, Some(place.path()));
        for (name, content) in files {
            assert_eq!(std::fs::read(store.cell(&task.id).join(&name)).unwrap(), content, "{name}");
        }
    }
}
