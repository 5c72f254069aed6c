//! The Python package: built as users get it, and tested in an environment of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use xshell::{Shell, cmd};

use crate::{environment, target};

/// Options of the tests.
#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Leave the notebooks out
    #[arg(long)]
    no_notebooks: bool,
    /// Passed on to pytest
    #[arg(last = true)]
    pytest: Vec<String>,
}

/// Packages that are installed besides, with exact versions.
const REQUIREMENTS: &str = "python/requirements.txt";

/// Builds the wheel, installs it, checks types and style, runs the tests and the notebooks.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let (python, folder) = (environment(shell)?, folder(shell)?);
    install(shell, &python)?;
    for check in [&["ruff", "check"][..], &["ruff", "format", "--check"]] {
        cmd!(shell, "{python} -m {check...} --quiet python docs/notebooks").quiet().run()?;
    }
    cmd!(shell, "{python} -m mypy --no-error-summary python/narrows").quiet().run()?;
    cmd!(shell, "{python} -m mypy.stubtest --ignore-missing-stub narrows._narrows")
        .quiet()
        .ignore_stdout()
        .run()?;
    let pytest = &arguments.pytest;
    cmd!(shell, "{python} -m pytest --numprocesses auto --dist worksteal {pytest...}")
        .quiet()
        .run()
        .context("tests of the Python package failed")?;
    if !arguments.no_notebooks {
        notebooks(shell, &python, &folder)?;
    }
    Ok(())
}

/// Everything goes there that is made on the way.
fn folder(shell: &Shell) -> Result<PathBuf> {
    Ok(target::folder(shell)?.join("python"))
}

/// The Python that tests the package.
pub(crate) fn environment(shell: &Shell) -> Result<PathBuf> {
    environment::prepare(shell, &folder(shell)?.join("venv"), REQUIREMENTS)
}

/// Builds the wheel ahead of the step that needs it.
pub(crate) fn build(shell: &Shell, python: &Path) -> Result<()> {
    let _alone = environment::alone(&wheels(shell)?)?;
    wheel(shell, python)?;
    Ok(())
}

/// Builds the wheel that is tested: with assertions, and without optimization across crates, which takes longer than all tests. Wheels as
/// users get them are made and tried by `cargo xtask dist`.
fn wheel(shell: &Shell, python: &Path) -> Result<PathBuf> {
    let wheels = wheels(shell)?;
    shell.remove_path(&wheels)?;
    // Features of its dependencies are those of the tests (narrows-py/Cargo.toml), so what is compiled is shared.
    cmd!(shell, "{python} -m maturin build --quiet --out {wheels}")
        .run()
        .context("the Python package could not be built")?;
    wheel_in(shell, &wheels)
}

/// Where the wheel goes. Two builds of it at once take each other's files away.
fn wheels(shell: &Shell) -> Result<PathBuf> {
    Ok(folder(shell)?.join("wheels"))
}

/// Builds the wheel and puts it where the environment finds it.
fn install(shell: &Shell, python: &Path) -> Result<()> {
    let _alone = environment::alone(&wheels(shell)?)?;
    let wheel = wheel(shell, python)?;
    cmd!(
        shell,
        "{python} -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall {wheel}"
    )
    .quiet()
    .run()?;
    Ok(())
}

/// The only wheel of a folder.
pub(crate) fn wheel_in(shell: &Shell, folder: &Path) -> Result<PathBuf> {
    match shell.read_dir(folder)?.as_slice() {
        [wheel] => Ok(wheel.clone()),
        found => bail!("expected one wheel in {}, found {}", folder.display(), found.len()),
    }
}

/// Runs the notebooks of docs/notebooks as programs, each in a folder of its own.
fn notebooks(shell: &Shell, python: &Path, folder: &Path) -> Result<()> {
    let mut notebooks = shell.read_dir("docs/notebooks")?;
    notebooks.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    for notebook in notebooks {
        let notebook = shell.current_dir().join(notebook);
        let name = notebook.file_stem().unwrap_or_default().to_owned();
        let folder = folder.join("notebooks").join(name);
        shell.remove_path(&folder)?;
        shell.create_dir(&folder)?;
        let _inside = shell.push_dir(&folder);
        let _drawn = shell.push_env("MPLBACKEND", "agg");
        cmd!(shell, "{python} {notebook}")
            .quiet()
            .ignore_stdout()
            .run()
            .with_context(|| format!("{} failed", notebook.display()))?;
    }
    Ok(())
}
