//! Cells on the cores of this machine.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use narrows_proto::units::Bytes;

use super::Damaged;
use super::campaign::{Campaign, Failure, Settings, Tally, Want};
use super::store::Store;
use super::task::Task;
use super::trouble::Trouble;
use crate::diagnostic::{Checked, Rejection};
use crate::plan::available_memory;

/// Event of a cell.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It begins.
    Began(&'a Want),
    /// It is so far, from 0 to 1.
    Runs(&'a Want, f64),
    /// It is over, in one way or another, and the campaign is so far.
    Ended(&'a Want, Tally),
}

/// Outcome of a campaign.
#[derive(Debug)]
pub struct Report {
    /// Its progress.
    pub tally: Tally,
    /// Cells that could not be run.
    pub failures: Vec<Failure>,
    /// Cells that were damaged and had to be run again.
    pub damaged: Vec<Damaged>,
    /// It was requested to end early.
    pub interrupted: bool,
    /// Why nothing more can be run, if that is so.
    pub stopped: Option<Rejection>,
}

/// Runs a task into a folder; false if it was requested to end early.
type Execute<'a> = &'a (dyn Fn(&Task, &std::path::Path, &mut Reporter<'_>) -> Result<bool, Trouble> + Sync);
/// Hears how far a cell is, and answers whether it may go on.
type Reporter<'a> = dyn FnMut(f64) -> ControlFlow<()> + Send + 'a;

/// Runs all cells of a campaign: the costliest first, as many side by side as there is memory for. A cell that fails does not keep
/// others from being run. Whoever is notified may answer that it is enough.
///
/// # Errors
/// If a cell would need more memory than there is. Then none is run.
pub fn run(
    campaign: Campaign,
    store: &Store,
    settings: Settings,
    report: &(dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
) -> Checked<Report> {
    let available = available_memory().filter(|_| !settings.force);
    campaign.check_memory(available)?;
    let supplies = campaign.sweep().supplies();
    let execute = |task: &Task, folder: &std::path::Path, report: &mut Reporter<'_>| {
        task.run_into(&supplies, settings.threads, folder, report)
    };
    Ok(work(campaign, store, settings.jobs, available, report, &execute))
}

/// State shared by workers.
struct Shared<'a> {
    state: Mutex<Work>,
    /// Something ended.
    news: Condvar,
    store: &'a Store,
    available: Option<Bytes>,
    report: &'a (dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
    execute: Execute<'a>,
}

struct Work {
    campaign: Campaign,
    running: usize,
    /// The most memory that the cells being run need.
    memory: Bytes,
    interrupted: bool,
    stopped: Option<Rejection>,
}

fn work(
    campaign: Campaign,
    store: &Store,
    jobs: usize,
    available: Option<Bytes>,
    report: &(dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
    execute: Execute<'_>,
) -> Report {
    let work = Work { campaign, running: 0, memory: Bytes::ZERO, interrupted: false, stopped: None };
    let shared = Shared { state: Mutex::new(work), news: Condvar::new(), store, available, report, execute };
    std::thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(|| shared.work());
        }
        shared.work();
    });
    let Work { campaign, interrupted, stopped, .. } =
        shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let damaged = campaign.damaged().to_vec();
    Report { tally: campaign.tally(), failures: campaign.failures(), damaged, interrupted, stopped }
}

/// Outcome of the run of a cell.
enum Outcome {
    Done,
    Interrupted,
    Failed { reason: String, may_pass: bool },
    Stopped(Rejection),
}

impl Shared<'_> {
    /// Runs cells until there are none.
    fn work(&self) {
        while let Some(want) = self.next() {
            let outcome = if (self.report)(Event::Began(&want)).is_break() {
                Outcome::Interrupted
            } else {
                self.run(&want)
            };
            let tally = self.end(&want, outcome);
            if (self.report)(Event::Ended(&want, tally)).is_break() {
                self.lock().interrupted = true;
            }
            self.news.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next cell, as soon as there is memory for one; none if no more will come.
    fn next(&self) -> Option<Want> {
        let mut work = self.lock();
        loop {
            if work.interrupted || work.stopped.is_some() {
                return None;
            }
            // Alone, a cell may try.
            let free = self.available.filter(|_| work.running > 0);
            let free = free.map(|available| Bytes::new(available.get().saturating_sub(work.memory.get())));
            if let Some(want) = work.campaign.next(free) {
                work.running += 1;
                work.memory += want.memory;
                return Some(want);
            }
            if work.running == 0 {
                return None;
            }
            work = self.news.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, want: &Want) -> Outcome {
        let task = self.lock().campaign.sweep();
        let attempt = || {
            let task = task.task(want.point, want.seed)?;
            let begun = self.store.begin(&want.id)?;
            let mut report = |fraction: f64| (self.report)(Event::Runs(want, fraction));
            if !(self.execute)(&task, begun.path(), &mut report)? {
                return Ok(false);
            }
            begun.finish().map(|()| true)
        };
        match catch_unwind(AssertUnwindSafe(attempt)) {
            Ok(Ok(true)) => Outcome::Done,
            Ok(Ok(false)) => Outcome::Interrupted,
            Ok(Err(Trouble { rejection, for_all: true, .. })) => Outcome::Stopped(rejection),
            Ok(Err(Trouble { rejection, again, .. })) => {
                Outcome::Failed { reason: rejection.to_string(), may_pass: again }
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
                Outcome::Failed { reason: format!("the simulator gave up: {text}"), may_pass: true }
            }
        }
    }

    fn end(&self, want: &Want, outcome: Outcome) -> Tally {
        let mut work = self.lock();
        work.running -= 1;
        work.memory = Bytes::new(work.memory.get().saturating_sub(want.memory.get()));
        let noted = match outcome {
            Outcome::Done => work.campaign.done(&want.id, self.store),
            Outcome::Failed { reason, may_pass } => {
                work.campaign.failed(&want.id, &reason, may_pass, self.store)
            }
            Outcome::Interrupted => {
                work.interrupted = true;
                Ok(())
            }
            Outcome::Stopped(rejection) => Err(rejection),
        };
        if let Err(rejection) = noted {
            work.stopped.get_or_insert(rejection);
        }
        work.campaign.tally()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use serde_json::{Map, json};

    use super::*;
    use crate::diagnostic::{Code, Diagnostic};
    use crate::sweep::Sweep;
    use crate::templates;

    /// Executes nothing for four cells in a folder, of which each needs some memory.
    fn sweep_of_four(
        settings: Settings,
        available: Option<Bytes>,
        execute: Execute<'_>,
        after_each: &(dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
    ) -> Report {
        let place = tempfile::tempdir().unwrap();
        let grid = Map::from_iter([("stop.after".to_owned(), json!(["4 ms", "32 ms", "16 ms", "8 ms"]))]);
        let base = templates::find("incast").unwrap().document().unwrap();
        let sweep = Arc::new(Sweep::from_json("four", base, &Map::new(), &grid, None, None).unwrap());
        let manifest = Arc::new(sweep.manifest().unwrap());
        let store = Store::open(&place.path().join("out"), &manifest).unwrap();
        let campaign = Campaign::new(sweep, &manifest, &store, settings).unwrap();
        work(campaign, &store, settings.jobs, available, after_each, execute)
    }

    fn goes_on(_: Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Runs a cell, really.
    fn really(task: &Task, folder: &std::path::Path, report: &mut Reporter<'_>) -> Result<bool, Trouble> {
        task.run_into(&crate::sweep::Supplies::default(), 1, folder, report)
    }

    #[test]
    fn the_longest_cell_is_run_first() {
        let order = Mutex::new(Vec::new());
        let noted = |event: Event<'_>| {
            if let Event::Began(want) = event {
                order.lock().unwrap().push(want.point);
            }
            ControlFlow::Continue(())
        };
        let report = sweep_of_four(Settings::default(), None, &really, &noted);
        assert_eq!(report.tally.done, 4);
        assert!((report.tally.cost_done / report.tally.cost - 1.0).abs() < 1e-9, "sums in another order");
        assert_eq!(order.into_inner().unwrap(), [1, 2, 3, 0]);
    }

    #[test]
    fn a_cell_that_panics_is_told_with_its_reason_and_others_go_on() {
        let tries = AtomicU64::new(0);
        let panics = |task: &Task, folder: &std::path::Path, report: &mut Reporter<'_>| {
            if task.scenario.contains("after = \"32 ms\"") {
                tries.fetch_add(1, Ordering::Relaxed);
                panic!("backlog 7 of 5");
            }
            really(task, folder, report)
        };
        let settings = Settings { retries: 2, ..Settings::default() };
        let report = sweep_of_four(settings, None, &panics, &goes_on);
        assert_eq!((report.tally.done, report.tally.failed, tries.into_inner()), (3, 1, 3));
        assert_eq!(report.failures[0].want.point, 1);
        assert_eq!(report.failures[0].reason, "the simulator gave up: backlog 7 of 5");
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
        for (kind, tries_expected, done) in
            [(std::io::ErrorKind::TimedOut, 5, 4), (std::io::ErrorKind::StorageFull, 1, 0)]
        {
            let tries = AtomicU64::new(0);
            let once = |task: &Task, folder: &std::path::Path, report: &mut Reporter<'_>| {
                if tries.fetch_add(1, Ordering::Relaxed) == 0 {
                    return Err(Trouble::written(folder, &kind.into()));
                }
                really(task, folder, report)
            };
            let settings = Settings { retries: 1, ..Settings::default() };
            let report = sweep_of_four(settings, None, &once, &goes_on);
            assert_eq!((tries.into_inner(), report.tally.done), (tries_expected, done));
            assert_eq!(report.stopped.is_some(), done == 0, "without room nothing more is tried");
        }
    }

    #[test]
    fn a_scenario_that_is_refused_is_not_tried_again() {
        let tries = AtomicU64::new(0);
        let refuses = |_: &Task, _: &std::path::Path, _: &mut Reporter<'_>| {
            tries.fetch_add(1, Ordering::Relaxed);
            Err(Rejection::from(Diagnostic::error(Code::Csv, "a row with 3 fields")).into())
        };
        let settings = Settings { retries: 5, ..Settings::default() };
        let report = sweep_of_four(settings, None, &refuses, &goes_on);
        assert_eq!((report.tally.failed, tries.into_inner()), (4, 4));
    }

    #[test]
    fn cells_are_run_side_by_side_only_while_their_memory_fits() {
        for (available, most) in [(None, 4), (Some(Bytes::new(1)), 1)] {
            let (now, seen) = (AtomicU64::new(0), AtomicU64::new(0));
            let counts = |task: &Task, folder: &std::path::Path, report: &mut Reporter<'_>| {
                seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let result = really(task, folder, report);
                now.fetch_sub(1, Ordering::SeqCst);
                result
            };
            let settings = Settings { jobs: 4, ..Settings::default() };
            let report = sweep_of_four(settings, available, &counts, &goes_on);
            assert_eq!(report.tally.done, 4);
            assert!(seen.into_inner() <= most);
        }
    }

    #[test]
    fn whoever_is_told_may_end_it() {
        let enough = |event: Event<'_>| match event {
            Event::Ended(_, tally) if tally.done == 2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let report = sweep_of_four(Settings::default(), None, &really, &enough);
        assert_eq!((report.tally.done, report.interrupted), (2, true));
        let at_once = |_: Event<'_>| ControlFlow::Break(());
        assert_eq!(sweep_of_four(Settings::default(), None, &really, &at_once).tally.done, 0);
    }
}
