//! All runs of a command, as far as those who watch care.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use narrows::live::{Control, Watched};
use narrows::plan::Plan;

/// State shared by those who run and those who watch.
#[derive(Debug)]
pub(crate) struct Board {
    runs: Vec<Run>,
    pub(super) control: Arc<Control>,
    /// All results are written.
    finished: AtomicBool,
    /// Something went wrong: the picture is to go at once.
    abandoned: AtomicBool,
}

#[derive(Debug)]
struct Run {
    plan: Arc<Plan>,
    name: String,
    stage: Mutex<Stage>,
}

#[derive(Debug)]
enum Stage {
    Waiting,
    Running(Watched, Instant),
    Over(Watched, Duration),
    /// Over, and what there was to see is not kept.
    Forgotten,
}

/// A run that can be shown.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) watched: Watched,
    pub(super) elapsed: Duration,
    pub(super) is_over: bool,
}

/// Number of runs in each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) waiting: usize,
    pub(super) running: usize,
    pub(super) over: usize,
}

impl Board {
    /// For these runs, each with a name.
    pub(crate) fn new(runs: impl IntoIterator<Item = (Arc<Plan>, String)>) -> Arc<Self> {
        let run = |(plan, name)| Run { plan, name, stage: Mutex::new(Stage::Waiting) };
        Arc::new(Self {
            runs: runs.into_iter().map(run).collect(),
            control: Arc::default(),
            finished: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        })
    }

    /// A run begins on so many threads.
    pub(crate) fn begin(&self, number: usize, threads: usize) -> Watched {
        let watched = Watched::new(&self.runs[number].plan, threads, &self.control);
        *self.stage(number) = Stage::Running(watched.clone(), Instant::now());
        watched
    }

    /// A run is over. What there was to see of the runs that were over before is forgotten.
    pub(crate) fn finish(&self, number: usize) {
        for other in (0..self.runs.len()).filter(|other| *other != number) {
            let mut stage = self.stage(other);
            if matches!(*stage, Stage::Over(..)) {
                *stage = Stage::Forgotten;
            }
        }
        let mut stage = self.stage(number);
        *stage = match std::mem::replace(&mut *stage, Stage::Forgotten) {
            Stage::Running(watched, began) => Stage::Over(watched, began.elapsed()),
            other => other,
        };
    }

    /// All results are written.
    pub(super) fn close(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    pub(super) fn plan(&self, number: usize) -> &Arc<Plan> {
        &self.runs[number].plan
    }

    pub(super) fn name(&self, number: usize) -> &str {
        &self.runs[number].name
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// A run as it can be shown, if it can.
    pub(super) fn sight(&self, number: usize) -> Option<Sight> {
        match &*self.stage(number) {
            Stage::Running(watched, began) => {
                Some(Sight { watched: watched.clone(), elapsed: began.elapsed(), is_over: false })
            }
            Stage::Over(watched, elapsed) => {
                Some(Sight { watched: watched.clone(), elapsed: *elapsed, is_over: true })
            }
            Stage::Waiting | Stage::Forgotten => None,
        }
    }

    pub(super) fn is_running(&self, number: usize) -> bool {
        matches!(*self.stage(number), Stage::Running(..))
    }

    /// The nearest run after `number`, or before it, of which there is something to see.
    pub(super) fn turn(&self, number: usize, forward: bool) -> usize {
        let len = self.len();
        let step = if forward { 1 } else { len - 1 };
        let others = (1..len).map(|steps| (number + steps * step) % len);
        others.into_iter().find(|other| self.sight(*other).is_some()).unwrap_or(number)
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for number in 0..self.len() {
            match &*self.stage(number) {
                Stage::Waiting => tally.waiting += 1,
                Stage::Running(..) => tally.running += 1,
                Stage::Over(..) | Stage::Forgotten => tally.over += 1,
            }
        }
        tally
    }

    fn stage(&self, number: usize) -> MutexGuard<'_, Stage> {
        self.runs[number].stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(runs: usize) -> Arc<Board> {
        let document = narrows::templates::find("dumbbell").unwrap().document().unwrap();
        let plan = Arc::new(Plan::new(document).unwrap());
        Board::new((0..runs).map(|run| (Arc::clone(&plan), format!("seed {run}"))))
    }

    #[test]
    fn runs_that_wait_are_passed_over() {
        let board = board(5);
        assert_eq!(board.turn(0, true), 0);
        board.begin(1, 1);
        board.begin(3, 1);
        assert_eq!([board.turn(1, true), board.turn(3, true), board.turn(1, false)], [3, 1, 3]);
        assert_eq!(board.tally(), Tally { waiting: 3, running: 2, over: 0 });
    }

    #[test]
    fn the_last_run_that_is_over_can_still_be_seen() {
        let board = board(3);
        for run in 0..3 {
            board.begin(run, 1);
            board.finish(run);
        }
        assert_eq!([0, 1, 2].map(|run| board.sight(run).is_some()), [false, false, true]);
        assert_eq!(board.tally(), Tally { waiting: 0, running: 0, over: 3 });
    }
}
