//! Files and folders that are there as a whole or not at all, and never in the place of what somebody else wrote.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::ours::{Contents, Foreign, foreign};
use super::staging::{Claim, PREFIX, Staging};
use crate::diagnostic::{Code, Diagnostic};

/// Files or a folder in the making, in a hidden folder beside their targets, which nobody else may write to meanwhile; dropped before
/// [`finish`](Staged::finish), it leaves nothing behind.
#[derive(Debug)]
pub struct Staged {
    staging: Staging,
    places: Vec<Place>,
    what: What,
    overwrite: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    File,
    Folder(Contents),
}

/// Where something goes.
#[derive(Debug)]
struct Place {
    /// As the user named it.
    shown: PathBuf,
    /// Absolute, without symbolic links.
    target: PathBuf,
    _claim: Claim,
}

/// Where targets are in the hidden folder until they are finished.
const NEW: &str = "new";

impl Staged {
    /// Begins a file.
    ///
    /// # Errors
    /// If the target exists and must not be replaced, is a folder, is being written by somebody else, or its folder cannot be written to.
    pub fn file(target: &Path, overwrite: bool) -> Result<Self, Diagnostic> {
        Self::files(&[target.to_owned()], overwrite)
    }

    /// Begins several files of one folder.
    ///
    /// # Errors
    /// As [`Staged::file`].
    pub fn files(targets: &[PathBuf], overwrite: bool) -> Result<Self, Diagnostic> {
        let staged = Self::begin(targets, What::File, overwrite)?;
        for place in &staged.places {
            let made = File::create_new(staged.new_path(place));
            made.map_err(|error| cannot_write(&place.shown, &error))?;
        }
        Ok(staged)
    }

    /// Begins a folder. An older one is replaced only if it has nothing in it but such contents.
    ///
    /// # Errors
    /// If the target exists and must not be replaced, is a file, is being written by somebody else, or its folder cannot be written to.
    pub fn folder(target: &Path, overwrite: bool, contents: Contents) -> Result<Self, Diagnostic> {
        let staged = Self::begin(&[target.to_owned()], What::Folder(contents), overwrite)?;
        let made = std::fs::create_dir(staged.path());
        made.map_err(|error| cannot_write(target, &error))?;
        Ok(staged)
    }

    fn begin(targets: &[PathBuf], what: What, overwrite: bool) -> Result<Self, Diagnostic> {
        let places = targets.iter().map(|target| Place::claim(target)).collect::<Result<Vec<_>, _>>()?;
        let failed = |error: std::io::Error| cannot_write(&targets[0], &error);
        let staging = Staging::begin(places[0].parent()).map_err(failed)?;
        places.iter().try_for_each(|place| place.check(what, overwrite))?;
        std::fs::create_dir(staging.path().join(NEW)).map_err(failed)?;
        Ok(Self { staging, places, what, overwrite })
    }

    /// The folder they are in, under their names, until they are finished.
    pub fn hidden(&self) -> PathBuf {
        self.staging.path().join(NEW)
    }

    /// Where the first of them is until it is finished.
    pub fn path(&self) -> PathBuf {
        self.new_path(&self.places[0])
    }

    fn new_path(&self, place: &Place) -> PathBuf {
        self.hidden().join(place.target.file_name().unwrap_or_default())
    }

    /// Where the first of them goes: absolute, without symbolic links.
    pub(super) fn target(&self) -> &Path {
        &self.places[0].target
    }

    /// A handle to write the file with; of a folder there is none.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn handle(&self) -> std::io::Result<File> {
        File::create(self.path())
    }

    /// Writes all of the file and puts it in its place.
    ///
    /// # Errors
    /// If it cannot be written or renamed.
    pub fn write(self, content: impl AsRef<[u8]>) -> Result<(), Diagnostic> {
        std::fs::write(self.path(), content).map_err(|error| cannot_write(&self.places[0].shown, &error))?;
        self.finish()
    }

    /// Puts it in its place. If that has been taken meanwhile, it is kept beside it.
    ///
    /// # Errors
    /// If it cannot be renamed, or its place was taken.
    pub fn finish(self) -> Result<(), Diagnostic> {
        for place in &self.places {
            let new = self.new_path(place);
            place.check(self.what, self.overwrite).map_err(|found| self.keep_aside(place, found))?;
            let put = match self.what {
                What::File => put_file(&new, &place.target, self.overwrite),
                What::Folder(_) if self.overwrite && place.target.exists() => {
                    self.staging.replace(&new, &place.target)
                }
                // Not over a folder with anything in it.
                What::Folder(_) => std::fs::rename(&new, &place.target),
            };
            put.map_err(|error| self.keep_aside(place, cannot_write(&place.shown, &error)))?;
        }
        Ok(())
    }

    /// Gives what was written another name: it may have taken hours to come by.
    fn keep_aside(&self, place: &Place, found: Diagnostic) -> Diagnostic {
        let name = |number: u32| match (self.what, place.target.file_stem(), place.target.extension()) {
            (What::File, Some(stem), Some(kind)) => {
                format!("{}-{number}.{}", stem.display(), kind.display())
            }
            _ => format!("{}-{number}", place.target.file_name().unwrap_or_default().display()),
        };
        let mut free = (2..100).map(|number| place.target.with_file_name(name(number)));
        let Some(aside) = free.find(|path| path.symlink_metadata().is_err()) else { return found };
        match std::fs::rename(self.new_path(place), &aside) {
            Ok(()) => found.help(format!("what was to be written is in {}", aside.display())),
            Err(_) => found,
        }
    }
}

