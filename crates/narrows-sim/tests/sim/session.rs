//! A run in steps goes as the whole run does, and what comes from outside as if it had always been there.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::{Run, at, cubic, datagrams, dctcp, flow, group, network, params, trace};
use narrows_proto::cc;
use narrows_proto::stream::{Endpoint, Poll, Receiver, Segment, Sender};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::{PacketKind, PortObserver};
use narrows_sim::switch::{PortKind, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Star, Topology};
use narrows_sim::traffic::{
    Dependent, FlowSpec, Generator, GeneratorKind, Group, Milestone, Pause, Traffic, Transport,
};
use narrows_sim::workload::{Pairs, Partner, Sizes, poisson};
use narrows_sim::{
    Codepoint, Delivered, Delivery, Execution, External, FlowId, GroupId, HostId, Hosts, Injected, LinkId,
    Network, Processing, Purpose, RealHosts, Routing, Session, Stop, Stream,
};
use proptest::prelude::*;

const END: Span = Span::from_us(800);

/// Two racks that drop, mark and lose packets, with clients of their own; and flows in order of time.
fn busy(ports: PortKind) -> (Network, Traffic, Vec<FlowSpec>) {
    let fabric = LeafSpine {
        racks: 2,
        hosts_per_rack: 3,
        spines: 2,
        links_per_spine: 1,
        host_rate: BitRate::from_gbps(10),
        uplink_rate: BitRate::from_gbps(10),
        delay: Span::from_us(1),
    };
    let mut topology = Topology::default();
    fabric.build(&mut topology, "");
    let switch = SwitchConfig { ports, latency: Span::from_ns(450), ..crate::support::shallow(60_000) };
    let marking = crate::support::marking(20_000).marking;
    let network =
        Network { routing: Routing::Spray, ..network(topology, &SwitchConfig { marking, ..switch }) };
    let hosts: Vec<_> = (0..6).map(HostId).collect();
    let pairs = Pairs::new(hosts.clone(), &hosts, Partner::Any, 6, |_| 0).expect("partners exist");
    let sizes = Sizes::from_points(&[(100.0, 0.0), (20_000.0, 0.8), (200_000.0, 1.0)]).expect("sizes");
    let mut random = Stream::new(5, Purpose::Workload, 0);
    let time = Time::ZERO..at(Span::from_us(600));
    let mut flows: Vec<_> = poisson(GroupId(0), 300_000.0, &sizes, &pairs, time, &mut random).collect();
    // Some at the same time, at the same host.
    flows.extend((0..6).map(|_| FlowSpec { start: at(Span::from_us(300)), ..flow(0, 4, 30_000) }));
    flows.sort_by_key(|flow| flow.start);
    let idle = |from, to| FlowSpec { start: Time::NEVER, group: GroupId(1), ..flow(from, to, 0) };
    let kind = GeneratorKind::ClosedLoop {
        parallel: 1,
        flows: vec![FlowId(0), FlowId(1)],
        sizes: Arc::new(sizes),
        think: Pause::Exponential(Span::from_us(10)),
    };
    let generators = vec![Generator { kind, start: at(Span::from_us(10)), until: at(Span::from_us(500)) }];
    let traffic = Traffic {
        groups: vec![group(params(), dctcp()), group(params(), cubic())],
        flows: vec![idle(1, 5), idle(1, 2)],
        generators,
        measured: at(Span::from_us(100))..at(Span::from_us(700)),
        ..Traffic::default()
    };
    (network, traffic, flows)
}

fn execution(threads: usize) -> Execution {
    Execution { threads, ..Execution::default() }
}

