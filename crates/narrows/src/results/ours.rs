//! Folders that Narrows wrote, recognized by what is in them. Only these are ever replaced.
//!
//! ```text
//! a run            run.json, scenario.toml, tables, report.html, what trace and export put there, qlog/, inputs/NAME, programs/*.txt; cell.json in a sweep
//! several seeds    report.html, seed-N/ (runs)
//! a comparison     compare.json, report.html, NAME/ (several seeds each); twin.json of a twin
//! a reproduction   claims.json, measured.json, report.html, report.md, runs.txt, scenarios/NAME.toml
//! a sweep          sweep.json, summary.parquet, tables, report.html, cells/ID/ (runs), inputs/HASH/NAME
//! a search         search.json, generations.jsonl, summary.json, report.html, worst/NAME.toml
//! qlog             NAME.sqlog
//! ```
//!
//! Earlier versions wrote parts of it under the same names. Contents of files are looked at only where a name is not enough.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::columns::TableInfo;
use super::real::PROGRAMS;
use super::staging::{PREFIX, seize};
use super::stored::{COMPARISON, TWIN};
use crate::inputs::INPUTS;

/// Contents that a folder is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Results of `run`, `compare`, `demo`, `repro` or `sweep`.
    Results,
    /// Files of `trace --qlog`.
    Qlog,
}

/// Why a folder must not be replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Narrows did not write this, which is inside the folder.
    Entry(PathBuf),
    /// Another process is about to write something there.
    Busy,
}

/// Kind of a folder, as far as that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Seeds,
    Comparison,
    Reproduction,
    Sweep,
    /// Runs under any names.
    Cells,
    Search,
    Qlog,
    /// Files that the scenario beside them names.
    Inputs,
    /// Folders that are called like the hash of what is in them.
    Hashes,
    /// Files whose names end with this.
    Files(&'static str),
}

/// Files in the folder of a run besides tables.
const OF_A_RUN: [&str; 8] = [
    "run.json",
    "scenario.toml",
    "report.html",
    "cell.json",
    "trace.pcapng",
    "trace.perfetto-trace",
    "fct.txt",
    "metrics.txt",
];

/// The first thing in a folder that keeps it from being replaced, by name. An empty folder may be.
pub(super) fn foreign(folder: &Path, contents: Contents) -> io::Result<Option<Foreign>> {
    let inside = names(folder)?;
    let kind = match contents {
        Contents::Qlog => Kind::Qlog,
        Contents::Results if folder.join("run.json").exists() => Kind::Run,
        Contents::Results if folder.join("claims.json").exists() => Kind::Reproduction,
        Contents::Results if folder.join("sweep.json").exists() => Kind::Sweep,
        Contents::Results if folder.join("search.json").exists() => Kind::Search,
        Contents::Results if inside.iter().any(|name| is_seed(&name.to_string_lossy())) => Kind::Seeds,
        Contents::Results => Kind::Comparison,
    };
    if inside.is_empty() {
        return Ok(None);
    }
    look(folder, Path::new(""), kind)
}

