//! Progress of runs: simulated time, speed, time left, memory. And the effect of Ctrl-C.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use narrows::plan::Plan;
use narrows::run::fraction_done;
use narrows::sweep::{Event, Tally};
use narrows_sim::Progress;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Set by Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Effect on results when Ctrl-C ends runs early.
pub(crate) const KEPT: &str = "what there is will be written";
/// See [`KEPT`].
pub(crate) const LOST: &str = "nothing will be written";

/// See [`KEPT`].
pub(crate) const RUNS_KEPT: &str = "finished runs are kept";

/// See [`KEPT`].
pub(crate) const CELLS_KEPT: &str = "finished cells are kept";

/// See [`KEPT`].
pub(crate) const GENERATIONS_KEPT: &str = "finished generations are kept";

/// From now on the first Ctrl-C ends runs early, the second ends the program.
pub(crate) fn catch_interrupts(results: &'static str) {
    let caught = ctrlc::set_handler(move || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            crate::watch::restore();
            std::process::exit(130);
        }
        complain!("stopping; {results} (Ctrl-C again to give up)");
    });
    if let Err(error) = caught {
        complain!("Ctrl-C will lose results: {error}");
    }
}

/// Ctrl-C was pressed.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Ends runs early, as Ctrl-C does.
pub(crate) fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether a run may go on.
pub(crate) fn goes_on() -> ControlFlow<()> {
    if is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Progress of several runs.
pub(crate) struct Meter {
    bars: MultiProgress,
    runs: Vec<(Arc<Plan>, String, Mutex<Option<Lane>>)>,
    memory: Memory,
}

/// The bar of a run that has begun.
struct Lane {
    bar: ProgressBar,
    began: Instant,
    drawn: Instant,
}

const STEPS: u64 = 10_000;
const REDRAW: Duration = Duration::from_millis(100);

impl Meter {
    /// For these runs, each with a name.
    pub(crate) fn new(runs: Vec<(Arc<Plan>, String)>, quiet: bool) -> Self {
        let bars = MultiProgress::new();
        if quiet || !std::io::stderr().is_terminal() {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        let runs = runs.into_iter().map(|(plan, name)| (plan, name, Mutex::new(None))).collect();
        Self { bars, runs, memory: Memory::default() }
    }

    /// Hears of the progress of one run; answers whether it may go on.
    pub(crate) fn report(&self, run: usize, progress: Progress) -> ControlFlow<()> {
        let (plan, name, lane) = &self.runs[run];
        if let Ok(mut lane) = lane.lock() {
            let lane = lane.get_or_insert_with(|| Lane {
                bar: self.bars.add(bar(name)),
                began: Instant::now(),
                drawn: Instant::now(),
            });
            if lane.drawn.elapsed() > REDRAW {
                lane.drawn = Instant::now();
                let done = fraction_done(plan, progress.now);
                lane.bar.set_position((done * STEPS as f64) as u64);
                lane.bar.set_message(self.describe(lane, progress, done));
            }
        }
        goes_on()
    }

    fn describe(&self, lane: &Lane, progress: Progress, done: f64) -> String {
        let elapsed = lane.began.elapsed().as_secs_f64();
        let speed = progress.packet_hops as f64 / elapsed / 1e6;
        let left = if done > 0.0 { elapsed * (1.0 - done) / done } else { 0.0 };
        let memory = self.memory.megabytes();
        format!("{:.1} simulated · {speed:.1} M packet-hops/s · ETA {left:.0} s · {memory} MB", progress.now)
    }

    /// A run is over.
    pub(crate) fn finish(&self, run: usize) {
        if let Ok(mut lane) = self.runs[run].2.lock()
            && let Some(lane) = lane.take()
        {
            lane.bar.finish_and_clear();
        }
    }
}

fn bar(name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("  {prefix:18!} [{bar:25}] {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("##-");
    ProgressBar::new(STEPS).with_style(style).with_prefix(name.to_owned())
}

/// Progress of a sweep: all its cells as one bar.
pub(crate) struct Cells {
    bar: ProgressBar,
    began: Instant,
    memory: Memory,
    state: Mutex<CellsState>,
}

struct CellsState {
    tally: Tally,
    /// Cells that are being run: what they cost, and how far they are.
    running: HashMap<String, (f64, f64)>,
    drawn: Instant,
}

impl Cells {
    /// For a campaign that is so far.
    pub(crate) fn new(tally: Tally, quiet: bool) -> Self {
        let bar = bar("cells");
        if quiet || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let began = Instant::now();
        let state = CellsState { tally, running: HashMap::new(), drawn: began };
        Self { bar, began, memory: Memory::default(), state: Mutex::new(state) }
    }

    /// Hears what happens to a cell.
    pub(crate) fn report(&self, event: Event<'_>) {
        let Ok(mut state) = self.state.lock() else { return };
        match event {
            Event::Began(want) => {
                state.running.insert(want.id.clone(), (want.cost, 0.0));
            }
            Event::Runs(want, fraction) => {
                state.running.insert(want.id.clone(), (want.cost, fraction));
            }
            Event::Ended(want, tally) => {
                state.running.remove(&want.id);
                state.tally = tally;
            }
        }
        if !self.bar.is_hidden() && state.drawn.elapsed() > REDRAW {
            state.drawn = Instant::now();
            self.draw(&state);
        }
    }

    fn draw(&self, state: &CellsState) {
        let Tally { cells, found, done, failed, cost, cost_done, .. } = state.tally;
        let under_way: f64 = state.running.values().map(|(cost, fraction)| cost * fraction).sum();
        let part = if cost > 0.0 { ((cost_done + under_way) / cost).min(1.0) } else { 0.0 };
        let elapsed = self.began.elapsed().as_secs_f64();
        let left = if part > 0.0 { format!("{:.0} s", elapsed * (1.0 - part) / part) } else { "?".into() };
        let failures = if failed > 0 { format!(" · {failed} failed") } else { String::new() };
        let memory = self.memory.megabytes();
        self.bar.set_position((part * STEPS as f64) as u64);
        let ended = found + done + failed;
        self.bar.set_message(format!("{ended}/{cells}{failures} · ETA {left} · {memory} MB"));
    }

    /// Nothing more will happen.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Memory of this process, looked up now and then.
#[derive(Default)]
pub(crate) struct Memory {
    megabytes: AtomicU64,
    asked: Mutex<Option<Instant>>,
}

impl Memory {
    pub(crate) fn megabytes(&self) -> u64 {
        if let Ok(mut asked) = self.asked.try_lock()
            && asked.is_none_or(|asked| asked.elapsed() > Duration::from_millis(500))
        {
            *asked = Some(Instant::now());
            let own = Pid::from_u32(std::process::id());
            let mut system = System::new();
            let what = ProcessRefreshKind::nothing().with_memory();
            system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), true, what);
            let bytes = system.process(own).map_or(0, sysinfo::Process::memory);
            self.megabytes.store(bytes / 1_000_000, Ordering::Relaxed);
        }
        self.megabytes.load(Ordering::Relaxed)
    }
}