/// Never over an older file unless it may be replaced, not even in a race.
fn put_file(new: &Path, target: &Path, overwrite: bool) -> std::io::Result<()> {
    File::options().write(true).open(new)?.sync_all()?;
    if overwrite {
        return std::fs::rename(new, target);
    }
    TempPath::try_from_path(new)?.persist_noclobber(target).map_err(|refused| {
        // What is not where it belongs is kept aside.
        let _ = refused.path.keep();
        refused.error
    })
}

impl Place {
    fn claim(shown: &Path) -> Result<Self, Diagnostic> {
        let target = resolve(shown).map_err(|error| cannot_write(shown, &error))?;
        let name = target.file_name().unwrap_or_default();
        if name.is_empty() || name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            let why = format!("{PREFIX}... are names of what is not finished");
            let why = if name.is_empty() { "it cannot be replaced".into() } else { why };
            return Err(cannot_write(shown, &why).help("choose another name"));
        }
        let parent = target.parent().unwrap_or(&target);
        match Claim::begin(parent, name).map_err(|error| cannot_write(shown, &error))? {
            Some(claim) => Ok(Self { shown: shown.to_owned(), target, _claim: claim }),
            None => Err(busy(shown)),
        }
    }

    fn parent(&self) -> &Path {
        self.target.parent().unwrap_or(&self.target)
    }

    /// Nothing is there, or something that may be replaced.
    fn check(&self, what: What, overwrite: bool) -> Result<(), Diagnostic> {
        let Ok(found) = self.target.symlink_metadata() else { return Ok(()) };
        let shown = self.shown.display();
        let exists = |message: String, help: &str| {
            Err(Diagnostic::error(Code::OutputExists, message).help(help.to_owned()))
        };
        let another = "choose another with --out";
        let contents = match what {
            What::File if found.is_dir() => return exists(format!("{shown} is a folder"), another),
            What::File if !found.is_file() => {
                return exists(format!("{shown} is neither a file nor a folder"), another);
            }
            What::Folder(_) if !found.is_dir() => return exists(format!("{shown} is not a folder"), another),
            What::File => None,
            What::Folder(contents) => Some(contents),
        };
        if !overwrite {
            let kind = if contents.is_some() { "folder" } else { "file" };
            let help = "choose another with --out, or replace it with --overwrite";
            return exists(format!("the {kind} {shown} exists"), help);
        }
        let Some(contents) = contents else { return Ok(()) };
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        if here.is_ok_and(|here| here.starts_with(&self.target)) {
            let message = format!("{shown} is the current folder, or one that it is in");
            return exists(message, "start the command elsewhere, or choose another with --out");
        }
        match foreign(&self.target, contents).map_err(|error| cannot_write(&self.shown, &error))? {
            None => Ok(()),
            Some(Foreign::Busy) => Err(busy(&self.shown)),
            Some(Foreign::Entry(entry)) => {
                let message = format!(
                    "{} is not replaced: narrows did not write {}",
                    shown,
                    self.shown.join(entry).display()
                );
                let help = "move it away, or choose another folder with --out";
                Err(Diagnostic::error(Code::NotOurs, message).help(help))
            }
        }
    }
}

/// The absolute path of a target, without symbolic links; the folder it is in is made.
fn resolve(target: &Path) -> std::io::Result<PathBuf> {
    use std::io::{Error, ErrorKind};
    match target.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    let name = target
        .file_name()
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "this names no file or folder"))?;
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let target = parent.canonicalize()?.join(name);
    match target.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            Err(Error::new(ErrorKind::NotFound, "it is a symbolic link to something that does not exist"))
        }
        _ => Ok(target),
    }
}

/// The diagnostic for a target that somebody else writes to.
pub(crate) fn busy(target: &Path) -> Diagnostic {
    let message = format!("another process is writing to {}", target.display());
    Diagnostic::error(Code::OutputBusy, message).help("wait until it has ended, or choose another with --out")
}

/// The diagnostic for a target that cannot be written.
pub fn cannot_write(target: &Path, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::OutputFailed, format!("cannot write to {}: {error}", target.display()))
}

