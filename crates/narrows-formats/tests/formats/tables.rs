//! Tables of results in the form of other tools, read back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use crate::support::{RDMA, STREAMS, stored};
use narrows::results::Stored;
use narrows_formats::export::{flent, openmetrics};
use serde_json::Value;

type Labels = BTreeMap<String, String>;

/// A line `name{label="value",…} number`, taken apart by hand.
fn sample(line: &str) -> (String, Labels, f64) {
    let name_end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(name_end);
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").unwrap();
            let (mut value, mut end, mut escape) = (String::new(), 0, false);
            for (at, c) in after.char_indices() {
                match (escape, c) {
                    (false, '\\') => escape = true,
                    (false, '"') => {
                        end = at;
                        break;
                    }
                    (true, 'n') => (escape, _) = (false, value.push('\n')),
                    (_, c) => (escape, _) = (false, value.push(c)),
                }
            }
            labels.insert(label.trim_start_matches(',').to_owned(), value);
            rest = &after[end + 1..];
        }
        rest = &rest[1..];
    }
    (name.to_owned(), labels, rest.trim().parse().unwrap())
}

#[test]
fn openmetrics_text_is_well_formed_and_holds_the_counters() {
    let (_place, folder) = stored(STREAMS, None);
    let stored = Stored::open(&folder).unwrap();
    let text = openmetrics::text(&stored).unwrap();
    assert!(text.ends_with("# EOF\n"));
    let (mut kinds, mut samples, mut seen) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (name, kind) = family.split_once(' ').unwrap();
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
        } else if let Some(unit) = line.strip_prefix("# UNIT ") {
            let (name, unit) = unit.split_once(' ').unwrap();
            assert!(name.ends_with(&format!("_{unit}")), "{name} in {unit}");
        } else if !line.starts_with('#') {
            let (name, labels, value) = sample(line);
            let family = ["_total", "_info", "_bucket", "_count", "_sum"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .filter(|family| kinds.contains_key(*family))
                .unwrap_or(&name);
            let kind = kinds.get(family).unwrap_or_else(|| panic!("{name} has no family"));
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
            assert!(seen.insert((name.clone(), labels.clone())), "{line} twice");
            samples.push((name, labels, value));
        }
    }
    let sum = |of: &str| samples.iter().filter(|sample| sample.0 == of).map(|sample| sample.2).sum::<f64>();
    let ports = stored.table("ports", None).unwrap().unwrap();
    assert_eq!(sum("narrows_port_packets_total"), ports.integers("packets").iter().sum::<u64>() as f64);
    assert_eq!(sum("narrows_port_drops_total"), ports.integers("drops").iter().sum::<u64>() as f64);
    assert_eq!(sum("narrows_flow_completion_seconds_count"), 2.0);
    let nodes: BTreeSet<_> = samples.iter().filter_map(|sample| sample.1.get("from")).collect();
    assert!(nodes.contains(&"s0, next".to_owned()) && nodes.contains(&"say \"hi\"".to_owned()), "{nodes:?}");
}

#[test]
fn buckets_of_completion_times_never_fall() {
    let (_place, folder) = stored(RDMA, None);
    let text = openmetrics::text(&Stored::open(&folder).unwrap()).unwrap();
    let buckets = text.lines().filter(|line| line.starts_with("narrows_flow_completion_seconds_bucket"));
    let counts: Vec<_> = buckets.map(|line| sample(line).2).collect();
    assert!(counts.is_sorted() && counts.last() == Some(&3.0), "{counts:?}");
}

fn gunzipped(path: &std::path::Path) -> Value {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn flent_files_have_a_value_for_each_moment() {
    let (_place, folder) = stored(STREAMS, None);
    let stored = Stored::open(&folder).unwrap();
    let data = gunzipped(&flent::write(&stored, None, false).unwrap().path);
    assert_eq!(data["version"], 4);
    assert_eq!(data["metadata"]["NAME"], "tcp_nup");
    let moments = data["x_values"].as_array().unwrap();
    assert!(moments.is_sorted_by_key(|moment| moment.as_f64().unwrap()));
    let results = data["results"].as_object().unwrap();
    assert!(results.values().all(|values| values.as_array().unwrap().len() == moments.len()));
    for name in ["TCP upload::1", "TCP upload::2", "TCP upload sum", "Ping (ms) ICMP"] {
        assert!(results.contains_key(name), "{name}");
    }
}

#[test]
fn rates_of_flent_files_add_up_to_what_was_delivered() {
    let (_place, folder) = stored(STREAMS, None);
    let stored = Stored::open(&folder).unwrap();
    let data = gunzipped(&flent::write(&stored, None, false).unwrap().path);
    let step = data["metadata"]["STEP_SIZE"].as_f64().unwrap();
    let rates = data["results"]["TCP upload::1"].as_array().unwrap();
    let delivered: f64 = rates.iter().filter_map(Value::as_f64).map(|rate| rate * 1e6 / 8.0 * step).sum();
    let windows = stored.table("windows", None).unwrap().unwrap();
    let rows = windows.integers("flow").iter().zip(windows.integers("delivered_bytes"));
    let last = rows.filter(|(flow, _)| **flow == 0).map(|(_, delivered)| *delivered).max().unwrap();
    assert!((delivered - last as f64).abs() < 1.0, "{delivered} of {last}");
}

#[test]
fn flent_needs_recorded_windows() {
    let (_place, folder) = stored(RDMA, None);
    let error = flent::write(&Stored::open(&folder).unwrap(), None, false).unwrap_err();
    assert_eq!(error.0[0].code.name(), "N0134");
}

#[test]
fn flent_files_of_too_many_values_are_refused() {
    let (_place, folder) = stored(STREAMS, None);
    let summary = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let mut summary: Value = serde_json::from_str(&summary).unwrap();
    summary["recorded"]["windows_interval_ps"] = 1.into();
    std::fs::write(folder.join("run.json"), summary.to_string()).unwrap();
    let error = flent::write(&Stored::open(&folder).unwrap(), None, false).unwrap_err();
    assert_eq!(error.0[0].code.name(), "N0006");
    assert!(error.0[0].message.ends_with("at most 4000000 go into a file of flent"), "{error}");
}

#[test]
fn a_run_that_was_interrupted_at_once_is_exported() {
    let (_place, folder) = stored(STREAMS, Some(0));
    let text = openmetrics::text(&Stored::open(&folder).unwrap()).unwrap();
    assert!(text.contains("complete=\"false\"") && text.ends_with("# EOF\n"));
}
