//! Files that scenarios of a sweep name.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::Code;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Output;
use narrows::run::{Options, run};
use narrows::sweep::{Shard, Sweep, merge};

use super::{good, run_some, run_whole, tree};

const FLOWS: &str = "0 us,host0,host1,20 kB\n5 us,host2,host1,20 kB\n";
const SIZES: &str = "1000 0.5\n5000 1\n";
/// Two files of one name at each of the first two points, and one of them at the third.
const GRID: &str = r#"
[grid.load]
trace = { "traffic.all.pattern" = { trace = { file = "data/a.csv" } } }
sizes = { "traffic.all.pattern" = { random = { flows = 9, within = "1 ms", sizes = { file = "data/b/a.csv" } } } }
again = { "traffic.all.pattern" = { closed_loop = { clients = 1, sizes = { file = "data/b/a.csv" } } } }
"#;

fn with_files(place: &Path) -> Arc<Sweep> {
    std::fs::create_dir_all(place.join("data/b")).unwrap();
    std::fs::write(place.join("data/a.csv"), FLOWS).unwrap();
    std::fs::write(place.join("data/b/a.csv"), SIZES).unwrap();
    good(place, GRID)
}

/// Runs a stored scenario, and writes its results.
fn run_stored(scenario: &Path, out: &Path) {
    let plan = Document::read(scenario).and_then(Plan::new).unwrap_or_else(|error| panic!("{error}"));
    let results = run(&Arc::new(plan), Options::default(), |_| ControlFlow::Continue(())).unwrap();
    let output = Output::begin(out, false).unwrap();
    output.write(&results, "").unwrap();
    output.finish().unwrap();
}

/// The names of all files that a sweep keeps.
fn kept(out: &Path) -> Vec<String> {
    let mut names: Vec<_> = tree(&out.join("inputs"))
        .into_keys()
        .map(|path| path.file_name().unwrap().to_string_lossy().into())
        .collect();
    names.sort();
    names
}

#[test]
fn a_sweep_keeps_each_file_once_and_its_cells_run_again_wherever_it_is() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    run_whole(&with_files(place.path()), &out, 2);
    assert_eq!(kept(&out), ["a.csv", "a.csv"]);
    let moved = place.path().join("elsewhere/moved");
    std::fs::create_dir(place.path().join("elsewhere")).unwrap();
    std::fs::rename(&out, &moved).unwrap();
    std::fs::remove_dir_all(place.path().join("data")).unwrap();
    for (number, cell) in std::fs::read_dir(moved.join("cells")).unwrap().enumerate() {
        let cell = cell.unwrap().path();
        let [again, third] = ["again", "third"].map(|name| place.path().join(format!("{name}{number}")));
        run_stored(&cell.join("scenario.toml"), &again);
        let written = tree(&again);
        for (name, content) in tree(&cell) {
            // The scenario of a cell names the files of the sweep, that of the run its own.
            if !["cell.json", "scenario.toml"].map(PathBuf::from).contains(&name) {
                assert!(written[&name] == content, "{}", name.display());
            }
        }
        run_stored(&again.join("scenario.toml"), &third);
        assert!(tree(&third) == written);
    }
}

#[test]
fn a_sweep_goes_on_without_its_files_and_runs_cells_again_whose_file_has_changed() {
    let place = tempfile::tempdir().unwrap();
    let [whole, out] = ["whole", "out"].map(|name| place.path().join(name));
    run_whole(&with_files(place.path()), &whole, 1);
    run_some(&with_files(place.path()), &out, 1, None, 1);
    let resumed = || {
        let sweep = good(place.path(), GRID);
        sweep.resume(&out).unwrap();
        sweep
    };
    std::fs::remove_dir_all(place.path().join("data")).unwrap();
    let report = run_some(&resumed(), &out, 1, None, u64::MAX);
    assert_eq!((report.tally.found, report.tally.done), (1, 2));
    super::make(&resumed(), &out);
    assert!(tree(&out) == tree(&whole));

    with_files(place.path());
    std::fs::write(place.path().join("data/b/a.csv"), SIZES.replace("5000", "6000")).unwrap();
    let changed = resumed();
    let report = run_some(&changed, &out, 1, None, u64::MAX);
    assert_eq!((report.tally.found, report.tally.done), (1, 2), "one cell names the other file");
    let warnings = changed.changed_inputs();
    assert_eq!((warnings.len(), warnings[0].code), (1, Code::InputChanged));
    assert!(warnings[0].to_string().contains("data/b/a.csv has changed since the sweep began"));
    assert_eq!(kept(&out), ["a.csv", "a.csv", "a.csv"], "what it was is still there");
}

#[test]
fn a_merge_keeps_the_files_and_refuses_when_they_are_damaged_everywhere() {
    let place = tempfile::tempdir().unwrap();
    let sweep = with_files(place.path());
    let parts = [1, 2].map(|index| {
        let folder = place.path().join(format!("part{index}"));
        run_some(&sweep, &folder, 1, Some(Shard { index, of: 2 }), u64::MAX);
        folder
    });
    let [whole, merged, other] = ["whole", "merged", "other"].map(|name| place.path().join(name));
    run_whole(&sweep, &whole, 1);
    let damage = |folder: &Path| {
        for name in tree(&folder.join("inputs")).keys() {
            std::fs::write(folder.join("inputs").join(name), "1 1\n").unwrap();
        }
    };
    damage(&parts[0]);
    merge(&parts, &merged).unwrap_or_else(|error| panic!("{error}"));
    assert!(tree(&merged) == tree(&whole));
    damage(&parts[1]);
    let error = merge(&parts, &other).expect_err("refused");
    assert!(error.to_string().contains("a.csv is damaged"), "{error}");
    assert!(!other.exists());
}
