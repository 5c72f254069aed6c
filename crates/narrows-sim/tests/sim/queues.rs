//! Queues against queueing theory, links against arithmetic.

use crate::support::{
    ENDLESS, Run, at, dcqcn, dctcp, deep, flow, group, link, network, params, rdma, traffic, unlimited,
    window,
};
use narrows_proto::stream::{Params, Stats};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::switch::{Buffer, Dynamic, Sharing, SwitchConfig};
use narrows_sim::topology::{Dumbbell, FatTree, LeafSpine, ParkingLot, Star, Topology, Wire};
use narrows_sim::traffic::{FlowSpec, Group};
use narrows_sim::workload::{Pairs, Partner, Sizes, poisson};
use narrows_sim::{
    DropCause, FlowId, FlowRecord, GroupId, HostId, IdealPath, Network, Paths, Purpose, Routing, Stream,
    ideal_fct,
};
use proptest::prelude::*;

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;

fn dumbbell(hosts: u32, host_rate: BitRate, bottleneck_rate: BitRate, delay: Span) -> Topology {
    let mut topology = Topology::default();
    Dumbbell { hosts, host_rate, bottleneck_rate, host_delay: delay, bottleneck_delay: delay }
        .build(&mut topology, "");
    topology
}

fn star(hosts: u32, rate: BitRate) -> Topology {
    let mut topology = Topology::default();
    Star { hosts, rate, delay: Span::from_us(1) }.build(&mut topology, "");
    topology
}

/// Mean number of packets that wait when single packets of equal size arrive at random at utilization `load`.
fn mean_waiting(load: f64) -> f64 {
    // 40 senders with links 100 times as fast as the bottleneck: what arrives there is a Poisson process.
    let topology = dumbbell(40, GBPS(100), GBPS(1), Span::from_us(1));
    let network = network(topology, &deep());
    let size = params().mss();
    let service = GBPS(1).time_to_send(params().packet_size(size));
    let (left, right) = ((0..40).map(HostId).collect(), (40..80).map(HostId).collect::<Vec<_>>());
    let pairs = Pairs::new(left, &right, Partner::Any, 80, |_| 0).expect("partners exist");
    let duration = Span::from_secs(4);
    let flows = poisson(
        GroupId(0),
        load / service.as_secs_f64(),
        &Sizes::constant(size),
        &pairs,
        Time::ZERO..at(duration),
        &mut Stream::new(1, Purpose::Workload, 0),
    )
    .collect();
    let traffic = traffic(group(params(), unlimited()), flows);
    let rows = Run::new(&network, &traffic).until(duration).ports(Span::from_ms(1));
    let bottleneck = link(&network, "left/switch", "right/switch");
    let waiting: f64 = rows.iter().filter(|row| row.link == bottleneck).map(|row| row.mean_backlog).sum();
    waiting / 4000.0 / params().packet_size(size).as_f64()
}

#[test]
fn packets_wait_as_long_as_in_an_m_d_1_queue() {
    // Pollaczek–Khinchine with constant service: Lq = ρ²/(2(1 − ρ)).
    for (load, tolerance) in [(0.3, 0.03), (0.6, 0.03), (0.8, 0.06)] {
        // 10^5 to 3·10^5 packets. The relative deviation of the mean grows with the correlation time 1/(1 − ρ)²: below
        // 1 % at 0.6, about 2 % at 0.8.
        let expected = load * load / (2.0 * (1.0 - load));
        let waiting = mean_waiting(load);
        assert!((waiting / expected - 1.0).abs() < tolerance, "at {load}: {waiting}, expected {expected}");
    }
}

#[test]
fn one_flow_gets_the_line_rate_less_headers() {
    let network = network(dumbbell(1, GBPS(10), GBPS(10), Span::from_us(5)), &deep());
    let size = 100_000_000;
    let outcome = Run::new(&network, &traffic(group(params(), unlimited()), vec![flow(0, 1, size)])).run();
    let fct = outcome.flows[0].end.expect("complete") - Time::ZERO;
    let goodput = BitRate::per(Bytes::new(size), fct).as_f64();
    let payload_share = 1448.0 / 1538.0;
    // −0.05 %: the first packet takes 15 us and three transmissions longer than its successors, of 85 ms.
    assert!((goodput / (10e9 * payload_share) - 1.0).abs() < 5e-4, "{goodput}");
}

