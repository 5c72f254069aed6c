//! What must hold before a change is taken.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{fuzz, guide, instructions, readme, repro};

/// All tests: of units, of properties, of scenarios, of documentation.
pub(crate) fn test(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo test --workspace --quiet").run()?;
    Ok(())
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
    readme::run(shell)?;
    repro::quick(shell)?;
    instructions::run(shell, &instructions::Arguments::default())?;
    fuzz::run(shell, &fuzz::Arguments::short())
}
