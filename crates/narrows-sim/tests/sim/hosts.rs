//! Hosts that take a while: equal flows share, nothing beats its ideal time, and what is off changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::{Observer, PacketRef};
use narrows_sim::switch::{Buffer, Dynamic, MarkAt, Marking, Sharing, Step, SwitchConfig};
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::{Bounded, FlowId, Hosts, LinkId, Network, Processing, RealHosts, StartEvery};

use crate::support::{ENDLESS, Run, cubic, dctcp, flow, group, network, params, reno};

fn real() -> Hosts {
    Hosts::Real(RealHosts::default())
}

/// `senders` hosts and a receiver around one switch: 1 Gb/s, links of 20 us, 4 MB with α = 0.21.
fn star(senders: u32, control: &Config, hosts: Hosts) -> (Network, Traffic) {
    let mut topology = Topology::default();
    Star { hosts: senders + 1, rate: BitRate::from_gbps(1), delay: Span::from_us(20) }
        .build(&mut topology, "");
    let buffer = Buffer { size: Bytes::new(4_000_000), sharing: Sharing::Dynamic(Dynamic { alpha: 0.21 }) };
    let mut switch = SwitchConfig::new(buffer);
    if *control == dctcp() {
        switch.marking = Marking::Step(Step { k: Bytes::new(30_000).into(), mark_at: MarkAt::Enqueue });
    }
    let flows = (0..senders).map(|sender| flow(sender, senders, ENDLESS)).collect();
    let mut params = params();
    params.min_rto = Span::from_ms(10);
    let traffic = crate::support::traffic(group(params, control.clone()), flows);
    (Network { hosts, ..network(topology, &switch) }, traffic)
}

/// Duration of a run. The first two seconds do not count.
const LASTS: Span = Span::from_secs(6);

/// Bytes that each flow delivers after the first two seconds.
fn delivered(senders: u32, control: &Config, hosts: Hosts, seed: u64) -> Vec<f64> {
    let (network, mut traffic) = star(senders, control, hosts);
    traffic.measured = crate::support::at(Span::from_secs(2))..crate::support::at(LASTS);
    let outcome = Run::new(&network, &traffic).seed(seed).until(LASTS).run();
    outcome.flows.iter().map(|flow| flow.delivered_measured.as_f64()).collect()
}

/// Jain's index: 1 if all are equal, 1/n if one has everything.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

/// The average over three seeds.
fn mean_jain(senders: u32, control: &Config, hosts: &Hosts) -> f64 {
    (1..=3).map(|seed| jain(&delivered(senders, control, hosts.clone(), seed))).sum::<f64>() / 3.0
}

#[test]
fn equal_long_flows_of_real_hosts_share_equally() {
    for control in [dctcp(), cubic(), reno()] {
        for senders in [2, 8] {
            let index = mean_jain(senders, &control, &real());
            assert!(index >= 0.95, "{senders} {} flows: {index}", control.name());
        }
    }
}

#[test]
fn equal_long_flows_of_ideal_hosts_keep_the_phase_they_met_in() {
    // What real hosts are for (Floyd & Jacobson 1992 §3): a drop-tail queue that is full takes packets of one flow and never of another.
    let index = mean_jain(8, &reno(), &Hosts::Ideal);
    assert!(index < 0.5, "{index}");
}

#[test]
fn a_full_link_stays_full() {
    for senders in [1, 2] {
        let total = |hosts| delivered(senders, &reno(), hosts, 1).iter().sum::<f64>();
        let (ideal, real) = (total(Hosts::Ideal), total(real()));
        assert!((real / ideal - 1.0).abs() < 0.01, "{senders}: {real} of {ideal}");
    }
}

#[test]
fn another_seed_is_another_run() {
    assert_ne!(delivered(2, &dctcp(), real(), 1), delivered(2, &dctcp(), real(), 2));
    assert_eq!(delivered(2, &dctcp(), real(), 1), delivered(2, &dctcp(), real(), 1));
}

