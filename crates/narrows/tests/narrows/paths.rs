//! Links that change, from the text of a scenario to results.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use narrows::document::Document;
use narrows::inputs::Content;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run};
use narrows_sim::DropCause;

const SCENARIO: &str = r#"
version = 2
name = "changing"
stop.after = "3 s"
hosts = "ideal"

[topology.dumbbell]
hosts = 2
host_rate = "1 Gb/s"
bottleneck_rate = "20 Mb/s"
host_delay = "10 us"
bottleneck_delay = "10 ms"

[switches.default.buffer]
size = "100 kB"
sharing = "per_port"

[[paths]]
link = ["left/switch", "right/switch"]
direction = "forth"

[[traffic]]
name = "one"
pattern.long_lived = { flows = 2, pairing = "in_order", from = "left/*", to = "right/*" }
cc.cubic = {}
"#;

const RATE: &str = r#"paths.0.rate={ steps = { at = [["1 s", "5 Mb/s"], ["2 s", "40 Mb/s"]] } }"#;

fn document(overrides: &[&str]) -> Document {
    let mut document = Document::parse("changing.toml", SCENARIO, "").expect("parses");
    let begins: String = (1..=100).chain([1_000]).map(|ms| format!("{ms}\n")).collect();
    for (name, text) in [
        (
            "lte.csv",
            "time,rate,delay,loss\n0,4 Mb/s,5 ms,0\n0.5,30 Mb/s,9 ms,0.001\n0.9,0,9 ms,0\n1,1e6,9 ms,0\n",
        ),
        ("lte.up", "1\n2\n2\n5\n"),
        ("begins.up", &begins),
        ("empty.up", ""),
        ("unsorted.up", "2\n1\n"),
        ("stops.csv", "0,1e6\n1,0\n"),
    ] {
        document.supply(Path::new(name), Content::new(name, text.to_owned()));
    }
    for assignment in overrides {
        document.set(assignment).expect("fits");
    }
    document
}