fn session(network: &Network, traffic: &Traffic, threads: usize) -> Session<()> {
    Session::new(network, traffic, 1, execution(threads), &External::default(), || ())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn flows_injected_step_by_step_go_as_if_they_had_been_known(
        cuts in prop::collection::vec(0..END.as_ps(), 0..60),
        ahead in 0..Span::from_us(50).as_ps(),
        scheduled: bool,
        threads in 1..3_usize,
    ) {
        let (network, known, flows) = busy(if scheduled { PortKind::Scheduled } else { PortKind::Plain });
        let mut all = known.clone();
        all.flows.extend(&flows);
        let whole = Run::new(&network, &all).until(END).run();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut session = session(&network, &known, threads);
        let mut injected = flows.iter().peekable();
        let mut delivered = Vec::new();
        for cut in cuts.into_iter().map(Time::from_ps).chain([at(END)]) {
            // Before each step, those that begin in it, and some that begin soon after.
            while let Some(new) = injected.next_if(|flow| flow.start <= cut + Span::from_ps(ahead)) {
                session.inject(new.group, new.from, new.to, new.size, new.start);
            }
            session.advance_until(cut);
            delivered.extend(session.take_deliveries());
        }
        prop_assert!(delivered.is_sorted_by_key(|delivery| delivery.at));
        let outcome = session.finish();
        prop_assert_eq!(outcome.fingerprint(), whole.fingerprint());
        prop_assert!(trace(&outcome) == trace(&whole));
        let ends = whole.flows.iter().filter(|flow| flow.end.is_some());
        prop_assert_eq!(delivered.len(), ends.count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whoever_stops_at_every_arrival_and_end_changes_nothing_and_is_there_at_the_very_moment(
        cuts in prop::collection::vec(0..END.as_ps(), 0..20),
        scheduled: bool,
        closings: bool,
    ) {
        let (network, known, flows) = busy(if scheduled { PortKind::Scheduled } else { PortKind::Plain });
        let mut all = known.clone();
        all.flows.extend(&flows);
        let whole = Run::new(&network, &all).until(END).run();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut session = session(&network, &known, 1);
        session.watch(&network, closings);
        let mut injected = flows.iter().peekable();
        let mut happened = [0, 0];
        let mut count = |session: &mut Session<()>, now: Option<Time>| {
            for delivery in session.take_deliveries() {
                match delivery.what {
                    Delivered::Message(flow) if flow.index() >= known.flows.len() => happened[0] += 1,
                    Delivered::Closed(end) => {
                        assert!(session.closed(end.record).flow == end.flow && !end.gave_up);
                        happened[1] += 1;
                    }
                    _ => continue,
                }
                assert!(now.is_none_or(|now| now == delivery.at), "{delivery:?} at {now:?}");
            }
        };
        for (number, cut) in (0..).zip(cuts.into_iter().map(Time::from_ps).chain([at(END)])) {
            while let Some(new) = injected.next_if(|flow| flow.start <= cut) {
                session.inject(new.group, new.from, new.to, new.size, new.start);
            }
            while session.advance_until_event(cut) {
                let now = session.now();
                count(&mut session, Some(now));
            }
            prop_assert!(session.now() >= cut);
            // Some look at everything now and then.
            if number % 3 == 0 {
                session.advance_until(cut);
                count(&mut session, None);
            }
        }
        let outcome = session.finish();
        prop_assert_eq!(outcome.fingerprint(), whole.fingerprint());
        prop_assert!(trace(&outcome) == trace(&whole));
        let of_outside = |flow: &&narrows_sim::FlowRecord| flow.flow.index() >= known.flows.len();
        let arrived = whole.flows.iter().filter(of_outside).filter(|flow| flow.end.is_some()).count();
        let known_to = whole.flows.iter().filter(of_outside).filter(|flow| flow.delivered == flow.size).count();
        prop_assert!(arrived > 50 && known_to > 50);
        prop_assert_eq!(happened, [arrived, if closings { known_to } else { 0 }]);
    }
}

#[test]
fn who_answers_at_the_moment_of_an_arrival_is_no_later_than_a_flow_that_waits_for_it() {
    let network = star(3);
    let flows = |starts: [Time; 3]| {
        let flow = |number: usize, from, to| FlowSpec { start: starts[number], ..flow(from, to, 30_000) };
        vec![flow(0, 0, 1), flow(1, 1, 2), flow(2, 2, 0)]
    };
    let mut known =
        crate::support::traffic(group(params(), dctcp()), flows([Time::ZERO, Time::NEVER, Time::NEVER]));
    let after = |flow: u32| Dependent {
        flow: FlowId(flow),
        after: vec![(FlowId(flow - 1), Milestone::Received)],
        needs: 1,
        delay: Span::ZERO,
        until: Time::NEVER,
    };
    known.dependents = [1, 2].map(after).to_vec();
    let known = Run::new(&network, &known).run();
    let mut session = session(&network, &crate::support::traffic(group(params(), dctcp()), Vec::new()), 1);
    session.watch(&network, false);
    for flow in flows([Time::ZERO; 3]) {
        session.inject(flow.group, flow.from, flow.to, flow.size, session.now());
        assert!(session.advance_until_event(FAR));
    }
    assert!(!session.advance_until_event(FAR));
    assert!(session.finish().flows.iter().map(|flow| flow.end).eq(known.flows.iter().map(|flow| flow.end)));
}

#[test]
fn the_scenario_is_busy() {
    let (network, mut traffic, flows) = busy(PortKind::Plain);
    traffic.flows.extend(flows);
    let outcome = Run::new(&network, &traffic).until(END).run();
    let sum = |count: fn(&narrows_sim::PortCounters) -> u64| outcome.ports.iter().map(count).sum::<u64>();
    assert!(sum(|port| port.dropped()) > 10 && sum(|port| port.marks) > 100);
    assert!(outcome.flows.iter().filter(|flow| flow.end.is_some()).count() > 100);
    assert!(outcome.flows.iter().any(|flow| flow.incarnation > 0));
    assert!(outcome.packets_left > 0 && outcome.flows.iter().any(|flow| flow.end.is_none()));
}

#[test]
fn samples_of_what_is_delivered_change_nothing_and_are_the_same_on_any_number_of_threads() {
    let (network, mut traffic, flows) = busy(PortKind::Plain);
    traffic.flows.extend(flows);
    let plain = Run::new(&network, &traffic).until(END).run();
    let last = END - Span::from_ps(1);
    traffic.sampled = vec![Time::ZERO, at(Span::from_us(200)), at(last)];
    let [one, three] = [1, 3].map(|threads| {
        let mut session = session(&network, &traffic, threads);
        session.advance_until(at(END));
        session.finish()
    });
    assert!(trace(&one) == trace(&plain) && trace(&three) == trace(&plain));
    assert_eq!(one.sampled, three.sampled);
    let group = |flow: &narrows_sim::FlowRecord| traffic.flows[flow.flow.index()].group.index();
    for number in 0..traffic.groups.len() {
        let open = one.flows.iter().filter(|flow| flow.end.is_none() && group(flow) == number);
        let (open, sampled) =
            (open.map(|flow| flow.delivered.get()).sum::<u64>(), one.sampled.at(2, number).get());
        // A flow whose last acknowledgment is under way has ended for its receiver only.
        assert!(sampled >= open && one.sampled.at(0, number) == Bytes::ZERO, "{sampled} of {open}");
    }
    assert!(one.sampled.at(1, 0) > Bytes::ZERO);
}

#[test]
fn a_run_that_is_interrupted_and_goes_on_leaves_the_same_bytes() {
    let (network, mut traffic, flows) = busy(PortKind::Plain);
    traffic.flows.extend(flows);
    let run = Run::new(&network, &traffic);
    for threads in [1, 3] {
        let mut session = session(&network, &traffic, threads);
        // The first report comes after a window.
        let mut slices = 0;
        while !session.run(run.stop, &mut |_| ControlFlow::Break(())) {
            slices += 1;
        }
        assert!(slices > 500 && session.is_drained());
        assert!(trace(&session.finish()) == trace(&run.run()), "{threads} threads");
    }
}

#[test]
fn observers_see_the_same_of_a_run_in_steps() {
    let (network, mut traffic, flows) = busy(PortKind::Scheduled);
    traffic.flows.extend(flows);
    let links = network.topology.links().len();
    let all: Vec<_> = (0..links).map(LinkId::from).collect();
    let observer = || PortObserver::new(Span::from_us(20), links, &all);
    let (external, mut step) = (External::default(), Span::from_ns(77));
    let mut session = Session::new(&network, &traffic, 1, execution(1), &external, observer);
    while session.now() <= at(END) {
        session.advance_until((session.now() + step).min(at(END)));
        step += Span::from_ns(13);
    }
    let outcome = session.finish();
    assert_eq!(outcome.ended, at(END));
    let rows = PortObserver::finish(outcome.observers, outcome.ended);
    assert!(rows == Run::new(&network, &traffic).until(END).ports(Span::from_us(20)));
}

/// Hosts at one switch.
fn star(hosts: u32) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate: BitRate::from_gbps(10), delay: Span::from_us(1) }.build(&mut topology, "");
    network(topology, &crate::support::deep())
}