/// Looks at everything in `folder`, which is at `within` in the one it is about.
fn look(folder: &Path, within: &Path, kind: Kind) -> io::Result<Option<Foreign>> {
    let (mut folders, mut first) = (0, None);
    for name in names(folder)? {
        let (path, within) = (folder.join(&name), within.join(&name));
        let name = name.to_string_lossy();
        let is = path.symlink_metadata()?.file_type();
        first.get_or_insert_with(|| within.clone());
        if name.starts_with(PREFIX) {
            match seize(&path) {
                Some(_) => continue,
                None if path.symlink_metadata().is_err() => continue,
                None => return Ok(Some(Foreign::Busy)),
            }
        }
        let inside = if is.is_dir() { kind.folder(&name) } else { None };
        let found = match inside {
            Some(inside) => {
                folders += 1;
                look(&path, &within, inside)?
            }
            None if is.is_file() && kind.has_file(&name) && is_said_to_be_ours(&path, kind)? => None,
            None => Some(Foreign::Entry(within)),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    let is_whole = match kind {
        Kind::Run => folder.join("run.json").exists(),
        Kind::Seeds => folders > 0,
        // Without a report, it may be a folder where somebody keeps results of several runs.
        Kind::Comparison => folders > 0 && folder.join("report.html").exists(),
        _ => true,
    };
    // What is there could be anybody's.
    Ok((!is_whole).then(|| Foreign::Entry(first.unwrap_or_else(|| within.to_owned()))))
}

impl Kind {
    fn has_file(self, name: &str) -> bool {
        let is_table = || name.strip_suffix(".parquet").is_some_and(|name| TableInfo::find(name).is_some());
        match self {
            Self::Run => OF_A_RUN.contains(&name) || name.ends_with(".flent.gz") || is_table(),
            Self::Comparison => [COMPARISON, TWIN, "report.html"].contains(&name),
            Self::Seeds | Self::Cells => name == "report.html",
            Self::Reproduction => {
                ["claims.json", "measured.json", "report.html", "report.md", "runs.txt"].contains(&name)
            }
            Self::Sweep => ["sweep.json", "summary.parquet", "report.html"].contains(&name) || is_table(),
            Self::Search => {
                ["search.json", "generations.jsonl", "summary.json", "report.html"].contains(&name)
            }
            Self::Qlog => name.ends_with(".sqlog"),
            Self::Files(end) => name.ends_with(end),
            Self::Inputs => true,
            Self::Hashes => false,
        }
    }

    fn folder(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Run, "qlog") => Some(Self::Qlog),
            (Self::Run, INPUTS) => Some(Self::Inputs),
            (Self::Run, PROGRAMS) => Some(Self::Files(".txt")),
            (Self::Sweep, INPUTS) => Some(Self::Hashes),
            (Self::Hashes, _) if is_hash(name) => Some(Self::Files("")),
            (Self::Seeds, _) if is_seed(name) => Some(Self::Run),
            (Self::Comparison, _) if !name.starts_with('.') => Some(Self::Seeds),
            (Self::Reproduction, "scenarios") => Some(Self::Files(".toml")),
            (Self::Search, "worst") => Some(Self::Files(".toml")),
            (Self::Sweep, "cells") => Some(Self::Cells),
            (Self::Cells, _) => Some(Self::Run),
            _ => None,
        }
    }
}

fn is_seed(name: &str) -> bool {
    name.strip_prefix("seed-").is_some_and(|seed| seed.parse::<u64>().is_ok())
}

