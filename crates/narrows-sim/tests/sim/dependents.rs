//! Flows that wait for others.
use std::ops::ControlFlow;

use crate::support::{at, deep, group, network, params, unlimited};
use narrows_proto::rdma;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::topology::{LeafSpine, Topology};
use narrows_sim::traffic::{Dependent, FlowSpec, Milestone, Traffic};
use narrows_sim::{
    Execution, Failure, FlowId, GroupId, HostId, LinkId, Network, Outage, Outcome, Simulation, Stop,
};

const DELAY: Span = Span::from_us(1);

/// Two racks of two hosts.
fn two_racks() -> Network {
    let mut topology = Topology::default();
    let (host_rate, uplink_rate) = (BitRate::from_gbps(10), BitRate::from_gbps(40));
    let fabric = LeafSpine {
        racks: 2,
        hosts_per_rack: 2,
        spines: 2,
        links_per_spine: 1,
        host_rate,
        uplink_rate,
        delay: DELAY,
    };
    fabric.build(&mut topology, "");
    network(topology, &deep())
}

fn flow(from: u32, to: u32, start: Time) -> FlowSpec {
    let (from, to) = (HostId(from), HostId(to));
    FlowSpec { from, to, group: GroupId(0), start, size: Bytes::new(20_000) }
}

/// Flow `flow` waits until flows `after` have been received.
fn after(flow: u32, after: &[u32], needs: u32) -> Dependent {
    let after = after.iter().map(|flow| (FlowId(*flow), Milestone::Received)).collect();
    Dependent { flow: FlowId(flow), after, needs, delay: Span::ZERO, until: Time::NEVER }
}

fn traffic(flows: Vec<FlowSpec>, dependents: Vec<Dependent>) -> Traffic {
    Traffic { groups: vec![group(params(), unlimited())], flows, dependents, ..Traffic::default() }
}

fn run_with(network: &Network, traffic: &Traffic, execution: Execution) -> Outcome<()> {
    let simulation = Simulation::new(network, traffic, 1, execution, || ());
    simulation.run(Stop { at: at(Span::from_ms(50)), when_drained: true }, |_| ControlFlow::Continue(()))
}

fn run(traffic: &Traffic) -> Outcome<()> {
    run_with(&two_racks(), traffic, Execution::default())
}

/// When a flow started, and when it ended.
fn times(outcome: &Outcome<()>, flow: u32) -> Option<(Time, Time)> {
    let record = outcome.flows.iter().find(|record| record.flow == FlowId(flow))?;
    Some((record.start, record.end.expect("complete")))
}

/// Each host passes on to the next what it received from the one before, so often round.
fn ring(steps: u32) -> Traffic {
    let mut flows = Vec::new();
    let mut dependents = Vec::new();
    for step in 0..steps {
        for host in 0..4 {
            let start = if step == 0 { Time::ZERO } else { Time::NEVER };
            flows.push(flow(host, (host + 1) % 4, start));
            if step > 0 {
                dependents.push(after(step * 4 + host, &[(step - 1) * 4 + (host + 3) % 4], 1));
            }
        }
    }
    traffic(flows, dependents)
}

#[test]
fn in_a_ring_each_step_starts_at_the_moment_the_one_before_was_received() {
    let outcome = run(&ring(6));
    assert_eq!(outcome.flows.len(), 24);
    for step in 1..6 {
        for host in 0..4 {
            let (start, _) = times(&outcome, step * 4 + host).expect("started");
            let (_, before) = times(&outcome, (step - 1) * 4 + (host + 3) % 4).expect("started");
            assert_eq!(start, before);
        }
    }
}

#[test]
fn threads_and_windows_do_not_change_a_run_with_dependent_flows() {
    let mut traffic = ring(6);
    // Barriers over all hosts, so that news crosses threads, with ties.
    for host in 0..4 {
        let number = traffic.flows.len() as u32;
        traffic.flows.push(flow(host, (host + 2) % 4, Time::NEVER));
        traffic.dependents.push(after(number, &[20, 21, 22, 23], 4));
    }
    let network = two_racks();
    // A run that drains ends with a window; this one ends at a moment.
    let run = |execution| {
        let stop = Stop { at: at(Span::from_ms(1)), when_drained: false };
        Simulation::new(&network, &traffic, 1, execution, || ()).run(stop, |_| ControlFlow::Continue(()))
    };
    let serial = run(Execution::default());
    assert_eq!(serial.flows.iter().filter(|flow| flow.end.is_some()).count(), 28);
    for threads in 1..=4 {
        for window_divisor in [1, 3] {
            let other = run(Execution { threads, window_divisor });
            assert_eq!(other.fingerprint(), serial.fingerprint(), "{threads} threads, 1/{window_divisor}");
        }
    }
}

