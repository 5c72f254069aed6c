//! Repeats papers, with the release build of the command.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use xshell::{Shell, cmd};

use crate::{scoreboard, target};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The paper; all of them if left out
    paper: Option<String>,
}

/// The long form: also writes docs/reproductions/PAPER.md and the scoreboard of README.md.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let narrows = target::narrows(shell, &["--release"])?;
    let papers = match &arguments.paper {
        Some(paper) => vec![paper.clone()],
        None => papers(shell, &narrows)?,
    };
    for paper in papers {
        cmd!(shell, "{narrows} repro {paper}").run()?;
        shell.create_dir("docs/reproductions")?;
        shell.copy_file(format!("out/repro/{paper}/report.md"), format!("docs/reproductions/{paper}.md"))?;
    }
    scoreboard::write(shell)
}

/// A paper that is a folder and not part of the program.
const EXAMPLE: &str = "./examples/dctcp-queue";

/// The short form of all papers, and of the example.
pub(crate) fn quick(shell: &Shell) -> Result<()> {
    let (folder, narrows) = (tempfile::tempdir()?, target::narrows(shell, &["--release"])?);
    for paper in papers(shell, &narrows)? {
        let out = folder.path().join(&paper);
        cmd!(shell, "{narrows} repro {paper} --quick --out {out}").run()?;
    }
    let out = folder.path().join("example");
    cmd!(shell, "{narrows} repro {EXAMPLE} --quick --out {out}").run()?;
    Ok(())
}

/// Names of all papers.
fn papers(shell: &Shell, narrows: &Path) -> Result<Vec<String>> {
    let listed = cmd!(shell, "{narrows} repro --list --json").read()?;
    let listed: serde_json::Value = serde_json::from_str(&listed)?;
    let papers = listed["papers"].as_array().context("no list of papers")?;
    let name = |paper: &serde_json::Value| {
        paper["name"].as_str().map(str::to_owned).context("a paper without a name")
    };
    papers.iter().map(name).collect()
}
