//! Programs of narrows-bpf for the kernel: compiled by clang, and kept beside their source.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

const FOLDER: &str = "crates/narrows-bpf/bpf";

/// Compiles all programs, and notes by which compiler, of which sources.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let _folder = shell.push_dir(FOLDER);
    let version = cmd!(shell, "clang --version").read().context("clang compiles them: install it")?;
    let version = version.lines().next().unwrap_or_default();
    let mut files = shell.read_dir(".")?;
    files.sort();
    let mut sources = blake3::Hasher::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !is_source(&path) {
            continue;
        }
        sources.update(name.as_bytes()).update(&shell.read_binary_file(&path)?);
        if let Some(program) = name.strip_suffix(".c").filter(|name| name.ends_with(".bpf")) {
            cmd!(shell, "clang @flags.txt -c {name} -o {program}.o").run()?;
            // Types stay (BTF), what debuggers read goes.
            cmd!(shell, "llvm-strip -g {program}.o").run().context("llvm-strip comes with llvm")?;
        }
    }
    shell.write_file("made.txt", format!("{version}\n{}\n", sources.finalize()))?;
    Ok(())
}

/// Programs, headers and flags are; the library for tests is not.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".bpf.c") || name.ends_with(".h") || name == "flags.txt"
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
