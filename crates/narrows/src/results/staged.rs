//! Files and folders that are there as a whole or not at all.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::diagnostic::{Code, Diagnostic};

/// A file or folder in the making, hidden beside its target; dropped before [`finish`](Staged::finish), it leaves nothing
/// behind.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    File(NamedTempFile),
    Folder(TempDir),
}

impl Staged {
    /// Begins a file.
    ///
    /// # Errors
    /// If the target exists and must not be replaced, or its folder cannot be written to.
    pub fn file(target: &Path, overwrite: bool) -> Result<Self, Diagnostic> {
        let (builder, parent) = (prefix(), Self::check(target, overwrite)?);
        let file = builder.tempfile_in(parent).map_err(|error| cannot_write(target, &error))?;
        Ok(Self { target: target.to_owned(), what: What::File(file) })
    }

    /// Begins a folder.
    ///
    /// # Errors
    /// As [`Staged::file`].
    pub fn folder(target: &Path, overwrite: bool) -> Result<Self, Diagnostic> {
        let (builder, parent) = (prefix(), Self::check(target, overwrite)?);
        let folder = builder.tempdir_in(parent).map_err(|error| cannot_write(target, &error))?;
        Ok(Self { target: target.to_owned(), what: What::Folder(folder) })
    }

    fn check(target: &Path, overwrite: bool) -> Result<&Path, Diagnostic> {
        if target.exists() && !overwrite {
            let what = if target.is_dir() { "the folder" } else { "the file" };
            let message = format!("{what} {} exists", target.display());
            let help = "choose another with --out, or replace it with --overwrite";
            return Err(Diagnostic::error(Code::OutputExists, message).help(help));
        }
        let parent =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(|error| cannot_write(target, &error))?;
        Ok(parent)
    }

    /// Where it is until it is finished.
    pub fn path(&self) -> &Path {
        match &self.what {
            What::File(file) => file.path(),
            What::Folder(folder) => folder.path(),
        }
    }

    /// A handle to write the file with; of a folder there is none.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn handle(&self) -> std::io::Result<File> {
        match &self.what {
            What::File(file) => file.reopen(),
            What::Folder(folder) => File::open(folder.path()),
        }
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn finish(self) -> Result<(), Diagnostic> {
        let Self { target, what } = self;
        let finish = || match what {
            What::File(file) => {
                make_readable(file.path(), 0o644)?;
                file.as_file().sync_all()?;
                if target.is_dir() {
                    return Err(std::io::Error::other("it is a folder"));
                }
                file.persist(&target).map(drop).map_err(|error| error.error)
            }
            What::Folder(folder) => {
                make_readable(folder.path(), 0o755)?;
                let old = folder.path().with_extension("old");
                let replaces = target.exists();
                if replaces {
                    std::fs::rename(&target, &old)?;
                }
                if let Err(error) = std::fs::rename(folder.path(), &target) {
                    if replaces {
                        std::fs::rename(&old, &target)?;
                    }
                    return Err(error);
                }
                let _ = folder.keep(); // it has become the target
                match replaces {
                    true if old.is_dir() => std::fs::remove_dir_all(&old),
                    true => std::fs::remove_file(&old),
                    false => Ok(()),
                }
            }
        };
        finish().map_err(|error| cannot_write(&target, &error))
    }
}

fn prefix() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".narrows-");
    builder
}

/// The diagnostic for a target that cannot be written.
pub fn cannot_write(target: &Path, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::OutputFailed, format!("cannot write to {}: {error}", target.display()))
}

/// Temporary files are private; results are as readable as any other.
#[cfg(unix)]
pub(crate) fn make_readable(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn make_readable(_path: &Path, _mode: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finished_leaves_nothing_behind() {
        let place = tempfile::tempdir().unwrap();
        drop(Staged::file(&place.path().join("a"), false).unwrap());
        drop(Staged::folder(&place.path().join("b"), false).unwrap());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_exists_is_replaced_on_demand_only() {
        let place = tempfile::tempdir().unwrap();
        for folder in [false, true] {
            let target = place.path().join(if folder { "folder" } else { "file" });
            let begin = if folder { Staged::folder } else { Staged::file };
            begin(&target, false).unwrap().finish().unwrap();
            assert!(begin(&target, false).is_err());
            begin(&target, true).unwrap().finish().unwrap();
            assert_eq!(target.is_dir(), folder);
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    }
}
