//! Questions of a page, asked without one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use narrows::plan::Plan;
use narrows::run::{Options, run};
use narrows::templates;
use narrows_web::{Engine, library, pack, unpack};
use serde_json::{Value, json};

type Files = BTreeMap<String, Bytes>;

/// The answer to a call: what it says, and its files.
fn ask(engine: &mut Engine, call: &str, mut arguments: Value, files: &Files) -> (Value, Vec<Bytes>) {
    let names: BTreeMap<_, _> = files.keys().zip(1..).collect();
    arguments["files"] = json!(names);
    let head = json!({ "call": call, "arguments": arguments }).to_string();
    let parts: Vec<Bytes> = [head.into()].into_iter().chain(files.values().cloned()).collect();
    let mut answer = unpack(engine.answer(pack(&parts).into()).into()).expect("a message");
    let head = serde_json::from_slice(&answer.remove(0)).expect("JSON");
    (head, answer)
}

fn value(engine: &mut Engine, call: &str, arguments: Value) -> Value {
    let (answer, _) = ask(engine, call, arguments, &Files::new());
    assert!(answer.get("value").is_some(), "{call}: {answer}");
    answer["value"].clone()
}

fn dumbbell() -> &'static str {
    templates::find("dumbbell").expect("built in").text
}

const SHORT: &str = "stop.after=30 ms";

/// Runs in slices and keeps the result. Returns its number.
fn run_in_slices(engine: &mut Engine, hops: u32, live: bool) -> u64 {
    let started = value(engine, "start", json!({ "text": dumbbell(), "sets": [SHORT], "live": live }));
    let slice = json!({ "handle": started["handle"], "hops": hops, "elapsed_ms": 1.0 });
    while value(engine, "advance", slice.clone())["done"] != true {}
    value(engine, "finish", json!({ "handle": started["handle"] }))["id"].as_u64().expect("a number")
}

fn export(engine: &mut Engine, id: u64) -> Files {
    let (answer, files) = ask(engine, "export", json!({ "id": id }), &Files::new());
    let names: Vec<String> = serde_json::from_value(answer["value"].clone()).expect("names");
    names.into_iter().zip(files).collect()
}

#[test]
fn a_run_in_slices_leaves_the_files_of_one_that_is_not_cut_watched_or_not() {
    let mut document = templates::find("dumbbell").unwrap().document().unwrap();
    document.set(SHORT).unwrap();
    let plan = Arc::new(Plan::new(document).unwrap());
    let whole = run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap().files().unwrap();
    let mut engine = Engine::default();
    for (hops, live) in [(1, true), (777, true), (500, false), (1_000_000_000, true)] {
        let id = run_in_slices(&mut engine, hops, live);
        let cut = export(&mut engine, id);
        assert!(
            whole
                .iter()
                .map(|(name, file)| (name.as_str(), &**file))
                .eq(cut.iter().map(|(name, file)| (name.as_str(), &**file))),
            "{hops} {live}"
        );
    }
}

#[test]
fn results_that_go_to_another_engine_are_the_same_there() {
    let (mut one, mut other) = (Engine::default(), Engine::default());
    let id = run_in_slices(&mut one, 100_000, false);
    let cells = |id: &Value| json!({ "title": "t", "cells": [{ "name": "a", "ids": [id] }, { "name": "b", "ids": [id] }] });
    let files =
        export(&mut one, id).into_iter().map(|(name, file)| (format!("out/seed-1/{name}"), file)).collect();
    let (opened, _) = ask(&mut other, "openResult", json!({}), &files);
    let there = &opened["value"][0]["id"];
    for call in ["report", "compare"] {
        assert_eq!(value(&mut one, call, cells(&json!(id))), value(&mut other, call, cells(there)), "{call}");
    }
}

