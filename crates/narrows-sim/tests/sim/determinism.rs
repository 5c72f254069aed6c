//! Same scenario, same seed, same bytes: whatever the threads, the windows, the kind of ports and the observers.

use std::sync::Arc;

use crate::support::{
    Run, at, bcn, cubic, datagrams, dctcp, group, network, params, qcn, reaction, reno, trace,
};
use narrows_proto::stream::{ReceiveOffload, Segmentation};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::mechanism::limiter::LimiterObserver;
use narrows_sim::observe::PortObserver;
use narrows_sim::switch::{
    self, Bcn, Buffer, CongestionPoint, Dynamic, MarkAt, Marking, PortKind, Qcn, Red, RedAction, Sampling,
    Sharing, Step, SwitchConfig,
};
use narrows_sim::topology::{CrossDc, Fabric, FatTree, LeafSpine, NodeKind, Topology, Wan, Wire};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind, Pause, Traffic, Transport};
use narrows_sim::workload::{Calls, DrawnCalls, Pairs, Partner, Sizes, permutation, poisson, rpcs};
use narrows_sim::{
    Execution, Failure, FlowRecord, GroupId, HostId, Hosts, Interrupts, LimiterScope, LinkId, Network,
    NodeId, Outage, PortCounters, Purpose, Reaction, ReactionPlace, RealHosts, Routing, SmallQueues,
    StartEvery, Stream,
};

/// A network and traffic that use every mechanism at once: three controls, losses, marks, RED, link errors, a failure,
/// datagrams, clients, remote procedure calls, two data centers.
pub(crate) fn everything(routing: Routing, ports: PortKind) -> (Network, Traffic) {
    let gbps = BitRate::from_gbps;
    let fabric = Fabric::LeafSpine(LeafSpine {
        racks: 3,
        hosts_per_rack: 4,
        spines: 2,
        links_per_spine: 1,
        host_rate: gbps(10),
        uplink_rate: gbps(25),
        delay: Span::from_us(1),
    });
    let wan = Wan {
        rate: gbps(10),
        delay: Span::from_us(200),
        error_rate: 2e-3,
        borders: 2,
        border_rate: None,
        border_delay: None,
    };
    let mut topology = Topology::default();
    CrossDc { datacenters: 2, fabric, fabrics: vec![], wan }.build(&mut topology, "");
    let shared = Buffer { size: Bytes::new(120_000), sharing: Sharing::Dynamic(Dynamic { alpha: 0.5 }) };
    let tor = SwitchConfig {
        marking: Marking::Step(Step { k: Bytes::new(30_000).into(), mark_at: MarkAt::Enqueue }),
        latency: Span::from_ns(450),
        ports,
        ..SwitchConfig::new(shared)
    };
    let red = Red {
        min: Bytes::new(10_000),
        max: Bytes::new(60_000),
        max_p: 0.1,
        weight: 0.05,
        gentle: true,
        spread: true,
        action: RedAction::Mark,
        mark_at: MarkAt::Enqueue,
        at: vec![],
    };
    let spine = SwitchConfig { marking: Marking::Red(red), ..tor.clone() };
    let mut network = network(topology, &tor);
    for (node, settings) in network.topology.nodes().iter().zip(&mut network.switches) {
        if matches!(&node.kind, NodeKind::Switch { class, .. } if class == "spine") {
            *settings = Some(spine.clone());
        }
    }
    network.routing = routing;
    let outage = Outage { from: at(Span::from_us(900)), until: at(Span::from_us(1700)) };
    let link = crate::support::link(&network, "dc0/rack0/tor", "dc0/spine0");
    network.failures.push(Failure { link, outage, reroute_after: Span::from_us(50) });
    (network, mixed_traffic())
}

