//! Packets lost, marked and carried inside data centers and on the WAN between them.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::{Plan, Segment};
use narrows::results::{Results, Values};
use narrows::run::{Options, run};
use narrows::templates;
use narrows_sim::{FlowId, HostId, LinkId, PortCounters};

/// Hosts `dc0/a`, `dc0/b` with 10 and 1 Gb/s and `dc1/c` with 10 Gb/s; 1 Gb/s between the border routers; no port has room
/// for more than six packets.
const NETWORK: &str = r#"
version = 1
name = "sites"
stop = { after = "10 ms" }

[topology.explicit]
hosts = ["dc0/a", "dc0/b", "dc1/c"]
switches = [{ name = "dc0/border" }, { name = "dc1/border" }]
links = [
    { between = ["dc0/a", "dc0/border"], rate = "10 Gb/s", delay = "1 us" },
    { between = ["dc0/b", "dc0/border"], rate = "1 Gb/s", delay = "1 us" },
    { between = ["dc1/c", "dc1/border"], rate = "10 Gb/s", delay = "1 us" },
    { between = ["dc0/border", "dc1/border"], rate = "1 Gb/s", delay = "100 us" },
]

[switches.default]
buffer = { size = "10 kB", sharing = "per_port" }
"#;

fn datagrams(name: &str, rate: &str, to: &str, more: &str) -> String {
    format!(
        "[[traffic]]\nname = \"{name}\"\n{more}\npattern = {{ on_off = {{ sources = 1, rate = \"{rate}\", \
         on = {{ constant = \"1 s\" }}, off = {{ constant = \"1 s\" }}, from = \"dc0/a\", to = \"{to}\" }} }}\n"
    )
}

fn planned(document: Document) -> Arc<Plan> {
    Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")))
}

