//! Compares Narrows with theory and measurements, with the release build of the command.

use anyhow::Result;
use xshell::{Shell, cmd};

/// The long form: also writes docs/fidelity.md.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let out = "out/fidelity";
    cmd!(shell, "cargo run --release --quiet -- validate --out {out} --overwrite").run()?;
    shell.copy_file(format!("{out}/report.md"), "docs/fidelity.md")?;
    Ok(())
}

/// The short form.
pub(crate) fn quick(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo run --release --quiet -- validate --quick").run()?;
    Ok(())
}
