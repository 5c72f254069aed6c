//! Threads that meet seldom: networks with links of very different lengths leave the same bytes on any number of threads, however they
//! end and however they are cut.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::{Run, at, cubic, dctcp, flow, group, network, params, shallow, trace};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::switch::{MarkAt, Marking, Step, SwitchConfig};
use narrows_sim::topology::{CrossDc, Fabric, Star, Topology, Wan, Wire};
use narrows_sim::traffic::{Dependent, FlowSpec, Generator, GeneratorKind, Milestone, Pause, Rpc, Traffic};
use narrows_sim::workload::Sizes;
use narrows_sim::{Execution, External, FlowId, GroupId, Network, Session, Stop};
use proptest::prelude::*;

const DELAYS: [Span; 5] =
    [Span::ZERO, Span::from_us(1), Span::from_us(3), Span::from_us(40), Span::from_us(700)];

/// A switch: its hosts, the switch before it that it is joined with, and how far away that is.
type Branch = (usize, usize, usize);

/// A tree of switches with some links more.
fn tree(branches: &[Branch], more: &[(usize, usize, usize)]) -> Network {
    let mut topology = Topology::default();
    let rate = BitRate::from_gbps(10);
    let switches: Vec<_> = (0..branches.len())
        .map(|number| topology.add_switch(format!("switch{number}"), "switch", 0))
        .collect();
    for (number, &(hosts, before, delay)) in branches.iter().enumerate() {
        for host in 0..hosts {
            let host = topology.add_host(format!("host{number}-{host}"));
            topology.connect(host, switches[number], Wire::new(rate, Span::from_us(1)));
        }
        if number > 0 {
            topology.connect(switches[before % number], switches[number], Wire::new(rate, DELAYS[delay]));
        }
    }
    for &(a, b, delay) in more {
        let (a, b) = (a % branches.len(), b % branches.len());
        if a != b {
            topology.connect(switches[a], switches[b], Wire::new(rate, DELAYS[delay]));
        }
    }
    let marking = Marking::Step(Step { k: Bytes::new(20_000).into(), mark_at: MarkAt::Enqueue });
    network(topology, &SwitchConfig { marking, ..shallow(40_000) })
}

/// A flow: source, destination, size, start in microseconds; and of what number before it, if of any, it waits for the end.
type Sketch = (u32, u32, u64, u64, Option<usize>);

fn traffic(network: &Network, sketches: &[Sketch], client: bool) -> Traffic {
    let hosts = network.topology.hosts().len() as u32;
    let mut flows = Vec::new();
    let mut dependents = Vec::new();
    for (number, &(from, to, size, start, after)) in sketches.iter().enumerate() {
        let (from, to) = (from % hosts, to % hosts);
        let to = if from == to { (to + 1) % hosts } else { to };
        let group = GroupId(number as u32 % 2);
        let after = after.filter(|_| number > 0).map(|after| FlowId::from(after % number));
        let start = if after.is_some() { Time::NEVER } else { at(Span::from_us(start)) };
        flows.push(FlowSpec { start, group, ..flow(from, to, size) });
        if let Some(after) = after {
            let milestone = if size % 2 == 0 { Milestone::Sent } else { Milestone::Received };
            let (flow, delay) = (FlowId::from(number), Span::from_ns(size % 7 * 100));
            dependents.push(Dependent {
                flow,
                after: vec![(after, milestone)],
                needs: 1,
                delay,
                until: Time::NEVER,
            });
        }
    }
    let mut generators = Vec::new();
    let mut rpcs = Vec::new();
    if client {
        let first = FlowId::from(flows.len());
        flows.push(FlowSpec { start: at(Span::from_us(5)), ..flow(0, hosts - 1, 2_000) });
        flows.push(FlowSpec { start: Time::NEVER, ..flow(hosts - 1, 0, 30_000) });
        rpcs.push(Rpc { first, fan_out: 1 });
        let flow = FlowId::from(flows.len());
        flows.push(FlowSpec { start: Time::NEVER, ..self::flow(hosts - 1, 0, 0) });
        let sizes = Sizes::from_points(&[(100.0, 0.0), (20_000.0, 1.0)]).expect("sizes");
        let kind = GeneratorKind::ClosedLoop {
            parallel: 1,
            flows: vec![flow],
            sizes: Arc::new(sizes),
            think: Pause::Exponential(Span::from_us(30)),
        };
        generators.push(Generator { kind, start: at(Span::from_us(10)), until: at(Span::from_us(300)) });
    }
    let groups = vec![group(params(), dctcp()), group(params(), cubic())];
    let measured = at(Span::from_us(100))..at(Span::from_us(250 + sketches[0].2 % 1000));
    Traffic { groups, flows, generators, dependents, rpcs, measured, ..Traffic::default() }
}

