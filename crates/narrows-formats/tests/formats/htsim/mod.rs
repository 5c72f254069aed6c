//! Connection matrices and topologies of htsim, generated as their formats are documented.

mod fidelity;
mod model;

use narrows_formats::import::htsim::{Program, Queue, Settings, convert};
use narrows_formats::import::{Imported, source};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::traffic::Milestone;

use crate::imported::plan;

fn try_import_for(program: Program, matrix: &str, topology: Option<&str>) -> Result<Imported, String> {
    let topology = topology.map(|text| source("net.topo", text));
    let settings = Settings { program, ..Settings::default() };
    let imported = convert(&source("a.cm", matrix), topology.as_ref(), &settings, "imported");
    imported.map_err(|error| error.to_string())
}

fn try_import(matrix: &str, topology: Option<&str>) -> Result<Imported, String> {
    try_import_for(Program::Dctcp, matrix, topology)
}

fn import(matrix: &str, topology: Option<&str>) -> Imported {
    try_import(matrix, topology).unwrap_or_else(|error| panic!("{error}"))
}

fn error(matrix: &str, topology: Option<&str>) -> String {
    try_import(matrix, topology).expect_err("refused")
}

const ONE: &str = "Connections 1\n1->0 id 1 start 0 size 2000000\n";

#[test]
fn without_a_topology_it_is_the_fat_tree_for_so_many_nodes() {
    let plan = plan(&import(&format!("Nodes 128\n{ONE}"), None));
    let topology = &plan.network.topology;
    assert_eq!((topology.hosts().len(), topology.nodes().len()), (128, 128 + 32 + 32 + 16));
    assert_eq!(topology.links().len(), 2 * 3 * 128);
    assert!(topology.links().iter().all(|link| link.wire.rate == BitRate::from_gbps(100)));
    assert!(topology.links().iter().all(|link| link.wire.delay == Span::from_us(1)));
    assert!(error(&format!("Nodes 100\n{ONE}"), None).starts_with("no fat tree of 3 levels has 100 hosts"));
}

/// The topology that htsim ships to match its own fat tree of 1024 hosts.
fn topo_1024() -> String {
    let tier = |n: u32, radix: &str| {
        format!(
            "Tier {n}\nOversubscribed 1\nDownlink_speed_Gbps 100\n{radix}Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\nBundle 1\n\n"
        )
    };
    let both = "Radix_Down 8\nRadix_Up 8\n";
    let tiers = tier(0, both) + &tier(1, both) + &tier(2, "Radix_Down 16\n");
    format!("# a comment\nNodes 1024\nTiers 3\nPodsize 64\n\n{tiers}")
}

#[test]
fn a_topology_that_says_the_same_makes_the_same_network() {
    let matrix = format!("Nodes 1024\n{ONE}");
    let links = |imported: &Imported| {
        let plan = plan(imported);
        let topology = &plan.network.topology;
        let name = |node| topology.node(node).name.clone();
        let links = topology
            .links()
            .iter()
            .map(|link| (name(link.from), name(link.to), link.wire.rate, link.wire.delay));
        links.collect::<Vec<_>>()
    };
    let usual = links(&import(&matrix, None));
    assert_eq!(usual.len(), 2 * 3 * 1024);
    assert_eq!(links(&import(&matrix, Some(&topo_1024()))), usual);
}

const LEAF_SPINE: &str = "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
    Downlink_Latency_ns 1000\nOversubscribed 4\nQueue_Down 50000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
    Downlink_Latency_ns 500\nSwitch_Latency_ns 300\n";

#[test]
fn two_levels_oversubscription_queues_and_latencies_are_read() {
    let imported = import(&format!("Nodes 32\n{ONE}"), Some(LEAF_SPINE));
    let plan = plan(&imported);
    let topology = &plan.network.topology;
    assert_eq!(
        (topology.hosts().len(), topology.nodes().len(), topology.links().len()),
        (32, 32 + 4 + 2, 2 * (32 + 8))
    );
    assert!(
        imported.scenario.contains("[switches.tor]\nbuffer = { size = \"50 kB\", sharing = \"per_port\" }")
    );
    assert!(imported.scenario.contains("latency = \"300 ns\""));
}

