//! Same scenario, same seed, same bytes: whatever the threads, the windows, the kind of ports and the observers.

mod support;

use std::sync::Arc;

use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::switch::{Buffer, Dynamic, Marking, PortKind, Red, RedAction, Sharing, Step, SwitchConfig};
use narrows_sim::topology::{CrossDc, Fabric, FatTree, LeafSpine, NodeKind, Topology, Wan};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind, Pause, Traffic};
use narrows_sim::workload::{Pairs, Partner, Sizes, permutation, poisson};
use narrows_sim::{Execution, Failure, GroupId, HostId, Network, Outage, Outcome, Purpose, Routing, Stream};
use support::{Run, at, cubic, datagrams, dctcp, group, network, params, reno};

/// A network and traffic that use every mechanism at once: three controls, losses, marks, RED, link errors, a failure,
/// datagrams, clients, two data centers.
fn everything(routing: Routing, ports: PortKind) -> (Network, Traffic) {
    let gbps = BitRate::from_gbps;
    let fabric = Fabric::LeafSpine(LeafSpine {
        racks: 3,
        hosts_per_rack: 4,
        spines: 2,
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
        marking: Marking::Step(Step { k: Bytes::new(30_000) }),
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
        action: RedAction::Mark,
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
    let link = support::link(&network, "dc0/rack0/tor", "dc0/spine0");
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
    let mut flows =
        poisson(GroupId(0), 60_000.0, &sizes, &pairs(Partner::Same), time.clone(), &mut random(0));
    flows.extend(poisson(GroupId(1), 8_000.0, &sizes, &pairs(Partner::Other), time, &mut random(1)));
    flows.extend(permutation(GroupId(2), &hosts, Bytes::new(200_000), Time::ZERO, &mut random(2)));
    let until = at(Span::from_ms(3));
    let mut generators = Vec::new();
    for host in 0..4 {
        let client = flows.len();
        flows.extend((8..12).map(|to| FlowSpec {
            start: Time::NEVER,
            group: GroupId(0),
            ..support::flow(host, to, 0)
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
    flows.push(FlowSpec { start: Time::NEVER, group: GroupId(3), ..support::flow(6, 18, 0) });
    let (on, off) = (Pause::Exponential(Span::from_us(100)), Pause::Constant(Span::from_us(100)));
    generators.push(Generator {
        kind: GeneratorKind::OnOff { flow: source, on, off },
        start: Time::ZERO,
        until,
    });
    let mut bulk = group(params(), reno());
    bulk.name = "bulk".into();
    let groups =
        vec![group(params(), dctcp()), group(params(), cubic()), bulk, datagrams(BitRate::from_gbps(2))];
    Traffic { groups, flows, generators, ..Traffic::default() }
}

/// What a run left behind, to the byte.
fn trace<O>(outcome: &Outcome<O>) -> String {
    let Outcome { flows, datagrams, ports, no_route, packet_hops, ended, packets_left, .. } = outcome;
    format!("{flows:?}{datagrams:?}{ports:?}{no_route:?}{packet_hops}{ended}{packets_left}")
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
    assert!(outcome.flows.iter().any(|flow| flow.turn > 0));
    assert!(outcome.flows.iter().any(|flow| flow.stats.recoveries > 0));
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some()), "every flow ends when the network drains");
    assert!(outcome.datagrams[0].received > 0);
}

#[test]
fn two_runs_are_equal_and_another_seed_differs() {
    let (network, traffic) = everything(Routing::Ecmp, PortKind::Plain);
    let run = |seed| trace(&Run::new(&network, &traffic).seed(seed).run());
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for (routing, ports) in [
        (Routing::Ecmp, PortKind::Plain),
        (Routing::Spray, PortKind::Plain),
        (Routing::DModK, PortKind::Scheduled),
    ] {
        let (network, traffic) = everything(routing, ports);
        let run = |threads| trace(&Run::new(&network, &traffic).threads(threads).run());
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{routing:?} {ports:?} on {threads} threads");
        }
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
fn links_without_delay_only_shorten_the_windows() {
    let run = |threads| {
        let mut topology = Topology::default();
        FatTree { k: 4, rate: BitRate::from_gbps(10), delay: Span::ZERO }.build(&mut topology, "");
        let network = network(topology, &support::marking(30_000));
        let hosts: Vec<_> = (0..16).map(HostId).collect();
        let mut random = Stream::new(1, Purpose::Workload, 0);
        let flows = permutation(GroupId(0), &hosts, Bytes::new(300_000), Time::ZERO, &mut random);
        trace(&Run::new(&network, &support::traffic(group(params(), dctcp()), flows)).threads(threads).run())
    };
    assert_eq!(run(1), run(2));
}