#[test]
fn a_look_shows_queues_groups_and_windows() {
    let mut engine = Engine::default();
    let started = value(&mut engine, "start", json!({ "text": dumbbell(), "live": true }));
    let mut slice = || {
        value(&mut engine, "advance", json!({ "handle": started["handle"], "hops": 5000, "elapsed_ms": 10 }))
    };
    slice();
    let look = slice();
    assert_eq!(look["done"], false);
    assert!(look["live"]["at_ps"].as_u64().unwrap() > 0, "{look}");
    assert_eq!(look["live"]["groups"]["rows"].as_array().unwrap().len(), 2);
    assert!(look["live"]["queues"]["all"].as_u64().unwrap() > 0, "{look}");
    let windows = look["live"]["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 4, "{look}");
    assert!(windows.iter().all(|window| window["cwnd_bytes"].as_u64() > Some(0)), "{look}");
}

#[test]
fn slices_of_a_thousand_busy_hosts_do_as_much_as_was_asked_for() {
    let text = templates::find("fat-tree").expect("built in").text;
    let sets = json!(["topology.fat_tree.k=16", "stop={ after = '5 ms' }", "record={}"]);
    let mut engine = Engine::default();
    let started = value(&mut engine, "start", json!({ "text": text, "sets": sets, "live": true }));
    let mut slice = |hops: u64| {
        let look = value(
            &mut engine,
            "advance",
            json!({ "handle": started["handle"], "hops": hops, "elapsed_ms": 1.0 }),
        );
        look["packet_hops"].as_u64().expect("a number")
    };
    const ASKED: u64 = 200_000;
    // Two reports of progress, and the windows in which they fall due: a thousand hosts at 100 Gb/s, 1 us, six hops.
    const MORE: u64 = 200_000;
    // All hosts send after a round trip.
    let mut reached = slice(ASKED);
    for _ in 0..5 {
        let before = std::mem::replace(&mut reached, slice(ASKED));
        let done = reached - before;
        assert!((ASKED..ASKED + MORE).contains(&done), "{done}");
    }
}

#[test]
fn a_run_that_was_canceled_says_that_it_is_not_complete() {
    let mut engine = Engine::default();
    let started = value(&mut engine, "start", json!({ "text": dumbbell(), "live": false }));
    let handle = json!({ "handle": started["handle"] });
    assert_eq!(value(&mut engine, "cancel", handle.clone())["done"], false);
    assert_eq!(value(&mut engine, "finish", handle)["complete"], false);
}

#[test]
fn every_scenario_of_the_catalog_can_run_in_a_page() {
    let mut engine = Engine::default();
    let catalog = library()["catalog"].clone();
    let papers =
        catalog["papers"].as_array().unwrap().iter().flat_map(|paper| paper["scenarios"].as_array().unwrap());
    let scenarios = ["templates", "examples"].map(|list| catalog[list].as_array().unwrap());
    for scenario in scenarios.into_iter().flatten().chain(papers) {
        let files: BTreeMap<String, String> = serde_json::from_value(scenario["files"].clone()).unwrap();
        let files = files.into_iter().map(|(name, text)| (name, text.into())).collect();
        let arguments = json!({ "text": scenario["text"], "sets": scenario["sets"] });
        let (checked, _) = ask(&mut engine, "check", arguments, &files);
        let errors = checked["value"]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| found["severity"] == "error");
        assert_eq!(errors.count(), 0, "{}: {checked}", scenario["name"]);
    }
}

#[test]
fn a_mistake_has_its_place_in_units_of_the_browser() {
    let text = "version = 2\nname = \"😀\" # 😀\ntypo = 1\n";
    let found = value(&mut Engine::default(), "check", json!({ "text": text }));
    let found = &found["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["from"]["line"], &found["from"]["column"]),
        (&json!("N0002"), &json!(3), &json!(1))
    );
    let offset = text[..text.find("typo").unwrap()].encode_utf16().count();
    assert_eq!(found["from"]["offset"], offset);
    assert_eq!(found["to"]["offset"], offset + 4);
}

#[test]
fn files_are_found_with_their_folder_and_without_and_missing_ones_are_named() {
    let text = dumbbell().replace("{ long_lived = { flows = 2, from = [\"left/host0\", \"left/host1\"], to = [\"right/host0\", \"right/host1\"] } }", "{ trace = { file = \"traces/a.csv\" } }");
    let check = |name: &str| {
        let files = [(name.to_owned(), Bytes::from_static(b"start,src,dst,bytes\n0,0,1,1000\n"))].into();
        let (answer, _) = ask(&mut Engine::default(), "check", json!({ "text": text }), &files);
        answer["value"]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["message"].to_string())
            .collect::<String>()
    };
    assert_eq!(check("traces/a.csv"), "");
    assert_eq!(check("a.csv"), "");
    assert!(
        check("b.csv").contains("cannot read traces/a.csv: it is not among the files"),
        "{}",
        check("b.csv")
    );
}