fn mixed_traffic() -> Traffic {
    let hosts: Vec<_> = (0..24).map(HostId).collect();
    let dc = |host: HostId| host.0 / 12;
    let pairs = |partner| Pairs::new(hosts.clone(), &hosts, partner, 24, dc).expect("partners exist");
    let sizes = Sizes::from_points(&[(100.0, 0.0), (20_000.0, 0.6), (400_000.0, 1.0)]).expect("sizes");
    let time = Time::ZERO..at(Span::from_ms(2));
    let random = |index| Stream::new(5, Purpose::Workload, index);
    let mut flows: Vec<_> =
        poisson(GroupId(0), 60_000.0, &sizes, &pairs(Partner::Same), time.clone(), &mut random(0)).collect();
    flows.extend(poisson(GroupId(1), 8_000.0, &sizes, &pairs(Partner::Other), time, &mut random(1)));
    flows.extend(permutation(GroupId(2), &hosts, Bytes::new(200_000), Time::ZERO, &mut random(2)));
    let until = at(Span::from_ms(3));
    let mut generators = Vec::new();
    for host in 0..4 {
        let client = flows.len();
        flows.extend((8..12).map(|to| FlowSpec {
            start: Time::NEVER,
            group: GroupId(0),
            ..crate::support::flow(host, to, 0)
        }));
        let kind = GeneratorKind::ClosedLoop {
            parallel: 1,
            flows: (client..flows.len()).map(Into::into).collect(),
            sizes: Arc::new(sizes.clone()),
            think: Pause::Exponential(Span::from_us(30)),
        };
        generators.push(Generator { kind, start: at(Span::from_us(10)), until });
    }
    let source = flows.len().into();
    flows.push(FlowSpec { start: Time::NEVER, group: GroupId(3), ..crate::support::flow(6, 18, 0) });
    let (on, off) = (Pause::Exponential(Span::from_us(100)), Pause::Constant(Span::from_us(100)));
    generators.push(Generator {
        kind: GeneratorKind::OnOff { flow: source, on, off },
        start: Time::ZERO,
        until,
    });
    let calls = Calls {
        group: GroupId(1),
        per_second: 40_000.0,
        fan_out: 3,
        request: Bytes::new(2_000),
        responses: &sizes,
        time: Time::ZERO..at(Span::from_ms(2)),
        most: u64::MAX,
    };
    let client = |host: HostId| Stream::new(5, Purpose::Rpc, host.0.into());
    let DrawnCalls { flows: called, rpcs, .. } =
        rpcs(&calls, &pairs(Partner::Any), flows.len().into(), client);
    flows.extend(called);
    let mut bulk = group(params(), reno());
    bulk.name = "bulk".into();
    let groups =
        vec![group(params(), dctcp()), group(params(), cubic()), bulk, datagrams(BitRate::from_gbps(2))];
    let measured = at(Span::from_us(200))..at(Span::from_us(1100));
    Traffic {
        groups,
        flows,
        generators,
        measured,
        rpcs,
        dependents: Vec::new(),
        ranks: Vec::new(),
        sampled: Vec::new(),
    }
}

/// Both schemes of congestion points, with reaction points at hosts and at edge switches, few enough to be shared.
const SCHEMES: [(ReactionPlace, LimiterScope); 5] = [
    (ReactionPlace::Host, LimiterScope::Flow),
    (ReactionPlace::Host, LimiterScope::Port),
    (ReactionPlace::EdgeSwitch, LimiterScope::Flow),
    (ReactionPlace::EdgeSwitch, LimiterScope::Pair),
    (ReactionPlace::EdgeSwitch, LimiterScope::Rack),
];