/// Temporary folders are private; results are as readable as any other.
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

    fn begin(folder: bool, target: &Path, overwrite: bool) -> Result<Staged, Diagnostic> {
        match folder {
            true => Staged::folder(target, overwrite, Contents::Qlog),
            false => Staged::file(target, overwrite),
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_not_finished_leaves_nothing_behind() {
        let place = tempfile::tempdir().unwrap();
        for folder in [false, true] {
            let staged = begin(folder, &place.path().join("a"), false).unwrap();
            assert_eq!(names(place.path()).len(), 2, "the lock and the hidden folder");
            drop(staged);
            assert_eq!(names(place.path()), [""; 0]);
        }
    }

    #[test]
    fn what_exists_is_replaced_on_demand_only() {
        let place = tempfile::tempdir().unwrap();
        for folder in [false, true] {
            let target = place.path().join(if folder { "folder" } else { "file" });
            begin(folder, &target, false).unwrap().finish().unwrap();
            assert_eq!(begin(folder, &target, false).unwrap_err().code, Code::OutputExists);
            begin(folder, &target, true).unwrap().finish().unwrap();
            assert_eq!(target.is_dir(), folder);
        }
        assert_eq!(names(place.path()), ["file", "folder"]);
    }

    #[test]
    fn a_file_never_replaces_a_folder_nor_a_folder_a_file() {
        let place = tempfile::tempdir().unwrap();
        let [folder, file] = ["folder", "file"].map(|name| place.path().join(name));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "").unwrap();
        assert!(begin(false, &folder, true).unwrap_err().message.ends_with("is a folder"));
        assert!(begin(true, &file, true).unwrap_err().message.ends_with("is not a folder"));
        assert_eq!(names(place.path()), ["file", "folder"]);
    }

    #[test]
    fn two_names_of_one_target_are_one_target() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("out");
        std::fs::create_dir(&out).unwrap();
        let _first = begin(true, &out, true).unwrap();
        let mut others = vec![place.path().join("out/"), place.path().join("./out/../out")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("out", place.path().join("link")).unwrap();
            others.push(place.path().join("link"));
        }
        for other in others {
            let found = begin(true, &other, true).unwrap_err();
            assert_eq!(found.code, Code::OutputBusy, "{}: {}", other.display(), found.message);
        }
    }

    #[cfg(unix)]
    #[test]
    fn through_a_symbolic_link_the_folder_it_means_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("elsewhere/real")).unwrap();
        std::fs::write(place.path().join("elsewhere/real/old.sqlog"), "").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink("elsewhere/real", &link).unwrap();
        let staged = begin(true, &link, true).unwrap();
        std::fs::write(staged.path().join("new.sqlog"), "").unwrap();
        staged.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(names(&place.path().join("elsewhere/real")), ["new.sqlog"]);
        std::os::unix::fs::symlink("nowhere", place.path().join("dangling")).unwrap();
        let found = begin(true, &place.path().join("dangling"), true).unwrap_err();
        assert!(found.message.ends_with("it is a symbolic link to something that does not exist"));
    }

    #[test]
    fn what_appears_meanwhile_stays_and_what_was_written_is_kept_beside_it() {
        let place = tempfile::tempdir().unwrap();
        for (folder, name, aside) in [(true, "out.d", "out.d-2"), (false, "out.html", "out-2.html")] {
            let target = place.path().join(name);
            let staged = begin(folder, &target, false).unwrap();
            if folder {
                std::fs::create_dir(&target).unwrap();
                std::fs::write(target.join("theirs"), "").unwrap();
            } else {
                std::fs::write(&target, "theirs").unwrap();
            }
            let found = staged.finish().unwrap_err();
            assert_eq!(found.code, Code::OutputExists);
            assert!(found.help.unwrap().ends_with(aside));
            assert!(place.path().join(aside).exists());
            assert!(if folder {
                names(&target) == ["theirs"]
            } else {
                std::fs::read(&target).unwrap() == b"theirs"
            });
        }
        assert_eq!(names(place.path()), ["out-2.html", "out.d", "out.d-2", "out.html"]);
    }

    #[test]
    fn what_is_put_into_an_older_folder_meanwhile_is_found() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        std::fs::create_dir(&target).unwrap();
        let staged = begin(true, &target, true).unwrap();
        std::fs::write(target.join("notes.txt"), "").unwrap();
        assert_eq!(staged.finish().unwrap_err().code, Code::NotOurs);
        assert_eq!(names(&target), ["notes.txt"]);
    }

    #[test]
    fn a_target_needs_a_name_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        for name in ["", "nowhere/..", ".narrows-mine"] {
            let target = if name.is_empty() { PathBuf::new() } else { place.path().join(name) };
            assert_eq!(begin(true, &target, true).unwrap_err().code, Code::OutputFailed, "{name}");
        }
        assert!(begin(true, Path::new("/"), true).is_err());
        assert_eq!(names(place.path()), [""; 0]);
    }

    #[test]
    fn the_current_folder_is_not_replaced() {
        let found = begin(true, Path::new("."), true).unwrap_err();
        assert!(found.message.contains("is the current folder"), "{}", found.message);
    }
}