fn session(run: &Run<'_>) -> Session<()> {
    Session::new(run.network, run.traffic, run.seed, run.execution, &External::default(), || ())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn threads_that_are_far_apart_leave_the_same_bytes(
        branches in prop::collection::vec((1..3_usize, any::<usize>(), 0..DELAYS.len()), 2..6),
        more in prop::collection::vec((any::<usize>(), any::<usize>(), 0..DELAYS.len()), 0..3),
        sketches in prop::collection::vec((any::<u32>(), any::<u32>(), 1..60_000_u64, 0..500_u64, any::<Option<usize>>()), 1..12),
        client: bool,
        end in prop::option::of(0..2_000_u64),
        threads in 2..6_usize,
        window_divisor in 1..3_u64,
        cuts in prop::collection::vec(0..2_000_000_000_u64, 0..6),
        every in 1..40_u64,
    ) {
        let network = tree(&branches, &more);
        let traffic = traffic(&network, &sketches, client);
        let one = Run { execution: Execution { window_divisor, threads: 1 }, ..Run::new(&network, &traffic) };
        let one = end.map_or(one, |end| one.until(Span::from_us(end)));
        let whole = trace(&one.run());
        let several = one.threads(threads);
        prop_assert!(trace(&several.run()) == whole, "on {} threads", threads);
        // Interrupted again and again.
        let mut interrupted = session(&several);
        let mut left = 0;
        let mut slice = |_| {
            left += 1;
            if left % every == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        while !interrupted.run(several.stop, &mut slice) {}
        prop_assert!(trace(&interrupted.finish()) == whole, "interrupted on {} threads", threads);
        if let Some(end) = end {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let end = at(Span::from_us(end));
            let mut stepwise = session(&several);
            cuts.into_iter().map(Time::from_ps).filter(|cut| *cut < end).for_each(|cut| stepwise.advance_until(cut));
            stepwise.advance_until(end);
            prop_assert!(trace(&stepwise.finish()) == whole, "in steps on {} threads", threads);
        }
    }
}

/// Two data centers with 1 ms between them.
fn two_data_centers() -> Network {
    let mut topology = Topology::default();
    let (rate, delay) = (BitRate::from_gbps(10), Span::from_us(1));
    let wan = Wan {
        rate,
        delay: Span::from_ms(1),
        error_rate: 0.0,
        borders: 1,
        border_rate: None,
        border_delay: None,
    };
    let fabric = Fabric::Star(Star { hosts: 3, rate, delay });
    CrossDc { datacenters: 2, fabric, fabrics: Vec::new(), wan }.build(&mut topology, "");
    network(topology, &shallow(60_000))
}

#[test]
fn a_run_ends_with_its_last_flow_whichever_thread_that_is_on() {
    let network = two_data_centers();
    // The last flow in one place, in the other, across both ways, and none at all.
    let cases = [
        vec![flow(0, 1, 2_000_000), flow(3, 4, 20_000)],
        vec![flow(0, 1, 20_000), flow(3, 4, 2_000_000)],
        vec![flow(0, 3, 200_000)],
        vec![flow(4, 1, 200_000), flow(0, 1, 2_000_000)],
        vec![],
    ];
    for flows in cases {
        let traffic = crate::support::traffic(group(params(), dctcp()), flows);
        let run = Run::new(&network, &traffic);
        let one = run.run();
        assert!(one.flows.iter().all(|flow| flow.end.is_some()));
        for threads in [2, 3] {
            assert!(trace(&run.threads(threads).run()) == trace(&one), "{:?}", traffic.flows);
        }
        // A run that goes on when it is over stays where it is.
        let mut again = session(&run.threads(2));
        let stop = Stop { at: at(Span::from_secs(9)), when_drained: true };
        for _ in 0..2 {
            assert!(again.run(stop, &mut |_| ControlFlow::Continue(())));
        }
        assert_eq!(again.finish().ended, one.ended);
    }
}
