//! Judgments of claims on stored measurements, made by the command.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

/// Where pages and what was measured for them are.
pub(crate) const FOLDER: &str = "docs/reproductions";

/// Judgments of a paper's sources on its stored measurements.
pub(crate) struct Judged {
    pub(crate) page: String,
    /// Mistakes of the page.
    pub(crate) errors: Vec<String>,
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
        let output = judging.quiet().ignore_stdout().ignore_status().output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let claims: serde_json::Value = serde_json::from_str(&shell.read_file(out.join("claims.json"))?)?;
        let errors = claims["errors"].as_array().context("no list of errors")?;
        let errors = errors.iter().filter_map(|error| error.as_str().map(str::to_owned)).collect();
        Ok(Self { page: shell.read_file(out.join("report.md"))?, errors, claims })
    }
}

/// The page of a paper, or what was measured for it.
pub(crate) fn kept(paper: &str, kind: &str) -> PathBuf {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_command_that_fails_is_kept() {
        let shell = Shell::new().unwrap();
        let place = tempfile::tempdir().unwrap();
        shell.change_dir(place.path());
        shell.write_file(kept("annulus", "json"), "{}").unwrap();
        // Takes none of the arguments, and says so.
        let error = Judged::again(&shell, Path::new("cat"), "annulus").err().unwrap().to_string();
        assert!(error.contains("cat: "), "{error}");
    }
}
