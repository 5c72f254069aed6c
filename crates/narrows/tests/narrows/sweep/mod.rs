//! Sweeps from the grid to the data set.

mod damage;
mod ids;
mod inputs;
mod reading;
mod running;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::sweep::{
    Campaign, Manifest, PointSummary, Report, Settings, Shard, Store, Sweep, assemble, run,
};

const SCENARIO: &str = r#"
version = 1
name = "small"
stop = { after = "1 ms", drain = "100 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }
switches.default = { buffer = { size = "1 MB", sharing = "complete" } }

[[traffic]]
name = "all"
pattern = { random = { flows = 20, within = "1 ms", sizes = { constant = "20 kB" } } }
cc = { cubic = {} }
"#;

/// The grid of most tests: six points.
const GRID: &str = r#"
[grid]
"traffic.all.pattern.random.flows" = [5, 10, 15]
[grid.control]
reno = { "traffic.all.cc" = { reno = {} } }
dctcp = { "traffic.all.cc" = { dctcp = {} }, "switches.default.marking" = { step = { k = "30 kB" } } }
"#;

/// Writes a sweep of the small scenario beside it, and reads it.
fn sweep(place: &Path, text: &str) -> narrows::diagnostic::Checked<Sweep> {
    std::fs::write(place.join("small.toml"), SCENARIO).expect("written");
    let path = place.join("sweep.toml");
    std::fs::write(&path, format!("name = \"try\"\nscenario = \"small.toml\"\n{text}")).expect("written");
    Sweep::read(&path)
}

/// A sweep that makes sense.
fn good(place: &Path, text: &str) -> Arc<Sweep> {
    Arc::new(sweep(place, text).unwrap_or_else(|error| panic!("{error}")))
}

/// Its manifest.
fn manifest(sweep: &Sweep) -> Arc<Manifest> {
    Arc::new(sweep.manifest().unwrap_or_else(|error| panic!("{error}")))
}

/// Runs a sweep, or a part of it, as far as `most` cells.
fn run_some(sweep: &Arc<Sweep>, out: &Path, jobs: usize, shard: Option<Shard>, most: u64) -> Report {
    let manifest = manifest(sweep);
    let store = Store::open(out, &manifest).unwrap_or_else(|error| panic!("{error}"));
    let settings = Settings { jobs, shard, ..Settings::default() };
    let campaign = Campaign::new(Arc::clone(sweep), &manifest, &store, settings);
    let campaign = campaign.unwrap_or_else(|error| panic!("{error}"));
    let enough = |event: narrows::sweep::Event<'_>| match event {
        narrows::sweep::Event::Ended(_, tally) if tally.done >= most => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    run(campaign, &store, settings, &enough).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a whole sweep and makes its data set.
fn run_whole(sweep: &Arc<Sweep>, out: &Path, jobs: usize) -> Vec<PointSummary> {
    let report = run_some(sweep, out, jobs, None, u64::MAX);
    assert!(report.failures.is_empty() && report.stopped.is_none() && !report.interrupted, "{report:?}");
    make(sweep, out)
}

/// Makes the data set.
fn make(sweep: &Sweep, out: &Path) -> Vec<PointSummary> {
    let manifest = manifest(sweep);
    let store = Store::open(out, &manifest).unwrap_or_else(|error| panic!("{error}"));
    assemble(&manifest, &store).unwrap_or_else(|error| panic!("{error}")).points
}

/// All files below a folder with their content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The files of the data set with their content.
fn data_set(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(out)
        .expect("there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}
