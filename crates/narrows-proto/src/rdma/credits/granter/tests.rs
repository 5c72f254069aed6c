//! Turns by value, and senders that share a receiver.

use proptest::prelude::*;

use super::*;
use crate::rdma::credits::{Demand, Oversubscribed, Requester};
use crate::units::Span;

const RATE: BitRate = BitRate::from_gbps(100);
/// 16 384 B at 100 Gb/s.
const TURN: Span = Span::from_ps(1_310_720);
/// W, 225 000 B, in whole quanta of 256 B.
const SLOW: u64 = 878 * 256;

/// Without slow pulls.
/// Grants at the whole rate of the link.
fn whole() -> Credits {
    Credits { rate: 1.0, ..Credits::default() }
}

fn plain() -> Credits {
    Credits { slow_pulls: false, ..whole() }
}

fn granter() -> Granter {
    Granter::new(&plain(), RATE)
}

/// All turns until nobody is to be granted anything: when, to whom, how much in all.
fn turns(granter: &mut Granter) -> Vec<(u64, u32, u64)> {
    let next = || {
        let now = Some(granter.next_turn()).filter(|at| *at < Time::NEVER)?;
        let Pull { sink, granted, .. } = granter.turn(now)?;
        Some((now.as_ps(), sink, granted))
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn two_connections_take_turns() {
    let mut granter = granter();
    granter.request(0, 40_960);
    granter.request(1, 32_768);
    let turn = TURN.as_ps();
    let expected = [
        (0, 0, 16_384),
        (turn, 1, 16_384),
        (2 * turn, 0, 32_768),
        (3 * turn, 1, 32_768),
        // What is left of the request: half a turn.
        (4 * turn, 0, 40_960),
    ];
    assert_eq!(turns(&mut granter), expected);
    assert_eq!(granter.free_at, Time::ZERO + TURN * 4 + TURN / 2);
}

#[test]
fn three_connections_take_turns_and_one_that_joins_is_last() {
    let mut granter = granter();
    (0..3).for_each(|sink| granter.request(sink, 32_768));
    assert_eq!(granter.turn(Time::ZERO).map(|pull| pull.sink), Some(0));
    granter.request(7, 16_384);
    let order: Vec<u32> = turns(&mut granter).iter().map(|turn| turn.1).collect();
    assert_eq!(order, [1, 2, 0, 7, 1, 2]);
}

#[test]
fn there_is_no_turn_before_its_time_or_without_a_request() {
    let mut granter = granter();
    assert_eq!((granter.next_turn(), granter.turn(Time::ZERO)), (Time::NEVER, None));
    granter.request(0, 32_768);
    assert!(granter.turn(Time::ZERO).is_some());
    assert_eq!(granter.next_turn(), Time::ZERO + TURN);
    assert_eq!(granter.turn(Time::ZERO + (TURN - Span::from_ps(1))), None);
}

#[test]
fn a_smaller_request_changes_nothing() {
    let mut granter = granter();
    granter.request(0, 16_384);
    granter.request(0, 256);
    assert_eq!(turns(&mut granter), [(0, 0, 16_384)]);
    granter.request(0, 16_384);
    assert_eq!(granter.next_turn(), Time::NEVER);
}

#[test]
fn a_connection_that_is_over_is_granted_nothing_and_its_number_begins_anew() {
    let mut granter = granter();
    (0..3).for_each(|sink| granter.request(sink, 16_384));
    granter.close(1);
    granter.close(9);
    granter.request(1, 256);
    let order: Vec<_> = turns(&mut granter).iter().map(|turn| (turn.1, turn.2)).collect();
    assert_eq!(order, [(0, 16_384), (2, 16_384), (1, 256)]);
}

#[test]
fn grants_are_the_rate_of_the_link_times_the_modifier() {
    let mut granter = Granter::new(&Credits { rate: 0.96, ..plain() }, RATE);
    granter.request(0, u64::MAX);
    granter.request(1, u64::MAX);
    let end = Time::ZERO + Span::from_ms(1);
    let mut granted = 0;
    while granter.next_turn() < end {
        granter.turn(granter.next_turn()).unwrap();
        granted += 16_384;
    }
    // 12 MB in a ms; the last turn may reach beyond it.
    assert!((12_000_000..12_000_000 + 16_384).contains(&granted), "{granted}");
}

#[test]
fn slow_pulls_are_one_window_for_each_that_rests() {
    let mut granter = Granter::new(&whole(), RATE);
    granter.request(0, 0);
    granter.request(1, 0);
    let pull = granter.turn(Time::ZERO).unwrap();
    assert_eq!(pull, Pull { sink: 0, granted: 16_384, slow: true });
    let rest = turns(&mut granter);
    assert_eq!(rest[..2], [(TURN.as_ps(), 1, 16_384), (2 * TURN.as_ps(), 0, 32_768)]);
    // 13 whole turns and 11 776 B for each.
    assert_eq!(rest.len(), 2 * 14 - 1);
    assert_eq!((rest[25].1, rest[25].2, rest[26].1, rest[26].2), (0, SLOW, 1, SLOW));
}

#[test]
fn requests_come_before_slow_pulls_which_count_for_them() {
    let mut granter = Granter::new(&whole(), RATE);
    granter.request(0, 0);
    granter.request(1, 0);
    granter.turn(Time::ZERO);
    // Of 1 nothing is granted yet, and of 0 a turn.
    granter.request(1, 16_384);
    granter.request(0, 16_640);
    let next = [0; 3].map(|_| granter.turn(granter.next_turn()).unwrap());
    let pull = |sink, granted, slow| Pull { sink, granted, slow };
    assert_eq!(next, [pull(1, 16_384, false), pull(0, 16_640, false), pull(1, 32_768, true)]);
}

#[test]
fn the_rule_for_the_fabric_makes_turns_longer() {
    let oversubscribed = Some(Oversubscribed::default());
    let mut granter = Granter::new(&Credits { oversubscribed, ..plain() }, RATE);
    granter.request(0, 1 << 20);
    assert_eq!(granter.part(), 1.0);
    // Half of the packets.
    for at_last_hop in [false, true] {
        granter.on_arrival(Time::ZERO, Arrival::Trimmed { at_last_hop });
    }
    let now = Time::ZERO + Span::from_us(12);
    granter.turn(now);
    assert_eq!((granter.part(), granter.next_turn()), (0.5, now + TURN * 2));
}

/// Senders with more to send than they can, whose packets and grants arrive at once. Returns the bytes of each.
fn share(senders: usize, span: Span, loses: fn(u64) -> bool) -> Vec<u64> {
    let (credits, packet) = (whole(), Bytes::new(4_096));
    let mut granter = Granter::new(&credits, RATE);
    let mut all = vec![(Requester::new(&credits, RATE, packet), 0); senders];
    let demand =
        Demand { backlog: Bytes::new(1 << 40), retransmit: Bytes::ZERO, cwnd: Bytes::MAX, sources: 1 };
    let send = |granter: &mut Granter, now, sink: u32, (requester, sent): &mut (Requester, u64)| {
        while requester.may_send() {
            requester.on_sent(packet);
            *sent += packet.get();
            granter.request(sink, requester.pull_target(&demand));
            // Its acknowledgment.
            requester.on_feedback();
        }
        if let Some(target) = requester.rts(now, &demand) {
            granter.request(sink, target);
        }
    };
    for (sink, sender) in (0..).zip(&mut all) {
        send(&mut granter, Time::ZERO, sink, sender);
    }
    let mut number = 0;
    while granter.next_turn() < Time::ZERO + span {
        let now = granter.next_turn();
        let Pull { sink, granted, slow } = granter.turn(now).unwrap();
        assert!(!slow);
        number += 1;
        if !loses(number) {
            all[sink as usize].0.on_pull(granted);
            send(&mut granter, now, sink, &mut all[sink as usize]);
        }
    }
    all.iter().map(|(_, sent)| *sent).collect()
}

#[test]
fn senders_share_a_receiver_equally() {
    for senders in [2, 3, 64] {
        let sent = share(senders, Span::from_ms(2), |_| false);
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= 16_384, "{sent:?}");
        // 25 MB by grants, as far as they are spent, and one packet of each before.
        let before = 4_096 * senders as u64;
        let all = sent.iter().sum::<u64>();
        assert!((25_000_000 - before..=25_000_000 + before + 16_384).contains(&all), "{all}");
    }
}

#[test]
fn lost_grants_cost_no_bytes_as_long_as_one_of_a_window_arrives() {
    let [all, lossy] = [|_| false, |number| number % 5 != 0].map(|loses| share(3, Span::from_ms(2), loses));
    for (all, lossy) in all.iter().zip(&lossy) {
        // A few grants at the end may be lost.
        assert!(all.abs_diff(*lossy) <= 16_384 * 5, "{all} and {lossy}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Request(u32, u64),
    Close(u32),
    Turn,
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6_u32, 0..600_u64).prop_map(|(sink, quanta)| Step::Request(sink, quanta * 256)),
        1 => (0..6_u32).prop_map(Step::Close),
        6 => Just(Step::Turn),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn grants_never_exceed_requests_and_the_window_of_slow_pulls(slow_pulls: bool, steps in any_steps()) {
        let mut granter = Granter::new(&Credits { slow_pulls, ..whole() }, RATE);
        let mut sinks = [None; 6];
        for step in steps {
            match step {
                Step::Request(sink, target) => {
                    granter.request(sink, target);
                    let (before, granted) = sinks[sink as usize].unwrap_or((0, 0));
                    sinks[sink as usize] = Some((target.max(before), granted));
                }
                Step::Close(sink) => {
                    granter.close(sink);
                    sinks[sink as usize] = None;
                }
                Step::Turn => {
                    let unmet = sinks.iter().flatten().any(|(target, granted): &(u64, u64)| granted < target);
                    let now = granter.next_turn();
                    let Some(pull) = granter.turn(now) else {
                        prop_assert!(now == Time::NEVER && !unmet);
                        continue;
                    };
                    let (target, granted) = sinks[pull.sink as usize].as_mut().expect("it is open");
                    prop_assert!(pull.granted > *granted && pull.granted <= *granted + 16_384);
                    // Only while nobody has an unmet request.
                    prop_assert_eq!(pull.slow, !unmet);
                    let more = if pull.slow { SLOW } else { 0 };
                    prop_assert!(pull.granted <= *target + more);
                    *granted = pull.granted;
                }
            }
        }
        // In the end all have what they requested, and slow pulls as far as they may.
        turns(&mut granter);
        for (sink, _) in sinks.iter().enumerate().filter_map(|(sink, it)| it.map(|it| (sink, it))) {
            let Sink { target, granted, .. } = granter.sinks[sink];
            let least = target + if slow_pulls { SLOW } else { 0 };
            prop_assert!(granted >= least, "{} of {}", granted, least);
        }
    }
}