#[test]
fn no_flow_is_sooner_than_with_ideal_hosts_and_none_is_late_by_more_than_its_hosts_take() {
    let (network, _) = star(2, &reno(), Hosts::Ideal);
    let took = |hosts: Hosts, size, seed| {
        let traffic = crate::support::traffic(group(params(), reno()), vec![flow(0, 2, size)]);
        let outcome = Run::new(&Network { hosts, ..network.clone() }, &traffic).seed(seed).run();
        outcome.flows[0].end.expect("it ends").saturating_since(outcome.flows[0].start)
    };
    for size in [1, 1000, 100_000] {
        let ideal = took(Hosts::Ideal, size, 1);
        for seed in 1..=20 {
            let real = took(real(), size, seed);
            assert!(real >= ideal, "{size} B, seed {seed}: {real} < {ideal}");
            // The window of ten packets holds more than the path: one delay of at most a packet's time at either end of the first
            // round trip and at the start of the second, and 200 ppm of 1 ms.
            let most = ideal + Span::from_us(3 * 13);
            assert!(real <= most, "{size} B, seed {seed}: {real} > {most}");
        }
    }
}

/// When each flow sends its first packet.
#[derive(Default)]
struct First(BTreeMap<FlowId, Time>);

impl Observer for First {
    fn departs(&mut self, at: Time, _: LinkId, packet: PacketRef<'_>) {
        let Some(flow) = packet.flow() else { return };
        self.0.entry(flow).or_insert(at);
    }
}

/// Two flows of one packet from each of eight hosts, the second 1 ms after the first: when they leave, and how long they take from when
/// they were to start.
fn first_packets(hosts: Hosts, seed: u64) -> (Vec<Span>, Vec<Span>) {
    let (network, _) = star(8, &reno(), hosts);
    let second = crate::support::at(Span::from_ms(1));
    let flows = (0..8).map(|host| flow(host, 8, 1000));
    let again = flows.clone().map(|flow| FlowSpec { start: second, ..flow });
    let traffic = crate::support::traffic(group(params(), reno()), flows.chain(again).collect());
    let outcome = Run::new(&network, &traffic).seed(seed).observed(First::default);
    let due = |flow: &FlowId| traffic.flows[flow.index()].start;
    let left = outcome.observers[0].0.iter().map(|(flow, at)| at.saturating_since(due(flow))).collect();
    let took = |flow: &narrows_sim::FlowRecord| {
        assert_eq!(flow.start, due(&flow.flow));
        flow.end.expect("it ends").saturating_since(flow.start)
    };
    (left, outcome.flows.iter().map(took).collect())
}

#[test]
fn what_starts_at_one_moment_leaves_at_times_of_its_own() {
    // The largest packet has 1538 B, which take 12.304 us, and up to 200 ppm more.
    let packet = Span::from_ps(12_304_000 + 2465);
    let (left, _) = first_packets(real(), 1);
    assert!(left.iter().all(|late| *late <= packet), "{left:?}");
    for flows in left.chunks(8) {
        let times: BTreeSet<_> = flows.iter().collect();
        assert_eq!(times.len(), 8, "{flows:?}");
    }
    assert_ne!(first_packets(real(), 2).0, left);
    assert!(first_packets(Hosts::Ideal, 1).0.iter().all(|late| *late == Span::ZERO));
}