#[test]
fn triggers_become_flows_that_wait() {
    let matrix = "# a ring, a barrier, and shots\nNodes 16\nConnections 8\nTriggers 3\n\
        0->1 id 1 start 5 size 1000 recv_done_trigger 1\n1->2 id 2 trigger 1 size 2000 send_done_trigger 2 prio 3\n\
        2->3 id 3 start 7 size 3000 recv_done_trigger 2\n3->4 id 4 trigger 2 size 4000 recv_done_trigger 3\n\
        4->5 id 5 start 1 size 1 recv_done_trigger 3\n5->6 id 6 trigger 3 size 6000\n6->7 id 7 trigger 3 size 7000\n\
        7->8 start 0 size 8000\ntrigger id 1 oneshot\ntrigger id 2 barrier count 2\ntrigger id 3 multishot\n";
    let plan = plan(&import(matrix, None));
    let flows = &plan.traffic.flows;
    assert_eq!(flows.len(), 8);
    assert_eq!(flows[0].start, Time::from_ps(5));
    assert_eq!([flows[1].start, flows[3].start, flows[5].start], [Time::NEVER; 3]);
    let waits: Vec<_> = plan.traffic.dependents.iter().map(|waits| (waits.flow.0, waits.needs)).collect();
    // The first shot starts flow 5, the second flow 6.
    assert_eq!(waits, [(1, 1), (3, 2), (5, 1), (6, 2)]);
    assert_eq!(
        plan.traffic.dependents[1].after.iter().map(|after| (after.0.0, after.1)).collect::<Vec<_>>(),
        [(1, Milestone::Sent), (2, Milestone::Received)]
    );
}

#[test]
fn messages_failures_and_endless_flows_are_mapped_and_told() {
    let matrix = "Nodes 16\nConnections 3\nFailures 2\n1->0 id 1 msg 1 start 0 size 0\n1->0 id 1 msg 2 start 0 size 5\n\
        2->0 id 2 start 0 size 5\nfailure switch_type AGG switch_id 1 link_id 1\nfailure switch_type CORE switch_id 0 link_id 0\n";
    let imported = import(matrix, None);
    let plan = plan(&imported);
    assert_eq!(plan.traffic.flows.len(), 3);
    // Aggregation switch 1 of the fat tree with k = 4 leads to the core switches 1 and 3.
    assert!(imported.scenario.contains("link = [\"agg1\", \"core3\"]"), "{}", imported.scenario);
    let notes: Vec<_> = imported.notes.iter().map(|note| note.what.as_str()).collect();
    for expected in ["msg", "size 0", "failure of Core 0, link 0", "transport"] {
        assert!(notes.contains(&expected), "{notes:?}");
    }
}

#[test]
fn mistakes_in_a_matrix_are_shown_where_they_are() {
    let error = |text: &str| error(text, None);
    assert_eq!(
        error("Nodes 16\nConnections 2\n1->0 id 1 start 0 size 5\n"),
        "a.cm:2:1  2 connections announced, but there are 1"
    );
    assert_eq!(
        error("Nodes 16\nConnections 1\n1->0 id 1 start 0 size 5\ntrigger id 1 oneshot\n"),
        "a.cm:4:21  0 triggers announced, but there are 1"
    );
    assert!(
        error("Nodes 16\nConnections 1\n1->16 id 1 start 0 size 5\n").starts_with("a.cm:3:4  a host is 16")
    );
    assert!(error("Nodes 16\nConnections 1\n1->1 id 1 start 0 size 5\n").contains("to itself"));
    assert!(error("Nodes 16\nConnections 1\n1->0 id 0 start 0 size 5\n").starts_with("a.cm:3:9  an id is 0"));
    assert!(
        error("Nodes 16\nConnections 1\n1->0 id 1 start x size 5\n")
            .starts_with("a.cm:3:17  the start in picoseconds")
    );
    assert!(error("Nodes 16\nConnections 1\n1->0 id 1 start 0 size -5\n").starts_with("a.cm:3:24"));
    assert!(error("Nodes 16\nConnections 1\n1->0 id 1 size 5\n").contains("neither start nor trigger"));
    assert!(
        error("Nodes 16\nConnections 1\n1->0 id 1 start 0 trigger 1 size 5\n").contains("a second start")
    );
    assert!(
        error("Nodes 16\nConnections 1\n1->0 id 1 trigger 7 size 5\n")
            .contains("trigger 7 is not in the file")
    );
    assert!(error("Nodes 16\nConnections 1\n1->0 id 1 start 0 sise 5\n").contains("did you mean \"size\"?"));
    assert!(error("Nodes 16\nConnectoins 1\n").contains("did you mean \"Connections\"?"));
    let barrier = "Nodes 16\nConnections 2\nTriggers 1\n1->0 id 1 start 0 size 5 recv_done_trigger 1\n\
                   2->0 id 2 trigger 1 size 5\ntrigger id 1 barrier count 2\n";
    assert_eq!(error(barrier), "barrier 1 counts to 2, but 1 connections activate it");
}

