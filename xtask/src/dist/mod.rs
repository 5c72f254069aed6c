//! Files that install Narrows without Rust: a static program and a wheel for each target, an SBOM, checksums. Nothing is published.

mod machine;
mod smoke;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use xshell::{Shell, cmd};

use crate::{environment, python, target};
use machine::{MACHINES, Machine};

/// Options of the build.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A target to build for; if left out, those whose standard library is installed
    #[arg(long = "target", value_name = "TARGET", value_parser = PossibleValuesParser::new(MACHINES.map(|machine| machine.target)))]
    targets: Vec<String>,
}

/// maturin and the linker of its wheels, with exact versions.
const REQUIREMENTS: &str = "python/dist-requirements.txt";

/// The writer of SBOMs. `cargo install` builds it once.
const CYCLONEDX: &str = "cargo-cyclonedx@0.5.9";

/// Files and folders of an archive beside the program: what README.md leads to.
const BESIDE: [&str; 8] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs",
    "examples",
    "scenarios",
];

/// Builds everything into `dist`, and tries it: every program writes the same bytes.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let machines = chosen(shell, &arguments.targets)?;
    // As the compiler sees it.
    shell.change_dir(shell.current_dir().canonicalize()?);
    let (dist, folder) = (shell.current_dir().join("dist"), target::folder(shell)?.join("dist"));
    let version = version(shell)?;
    shell.create_dir(&dist)?;
    let python = environment::prepare(shell, &folder.join("venv"), REQUIREMENTS)?;
    let when = committed(shell)?;
    // What writes a date writes this one.
    let _when = shell.push_env("SOURCE_DATE_EPOCH", &when);
    let mut made = Vec::new();
    let mut wrote = None;
    for machine in machines {
        let _remapped = shell.push_env(machine.variable("RUSTFLAGS"), flags(shell, "")?);
        let wheel = wheel(shell, machine, &python, &folder, &dist)?;
        let tried = smoke::wheel(shell, machine, &wheel, &folder)?;
        made.push((wheel, tried));
        let (program, archive) = archive(shell, machine, &version, &folder, &dist, &when)?;
        let tried = smoke::program(shell, machine, &program, &folder, &mut wrote)?;
        made.push((archive, tried));
    }
    made.push((
        bill_of_materials(shell, &version, &folder, &dist)?,
        "lists what the program is built from".into(),
    ));
    sum(shell, &version, &dist)?;
    for (file, tried) in &made {
        println!("{}: {tried}", file.display());
    }
    println!("{}: checksums of all files of this version", dist.join("SHA256SUMS").display());
    Ok(())
}

/// The targets that were named, or those that can be built.
fn chosen(shell: &Shell, named: &[String]) -> Result<Vec<&'static Machine>> {
    let mut chosen = Vec::new();
    for machine in &MACHINES {
        if !named.is_empty() && !named.iter().any(|name| name == machine.target) {
            continue;
        }
        match machine.missing(shell)? {
            None => chosen.push(machine),
            Some(missing) if named.is_empty() => eprintln!("{} is left out: {missing}", machine.target),
            Some(missing) => anyhow::bail!("{} cannot be built: {missing}", machine.target),
        }
    }
    ensure!(!chosen.is_empty(), "no target can be built");
    Ok(chosen)
}

/// The version of the workspace.
fn version(shell: &Shell) -> Result<String> {
    let id = cmd!(shell, "cargo pkgid --offline --package narrows-cli").quiet().read()?;
    let version = id.rsplit(['#', '@']).next();
    version.map(Into::into).context("cargo pkgid names no version")
}

/// Flags of the compiler: no file says where it was built.
fn flags(shell: &Shell, more: &str) -> Result<String> {
    let root = shell.current_dir();
    let home = std::env::var("CARGO_HOME").map(PathBuf::from).or_else(|_| {
        std::env::var("HOME").map(|home| Path::new(&home).join(".cargo")).context("HOME is not set")
    })?;
    Ok(format!(
        "--remap-path-prefix={}=narrows --remap-path-prefix={}=cargo{more}",
        root.display(),
        home.display()
    ))
}