fn results(overrides: &[&str]) -> Results {
    let plan = Plan::new(document(overrides)).unwrap_or_else(|error| panic!("{error}"));
    run(&Arc::new(plan), Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
}

/// Mb/s that the link from the first switch to the second carried.
fn carried(overrides: &[&str]) -> f64 {
    let results = results(overrides);
    let topology = &results.plan.network.topology;
    let mut links = topology.links().iter().zip(&results.ports);
    let name = |node| topology.node(node).name.as_str();
    let is_it = |ends: &narrows_sim::topology::Link| {
        [name(ends.from), name(ends.to)] == ["left/switch", "right/switch"]
    };
    let (_, port) = links.find(|(ends, _)| is_it(ends)).expect("there is one");
    port.bytes as f64 * 8.0 / 3e6
}

#[test]
fn a_link_carries_what_its_rate_over_time_allows() {
    for (setting, mbps) in [
        // (20 + 5 + 40)/3
        (RATE, 21.7),
        (r#"paths.0.rate={ ramp = { from = "30 Mb/s", to = "10 Mb/s", begin = "1 s", end = "2 s" } }"#, 20.0),
        // 4·0.5 + 30·0.4 in each second.
        (r#"paths.0.rate={ csv = { file = "lte.csv", repeat = true } }"#, 14.0),
        // 4 × 12 000 bits in 5 ms.
        (r#"paths.0.rate={ mahimahi = { file = "lte.up" } }"#, 9.6),
    ] {
        let carried = carried(&[setting]);
        // Slow start takes its time, CUBIC some more after each change: at most a quarter is not used, nothing is invented.
        assert!((0.75 * mbps..=mbps * 1.001).contains(&carried), "{setting}: {carried} of {mbps} Mb/s");
    }
}

#[test]
fn no_link_is_utilized_beyond_what_its_trace_offers_in_the_measured_time() {
    // All but one opportunity of a period of 1 s are in its first 100 ms, and nothing else is measured.
    let trace = r#"paths.0.rate={ mahimahi = { file = "begins.up" } }"#;
    let results = results(&[trace, r#"stop.after="100 ms""#, r#"traffic.0.cc={ reno = {} }"#]);
    let utilization = results.metric("total.max_utilization").expect("a link is used");
    assert!((0.2..=1.0).contains(&utilization), "{utilization}");
}

#[test]
fn losses_come_at_their_times() {
    let lost = |at: &str| {
        results(&[&format!("paths.0.loss={{ steps = {{ at = {at} }} }}")]).drops(DropCause::LinkError)
    };
    assert_eq!(lost(r#"[["0 s", 0.0], ["5 s", 0.5]]"#), 0, "the run ends before");
    assert!(lost(r#"[["1 s", 0.05], ["1500 ms", 0.0]]"#) > 0);
}

#[test]
fn slowdowns_are_measured_against_the_same_changing_link() {
    let finite = r#"traffic.0.pattern.long_lived.size="1 MB""#;
    let results =
        results(&[RATE, finite, r#"traffic.0.pattern.long_lived.flows=1"#, r#"traffic.0.start="900 ms""#]);
    let slowdown = results.flows[0].slowdown().expect("complete");
    // At 5 Mb/s 1 MB takes 1.6 s of wire time; against the 20 Mb/s of the topology it would be 4.
    assert!((1.0..1.5).contains(&slowdown), "{slowdown}");
}

fn refused(overrides: &[&str]) -> String {
    Plan::new(document(overrides)).expect_err("refused").to_string()
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (setting, expected) in [
        ("seed=1", "the entry says nothing of the link"),
        (
            r#"paths.0.link=["left/switch", "right/host0"]"#,
            r#"no link joins "left/switch" and "right/host0""#,
        ),
        (r#"paths.0.link=["left/swich", "right/host0"]"#, r#"no node is called "left/swich""#),
        (r#"paths.0.rate={ mahimahi = { file = "empty.up" } }"#, "empty.up is empty"),
        (
            r#"paths.0.rate={ mahimahi = { file = "unsorted.up" } }"#,
            "1 ms after 2 ms, expected times that never fall",
        ),
        (r#"paths.0.rate={ mahimahi = { file = "none.up" } }"#, "cannot read none.up"),
        (r#"paths.0.rate={ mahimahi = { file = "lte.up", opportunity = "1 B" } }"#, "an opportunity of 1 B"),
        (r#"paths.0.rate={ csv = { file = "stops.csv" } }"#, "the last rate is 0 b/s and holds for ever"),
        (
            r#"paths.0.rate={ steps = { at = [["0 s", "1 kb/s"], ["1 ms", "0 b/s"]], repeat_after = "1 s" } }"#,
            "the mean rate of the 1 s that repeat is 1 b/s, expected at least 1 kb/s",
        ),
        (r#"paths.0.rate={ steps = { at = [] } }"#, "there are no steps"),
        (
            r#"paths.0.rate={ ramp = { from = "1 Mb/s", to = "0 b/s", begin = "1 s", end = "2 s" } }"#,
            "0 b/s, expected the rate of a link",
        ),
        (
            r#"paths.0.rate={ ramp = { from = "1 Mb/s", to = "2 Mb/s", begin = "1 s", end = "1 s" } }"#,
            "expected later than begin",
        ),
        (r#"paths.0.delay={ steps = { at = [["1 s", "2 h"]] } }"#, "7200 s, expected at most 3600 s"),
        (r#"paths.0.loss={ steps = { at = [["1 s", 1.0]] } }"#, "1, expected at least 0, less than 1"),
        (
            r#"paths.0.loss={ random = 0.1, steps = { at = [["1 s", 0.2]] } }"#,
            "`loss.steps` stands in its place: give one of them",
        ),
    ] {
        let error = refused(&[setting]);
        assert!(error.contains(expected), "{setting}: {error}");
    }
}

#[test]
fn what_contradicts_is_refused() {
    for (setting, expected) in [
        (r#"ports="plain""#, "ports = \"plain\" cannot be used with `paths`"),
        (r#"switches.default.pause={ xoff = "10 kB" }"#, "a switch at its end stops its neighbors"),
    ] {
        let error = refused(&[RATE, setting]);
        assert!(error.contains(expected), "{setting}: {error}");
    }
    let csv = r#"paths.0.rate={ csv = { file = "lte.csv" } }"#;
    let error = refused(&[csv, r#"paths.0.delay={ steps = { at = [["1 s", "2 ms"]] } }"#]);
    assert!(error.contains("the file of `rate` has delays as well"), "{error}");
    let other = r#"[[paths]]
link = ["right/switch", "left/switch"]
rate.steps.at = [["1 s", "1 Mb/s"]]
"#;
    let text = format!("{SCENARIO}\n{other}")
        .replace("direction = \"forth\"", "rate.steps.at = [[\"1 s\", \"1 Mb/s\"]]");
    let document = Document::parse("changing.toml", text, "").expect("parses");
    let error = Plan::new(document).expect_err("refused").to_string();
    assert!(error.contains("two entries are for the link"), "{error}");
}

#[test]
fn a_stored_run_has_its_traces_and_runs_again() {
    let csv = r#"paths.0.rate={ csv = { file = "lte.csv", repeat = true } }"#;
    let plan = Plan::new(document(&[csv])).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.inputs.len(), 1);
    let again = Document::parse("scenario.toml", plan.text.clone(), "").expect("parses");
    again.supply(&plan.inputs[0].path(), plan.inputs[0].content.clone());
    let again = Plan::new(again).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.network.paths, again.network.paths);
    assert_eq!(plan.text, again.text);
}
