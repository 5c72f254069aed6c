//! Printing that does not end a run: whoever reads may stop reading (`narrows list | head -1`), and it continues without them. What could
//! not be printed for another reason is reported at the end. What
//! a terminal would obey instead of showing it is replaced on the way ([`narrows::visible`]).

/// Prints a line to standard output.
macro_rules! say {
    () => {
        say_part!("\n")
    };
    ($($text:tt)*) => {
        say_part!("{}\n", format_args!($($text)*))
    };
}

/// Prints text to standard output as it is.
macro_rules! say_part {
    ($($text:tt)*) => {
        $crate::output::to_stdout(format_args!($($text)*))
    };
}

/// Prints a line to standard error, or later if the terminal shows something else.
macro_rules! complain {
    ($($text:tt)*) => {
        $crate::output::to_stderr(format_args!($($text)*))
    };
}

use std::fmt::{self, Arguments};
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use narrows::diagnostic::{Code, Diagnostic};
use narrows::visible::visible_lines;
use ratatui::crossterm::terminal;

/// Why something could not be printed, the first time.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Lines that wait to be printed, if they have to.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Text that is collected instead of being printed, if any is.
static COLLECTED: Mutex<Option<String>> = Mutex::new(None);

pub(crate) fn to_stdout(text: Arguments<'_>) {
    if let Some(collected) = &mut *COLLECTED.lock().unwrap_or_else(PoisonError::into_inner) {
        let _ = fmt::Write::write_fmt(collected, text);
        return;
    }
    note(io::stdout().lock().write_fmt(text));
}

/// Shows what `print` prints page by page, as far as a terminal shows it and has less room: in `PAGER`, or `less`; as usual where
/// neither can be started.
pub(crate) fn paged<T>(print: impl FnOnce() -> T) -> T {
    let rows = match terminal::size() {
        Ok((_, rows)) if io::stdout().is_terminal() => usize::from(rows),
        _ => return print(),
    };
    *COLLECTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(String::new());
    let printed = print();
    let text = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    if text.lines().count() < rows || page(&text).is_err() {
        note(io::stdout().lock().write_all(text.as_bytes()));
    }
    printed
}

/// Starts a pager and waits until the reader closes it.
fn page(text: &str) -> io::Result<()> {
    let named = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = named.unwrap_or_else(|| "less -FRX".into());
    let mut words = pager.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("less"));
    let mut running = command.args(words).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = running.stdin.take() {
        // Who closes the pager early has read enough.
        let _ = input.write_all(text.as_bytes());
    }
    running.wait().map(|_| ())
}

/// Remembers that something could not be printed.
pub(crate) fn note(printed: io::Result<()>) {
    let Err(error) = printed else { return };
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

/// Prints what still waits to be printed. An error if not everything could be; none if nobody wants to read it.
pub(crate) fn finish() -> Result<(), Diagnostic> {
    note(io::stdout().lock().flush());
    match FAILED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write to standard output: {error}");
            Err(Diagnostic::error(Code::OutputFailed, message))
        }
        _ => Ok(()),
    }
}

pub(crate) fn to_stderr(text: Arguments<'_>) {
    to_stderr_as_it_is(visible_lines(&text.to_string()).into_owned());
}

/// The same for text with colors of our own, whose names have been made visible before.
pub(crate) fn to_stderr_as_it_is(text: String) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *held {
        Some(lines) => lines.push(text),
        None => {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    }
}

/// From now on nothing is printed to standard error.
pub(crate) fn hold() {
    *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// Prints what had to wait, and from now on everything at once.
pub(crate) fn release() {
    let lines = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    for line in lines.into_iter().flatten() {
        to_stderr_as_it_is(line);
    }
}
