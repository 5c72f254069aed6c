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

const SWEEP: &str = "docs/which-full.toml";
/// Where its cells are; it resumes.
const OUT: &str = "out/which-full";
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
    cmd!(shell, "{narrows} sweep {SWEEP} --yes --out {OUT}").run()?;
    cmd!(shell, "{python} {PAGE} {OUT}").run()?;
    Ok(())
}