fn results(traffic: &[String], overrides: &[&str]) -> Results {
    let mut document =
        Document::parse("sites.toml", format!("{NETWORK}\n{}", traffic.concat()), "").expect("parses");
    for assignment in overrides {
        document.set(assignment).expect("fits");
    }
    run(&planned(document), Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
}

fn metrics<const N: usize>(results: &Results, names: [&str; N]) -> [Option<f64>; N] {
    names.map(|name| results.metric(&format!("total.{name}")))
}

/// The sum of a counter over the ports of a segment.
fn sum(results: &Results, segment: Segment, counter: fn(&PortCounters) -> u64) -> f64 {
    let segments = results.plan.segments.as_ref().expect("two data centers");
    let members = results.ports.iter().zip(segments).filter(|(_, of)| **of == segment);
    members.map(|(port, _)| counter(port)).sum::<u64>() as f64
}

#[test]
fn what_overflows_at_the_port_onto_the_wan_is_lost_on_the_wan() {
    let results = results(&[datagrams("storm", "2 Gb/s", "dc1/c", "")], &[]);
    let [all, dc, wan] = metrics(&results, ["drops", "dc_drops", "wan_drops"]);
    assert_eq!((dc, wan), (Some(0.0), all));
    assert_eq!(metrics(&results, ["dc_lost_fraction"]), [Some(0.0)]);
    // 2 Gb/s meet 1 Gb/s for 10 ms, 1 626 packets of 1 538 B: half of them are lost, but for the six that found room.
    let [lost] = metrics(&results, ["wan_lost_fraction"]).map(Option::unwrap);
    assert!((lost - 0.5).abs() < 0.01, "{lost}");
}

#[test]
fn what_overflows_on_the_way_to_a_host_is_lost_in_the_data_center() {
    let results = results(&[datagrams("storm", "2 Gb/s", "dc0/b", "")], &[]);
    let [all, dc, wan] = metrics(&results, ["drops", "dc_drops", "wan_drops"]);
    assert!(all > Some(700.0), "{all:?}");
    assert_eq!((dc, wan), (all, Some(0.0)));
    // Each packet comes to two ports in the data center, that of the sender and that of the switch: one in four is lost.
    let [lost, none] = metrics(&results, ["dc_lost_fraction", "wan_lost_fraction"]);
    assert!(lost.is_some_and(|lost| (lost - 0.25).abs() < 0.01), "{lost:?}");
    assert_eq!(none, None, "nothing came to the WAN");
}

#[test]
fn a_packet_lost_on_the_wan_link_itself_arrived_at_its_port_once() {
    let errors = "topology.explicit.links.3.error_rate=0.25";
    let results = results(&[datagrams("calm", "500 Mb/s", "dc1/c", "")], &[errors]);
    let [drops, lost] = metrics(&results, ["wan_drops", "wan_lost_fraction"]).map(Option::unwrap);
    let sent = sum(&results, Segment::Wan, |port| port.packets);
    assert_eq!(lost, drops / sent);
    // 406 packets: five standard deviations are 0.11.
    assert!((lost - 0.25).abs() < 0.11, "{lost}");
}

#[test]
fn utilization_is_that_of_the_measured_time_and_of_directed_links() {
    // Half of the WAN link's rate in one direction, until the middle of the measured time.
    let until = r#"until = "6 ms""#;
    let results =
        results(&[datagrams("half", "500 Mb/s", "dc1/c", until)], &["measure={from='4 ms', until='8 ms'}"]);
    let [mean, max] = metrics(&results, ["wan_mean_utilization", "wan_max_utilization"]).map(Option::unwrap);
    // ±2 %: a packet of 1 538 B is 0.3 % of 4 ms, and the path there takes 14 us.
    assert!((max - 0.25).abs() < 0.005, "{max}");
    assert_eq!(mean, max / 2.0, "nothing came back");
    let [mean, max] = metrics(&results, ["dc_mean_utilization", "dc_max_utilization"]).map(Option::unwrap);
    // Two of the six directions carry it at 10 Gb/s: from the sender on for 2 ms of the measured 4 ms, to the receiver, 100 us
    // later, for 2.1 ms. A packet is 0.0003.
    assert!((max - 0.05 * 2.1 / 4.0).abs() < 0.0003, "{max}");
    assert!((mean - 0.05 * (2.0 + 2.1) / 4.0 / 6.0).abs() < 0.0001, "{mean}");
}

#[test]
fn a_link_that_is_never_idle_is_used_as_a_whole_and_no_more() {
    // In 101 us 8.2 packets of 1 538 B are sent at 1 Gb/s, and a ninth begins.
    let results =
        results(&[datagrams("storm", "2 Gb/s", "dc1/c", "")], &["measure={from='4 ms', until='4101 us'}"]);
    assert_eq!(metrics(&results, ["wan_max_utilization", "max_utilization"]), [Some(1.0), Some(1.0)]);
}

#[test]
fn segments_add_up_to_the_whole_network() {
    let overrides = [
        "stop.after='1 s'",
        "topology.explicit.links.3.error_rate=1e-3",
        "switches.default={buffer={size='60 kB', sharing='per_port'}, marking={step={k='30 kB'}}}",
        "failures=[{link=['dc1/c', 'dc1/border'], from='500 ms', until='501 ms'}]",
    ];
    let flows = |name: &str, to: &str| {
        format!(
            "[[traffic]]\nname = \"{name}\"\ncc = {{ dctcp = {{}} }}\n\
             pattern = {{ long_lived = {{ flows = 8, from = \"dc0/a\", to = \"{to}\" }} }}\n"
        )
    };
    let results = results(&[flows("near", "dc0/b"), flows("far", "dc1/c")], &overrides);
    let [all, dc, wan] = metrics(&results, ["drops", "dc_drops", "wan_drops"]).map(Option::unwrap);
    assert!(dc > 0.0 && wan > 0.0, "{dc} {wan}");
    assert_eq!(all, dc + wan);
    let [marks, dc, wan] =
        metrics(&results, ["marks", "dc_marked_fraction", "wan_marked_fraction"]).map(Option::unwrap);
    assert!(dc > 0.0 && wan > 0.0, "{dc} {wan}");
    let arrived = |segment| sum(&results, segment, PortCounters::handled);
    let sum = dc * arrived(Segment::Dc) + wan * arrived(Segment::Wan);
    assert!((sum / marks - 1.0).abs() < 1e-12, "{sum} {marks}");
}

#[test]
fn a_network_with_one_data_center_has_no_metrics_of_segments_and_they_cannot_be_expected() {
    let mut document = templates::find("dumbbell").expect("built in").document().expect("parses");
    document.set("expect=[{metric='total.wan_drops', below=1}]").expect("fits");
    let refused = Plan::new(document.clone()).expect_err("there is no WAN").to_string();
    assert!(refused.contains("no metric is called \"total.wan_drops\""), "{refused}");
    document.set("expect=[]").expect("fits");
    document.set("stop={after='10 ms'}").expect("fits");
    document.set("measure={}").expect("fits");
    let results = run(&planned(document), Options::default(), |_| ControlFlow::Continue(())).unwrap();
    let of_segments = |name: &str| name.starts_with("total.dc_") || name.starts_with("total.wan_");
    assert!(!results.metrics.iter().any(|metric| of_segments(&metric.name)));
}

#[test]
fn metrics_of_segments_can_be_expected() {
    let expect =
        "expect=[{metric='total.wan_max_utilization', above=0.9}, {metric='total.dc_drops', above=0}]";
    let results = results(&[datagrams("storm", "2 Gb/s", "dc1/c", "")], &[expect]);
    let broken: Vec<_> = results.broken_expectations().iter().map(|b| b.expect.metric.clone()).collect();
    assert_eq!(broken, ["total.dc_drops"]);
}

#[test]
fn metrics_of_segments_are_expected_in_the_spelling_of_older_versions() {
    let old = "expect=[{metric='total.wan_max_utilisation', above=0.9}]";
    let results = results(&[datagrams("storm", "2 Gb/s", "dc1/c", "")], &[old]);
    assert!(results.broken_expectations().is_empty());
    assert!(results.plan.text.contains("metric = \"total.wan_max_utilization\""), "{}", results.plan.text);
}

#[test]
fn recorded_queues_and_links_say_their_segment() {
    let record = "record={queues={interval='1 ms', of='*'}, links={interval='1 ms', of='*'}}";
    let results = results(&[datagrams("storm", "2 Gb/s", "dc1/c", "")], &[record]);
    for table in results.tables().iter().filter(|table| ["queues", "links"].contains(&table.name)) {
        let column = |name: &str| table.columns.iter().find(|column| column.name == name).expect(name);
        let Values::Integers(links) = &column("link").values else { panic!("links are numbers") };
        let Values::Names(segments, names) = &column("segment").values else { panic!("segments are names") };
        let wan: Vec<_> = segments.iter().map(|segment| names[*segment as usize] == "wan").collect();
        // The fourth link of the list, in both directions.
        assert_eq!(wan, links.iter().map(|link| [6, 7].contains(link)).collect::<Vec<_>>(), "{}", table.name);
        assert!(wan.contains(&true) && wan.contains(&false), "{}", table.name);
    }
}

#[test]
fn the_template_gemini_has_the_round_trips_of_the_paper() {
    let plan = planned(templates::find("gemini").expect("built in").document().expect("parses"));
    let topology = &plan.network.topology;
    let host = |name: &str| topology.as_host(topology.by_name()[name]).expect("a host");
    let paths = narrows_sim::Paths::of(&plan.network, 1);
    let round_trip = |from: HostId, to: HostId| {
        let path: Vec<LinkId> = paths.path(FlowId(0), from, to).expect("a path");
        2 * path.iter().map(|link| topology.link(*link).wire.delay.as_ps()).sum::<u64>() / 1_000_000
    };
    let [a, b, other_rack, other_dc] =
        ["dc0/rack0/host0", "dc0/rack0/host1", "dc0/rack1/host0", "dc1/rack0/host0"].map(host);
    assert_eq!([b, other_rack, other_dc].map(|to| round_trip(a, to)), [200, 400, 10_000], "microseconds");
}
