//! Tests with the programs that results are written for.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::installed::{CHROMIUM, is_installed};

/// Tests, what they need, and how to get it.
const VIEWERS: [(&str, &[&str], &str); 3] =
    [("viewers", &["tshark"], "tshark"), ("browser", CHROMIUM, "chromium"), ("layout", CHROMIUM, "chromium")];

/// Runs the tests that need tshark and those that need Chromium. Passes with a remark where one is not installed.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    for (test, programs, package) in VIEWERS {
        if !programs.iter().any(|program| is_installed(shell, program)) {
            eprintln!(
                "skipped: the tests of {test} need {package} (apt-get install --no-install-recommends {package})"
            );
            continue;
        }
        cmd!(shell, "cargo test --workspace --test cli --quiet -- --ignored {test}::").run()?;
    }
    Ok(())
}