#[test]
fn a_run_that_finds_no_room_in_a_page_is_refused_with_the_estimate() {
    let sets = json!([
        "topology.dumbbell.bottleneck_delay=\"100 s\"",
        "topology.dumbbell.bottleneck_rate=\"100 Gb/s\""
    ]);
    let arguments = json!({ "text": dumbbell(), "sets": sets, "live": false });
    let (answer, _) = ask(&mut Engine::default(), "start", arguments.clone(), &Files::new());
    assert_eq!(answer["rejected"][0]["code"], "N0014", "{answer}");
    let (checked, _) = ask(&mut Engine::default(), "check", arguments, &Files::new());
    assert_eq!(checked["value"]["estimate"]["fits"], false);
}

#[test]
fn what_makes_no_sense_is_answered() {
    let mut engine = Engine::default();
    for (call, arguments) in [
        ("none", json!({})),
        ("advance", json!({ "handle": 7, "hops": 1, "elapsed_ms": 0 })),
        ("advance", json!({ "handle": "x" })),
        ("finish", json!({ "handle": 7 })),
        ("file", json!({ "id": 1, "name": "x" })),
        ("report", json!({ "title": "", "cells": [] })),
        ("compare", json!({ "title": "", "cells": [{ "name": "a", "ids": [] }] })),
        ("import", json!({ "kind": "x" })),
    ] {
        let (answer, _) = ask(&mut engine, call, arguments, &Files::new());
        assert!(answer["misused"].is_string(), "{call}: {answer}");
    }
    for message in [&[][..], &[1, 0, 0, 0], &[255; 100], &[1, 0, 0, 0, 1, 0, 0, 0, b'x']] {
        let answer = unpack(engine.answer(Bytes::copy_from_slice(message)).into()).unwrap();
        assert!(String::from_utf8_lossy(&answer[0]).starts_with("{\"misused\""), "{message:?}");
    }
}

#[test]
fn files_that_are_no_results_are_refused() {
    let files = |files: &[(&str, &'static str)]| {
        files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Bytes::from_static(text.as_bytes())))
            .collect::<Files>()
    };
    let run = "{ \"narrows\": \"0.1.0\", \"scenario\": \"a\", \"groups\": [{ \"name\": \"a\" }] }";
    for dropped in [
        files(&[]),
        files(&[("a.txt", "x")]),
        files(&[("run.json", "{")]),
        files(&[("run.json", run)]),
        files(&[("run.json", run), ("scenario.toml", "x"), ("flows.parquet", "PAR1 no PAR1")]),
    ] {
        let (answer, _) = ask(&mut Engine::default(), "openResult", json!({}), &dropped);
        assert!(answer["rejected"][0]["message"].is_string(), "{dropped:?}: {answer}");
    }
}

#[test]
fn tables_become_scenarios_around_them() {
    for (name, text, kind) in [
        ("web.csv", "bytes,cumulative\n1000,0.5\n20000,1\n", "sizes"),
        ("sizes.txt", "1000\n2000\n", "sizes"),
        ("flows.csv", "start,src,dst,bytes\n0,0,3,1000\n0.001,1,2,5 kB\n", "trace"),
        ("named.csv", "1 us,a,b,1000\n2 ms,b,a,1000\n", "trace"),
    ] {
        let files = [(name.to_owned(), Bytes::from_static(text.as_bytes()))].into();
        let (made, _) = ask(&mut Engine::default(), "import", json!({ "kind": "auto" }), &files);
        assert_eq!(made["value"]["kind"], kind, "{made}");
        let (checked, _) =
            ask(&mut Engine::default(), "check", json!({ "text": made["value"]["text"] }), &files);
        let errors: Vec<_> = checked["value"]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| found["severity"] == "error")
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}\n{}", made["value"]["text"]);
    }
}

#[test]
fn every_control_code_and_setting_is_found_by_its_name() {
    let library = library();
    for (name, kind) in
        [("dctcp", "control"), ("n0005", "diagnostic"), ("qcn", "mechanism"), ("min_rto", "setting")]
    {
        let found = library["names"][name].as_array().unwrap_or_else(|| panic!("{name}"));
        let topics: Vec<_> =
            found.iter().map(|number| &library["topics"][number.as_u64().unwrap() as usize]).collect();
        assert!(topics.iter().any(|topic| topic["kind"] == kind), "{name}: {topics:?}");
    }
}
