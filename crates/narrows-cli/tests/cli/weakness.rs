//! Searches for weaknesses as processes: killed, continued, on other numbers of cores.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{command, narrows, text};

/// A search of some seconds, over slow links.
const SEARCH: [&str; 7] = ["break", "reno", "--rate", "1Mb/s", "--rtt", "40ms", "--quiet"];

fn searched(place: &TempDir, more: &[&str]) {
    let output = narrows(place, &[&SEARCH[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// All files of a folder with their content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(
                self::files(&path).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text)),
            );
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn a_search_that_is_killed_or_continued_on_other_cores_ends_with_the_files_of_one_that_is_not() {
    let place = tempfile::tempdir().unwrap();
    searched(&place, &["--evaluations", "80", "--out", "whole", "--jobs", "1"]);
    let whole = files(&place.path().join("whole"));
    assert!(whole.keys().any(|name| name == "worst/1.toml"), "{:?}", whole.keys());
    // Kills at all times, the later the longer a search takes; the first ones hit the first generation.
    for milliseconds in [5, 50, 150, 300, 500, 800] {
        let arguments = [&SEARCH[..], &["--evaluations", "80", "--out", "killed", "--jobs", "3"]].concat();
        let mut child =
            command(&place, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    searched(&place, &["--evaluations", "80", "--out", "killed", "--jobs", "2"]);
    assert!(files(&place.path().join("killed")) == whole);
    // Half of it first; its last generation is shorter.
    searched(&place, &["--evaluations", "40", "--out", "continued"]);
    searched(&place, &["--evaluations", "80", "--out", "continued"]);
    assert!(files(&place.path().join("continued")) == whole);
}

#[test]
fn the_run_of_a_worst_case_has_what_the_search_saw() {
    let place = tempfile::tempdir().unwrap();
    searched(&place, &["--evaluations", "40", "--out", "found"]);
    let found: Value =
        serde_json::from_slice(&std::fs::read(place.path().join("found/summary.json")).unwrap()).unwrap();
    let output = narrows(&place, &["run", "found/worst/1.toml", "--json", "--quiet", "--out", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let goodput = run["runs"][0]["metrics"]["tested1.goodput_gbps"].as_f64().unwrap() * 1e9;
    let seen = found["cases"][0]["goodput"].as_f64().unwrap();
    // One is divided by seconds, the other by picoseconds.
    assert!((goodput - seen).abs() <= 1e-9 * seen, "{goodput} and {seen}");
}

#[test]
fn folders_of_others_and_of_other_searches_are_refused_and_stay_as_they_are() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("mine")).unwrap();
    std::fs::write(place.path().join("mine/notes.txt"), "mine").unwrap();
    searched(&place, &["--evaluations", "40", "--out", "found"]);
    let before = [files(&place.path().join("mine")), files(&place.path().join("found"))];
    let refused = |arguments: &[&str], reason: &str| {
        let output = narrows(&place, arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(reason), "{}", text(&output.stderr));
    };
    refused(&["break", "reno", "--out", "mine"], "is no folder of a search: it has notes.txt");
    refused(&["break", "reno", "--out", "mine/notes.txt"], "is not a folder");
    let other = "has another search";
    refused(&["break", "cubic", "--rate", "1Mb/s", "--rtt", "40ms", "--out", "found"], other);
    refused(&["break", "reno", "--out", "found"], other);
    refused(&["break", "reno", "--rate", "1Mb/s", "--rtt", "40ms", "--seed", "2", "--out", "found"], other);
    let fewer = ["break", "reno", "--rate", "1Mb/s", "--rtt", "40ms", "--evaluations", "8", "--out", "found"];
    refused(&fewer, "has 40 evaluations already");
    assert!([files(&place.path().join("mine")), files(&place.path().join("found"))] == before);
}
