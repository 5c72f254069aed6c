//! The folder of a search.
//!
//! ```text
//! search.json         what is searched, and by which engine
//! generations.jsonl   a line for each generation: its paths and their scores
//! worst/N.toml        the worst cases as scenarios
//! summary.json        the same as numbers
//! report.html         the page
//! ```
//!
//! A generation is written when it is done. What a kill has cut off is left out when the search resumes, and made again. Nothing else in
//! the folder is touched.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::population::Generation;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::input_file::{LARGEST_SUMMARY, read_bytes};
use crate::results::{Claim, Staging, busy, cannot_write, write_text};

const MANIFEST: &str = "search.json";
const GENERATIONS: &str = "generations.jsonl";
/// Where the scenarios of worst cases are.
const WORST: &str = "worst";

/// Identity of a search. Two searches with the same have the same generations.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// The engine.
    pub(super) engine: String,
    /// The control.
    pub(super) control: String,
    /// The objective.
    pub(super) objective: String,
    /// The seed, of the search and of all runs.
    pub(super) seed: u64,
    /// Rate of the bottleneck, kb/s, if it is given.
    pub(super) rate: Option<u32>,
    /// Round-trip time of all connections under test, ms, if it is given.
    pub(super) rtt: Option<u32>,
}

/// The folder of a search, to which one process writes at a time.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    staging: Staging,
    generations: File,
    _claim: Claim,
}

impl Store {
    /// Opens the folder, which is made if it is not there, and reads the generations in it.
    ///
    /// # Errors
    /// If it cannot be written to, somebody else writes to it, or it belongs to something else or another search.
    pub(super) fn open(folder: &Path, manifest: &Manifest) -> Checked<(Self, Vec<Generation>)> {
        let failed = |error: io::Error| cannot_write(folder, &error);
        let found = found(folder)?;
        if let Some(found) = &found {
            check(folder, found, manifest)?;
        }
        std::fs::create_dir_all(folder).map_err(failed)?;
        let claim = Claim::begin(folder, MANIFEST.as_ref()).map_err(failed)?.ok_or_else(|| busy(folder))?;
        let staging = Staging::begin(folder).map_err(failed)?;
        let path = folder.join(GENERATIONS);
        let (lines, whole) = if found.is_some() { generations(&path)? } else { (Vec::new(), 0) };
        let open = || {
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.set_len(whole)?;
            Ok(file)
        };
        // The file is there before it says whose it is: without that it is none of a search.
        let store = |generations| Self { folder: folder.to_owned(), staging, generations, _claim: claim };
        let store = open().map(store).map_err(failed)?;
        if found.is_none() {
            let text = serde_json::to_string_pretty(manifest).unwrap_or_default() + "\n";
            store.put(MANIFEST, &text)?;
        }
        Ok((store, lines))
    }

    /// Adds a generation that is done.
    pub(super) fn add(&mut self, generation: &Generation) -> Checked<()> {
        let line = serde_json::to_string(generation).unwrap_or_default() + "\n";
        let write = self.generations.write_all(line.as_bytes()).and_then(|()| self.generations.sync_data());
        Ok(write.map_err(|error| cannot_write(&self.folder, &error))?)
    }

    /// Leaves the first generations only.
    pub(super) fn truncate(&mut self, kept: &[Generation]) -> Checked<()> {
        let lines = kept.iter().map(|kept| serde_json::to_string(kept).unwrap_or_default().len() as u64 + 1);
        let cut = self.generations.set_len(lines.sum());
        Ok(cut.map_err(|error| cannot_write(&self.folder, &error))?)
    }

    /// Puts the scenarios of worst cases, in place of those of a smaller search.
    pub(super) fn put_worst(&self, texts: &[&str], most: usize) -> Checked<()> {
        let worst = self.folder.join(WORST);
        std::fs::create_dir_all(&worst).map_err(|error| cannot_write(&worst, &error))?;
        for number in 0..most {
            let name = worst_name(number + 1);
            match texts.get(number) {
                Some(text) => self.put(&name, text)?,
                None => drop(std::fs::remove_file(self.folder.join(name))),
            }
        }
        Ok(())
    }