const FAR: Time = Time::from_ps(1_000_000_000_000);

#[test]
fn who_waits_for_a_delivery_wakes_at_its_very_moment() {
    let network = star(3);
    let traffic = crate::support::traffic(group(params(), dctcp()), Vec::new());
    // Beside a flow that fills the link back, and is delivered without waking anybody.
    let known = crate::support::traffic(group(params(), dctcp()), vec![flow(2, 0, 500_000)]);
    let (quiet, mut busy) = (session(&network, &traffic, 1), session(&network, &known, 1));
    for mut session in [quiet, std::mem::replace(&mut busy, self::session(&network, &known, 2))] {
        let mut now = Time::ZERO;
        for turn in 0..10 {
            session.inject(GroupId(0), HostId(turn % 2), HostId(1 - turn % 2), Bytes::new(3_000), now);
            session.advance_until_delivery(FAR);
            let last = session.take_deliveries().pop().expect("something was delivered");
            assert_eq!(session.now(), last.at + Span::from_ps(1));
            now = session.now();
        }
    }
    let mut session = session(&network, &traffic, 1);
    let spec = flow(0, 1, 3_000);
    let flow = session.inject(spec.group, spec.from, spec.to, spec.size, Time::ZERO);
    session.advance_until_delivery(FAR);
    let [Delivery { at, host: HostId(1), what: Delivered::Message(of) }] = session.take_deliveries()[..]
    else {
        panic!("one message was delivered");
    };
    assert_eq!(of, flow);
    assert_eq!(session.finish().flows[0].end, Some(at));
}