/// A network and traffic that use all that signals backwards: QCN (with reaction points for flows and racks) or BCN (for others),
/// PAUSE, limiters, clients with parallel transfers, saturating datagrams, link errors, a failure.
fn signals(place: ReactionPlace, per: LimiterScope) -> (Network, Traffic) {
    let gbps = BitRate::from_gbps;
    let mut topology = Topology::default();
    let spines: Vec<_> =
        (0..2).map(|spine| topology.add_switch(format!("spine{spine}"), "spine", 1)).collect();
    for tor in 0..3 {
        let switch = topology.add_switch(format!("tor{tor}"), "tor", 0);
        for host in 0..4 {
            let host = topology.add_host(format!("tor{tor}/host{host}"));
            topology.connect(host, switch, Wire::new(gbps(10), Span::from_us(1)));
        }
        for spine in &spines {
            let wire = Wire { error_rate: 1e-4, ..Wire::new(gbps(10), Span::from_us(2)) };
            topology.connect(switch, *spine, wire);
        }
    }
    let (rule, congestion_point) = match per {
        LimiterScope::Flow | LimiterScope::Rack => (qcn(), CongestionPoint::Qcn(Qcn::default())),
        _ => {
            let severe = Some(Bytes::new(60_000));
            let sampling = Sampling::Random(0.1);
            (bcn(), CongestionPoint::Bcn(Bcn { severe, sampling, ..Bcn::default() }))
        }
    };
    let pause = switch::Pause { xoff: Bytes::new(30_000), xon: None, quanta: 2_000, frame: Bytes::new(84) };
    let switch = SwitchConfig {
        pause: Some(pause),
        latency: Span::from_ns(450),
        ..crate::support::signaling(400_000, congestion_point)
    };
    let mut network = network(topology, &switch);
    network.reaction = Some(Reaction { place, per, limiters: 3, ..reaction(rule) });
    let outage = Outage { from: at(Span::from_us(900)), until: at(Span::from_us(1300)) };
    let link = crate::support::link(&network, "tor0", "spine0");
    network.failures.push(Failure { link, outage, reroute_after: Span::from_us(50) });
    (network, signalled_traffic())
}

fn signalled_traffic() -> Traffic {
    let hosts: Vec<_> = (0..12).map(HostId).collect();
    let mut random = Stream::new(5, Purpose::Workload, 0);
    let mut flows = permutation(GroupId(1), &hosts, Bytes::new(1_000_000), Time::ZERO, &mut random);
    let (until, sizes) = (at(Span::from_ms(3)), Sizes::from_points(&[(100.0, 0.0), (60_000.0, 1.0)]));
    let sizes = Arc::new(sizes.expect("sizes"));
    let mut generators = Vec::new();
    let idle = |group, from, to| FlowSpec {
        start: Time::NEVER,
        group: GroupId(group),
        ..crate::support::flow(from, to, 0)
    };
    for host in 0..4 {
        let client = flows.len();
        flows.extend((8..12).flat_map(|to| [idle(0, host, to); 3]));
        let kind = GeneratorKind::ClosedLoop {
            parallel: 3,
            flows: (client..flows.len()).map(Into::into).collect(),
            sizes: Arc::clone(&sizes),
            think: Pause::Exponential(Span::from_us(30)),
        };
        generators.push(Generator { kind, start: at(Span::from_us(10)), until });
    }
    for (from, to) in [(0, 5), (4, 8), (9, 1), (10, 1)] {
        let (flow, on) = (flows.len().into(), Pause::Exponential(Span::from_us(300)));
        flows.push(idle(2, from, to));
        let off = Pause::Constant(Span::from_us(100));
        generators.push(Generator { kind: GeneratorKind::OnOff { flow, on, off }, start: Time::ZERO, until });
    }
    let mut urgent = group(params(), dctcp());
    urgent.priority = 3;
    let groups = vec![urgent, group(params(), cubic()), datagrams(BitRate::from_gbps(8))];
    let measured = at(Span::from_us(200))..at(Span::from_us(1100));
    Traffic {
        groups,
        flows,
        generators,
        measured,
        rpcs: vec![],
        dependents: vec![],
        ranks: vec![],
        sampled: vec![],
    }
}

#[test]
fn the_scenario_uses_every_mechanism() {
    let (network, traffic) = everything(Routing::Ecmp, PortKind::Plain);
    let outcome = Run::new(&network, &traffic).run();
    use narrows_sim::DropCause::*;
    for cause in [QueueLimit, Red, LinkError, LinkDown] {
        assert!(outcome.drops(cause) > 0, "{cause:?}");
    }
    assert!(outcome.ports.iter().map(|port| port.marks).sum::<u64>() > 0);
    assert!(outcome.flows.iter().any(|flow| flow.incarnation > 0));
    assert!(outcome.flows.iter().any(|flow| flow.stats.recoveries > 0));
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some()), "every flow ends when the network drains");
    assert!(outcome.datagrams[0].received > 0);
    assert!(traffic.rpcs.len() > 50, "80 expected, standard deviation 9");
    for (_, response) in traffic.rpcs.iter().flat_map(|rpc| rpc.calls()) {
        assert!(outcome.flows.iter().any(|flow| flow.flow == response));
    }
}

