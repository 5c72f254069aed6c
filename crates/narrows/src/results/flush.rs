//! Brings files to the disk, whatever happens to the machine afterwards.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files at once. A disk takes about as long for all of them as for one: file systems bring them there together.
const AT_ONCE: usize = 8;

/// Brings all files in a folder, and in folders in it, to the disk.
///
/// # Errors
/// With the file that cannot be brought there.
pub(super) fn flush(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let mut files = Vec::new();
    collect(folder, &mut files).map_err(|error| (folder.to_owned(), error))?;
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Not every system flushes what was opened to be read.
            let flushed = File::options().write(true).open(file).and_then(|file| file.sync_all());
            flushed.map_err(|error| (file.clone(), error))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // Without another thread there is more to do for this one.
        let another = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..AT_ONCE.min(files.len())).filter_map(another).collect();
        let own = work();
        others.into_iter().fold(own, |found, other| found.and(other.join().expect("flushing does not panic")))
    })
}

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
        for number in 0..20 {
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
