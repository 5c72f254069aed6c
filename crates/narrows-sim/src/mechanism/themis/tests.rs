use narrows_proto::units::{Span, Time};

use super::hold::Passes;
use super::{Hold, Holds};
use crate::ids::{FlowId, HostId};
use crate::mechanism::at_switch::{AtSwitch, Pass};
use crate::packet::{Fields, Kind, Packet};
use crate::switch::Reached;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Passes after each CNP, 5 us apart.
fn after(cnps: u64, config: &Hold) -> Vec<u32> {
    let mut passes = Passes::new(config);
    (0..cnps)
        .map(|cnp| {
            passes.on_cnp(us(5 * cnp), config);
            passes.now
        })
        .collect()
}

#[test]
fn there_is_one_pass_more_each_time_more_cnps_than_the_threshold_were_counted() {
    // Thresholds 5, 6, 7: the 6th, 13th and 21st CNP.
    let config = Hold::default();
    let rises =
        |cnps: &[u32]| (1..cnps.len()).filter(|at| cnps[*at] > cnps[at - 1]).map(|at| at + 1).collect();
    let rises: Vec<usize> = rises(&after(25, &config));
    assert_eq!(rises, [6, 13, 21]);
    assert_eq!(after(1, &config), [1]);
}

#[test]
fn there_are_never_more_passes_than_the_most() {
    assert_eq!(after(1_000, &Hold { most: 3, ..Hold::default() }).last(), Some(&3));
}

#[test]
fn passes_halve_after_each_release_without_a_cnp() {
    let config = Hold::default();
    let mut passes = Passes::new(&config);
    for _ in 0..25 {
        passes.on_cnp(us(0), &config);
    }
    let after: Vec<u32> = [499, 500, 999, 1_000, 1_500, 9_000]
        .map(|at| {
            passes.let_go(us(at), &config);
            passes.now
        })
        .into();
    assert_eq!(after, [4, 2, 2, 1, 0, 0]);
    passes.on_cnp(us(9_000), &config);
    assert_eq!(passes.now, 1);
}

fn packet(flow: u32, seq: u64) -> Packet {
    let (flow, to, kind) = (FlowId(flow), HostId(0), Kind::Data);
    Packet::new(Fields {
        seq,
        flow,
        to,
        size: 1_000,
        incarnation: 0,
        kind,
        priority: 0,
        flags: 0,
        trailers: 0,
    })
}

/// When what is held leaves, and what it is.
fn leave(holds: &mut Holds) -> Vec<(Time, FlowId, u64)> {
    let mut left = Vec::new();
    while holds.next() < Time::NEVER {
        let at = holds.next();
        holds.release(at);
        let (packet, _, from) = holds.take_packet().unwrap();
        assert_eq!(from, 3);
        left.push((at, packet.flow(), packet.seq()));
    }
    left
}

#[test]
fn a_held_packet_leaves_when_it_has_passed_the_loop() {
    // 1000 B at 1.6 Tb/s take 5 ns, and the loop 200 ns besides: 205 ns for a pass, 410 ns for the two after the sixth CNP.
    let mut holds = Holds::of(Reached::default(), Hold::default());
    assert!(matches!(holds.take(us(0), packet(7, 0), 3), Pass::Through(_)));
    holds.on_cnp(us(1), FlowId(7));
    assert!(matches!(holds.take(us(1), packet(8, 0), 3), Pass::Through(_)));
    assert!(matches!(holds.take(us(1), packet(7, 1), 3), Pass::Taken));
    (0..5).for_each(|_| holds.on_cnp(us(1), FlowId(7)));
    assert!(matches!(holds.take(us(1), packet(7, 2), 3), Pass::Taken));
    let after = |ns| us(1) + Span::from_ns(ns);
    assert_eq!(leave(&mut holds), [(after(205), FlowId(7), 1), (after(410), FlowId(7), 2)]);
}

#[test]
fn packets_of_a_flow_never_overtake_each_other_when_passes_halve() {
    let loop_delay = Span::from_us(400);
    let mut holds = Holds::of(Reached::default(), Hold { loop_delay, ..Hold::default() });
    (0..6).for_each(|_| holds.on_cnp(us(0), FlowId(7)));
    holds.take(us(499), packet(7, 0), 3);
    holds.take(us(500), packet(7, 1), 3);
    holds.take(us(1_000), packet(7, 2), 3);
    let left = leave(&mut holds);
    assert_eq!(left.iter().map(|left| left.2).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(left.is_sorted(), "{left:?}");
}