#[test]
fn without_anything_to_wait_for_time_passes() {
    let network = star(2);
    let mut session = session(&network, &crate::support::traffic(group(params(), dctcp()), Vec::new()), 1);
    assert_eq!(session.next_due(), Time::NEVER);
    session.advance_until_delivery(at(Span::from_us(7)));
    assert_eq!(session.now(), at(Span::from_us(7)) + Span::from_ps(1));
    session.inject(GroupId(0), HostId(0), HostId(1), Bytes::new(1), at(Span::from_us(100)));
    let due = session.next_due();
    assert!(at(Span::from_us(98)) < due && due <= at(Span::from_us(100)), "{due}");
    assert!(!session.is_drained());
    session.advance_until(due.min(at(Span::from_us(99))));
    session.advance_until_delivery(FAR);
    assert_eq!(session.take_deliveries().len(), 1);
    session.advance_until(FAR);
    assert!(session.is_drained());
}

#[test]
fn a_flow_of_the_traffic_without_a_start_is_started_from_outside() {
    let network = star(2);
    let mut spec = flow(0, 1, 50_000);
    spec.start = at(Span::from_us(3));
    let known = Run::new(&network, &crate::support::traffic(group(params(), dctcp()), vec![spec])).run();
    spec.start = Time::NEVER;
    let mut session = session(&network, &crate::support::traffic(group(params(), dctcp()), vec![spec]), 1);
    session.advance_until(at(Span::from_us(2)));
    session.start(FlowId(0), at(Span::from_us(3)));
    assert!(session.run(Stop { at: FAR, when_drained: true }, &mut |_| ControlFlow::Continue(())));
    assert!(trace(&session.finish()) == trace(&known));
}

#[test]
#[should_panic(expected = "a flow was to start at 1 us, now is 1.000001 us")]
fn nothing_is_injected_into_the_past() {
    let mut session = session(&star(2), &crate::support::traffic(group(params(), dctcp()), Vec::new()), 1);
    session.advance_until(at(Span::from_us(1)));
    session.inject(GroupId(0), HostId(0), HostId(1), Bytes::new(1), at(Span::from_us(1)));
}

/// With these hosts outside.
fn outside(network: &Network, traffic: &Traffic, hosts: &[u32]) -> Session<()> {
    outside_as(network, traffic, hosts, false)
}