/// Compares the time a flow took alone with the ideal, for several sizes between two hosts.
fn assert_ideal(network: &Network, from: u32, to: u32) {
    let paths = Paths::of(network, 1);
    let path = |from, to| {
        let links = paths.path(FlowId(0), HostId(from), HostId(to)).expect("a path");
        IdealPath::new(network, &links)
    };
    let stream = |handshake| {
        let params = narrows_proto::stream::Params { handshake, ..params() };
        group(params, unlimited())
    };
    for group in [stream(false), stream(true), rdma(Default::default(), dcqcn())] {
        for size in [1, 600, 1024, 1025, 1448, 1449, 10_000, 14_480, 1_000_000] {
            let start = Time::from_ps(123_457);
            let flows = vec![FlowSpec { start, ..flow(from, to, size) }];
            let outcome = Run::new(network, &traffic(group.clone(), flows)).run();
            let fct = outcome.flows[0].end.expect("complete") - start;
            let ideal =
                ideal_fct(&group.transport, &path(from, to), &path(to, from), start, Bytes::new(size));
            assert_eq!(fct, ideal, "{size} B from {from} to {to}, {:?}", group.transport);
        }
    }
}

#[test]
fn on_an_idle_path_the_ideal_time_is_exact_to_the_picosecond() {
    assert_ideal(&network(dumbbell(2, GBPS(100), GBPS(10), Span::from_us(3)), &deep()), 0, 2);
    assert_ideal(&network(dumbbell(2, GBPS(10), GBPS(40), Span::from_us(3)), &deep()), 0, 2);
    // 7 Gb/s is no whole number of picoseconds per byte.
    assert_ideal(&network(dumbbell(2, GBPS(25), GBPS(7), Span::from_us(3)), &deep()), 0, 2);
    let mut fat_tree = Topology::default();
    FatTree { k: 4, rate: GBPS(100), delay: Span::from_ns(650) }.build(&mut fat_tree, "");
    let forwarding = SwitchConfig { latency: Span::from_ns(300), ..deep() };
    assert_ideal(&network(fat_tree, &forwarding), 0, 15);
    let mut lot = Topology::default();
    ParkingLot { bottlenecks: 4, host_rate: GBPS(10), bottleneck_rate: GBPS(1), delay: Span::from_us(1) }
        .build(&mut lot, "");
    assert_ideal(&network(lot, &forwarding), 0, 1);
    let mut leaf_spine = Topology::default();
    let (host_rate, uplink_rate) = (GBPS(10), GBPS(40));
    LeafSpine {
        racks: 2,
        hosts_per_rack: 2,
        spines: 2,
        links_per_spine: 1,
        host_rate,
        uplink_rate,
        delay: Span::from_us(1),
    }
    .build(&mut leaf_spine, "");
    assert_ideal(&network(leaf_spine, &forwarding), 0, 3);
}

/// A link: its rate in Gb/s, its delay in nanoseconds.
type RateAndDelay = (u64, u64);

/// Two hosts, and stages of switches between them with links of any rate and delay.
#[derive(Clone, Debug)]
struct Random {
    /// Links of the hosts; then for each switch in the middle the links to it and from it.
    hosts: [RateAndDelay; 2],
    middle: Vec<(Vec<RateAndDelay>, Vec<RateAndDelay>)>,
    routing: Routing,
    size: u64,
    transport: u8,
}

fn any_network() -> impl Strategy<Value = Random> {
    let any_link = || (prop::sample::select(vec![1_u64, 7, 10, 25, 40, 100]), 0..5_000_u64);
    let links = move || prop::collection::vec(any_link(), 1..3);
    let middle = prop::collection::vec((links(), links()), 1..4);
    let routing = prop::sample::select(vec![
        Routing::Ecmp,
        Routing::DModK,
        Routing::Spray,
        Routing::Wcmp(Default::default()),
        Routing::Flowlets(Default::default()),
        Routing::Adaptive(Default::default()),
    ]);
    let size = prop_oneof![1..3_000_u64, 1..60_000_u64];
    ([any_link(), any_link()], middle, routing, size, 0..4_u8).prop_map(
        |(hosts, middle, routing, size, transport)| Random { hosts, middle, routing, size, transport },
    )
}

impl Random {
    fn network(&self) -> Network {
        let wire = |(gbps, delay): (u64, u64)| Wire::new(GBPS(gbps), Span::from_ns(delay));
        let mut topology = Topology::default();
        let hosts = ["a", "b"].map(|name| topology.add_host(name));
        let leaves = ["left", "right"].map(|name| topology.add_switch(name, "tor", 0));
        (0..2).for_each(|end| _ = topology.connect(hosts[end], leaves[end], wire(self.hosts[end])));
        for (number, (to, from)) in self.middle.iter().enumerate() {
            let spine = topology.add_switch(format!("spine{number}"), "spine", 1);
            to.iter().for_each(|link| _ = topology.connect(leaves[0], spine, wire(*link)));
            from.iter().for_each(|link| _ = topology.connect(spine, leaves[1], wire(*link)));
        }
        let forwarding = SwitchConfig { latency: Span::from_ns(300), ..deep() };
        Network { routing: self.routing.clone(), ..network(topology, &forwarding) }
    }

