//! Measurements of runs, kept beside a reproduction until that is written: one that is killed resumes from them.
//!
//! A run is known by the hash of the engine, its name, its scenario with every setting and the seed, the files that names, and the
//! folder of the paper, so nothing of another engine or of other experiments is ever used. Numbers are kept as their bits: the reproduction is the same, byte for byte.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Measured, Study};
use crate::ENGINE;
use crate::checksum;
use crate::diagnostic::Checked;
use crate::results::{Broken, Output, cannot_write};

/// Measurements of a reproduction so far, in a hidden folder beside it.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
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

/// A file: the checksum of what follows on the first line, then this as JSON. Numbers are bits of floating-point numbers.
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
        Self { folder: output.hidden_beside("measured") }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Earlier measurements of a run of the study.
    pub fn find(&self, study: &Study, run: usize) -> Found {
        match std::fs::read(self.path(study, run)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
            Err(_) => Found::Damaged,
            Ok(content) => read(study, run, &content).map_or(Found::Damaged, Found::Ran),
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
            file.persist(self.path(study, run)).map(drop).map_err(|refused| refused.error)
        };
        write().map_err(|error| cannot_write(&self.folder, &error).into())
    }

    /// Removes it all: the reproduction is written.
    pub fn remove(self) {
        // What cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    fn path(&self, study: &Study, run: usize) -> PathBuf {
        let run = &study.runs[run];
        let mut known = format!("{ENGINE}\n{}\n{}\n{}\n", run.name, run.plan.text, study.paper.origin.hash);
        known.extend(run.plan.inputs.iter().map(|input| input.content.hash()));
        self.folder.join(checksum::of_bytes(known.as_bytes()))
    }
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
    Ok([checksum::of_bytes(&text).as_bytes(), b"\n", &text].concat())
}

/// None if the content is not as it was written.
fn read(study: &Study, run: usize, content: &[u8]) -> Option<Ran> {
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let (sum, text) = (&content[..end], &content[end + 1..]);
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
        let path = kept.path(&study, 0);
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
}