fn outside_as(network: &Network, traffic: &Traffic, hosts: &[u32], are_machines: bool) -> Session<()> {
    let hosts = hosts.iter().copied().map(HostId).collect();
    let external = External { hosts, smallest_packet: Bytes::new(84), are_machines };
    Session::new(network, traffic, 1, execution(1), &external, || ())
}

#[test]
fn machines_take_the_time_to_begin_a_burst_themselves() {
    let mut network = star(2);
    let processing = Processing::Constant(Span::from_us(7));
    network.hosts = Hosts::Real(RealHosts { processing, clock_ppm: 0, ..RealHosts::default() });
    let traffic = crate::support::traffic(datagrams(BitRate::from_gbps(10)), Vec::new());
    let arrival = |are_machines| {
        let mut session = outside_as(&network, &traffic, &[0, 1], are_machines);
        let flow = session.open(GroupId(0), HostId(0), HostId(1));
        let (size, ecn) = (Bytes::new(1000), Codepoint::NotEct);
        session.send(flow, &Injected::Datagram { number: 1, size, ecn, back: false }, at(Span::from_us(5)));
        session.advance_until(at(Span::from_us(50)));
        session.take_deliveries()[0].at
    };
    assert_eq!(arrival(false) - arrival(true), Span::from_us(7));
}

#[test]
fn packets_between_external_hosts_take_the_time_of_their_way_and_meet_others() {
    let mut network = star(3);
    let marking = crate::support::marking(5_000);
    network.switches.iter_mut().flatten().for_each(|switch| *switch = marking.clone());
    let traffic = crate::support::traffic(datagrams(BitRate::from_gbps(10)), Vec::new());
    let mut session = outside(&network, &traffic, &[0, 1, 2]);
    let [a, b] = [0, 1].map(|from| session.open(GroupId(0), HostId(from), HostId(2)));
    let packet = |number, size| Injected::Datagram {
        number,
        size: Bytes::new(size),
        ecn: Codepoint::Ect0,
        back: false,
    };
    // Injected out of order, sent in order of time.
    session.send(a, &packet(2, 1000), at(Span::from_us(9)));
    session.send(a, &packet(1, 84), at(Span::from_us(5)));
    session.advance_until(at(Span::from_us(20)));
    let received = |session: &mut Session<()>| -> Vec<(Time, u64, bool)> {
        let packet = |delivery: Delivery| match delivery.what {
            Delivered::Packet(packet) => {
                let seen = packet.as_seen();
                assert_eq!((delivery.host, seen.kind()), (HostId(2), PacketKind::Datagram));
                (delivery.at, seen.seq(), seen.is_marked())
            }
            other => panic!("nobody injected a message, {other:?}"),
        };
        session.take_deliveries().into_iter().map(packet).collect()
    };
    let way = |size: u64| BitRate::from_gbps(10).time_to_send(Bytes::new(size)) * 2 + Span::from_us(2);
    let us = |us| at(Span::from_us(us));
    assert_eq!(received(&mut session), [(us(5) + way(84), 1, false), (us(9) + way(1000), 2, false)]);
    // Two hosts at once fill the port of the third.
    for number in 0..20 {
        session.send(a, &packet(number, 1500), us(100));
        session.send(b, &packet(100 + number, 1500), us(100));
    }
    session.advance_until(us(200));
    let arrived = received(&mut session);
    assert_eq!(arrived.len(), 40);
    assert!(arrived.iter().filter(|(.., marked)| *marked).count() > 20);
    assert!(arrived.is_sorted());
    let of_a: Vec<_> = arrived.iter().map(|(_, number, _)| *number).filter(|number| *number < 100).collect();
    assert_eq!(of_a, (0..20).collect::<Vec<_>>());
    let outcome = session.finish();
    assert_eq!((outcome.packet_hops, outcome.packets_left), (84, 0));
}