    /// Its group, and whether a window or what was lost may make it slower than the ideal.
    fn group(&self) -> (Group, bool) {
        let handshake = Params { handshake: true, ..params() };
        let selective = narrows_proto::rdma::Params {
            recovery: narrows_proto::rdma::Recovery::SelectiveRepeat,
            ..Default::default()
        };
        match self.transport {
            0 => (group(params(), unlimited()), false),
            1 => (group(handshake, unlimited()), false),
            2 => (rdma(selective, dcqcn()), false),
            _ => (group(handshake, dctcp()), true),
        }
    }
}

proptest! {
    #[test]
    fn alone_no_flow_is_faster_than_its_ideal_and_on_one_path_none_is_slower(random in any_network(), seed in 0..8_u64) {
        let network = random.network();
        let (group, slower) = random.group();
        let paths = Paths::of(&network, seed);
        let path = |from, to| IdealPath::between(&network, &paths, (FlowId(0), false), HostId(from), HostId(to));
        let (forth, back) = (path(0, 1).expect("a path"), path(1, 0).expect("a path"));
        let ideal = ideal_fct(&group.transport, &forth, &back, Time::ZERO, Bytes::new(random.size));
        let traffic = traffic(group, vec![flow(0, 1, random.size)]);
        let outcome = Run::new(&network, &traffic).seed(seed).run();
        let took = outcome.flows[0].end.expect("complete") - Time::ZERO;
        let one_path = !random.routing.is_by_packet() || random.middle.iter().map(|(to, from)| to.len() * from.len()).sum::<usize>() == 1;
        prop_assert!(took >= ideal, "{took} is less than {ideal}");
        prop_assert!(took == ideal || slower || !one_path, "{took}, ideal {ideal}");
    }
}

#[test]
fn sprayed_packets_that_overtake_a_slow_path_are_not_faster_than_ideal() {
    // The path that one packet takes may be slow: 1 Gb/s beside 40 Gb/s.
    let slow_beside_fast = Random {
        hosts: [(10, 1_000), (10, 1_000)],
        middle: vec![(vec![(1, 1_000)], vec![(1, 1_000)]), (vec![(40, 1_000)], vec![(40, 1_000)])],
        routing: Routing::Spray,
        size: 1_000,
        transport: 0,
    };
    let network = slow_beside_fast.network();
    let paths = Paths::of(&network, 1);
    let (group, _) = slow_beside_fast.group();
    let path =
        IdealPath::between(&network, &paths, (FlowId(0), false), HostId(0), HostId(1)).expect("a path");
    let ideal = ideal_fct(&group.transport, &path, &path, Time::ZERO, Bytes::new(1_000));
    let times = (0..20).map(|seed| {
        let traffic = traffic(group.clone(), vec![flow(0, 1, 1_000)]);
        Run::new(&network, &traffic).seed(seed).run().flows[0].end.expect("complete") - Time::ZERO
    });
    // One packet: the fastest path is an exact bound, and some seed takes it.
    assert_eq!(times.min(), Some(ideal));
}

#[test]
fn congested_ports_share_the_memory_as_dynamic_thresholds_say() {
    // Three senders overload each of N ports for ever; the queues settle at αB/(1 + Nα).
    for (alpha, ports) in [(1.0, 1), (1.0, 3), (0.5, 4), (2.0, 2)] {
        let hosts = 4 * ports;
        let sharing = Sharing::Dynamic(Dynamic { alpha });
        let memory = Buffer { size: Bytes::new(2_000_000), sharing };
        let network = network(star(hosts, GBPS(10)), &SwitchConfig { buffer: memory, ..deep() });
        let senders = (0..3 * ports).map(|sender| flow(sender, 3 * ports + sender % ports, ENDLESS));
        let rate = narrows_proto::cc::fixed::Params { rate: Some(GBPS(5)), ..Default::default() };
        let control = narrows_proto::cc::Config::Fixed(rate);
        let traffic = traffic(group(params(), control), senders.collect());
        let rows = Run::new(&network, &traffic).until(Span::from_ms(4)).ports(Span::from_us(100));
        let share = alpha * 2_000_000.0 / (1.0 + f64::from(ports) * alpha);
        for port in 0..ports {
            let name = format!("host{}", 3 * ports + port);
            let port = link(&network, "switch", &name);
            let last = rows.iter().rev().find(|row| row.link == port).expect("the port is congested");
            // Two packets: the threshold moves while others are admitted.
            assert!(
                (last.mean_backlog - share).abs() < 2.0 * 1538.0,
                "α {alpha}, {ports} ports: {last:?}, {share}"
            );
        }
    }
}

