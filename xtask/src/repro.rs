//! Repeats papers, with the release build of the command, and keeps their pages true to their sources.

use std::path::Path;

use anyhow::{Result, ensure};
use clap::Args;
use xshell::{Shell, cmd};

use crate::judged::{FOLDER, Judged, kept, papers};
use crate::{agreement, scoreboard, target};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The paper; all of them if left out
    paper: Option<String>,
    /// Run nothing: write the pages from what was measured before and from what claims and papers say now
    #[arg(long)]
    again: bool,
    /// Run nothing and write nothing: fail if a page or the scoreboard says anything else than its sources
    #[arg(long, conflicts_with = "again")]
    check: bool,
    /// Run the short forms, write nothing, and fail if they do not say of nine claims in ten what the pages say
    #[arg(long, conflicts_with_all = ["again", "check"])]
    quick: bool,
}

/// The long form: writes docs/reproductions/PAPER.json and PAPER.md, and the scoreboard.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let narrows = target::narrows(shell, &["--release"])?;
    let papers = match &arguments.paper {
        Some(paper) => vec![paper.clone()],
        None => papers(shell, &narrows)?,
    };
    if arguments.check {
        return check(shell, &narrows, &papers);
    }
    if arguments.quick {
        return agreement::run(shell, &narrows, &papers);
    }
    for paper in papers {
        if !arguments.again {
            cmd!(shell, "{narrows} repro {paper}").run()?;
            shell.create_dir(FOLDER)?;
            shell.copy_file(format!("out/repro/{paper}/measured.json"), kept(&paper, "json"))?;
        }
        let judged = Judged::again(shell, &narrows, &paper)?;
        shell.write_file(kept(&paper, "md"), &judged.page)?;
        for error in &judged.errors {
            eprintln!("error of the page of {paper}: {error}");
        }
    }
    scoreboard::write(shell, &narrows)
}

/// # Errors
/// If a page is not what its sources make of what was measured, or something is wrong with it.
fn check(shell: &Shell, narrows: &Path, papers: &[String]) -> Result<()> {
    let mut wrong = Vec::new();
    for paper in papers {
        match Judged::again(shell, narrows, paper) {
            Err(error) => wrong.push(format!("{paper}: {error:#}")),
            Ok(judged) => {
                if shell.read_file(kept(paper, "md"))? != judged.page {
                    wrong.push(format!(
                        "{paper}: the page says something else than its sources: cargo xtask repro --again"
                    ));
                }
                wrong.extend(judged.errors.into_iter().map(|error| format!("{paper}: {error}")));
            }
        }
    }
    if let Err(error) = scoreboard::check(shell, narrows) {
        wrong.push(error.to_string());
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A paper that is a folder and not part of the program.
const EXAMPLE: &str = "./examples/dctcp-queue";

/// Papers whose short forms take seconds. Tests plan those of all; `cargo xtask repro --quick` runs them.
const SHORT: [&str; 4] = ["bbr3-cases", "bcn", "rackcc", "uno"];

/// Short forms of papers and of the example, and whether all pages are true to their sources.
pub(crate) fn quick(shell: &Shell) -> Result<()> {
    let (folder, narrows) = (tempfile::tempdir()?, target::narrows(shell, &["--release"])?);
    for paper in SHORT {
        let out = folder.path().join(paper);
        cmd!(shell, "{narrows} repro {paper} --quick --seeds 1 --out {out}").run()?;
    }
    let out = folder.path().join("example");
    cmd!(shell, "{narrows} repro {EXAMPLE} --quick --out {out}").run()?;
    check(shell, &narrows, &papers(shell, &narrows)?)
}