    /// Puts a file in place of an older one.
    pub(super) fn put(&self, name: &str, text: &str) -> Checked<()> {
        let staged = self.staging.path().join(Path::new(name).file_name().unwrap_or_default());
        let write = write_text(&staged, text, true);
        let put = write.and_then(|()| std::fs::rename(staged, self.folder.join(name)));
        Ok(put.map_err(|error| cannot_write(&self.folder.join(name), &error))?)
    }
}

/// The scenario of a worst case in the folder.
pub(super) fn worst_name(number: usize) -> String {
    format!("{WORST}/{number}.toml")
}

/// The search that a folder is of; none if it is not there or empty.
fn found(folder: &Path) -> Checked<Option<Manifest>> {
    let exists =
        |message: String| Diagnostic::error(Code::OutputExists, message).help("choose another with --out");
    let path = folder.join(MANIFEST);
    match read_bytes(&path, LARGEST_SUMMARY) {
        Ok(text) => {
            let unreadable = |error: serde_json::Error| {
                let message = format!("{} is of no search of narrows: {error}", path.display());
                Diagnostic::error(Code::BadResults, message).help("choose another folder with --out")
            };
            Ok(Some(serde_json::from_slice(&text).map_err(unreadable)?))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(exists(format!("{} is not a folder", folder.display())).into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match foreign(folder) {
            Ok(None) => Ok(None),
            Ok(Some(name)) => {
                let message =
                    format!("{} exists, and is no folder of a search: it has {name}", folder.display());
                Err(exists(message).into())
            }
            Err(error) => Err(cannot_write(folder, &error).into()),
        },
        Err(error) => Err(cannot_write(folder, &error).into()),
    }
}

/// Something in a folder without a manifest that does not belong to a search that has just begun.
fn foreign(folder: &Path) -> io::Result<Option<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_begun = name == GENERATIONS && entry.metadata()?.len() == 0;
        names.extend((!is_begun && !name.starts_with(".narrows-")).then_some(name));
    }
    Ok(names.into_iter().min())
}

/// # Errors
/// If the folder is of another search.
fn check(folder: &Path, found: &Manifest, wanted: &Manifest) -> Checked<()> {
    let of = |value: Option<u32>| value.map_or("any".to_owned(), |value| value.to_string());
    let differences = [
        ("control", found.control.clone(), wanted.control.clone()),
        ("objective", found.objective.clone(), wanted.objective.clone()),
        ("seed", found.seed.to_string(), wanted.seed.to_string()),
        ("rate in kb/s", of(found.rate), of(wanted.rate)),
        ("round-trip time in ms", of(found.rtt), of(wanted.rtt)),
        ("engine", found.engine.clone(), wanted.engine.clone()),
    ];
    let Some((what, there, here)) = differences.iter().find(|(_, there, here)| there != here) else {
        return Ok(());
    };
    let message = format!("{} has another search: its {what} is {there}, not {here}", folder.display());
    Err(Diagnostic::error(Code::OutputExists, message).help("choose another folder with --out").into())
}