#[test]
fn two_runs_are_equal_and_another_seed_differs() {
    let (network, traffic) = everything(Routing::Ecmp, PortKind::Plain);
    let run = |seed| trace(&Run::new(&network, &traffic).seed(seed).run());
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Hosts with a queue in front of their network card.
fn queued() -> Hosts {
    let small_queues = Some(SmallQueues::default());
    Hosts::Real(RealHosts { small_queues, ..RealHosts::default() })
}

/// The same traffic between hosts with offloads.
fn offloaded(mut traffic: Traffic) -> Traffic {
    for group in &mut traffic.groups {
        if let Transport::Stream { params, .. } = &mut group.transport {
            params.segmentation = Some(Segmentation::default());
            params.receive_offload = Some(ReceiveOffload::default());
        }
    }
    traffic
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let interrupts = Some(Interrupts { after: Span::from_us(10), frames: Some(16) });
    let software_delay = Span::from_us(3);
    let start_jitter = Some(Span::from_us(7));
    let start_every = StartEvery::OneOf([1, 3].map(Span::from_us).to_vec());
    let real = || {
        let start_every = Some(start_every.clone());
        let real =
            RealHosts { interrupts, software_delay, start_jitter, start_every, ..RealHosts::default() };
        Hosts::Real(real)
    };
    for (routing, ports, hosts) in [
        (Routing::Ecmp, PortKind::Plain, Hosts::Ideal),
        (Routing::Ecmp, PortKind::Plain, real()),
        (Routing::Ecmp, PortKind::Plain, queued()),
        (Routing::Spray, PortKind::Plain, Hosts::Ideal),
        (Routing::DModK, PortKind::Scheduled, real()),
    ] {
        let (network, traffic) = everything(routing.clone(), ports);
        let bursts = hosts != Hosts::Ideal;
        let network = Network { hosts, ..network };
        let traffic = if bursts { offloaded(traffic) } else { traffic };
        let run = |threads| trace(&Run::new(&network, &traffic).threads(threads).run());
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{routing:?} {ports:?} on {threads} threads");
        }
    }
}

#[test]
fn kept_connections_give_the_same_bytes_at_any_number_of_threads_and_length_of_windows() {
    let signaling = signals(ReactionPlace::Host, LimiterScope::Port);
    for (network, mut traffic) in [everything(Routing::Ecmp, PortKind::Plain), signaling] {
        for group in &mut traffic.groups {
            if let Transport::Stream { params, .. } = &mut group.transport {
                (params.handshake, params.keep_connections) = (true, true);
            }
        }
        let run = |threads, window_divisor| {
            let execution = Execution { window_divisor, threads };
            Run { execution, ..Run::new(&network, &traffic) }.until(Span::from_ms(4)).run()
        };
        let one = run(1, 1);
        assert!(one.flows.iter().filter(|flow| flow.again).count() > 20);
        for (threads, divisor) in [(2, 1), (3, 1), (1, 5)] {
            assert!(trace(&run(threads, divisor)) == trace(&one), "{threads} threads, windows / {divisor}");
        }
        let drained = Run::new(&network, &traffic).run();
        assert!(drained.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == flow.size));
    }
}

#[test]
fn the_length_of_windows_does_not_matter() {
    let (network, traffic) = everything(Routing::Ecmp, PortKind::Plain);
    let run = |window_divisor| {
        let execution = Execution { window_divisor, threads: 1 };
        trace(&Run { execution, ..Run::new(&network, &traffic) }.until(Span::from_ms(2)).run())
    };
    // The run ends with the last window, so it is stopped at a time of its own.
    let whole = run(1);
    assert!(run(2) == whole && run(17) == whole);
}

