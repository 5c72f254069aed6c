//! Hidden folders for unfinished files, locks beside targets, and the removal of what killed processes left of both.
//!
//! Each process has its own hidden folder ([`Staging`]), and holds a lock in it for as long as it lives. Whoever begins removes the
//! folders whose lock nobody holds. Where the file system knows no locks, only old folders are removed. A [`Claim`] is a locked file
//! beside a target: one process at a time writes to it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::checksum;

/// Prefix of these folders and files.
pub(crate) const PREFIX: &str = ".narrows-";
/// The file that is locked in a folder.
const LOCK: &str = "lock";
/// Suffix of locked files beside a target.
const CLAIM: &str = ".lock";
/// In a hidden folder: the older folder that is about to be replaced. If the new one never takes its place, it is put back.
const REPLACED: &str = "replaced";
/// In a hidden folder: the older folder once the new one is in its place.
const DISCARDED: &str = "discarded";
/// Suffix of folders that earlier versions moved aside to replace them. They may be the only copy.
const MOVED_ASIDE: &str = ".old";
/// Without locks, folders that have not changed for so long are left over.
const OLD: Duration = Duration::from_secs(7 * 86_400);

/// Whoever cleans up holds the lock of a dead process for a moment, so a lock is tried this often before somebody has it.
const ATTEMPTS: u32 = 10;
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// Hidden folders and locks of this process. On network file systems a process does not notice its own locks.
static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A path in [`OWN`] for as long as this lives.
#[derive(Debug)]
struct Own(PathBuf);

impl Own {
    fn all() -> MutexGuard<'static, BTreeSet<PathBuf>> {
        OWN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if this process has it already.
    fn take(path: PathBuf) -> Option<Self> {
        let is_new = Self::all().insert(path.clone());
        // Not before it is known: what is dropped here would give back what somebody else has.
        is_new.then(|| Self(path))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        Self::all().remove(&self.0);
    }
}

/// A hidden folder of this process, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: TempDir,
    _own: Option<Own>,
    /// The lock is held while this is open.
    _lock: File,
}

impl Staging {
    /// Makes one inside `parent`, and removes what others left there.
    pub(crate) fn begin(parent: &Path) -> io::Result<Self> {
        clean(parent);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let own = Own::take(folder.path().to_owned());
            // Somebody who cleans up may have found it before it was locked. Then another one is made.
            let lock = match File::create_new(folder.path().join(LOCK)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) || !folder.path().join(LOCK).exists()
            {
                continue;
            }
            return Ok(Self { folder, _own: own, _lock: lock });
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renames the folder `new` to `target`, a folder beside this one that is there. If the process is killed in between, the older one
    /// comes back.
    pub(crate) fn replace(&self, new: &Path, target: &Path) -> io::Result<()> {
        let (replaced, name) = (self.path().join(REPLACED), target.file_name().unwrap_or_default());
        std::fs::create_dir_all(&replaced)?;
        std::fs::rename(target, replaced.join(name))?;
        match std::fs::rename(new, target) {
            Ok(()) => {
                // From now on it must not come back, whatever becomes of the new one.
                let _ = std::fs::rename(replaced, self.path().join(DISCARDED));
                Ok(())
            }
            Err(error) => std::fs::rename(replaced.join(name), target).and(Err(error)),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What this leaves, dropping the folder may still remove.
        let _ = remove(self.path());
    }
}

/// The right to write to a target, held by one process at a time. Nothing is left of it when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    own: Own,
    /// The lock is held while this is open.
    _lock: File,
}

impl Claim {
    /// Claims what is called `name` in `parent`; none if somebody else has it.
    pub(crate) fn begin(parent: &Path, name: &OsStr) -> io::Result<Option<Self>> {
        // A hash, as names may be as long as the file system allows.
        let path = parent.join(format!("{PREFIX}{}{CLAIM}", checksum::of_bytes(name.as_encoded_bytes())));
        let Some(own) = Own::take(path) else { return Ok(None) };
        let mut attempts = 0;
        loop {
            let lock = open_lock(&own.0)?;
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) if attempts == ATTEMPTS => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    attempts += 1;
                    std::thread::sleep(PAUSE);
                }
                // Whoever had it may have removed the file after it was opened here.
                Ok(()) if !is_at(&lock, &own.0) => {}
                // Without locks nobody can be kept out; what is at the target is looked at again before it is replaced.
                _ => return Ok(Some(Self { own, _lock: lock })),
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Still locked, so nobody else has it.
        let _ = std::fs::remove_file(&self.own.0);
    }
}

/// A lock that another user has left can be read only, which is enough.
fn open_lock(path: &Path) -> io::Result<File> {
    let open = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    open.or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => File::open(path),
        _ => Err(error),
    })
}

/// The file is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(file), Ok(there)) => number(file) == number(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Removes what is left of processes that are gone, as far as that is possible.
fn clean(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        // The lock is held until everything is removed, so whoever begins with the same name looks for another.
        let Some(_lock) = seize(&path) else { continue };
        // Another process may be doing the same.
        let _ = match path.is_dir() {
            true => put_back(&path, parent).and_then(|()| remove(&path)),
            false => std::fs::remove_file(&path),
        };
    }
}

/// Removes a hidden folder, its lock after everything else: a process that is killed meanwhile leaves a folder that others know to be
/// left over.
fn remove(folder: &Path) -> io::Result<()> {
    for path in all_but_lock(folder)? {
        match path.symlink_metadata()?.is_dir() {
            true => std::fs::remove_dir_all(path)?,
            false => std::fs::remove_file(path)?,
        }
    }
    std::fs::remove_dir_all(folder)
}

