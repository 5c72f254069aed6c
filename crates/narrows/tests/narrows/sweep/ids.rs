//! Changes that give a cell another id.

use std::collections::BTreeMap;
use std::path::Path;

use narrows::sweep::{Sweep, Task};

use super::{good, manifest, sweep};

fn ids(place: &Path, text: &str) -> Vec<String> {
    manifest(&good(place, text)).points.iter().flat_map(|point| point.cells.clone()).collect()
}

#[test]
fn ids_depend_on_what_is_simulated_and_on_nothing_else() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let base = ids(here.path(), "seeds = 2");
    assert_eq!((base.len(), base[0].len()), (2, 32));
    assert_ne!(base[0], base[1], "the seed counts");
    assert_eq!(ids(there.path(), "seeds = 2"), base, "the folder does not");
    assert_eq!(ids(here.path(), "seeds = 1"), base[..1]);
    assert_eq!(ids(here.path(), "[set]\nseed = 2"), base[1..]);
    assert_eq!(ids(here.path(), "[set]\nmeasure = {}"), base[..1], "what is said and was so anyway does not");
    assert_ne!(ids(here.path(), "[set]\n\"stop.after\" = \"2 ms\""), base[..1]);
    assert_eq!(
        ids(here.path(), "[grid]\n\"stop.after\" = [\"1 ms\", \"1000 us\"]"),
        [base[0].clone(), base[0].clone()],
        "points that come to the same scenario share a cell"
    );
}

/// A sweep whose scenario has a trace.
fn traced(place: &Path, folder: &str, content: &str) -> Sweep {
    std::fs::create_dir_all(place.join(folder)).unwrap();
    std::fs::write(place.join(folder).join("flows.csv"), content).unwrap();
    let text = format!("[set]\n\"traffic.all.pattern\" = {{ trace = {{ file = \"{folder}/flows.csv\" }} }}");
    sweep(place, &text).unwrap()
}

const FLOWS: &str = "0 us,host0,host1,20 kB\n5 us,host2,host1,20 kB\n";

#[test]
fn files_count_by_their_content_and_not_by_their_place() {
    let place = tempfile::tempdir().unwrap();
    let id = |folder: &str, content: &str| {
        traced(place.path(), folder, content).manifest().unwrap().points[0].cells[0].clone()
    };
    let base = id("one", FLOWS);
    assert_eq!(id("two", FLOWS), base);
    assert_ne!(id("two", &FLOWS.replace("5 us", "6 us")), base);
}

#[test]
fn a_task_runs_where_its_files_are_not_and_gives_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let sweep = traced(place.path(), "one", FLOWS);
    let task = Task::from_json(&sweep.task(0, 1).unwrap().to_json()).unwrap();
    let local = sweep.supplies();
    let content = local
        .files
        .iter()
        .map(|(hash, content)| (hash.clone(), content.text().as_bytes().to_vec()))
        .collect();
    let goes_on = |_: f64| std::ops::ControlFlow::Continue(());
    let far = task.run_to_bytes(&content, &BTreeMap::new(), 1, goes_on).unwrap().unwrap();
    let here = place.path().join("here");
    std::fs::create_dir(&here).unwrap();
    assert!(task.run_into(&local, 1, &here, goes_on).map_err(|trouble| trouble.rejection).unwrap());
    assert!(far.iter().any(|(name, _)| name == "flows.parquet"));
    for (name, content) in far {
        assert!(std::fs::read(here.join(&name)).unwrap() == content, "{name}");
    }
    let missing = task.run_to_bytes(&BTreeMap::new(), &BTreeMap::new(), 1, goes_on).expect_err("refused");
    assert!(missing.to_string().starts_with("the file flows.csv did not come with the cell"), "{missing}");
}

#[test]
fn tasks_of_another_engine_and_tasks_that_were_changed_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let task = sweep(place.path(), "").unwrap().task(0, 1).unwrap();
    let other = Task { engine: "0.0.1+12345678".into(), ..task.clone() };
    let message = Task::from_json(&other.to_json()).expect_err("refused").to_string();
    assert!(message.contains("0.0.1+12345678") && message.contains(narrows::ENGINE), "{message}");
    let changed = Task { scenario: task.scenario.replace("cubic", "reno"), ..task };
    assert!(Task::from_json(&changed.to_json()).is_err());
    assert!(Task::from_json("{}").is_err());
}
