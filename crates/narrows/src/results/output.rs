//! Folders of results: all of it or nothing.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::flush::flush;
use super::folder::write_folder;
use super::{Contents, Results, Staged};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// A folder in the making. Files are written to a hidden folder beside the target; [`Output::finish`] renames it.
/// Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct Output {
    target: PathBuf,
    staged: Staged,
}

impl Output {
    /// Begins a folder. Call it before anything is simulated: it finds out whether results can be written at all.
    ///
    /// # Errors
    /// If the target exists and must not be replaced, somebody else is writing to it, or its parent cannot be written to.
    pub fn begin(target: &Path, overwrite: bool) -> Checked<Self> {
        let staged = Staged::folder(target, overwrite, Contents::Results)?;
        Ok(Self { target: target.to_owned(), staged })
    }

    /// Writes the tables, the summary and the scenario of a run into the subfolder `within` (empty: the folder itself).
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn write(&self, results: &Results, within: &str) -> Checked<()> {
        let folder = self.staged.path().join(within);
        std::fs::create_dir_all(&folder).map_err(|error| self.failed(within, &error))?;
        write_folder(results, &folder).map_err(|(name, error)| self.failed(&name, &error).into())
    }

    /// Writes a text file into the subfolder `within` (empty: the folder itself).
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, within: &str, name: &str, content: &str) -> Checked<()> {
        let write = || {
            let folder = self.staged.path().join(within);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(name), content)
        };
        write().map_err(|error| self.failed(name, &error).into())
    }

    /// Makes a file in the subfolder `within` (empty: the folder itself), for what comes while something goes on.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(&self, within: &str, name: &str) -> Checked<File> {
        let folder = self.staged.path().join(within);
        let create = || std::fs::create_dir_all(&folder).and_then(|()| File::create(folder.join(name)));
        create().map_err(|error| self.failed(name, &error).into())
    }

    /// Puts the folder in its place, when all of its files are on the disk.
    ///
    /// # Errors
    /// If a file cannot be brought there, the folder cannot be renamed, or something has appeared there meanwhile; then that stays, and the folder gets another name.
    pub fn finish(self) -> Checked<()> {
        let folder = self.staged.path();
        flush(&folder).map_err(|(file, error)| {
            let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
            self.failed(&name, &error)
        })?;
        Ok(self.staged.finish()?)
    }

    /// Where the folder will be.
    pub(crate) fn target(&self) -> &Path {
        self.staged.target()
    }

    /// A hidden place beside the folder, for what is kept until it is written.
    pub(crate) fn hidden_beside(&self, what: &str) -> PathBuf {
        let target = self.staged.target();
        // Not a name that is removed with what dead processes left.
        target.with_file_name(format!(".narrows.{what}.{}", target.file_name().unwrap_or_default().display()))
    }

    fn failed(&self, what: &str, error: &dyn std::fmt::Display) -> Diagnostic {
        let message = format!("cannot write {what} to {}: {error}", self.target.display());
        Diagnostic::error(Code::OutputFailed, message)
    }
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
            output.write_text("", "run.json", "{ \"narrows\": \"0.1.0\" }").unwrap();
            output.write_text("", &format!("{name}.flent.gz"), "").unwrap();
            output.finish().unwrap();
        }
        assert!(Output::begin(&target, false).is_err());
        let mut names: Vec<_> =
            std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["new.flent.gz", "run.json"]);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
    }
}
