//! Programs that chores use if they are installed.

use xshell::{Shell, cmd};

/// Names of Chromium.
pub(crate) const CHROMIUM: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Whether a program can be started.
pub(crate) fn is_installed(shell: &Shell, program: &str) -> bool {
    cmd!(shell, "{program} --version").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}
