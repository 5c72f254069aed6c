//! Tests with the programs that traces are written for.

use anyhow::Result;
use xshell::{Shell, cmd};

/// Runs the tests that need tshark. Passes with a remark where it is not installed.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    if cmd!(shell, "tshark --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        eprintln!(
            "skipped: tests with Wireshark need tshark (apt-get install --no-install-recommends tshark)"
        );
        return Ok(());
    }
    cmd!(shell, "cargo test --package narrows-cli --test viewers --quiet -- --ignored").run()?;
    Ok(())
}
