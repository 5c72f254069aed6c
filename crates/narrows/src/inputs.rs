//! Files that scenarios name: each read once, kept with the results as it was read.
//!
//! A results folder holds them in `inputs/`, and its scenario refers to them there. So it can be run again wherever it is
//! moved to, whatever became of the files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::checksum;
use crate::diagnostic::{Checked, Code, Diagnostic, Source};
use crate::input_file;

/// Where results keep the files that their scenario names.
pub const INPUTS: &str = "inputs";

/// Where the folder of a sweep keeps a file that scenarios name.
pub(crate) fn input_in(folder: &Path, hash: &str, name: &str) -> PathBuf {
    folder.join(INPUTS).join(hash).join(name)
}

/// The content of a file, as it was when it was read.
#[derive(Clone, Debug)]
pub struct Content {
    source: Arc<Source>,
    hash: String,
}

impl Content {
    /// The content of a file that messages call `name`.
    pub fn new(name: &str, text: String) -> Self {
        Self::of(Arc::new(Source { name: name.to_owned(), text }))
    }

    /// The content of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is larger than [`input_file::LARGEST_TABLE`].
    fn read(path: &Path) -> Checked<Self> {
        Ok(Self::of(input_file::read_text(path, input_file::LARGEST_TABLE)?))
    }

    /// The content of a file that has been read.
    pub fn of(source: Arc<Source>) -> Self {
        let hash = checksum::of_bytes(source.text.as_bytes());
        Self { source, hash }
    }

    /// The text, with the name that messages have for it.
    pub(crate) fn source(&self) -> Arc<Source> {
        Arc::clone(&self.source)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The hash of the text, 32 hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// A file that a scenario names, with the name that results have for it.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file as the scenario names it: relative to the scenario, or absolute.
    pub file: PathBuf,
    /// Its name without a folder, with a number if another file of the scenario has that.
    pub name: String,
    /// Its content.
    pub content: Content,
}

impl Input {
    /// Its path in a stored scenario: `inputs/NAME`.
    pub fn path(&self) -> PathBuf {
        Self::path_of(&self.name)
    }

    /// Path of the file of this name in a stored scenario.
    pub(crate) fn path_of(name: &str) -> PathBuf {
        format!("{INPUTS}/{name}").into()
    }
}

/// Files that have been read. Copies share them, so that all runs of one command see the same content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// By place: what was read there.
    read: BTreeMap<PathBuf, Content>,
    /// By place: what was there when results were begun, and where those keep it.
    kept: BTreeMap<PathBuf, (String, PathBuf)>,
    reach: Reach,
}

/// Files that may be read.
#[derive(Debug, Default)]
enum Reach {
    /// All.
    #[default]
    Everywhere,
    /// Those of this folder.
    Within(PathBuf),
    /// None but those that were supplied.
    Supplied,
}

impl Inputs {
    /// Only files of this folder, which is absolute and has no symbolic links in its path.
    pub(crate) fn within(folder: PathBuf) -> Self {
        Self::reaching(Reach::Within(folder))
    }

    /// Only files that are supplied.
    pub(crate) fn supplied() -> Self {
        Self::reaching(Reach::Supplied)
    }

    fn reaching(reach: Reach) -> Self {
        Self(Arc::new(Mutex::new(Known { reach, ..Known::default() })))
    }

    /// The content of a file, which is read at most once. A file that is gone is taken from the results that are continued.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn get(&self, path: &Path) -> Checked<Content> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = known.read.get(path) {
            return Ok(content.clone());
        }
        match &known.reach {
            Reach::Everywhere => {}
            Reach::Within(folder) => keep_within(folder, path)?,
            // Without its folder, if it came without one.
            Reach::Supplied => {
                let alone = path.file_name().and_then(|name| known.read.get(Path::new(name)));
                return Ok(alone.ok_or_else(|| not_supplied(path, &known.read))?.clone());
            }
        }
        let content = match known.kept.get(path) {
            Some((hash, place)) if is_gone(path) => read(place, hash)?,
            _ => Content::read(path)?,
        };
        known.read.insert(path.to_owned(), content.clone());
        Ok(content)
    }

    /// Warnings of files that hold something else than when the results were begun that are continued.
    pub(crate) fn changed(&self) -> Vec<Diagnostic> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = known
            .kept
            .iter()
            .filter(|(path, (hash, _))| known.read.get(*path).is_some_and(|content| content.hash != *hash));
        changed.map(|(path, (_, place))| changed_since(path, place)).collect()
    }

    /// All that have been read.
    pub(crate) fn all(&self) -> Vec<Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read.values().cloned().collect()
    }

    /// From now on the file at `path` has this content, whatever is there.
    pub(crate) fn supply(&self, path: PathBuf, content: Content) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read.insert(path, content);
    }

    /// The file at `path` had this hash when results were begun that keep it at `place`.
    pub(crate) fn expect(&self, path: PathBuf, hash: &str, place: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).kept.insert(path, (hash.to_owned(), place));
    }
}

