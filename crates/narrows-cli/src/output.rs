//! Printing that does not fail: whoever reads may stop reading (`narrows list | head -1`), and a run goes on without them. What
//! a terminal would obey instead of showing it is replaced on the way ([`narrows::visible`]).

/// Prints a line to standard output.
macro_rules! say {
    () => { say!("") };
    ($($text:tt)*) => {{
        use std::io::Write;
        let text = format_args!($($text)*).to_string();
        let _ = writeln!(std::io::stdout().lock(), "{}", narrows::visible::visible_lines(&text));
    }};
}

/// Prints text to standard output as it is.
macro_rules! say_part {
    ($($text:tt)*) => {{
        use std::io::Write;
        let text = format_args!($($text)*).to_string();
        let _ = write!(std::io::stdout().lock(), "{}", narrows::visible::visible_lines(&text));
    }};
}

/// Prints a line to standard error, or later if the terminal shows something else.
macro_rules! complain {
    ($($text:tt)*) => {
        $crate::output::to_stderr(format_args!($($text)*))
    };
}

use std::fmt::Arguments;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use narrows::visible::visible_lines;

/// Lines that wait to be printed, if they have to.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

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
