//! Tries what was built where it can be run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use super::machine::Machine;

/// Files of a results folder.
pub(super) type Results = BTreeMap<PathBuf, Vec<u8>>;

/// Starts a scenario and runs it, in a folder of its own. All machines write the same bytes as the first. Says what was tried.
pub(super) fn program(
    shell: &Shell,
    machine: &Machine,
    program: &Path,
    folder: &Path,
    first: &mut Option<Results>,
) -> Result<String> {
    ensure!(is_static(shell, program)?, "{} is linked dynamically", program.display());
    let Some(runner) = machine.runner(shell) else {
        return Ok(format!("not tried: qemu-{} is missing (qemu-user-static)", machine.architecture()));
    };
    let how = runner.first().map(|name| format!(" under {name}")).unwrap_or_default();
    let folder = folder.join(format!("smoke-{}", machine.target));
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    let _inside = shell.push_dir(&folder);
    let runner = &runner;
    cmd!(shell, "env {runner...} {program} new smoke --template leaf-spine").quiet().ignore_stdout().run()?;
    cmd!(shell, "env {runner...} {program} run smoke.toml --set stop.after=6ms --out out --quiet")
        .quiet()
        .ignore_stdout()
        .run()?;
    let results = read(shell, &folder.join("out"))?;
    match first {
        None => {
            *first = Some(results);
            Ok(format!("runs{how}"))
        }
        Some(first) => {
            for (name, bytes) in &results {
                let same = first.get(name) == Some(bytes);
                ensure!(same, "{} of {} differs from the first target's", name.display(), machine.target);
            }
            ensure!(
                results.len() == first.len(),
                "{} writes other files than the first target",
                machine.target
            );
            Ok(format!("runs{how}, and writes the same bytes"))
        }
    }
}

/// Installs the wheel where nothing else is, and runs a scenario. Says what was tried.
pub(super) fn wheel(shell: &Shell, machine: &Machine, wheel: &Path, folder: &Path) -> Result<String> {
    if !machine.is_this() {
        return Ok(format!("not tried: needs a Python for {}", machine.architecture()));
    }
    let environment = folder.join("smoke-wheel");
    shell.remove_path(&environment)?;
    cmd!(shell, "python3 -m venv {environment}").quiet().run()?;
    let python = environment.join("bin/python");
    cmd!(shell, "{python} -m pip install --quiet --disable-pip-version-check {wheel}").quiet().run()?;
    let _inside = shell.push_dir(&environment);
    let code = "import narrows; narrows.run('smoke.toml', set={'stop.after': '6 ms'})";
    let narrows = environment.join("bin/narrows");
    cmd!(shell, "{narrows} new smoke --template leaf-spine").quiet().ignore_stdout().run()?;
    cmd!(shell, "{python} -c {code}").quiet().ignore_stdout().ignore_stderr().run()?;
    Ok("installs and runs".into())
}

/// Whether a program asks for no library and no loader.
fn is_static(shell: &Shell, program: &Path) -> Result<bool> {
    let headers = cmd!(shell, "readelf --wide --program-headers --dynamic {program}").quiet().read()?;
    Ok(!headers.contains("INTERP") && !headers.contains("(NEEDED)"))
}

fn read(shell: &Shell, folder: &Path) -> Result<Results> {
    let mut results = Results::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for path in shell.read_dir(&next)? {
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).context("a file is inside its folder")?.to_path_buf();
                results.insert(name, shell.read_binary_file(&path)?);
            }
        }
    }
    ensure!(!results.is_empty(), "{} is empty", folder.display());
    Ok(results)
}
