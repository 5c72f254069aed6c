//! Folders and commands for the tests.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A fresh folder with these files in it.
pub(crate) fn holding(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(place.path().join(name), content).unwrap();
    }
    place
}

/// The command in a folder.
pub(crate) fn command(place: &(impl AsRef<Path> + ?Sized), arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.current_dir(place).args(arguments);
    command
}

/// Output of the command, and its exit status.
pub(crate) fn narrows(place: &(impl AsRef<Path> + ?Sized), arguments: &[&str]) -> Output {
    command(place, arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