#[test]
fn packets_go_both_ways_of_a_flow_and_nothing_arrives_while_it_is_quiet() {
    let traffic = crate::support::traffic(datagrams(BitRate::from_gbps(10)), Vec::new());
    let mut session = outside(&star(2), &traffic, &[0, 1]);
    assert_eq!(session.quiet_until(), Time::NEVER);
    let flow = session.open(GroupId(0), HostId(0), HostId(1));
    let packet =
        |number, back| Injected::Datagram { number, size: Bytes::new(1500), ecn: Codepoint::NotEct, back };
    let (first, second) = (at(Span::from_us(3)), at(Span::from_us(4)));
    session.send(flow, &packet(1, false), first);
    session.send(flow, &packet(2, true), second);
    session.send(flow, &packet(3, true), second);
    let mut seen = Vec::new();
    while session.quiet_until() < Time::NEVER {
        let quiet = session.quiet_until();
        session.advance_until(quiet);
        for Delivery { at, host, what } in session.take_deliveries() {
            let Delivered::Packet(packet) = what else { panic!("nobody injected a message") };
            assert!(quiet <= at, "{at} is before {quiet}");
            seen.push((at, host, packet.as_seen().seq()));
        }
    }
    let packet = BitRate::from_gbps(10).time_to_send(Bytes::new(1500));
    let way = packet * 2 + Span::from_us(2);
    let expected =
        [(first + way, HostId(1), 1), (second + way, HostId(0), 2), (second + packet + way, HostId(0), 3)];
    assert_eq!(seen, expected);
}

#[test]
fn the_backlog_of_a_card_is_the_time_it_needs_for_its_packets() {
    let traffic = crate::support::traffic(datagrams(BitRate::from_gbps(10)), Vec::new());
    let mut session = outside(&star(2), &traffic, &[0, 1]);
    let flow = session.open(GroupId(0), HostId(0), HostId(1));
    for number in 0..3 {
        let packet =
            Injected::Datagram { number, size: Bytes::new(1250), ecn: Codepoint::NotEct, back: false };
        session.send(flow, &packet, Time::ZERO);
    }
    let backlogs = [500, 1500, 2500, 3500].map(|ns| {
        session.advance_until(Time::from_ps(1_000 * ns - 1));
        session.backlog(HostId(0))
    });
    assert_eq!(backlogs, [2500, 1500, 500, 0].map(Span::from_ns));
}

#[test]
fn a_stream_whose_ends_are_outside_takes_as_long_as_one_inside() {
    let network = star(2);
    let Group { transport: Transport::Stream { params, cc }, .. } = group(params(), dctcp()) else { return };
    let spec = flow(0, 1, 200_000);
    let traffic = crate::support::traffic(group(params.clone(), cc.clone()), vec![spec]);
    let inside = Run::new(&network, &traffic).run().flows[0].end;

    let mut session = outside(&network, &Traffic { flows: vec![], ..traffic }, &[0, 1]);
    let flow = session.open(spec.group, spec.from, spec.to);
    let at = Endpoint { link: BitRate::from_gbps(10), seed: 1 };
    let mut sender = Sender::new(&params, &cc, at, spec.size);
    let mut receiver = Receiver::new(cc::Config::ecn(&cc));
    sender.start(&params, Time::ZERO);
    let mut now = Time::ZERO;
    while !receiver.is_complete() {
        // A window fits the card: all that may be sent is ready at once.
        while let Poll::Send(segment) = sender.poll_transmit(&params, now) {
            session.send(flow, &Injected::Segment(segment), session.now());
        }
        session.advance_until_delivery(sender.next_timer().min(receiver.next_timer()));
        for Delivery { at, host, what } in session.take_deliveries() {
            let Delivered::Packet(packet) = what else { panic!("no message was injected") };
            let seen = packet.as_seen();
            now = at;
            if host == spec.to {
                let (len, fin) = (u32::from(seen.size()) - overhead(&params), seen.is_last());
                let segment =
                    Segment { seq: seen.seq(), len, fin, ce: seen.is_marked(), ..Segment::default() };
                let mut acks = Vec::new();
                receiver.on_segment(&params, at, &segment, |frame| acks.push(frame));
                acks.into_iter().for_each(|frame| session.send(flow, &Injected::Ack(frame), session.now()));
            } else {
                let frame = narrows_proto::stream::AckFrame { ack: seen.seq(), ..Default::default() };
                sender.on_ack(&params, at, &frame);
            }
        }
    }
    // A picosecond later: what is injected upon an arrival comes in the moment after it.
    let late = now - inside.expect("it ends");
    assert!(late <= Span::from_ns(1), "{late}");
}

fn overhead(params: &narrows_proto::stream::Params) -> u32 {
    params.packet_size(Bytes::ZERO).get() as u32
}
