//! Printing that does not fail: whoever reads may stop reading (`narrows list | head -1`), and a run goes on without them.

/// Prints a line to standard output.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

/// Prints text to standard output as it is.
macro_rules! say_part {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = write!(std::io::stdout().lock(), $($text)*);
    }};
}

/// Prints a line to standard error.
macro_rules! complain {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}
