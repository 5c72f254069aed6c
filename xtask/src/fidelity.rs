//! Compares Narrows with theory and measurements, with the release build of the command.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::target;

/// The long form: also writes docs/fidelity.md.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let (narrows, out) = (target::narrows(shell, &["--release"])?, "out/fidelity");
    cmd!(shell, "{narrows} validate --out {out} --overwrite").run()?;
    shell.copy_file(format!("{out}/report.md"), "docs/fidelity.md")?;
    Ok(())
}

/// The short form.
pub(crate) fn quick(shell: &Shell) -> Result<()> {
    let narrows = target::narrows(shell, &["--release"])?;
    cmd!(shell, "{narrows} validate --quick").run()?;
    Ok(())
}
