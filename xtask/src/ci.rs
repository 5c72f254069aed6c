//! What must hold before a change is taken.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{fuzz, guide, instructions, python, readme, repro, viewers};

/// All tests: of units, of properties, of scenarios, of documentation, of the Python package.
pub(crate) fn test(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo test --workspace --quiet").run()?;
    python::run(shell, &python::Arguments::default())
}

/// Everything.
pub(crate) fn all(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo fmt --all --check").run()?;
    cmd!(shell, "cargo clippy --workspace --all-targets --quiet -- --deny warnings").run()?;
    test(shell)?;
    {
        let _denied = shell.push_env("RUSTDOCFLAGS", "--deny warnings");
        cmd!(shell, "cargo doc --workspace --no-deps --document-private-items --quiet").run()?;
    }
    guide::run(shell, &guide::Arguments::default())?;
    viewers::run(shell)?;
    readme::run(shell)?;
    repro::quick(shell)?;
    instructions::run(shell, &instructions::Arguments::default())?;
    fuzz::run(shell, &fuzz::Arguments::short())
}
