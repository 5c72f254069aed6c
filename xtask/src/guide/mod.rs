//! Builds the guide: `docs/guide` and what the program says of itself, as pages that need no network.

mod pictures;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use xshell::{Shell, cmd};

use crate::{console, environment, target};

/// Options of the build.
#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Take the pictures of docs/guide/pictures anew, with Chromium, before the guide is built
    #[arg(long)]
    pictures: bool,
}

/// Packages that are installed, with exact versions.
const REQUIREMENTS: &str = "docs/guide/requirements.txt";

/// Pages whose commands work on what a reader has already, need other programs, or take long. All others can be followed.
const LOOKED_UP: [&str; 7] =
    ["live", "python", "python-controllers", "reading-reports", "sweeps", "switch-mechanisms", "viewers"];

/// Builds the guide into `guide/html` of cargo's target folder. Warnings are errors, and so are a page that loads something from the network
/// and a command that prints something else than a page says.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let narrows = target::narrows(shell, &["--release"])?;
    if arguments.pictures {
        pictures::take(shell, &narrows)?;
    }
    // Everything goes there that is made on the way.
    let folder = target::folder(shell)?.join("guide");
    let python = environment(shell)?;
    let generator = "docs/guide/generator";
    cmd!(shell, "{python} -m unittest discover --quiet --start-directory {generator}").quiet().run()?;
    let (source, html) = (folder.join("source"), folder.join("html"));
    cmd!(shell, "{python} {generator}/generate.py {narrows} {source}").quiet().run()?;
    // Pages that are gone would stay otherwise.
    shell.remove_path(&html)?;
    cmd!(shell, "{python} -m sphinx --fail-on-warning --keep-going --quiet --builder html {source} {html}")
        .quiet()
        .run()
        .context("the guide has mistakes; see above")?;
    cmd!(shell, "{python} {generator}/offline.py {html}").quiet().run()?;
    eprintln!("wrote {}", html.join("index.html").display());
    follow(shell, &narrows)
}

/// Follows all pages but those that are looked up.
fn follow(shell: &Shell, narrows: &Path) -> Result<()> {
    for page in shell.read_dir("docs/guide")? {
        let name = page.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.strip_suffix(".md").is_some_and(|name| !LOOKED_UP.contains(&name)) {
            console::follow(shell, narrows, &format!("docs/guide/{name}"))?;
        }
    }
    Ok(())
}

/// The Python that builds the guide.
pub(crate) fn environment(shell: &Shell) -> Result<PathBuf> {
    environment::prepare(shell, &target::folder(shell)?.join("guide/venv"), REQUIREMENTS)
}
