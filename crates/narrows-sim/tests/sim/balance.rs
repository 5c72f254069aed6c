//! Choice among equal paths: order of packets, queues, shares, and the same bytes however a run is cut.

use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::mechanism::adaptive::Adaptive;
use narrows_sim::mechanism::flowlets::Flowlets;
use narrows_sim::mechanism::wcmp::{LinkWeight, Wcmp};
use narrows_sim::observe::{Observer, PacketKind, PacketRef};
use narrows_sim::switch::{PortKind, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Topology, Wire};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind, Pause, Traffic};
use narrows_sim::{Execution, FlowId, LinkId, Network, PortCounters, Routing};
use proptest::prelude::*;

use crate::determinism::everything;
use crate::support::{
    Run, at, datagrams, dctcp, deep, flow, group, link, network, params, saturating, trace, traffic,
};

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;

fn flowlets(gap: Span) -> Routing {
    Routing::Flowlets(Flowlets { gap, ..Flowlets::default() })
}

/// All rules that choose in proportion or packet by packet.
fn rules() -> Vec<Routing> {
    let weight = LinkWeight { from: "rack0/tor".into(), to: "spine0".into(), weight: 3 };
    // The first link of each switch, whichever that is.
    let by_link = (0..40).step_by(4).map(|link| (LinkId(link), 3)).collect();
    vec![
        Routing::Wcmp(Wcmp { weights: vec![weight], by_link, ..Wcmp::default() }),
        flowlets(Span::from_us(20)),
        Routing::Flowlets(Flowlets { gap: Span::from_us(5), table: 7, aging: Span::from_us(9) }),
        Routing::Adaptive(Adaptive::default()),
        Routing::Adaptive(Adaptive { choices: Some(2), memory: true, ..Adaptive::default() }),
        Routing::Adaptive(Adaptive { gap: Some(Span::from_us(10)), rechoose: 0.5, ..Adaptive::default() }),
    ]
}

#[test]
fn every_rule_gives_the_same_bytes_on_any_number_of_threads_and_for_any_length_of_windows() {
    for routing in rules() {
        let (network, traffic) = everything(routing, PortKind::Plain);
        let run = |threads, window_divisor| {
            let execution = Execution { window_divisor, threads };
            trace(&Run { execution, ..Run::new(&network, &traffic) }.until(Span::from_ms(3)).run())
        };
        let one = run(1, 1);
        for (threads, divisor) in [(2, 1), (3, 1), (8, 1), (1, 7)] {
            assert!(
                run(threads, divisor) == one,
                "{:?}, {threads} threads, windows / {divisor}",
                network.routing
            );
        }
    }
}

#[test]
fn plain_and_scheduled_ports_choose_alike() {
    for routing in rules() {
        let run = |ports| {
            let (network, traffic) = everything(routing.clone(), ports);
            trace(&Run::new(&network, &traffic).until(Span::from_us(1_100)).run())
        };
        assert!(run(PortKind::Plain) == run(PortKind::Scheduled), "{routing:?}");
    }
}

/// Packets of flow 0 that left over one link after one that the source sent later.
struct Order {
    last: LinkId,
    highest: Option<u64>,
    reordered: u64,
}

impl Observer for Order {
    const ACTIVE: bool = true;

    fn departs(&mut self, _: Time, link: LinkId, packet: PacketRef<'_>) {
        if link == self.last && packet.kind() == PacketKind::Datagram {
            self.reordered += u64::from(self.highest.is_some_and(|highest| packet.seq() < highest));
            self.highest = self.highest.max(Some(packet.seq()));
        }
    }
}

/// A host on each side of spines with these rates and delays, the same up and down.
fn unequal(spines: &[(u64, u64)], routing: Routing) -> Network {
    let mut topology = Topology::default();
    let tors = ["left", "right"].map(|name| {
        let tor = topology.add_switch(name, "tor", 0);
        let host = topology.add_host(format!("{name}/host"));
        topology.connect(host, tor, Wire::new(GBPS(10), Span::from_us(1)));
        tor
    });
    for (number, (gbps, delay)) in spines.iter().enumerate() {
        let spine = topology.add_switch(format!("spine{number}"), "spine", 1);
        for tor in tors {
            topology.connect(tor, spine, Wire::new(GBPS(*gbps), Span::from_ns(*delay)));
        }
    }
    Network { routing, ..network(topology, &deep()) }
}