#[test]
fn what_overflows_is_the_only_thing_lost() {
    // 8 senders, 3 packets of room: drops for one reason, and every flow still ends.
    let network = network(star(9, GBPS(10)), &crate::support::shallow(3 * 1538));
    let flows = (0..8).map(|sender| flow(sender, 8, 200_000)).collect();
    let traffic = traffic(group(params(), crate::support::reno()), flows);
    let outcome = Run::new(&network, &traffic).run();
    let drops = outcome.drops(DropCause::QueueLimit) + outcome.drops(DropCause::BufferFull);
    assert!(drops > 0);
    assert_eq!(drops, outcome.ports.iter().map(|port| port.dropped()).sum::<u64>());
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == flow.size));
    let max = outcome.ports.iter().map(|port| port.max_backlog).max();
    assert!(max <= Some(3 * 1538), "{max:?}");
}

#[test]
fn without_overload_nothing_is_lost_reordered_or_sent_twice() {
    let mut fat_tree = Topology::default();
    FatTree { k: 4, rate: GBPS(10), delay: Span::from_us(1) }.build(&mut fat_tree, "");
    let network = network(fat_tree, &deep());
    let flows = (0..16).map(|host| flow(host, (host + 5) % 16, 500_000)).collect();
    let traffic = traffic(group(params(), window(60_000)), flows);
    let outcome = Run::new(&network, &traffic).run();
    let nothing_else = |flow: &FlowRecord| Stats { injected: flow.stats.injected, ..Stats::default() };
    assert!(outcome.flows.iter().all(|flow| flow.stats == nothing_else(flow)), "{:?}", outcome.flows);
    assert_eq!(outcome.ports.iter().map(|port| port.dropped()).sum::<u64>(), 0);
}

#[test]
fn a_link_that_was_down_when_a_flow_began_delays_it_by_timeouts() {
    let mut network = network(dumbbell(1, GBPS(10), GBPS(10), Span::from_us(1)), &deep());
    let bottleneck = link(&network, "left/switch", "right/switch");
    let outage = narrows_sim::Outage { from: Time::ZERO, until: at(Span::from_ms(1500)) };
    network.failures.push(narrows_sim::Failure {
        link: bottleneck,
        outage,
        reroute_after: Span::from_secs(9),
    });
    let outcome =
        Run::new(&network, &traffic(group(params(), crate::support::reno()), vec![flow(0, 1, 50_000)])).run();
    // Nothing arrives before the timeouts after 1 s and 1 s + 2 s. The second sends the first segment (RFC 6298 §5.4), alone, and the
    // receiver waits 40 ms for another.
    let end = outcome.flows[0].end.expect("complete");
    assert!(end > at(Span::from_ms(3040)) && end < at(Span::from_ms(3041)), "{end}");
}

#[test]
fn rerouting_saves_what_failed_links_would_lose() {
    let delivered = |reroute_after| {
        let mut topology = Topology::default();
        let (host_rate, uplink_rate) = (GBPS(10), GBPS(10));
        LeafSpine {
            racks: 2,
            hosts_per_rack: 1,
            spines: 2,
            links_per_spine: 1,
            host_rate,
            uplink_rate,
            delay: Span::from_us(1),
        }
        .build(&mut topology, "");
        let mut network = network(topology, &deep());
        let outage = narrows_sim::Outage { from: at(Span::from_ms(5)), until: at(Span::from_ms(95)) };
        for tor in ["rack0/tor", "rack1/tor"] {
            let link = link(&network, tor, "spine0");
            network.failures.push(narrows_sim::Failure { link, outage, reroute_after });
        }
        let traffic =
            traffic(group(params(), crate::support::cubic()), vec![flow(0, 1, ENDLESS), flow(1, 0, ENDLESS)]);
        let outcome = Run::new(&network, &traffic).until(Span::from_ms(100)).run();
        outcome.flows.iter().map(|flow| flow.delivered.as_f64()).fold(f64::INFINITY, f64::min) / 94e6
    };
    // Of 100 ms, 10 ms pass before anyone could notice; 94 MB would pass at 10 Gb/s less headers and overhead.
    let rerouted = delivered(Span::from_us(100));
    assert!(rerouted > 0.9, "{rerouted}");
    let blind = delivered(Span::from_secs(1));
    assert!(blind < rerouted / 2.0, "{blind}");
}
