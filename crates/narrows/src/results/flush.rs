//! Brings files to the disk, whatever happens to the machine afterwards.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Files that are open at once.
const AT_ONCE: usize = 64;

/// Brings all files in a folder, and in folders in it, to the disk.
///
/// # Errors
/// With the file that cannot be brought there.
pub(super) fn flush(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let mut files = Vec::new();
    collect(folder, &mut files).map_err(|error| (folder.to_owned(), error))?;
    files.chunks(AT_ONCE).try_for_each(flush_some)
}

/// Has all files written before it waits for the first: the file system then notes them together, and waits for the disk once.
fn flush_some(paths: &[PathBuf]) -> Result<(), (PathBuf, io::Error)> {
    let mut files = Vec::new();
    for path in paths {
        // Not every system flushes what was opened to be read.
        let file = File::options().write(true).open(path).map_err(|error| (path.clone(), error))?;
        start(&file);
        files.push((path, file));
    }
    let wait = |(path, file): (&PathBuf, File)| file.sync_all().map_err(|error| (path.clone(), error));
    files.into_iter().try_for_each(wait)
}

/// Begins to write a file to the disk. Linux does so when it is advised that nobody will read it soon.
#[cfg(target_os = "linux")]
fn start(file: &File) {
    // Where this is not possible, writing begins when it is waited for.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn start(_file: &File) {}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_folders_are_flushed() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        for number in 0..50 {
            std::fs::write(place.path().join(format!("a/{number}")), "x").unwrap();
            std::fs::write(place.path().join(format!("a/b/{number}")), "x").unwrap();
        }
        flush(place.path()).unwrap();
    }

    #[test]
    fn what_cannot_be_flushed_is_named() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("missing");
        assert_eq!(flush(&missing).unwrap_err().0, missing);
    }
}