/// Datagrams in bursts of the rate of the host's link, and pauses, with these means.
fn bursts(on: Span, off: Span) -> Traffic {
    let source = FlowSpec { start: Time::NEVER, ..flow(0, 1, 0) };
    let (on, off) = (Pause::Exponential(on), Pause::Exponential(off));
    let kind = GeneratorKind::OnOff { flow: FlowId(0), on, off };
    let generators = vec![Generator { kind, start: Time::ZERO, until: at(Span::from_ms(5)) }];
    Traffic { groups: vec![datagrams(GBPS(10))], flows: vec![source], generators, ..Traffic::default() }
}

/// Numbers of packets reordered and of flowlets.
fn order(network: &Network, traffic: &Traffic, seed: u64) -> (u64, u64) {
    let last = link(network, "right", "right/host");
    let run = Run::new(network, traffic).seed(seed).until(Span::from_ms(7));
    let outcome = run.observed(|| Order { last, highest: None, reordered: 0 });
    assert!(outcome.datagrams[0].received > 0 && outcome.datagrams[0].received == outcome.datagrams[0].sent);
    let flowlets = outcome.ports.iter().map(|port| port.flowlets.flowlets).sum();
    (outcome.observers.iter().map(|order| order.reordered).sum(), flowlets)
}

/// The most that the times of a datagram over two spines differ: nothing waits, since no link is slower than the host's.
fn difference(spines: &[(u64, u64)]) -> Span {
    let time = |(gbps, delay): &(u64, u64)| {
        (GBPS(*gbps).time_to_send(Bytes::new(1_538)) + Span::from_ns(*delay)) * 2
    };
    let times = || spines.iter().map(time);
    times().max().expect("a spine") - times().min().expect("a spine")
}

proptest! {
    #[test]
    fn flowlets_keep_the_order_if_the_gap_exceeds_the_difference_of_delays(
        spines in prop::collection::vec((prop::sample::select(vec![10_u64, 25, 40, 100]), 0..40_000_u64), 2..5),
        on in 1..40_u64,
        off in 1..200_u64,
        seed in 0..8_u64,
    ) {
        let gap = difference(&spines) + Span::from_ps(1);
        let network = unequal(&spines, flowlets(gap));
        let (reordered, _) = order(&network, &bursts(Span::from_us(on), Span::from_us(off)), seed);
        prop_assert_eq!(reordered, 0);
    }
}

#[test]
fn a_gap_below_the_difference_of_delays_reorders() {
    let spines = [(40, 1_000), (40, 31_000)];
    let traffic = bursts(Span::from_us(20), Span::from_us(40));
    let (reordered, flowlets_begun) = order(&unequal(&spines, flowlets(Span::from_us(20))), &traffic, 1);
    assert!(reordered > 0 && flowlets_begun > 20, "{reordered} of {flowlets_begun} flowlets");
    assert_eq!(order(&unequal(&spines, flowlets(Span::from_us(61))), &traffic, 1).0, 0);
    let (sprayed, _) = order(&unequal(&spines, Routing::Spray), &traffic, 1);
    assert!(sprayed > reordered, "{sprayed} packets sprayed, {reordered} in flowlets");
}

