//! Python with what the guide is built with, in a folder of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

/// What is installed, with exact versions.
const REQUIREMENTS: &str = "docs/guide/requirements.txt";

/// Makes a virtual environment in `folder`, unless it is there and has what is required. Returns its Python.
pub(super) fn prepare(shell: &Shell, folder: &Path) -> Result<PathBuf> {
    let python =
        shell.current_dir().join(folder).join(if cfg!(windows) { "Scripts/python" } else { "bin/python" });
    let wanted = shell.read_file(REQUIREMENTS)?;
    let installed = folder.join("installed.txt");
    if shell.read_file(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = system_python(shell)?;
    shell.remove_path(folder)?;
    cmd!(shell, "{system} -m venv {folder}").quiet().run().context(
        "Python cannot make virtual environments; install its module venv (Debian and Ubuntu: apt-get install python3-venv)",
    )?;
    cmd!(shell, "{python} -m pip install --quiet --disable-pip-version-check --requirement {REQUIREMENTS}")
        .quiet()
        .run()
        .context(
            "pip could not install docs/guide/requirements.txt; the first build of the guide needs a network",
        )?;
    shell.write_file(&installed, wanted)?;
    Ok(python)
}

/// A Python that is new enough.
fn system_python(shell: &Shell) -> Result<&'static str> {
    let code = "import sys; print(sys.version_info >= (3, 11))";
    for name in ["python3", "python"] {
        let answer = cmd!(shell, "{name} -c {code}").quiet().ignore_stderr().read();
        match answer.as_deref() {
            Ok("True") => return Ok(name),
            Ok(_) => bail!("{name} is too old: the guide needs Python 3.11 or newer"),
            Err(_) => {}
        }
    }
    bail!(
        "the guide needs Python 3.11 or newer, and there is none here; install it (https://www.python.org, or Debian and Ubuntu: \
         apt-get install python3 python3-venv)"
    )
}