#[test]
fn news_takes_the_time_of_the_smallest_packet_over_the_empty_network() {
    // Flow 1 starts at host 2, in the other rack, when host 1 has received flow 0.
    let outcome =
        run(&traffic(vec![flow(0, 1, Time::ZERO), flow(2, 3, Time::NEVER)], vec![after(1, &[0], 1)]));
    let (_, received) = times(&outcome, 0).expect("started");
    let (start, _) = times(&outcome, 1).expect("started");
    let size = params().packet_size(Bytes::ZERO);
    let sending = |gbps| BitRate::from_gbps(gbps).time_to_send(size);
    let expected = DELAY * 4 + sending(10) * 2 + sending(40) * 2;
    let found = start - received;
    assert!(found >= expected && found <= expected + Span::from_ps(4), "{found}, expected {expected}");
}

#[test]
fn a_barrier_waits_for_the_last_and_some_of_several_for_as_many() {
    let flows = vec![
        flow(0, 3, Time::ZERO),
        flow(1, 3, at(Span::from_us(200))),
        flow(2, 3, at(Span::from_us(400))),
        flow(3, 0, Time::NEVER),
        flow(3, 1, Time::NEVER),
        flow(3, 2, Time::NEVER),
    ];
    let dependents = (1..=3).map(|needs| after(2 + needs, &[0, 1, 2], needs)).collect();
    let outcome = run(&traffic(flows, dependents));
    for number in 0..3 {
        let (_, received) = times(&outcome, number).expect("started");
        let (start, _) = times(&outcome, 3 + number).expect("started");
        assert_eq!(start, received);
    }
}

#[test]
fn sent_is_when_the_sender_knows_and_a_delay_comes_on_top() {
    let wait = |milestone, delay| {
        let after = vec![(FlowId(0), milestone)];
        let dependent = Dependent { flow: FlowId(1), after, needs: 1, delay, until: Time::NEVER };
        let outcome = run(&traffic(vec![flow(0, 2, Time::ZERO), flow(0, 1, Time::NEVER)], vec![dependent]));
        times(&outcome, 1).expect("started").0 - times(&outcome, 0).expect("started").1
    };
    // Back over four links.
    let sent = wait(Milestone::Sent, Span::ZERO);
    assert!(sent > DELAY * 4 && sent < DELAY * 6, "{sent}");
    assert_eq!(wait(Milestone::Sent, Span::from_us(7)), sent + Span::from_us(7));
}

#[test]
fn who_waits_for_a_flow_that_never_ends_never_starts() {
    let mut network = two_racks();
    // The link of host 1 fails before anything arrives.
    let link = network.topology.ports()[network.topology.hosts()[1].index()][0];
    network.failures.push(Failure {
        link: LinkId::from(link.index()),
        outage: Outage { from: Time::ZERO, until: Time::NEVER },
        reroute_after: Span::MAX,
    });
    let flows = vec![
        flow(0, 1, Time::ZERO),
        flow(1, 0, Time::NEVER),
        flow(2, 3, Time::NEVER),
        flow(2, 3, Time::ZERO),
    ];
    let traffic = traffic(flows, vec![after(1, &[0], 1), after(2, &[0, 3], 2)]);
    let outcome = run_with(&network, &traffic, Execution::default());
    let started: Vec<_> = outcome.flows.iter().map(|record| record.flow.0).collect();
    assert_eq!(started, [0, 3]);
    assert_eq!(outcome.ended, at(Span::from_ms(50)));
}

#[test]
fn a_run_that_drains_does_not_wait_for_those_that_come_too_late() {
    let until = at(Span::from_us(10));
    let dependent = Dependent { until, ..after(1, &[0], 1) };
    let again = Dependent { until, ..after(2, &[1], 1) };
    let flows = vec![flow(0, 1, Time::ZERO), flow(1, 0, Time::NEVER), flow(0, 1, Time::NEVER)];
    let outcome = run(&traffic(flows, vec![dependent, again]));
    assert_eq!(outcome.flows.len(), 1);
    assert!(outcome.ended < at(Span::from_ms(1)), "{}", outcome.ended);
}

#[test]
fn flows_over_rdma_wait_as_well() {
    let mut traffic = ring(3);
    traffic.groups = vec![crate::support::rdma(rdma::Params::default(), crate::support::dcqcn())];
    assert_eq!(run(&traffic).flows.len(), 12);
}