/// Two racks with eight hosts and eight spines, all at 10 Gb/s; each host of the first sends to one of the second at full rate. The
/// most that waited at an uplink.
fn queue(routing: Routing, ports: PortKind) -> u64 {
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (GBPS(10), GBPS(10), Span::from_us(1));
    LeafSpine { racks: 2, hosts_per_rack: 8, spines: 8, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    let network = Network { routing, ..network(topology, &SwitchConfig { ports, ..deep() }) };
    let pairs: Vec<_> = (0..8).map(|host| (host, 8 + host, GBPS(10))).collect();
    let outcome =
        Run::new(&network, &saturating(&pairs, Span::from_ms(1))).until(Span::from_ms(1)).seed(2).run();
    let uplink =
        |port: usize| network.topology.link_name(LinkId::from(port)).starts_with("rack0/tor -> spine");
    let queues = outcome.ports.iter().enumerate().filter(|(port, _)| uplink(*port));
    queues.map(|(_, port)| port.max_backlog).max().expect("uplinks")
}

#[test]
fn where_uplinks_are_as_many_as_hosts_the_shortest_queue_is_always_empty() {
    for ports in [PortKind::Plain, PortKind::Scheduled] {
        assert_eq!(queue(Routing::Adaptive(Adaptive::default()), ports), 0);
    }
}

#[test]
fn two_choices_and_a_memory_come_close_and_random_ones_do_not() {
    let drill = Adaptive { choices: Some(2), memory: true, ..Adaptive::default() };
    let drill = queue(Routing::Adaptive(drill), PortKind::Plain);
    let spray = queue(Routing::Spray, PortKind::Plain);
    let ecmp = queue(Routing::Ecmp, PortKind::Plain);
    assert!(drill > 0 && 4 * drill < spray && 4 * spray < ecmp, "{drill} B, {spray} B, {ecmp} B");
}

#[test]
fn bursts_that_collide_leave_as_flowlets() {
    // Four hosts with bursts at full rate, four uplinks: hashes collide, flowlets part.
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (GBPS(10), GBPS(10), Span::from_us(1));
    LeafSpine { racks: 2, hosts_per_rack: 4, spines: 4, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    let mut traffic = Traffic { groups: vec![datagrams(GBPS(10))], ..Traffic::default() };
    for host in 0..4 {
        traffic.flows.push(FlowSpec { start: Time::NEVER, ..flow(host, 4 + host, 0) });
        let (on, off) = (Pause::Constant(Span::from_us(50)), Pause::Constant(Span::from_us(15)));
        let kind = GeneratorKind::OnOff { flow: FlowId(host), on, off };
        traffic.generators.push(Generator { kind, start: Time::ZERO, until: at(Span::from_ms(5)) });
    }
    let run = |routing| {
        let network = Network { routing, ..network(topology.clone(), &deep()) };
        let outcome = Run::new(&network, &traffic).until(Span::from_ms(5)).run();
        let counted = |count: fn(&PortCounters) -> u64| outcome.ports.iter().map(count);
        let moves = counted(|port| port.flowlets.moves).sum::<u64>();
        (counted(|port| port.max_backlog).max().expect("ports"), moves)
    };
    let gap = Span::from_us(10);
    let (random, moves) = run(flowlets(gap));
    // 77 bursts of four hosts, of which a quarter stay.
    assert!(moves > 150, "{moves}");
    // Each host finds an empty uplink at once, and has no reason to leave it.
    let shortest = run(Routing::Adaptive(Adaptive { gap: Some(gap), ..Adaptive::default() }));
    assert!(shortest == (0, 0) && random > 100_000, "{shortest:?}, {random} B at random");
}

#[test]
fn weights_hold_through_a_failure_and_after_it() {
    // Three spines of 10, 20 and 30 Gb/s; many flows of one packet.
    let mut topology = Topology::default();
    let tors = ["left", "right"].map(|name| {
        let tor = topology.add_switch(name, "tor", 0);
        let host = topology.add_host(format!("{name}/host"));
        topology.connect(host, tor, Wire::new(GBPS(100), Span::from_us(1)));
        tor
    });
    for gbps in [10, 20, 30] {
        let spine = topology.add_switch(format!("spine{gbps}"), "spine", 1);
        for tor in tors {
            topology.connect(tor, spine, Wire::new(GBPS(gbps), Span::from_us(1)));
        }
    }
    let mut network = Network { routing: Routing::Wcmp(Wcmp::default()), ..network(topology, &deep()) };
    let outage = narrows_sim::Outage { from: at(Span::from_ms(10)), until: at(Span::from_ms(20)) };
    let failing = link(&network, "left", "spine30");
    network.failures.push(narrows_sim::Failure { link: failing, outage, reroute_after: Span::ZERO });
    let packets = |from: u64, until: u64| {
        let start = |number: u64| at(Span::from_ms(from) + Span::from_ns(number * 1_000 * (until - from)));
        let flows = (0..1_000).map(|number| FlowSpec { start: start(number), ..flow(0, 1, 1_000) });
        let traffic = traffic(group(params(), dctcp()), flows.collect());
        let outcome = Run::new(&network, &traffic).run();
        assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
        [10, 20, 30]
            .map(|gbps| outcome.ports[link(&network, "left", &format!("spine{gbps}")).index()].packets)
    };
    // Five standard deviations of 1000 draws: at most 5·√250.
    let close = |found: [u64; 3], expected: [u64; 3]| {
        let close = found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) < 79);
        assert!(close, "{found:?}, {expected:?} expected");
    };
    close(packets(0, 9), [167, 333, 500]);
    close(packets(11, 19), [333, 667, 0]);
    close(packets(21, 30), [167, 333, 500]);
}
