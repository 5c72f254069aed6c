//! Which control for which place: the sweep, and the page that it makes, docs/guide/which-control.md.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use xshell::{Shell, cmd};

use crate::{python, target};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Draw the cells that are stored, and run nothing
    #[arg(long)]
    stored: bool,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    narrows: Option<PathBuf>,
}

/// Sweeps, and where their cells are; they resume.
const SWEEPS: [[&str; 2]; 2] =
    [["docs/which-full.toml", "out/which-full"], ["docs/which-pairs.toml", "out/which-pairs"]];
const PAGE: &str = "docs/which/page.py";

/// Runs the cells that are missing, stores them as a table, and writes pictures and tables of the page.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let python = python::environment(shell)?;
    if arguments.stored {
        cmd!(shell, "{python} {PAGE}").run()?;
        return Ok(());
    }
    let build = || target::narrows(shell, &["--release"]);
    let narrows = arguments.narrows.clone().map_or_else(build, Ok)?;
    for [sweep, out] in SWEEPS {
        cmd!(shell, "{narrows} sweep {sweep} --yes --out {out}").run()?;
    }
    let [[_, cells], [_, pairs]] = SWEEPS;
    cmd!(shell, "{python} {PAGE} {cells} {pairs}").run()?;
    Ok(())
}