/// The generations in a file, and how many bytes they are. A line that was cut off is none.
fn generations(path: &Path) -> Checked<(Vec<Generation>, u64)> {
    let text = match read_bytes(path, LARGEST_SUMMARY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        text => text.map_err(|error| cannot_write(path, &error))?,
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = text[..whole].split_inclusive(|byte| *byte == b'\n');
    let read = |(number, line): (usize, &[u8])| {
        let read = serde_json::from_slice(line);
        read.ok()
            .filter(|read: &Generation| read.generation as usize == number)
            .ok_or_else(|| damaged(path, number))
    };
    let generations = lines.enumerate().map(read).collect::<Result<_, _>>()?;
    Ok((generations, whole as u64))
}

/// The diagnostic for a line that is not what was written.
fn damaged(path: &Path, number: usize) -> Diagnostic {
    let message = format!("{}: line {} is not what the search wrote", path.display(), number + 1);
    let help = "remove this line and those behind it, and they are made again";
    Diagnostic::error(Code::BadResults, message).help(help)
}

/// The diagnostic for a generation whose paths are not those of the search.
pub(super) fn other_paths(folder: &Path, number: usize) -> Diagnostic {
    damaged(&folder.join(GENERATIONS), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let [engine, control, objective] = ["1", "reno", "starve"].map(str::to_owned);
        Manifest { engine, control, objective, seed: 1, rate: None, rtt: None }
    }

    fn refused(folder: &Path, manifest: &Manifest) -> String {
        Store::open(folder, manifest).err().unwrap().to_string().replace(&folder.display().to_string(), "DIR")
    }

    fn generation(generation: u32) -> Generation {
        Generation { generation, runs: 3, candidates: Vec::new() }
    }

    #[test]
    fn generations_come_back_and_one_that_was_cut_off_does_not() {
        let place = tempfile::tempdir().unwrap();
        let (mut store, none) = Store::open(place.path(), &manifest()).unwrap();
        assert!(none.is_empty());
        (0..3).for_each(|number| store.add(&generation(number)).unwrap());
        drop(store);
        let path = place.path().join(GENERATIONS);
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();
        let (mut store, found) = Store::open(place.path(), &manifest()).unwrap();
        assert_eq!(found, [generation(0), generation(1)]);
        store.add(&generation(2)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), text);
        store.truncate(&found).unwrap();
        store.add(&generation(2)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_line_in_the_middle_that_is_damaged_is_named() {
        let place = tempfile::tempdir().unwrap();
        drop(Store::open(place.path(), &manifest()).unwrap());
        std::fs::write(place.path().join(GENERATIONS), "{}\n").unwrap();
        assert!(refused(place.path(), &manifest()).contains("generations.jsonl: line 1 is not what"));
    }

    #[test]
    fn folders_of_others_and_of_other_searches_stay_as_they_are() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("notes.txt"), "mine").unwrap();
        let message =
            "DIR exists, and is no folder of a search: it has notes.txt\n  choose another with --out";
        assert_eq!(refused(place.path(), &manifest()), message);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        let file = place.path().join("notes.txt");
        assert!(refused(&file, &manifest()).starts_with("DIR is not a folder"));
        let place = tempfile::tempdir().unwrap();
        drop(Store::open(place.path(), &manifest()).unwrap());
        let other = |change: fn(&mut Manifest)| {
            let mut other = manifest();
            change(&mut other);
            refused(place.path(), &other).lines().next().unwrap_or_default().to_owned()
        };
        let has = "DIR has another search: its ";
        assert_eq!(other(|other| other.control = "bbr".into()), format!("{has}control is reno, not bbr"));
        assert_eq!(other(|other| other.seed = 2), format!("{has}seed is 1, not 2"));
        assert_eq!(other(|other| other.engine = "2".into()), format!("{has}engine is 1, not 2"));
        assert_eq!(other(|other| other.rate = Some(9)), format!("{has}rate in kb/s is any, not 9"));
    }

    #[test]
    fn one_process_at_a_time_writes() {
        let place = tempfile::tempdir().unwrap();
        let _first = Store::open(place.path(), &manifest()).unwrap();
        assert!(refused(place.path(), &manifest()).starts_with("another process is writing to DIR"));
    }

    #[test]
    fn what_somebody_put_into_the_folder_stays() {
        let place = tempfile::tempdir().unwrap();
        drop(Store::open(place.path(), &manifest()).unwrap());
        std::fs::write(place.path().join("notes.txt"), "mine").unwrap();
        let (store, _) = Store::open(place.path(), &manifest()).unwrap();
        store.put_worst(&["a", "b"], 3).unwrap();
        store.put_worst(&["c"], 3).unwrap();
        assert_eq!(std::fs::read_to_string(place.path().join("notes.txt")).unwrap(), "mine");
        let worst = std::fs::read_dir(place.path().join(WORST)).unwrap().count();
        assert_eq!(
            (worst, std::fs::read_to_string(place.path().join("worst/1.toml")).unwrap()),
            (1, "c".into())
        );
    }
}
