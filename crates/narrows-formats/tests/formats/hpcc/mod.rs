//! Files of HPCC and its descendants, generated as their formats are documented.

mod dialects;
mod fidelity;
mod model;

use std::collections::BTreeSet;
use std::fmt::Write;

use narrows::plan::Plan;
use narrows_formats::import::hpcc::{BufferUnit, Dialect, Network, Texts, convert};
use narrows_formats::import::{Imported, source};
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::imported::plan;

fn texts(topology: &str, flows: Option<&str>, config: Option<&str>) -> Texts {
    Texts {
        topology: source("topology.txt", topology),
        flows: flows.map(|text| source("flow.txt", text)),
        config: config.map(|text| source("config.txt", text)),
        buffer_unit: BufferUnit::Mib,
    }
}

fn import(texts: &Texts) -> Imported {
    convert(texts, "imported").unwrap_or_else(|error| panic!("{error}")).0
}

fn error(texts: &Texts) -> String {
    convert(texts, "imported").expect_err("refused").to_string()
}

/// Links of a plan as (name, name, rate, delay), in order.
fn links(plan: &Plan) -> Vec<(String, String, BitRate, Span)> {
    let topology = &plan.network.topology;
    let name = |node| topology.node(node).name.clone();
    let forward = topology.links().iter().step_by(2);
    forward.map(|link| (name(link.from), name(link.to), link.wire.rate, link.wire.delay)).collect()
}

/// A topology of these switches and links; hosts are the other nodes.
fn topology(header: &str, switches: &[u32], links: &[(u32, u32, &str, &str)]) -> String {
    let mut text = format!("{header}\n");
    switches.iter().for_each(|id| _ = write!(text, "{id} "));
    text.push('\n');
    for (src, dst, rate, delay) in links {
        let _ = writeln!(text, "{src} {dst} {rate} {delay} 0.000000");
    }
    text
}

/// HPCC's fat tree: 320 hosts, 20 ToR, 20 aggregation and 16 core switches.
fn fat_tree() -> (String, Vec<(u32, u32, BitRate)>) {
    let (tor, agg, core) = (|n| 320 + n, |n| 340 + n, |n| 360 + n);
    let mut links = Vec::new();
    for host in 0..320 {
        links.push((host, tor(host / 16), "100Gbps", "1000ns"));
    }
    for pod in 0..5 {
        for (t, a) in (0..4).flat_map(|t| (0..4).map(move |a| (t, a))) {
            links.push((tor(pod * 4 + t), agg(pod * 4 + a), "400Gbps", "1000ns"));
        }
        for (a, c) in (0..4).flat_map(|a| (0..4).map(move |c| (a, c))) {
            links.push((agg(pod * 4 + a), core(a * 4 + c), "400Gbps", "1000ns"));
        }
    }
    let switches: Vec<_> = (320..376).collect();
    let rate = |text: &str| BitRate::from_gbps(text.trim_end_matches("Gbps").parse().expect("it fits"));
    let expected = links.iter().map(|link| (link.0, link.1, rate(link.2))).collect();
    (topology(&format!("376 56 {}", links.len()), &switches, &links), expected)
}

#[test]
fn the_fat_tree_of_hpcc_has_the_same_links_after_import_and_planning() {
    let (text, expected) = fat_tree();
    let plan = plan(&import(&texts(&text, None, None)));
    assert_eq!(plan.network.topology.hosts().len(), 320);
    assert_eq!(plan.network.topology.nodes().len(), 376);
    let found = links(&plan);
    assert_eq!(found.len(), 480);
    for ((a, b, rate), link) in expected.into_iter().zip(found) {
        assert_eq!(link, (format!("node{a}"), format!("node{b}"), rate, Span::from_us(1)));
    }
}

