//! Holds README.md to what it says: its commands, and the scoreboard of papers.

use anyhow::Result;
use xshell::Shell;

use crate::{console, scoreboard, target};

/// The scoreboard of papers is what their claims make of what was measured, and commands print what is shown.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let narrows = target::narrows(shell, &["--release"])?;
    scoreboard::check(shell, &narrows)?;
    console::follow(shell, &narrows, "README.md")
}
