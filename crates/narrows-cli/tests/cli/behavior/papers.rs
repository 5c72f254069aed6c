//! Papers that are folders.

use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use super::{content, json, status};
use crate::support::{holding, narrows, text};

/// A fresh folder with a paper that was just started.
fn started() -> TempDir {
    let place = holding(&[]);
    let output = narrows(&place, &["repro", "new", "mine"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("now: narrows repro ./mine --quick"), "{}", text(&output.stdout));
    place
}

fn change(place: &TempDir, file: &str, from: &str, to: &str) {
    let path = place.path().join("mine").join(file);
    let before = std::fs::read_to_string(&path).unwrap();
    assert!(before.contains(from), "{from}");
    std::fs::write(path, before.replacen(from, to, 1)).unwrap();
}

/// Refused with status 2, and nothing is written.
#[track_caller]
fn refused(place: &TempDir, arguments: &[&str]) -> String {
    let before = content(place.path());
    let output = narrows(place, arguments);
    assert_eq!(status(&output), Some(2), "{}", text(&output.stderr));
    assert!(content(place.path()) == before);
    text(&output.stderr)
}

fn quick(place: &TempDir, more: &[&str]) -> Output {
    narrows(place, &[&["repro", "./mine", "--quick"], more].concat())
}

#[test]
fn a_paper_that_was_started_is_repeated_without_changes() {
    let place = started();
    let output = quick(&place, &["--json"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let folder = place.path().join("out/repro/mine");
    let found = json(&folder.join("claims.json"));
    assert_eq!(found["command"], "narrows repro ./mine --quick");
    assert_eq!(found["verdicts"]["match"], 5, "{found}");
    assert!(folder.join("report.html").is_file() && folder.join("scenarios/threshold.k60.toml").is_file());
    // A folder is found without a separator too, where no paper of Narrows has its name.
    let figure = narrows(&place, &["repro", "mine", "--figure", "2", "--seeds", "1", "--out", "figure"]);
    assert_eq!(status(&figure), Some(0), "{}", text(&figure.stderr));
    assert_eq!(json(&place.path().join("figure/claims.json"))["claims"].as_array().map(Vec::len), Some(1));
}

#[test]
fn nothing_is_started_over_something_else_or_under_the_name_of_a_paper() {
    let place = started();
    refused(&place, &["repro", "new", "mine"]);
    let taken = refused(&place, &["repro", "new", "BCN"]);
    assert!(taken.contains("\"BCN\" is the name of a paper"), "{taken}");
    refused(&place, &["repro", "new", "a b"]);
}

#[test]
fn mistakes_are_met_before_anything_is_run() {
    let place = started();
    let nowhere = refused(&place, &["repro", "./yours"]);
    assert!(nowhere.contains("cannot read the folder of a paper ./yours"), "{nowhere}");
    change(&place, "paper.toml", "where = { to = \"right/switch\" }", "where = { to = \"right/swich\" }");
    let node = refused(&place, &["repro", "./mine"]);
    assert!(node.contains("did you mean \"right/switch\"?") && node.contains("paper.toml:"), "{node}");
    change(&place, "claims.toml", "unit = \"Mb/s\"", "units = \"Mb/s\"");
    let key = refused(&place, &["repro", "./mine"]);
    assert!(key.contains("did you mean \"unit\"?") && key.contains("claims.toml:"), "{key}");
}

#[cfg(unix)]
#[test]
fn a_scenario_names_files_of_the_folder_and_no_others() {
    let place = started();
    let sizes = "bytes,cumulative\n1000,0\n2000,1\n";
    std::fs::write(place.path().join("mine/sizes.csv"), sizes).unwrap();
    std::fs::write(place.path().join("sizes.csv"), sizes).unwrap();
    std::os::unix::fs::symlink("../sizes.csv", place.path().join("mine/link.csv")).unwrap();
    let traffic = |file: &str| {
        format!(
            "[[traffic]]\nname = \"short\"\npattern.poisson = {{ load = 0.1, of = \"host_links\", sizes = {{ file = \"{file}\" }} }}\ncc = {{ dctcp = {{}} }}\n\n[record]"
        )
    };
    change(&place, "two-flows.toml", "[record]", &traffic("sizes.csv"));
    let run = |place: &TempDir| quick(place, &["--figure", "2", "--out", "a", "--overwrite"]);
    let output = run(&place);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let absolute = place.path().join("sizes.csv").display().to_string();
    for (before, after) in
        [("sizes.csv", "link.csv"), ("link.csv", "../sizes.csv"), ("../sizes.csv", absolute.as_str())]
    {
        change(&place, "two-flows.toml", &format!("\"{before}\""), &format!("\"{after}\""));
        let output = run(&place);
        let said = text(&output.stderr);
        assert!(status(&output) == Some(2) && said.contains("outside of the folder"), "{after}: {said}");
    }
}

/// Numbers of kept runs.
#[cfg(unix)]
fn kept(place: &Path) -> usize {
    std::fs::read_dir(place.join(".narrows.measured.again")).map_or(0, |files| {
        files.filter(|file| !file.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
    })
}

#[cfg(unix)]
#[test]
fn runs_of_an_interrupted_paper_are_used_again_unless_what_is_measured_was_changed() {
    use std::process::{Command, Stdio};
    let place = started();
    let arguments = ["repro", "./mine", "--quick", "--jobs", "1", "--seeds", "4", "--out", "again"];
    let interrupt = || {
        let mut child = crate::support::command(&place, &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while kept(place.path()) == 0 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        kept(place.path())
    };
    assert!(interrupt() > 0);
    change(&place, "paper.toml", "times = 1000 }", "times = 1000.5 }");
    let output = narrows(&place, &arguments);
    assert_eq!(status(&output), Some(0));
    assert!(!text(&output.stderr).contains("were done before"), "{}", text(&output.stderr));
    std::fs::remove_dir_all(place.path().join("again")).unwrap();
    assert!(interrupt() > 0);
    change(&place, "claims.toml", "\nclass = ", "\n# A class.\nclass = ");
    let output = narrows(&place, &arguments);
    assert!(text(&output.stderr).contains("were done before"), "{}", text(&output.stderr));
}

#[test]
fn the_example_repeats_a_figure_of_another_paper() {
    let place = holding(&[]);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dctcp-queue");
    let output = narrows(&place, &["repro", example, "--quick", "--out", "a"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let found = json(&place.path().join("a/claims.json"));
    assert_eq!(found["claims"].as_array().map(Vec::len), Some(5));
    assert!(found["claims"].as_array().unwrap().iter().all(|claim| claim["measured"].is_number()), "{found}");
}

#[test]
fn experiments_with_an_undecided_claim_get_more_seeds_than_others() {
    let place = holding(&[]);
    let output = narrows(&place, &["repro", "rackcc", "--figure", "Figure 3b", "--out", "a"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(" more runs, of claims that other seeds might change"));
    let found = json(&place.path().join("a/claims.json"));
    assert_eq!(found["command"], "narrows repro rackcc --figure \"Figure 3b\"");
    let samples = |claim: &str| found["details"][claim]["samples"].as_u64();
    assert_eq!((samples("coop-p30"), samples("coop-p100")), (Some(10), Some(5)), "{found}");
}