#[test]
fn applications_begin_later_by_the_jitter_of_their_host_and_no_flow_beats_its_ideal_time() {
    let jitter = Span::from_us(100);
    let hosts = |processing| {
        Hosts::Real(RealHosts { processing, start_jitter: Some(jitter), ..RealHosts::default() })
    };
    let (left, took) = first_packets(hosts(Processing::None), 1);
    assert_eq!(left[..8], left[8..], "a host has one delay");
    let (least, most) = (left.iter().min().expect("some"), left.iter().max().expect("some"));
    // All eight lie within a quarter of the range with a probability of 8/4^7 - 7/4^8, 0.04 %.
    assert!(*most <= jitter && *most - *least > jitter / 4, "{left:?}");
    assert_ne!(first_packets(hosts(Processing::None), 2).0, left);
    // Who comes first to the port of the receiver waits for nobody.
    let ideal = first_packets(Hosts::Ideal, 1).1.into_iter().min().expect("some");
    for took in [took, first_packets(hosts(Processing::default()), 1).1] {
        assert!(took.iter().all(|real| *real >= ideal), "{took:?} {ideal}");
    }
}

#[test]
fn applications_of_hosts_begin_one_after_the_other() {
    let every = Span::from_us(100);
    let hosts = RealHosts {
        processing: Processing::None,
        clock_ppm: 0,
        start_every: Some(StartEvery::Constant(every)),
        ..RealHosts::default()
    };
    let left = first_packets(Hosts::Real(hosts), 1).0;
    for moment in left.chunks(8) {
        let times: BTreeSet<_> = moment.iter().copied().collect();
        assert!(times.into_iter().eq((0..8).map(|turn| every * turn)));
    }
    assert_ne!(left[..8], left[8..], "each moment has an order of its own");
}

/// When flows start, as they do.
#[derive(Default)]
struct Starts(Vec<(FlowId, Time)>);

impl Observer for Starts {
    fn started(&mut self, at: Time, flow: FlowId) {
        self.0.push((flow, at));
    }
}

#[test]
fn a_flow_does_not_start_before_the_one_in_front_of_it_that_waits_for_the_turn_of_its_host() {
    let every = Span::from_us(100);
    let start_every = Some(StartEvery::Constant(every));
    let hosts = Hosts::Real(RealHosts { start_every, ..RealHosts::default() });
    let (network, _) = star(8, &reno(), hosts);
    // At 10 us nobody else begins anything, but seven of eight hosts have not had their turn of 0 us.
    let ten = crate::support::at(Span::from_us(10));
    let second = FlowSpec { start: ten, ..flow(0, 8, 1000) };
    let flows = (0..8).map(|host| flow(host, 8, 1000)).chain([second]).collect();
    let traffic = crate::support::traffic(group(params(), reno()), flows);
    let starts = |seed| {
        let outcome = Run::new(&network, &traffic).seed(seed).observed(Starts::default);
        let starts: BTreeMap<_, _> = outcome.observers[0].0.iter().copied().collect();
        [FlowId(0), FlowId(8)].map(|flow| starts[&flow])
    };
    let all: Vec<_> = (0..20).map(starts).collect();
    assert!(all.iter().all(|[first, second]| *second == (*first).max(ten)), "{all:?}");
    assert!(all.iter().any(|[first, _]| *first > ten), "{all:?}");
}

#[test]
fn hosts_that_take_no_time_are_ideal() {
    let none = Hosts::Real(RealHosts { processing: Processing::None, clock_ppm: 0, ..RealHosts::default() });
    assert_eq!(delivered(2, &reno(), none, 1), delivered(2, &reno(), Hosts::Ideal, 1));
}

#[test]
fn a_paced_flow_keeps_its_rate() {
    // Half of the rate of its link: what a packet is late its successor makes up for.
    let rate = BitRate::from_mbps(500);
    let fixed = narrows_proto::cc::fixed::Params { rate: Some(rate), ..Default::default() };
    let of = |hosts| delivered(1, &Config::Fixed(fixed.clone()), hosts, 1)[0];
    let slow = Hosts::Real(RealHosts {
        processing: Processing::Uniform(Bounded { up_to: Some(Span::from_us(20)) }),
        clock_ppm: 0,
        ..RealHosts::default()
    });
    let (ideal, real) = (of(Hosts::Ideal), of(slow));
    assert!((real / ideal - 1.0).abs() < 0.001, "{real} of {ideal}");
}
