//! Programs of narrows-bpf for the kernel: compiled by clang, and kept beside their source.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

#[path = "../../crates/narrows-bpf/tests/recipe/mod.rs"]
mod recipe;

const FOLDER: &str = "crates/narrows-bpf/bpf";

/// Compiles all programs, and notes by which compiler, of which sources.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let folder = shell.current_dir().join(FOLDER);
    let compiler = recipe::compiler().context("clang compiles them: install it")?;
    let sources = recipe::sources(&folder)?;
    recipe::compile(&folder, &sources, &folder).context("clang and llvm-strip make them (clang, llvm)")?;
    shell.write_file(folder.join("made.txt"), format!("{compiler}\n{}\n", recipe::hash(&sources)?))?;
    Ok(())
}

/// Lints and tests what loads controls, where libbpf can be built.
pub(crate) fn checked(shell: &Shell) -> Result<()> {
    if cmd!(shell, "pkg-config --exists libelf zlib").quiet().run().is_err() {
        eprintln!("skipped: controls for the kernel need libelf and zlib (pkg-config finds none)");
        return Ok(());
    }
    // The Python package is named for its dependencies, which the command shares.
    let packages = ["narrows-bpf", "narrows-live", "narrows-cli", "narrows-py"];
    let packages = &packages.map(|name| ["-p", name]).concat();
    let features = ["--features", "narrows-cli/bpf", "--quiet"];
    cmd!(shell, "cargo clippy {packages...} {features...} --all-targets -- --deny warnings").run()?;
    Ok(cmd!(shell, "cargo test {packages...} {features...} --test kernel --test live").run()?)
}
