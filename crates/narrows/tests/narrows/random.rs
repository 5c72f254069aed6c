//! Flows that start at random, when the last byte of a flow has left its host, and parallel links.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run};
use narrows_proto::units::{Span, Time};
use narrows_sim::LinkId;
use narrows_sim::traffic::FlowSpec;

/// Racks with two links to each spine, and a group of random flows after another.
const NETWORK: &str = r#"
version = 1
name = "random"
stop = { after = "5 ms" }
topology.leaf_spine = { racks = 3, hosts_per_rack = 4, spines = 2, links_per_spine = 2, host_rate = "10 Gb/s", uplink_rate = "10 Gb/s", delay = "1 us" }
switches.default.buffer = { size = "10 MB", sharing = "complete" }
transport.handshake = false

[[traffic]]
name = "first"
pattern = { permutation = { size = "10 kB" } }
cc = { reno = {} }

[[traffic]]
name = "random"
pattern.random = { flows = 300, within = "2 ms", sizes = "dvl_bytes", between = "other_rack" }
start = "1 ms"
cc = { reno = {} }
"#;

fn planned(overrides: &[&str]) -> Arc<Plan> {
    let mut document = Document::parse("random.toml", NETWORK, "").expect("parses");
    for assignment in overrides {
        document.set(assignment).expect("fits");
    }
    Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")))
}

fn results(plan: &Arc<Plan>) -> Results {
    run(plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
}

/// The flows of the second group.
fn random(plan: &Plan) -> &[FlowSpec] {
    &plan.traffic.flows[plan.groups[1].flows.clone()]
}

#[test]
fn random_flows_start_within_their_time_between_the_hosts_asked_for() {
    let plan = planned(&[]);
    let (start, end) = (Time::ZERO + Span::from_ms(1), Time::ZERO + Span::from_ms(3));
    assert_eq!(random(&plan).len(), 300);
    assert!(random(&plan).is_sorted_by_key(|flow| flow.start));
    for flow in random(&plan) {
        assert!((start..end).contains(&flow.start) && flow.from.0 / 4 != flow.to.0 / 4, "{flow:?}");
    }
    let starts: Vec<_> = random(&plan).iter().map(|flow| flow.start).collect();
    assert!(starts.windows(2).filter(|pair| pair[0] == pair[1]).count() < 3, "they are drawn one by one");
}

#[test]
fn random_flows_do_not_depend_on_other_traffic() {
    let plan = planned(&[]);
    let more =
        planned(&["traffic.first.pattern={ random = { flows = 50, within = '1 ms', sizes = 'dvl' } }"]);
    assert_eq!(random(&plan), random(&more));
    let another = planned(&["seed=2"]);
    assert_ne!(random(&plan), random(&another));
}

#[test]
fn random_flows_that_would_start_too_late_are_left_out() {
    let plan = planned(&["traffic.random.until='2 ms'"]);
    let count = random(&plan).len();
    // Half of 300 expected, standard deviation 8.7.
    assert!((115..185).contains(&count), "{count}");
    assert!(random(&plan).iter().all(|flow| flow.start < Time::ZERO + Span::from_ms(2)));
    assert_eq!(random(&plan), &random(&planned(&[]))[..count]);
}

#[test]
fn random_flows_arrive_in_full() {
    let plan = planned(&["stop.drain='1 s'"]);
    let results = results(&plan);
    assert_eq!(results.metric("random.flows"), Some(300.0));
    assert_eq!(results.metric("random.unfinished"), Some(0.0));
    for flow in results.flows_of(1) {
        let (injected, end) = (flow.stats.injected.expect("sent"), flow.end.expect("arrived"));
        assert!(flow.start <= injected && injected < end, "{flow:?}");
    }
}

/// One flow of ten full packets, at a line rate of 10 Gb/s.
fn ten_packets(transport: &str) -> [String; 2] {
    let flow = r#"pattern.long_lived = { flows = 1, from = "rack0/host0", to = "rack1/*", size = "10 kB" }"#;
    [
        "transport={ handshake = false, mtu = '1040 B', headers = '40 B' }".into(),
        format!("traffic=[{{ name = 'ten', {flow}, cc = {{ fixed = {{}} }}, start = '3 us' {transport} }}]"),
    ]
}

#[test]
fn the_time_of_injection_is_that_of_all_packets_but_the_last() {
    for (transport, payload) in [("", 1000), (", rdma = { mtu = '1000 B' }", 1000)] {
        let overrides = ten_packets(transport);
        let plan = planned(&overrides.each_ref().map(String::as_str));
        let carried = &plan.traffic.groups[0].transport;
        assert_eq!(carried.full_payload().get(), payload);
        let packet = plan
            .network
            .topology
            .link(LinkId(0))
            .wire
            .rate
            .time_to_send(carried.packet_size(carried.full_payload()));
        let results = results(&plan);
        assert_eq!(results.flows[0].injection(), Some(packet * 9), "{transport}");
        let expected = Some((packet * 9).as_ps() as f64 / 1e6);
        for metric in ["p50_injection_us", "p99_injection_us", "mean_injection_us"] {
            assert_eq!(results.metric(&format!("ten.{metric}")), expected);
            assert_eq!(results.metric(&format!("total.{metric}")), expected);
        }
    }
}

#[test]
fn a_flow_may_be_injected_and_unfinished_or_neither() {
    // The last packet leaves 9 packets of less than 1 us after 3 us and arrives more than 4 us later.
    for (after, injected) in [("8 us", false), ("13 us", true)] {
        let mut overrides = ten_packets("").to_vec();
        overrides.push(format!("stop.after='{after}'"));
        let overrides: Vec<_> = overrides.iter().map(String::as_str).collect();
        let results = results(&planned(&overrides));
        assert_eq!(results.flows[0].end, None);
        assert_eq!(results.metric("ten.mean_injection_us").is_some(), injected, "after {after}");
        assert_eq!(results.metric("ten.mean_fct_us"), None);
    }
}

#[test]
fn parallel_links_fail_together() {
    let failure = "failures=[{ link = ['rack1/tor', 'spine0'], from = '1 ms', until = '2 ms' }]";
    let plan = planned(&[failure]);
    let topology = &plan.network.topology;
    let names: Vec<_> =
        plan.network.failures.iter().map(|failure| topology.link_name(failure.link)).collect();
    assert_eq!(names, ["rack1/tor -> spine0", "rack1/tor -> spine0"]);
    assert_ne!(plan.network.failures[0].link, plan.network.failures[1].link);
}

#[test]
fn every_routing_sends_over_all_parallel_links() {
    for routing in ["ecmp", "d_mod_k", "spray", "{ wcmp = {} }", "{ flowlets = {} }", "{ adaptive = {} }"] {
        let results = results(&planned(&["stop.drain='1 s'", &format!("routing={routing}")]));
        let topology = &results.plan.network.topology;
        let between_switches: Vec<_> = (0..topology.links().len())
            .map(LinkId::from)
            .filter(|link| {
                let ends = topology.link(*link);
                topology.as_host(ends.from).or(topology.as_host(ends.to)).is_none()
            })
            .collect();
        assert_eq!(between_switches.len(), 3 * 2 * 2 * 2);
        for link in between_switches {
            let packets = results.ports[link.index()].packets;
            assert!(packets > 0, "{routing}: nothing went over link {} {}", link.0, topology.link_name(link));
        }
    }
}
