//! Builds the guide: `docs/guide` and what the program says of itself, as pages that need no network.

mod pictures;

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use xshell::{Shell, cmd};

use crate::environment;

/// What is built.
#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Take the pictures of docs/guide/pictures anew, with Chromium, before the guide is built
    #[arg(long)]
    pictures: bool,
}

/// What is installed, with exact versions.
const REQUIREMENTS: &str = "docs/guide/requirements.txt";
/// Where everything goes that is made on the way.
const FOLDER: &str = "target/guide";

/// Builds the guide into `target/guide/html`. Warnings are errors, and so is a page that loads something from the network.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    cmd!(shell, "cargo build --package narrows-cli --quiet").run()?;
    let narrows = shell.current_dir().join("target/debug/narrows");
    if arguments.pictures {
        pictures::take(shell, &narrows)?;
    }
    let python = environment::prepare(shell, &Path::new(FOLDER).join("venv"), REQUIREMENTS)?;
    let generator = "docs/guide/generator";
    cmd!(shell, "{python} -m unittest discover --quiet --start-directory {generator}").quiet().run()?;
    let (source, html) = (format!("{FOLDER}/source"), format!("{FOLDER}/html"));
    cmd!(shell, "{python} {generator}/generate.py {narrows} {source}").quiet().run()?;
    // Pages that are gone would stay otherwise.
    shell.remove_path(&html)?;
    cmd!(shell, "{python} -m sphinx --fail-on-warning --keep-going --quiet --builder html {source} {html}")
        .quiet()
        .run()
        .context("the guide has mistakes; see above")?;
    cmd!(shell, "{python} {generator}/offline.py {html}").quiet().run()?;
    eprintln!("wrote {html}/index.html");
    Ok(())
}