#[test]
fn flows_keep_ends_sizes_and_starts_to_the_picosecond() {
    let (text, _) = fat_tree();
    let mut flows = String::from("300\n");
    let mut expected = Vec::new();
    for number in 0..300_u64 {
        let (src, dst, size) = (number, (number + 17) % 320, 1000 + 7 * number);
        let ns = 2_000_000_000 + number * 12_345;
        let _ = writeln!(flows, "{src} {dst} 3 100 {size} {}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        expected.push((src, dst, Bytes::new(size), Time::ZERO + Span::from_ns(ns)));
    }
    let plan = plan(&import(&texts(&text, Some(&flows), None)));
    let found = plan
        .traffic
        .flows
        .iter()
        .map(|flow| (u64::from(flow.from.0), u64::from(flow.to.0), flow.size, flow.start));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn the_clos_of_ns3_rdma_and_all_ways_to_write_a_rate_are_read() {
    // Two pods of two ToR and two leaf switches, two spines, 40 Gb/s; hosts 0 to 7.
    let (tor, leaf, spine) = (|n| 8 + n, |n| 12 + n, |n| 16 + n);
    let mut links: Vec<_> = (0..8).map(|host| (host, tor(host / 2), "40Gbps", "0.001ms")).collect();
    for n in 0..4 {
        for other in 0..2 {
            links.push((tor(n), leaf(n / 2 * 2 + other), "40000000000.0", "1us"));
            links.push((leaf(n), spine(other), "5GB/s", "1000ns"));
        }
    }
    let text = topology(&format!("18 10 {}", links.len()), &(8..18).collect::<Vec<_>>(), &links);
    let plan = plan(&import(&texts(&text, None, None)));
    let found = links_of(&plan);
    assert_eq!(found, BTreeSet::from([(BitRate::from_gbps(40), Span::from_us(1))]));
    assert_eq!(plan.network.topology.links().len(), 2 * 24);
}

fn links_of(plan: &Plan) -> BTreeSet<(BitRate, Span)> {
    links(plan).into_iter().map(|(_, _, rate, delay)| (rate, delay)).collect()
}

#[test]
fn four_fields_are_ns3_datacenter() {
    let links = [
        (0, 2, "25Gbps", "1us"),
        (1, 3, "25Gbps", "1us"),
        (2, 4, "100Gbps", "1us"),
        (3, 4, "100Gbps", "1us"),
    ];
    let text = topology("5 3 2 4", &[2, 3, 4], &links);
    let network = Network::parse(&source("topology.txt", text.as_str())).unwrap();
    assert_eq!((network.dialect, network.links.len()), (Dialect::Datacenter, 4));
    assert_eq!(plan(&import(&texts(&text, None, None))).network.topology.hosts().len(), 2);
}

#[test]
fn gpus_with_two_links_keep_the_lengths_of_their_paths() {
    // Two servers of two GPUs: NVSwitches 4 and 5, ToR switch 6.
    let mut links: Vec<_> = (0..4).map(|gpu| (gpu, 4 + gpu / 2, "2880Gbps", "0.000025ms")).collect();
    links.extend((0..4).map(|gpu| (gpu, 6, "100Gbps", "0.0005ms")));
    let text = topology("7 2 2 1 8 H100", &[4, 5, 6], &links);
    let imported = import(&texts(&text, Some("1\n0 3 3 100 1000 0\n"), None));
    let plan = plan(&imported);
    assert_eq!(plan.network.topology.hosts().len(), 4);
    assert!(imported.notes.iter().any(|note| note.what == "hosts with several links"));
    let found = self::links(&plan);
    let of = |a: &str, b: &str| found.iter().find(|link| link.0 == a && link.1 == b).expect("a link").3;
    // 25 ns to the NVSwitch, 500 ns to the ToR switch.
    assert_eq!(of("node0", "nic0") + of("nic0", "node4"), Span::from_ns(25));
    assert_eq!(of("node0", "nic0") + of("nic0", "node6"), Span::from_ns(500));
}

const SMALL: &str = "4 2 3\n2 3\n0 2 25Gbps 1us 0\n1 3 25Gbps 1us 0.01\n2 3 100Gbps 1us 0\n";

#[test]
fn a_configuration_becomes_settings_in_its_units() {
    let config = "PACKET_PAYLOAD_SIZE 1500\nSIMULATOR_STOP_TIME 2.5\nBUFFER_SIZE 4\nCC_MODE 1\nRATE_AI 50Mb/s\n\
                  ALPHA_RESUME_INTERVAL 2\nRP_TIMER 900\nEWMA_GAIN 0.00390625\nFAST_RECOVERY_TIMES 1\n\
                  KMAX_MAP 2 25000000000 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 400\n\
                  PMAX_MAP 2 25000000000 0.2 100000000000 0.2\nLINK_DOWN 100 2 3\nERROR_RATE_PER_LINK 0.001\n\
                  L2_BACK_TO_ZERO 1\nVAR_WIN 1\n";
    let imported = import(&texts(SMALL, Some("1\n0 1 3 200 5000 2\n"), Some(config)));
    let plan = plan(&imported);
    assert_eq!(plan.scenario.stop.after, Span::from_ms(2500));
    let text = &imported.scenario;
    for expected in [
        "size = \"4 MiB\"",
        "mtu = \"1500 B\"",
        "{ rate = \"100 Gb/s\", min = \"400 kB\", max = \"1.6 MB\", max_p = 0.2 }",
        "alpha_interval = \"2 us\"",
        "timer = \"900 us\"",
        "ai_rate = \"50 Mb/s\"",
        "from = \"2.0001 s\"",
        "name = \"incast\"",
    ] {
        let expected = expected.replace("1500 B", "1.5 kB");
        assert!(text.contains(&expected), "{expected} in\n{text}");
    }
    let notes: Vec<_> = imported.notes.iter().map(|note| note.what.as_str()).collect();
    assert!(notes.contains(&"L2_BACK_TO_ZERO 1") && !notes.contains(&"VAR_WIN 1"), "{notes:?}");
    let rates: Vec<_> = plan.network.topology.links().iter().map(|link| link.wire.error_rate).collect();
    assert_eq!(rates, [0.001, 0.001, 0.01, 0.01, 0.001, 0.001]);
}

#[test]
fn every_mode_of_congestion_control_makes_a_plan() {
    for mode in [1, 3, 7, 8, 10, 12] {
        let config = format!("CC_MODE {mode}\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\n");
        plan(&import(&texts(SMALL, Some("1\n0 1 3 100 5000 2\n"), Some(&config))));
    }
    let text = error(&texts(SMALL, None, Some("CC_MODE 2\n")));
    assert!(text.starts_with("config.txt:1:9  CC_MODE 2 is not known\n  1 is DCQCN"), "{text}");
}

#[test]
fn mistakes_in_a_topology_are_shown_where_they_are() {
    let error = |text: &str| error(&texts(text, None, None));
    assert!(error("").starts_with("topology.txt:1:1  the first line has 0 fields"));
    assert!(error("1 2\n").starts_with("topology.txt:1:1  the first line has 2 fields, expected 3"));
    assert_eq!(
        error("3 1 2\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps\n"),
        "topology.txt:4:11  the file ends here, expected the delay of link 2 of 2 (src dst rate delay error)"
    );
    assert_eq!(error("3 1 1\n3\n"), "topology.txt:2:1  the id of a node is 3, expected 0 to 2");
    assert_eq!(error("3 1 1\n2\n0 0 25Gbps 1us 0\n"), "topology.txt:3:3  a link from node 0 to itself");
    assert!(error("3 1 1\n2\n0 2 25Gbs 1us 0\n").starts_with("topology.txt:3:5  found \"25Gbs\""));
    assert!(
        error("3 1 1\n2\n0 2 25Gbps -1us 0\n")
            .starts_with("topology.txt:3:12  the delay: \"-1 us\" is negative")
    );
    assert!(error("3 1 1\n2\n0 2 25Gbps 1us NaN\n").contains("topology.txt:3:16  the error rate is NaN"));
    assert!(error("3 1 1\n2\n0 2 1e30Gbps 1us 0\n").starts_with("topology.txt:3:5  the rate: "));
    // What is announced is not believed.
    assert!(error("16777216 0 16777216\n0 1 25Gbps 1us 0\n").contains("the file ends here"));
    assert!(
        error("99999999999 0 1\n")
            .starts_with("topology.txt:1:1  found \"99999999999\", expected nodes, a whole number")
    );
}

#[test]
fn mistakes_in_flows_are_shown_where_they_are() {
    let error = |flows: &str| error(&texts(SMALL, Some(flows), None));
    assert_eq!(error("1\n0 2 3 100 5 2\n"), "flow.txt:2:3  node 2 is a switch, expected a host");
    assert_eq!(error("1\n0 9 3 100 5 2\n"), "flow.txt:2:3  the id of a host is 9, expected 0 to 3");
    assert_eq!(
        error("2\n0 1 3 100 5 2.5\n0 1 3 100 5 2\n"),
        "flow.txt:3:13  a start at 2 s after one at 2.5 s: flows stand in order of time"
    );
    assert!(error("1\n0 1 3 100 0 2\n").starts_with("flow.txt:2:11  the size is 0, expected 1"));
    assert!(error("1\n0 1 3 100 5 -2\n").contains("is negative"));
    assert!(error("1\n0 1 3 100 5 nan\n").starts_with("flow.txt:2:13  the start in seconds"));
    assert!(error("18446744073709551615\n0 1 3 100 5 2\n").contains("the file ends here"));
    assert_eq!(
        error("2\n0 1 3 100 5 2\n"),
        "flow.txt:2:14  the file ends here, expected the source of flow 2 of 2 (src dst pg dport size start)"
    );
    assert!(error("1\n0 1 3 100 99999999999999999999 2\n").starts_with("flow.txt:2:11"));
}

#[test]
fn unknown_keys_are_told_with_the_nearest_and_missing_thresholds_refused() {
    let (_, unknown) = convert(&texts(SMALL, None, Some("BUFER_SIZE 3\n")), "x").unwrap();
    assert_eq!(
        unknown[0].to_string(),
        "config.txt:1:1  the key BUFER_SIZE is not known and left out\n  did you mean BUFFER_SIZE?"
    );
    let config = "KMAX_MAP 1 25000000000 400\nKMIN_MAP 1 25000000000 100\nPMAX_MAP 1 25000000000 0.2\n";
    assert!(
        error(&texts(SMALL, None, Some(config))).starts_with("links of 100 Gb/s have no entry in KMIN_MAP")
    );
    let text = error(&texts(SMALL, None, Some("KMAX_MAP 3 25000000000 400\n")));
    assert_eq!(text, "config.txt:1:10  3 pairs of rate and value announced, 2 words follow");
    assert_eq!(error(&texts(SMALL, None, Some("BUFFER_SIZE\n"))), "config.txt:1:1  BUFFER_SIZE has no value");
}
