//! Sweeps: what is asked, how far it is, and cells that are run wherever this is called.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use narrows::inputs::Content;
use narrows::sweep::{self, Event, Manifest, Ran, Settings, Store, Task, Trouble, Until, Want, Worker};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::controller::{Controllers, Failure};
use crate::error::{OrRaise, raise, warn};
use crate::points::PointSummary;
use crate::running::beside;
use crate::scenario::Scenario;
use crate::value::{to_json, to_map};

/// More different warnings than this are counted, not shown.
const WARNINGS: usize = 5;

/// Request for a sweep.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Sweep {
    sweep: Arc<sweep::Sweep>,
    /// Controls of Python that its cells name, and where the first exception is that they raise here.
    controllers: Controllers,
    failure: Arc<Failure>,
}

#[pymethods]
impl Sweep {
    #[new]
    #[pyo3(signature = (name, scenario, *, set, grid, seeds, until))]
    fn new(
        name: &str,
        scenario: &Scenario,
        set: &Bound<'_, PyDict>,
        grid: &Bound<'_, PyDict>,
        seeds: Option<u32>,
        until: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut controllers = scenario.own_controllers().clone();
        let until = until.map(|until| {
            let until: Result<Until, _> = serde_json::from_value(to_json(until, &mut controllers)?);
            until.map_err(|error| PyValueError::new_err(format!("until: {error}")))
        });
        let until = until.transpose()?;
        let (set, grid) = (to_map(set, &mut controllers)?, to_map(grid, &mut controllers)?);
        let (mut document, failure) = (scenario.document().clone(), Arc::default());
        controllers.attach(&mut document, &failure);
        document.forget_inputs();
        let sweep = sweep::Sweep::from_json(name, document, &set, &grid, seeds, until).or_raise()?;
        Ok(Self { sweep: Arc::new(sweep), controllers, failure })
    }

    /// Reads a `sweep.toml`.
    #[classmethod]
    #[pyo3(signature = (path, *, seeds))]
    fn load(_: &Bound<'_, PyType>, path: PathBuf, seeds: Option<u32>) -> PyResult<Self> {
        let mut sweep = sweep::Sweep::read(&path).or_raise()?;
        if let Some(seeds) = seeds {
            sweep.set_seeds(seeds).or_raise()?;
        }
        let (controllers, failure) = (Controllers::default(), Arc::default());
        Ok(Self { sweep: Arc::new(sweep), controllers, failure })
    }

    /// Controls of Python that its cells name, with the versions of their code: what `run_task` takes.
    #[getter]
    fn controllers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.controllers.to_travel(py)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.sweep.name
    }

    /// Refuses very many cells unless they are wanted.
    fn check_size(&self, wanted: bool) -> PyResult<()> {
        self.sweep.check_size(wanted).map_err(|mut rejection| {
            rejection
                .0
                .iter_mut()
                .for_each(|found| found.help = Some("sweep(…, yes=True) runs them all".into()));
            raise(&rejection)
        })
    }
}

/// Progress of a sweep, and the cells to be run next.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Campaign {
    state: Mutex<Option<sweep::Campaign>>,
    sweep: Arc<sweep::Sweep>,
    failure: Arc<Failure>,
    manifest: Arc<Manifest>,
    /// None when it is closed.
    store: Mutex<Option<Arc<Store>>>,
    settings: Settings,
    /// Failures of a campaign that was run on this machine, and its progress.
    ended: Mutex<Option<sweep::Report>>,
    /// Warnings about its points, why cells that were there are run again, and how many could not be verified.
    warnings: Vec<narrows::diagnostic::Diagnostic>,
}

impl Campaign {
    fn state<T>(&self, with: impl FnOnce(&mut sweep::Campaign) -> T) -> PyResult<T> {
        let mut state: MutexGuard<'_, _> = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            Some(campaign) => Ok(with(campaign)),
            None => Err(PyValueError::new_err("this campaign is over")),
        }
    }

    fn store(&self) -> PyResult<Arc<Store>> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.clone().ok_or_else(|| PyValueError::new_err("this campaign is closed"))
    }

    fn where_and_why(&self, failures: &[sweep::Failure]) -> Vec<(String, String)> {
        let one = |failure: &sweep::Failure| {
            let Want { point, seed, .. } = failure.want;
            (format!("{}, seed {seed}", self.manifest.describe(point)), failure.reason.clone())
        };
        failures.iter().map(one).collect()
    }
}

