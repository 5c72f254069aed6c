//! Measurements of runs: kept beside a reproduction until that is written, so that one that is killed resumes from them, and
//! written with it, so that the next one of the same folder runs only what is new.
//!
//! A run is known by the hash of the engine, its name, its scenario with every setting and the seed, the files that names, and what is
//! measured of it, so nothing of another engine or of another experiment is ever used. Numbers are kept as their bits: the
//! reproduction is the same, byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Measured, Study};
use crate::ENGINE;
use crate::checksum;
use crate::diagnostic::Checked;
use crate::input_file::{LARGEST_SUMMARY, read_bytes};
use crate::results::{Broken, Output, cannot_write};

/// File of a reproduction: the engine on its first line, then a line for each run.
const RUNS: &str = "runs.txt";
/// Runs of the folder that is replaced which are no longer asked for, and stay for later: at most so many.
const MOST_OTHERS: usize = 10_000;

/// Measurements so far: those in a hidden folder beside the reproduction, and those of the one that it replaces.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    /// Contents that files of the hidden folder would have, by their names.
    older: BTreeMap<String, Vec<u8>>,
}

/// Measurements of one run, and the expectations of its scenario that it broke.
pub type Ran = (Measured, Vec<Broken>);

/// Result of a search for a run.
#[derive(Debug)]
pub enum Found {
    /// It was run before.
    Ran(Ran),
    /// It was not.
    Nothing,
    /// It was, but its file has changed since.
    Damaged,
}

/// A line: the checksum of what follows, then this as JSON. Numbers are bits of floating-point numbers.
#[derive(Deserialize, Serialize)]
struct Record {
    quantities: BTreeMap<String, Option<u64>>,
    series: BTreeMap<String, Vec<(u64, u64)>>,
    /// Number of the expectation, and what was found.
    broken: Vec<(usize, Option<u64>)>,
}

