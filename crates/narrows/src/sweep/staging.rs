//! Hidden folders for what is not finished, and what is left of those whose process was killed.
//!
//! Each process has its own folder, and holds a lock in it for as long as it lives. Whoever begins removes the folders whose lock
//! nobody holds. Where the file system knows no locks, only old folders are removed.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

/// What these folders begin with.
const PREFIX: &str = ".narrows-sweep-";
/// The file that is locked.
const LOCK: &str = "lock";
/// Without locks, folders that have not changed for so long are left over.
const OLD: Duration = Duration::from_secs(7 * 86_400);

/// Folders of this process. On network file systems a process does not notice its own locks.
static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A hidden folder of this process, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Staging {
    folder: TempDir,
    /// The lock is held while this is open.
    _lock: File,
}

impl Staging {
    /// Makes one inside `parent`, and removes what others left there.
    pub(super) fn begin(parent: &Path) -> io::Result<Self> {
        clean(parent)?;
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            OWN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.path().to_owned());
            // Somebody who cleans up may have found it before it was locked. Then another one is made.
            let lock = match File::create_new(folder.path().join(LOCK)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) || !folder.path().join(LOCK).exists()
            {
                continue;
            }
            return Ok(Self { folder, _lock: lock });
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        OWN.lock().unwrap_or_else(PoisonError::into_inner).remove(self.folder.path());
    }
}

/// Removes folders whose process is gone.
fn clean(parent: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let own = OWN.lock().unwrap_or_else(PoisonError::into_inner).contains(&path);
        if hidden && !own && is_left_over(&path) {
            // Another process may be doing the same.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

/// Nobody holds the lock in the folder. While it is removed, it is not locked again: its owner would have to be beginning, and
/// looks again.
fn is_left_over(folder: &Path) -> bool {
    match File::open(folder.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => is_old(folder),
        },
        // Killed before it was locked, or about to lock it: an empty folder is no loss for either.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::remove_dir(folder).is_err() && is_old(folder)
        }
        Err(_) => false,
    }
}

fn is_old(folder: &Path) -> bool {
    let changed = std::fs::metadata(folder).and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > OLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn folders_of_the_dead_are_removed_and_those_of_the_living_are_not() {
        let place = tempfile::tempdir().unwrap();
        let living = Staging::begin(place.path()).unwrap();
        let dead = place.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        std::fs::write(dead.join("half"), "x").unwrap();
        std::fs::create_dir(place.path().join(format!("{PREFIX}empty"))).unwrap();
        let other = Staging::begin(place.path()).unwrap();
        assert!(living.path().exists() && other.path().exists() && !dead.exists());
        assert_eq!(names(place.path()), 2);
        drop((living, other));
        assert_eq!(names(place.path()), 0);
    }

    #[test]
    fn a_folder_that_another_process_has_locked_stays() {
        let place = tempfile::tempdir().unwrap();
        let theirs = place.path().join(format!("{PREFIX}theirs"));
        std::fs::create_dir(&theirs).unwrap();
        let lock = File::create(theirs.join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        drop(Staging::begin(place.path()).unwrap());
        assert!(theirs.exists());
        drop(lock);
        drop(Staging::begin(place.path()).unwrap());
        assert!(!theirs.exists());
    }
}