fn all_but_lock(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let is_other = |path: &io::Result<PathBuf>| path.as_ref().map_or(true, |path| !path.ends_with(LOCK));
    entries.filter(is_other).collect()
}

/// Puts back what was about to be replaced.
fn put_back(folder: &Path, parent: &Path) -> io::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder.join(REPLACED)) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let target = parent.join(entry.file_name());
        if target.symlink_metadata().is_err() {
            std::fs::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Takes over a hidden file or folder whose process is gone, with its lock if there is one. None if it is in use, or none of these.
pub(crate) fn seize(path: &Path) -> Option<Option<File>> {
    let name = path.file_name()?.as_encoded_bytes();
    let ends_with = |end: &str| name.ends_with(end.as_bytes());
    if !name.starts_with(PREFIX.as_bytes()) || ends_with(MOVED_ASIDE) || Own::all().contains(path) {
        return None;
    }
    let kind = path.symlink_metadata().ok()?.file_type();
    let lock = match () {
        () if kind.is_dir() => path.join(LOCK),
        () if kind.is_file() && ends_with(CLAIM) => path.to_owned(),
        // Earlier versions wrote files under such names without a lock.
        () => return (kind.is_file() && is_old(path)).then_some(None),
    };
    match File::open(lock) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => Some(Some(lock)),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(_)) => is_old(path).then_some(None),
        },
        // Killed before it was locked, or about to lock it: an empty folder is no loss for either.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (std::fs::remove_dir(path).is_err() && is_old(path)).then_some(None)
        }
        Err(_) => None,
    }
}

fn is_old(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > OLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    /// A hidden folder whose process was killed.
    fn dead(place: &Path) -> PathBuf {
        let dead = place.join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        dead
    }

    #[test]
    fn while_a_hidden_folder_is_removed_it_has_its_lock_until_nothing_else_is_there() {
        let place = tempfile::tempdir().unwrap();
        for _ in 0..20 {
            let staging = Staging::begin(place.path()).unwrap();
            let folder = staging.path().to_owned();
            for number in 0..300 {
                std::fs::write(folder.join(number.to_string()), "").unwrap();
            }
            std::thread::scope(|scope| {
                scope.spawn(|| drop(staging));
                while let Ok(entries) = std::fs::read_dir(&folder) {
                    let left: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
                    assert!(left.is_empty() || left.iter().any(|name| name == LOCK), "{left:?}");
                }
            });
        }
        assert_eq!(names(place.path()), 0);
    }

    #[test]
    fn folders_of_the_dead_are_removed_and_those_of_the_living_are_not() {
        let place = tempfile::tempdir().unwrap();
        let living = Staging::begin(place.path()).unwrap();
        let dead = dead(place.path());
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
        let theirs = dead(place.path());
        let lock = File::open(theirs.join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        drop(Staging::begin(place.path()).unwrap());
        assert!(theirs.exists());
        drop(lock);
        drop(Staging::begin(place.path()).unwrap());
        assert!(!theirs.exists());
    }

    #[test]
    fn a_folder_that_was_about_to_be_replaced_when_its_process_was_killed_comes_back() {
        let place = tempfile::tempdir().unwrap();
        for newer_is_there in [false, true] {
            let target = place.path().join("out");
            let replaced = dead(place.path()).join(REPLACED).join("out");
            std::fs::create_dir_all(&replaced).unwrap();
            std::fs::write(replaced.join("older"), "").unwrap();
            if newer_is_there {
                std::fs::create_dir(&target).unwrap();
            }
            drop(Staging::begin(place.path()).unwrap());
            assert_eq!(target.join("older").exists(), !newer_is_there);
            assert_eq!(names(place.path()), 1, "nothing is left over");
            std::fs::remove_dir_all(&target).unwrap();
        }
    }

    #[test]
    fn what_earlier_versions_moved_aside_is_never_removed() {
        let place = tempfile::tempdir().unwrap();
        let aside = place.path().join(format!("{PREFIX}abc{MOVED_ASIDE}"));
        std::fs::create_dir(&aside).unwrap();
        drop(Staging::begin(place.path()).unwrap());
        assert!(aside.exists());
    }

    #[test]
    fn one_at_a_time_has_a_claim_and_nothing_is_left_of_it() {
        let place = tempfile::tempdir().unwrap();
        let claim = |name: &str| Claim::begin(place.path(), OsStr::new(name)).unwrap();
        let (first, other) = (claim("a"), claim("b"));
        assert!(first.is_some() && other.is_some() && claim("a").is_none());
        assert_eq!(names(place.path()), 2, "being refused leaves the lock of the first");
        drop(first);
        assert!(claim("a").is_some());
        drop(other);
        assert_eq!(names(place.path()), 0);
    }

    #[test]
    fn the_claim_of_a_dead_process_keeps_nobody_out_and_is_removed_by_anybody() {
        let place = tempfile::tempdir().unwrap();
        let claim = || Claim::begin(place.path(), OsStr::new("a")).unwrap();
        let path = claim().unwrap().own.0.clone();
        let lock = File::create(&path).unwrap();
        lock.try_lock().unwrap();
        assert!(claim().is_none(), "it is alive");
        drop(Staging::begin(place.path()).unwrap());
        assert!(path.exists());
        drop(lock);
        drop(Staging::begin(place.path()).unwrap());
        assert!(!path.exists());
        File::create(&path).unwrap();
        assert!(claim().is_some());
    }
}