/// Reads a file that results keep.
///
/// # Errors
/// If it cannot be read, or is not what it was.
pub(crate) fn read(place: &Path, hash: &str) -> Checked<Content> {
    let content = Content::read(place)?;
    if content.hash == hash {
        return Ok(content);
    }
    let message =
        format!("{} is damaged: its checksum is {}, expected {hash}", place.display(), content.hash);
    Err(Diagnostic::error(Code::BadResults, message).help("restore the file that it was copied from").into())
}

/// Refuses what is outside of a folder (absolute, without symbolic links), wherever symbolic links lead.
pub(crate) fn keep_within(folder: &Path, path: &Path) -> Checked<()> {
    let unreadable = |error: io::Error| {
        Diagnostic::error(Code::InputFailed, format!("cannot read {}: {error}", path.display()))
    };
    if path.canonicalize().map_err(unreadable)?.starts_with(folder) {
        return Ok(());
    }
    let message = format!("{} is outside of the folder {}", path.display(), folder.display());
    Err(Diagnostic::error(Code::InputFailed, message).help("copy the file into the folder").into())
}

fn not_supplied(path: &Path, supplied: &BTreeMap<PathBuf, Content>) -> Diagnostic {
    let path = path.display().to_string();
    let error =
        Diagnostic::error(Code::InputFailed, format!("cannot read {path}: it is not among the files"));
    let names: Vec<_> = supplied.keys().map(|path| path.display().to_string()).collect();
    if names.is_empty() { error } else { error.known(&path, names.iter().map(String::as_str)) }
}

fn is_gone(path: &Path) -> bool {
    path.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn changed_since(path: &Path, place: &Path) -> Diagnostic {
    let message = format!(
        "{} has changed since the sweep began: cells whose scenario names it are run again",
        path.display()
    );
    let help = format!("what it was is in {}", place.display());
    Diagnostic::warning(Code::InputChanged, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_however_often_it_changes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.csv");
        let inputs = Inputs::default();
        let copy = inputs.clone();
        assert_eq!(inputs.get(&path).expect_err("nothing there").0[0].code, Code::InputFailed);
        std::fs::write(&path, "first").unwrap();
        assert_eq!(inputs.get(&path).unwrap().text(), "first");
        std::fs::write(&path, "second").unwrap();
        assert_eq!(copy.get(&path).unwrap().text(), "first");
    }

    #[test]
    fn a_file_that_has_changed_since_results_were_begun_is_noticed_and_one_that_is_gone_is_taken_from_them() {
        let place = tempfile::tempdir().unwrap();
        let [path, copy] = ["a.csv", "copy.csv"].map(|name| place.path().join(name));
        std::fs::write(&copy, "as it was").unwrap();
        let hash = checksum::of_bytes(b"as it was");
        let get = || {
            let inputs = Inputs::default();
            inputs.expect(path.clone(), &hash, copy.clone());
            let content = inputs.get(&path)?;
            Ok((content.text().to_owned(), inputs.changed().len()))
        };
        let found = |text: &str, changed| (text.to_owned(), changed);
        assert_eq!(get(), Ok(found("as it was", 0)));
        std::fs::write(&path, "changed").unwrap();
        assert_eq!(get(), Ok(found("changed", 1)));
        std::fs::write(&path, "as it was").unwrap();
        std::fs::write(&copy, "damaged").unwrap();
        assert_eq!(get(), Ok(found("as it was", 0)), "the file itself is there");
        std::fs::remove_file(&path).unwrap();
        let error: crate::diagnostic::Rejection = get().expect_err("refused");
        assert_eq!(error.0[0].code, Code::BadResults);
    }
}