#[pymethods]
impl Campaign {
    #[new]
    #[pyo3(signature = (sweep, folder, *, jobs, threads, retries, force))]
    fn new(
        py: Python<'_>,
        sweep: &Sweep,
        folder: PathBuf,
        jobs: usize,
        threads: usize,
        retries: u32,
        force: bool,
    ) -> PyResult<Self> {
        let (sweep, failure) = (Arc::clone(&sweep.sweep), Arc::clone(&sweep.failure));
        let settings = Settings { jobs, threads, retries, force, shard: None };
        py.detach(|| {
            sweep.resume(&folder)?;
            let manifest = Arc::new(sweep.manifest()?);
            let store = Store::open(&folder, &manifest)?;
            let campaign = sweep::Campaign::new(Arc::clone(&sweep), &manifest, &store, settings)?;
            let warnings = campaign.found().into_iter().chain(campaign.warnings()).collect();
            let (state, ended) = (Mutex::new(Some(campaign)), Mutex::new(None));
            let store = Mutex::new(Some(Arc::new(store)));
            Ok(Self { state, sweep, failure, manifest, store, settings, ended, warnings })
        })
        .or_raise()
    }

    /// Tells what was found in its folder and what is suspicious about its points, as warnings of the function that is so many calls above the caller.
    fn warn(&self, py: Python<'_>, calls: usize) -> PyResult<()> {
        warn(py, self.warnings.iter().take(WARNINGS), calls)?;
        let more = self.warnings.len().saturating_sub(WARNINGS);
        let Some(next) = self.warnings.get(WARNINGS) else { return Ok(()) };
        let message = format!("{more} more warnings; those of a run are in its `warnings`");
        warn(py, [&narrows::diagnostic::Diagnostic::warning(next.code, message)], calls)
    }

    /// Runs all cells on the cores of this machine. `progress` is called now and then with the fraction that is done, the cells that
    /// are, and how many there are.
    #[pyo3(signature = (*, progress))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let Some(campaign) = self.state.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Err(PyValueError::new_err("this campaign is over"));
        };
        let store = self.store()?;
        let receive = |py: Python<'_>, tally: sweep::Tally| match &progress {
            Some(progress) => progress.call1(py, so_far(tally)).map(drop),
            None => Ok(()),
        };
        let report = beside(
            py,
            |watch| {
                let report = |event: Event<'_>| match event {
                    Event::Ended(_, tally) => watch.report(tally),
                    Event::Began(_) | Event::Runs(..) => watch.goes_on(),
                };
                sweep::run(campaign, &store, self.settings, &report)
            },
            receive,
        )?;
        if let Some(raised) = self.failure.take() {
            return Err(raised);
        }
        let report = report.or_raise()?;
        if let Some(rejection) = &report.stopped {
            return Err(raise(rejection));
        }
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        Ok(())
    }

    /// The next cell: its id, and the task to be run, as text. None if there is none until others have ended.
    fn next(&self) -> PyResult<Option<(String, String)>> {
        self.state(|campaign| {
            let Some(want) = campaign.next(None) else { return Ok(None) };
            let task = campaign.task(&want)?;
            Ok(Some((want.id, task.to_json())))
        })?
        .or_raise()
    }

    /// The files that scenarios name, by the hash of their content.
    fn files(&self, py: Python<'_>) -> BTreeMap<String, Py<PyBytes>> {
        let bytes =
            |(hash, content): (String, Content)| (hash, PyBytes::new(py, content.text().as_bytes()).unbind());
        self.sweep.supplies().files.into_iter().map(bytes).collect()
    }

    /// Whether the results of a cell are there.
    fn has(&self, id: &str) -> PyResult<bool> {
        Ok(self.store()?.has(id))
    }

    /// Puts results that come from elsewhere in their place.
    fn put(&self, py: Python<'_>, id: &str, files: BTreeMap<String, Vec<u8>>) -> PyResult<()> {
        let files: Vec<_> = files.into_iter().collect();
        let store = self.store()?;
        py.detach(|| store.put(id, &files)).map_err(|trouble| raise_trouble(&trouble))
    }

    /// A cell has been run, and its results are there.
    fn done(&self, id: &str) -> PyResult<()> {
        let store = self.store()?;
        self.state(|campaign| campaign.done(id, &store))?.or_raise()
    }

    /// A cell could not be run.
    fn failed(&self, id: &str, reason: &str) -> PyResult<()> {
        let store = self.store()?;
        self.state(|campaign| campaign.failed(id, reason, true, &store))?.or_raise()
    }

    /// The fraction that is done, the cells that are, and how many there are.
    fn progress(&self) -> PyResult<(f64, u64, u64)> {
        self.state(|campaign| so_far(campaign.tally()))
    }

    /// Cells that could not be run, and why.
    fn failures(&self) -> PyResult<Vec<(String, String)>> {
        if let Some(report) = &*self.ended.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(self.where_and_why(&report.failures));
        }
        self.state(|campaign| self.where_and_why(&campaign.failures()))
    }

    /// Number of cells in all, of those found, and of those run.
    fn tally<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = match &*report {
            Some(report) => report.tally,
            None => self.state(|campaign| campaign.tally())?,
        };
        let counts = PyDict::new(py);
        for (name, count) in [("cells", tally.cells), ("found", tally.found), ("run", tally.done)] {
            counts.set_item(name, count)?;
        }
        Ok(counts)
    }

    /// Lets go of the folder; what is not finished is removed from it.
    fn close(&self) {
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Writes the data set, and reports what each point measured.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<PointSummary>> {
        let store = self.store()?;
        let data = py.detach(|| sweep::assemble(&self.manifest, &store)).or_raise()?;
        let point = |summary: sweep::PointSummary| {
            let cells = &self.manifest.points[summary.point].cells;
            let cells = cells[..summary.seeds as usize].to_vec();
            PointSummary { axes: self.manifest.axes.clone(), cells, summary }
        };
        Ok(data.points.into_iter().map(point).collect())
    }
}

