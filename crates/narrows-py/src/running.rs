//! Long work beside Python: without its lock, with progress, ended by Ctrl-C.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use narrows::plan::Plan;
use narrows::run::{Options, fit_memory, fraction_done, run_all, too_many_threads};
use narrows::{repro, results};
use narrows_sim::Progress;
use pyo3::prelude::*;

use crate::error::{OrRaise, warn};
use crate::reproduction::Reproduction;
use crate::results::Results;
use crate::scenario::Scenario;

/// Time after which Python gets a say.
const TURN: Duration = Duration::from_millis(50);

/// Between work and those who watch it.
pub(crate) struct Watch<News> {
    stop: AtomicBool,
    latest: Mutex<Option<News>>,
}

impl<News> Watch<News> {
    /// Leaves news for the next turn of Python; older ones that nobody has received are forgotten.
    pub(crate) fn report(&self, news: News) -> ControlFlow<()> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(news);
        self.goes_on()
    }

    pub(crate) fn goes_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn take(&self) -> Option<News> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Does `work` in a thread of its own. Python's lock is free meanwhile; now and then its signals are looked at, and `receive` gets the
/// latest news. If one of them raises, the work is told to stop, and the exception goes on when it has.
pub(crate) fn beside<T: Send, News: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Watch<News>) -> T + Send,
    mut receive: impl FnMut(Python<'_>, News) -> PyResult<()> + Send,
) -> PyResult<T> {
    let watch = Watch { stop: AtomicBool::new(false), latest: Mutex::new(None) };
    py.detach(|| {
        thread::scope(|scope| {
            let (alive, ended) = channel::<()>();
            let watching = &watch;
            let worker = scope.spawn(move || {
                let _alive = alive; // dropped when the work ends, whichever way
                work(watching)
            });
            let mut raised = None;
            while ended.recv_timeout(TURN) == Err(RecvTimeoutError::Timeout) {
                if raised.is_some() {
                    continue;
                }
                let turn = Python::attach(|py| {
                    py.check_signals()?;
                    watch.take().map_or(Ok(()), |news| receive(py, news))
                });
                if let Err(error) = turn {
                    watch.stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            match (worker.join(), raised) {
                (Err(panic), _) => std::panic::resume_unwind(panic),
                (Ok(_), Some(error)) => Err(error),
                (Ok(done), None) => Ok(done),
            }
        })
    })
}

/// Runs a scenario. `progress` is called now and then with the fraction that is done, the simulated time in seconds, and packet-hops so
/// far.
#[pyfunction]
#[pyo3(signature = (scenario, *, seed, threads, force, progress))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Option<u64>,
    threads: usize,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let (plan, failure) = py.detach(|| scenario.plan(seed))?;
    let options = Options { threads, jobs: 1, force };
    let options = fit_memory(&[Arc::clone(&plan)], options).or_raise()?;
    let plan = py.detach(|| plan.drawn()).or_raise()?;
    warn(py, too_many_threads(threads).iter().chain(plan.remarks()), 1)?;
    let receive = |py: Python<'_>, now: Progress| {
        let Some(progress) = &progress else { return Ok(()) };
        let done = fraction_done(&plan, now.now);
        progress.call1(py, (done, now.now.as_secs_f64(), now.packet_hops)).map(drop)
    };
    let results =
        beside(py, |watch| narrows::run::run(&plan, options, |progress| watch.report(progress)), receive)?;
    match failure.take() {
        Some(raised) => Err(raised),
        None => {
            let results = results.or_raise()?;
            warn(py, results.doubts(), 1)?;
            Ok(Results::of(results))
        }
    }
}

/// Repeats the experiments of a paper. `progress` is called now and then with how many runs are done, and of how many.
#[pyfunction]
#[pyo3(signature = (paper, *, figure, quick, seeds, jobs, progress))]
pub(crate) fn reproduce(
    py: Python<'_>,
    paper: &str,
    figure: Option<&str>,
    quick: bool,
    seeds: Option<u32>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Reproduction> {
    let request = repro::Request { figure, quick, seeds };
    let mut study = repro::find(paper).and_then(|paper| repro::Study::new(paper, &request)).or_raise()?;
    let mut measured = Vec::new();
    loop {
        let more = measure_from(py, &study, measured.len(), jobs, progress.as_ref())?;
        measured.extend(more);
        if !study.extend(&measured).or_raise()? {
            break;
        }
    }
    Ok(Reproduction::of(study.conclude(measured)))
}

/// Measurements of the runs of a study from this number on.
fn measure_from(
    py: Python<'_>,
    study: &repro::Study,
    from: usize,
    jobs: usize,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Vec<repro::Measured>> {
    let plans: Vec<Arc<Plan>> = study.runs[from..].iter().map(|run| Arc::clone(&run.plan)).collect();
    let options = fit_memory(&plans, Options { threads: 1, jobs, force: false }).or_raise()?;
    let receive = |py: Python<'_>, done: usize| {
        progress.map_or(Ok(()), |progress| progress.call1(py, (from + done, study.runs.len())).map(drop))
    };
    let work = |watch: &Watch<usize>| {
        let done = Mutex::new(0);
        let finish = |run: usize, results: results::Results| {
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            let _ = watch.report(*done);
            drop(done);
            if results.complete { study.measure(from + run, &results) } else { repro::Measured::default() }
        };
        run_all(&plans, options, |_, _| watch.goes_on(), finish)
    };
    beside(py, work, receive)?.or_raise()
}