#[test]
fn plain_and_scheduled_ports_give_the_same_bytes() {
    let run = |ports| {
        let (network, traffic) = everything(Routing::Ecmp, ports);
        // Stopped in the middle, with packets waiting everywhere.
        let run = Run::new(&network, &traffic).until(Span::from_us(1100));
        (trace(&run.run()), format!("{:?}", run.ports(Span::from_us(20))))
    };
    let (plain, scheduled) = (run(PortKind::Plain), run(PortKind::Scheduled));
    assert!(plain.0 == scheduled.0, "flows and counters");
    assert!(plain.1 == scheduled.1, "what the ports did over time");
}

#[test]
fn observers_change_nothing_and_see_the_same_at_any_number_of_threads() {
    let (network, traffic) = everything(Routing::Ecmp, PortKind::Plain);
    let run = || Run::new(&network, &traffic);
    let ports = |threads| run().threads(threads).ports(Span::from_us(50));
    let windows = |threads| run().threads(threads).windows(Span::from_us(50));
    assert_eq!(ports(1), ports(3));
    assert_eq!(windows(1), windows(3));
    let observed = run().observed(|| narrows_sim::observe::WindowObserver::new(Span::from_us(50), 1000, &[]));
    assert_eq!(trace(&observed), trace(&run().run()));
    // What the observer adds up to is what the counters say.
    let counted: u64 = run().run().ports.iter().map(|port| port.bytes).sum();
    assert_eq!(ports(1).iter().map(|row| row.bytes).sum::<u64>(), counted);
}

#[test]
fn ports_count_as_measured_what_an_observer_sees_begin_in_the_measured_time() {
    let us = |us| at(Span::from_us(us));
    for ports in [PortKind::Plain, PortKind::Scheduled] {
        let (network, mut traffic) = everything(Routing::Ecmp, ports);
        for (measured, threads) in [(us(200)..us(1100), 1), (us(200)..us(1100), 3), (us(700)..us(9000), 1)] {
            traffic.measured = measured.clone();
            // Stopped in the middle, with packets waiting everywhere.
            let run = Run::new(&network, &traffic).threads(threads).until(Span::from_us(1500));
            let counted: Vec<_> = run.run().ports.iter().map(|port| port.measured_bytes).collect();
            let mut seen = vec![0; counted.len()];
            for row in run.ports(Span::from_us(100)).iter().filter(|row| measured.contains(&row.start)) {
                seen[row.link.index()] += row.bytes;
            }
            assert!(seen.iter().any(|bytes| *bytes > 0));
            assert_eq!(counted, seen, "{ports:?}, {threads} threads, {measured:?}");
        }
    }
}

