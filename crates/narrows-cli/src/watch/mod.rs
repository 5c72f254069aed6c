//! `narrows run --watch`: runs drawn in the terminal while they go on.
//!
//! The picture has a thread of its own. It requests a look at the run it shows, and draws what comes. Runs do not wait for
//! it, unless somebody pauses them or limits their speed.

mod board;
mod draw;
mod state;
mod terminal;
mod theme;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use narrows::diagnostic::Checked;
use narrows::live::Monitor;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

pub(crate) use self::board::Board;
use self::draw::View;
pub(crate) use self::state::Pace;
use self::state::{Action, Stage, State};
use self::terminal::Picture;
pub(crate) use self::terminal::restore;
use self::theme::Theme;
use crate::output;
use crate::progress::{Memory, interrupt, is_interrupted};

/// Longest time that a key, or an answer, waits.
const NAP: Duration = Duration::from_millis(25);

/// Refuses to watch where there is nothing to draw on.
///
/// # Errors
/// With what to do instead.
pub(crate) fn check() -> Checked<()> {
    terminal::check()
}

/// The terminal as long as somebody watches. Messages to standard error wait meanwhile.
pub(crate) struct Screen {
    board: Arc<Board>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Begins to draw runs of this speed.
    ///
    /// # Errors
    /// If there is nothing to draw on.
    pub(crate) fn open(board: &Arc<Board>, pace: Pace) -> Checked<Self> {
        let picture = terminal::open()?;
        output::hold();
        if let Pace::Limit(limit) = pace {
            board.control.limit(limit);
        }
        let watcher = Watcher::new(Arc::clone(board), pace);
        let thread = Some(std::thread::spawn(move || watcher.watch(picture)));
        Ok(Self { board: Arc::clone(board), thread })
    }

    /// All results are written: the picture stays until somebody leaves it.
    pub(crate) fn close(mut self) {
        self.board.close();
        self.end();
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            // If it panicked it has said so.
            let _ = thread.join();
            restore();
            output::release();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.board.abandon();
        self.end();
    }
}

/// Looks at one run after the other.
struct Watcher {
    board: Arc<Board>,
    state: State,
    theme: Theme,
    memory: Memory,
    /// The run that is shown.
    run: usize,
    monitor: Monitor,
    elapsed: Duration,
    /// The look that was requested.
    asked: Option<u64>,
    next_ask: Instant,
}

impl Drop for Watcher {
    /// Nobody is left to end a pause.
    fn drop(&mut self) {
        self.board.control.release();
    }
}

impl Watcher {
    fn new(board: Arc<Board>, pace: Pace) -> Self {
        Self {
            monitor: Monitor::new(board.plan(0)),
            board,
            state: State { pace, ..State::default() },
            theme: Theme::of(|name| std::env::var(name).ok()),
            memory: Memory::default(),
            run: 0,
            elapsed: Duration::ZERO,
            asked: None,
            next_ask: Instant::now(),
        }
    }

    fn watch(mut self, mut picture: Picture) {
        let mut is_stale = true;
        loop {
            is_stale |= self.follow();
            if self.board.is_abandoned() || self.state.stage == Stage::Over && is_interrupted() {
                return;
            }
            // A terminal that is gone cannot be drawn on; the runs go on without it.
            if is_stale && self.draw(&mut picture).is_err() {
                return;
            }
            is_stale = false;
            match event::poll(NAP) {
                Ok(false) => {}
                Ok(true) => {
                    is_stale = true;
                    match event::read() {
                        Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                            let action = self.state.on_key(key, self.monitor.speed().simulated);
                            if self.act(action) {
                                return;
                            }
                        }
                        Ok(_) => {}
                        Err(_) => return,
                    }
                }
                Err(_) => return,
            }
        }
    }

    /// Does what a key requested; answers whether that is the end.
    fn act(&mut self, action: Action) -> bool {
        let control = &self.board.control;
        match action {
            Action::None => {}
            Action::Pause(paused) => {
                // First the question, then the pause: what is shown is where the run stands.
                if paused {
                    self.ask();
                } else {
                    self.monitor.rest(self.elapsed);
                }
                self.board.control.pause(paused);
            }
            Action::Limit(limit) => {
                control.limit(limit);
                if self.state.stage == Stage::Running {
                    self.monitor.rest(self.elapsed);
                }
            }
            Action::Stop => {
                interrupt();
                control.release();
            }
            Action::GiveUp => {
                restore();
                std::process::exit(130);
            }
            Action::Leave => return true,
            Action::Turn { forward } => self.show(self.board.turn(self.run, forward)),
        }
        false
    }

    /// Finds out what is new; answers whether there is anything.
    fn follow(&mut self) -> bool {
        let stage = match () {
            () if self.board.is_finished() => Stage::Over,
            () if is_interrupted() => Stage::Stopping,
            () => Stage::Running,
        };
        let mut is_new = stage != self.state.stage;
        if is_new {
            self.state.stage = stage;
            self.state.paused = false;
            self.board.control.release();
        }
        if !self.board.is_running(self.run) {
            let next = self.board.turn(self.run, true);
            if self.board.is_running(next) {
                self.show(next);
                is_new = true;
            }
        }
        let Some(sight) = self.board.sight(self.run) else { return is_new };
        self.elapsed = sight.elapsed;
        let live = &sight.watched.live;
        // At its end every run leaves a last look, whether somebody asked or not.
        if sight.is_over || self.asked.is_some_and(|asked| live.answered() >= asked) {
            is_new |= self.asked.take().is_some();
            let look = live.look();
            is_new |= look.until > self.monitor.at();
            self.monitor.take(look, self.elapsed);
        }
        if !sight.is_over && self.asked.is_none() && self.next_ask <= Instant::now() {
            self.ask();
            is_new = true;
        }
        is_new
    }

    fn ask(&mut self) {
        if let Some(sight) = self.board.sight(self.run) {
            self.asked = Some(sight.watched.live.ask());
            self.next_ask = Instant::now() + self.state.refresh();
        }
    }

    fn show(&mut self, run: usize) {
        if run != self.run {
            self.run = run;
            self.monitor = Monitor::new(self.board.plan(run));
            (self.asked, self.next_ask) = (None, Instant::now());
        }
    }

    fn draw(&mut self, picture: &mut Picture) -> std::io::Result<()> {
        let gone = || std::io::Error::other("the terminal was given back");
        let _leave = terminal::leave_to_draw().ok_or_else(gone)?;
        let view = View {
            monitor: &self.monitor,
            state: &self.state,
            theme: self.theme,
            run: self.board.name(self.run),
            tally: (self.board.len() > 1).then(|| self.board.tally()),
            elapsed: self.elapsed,
            megabytes: self.memory.megabytes(),
        };
        let mut rooms = Vec::new();
        picture.draw(|frame| rooms = draw::draw(frame, &view))?;
        for (panel, all, room) in rooms {
            self.state.bound(panel, all, room);
        }
        Ok(())
    }
}