/// The Python package for any Linux with the C library of manylinux2014 or a newer one.
fn wheel(shell: &Shell, machine: &Machine, python: &Path, folder: &Path, dist: &Path) -> Result<PathBuf> {
    let (target, wheels) = (machine.target, folder.join("wheels"));
    shell.remove_path(&wheels)?;
    // The linker is a package of that Python.
    let binaries = python.parent().context("a program is in a folder")?.display();
    let _zig = shell.push_env("PATH", format!("{binaries}:{}", shell.var("PATH")?));
    cmd!(
        shell,
        "{python} -m maturin build --release --quiet --zig --compatibility manylinux2014 --target {target} --out {wheels}"
    )
    .run()
    .context("the Python package could not be built")?;
    let wheel = python::wheel_in(shell, &wheels)?;
    shell.copy_file(&wheel, dist)?;
    Ok(dist.join(wheel.file_name().context("a wheel has a name")?))
}

/// The program, linked statically, and an archive with it.
fn archive(
    shell: &Shell,
    machine: &Machine,
    version: &str,
    folder: &Path,
    dist: &Path,
    when: &str,
) -> Result<(PathBuf, PathBuf)> {
    let target = machine.target;
    let _static = shell.push_env(
        machine.variable("RUSTFLAGS"),
        flags(shell, " -Ctarget-feature=+crt-static -Cstrip=symbols")?,
    );
    let _linker = machine.linker().map(|linker| shell.push_env(machine.variable("LINKER"), linker));
    let built = target::program(
        shell,
        &["build", "--locked", "--release", "--package", "narrows-cli", "--target", target],
        "bin",
        "narrows",
    )?;
    let name = format!("narrows-{version}-{target}");
    let packed = folder.join(&name);
    shell.remove_path(&packed)?;
    shell.create_dir(&packed)?;
    for file in cmd!(shell, "git ls-files {BESIDE...}").quiet().read()?.lines() {
        let at = packed.join(file);
        shell.create_dir(at.parent().context("a file is in a folder")?)?;
        shell.copy_file(file, at)?;
    }
    shell.copy_file(built, &packed)?;
    let archive = dist.join(format!("{name}.tar.gz"));
    cmd!(
        shell,
        "tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@{when} -C {folder} -czf {archive} {name}"
    )
    .quiet()
    .run()?;
    Ok((packed.join("narrows"), archive))
}

/// A list of everything that the program is built from (CycloneDX). The wheels hold their own.
fn bill_of_materials(shell: &Shell, version: &str, folder: &Path, dist: &Path) -> Result<PathBuf> {
    let tools = folder.join("tools");
    cmd!(shell, "cargo install --quiet --locked --root {tools} {CYCLONEDX}").run()?;
    let writer = tools.join("bin/cargo-cyclonedx");
    // It writes beside every manifest of the workspace.
    let name = "narrows-dist";
    cmd!(
        shell,
        "{writer} cyclonedx --quiet --manifest-path crates/narrows-cli/Cargo.toml --format json --spec-version 1.5 --target all --override-filename {name}"
    )
    .run()?;
    let list = dist.join(format!("narrows-{version}.cdx.json"));
    let text = shell.read_file(format!("crates/narrows-cli/{name}.json"))?;
    shell.write_file(&list, text.replace(&shell.current_dir().display().to_string(), "/narrows"))?;
    for member in shell.read_dir("crates")?.into_iter().chain([PathBuf::from("xtask")]) {
        shell.remove_path(member.join(format!("{name}.json")))?;
    }
    Ok(list)
}

/// When the last commit was made, in seconds since 1970.
fn committed(shell: &Shell) -> Result<String> {
    Ok(cmd!(shell, "git log -1 --format=%ct").quiet().read()?)
}

/// Writes checksums of all files of this version, in the form that `sha256sum --check` reads.
fn sum(shell: &Shell, version: &str, dist: &Path) -> Result<()> {
    let _inside = shell.push_dir(dist);
    let mut files = shell.read_dir(".")?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["-", "."].iter().any(|end| name.starts_with(&format!("narrows-{version}{end}")))
    });
    let names = files.iter().filter_map(|path| path.file_name());
    let sums = cmd!(shell, "sha256sum {names...}").quiet().read()?;
    shell.write_file("SHA256SUMS", sums + "\n")?;
    Ok(())
}
