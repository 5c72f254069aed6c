//! Folders of results: all of it or nothing.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Results, parquet_file};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// A folder in the making. What is written goes to a hidden folder beside the target; [`Output::finish`] renames it.
/// Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct Output {
    target: PathBuf,
    staging: TempDir,
}

impl Output {
    /// Begins a folder. Call it before anything is simulated: it finds out whether results can be written at all.
    ///
    /// # Errors
    /// If the target exists and must not be replaced, or its parent cannot be written to.
    pub fn begin(target: &Path, overwrite: bool) -> Checked<Self> {
        if target.exists() && !overwrite {
            let message = format!("the folder {} exists", target.display());
            let help = "choose another with --out, or replace it with --overwrite";
            return Err(Diagnostic::error(Code::OutputExists, message).help(help).into());
        }
        if target.exists() && !target.is_dir() {
            let message = format!("{} is not a folder", target.display());
            return Err(Diagnostic::error(Code::OutputExists, message)
                .help("choose another with --out")
                .into());
        }
        let failed = |error: std::io::Error| {
            Diagnostic::error(Code::OutputFailed, format!("cannot write to {}: {error}", target.display()))
        };
        // Beside the target, so that renaming cannot cross file systems.
        let parent =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(failed)?;
        let staging = tempfile::Builder::new().prefix(".narrows-").tempdir_in(parent).map_err(failed)?;
        Ok(Self { target: target.to_owned(), staging })
    }

    /// Writes the tables, the summary and the scenario of a run into the subfolder `within` (empty: the folder itself).
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn write(&self, results: &Results, within: &str) -> Checked<()> {
        let folder = self.staging.path().join(within);
        std::fs::create_dir_all(&folder).map_err(|error| self.failed(within, &error))?;
        for table in results.tables() {
            let name = format!("{}.parquet", table.name);
            let written = parquet_file::write_table(&table, results, &folder.join(&name));
            written.map_err(|error| self.failed(&name, &error))?;
        }
        let summary = serde_json::to_string_pretty(&results.to_json()).unwrap_or_default() + "\n";
        self.write_text(within, "run.json", &summary)?;
        self.write_text(within, "scenario.toml", &results.plan.text)
    }

    /// Writes a text file into the subfolder `within` (empty: the folder itself).
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, within: &str, name: &str, content: &str) -> Checked<()> {
        let write = || {
            let folder = self.staging.path().join(within);
            std::fs::create_dir_all(&folder)?;
            let mut file = File::create(folder.join(name))?;
            file.write_all(content.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error| self.failed(name, &error).into())
    }

    /// Puts the folder in its place.
    ///
    /// # Errors
    /// If it cannot be renamed; then what stood there before stays.
    pub fn finish(self) -> Checked<()> {
        let Self { target, staging } = self;
        replace(staging, &target).map_err(|error| failed(&target, "results", &error).into())
    }

    fn failed(&self, what: &str, error: &dyn std::fmt::Display) -> Diagnostic {
        failed(&self.target, what, error)
    }
}

fn failed(target: &Path, what: &str, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::OutputFailed, format!("cannot write {what} to {}: {error}", target.display()))
}

fn replace(staging: TempDir, folder: &Path) -> std::io::Result<()> {
    make_readable(staging.path())?;
    let mut old = None;
    if folder.exists() {
        let aside = staging.path().with_extension("old");
        std::fs::rename(folder, &aside)?;
        old = Some(aside);
    }
    if let Err(error) = std::fs::rename(staging.path(), folder) {
        if let Some(aside) = old {
            std::fs::rename(aside, folder)?;
        }
        return Err(error);
    }
    let _ = staging.keep(); // it has become the target
    match old {
        Some(aside) => std::fs::remove_dir_all(aside),
        None => Ok(()),
    }
}

/// Temporary folders are private; results are as readable as any other folder.
#[cfg(unix)]
fn make_readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_readable(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finished_leaves_nothing_behind() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a/b");
        let output = Output::begin(&target, false).unwrap();
        output.write_text("", "x", "y").unwrap();
        drop(output);
        assert_eq!(std::fs::read_dir(place.path().join("a")).unwrap().count(), 0);
    }

    #[test]
    fn older_results_are_replaced_as_a_whole_and_only_on_demand() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        for name in ["old", "new"] {
            let output = Output::begin(&target, name == "new").unwrap();
            output.write_text("", name, "").unwrap();
            output.finish().unwrap();
        }
        assert!(Output::begin(&target, false).is_err());
        let names: Vec<_> =
            std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["new"]);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
    }
}