fn so_far(tally: sweep::Tally) -> (f64, u64, u64) {
    let fraction = if tally.cost > 0.0 { tally.cost_done / tally.cost } else { 1.0 };
    (fraction, tally.found + tally.done + tally.failed, tally.cells)
}

/// Runs a cell, with controls of Python by the names it has for them. Its results go into the store in the folder `store` if it is in reach from here, and are returned if it is not.
#[pyfunction]
#[pyo3(signature = (task, files, threads, store, controllers=None))]
pub(crate) fn run_task(
    py: Python<'_>,
    task: &str,
    files: BTreeMap<String, Vec<u8>>,
    threads: usize,
    store: Option<PathBuf>,
    controllers: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<BTreeMap<String, Py<PyBytes>>>> {
    let task = Task::from_json(task).or_raise()?;
    let controllers = controllers.map(Controllers::of).transpose()?.unwrap_or_default();
    let failure = Arc::default();
    let makers = controllers.makers(&failure);
    let run = |watch: &crate::running::Watch<()>| {
        WORKER.run(&task, &files, &makers, threads, store.as_deref(), |_| watch.goes_on())
    };
    let ran = beside(py, run, |_, ()| Ok(()))?;
    if let Some(raised) = failure.take() {
        return Err(raised);
    }
    match ran {
        Err(trouble) => Err(raise_trouble(&trouble)),
        Ok(Ran::Interrupted) => Err(PyValueError::new_err("the cell was interrupted")),
        Ok(Ran::Stored) => Ok(None),
        Ok(Ran::Bytes(files)) => {
            let bytes = |(name, content): (String, Vec<u8>)| (name, PyBytes::new(py, &content).unbind());
            Ok(Some(files.into_iter().map(bytes).collect()))
        }
    }
}

/// Knows the sweep that this process works for.
static WORKER: Worker = Worker::new();

/// An exception; `for_all` says that no other cell could be run either.
fn raise_trouble(trouble: &Trouble) -> PyErr {
    let error = raise(&trouble.rejection);
    Python::attach(|py| {
        let _ = error.value(py).setattr("for_all", trouble.for_all);
    });
    error
}

/// The known name that is most like another, if any is.
#[pyfunction]
pub(crate) fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    narrows::diagnostic::nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
}