#[test]
fn mistakes_in_a_topology_are_shown_where_they_are() {
    let error =
        |from: &str, to: &str| error(&format!("Nodes 32\n{ONE}"), Some(&LEAF_SPINE.replace(from, to)));
    assert!(error("Podsize", "Podsise").contains("did you mean \"Podsize\"?"));
    assert!(error("Queue_Down", "Queue_Dwon").contains("did you mean \"Queue_Down\"?"));
    assert!(error("Radix_Down 8", "Radix_Down 7").contains("the numbers do not make a tree"));
    assert!(error("Tiers 2", "Tiers 4").contains("Tiers is 4, expected 2 to 3"));
    assert!(error("Tiers 2", "Tiers 3").contains("the file has no Tier 2"));
    assert!(error("Nodes 32", "Nodes 16").contains("the matrix has 32 nodes, the topology 16"));
}

#[test]
fn lengths_of_queues_have_units() {
    assert_eq!("15packets".parse(), Ok(Queue::Packets(15)));
    assert_eq!("135kB".parse(), Ok(Queue::Bytes(Bytes::new(135_000))));
    assert!("15".parse::<Queue>().is_err());
}

fn why<'a>(imported: &'a Imported, what: &str) -> Option<&'a str> {
    imported.notes.iter().find(|note| note.what == what).map(|note| note.why.as_str())
}

#[test]
fn messages_may_have_no_number() {
    let matrix = "Nodes 2\nConnections 4\nTriggers 0\n0->1 id 1 msg start 0 size 4086\n0->1 id 1 msg start 0 size 4086\n\
                  0->1 id 1 msg 7 start 0 size 4086\n1->0 id 2 start 0 size 5 msg\n";
    let imported = import(matrix, None);
    assert_eq!(plan(&imported).traffic.flows.len(), 4);
    let ids: Vec<_> = imported.files[0].1.lines().skip(1).map(|row| row.split(',').nth(4).unwrap()).collect();
    assert_eq!(ids, ["f1n0", "f1n1", "f1m7", "f2n3"]);
    assert!(why(&imported, "msg").is_some());
}

#[test]
fn connections_may_share_an_id() {
    let matrix = "Nodes 16\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 10 recv_done_trigger 1\n1->2 id 1 start 0 size 20\n\
                  2->3 id 3 trigger 1 size 30\ntrigger id 1 oneshot\n";
    let imported = import(matrix, None);
    assert_eq!(plan(&imported).traffic.dependents.len(), 1);
    let ids: Vec<_> = imported.files[0].1.lines().skip(1).map(|row| row.split(',').nth(4).unwrap()).collect();
    assert_eq!(ids, ["f1", "f1n1", "f3"]);
}

#[test]
fn starts_are_binary_fractions_and_sizes_end_at_their_decimals() {
    let matrix = "Nodes 16\nConnections 3\n0->1 start 0.000000 size 2000000.9\n1->2 start 1.5 size 0\n2->3 start 1e6 size 7\n";
    let imported = import(matrix, None);
    let plan = plan(&imported);
    let starts: Vec<_> = plan.traffic.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [Time::ZERO, Time::from_ps(1), Time::from_ps(1_000_000)]);
    assert_eq!(plan.traffic.flows[0].size, Bytes::new(2_000_000));
    assert_eq!(why(&imported, "start"), Some("cut to picoseconds (connections: 1)"));
}

