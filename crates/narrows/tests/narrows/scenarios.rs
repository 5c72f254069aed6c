//! The built-in scenarios and their summaries as whole numbers, compared with stored ones.
//!
//! A change of these tables is a change of results: it needs a reason. `INSTA_UPDATE=always cargo test` stores new ones.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run};
use narrows::templates;
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{FlowId, Paths};

fn results(name: &str, overrides: &[&str]) -> Results {
    let mut document = templates::find(name).expect("built in").document().expect("parses");
    for assignment in overrides {
        document.set(assignment).expect("fits");
    }
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")));
    run(&plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
}

/// One line for each metric that is not zero, as a whole number of thousandths, and each activity.
fn table(results: &Results) -> String {
    let mut lines = vec![format!("{} hash {:016x}", results.plan.scenario.name, fingerprint(results))];
    let shown = |name: &str| {
        ["flows", "unfinished", "p50_fct", "p99_slow", "goodput", ".dc_", ".wan_", "_rpc_us"]
            .iter()
            .any(|part| name.contains(part))
    };
    for metric in results.metrics.iter().filter(|metric| shown(&metric.name)) {
        if let Some(value) = metric.value.filter(|value| *value != 0.0) {
            lines.push(format!("{:28} {}", metric.name, (value * 1000.0).round() as i64));
        }
    }
    for activity in results.activity.iter().filter(|activity| activity.times > 0) {
        lines.push(format!("{:28} {}", activity.what, activity.times));
    }
    lines.join("\n")
}

/// Of every flow when it ended and what it delivered (FNV-1a).
fn fingerprint(results: &Results) -> u64 {
    let numbers = results.flows.iter().flat_map(|flow| {
        [
            flow.flow.0.into(),
            flow.incarnation,
            flow.end.map_or(u64::MAX, |end| end.as_ps()),
            flow.delivered.get(),
        ]
    });
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ number).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn reno_and_cubic_on_a_dumbbell() {
    insta::assert_snapshot!(table(&results("dumbbell", &[])));
}

#[test]
fn incast() {
    insta::assert_snapshot!(table(&results("incast", &[])));
}

#[test]
fn web_search_on_a_leaf_spine() {
    insta::assert_snapshot!(table(&results("leaf-spine", &[])));
}

#[test]
fn permutation_on_a_fat_tree() {
    insta::assert_snapshot!(table(&results("fat-tree", &["stop.after='2 ms'"])));
}

#[test]
fn parking_lot_with_red() {
    insta::assert_snapshot!(table(&results("parking-lot", &[])));
}

/// The hosts of each flow of a template, and the links between switches on its way.
fn ways(name: &str) -> Vec<(String, String, Vec<String>)> {
    let plan = Plan::new(templates::find(name).expect("built in").document().expect("parses")).expect("fits");
    let topology = &plan.network.topology;
    let paths = Paths::of(&plan.network, plan.scenario.seed);
    let way = |(number, flow): (usize, &FlowSpec)| {
        let path = paths.path(FlowId::from(number), flow.from, flow.to).expect("a path");
        let between = path[1..path.len() - 1].iter().map(|link| topology.link_name(*link));
        (topology.host_name(flow.from).into(), topology.host_name(flow.to).into(), between.collect())
    };
    plan.traffic.flows.iter().enumerate().map(way).collect()
}

#[test]
fn in_the_parking_lot_one_flow_crosses_all_bottlenecks_and_each_other_flow_one() {
    let bottleneck = |hop: u32| format!("switch{hop} -> switch{}", hop + 1);
    let cross = |hop: u32| (format!("hop{hop}/from"), format!("hop{hop}/to"), vec![bottleneck(hop)]);
    let long = ("end/host0".to_owned(), "end/host1".to_owned(), (0..3).map(bottleneck).collect());
    assert_eq!(ways("parking-lot"), [long, cross(0), cross(1), cross(2)]);
}

#[test]
fn on_the_dumbbell_each_sender_has_a_receiver_of_its_own() {
    let bottleneck = vec!["left/switch -> right/switch".to_owned()];
    let pair = |host: u32| (format!("left/host{host}"), format!("right/host{host}"), bottleneck.clone());
    assert_eq!(ways("dumbbell"), [0, 1, 2, 3].map(pair));
}

#[test]
fn datagrams_and_clients() {
    insta::assert_snapshot!(table(&results("datagrams", &[])));
}

#[test]
fn a_link_that_fails() {
    insta::assert_snapshot!(table(&results("explicit", &[])));
}

#[test]
fn two_data_centers_for_a_short_time() {
    let short = ["stop.after='30 ms'", "measure={from='10 ms', until='25 ms'}"];
    insta::assert_snapshot!(table(&results("two-dc-mix", &short)));
}

#[test]
fn the_testbed_of_gemini_for_a_short_time() {
    insta::assert_snapshot!(table(&results("gemini", &["stop.after='800 ms'", "measure.from='200 ms'"])));
}

#[test]
fn remote_procedure_calls_for_a_short_time() {
    let short = ["stop.after='6 ms'", "measure.from='1 ms'"];
    insta::assert_snapshot!(table(&results("rpc", &short)));
}

#[test]
fn rdma_under_pause() {
    let results = results("rdma", &[]);
    assert_eq!(results.broken_expectations(), []);
    insta::assert_snapshot!(table(&results));
}

#[test]
fn rdma_without_pause_goes_back_or_repeats() {
    // 300 kB for each port and no PAUSE.
    let lossy = |recovery: &str| {
        let rdma = format!("rdma={{recovery='{recovery}', rto='500 us'}}");
        let switches = "switches.default={buffer={size='300 kB', sharing='per_port'}, marking={red={min='5 kB', max='200 kB', max_p=0.01, weight=1.0, spread=false}}, latency='500 ns'}";
        let groups = ["search", "answers"].map(|group| format!("traffic.{group}.{rdma}"));
        results("rdma", &[switches, &groups[0], &groups[1], "expect=[]"])
    };
    insta::assert_snapshot!(
        ["go_back_n", "selective_repeat"].map(|recovery| table(&lossy(recovery))).join("\n")
    );
}

#[test]
fn recording_changes_nothing_else() {
    let with = results(
        "incast",
        &[
            "record={queues={interval='10 us'}, links={interval='7 us'}, windows={interval='3 us'}, state={interval='3 us'}}",
        ],
    );
    let without = results("incast", &["record={}"]);
    assert_eq!((&with.flows, &with.ports), (&without.flows, &without.ports));
    assert!(with.queues.is_some_and(|rows| !rows.is_empty()) && without.queues.is_none());
}

#[test]
fn warm_up_and_cut_off_decide_what_counts_and_nothing_else() {
    let all = results("incast", &[]);
    let some = results("incast", &["measure={from='5 ms', until='20 ms'}"]);
    assert_eq!(all.metric("answers.flows"), Some(160.0));
    assert_eq!(some.metric("answers.flows"), Some(48.0), "the rounds at 5, 10 and 15 ms");
    assert_eq!(
        all.flows.iter().map(|flow| flow.end).collect::<Vec<_>>(),
        some.flows.iter().map(|flow| flow.end).collect::<Vec<_>>()
    );
}

#[test]
fn flows_that_do_not_finish_are_rows_and_are_counted() {
    let cut = results("incast", &["stop={after='2 ms'}", "expect=[]"]);
    let open = cut.flows.iter().filter(|flow| flow.end.is_none()).count();
    assert!(open > 0, "2 ms are too short for 16 × 256 kB at 10 Gb/s");
    assert_eq!(cut.metric("answers.unfinished"), Some(open as f64));
    assert_eq!(cut.flows.len(), 16);
}

#[test]
fn a_broken_expectation_is_found() {
    let broken = results(
        "incast",
        &["expect=[{metric='answers.p99_slowdown', below=1}, {metric='answers.flows', above=1}]"],
    );
    let broken = broken.broken_expectations();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].expect.metric, "answers.p99_slowdown");
    assert!(broken[0].found.is_some_and(|found| found >= 1.0));
}

/// An axis of a sweep of the project.
fn axis(file: &str, name: &str) -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let sweep: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    sweep["grid"][name].as_table().unwrap().clone()
}

#[test]
fn controls_and_places_are_the_same_in_the_long_sweep_the_short_one_and_the_demonstration() {
    let [long, short] = ["docs/which-full.toml", "docs/which.toml"];
    let (controls, places) = (axis(long, "control"), axis(long, "place"));
    assert_eq!(axis(short, "control"), controls);
    for (name, changes) in axis("crates/narrows-cli/src/commands/demo_successors.toml", "control") {
        assert_eq!(controls[&name], changes, "{name}");
    }
    for (name, changes) in axis(short, "place") {
        assert_eq!(places[&name], changes, "{name}");
    }
}
