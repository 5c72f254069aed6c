//! Python with what a chore needs, in a folder of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

/// Makes a virtual environment in `folder` with what the file `requirements` lists, unless it is there already. Returns its Python.
pub(crate) fn prepare(shell: &Shell, folder: &Path, requirements: &str) -> Result<PathBuf> {
    let folder = shell.current_dir().join(folder);
    let python = folder.join(if cfg!(windows) { "Scripts/python" } else { "bin/python" });
    let _alone = alone(&folder)?;
    let wanted = shell.read_file(requirements)?;
    let installed = folder.join("installed.txt");
    if shell.read_file(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = system_python(shell)?;
    shell.remove_path(&folder)?;
    cmd!(shell, "{system} -m venv {folder}").quiet().run().context(
        "Python cannot make virtual environments; install its module venv (Debian and Ubuntu: apt-get install python3-venv)",
    )?;
    cmd!(shell, "{python} -m pip install --quiet --disable-pip-version-check --requirement {requirements}")
        .quiet()
        .run()
        .with_context(|| {
            format!("pip could not install {requirements}; the first time this needs a network")
        })?;
    shell.write_file(&installed, wanted)?;
    Ok(python)
}

/// Waits until no other chore makes this folder, which may run beside this one. The folder is this one's until what is returned goes.
pub(crate) fn alone(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder.parent().unwrap_or(folder))?;
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// A Python that is new enough.
fn system_python(shell: &Shell) -> Result<&'static str> {
    let code = "import sys; print(sys.version_info >= (3, 11))";
    for name in ["python3", "python"] {
        let answer = cmd!(shell, "{name} -c {code}").quiet().ignore_stderr().read();
        match answer.as_deref() {
            Ok("True") => return Ok(name),
            Ok(_) => bail!("{name} is too old: Python 3.11 or newer is needed"),
            Err(_) => {}
        }
    }
    bail!(
        "Python 3.11 or newer is needed, and there is none here; install it (https://www.python.org, or Debian and Ubuntu: \
         apt-get install python3 python3-venv)"
    )
}