#[test]
fn what_htsim_passes_over_in_a_header_is_ignored_and_counted() {
    let matrix = format!("made by a script\n\nNodes 32 of them\n{ONE}");
    let imported = import(&matrix, Some(&format!("xyz 1\n{LEAF_SPINE}")));
    assert_eq!(plan(&imported).traffic.flows.len(), 1);
    let ignored = Some("what htsim does not know is ignored, as there (lines: 1)");
    assert_eq!(
        (why(&imported, "header of the .cm"), why(&imported, "header of the .topo")),
        (ignored, ignored)
    );
    // After the header it ends at such a line.
    assert!(error(&format!("Nodes 16\n{ONE}xyz 1\n"), None).starts_with("a.cm:4:1  found \"xyz\""));
}

#[test]
fn links_of_another_speed_in_a_tier_are_told() {
    let topology =
        LEAF_SPINE.replace("Tier 1\n", "Tier 1\nAsymmetric_speed_Gbps 50\nAsymmetric_mode single\n");
    let imported = import(&format!("Nodes 32\n{ONE}"), Some(&topology));
    assert_eq!(why(&imported, "Asymmetric_speed_Gbps 50 of tier 1"), Some("links of a tier have one rate"));
    plan(&imported);
}

#[test]
fn settings_of_htsim_uec_follow_from_rate_packet_and_paths() {
    let imported = try_import_for(Program::Uec, &format!("Nodes 16\n{ONE}"), None).expect("it fits");
    // Three levels: 12 us of delay and 6 times 4150 and 64 B at 100 Gb/s, 43 packets of 4150 B.
    for expected in [
        "rtt = \"14.02272 us\"",
        "buffer = { size = \"535.35 kB\", sharing = \"per_port\" }",
        "trimming = { above = \"174.3 kB\", size = \"64 B\", coin = true }",
        "red = { min = \"37.35 kB\", max = \"145.25 kB\", max_p = 1.0,",
        "mtu = \"4.086 kB\", headers = \"64 B\"",
        "rto = \"100.656 us\"",
    ] {
        assert!(imported.scenario.contains(expected), "{expected} in {}", imported.scenario);
    }
    let plan = plan(&imported);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    let notes = |imported: &Imported| imported.notes.iter().map(|note| note.what.clone()).collect::<Vec<_>>();
    assert!(notes(&imported).is_empty());
    let with_queues = format!("Nodes 32\n{ONE}");
    let imported = try_import_for(Program::Uec, &with_queues, Some(LEAF_SPINE)).expect("it fits");
    assert_eq!(notes(&imported), ["queues of the .topo"]);
}

#[test]
fn starts_of_htsim_uec_are_microseconds() {
    let matrix = |start: u64| format!("Nodes 16\nConnections 1\n1->0 id 1 start {start} size 5\n");
    for (program, start) in [(Program::Dctcp, Span::from_ps(7)), (Program::Uec, Span::from_us(7))] {
        let plan = plan(&try_import_for(program, &matrix(7), None).expect("it fits"));
        assert_eq!(plan.traffic.flows[0].start, Time::ZERO + start);
    }
    let error = try_import_for(Program::Uec, &matrix(1 << 32), None).expect_err("refused");
    assert!(error.contains("htsim_uec reads microseconds, up to 4294967295"), "{error}");
}

#[test]
fn packets_and_queues_that_htsim_uec_cannot_have_are_refused() {
    let error = |mtu: Option<u64>, queue: Option<u64>| {
        let (mtu, queue) = (mtu.map(Bytes::new), queue.map(|bytes| Queue::Bytes(Bytes::new(bytes))));
        let settings = Settings { program: Program::Uec, mtu, queue, ..Settings::default() };
        let matrix = source("a.cm", format!("Nodes 16\n{ONE}"));
        convert(&matrix, None, &settings, "imported").expect_err("refused").to_string()
    };
    for mtu in [64, 65_536, u64::MAX] {
        assert!(error(Some(mtu), None).contains("expected 65 B to 65 535 B with htsim_uec"));
    }
    for queue in [0, 37_350, 1_000_000_000_001, u64::MAX] {
        let found = error(None, Some(queue));
        assert!(found.contains("expected more than 0.2 BDP, 37.35 kB, and at most 1 TB"), "{found}");
    }
}