fn is_hash(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Other programs have files of these names, too; ours say who wrote them.
fn is_said_to_be_ours(path: &Path, kind: Kind) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let key = match &*name {
        _ if kind == Kind::Inputs => {
            let scenario = path.parent().map(|inputs| inputs.with_file_name("scenario.toml"));
            let scenario = std::fs::read_to_string(scenario.unwrap_or_default()).unwrap_or_default();
            return Ok(scenario.contains(&format!("\"{INPUTS}/{name}\"")));
        }
        "run.json" | "claims.json" | "measured.json" => "narrows",
        "sweep.json" | "cell.json" | "search.json" | COMPARISON | TWIN => "engine",
        _ => return Ok(true),
    };
    let text = std::fs::read(path)?;
    Ok(serde_json::from_slice::<Value>(&text).is_ok_and(|value| value[key].is_string()))
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "{ \"narrows\": \"0.1.0\" }";
    const SCENARIO: &str = "sizes = { file = \"inputs/sizes.csv\" }";
    const SWEEP: &str = "{ \"engine\": \"0.1.0+1\" }";

    /// Reason not to replace a folder with these files. A name that ends with / is an empty folder.
    fn found(contents: Contents, files: &[&str]) -> Option<Foreign> {
        let place = tempfile::tempdir().unwrap();
        for file in files {
            let path = place.path().join(file);
            if file.ends_with('/') {
                std::fs::create_dir_all(path).unwrap();
                continue;
            }
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = match path.file_name().unwrap().to_str().unwrap() {
                "run.json" | "claims.json" => RUN,
                "sweep.json" | "cell.json" | "search.json" | TWIN => SWEEP,
                "scenario.toml" => SCENARIO,
                _ => "",
            };
            std::fs::write(path, text).unwrap();
        }
        foreign(place.path(), contents).unwrap()
    }

    fn results(files: &[&str]) -> Option<Foreign> {
        found(Contents::Results, files)
    }

    #[test]
    fn what_the_commands_write_is_recognized() {
        let folders: [&[&str]; 12] = [
            &[],
            &["run.json", "scenario.toml", "flows.parquet"],
            &["run.json", "report.html", "queues.parquet", "trace.pcapng", "qlog/all-1.sqlog", "my.flent.gz"],
            &["report.html", "seed-1/run.json", "seed-22/run.json", "seed-22/flows.parquet"],
            &["seed-1/run.json"],
            &["report.html", "a/seed-1/run.json", "b/seed-1/run.json", "b/report.html"],
            &["report.html", "twin.json", "live/seed-1/run.json", "simulated/seed-1/run.json"],
            &["claims.json", "report.md", "report.html", "scenarios/w1.none.toml"],
            &["run.json", "scenario.toml", "inputs/sizes.csv"],
            &["search.json", "generations.jsonl", "summary.json", "report.html", "worst/1.toml"],
            &["sweep.json", "cells/", "inputs/00112233445566778899aabbccddeeff/flows.csv"],
            &["sweep.json", "summary.parquet", "flows.parquet", "cells/1f/run.json", "cells/1f/cell.json"],
        ];
        for files in folders {
            assert_eq!(results(files), None, "{files:?}");
        }
        assert_eq!(found(Contents::Qlog, &["all-1.sqlog"]), None);
    }

    #[test]
    fn the_first_thing_that_is_not_ours_is_named() {
        let folders: [(&[&str], &str); 19] = [
            (&["f", ".git/"], ".git"),
            (&[".git/HEAD"], ".git"),
            (&["run.json", ".hidden"], ".hidden"),
            (&["run.json", "notes.txt"], "notes.txt"),
            (&["run.json", "flows.parquet/"], "flows.parquet"),
            (&["run.json", "qlog/deep/er/notes.txt"], "qlog/deep"),
            (&["run.json", "other.parquet"], "other.parquet"),
            (&["seed-1/run.json", "seed-1/notes.txt"], "seed-1/notes.txt"),
            (&["seed-1/flows.parquet"], "seed-1/flows.parquet"),
            (&["seed-x/run.json"], "seed-x/run.json"),
            (&["report.html"], "report.html"),
            (&["report.md", "report.html"], "report.md"),
            (&["scenario.toml"], "scenario.toml"),
            // A folder where results of several runs are kept.
            (&["a/run.json", "b/run.json"], "a/run.json"),
            (&["a/seed-1/run.json", "b/seed-1/run.json"], "a"),
            (&["claims.json", "scenarios/notes.md"], "scenarios/notes.md"),
            (&["run.json", "scenario.toml", "inputs/more.csv"], "inputs/more.csv"),
            (&["sweep.json", "inputs/my/flows.csv"], "inputs/my"),
            (&["sweep.json", "cells/1f/run.json", "cells/1f/notes.txt"], "cells/1f/notes.txt"),
        ];
        for (files, expected) in folders {
            assert_eq!(results(files), Some(Foreign::Entry(expected.into())), "{files:?}");
        }
        let run = Some(Foreign::Entry("run.json".into()));
        assert_eq!(found(Contents::Qlog, &["a.sqlog", "run.json"]), run, "a trace does not replace its run");
    }

    #[test]
    fn files_of_other_programs_are_told_apart_by_their_content() {
        let place = tempfile::tempdir().unwrap();
        for name in ["run.json", "claims.json", "sweep.json"] {
            std::fs::write(place.path().join(name), "{ \"scripts\": {} }").unwrap();
            let found = foreign(place.path(), Contents::Results).unwrap();
            assert_eq!(found, Some(Foreign::Entry(name.into())));
            std::fs::remove_file(place.path().join(name)).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_not_ours_whatever_their_name() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("run.json"), RUN).unwrap();
        std::os::unix::fs::symlink("run.json", place.path().join("scenario.toml")).unwrap();
        let found = foreign(place.path(), Contents::Results).unwrap();
        assert_eq!(found, Some(Foreign::Entry("scenario.toml".into())));
    }

    #[test]
    fn while_somebody_writes_into_a_folder_it_stays_and_what_the_dead_left_goes_with_it() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("run.json"), RUN).unwrap();
        let staging = super::super::Staging::begin(place.path()).unwrap();
        assert_eq!(foreign(place.path(), Contents::Results).unwrap(), Some(Foreign::Busy));
        drop(staging);
        let dead = place.path().join(".narrows-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join("lock"), "").unwrap();
        assert_eq!(foreign(place.path(), Contents::Results).unwrap(), None);
    }
}
