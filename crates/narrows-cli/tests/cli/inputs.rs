//! Promises that hold for every input, tried with seeds of the fuzzing targets and a few changes to each. `cargo xtask fuzz` goes further.

#[allow(unreachable_pub, reason = "it is a library of its own")]
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

use targets::mutate::{self, Random};

/// Each input is changed so often, by up to so many changes.
const TIMES: u64 = 8;
const CHANGES: usize = 4;

/// Changed settings may be twice as long, and so much longer.
const ROOM: usize = 1000;

/// Feeds every file of these folders of the project, and changes to it.
fn feed(folders: &[&str], check: impl Fn(&[u8]), change: impl Fn(&[u8], &mut Random) -> Vec<u8>) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut fed = 0;
    for folder in folders {
        let mut files: Vec<_> =
            fs::read_dir(project.join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for input in files.iter().filter(|path| path.is_file()).map(|path| fs::read(path).unwrap()) {
            check(&input);
            for time in 0..TIMES {
                let mut random = Random(time << 32 | fed);
                let changes = 1 + random.below(CHANGES);
                check(&(0..changes).fold(input.clone(), |input, _| change(&input, &mut random)));
            }
            fed += 1;
        }
    }
    assert!(fed > 0, "no inputs in {folders:?}");
}

/// Some bytes are left out, repeated or replaced.
fn bytes_changed(input: &[u8], random: &mut Random) -> Vec<u8> {
    let start = random.below(input.len() + 1);
    let end = (start + random.below(9)).min(input.len());
    let between = match random.below(3) {
        0 => Vec::new(),
        1 => input[start..end].repeat(2),
        _ => (start..end).map(|_| random.below(256) as u8).collect(),
    };
    [&input[..start], &between, &input[end..]].concat()
}

/// As libFuzzer has it: what is no text is not tried.
fn texts(check: impl Fn(&str)) -> impl Fn(&[u8]) {
    move |input| _ = std::str::from_utf8(input).map(&check)
}

/// As libFuzzer changes settings, or bytes of them where it would go its own way.
fn settings_changed(input: &[u8], random: &mut Random) -> Vec<u8> {
    let seed = random.below(1 << 32) as u32;
    let mut changed = input.to_vec();
    changed.resize(2 * input.len() + ROOM, 0);
    match mutate::scenario(&mut changed, input.len(), seed) {
        Some(len) => changed[..len].to_vec(),
        None => bytes_changed(input, random),
    }
}

#[test]
fn files_of_hpcc_become_scenarios_or_are_refused() {
    feed(&["fuzz/seeds/import_hpcc"], texts(targets::import_hpcc::check), bytes_changed);
}

#[test]
fn files_of_htsim_become_scenarios_or_are_refused() {
    feed(&["fuzz/seeds/import_htsim"], texts(targets::import_htsim::check), bytes_changed);
}

#[test]
fn goal_schedules_become_scenarios_or_are_refused() {
    feed(&["fuzz/seeds/import_goal"], texts(targets::import_goal::check), bytes_changed);
}

#[test]
fn chakra_traces_become_scenarios_or_are_refused() {
    feed(&["fuzz/seeds/import_chakra"], targets::import_chakra::check, bytes_changed);
}

#[test]
fn papers_are_taken_or_refused() {
    feed(&["fuzz/seeds/paper"], texts(|text| _ = targets::paper::check(text)), settings_changed);
}

#[test]
fn traces_of_links_can_be_sent_over_or_are_refused() {
    feed(&["fuzz/seeds/path"], texts(targets::path::check), bytes_changed);
}

#[test]
fn scenarios_become_plans_or_are_refused() {
    let folders = ["fuzz/seeds/scenario", "scenarios"];
    feed(&folders, texts(|text| _ = targets::scenario::check(text)), settings_changed);
}

#[test]
fn size_distributions_can_be_drawn_from_or_are_refused() {
    feed(&["crates/narrows/data/sizes"], texts(targets::sizes::check), bytes_changed);
}

#[test]
fn stored_results_are_read_or_refused_whatever_became_of_their_files() {
    feed(&["fuzz/seeds/stored"], targets::stored::check, bytes_changed);
}

#[test]
fn sweeps_become_grids_or_are_refused() {
    feed(&["fuzz/seeds/sweep"], texts(|text| _ = targets::sweep::check(text)), settings_changed);
}

#[test]
fn traces_become_flows_or_are_refused() {
    feed(&["fuzz/seeds/trace"], texts(targets::trace::check), bytes_changed);
}

#[test]
fn quantities_are_read_back_as_they_are_printed_or_refused() {
    feed(&["fuzz/seeds/units"], texts(targets::units::check), bytes_changed);
}