#[test]
fn links_without_delay_only_shorten_the_windows() {
    let run = |threads| {
        let mut topology = Topology::default();
        FatTree { k: 4, rate: BitRate::from_gbps(10), delay: Span::ZERO }.build(&mut topology, "");
        let network = network(topology, &crate::support::marking(30_000));
        let hosts: Vec<_> = (0..16).map(HostId).collect();
        let mut random = Stream::new(1, Purpose::Workload, 0);
        let flows = permutation(GroupId(0), &hosts, Bytes::new(300_000), Time::ZERO, &mut random);
        trace(
            &Run::new(&network, &crate::support::traffic(group(params(), dctcp()), flows))
                .threads(threads)
                .run(),
        )
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn the_signaling_scenarios_use_every_mechanism() {
    use narrows_sim::DropCause::{Limiter, LinkDown, LinkError};
    for (place, per) in SCHEMES {
        let (network, traffic) = signals(place, per);
        let outcome = Run::new(&network, &traffic).run();
        let sum = |count: fn(&PortCounters) -> u64| outcome.ports.iter().map(count).sum::<u64>();
        let is_bcn = !matches!(per, LimiterScope::Flow | LimiterScope::Rack);
        let what = format!("{place:?} {per:?} {:?}", outcome.mechanisms.limiter);
        assert!(sum(|port| port.slower) > 0 && sum(|port| port.pauses) > 0, "{what}");
        assert_eq!(sum(|port| port.stops) > 0, is_bcn, "{what}");
        assert_eq!(sum(|port| port.faster) > 0, is_bcn, "{what}");
        assert!(
            outcome.mechanisms.limiter.limiters > 3 && outcome.mechanisms.limiter.limited > 1000,
            "{what}"
        );
        assert!(outcome.mechanisms.limiter.received > 0, "{what}");
        assert!(outcome.drops(LinkError) > 0 && outcome.drops(LinkDown) > 0, "{what}");
        assert_eq!(outcome.drops(Limiter) > 0, place == ReactionPlace::EdgeSwitch, "{what}");
        assert!(outcome.flows.iter().all(|flow| flow.end.is_some()), "{what}");
        // A client starts three transfers at once, and the next three when all have ended.
        let second = |flow: &&FlowRecord| flow.incarnation == 1;
        assert!(outcome.flows.iter().filter(second).count() >= 3, "{what}");
        assert_eq!(outcome.datagrams.iter().filter(|source| source.received > 0).count(), 4, "{what}");
    }
}

#[test]
fn signals_are_the_same_at_any_number_of_threads() {
    for (place, per) in SCHEMES {
        let (network, traffic) = signals(place, per);
        let hosts = if per == LimiterScope::Port { Hosts::Ideal } else { queued() };
        let network = Network { hosts, ..network };
        // Not until the last flow has ended: one may wait a second to repeat its first packet.
        let run = Run::new(&network, &traffic).until(Span::from_ms(2));
        let trace = |threads| trace(&run.threads(threads).run());
        let one = trace(1);
        for threads in [2, 3, 8] {
            assert!(trace(threads) == one, "{place:?} {per:?} on {threads} threads");
        }
    }
}

#[test]
fn signals_are_the_same_at_any_length_of_windows() {
    for (place, per) in SCHEMES {
        let (network, traffic) = signals(place, per);
        let run = |window_divisor, threads| {
            let execution = Execution { window_divisor, threads };
            trace(&Run { execution, ..Run::new(&network, &traffic) }.until(Span::from_ms(2)).run())
        };
        let whole = run(1, 1);
        for (divisor, threads) in [(2, 1), (7, 1), (3, 2)] {
            assert!(run(divisor, threads) == whole, "{place:?} {per:?}: windows divided by {divisor}");
        }
    }
}

#[test]
fn observers_see_the_same_signals_at_any_number_of_threads_and_change_none() {
    for (place, per) in SCHEMES {
        let (network, traffic) = signals(place, per);
        let (links, nodes) = (network.topology.links().len(), network.topology.nodes().len());
        let all_links: Vec<_> = (0..links).map(LinkId::from).collect();
        let all_nodes: Vec<_> = (0..nodes).map(NodeId::from).collect();
        let interval = Span::from_us(20);
        let observer = || {
            let limiters = LimiterObserver::new(interval, nodes, &all_nodes);
            (PortObserver::new(interval, links, &all_links), limiters)
        };
        let run = Run::new(&network, &traffic).until(Span::from_ms(2));
        let mut unobserved = Vec::new();
        let observed = [1, 3].map(|threads| {
            let outcome = run.threads(threads).observed(observer);
            unobserved.push(trace(&outcome));
            let (ports, limiters): (Vec<_>, Vec<_>) = outcome.observers.into_iter().unzip();
            (PortObserver::finish(ports, outcome.ended), LimiterObserver::finish(limiters))
        });
        assert!(observed[0] == observed[1], "{place:?} {per:?}");
        assert!(unobserved.iter().all(|trace| *trace == self::trace(&run.run())), "{place:?} {per:?}");
        let (ports, limiters) = &observed[0];
        let messages: u64 = run.run().ports.iter().map(PortCounters::messages).sum();
        assert_eq!(ports.iter().map(|row| row.messages).sum::<u64>(), messages);
        assert!(ports.iter().any(|row| row.paused > Span::ZERO) && !limiters.is_empty());
    }
}
