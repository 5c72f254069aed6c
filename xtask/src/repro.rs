//! Repeats papers, with the release build of the command, and keeps their pages true to their sources.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use xshell::{Shell, cmd};

use crate::{scoreboard, target};

/// Where pages and what was measured for them are.
pub(crate) const FOLDER: &str = "docs/reproductions";

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

/// The short form of all papers and of the example, and whether pages are true to their sources.
pub(crate) fn quick(shell: &Shell) -> Result<()> {
    let (folder, narrows) = (tempfile::tempdir()?, target::narrows(shell, &["--release"])?);
    let papers = papers(shell, &narrows)?;
    for paper in &papers {
        let out = folder.path().join(paper);
        cmd!(shell, "{narrows} repro {paper} --quick --out {out}").run()?;
    }
    let out = folder.path().join("example");
    cmd!(shell, "{narrows} repro {EXAMPLE} --quick --out {out}").run()?;
    check(shell, &narrows, &papers)
}

/// What the sources of a paper make of what was measured.
pub(crate) struct Judged {
    page: String,
    /// What is wrong with the page.
    errors: Vec<String>,
    /// All of `claims.json`.
    pub(crate) claims: serde_json::Value,
}

impl Judged {
    /// # Errors
    /// If nothing was measured, or in other experiments than the paper has now.
    pub(crate) fn again(shell: &Shell, narrows: &Path, paper: &str) -> Result<Self> {
        let measured = kept(paper, "json");
        if !shell.path_exists(&measured) {
            bail!("{} is missing: cargo xtask repro {paper}", measured.display());
        }
        let folder = tempfile::tempdir()?;
        let out = folder.path().join(paper);
        let judging = cmd!(shell, "{narrows} repro {paper} --measured {measured} --out {out}");
        let output = judging.quiet().ignore_stdout().ignore_stderr().ignore_status().output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let claims: serde_json::Value = serde_json::from_str(&shell.read_file(out.join("claims.json"))?)?;
        let errors = claims["errors"].as_array().context("no list of errors")?;
        let errors = errors.iter().filter_map(|error| error.as_str().map(str::to_owned)).collect();
        Ok(Self { page: shell.read_file(out.join("report.md"))?, errors, claims })
    }
}

fn kept(paper: &str, kind: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{paper}.{kind}"))
}

/// Names of all papers.
pub(crate) fn papers(shell: &Shell, narrows: &Path) -> Result<Vec<String>> {
    let listed = cmd!(shell, "{narrows} repro --list --json").read()?;
    let listed: serde_json::Value = serde_json::from_str(&listed)?;
    let papers = listed["papers"].as_array().context("no list of papers")?;
    let name = |paper: &serde_json::Value| {
        paper["name"].as_str().map(str::to_owned).context("a paper without a name")
    };
    papers.iter().map(name).collect()
}