impl Kept {
    /// Measurements kept for an output, which prevents others from using them.
    pub fn beside(output: &Output) -> Self {
        let older = read_bytes(&output.target().join(RUNS), LARGEST_SUMMARY).unwrap_or_default();
        Self { folder: output.hidden_beside("measured"), older: runs_of(&older) }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Earlier measurements of a run of the study.
    pub fn find(&self, study: &Study, run: usize) -> Found {
        let key = key(study, run);
        let found = |content: &[u8]| read(study, run, content).map_or(Found::Damaged, Found::Ran);
        match std::fs::read(self.folder.join(&key)) {
            Ok(content) => found(&content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.older.get(&key).map_or(Found::Nothing, |content| found(content))
            }
            Err(_) => Found::Damaged,
        }
    }

    /// Keeps what a run came to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, study: &Study, run: usize, ran: &Ran) -> Checked<()> {
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(&to_bytes(study, run, ran)?)?;
            file.persist(self.folder.join(key(study, run))).map(drop).map_err(|refused| refused.error)
        };
        write().map_err(|error| cannot_write(&self.folder, &error).into())
    }

    /// Writes what all runs came to into the reproduction, and what the one that it replaces has of others.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, study: &Study, ran: &[Ran], output: &Output) -> Checked<()> {
        let failed = |error: io::Error| cannot_write(&output.target().join(RUNS), &error);
        let mut own = BTreeSet::new();
        let mut text = format!("{ENGINE}\n").into_bytes();
        let mut add =
            |key: &str, content: &[u8]| text.extend([key.as_bytes(), b" ", content, b"\n"].concat());
        for (run, ran) in ran.iter().enumerate() {
            let key = key(study, run);
            add(&key, &to_bytes(study, run, ran).map_err(failed)?);
            own.insert(key);
        }
        let others = self.older.iter().filter(|(key, _)| !own.contains(*key));
        others.take(MOST_OTHERS).for_each(|(key, content)| add(key, content));
        output.write_text("", RUNS, &String::from_utf8_lossy(&text))
    }

    /// Removes what is beside the reproduction: that is written.
    pub fn remove(self) {
        // What cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Name of a run: changes with everything that decides what is measured.
fn key(study: &Study, run: usize) -> String {
    let run = &study.runs[run];
    let measured = study.experiments[run.experiment].measure.hashes();
    let mut known = format!("{ENGINE}\n{}\n{}\n", run.name, run.plan.text);
    known.extend(run.plan.inputs.iter().map(|input| input.content.hash()));
    known.extend(measured);
    checksum::of_bytes(known.as_bytes())
}

/// Lines of a file of runs: by the name of each run what was kept of it. Nothing if another engine wrote it.
fn runs_of(file: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut lines = file.split(|byte| *byte == b'\n');
    if lines.next() != Some(ENGINE.as_bytes()) {
        return BTreeMap::new();
    }
    let run = |line: &[u8]| {
        let (key, content) = split(line)?;
        Some((str::from_utf8(key).ok()?.to_owned(), content.to_owned()))
    };
    lines.filter_map(run).collect()
}

/// The first word, and what follows it.
fn split(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = content.iter().position(|byte| *byte == b' ')?;
    Some((&content[..end], &content[end + 1..]))
}

fn to_bytes(study: &Study, run: usize, (measured, broken): &Ran) -> io::Result<Vec<u8>> {
    let bits = |value: &Option<f64>| value.map(f64::to_bits);
    let points = |points: &Vec<(f64, f64)>| points.iter().map(|(x, y)| (x.to_bits(), y.to_bits())).collect();
    let expected = &study.runs[run].plan.scenario.expect;
    let number = |broken: &Broken| {
        let number = expected.iter().position(|expect| *expect == broken.expect);
        (number.unwrap_or_default(), bits(&broken.found))
    };
    let record = Record {
        quantities: measured.quantities.iter().map(|(name, value)| (name.clone(), bits(value))).collect(),
        series: measured.series.iter().map(|(name, all)| (name.clone(), points(all))).collect(),
        broken: broken.iter().map(number).collect(),
    };
    let text = serde_json::to_vec(&record)?;
    Ok([checksum::of_bytes(&text).as_bytes(), b" ", &text].concat())
}

/// None if the content is not as it was written.
fn read(study: &Study, run: usize, content: &[u8]) -> Option<Ran> {
    let (sum, text) = split(content)?;
    if checksum::of_bytes(text).as_bytes() != sum {
        return None;
    }
    let record: Record = serde_json::from_slice(text).ok()?;
    let (quantities, series) = study.declared(run);
    let mut measured = Measured::default();
    for (name, value) in record.quantities {
        quantities.contains(&name).then_some(())?;
        measured.quantities.insert(name, value.map(f64::from_bits));
    }
    for (name, points) in record.series {
        series.contains(&name).then_some(())?;
        let points = points.into_iter().map(|(x, y)| (f64::from_bits(x), f64::from_bits(y)));
        measured.series.insert(name, points.collect());
    }
    let expected = &study.runs[run].plan.scenario.expect;
    let broken = record.broken.iter().map(|(number, found)| {
        let expect = expected.get(*number)?.clone();
        Some(Broken { expect, found: found.map(f64::from_bits) })
    });
    Some((measured, broken.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::super::{Request, tiny};
    use super::*;
    use crate::scenario::Expect;

    fn study() -> Study {
        Study::new(tiny::paper(), &Request { quick: true, ..Request::default() }).unwrap()
    }

    /// Values that text would not keep.
    fn ran() -> Ran {
        let mut measured = Measured::default();
        measured.quantity("goodput", 0.1 + 0.2);
        measured.quantity("drops", f64::INFINITY);
        measured.quantity("time", None);
        measured.series("queue", [(1.0 / 3.0, f64::NEG_INFINITY), (-0.0, 5e-324)]);
        (measured, Vec::new())
    }

    #[test]
    fn a_run_is_found_again_bit_by_bit() {
        let place = tempfile::tempdir().unwrap();
        let output = Output::begin(&place.path().join("out"), false).unwrap();
        let (kept, mut study) = (Kept::beside(&output), study());
        let expect = Expect { metric: "total.drops".into(), below: Some(1.0), above: None };
        let plan = std::sync::Arc::get_mut(&mut study.runs[0].plan).unwrap();
        plan.scenario.expect = vec![expect.clone()];
        assert!(matches!(kept.find(&study, 0), Found::Nothing));
        let (measured, _) = ran();
        let ran = (measured, vec![Broken { expect, found: Some(0.1 + 0.7) }]);
        kept.keep(&study, 0, &ran).unwrap();
        let Found::Ran(found) = kept.find(&study, 0) else { panic!("it is there") };
        assert_eq!(to_bytes(&study, 0, &found).unwrap(), to_bytes(&study, 0, &ran).unwrap());
        assert_eq!(format!("{found:?}"), format!("{ran:?}"));
        assert!(matches!(kept.find(&study, 1), Found::Nothing), "another run");
        let folder = kept.folder().to_owned();
        kept.remove();
        assert!(!folder.exists());
    }

    #[test]
    fn what_was_changed_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let output = Output::begin(&place.path().join("out"), false).unwrap();
        let (kept, study) = (Kept::beside(&output), study());
        kept.keep(&study, 0, &ran()).unwrap();
        let path = kept.folder().join(key(&study, 0));
        let content = std::fs::read(&path).unwrap();
        for byte in 0..content.len() {
            let mut other = content.clone();
            other[byte] ^= 1;
            std::fs::write(&path, &other).unwrap();
            assert!(matches!(kept.find(&study, 0), Found::Damaged), "byte {byte}");
        }
        std::fs::write(&path, &content[..content.len() / 2]).unwrap();
        assert!(matches!(kept.find(&study, 0), Found::Damaged), "cut off");
        std::fs::write(&path, &content).unwrap();
        assert!(matches!(kept.find(&study, 0), Found::Ran(_)));
    }

    #[test]
    fn the_next_reproduction_of_a_folder_knows_the_runs_of_the_last() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let all = |study: &Study| study.runs.iter().map(|_| ran()).collect::<Vec<_>>();
        let write = |study: &Study| {
            let output = Output::begin(&target, true).unwrap();
            let kept = Kept::beside(&output);
            output.write_text("", "claims.json", "{ \"narrows\": \"0.1.0\" }").unwrap();
            kept.write(study, &all(study), &output).unwrap();
            output.finish().unwrap();
            std::fs::read_to_string(target.join(RUNS)).unwrap()
        };
        let many = Study::new(tiny::paper(), &Request::default()).unwrap();
        let written = write(&many);
        assert_eq!(written.lines().count(), 1 + many.runs.len());
        let next = || Kept::beside(&Output::begin(&target, true).unwrap());
        let Found::Ran(found) = next().find(&many, 0) else { panic!("it is there") };
        assert_eq!(to_bytes(&many, 0, &found).unwrap(), to_bytes(&many, 0, &ran()).unwrap());
        // The short form has other runs, and those of the long form stay.
        let few = study();
        assert!(matches!(next().find(&few, 0), Found::Nothing));
        assert_eq!(write(&few).lines().count(), written.lines().count() + few.runs.len());
        assert!(matches!(next().find(&many, 0), Found::Ran(_)));
        assert_eq!(write(&many).len(), write(&few).len());
        std::fs::write(target.join(RUNS), written.replacen("0.", "1.", 1)).unwrap();
        assert!(matches!(next().find(&many, 0), Found::Nothing), "of another engine");
    }
}
