//! All orders in which the engine's threads can meet, tried by loom.

use anyhow::Result;
use xshell::{Shell, cmd};

/// Runs the tests over all orders of threads.
///
/// Loom replaces atomics and locks of whatever is compiled with `--cfg loom`, so that has a folder of its own.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let _replaced = shell.push_env("RUSTFLAGS", "--cfg loom");
    cmd!(shell, "cargo test --package narrows-sim --lib --target-dir target/loom -- barrier::orders")
        .run()?;
    Ok(())
}
