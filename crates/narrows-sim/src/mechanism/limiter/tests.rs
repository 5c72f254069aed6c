//! Decisions of limiters, without a network.

use std::num::NonZeroU16;

use narrows_proto::cnm::{CpId, Signal};
use narrows_proto::units::Span;

use super::*;
use crate::ids::HostId;
use crate::packet::{Fields, Kind};
use crate::random::Purpose;

const LINE: BitRate = BitRate::from_gbps(10);

fn config() -> Reaction {
    Reaction {
        rule: reaction::Config::Qcn(Default::default()),
        place: ReactionPlace::Host,
        per: LimiterScope::Flow,
        limiters: 2,
        queue: Bytes::new(10_000),
        mark: None,
    }
}

fn limiter(config: &Reaction) -> Limiter {
    Limiter::new(config, LINE, None, Stream::new(1, Purpose::Limiter, 0))
}

/// Halves the rate of a limiter at line rate: feedback 64 would be a cut of 64/128.
fn slower() -> Cnm {
    let from = CpId(NonZeroU16::MIN);
    Cnm { from, signal: Signal::Quantized(63), q_offset: 0, q_delta: 0 }
}

fn packet(flags: u8) -> Packet {
    let (flow, to, kind) = (FlowId(3), HostId(5), Kind::Data);
    Packet::new(Fields {
        seq: 0,
        flow,
        to,
        size: 1250,
        incarnation: 0,
        kind,
        priority: 0,
        flags,
        trailers: 0,
    })
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn at_line_rate_all_may_go_and_the_limiter_as_well() {
    let mut limiter = limiter(&config());
    assert_eq!((limiter.release(), limiter.is_over()), (Time::NEVER, true));
    limiter.push(packet(0));
    assert_eq!((limiter.release(), limiter.is_over()), (Time::ZERO, false));
    assert!(!limiter.has_room(10_000), "what is about to go takes nothing more");
}

#[test]
fn at_line_rate_a_queue_that_nobody_paces_behind_it_drains_at_its_rate() {
    let drain = BitRate::from_gbps(40).wire_time();
    let mut limiter = Limiter::new(&config(), LINE, Some(drain), Stream::new(1, Purpose::Limiter, 0));
    limiter.push(packet(0));
    limiter.push(packet(0));
    limiter.take(at(2), 0);
    assert_eq!(limiter.release(), at(2) + drain.of(1250));
}

#[test]
fn packets_leave_at_the_rate_of_the_reaction_point() {
    let mut limiter = limiter(&config());
    limiter.on_cnm(at(1), &slower());
    let rate = limiter.point.rate();
    assert!(rate < LINE);
    limiter.push(packet(0));
    limiter.push(packet(0));
    let first = limiter.take(at(2), 0);
    assert_eq!(limiter.release(), at(2) + rate.wire_time().of(first.size()));
    assert_eq!(limiter.waiting(), 1250);
}

#[test]
fn a_new_rate_counts_from_the_packet_before() {
    let mut limiter = limiter(&config());
    limiter.on_cnm(at(1), &slower());
    limiter.push(packet(0));
    limiter.push(packet(0));
    limiter.take(at(2), 0);
    limiter.on_cnm(at(3), &slower());
    assert_eq!(limiter.release(), at(2) + limiter.point.rate().wire_time().of(1250));
}

#[test]
fn it_has_room_below_its_limit() {
    let mut limiter = limiter(&config());
    limiter.on_cnm(at(1), &slower());
    limiter.push(packet(0));
    assert!(limiter.has_room(1251) && !limiter.has_room(1250));
}

#[test]
fn a_packet_behind_more_than_the_limit_is_marked_if_its_transport_reads_marks() {
    let mut limiter = limiter(&Reaction { mark: Some(Bytes::new(1250)), ..config() });
    let marked = [ECT, ECT, 0, ECT | CE].map(|flags| limiter.push(packet(flags)));
    assert_eq!(marked, [false, false, false, false], "the third finds 2500 B, but cannot be marked");
    assert!(limiter.push(packet(ECT)));
}

#[test]
fn keys_beyond_the_last_limiter_share_one() {
    let mut limiters = Limiters::new(&config(), None, 1, 0);
    let places = [10, 20, 30].map(|key| limiters.assign(key, LINE));
    assert_eq!(places[..2], [0, 1]);
    assert!(places[2] < 2);
    assert_eq!(limiters.find(30), Some(places[2]));
    assert_eq!((limiters.assign(20, LINE), limiters.made()), (1, 2));
}

#[test]
fn a_limiter_that_goes_takes_its_keys_along() {
    let mut limiters = Limiters::new(&config(), None, 1, 0);
    for key in [10, 20] {
        limiters.assign(key, LINE);
    }
    limiters.remove(0);
    assert_eq!((limiters.find(10), limiters.find(20)), (None, Some(1)));
    assert_eq!(limiters.assign(40, LINE), 0);
}
