//! The terminal while somebody watches, and as it was before.

use std::io::{IsTerminal, Stdout, stdout};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::Duration;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

pub(super) type Picture = Terminal<CrosstermBackend<Stdout>>;

/// The terminal shows a picture. Locked while one is drawn.
static UP: Mutex<bool> = Mutex::new(false);
static HOOK: Once = Once::new();

/// Refuses to watch where there is nothing to draw on.
pub(super) fn check() -> Checked<()> {
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    let why = match stdout().is_terminal() {
        false => "standard output is not a terminal",
        true if dumb => "the terminal cannot place text (TERM=dumb)",
        true => return Ok(()),
    };
    Err(refusal(why).into())
}

fn refusal(why: &str) -> Diagnostic {
    Diagnostic::error(Code::NoTerminal, format!("nothing to draw on: {why}"))
        .help("leave out --watch; [record] in a scenario keeps queues, links and windows over time for later")
}

/// Gets the terminal ready to draw on.
pub(super) fn open() -> Checked<Picture> {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
    let opened = enable_raw_mode().and_then(|()| {
        *lock() = true;
        // Not `Terminal::clear`, which asks the terminal where its cursor is; some never answer.
        execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All))?;
        Terminal::new(CrosstermBackend::new(stdout()))
    });
    opened.map_err(|error| {
        restore();
        refusal(&error.to_string()).into()
    })
}

/// Gives the terminal back as it was. May be called at any time, from any thread, however often.
pub(crate) fn restore() {
    for _ in 0..50 {
        match UP.try_lock() {
            Ok(up) => return give_back(up),
            Err(TryLockError::Poisoned(up)) => return give_back(up.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    // Whoever draws has panicked or hangs.
    write_back();
}

fn give_back(mut up: MutexGuard<'_, bool>) {
    if std::mem::take(&mut *up) {
        write_back();
    }
}

fn write_back() {
    // Nothing is left to be done if this fails.
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Leave to draw; none once the terminal was given back.
pub(super) fn leave_to_draw() -> Option<MutexGuard<'static, bool>> {
    Some(lock()).filter(|up| **up)
}

fn lock() -> MutexGuard<'static, bool> {
    UP.lock().unwrap_or_else(PoisonError::into_inner)
}
