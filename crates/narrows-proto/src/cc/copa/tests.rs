use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::cc::{Config, DeliverySample, cubic, reno};
use crate::stream::Params as Stream;
use crate::stream::bottleneck::{Bottleneck, Sample, run};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

/// An acknowledgment of one segment that took `rtt_ms`, at `now_ms`; a round trip is 20 ms.
fn took(now_ms: u64, rtt_ms: u64) -> Ack {
    Ack { now: at(now_ms), rtt: Some(ms(rtt_ms)), srtt: ms(20), ..ack(MSS) }
}

/// Out of slow start, with RTTmin = 20 ms and RTTstanding = 24 ms.
fn steering(cwnd: f64) -> Copa {
    let mut copa = Copa::new(&Params::default(), &path());
    copa.on_ack(&took(0, 20));
    copa.on_ack(&took(20, 24));
    copa.state.slow_start = false;
    copa.state.cwnd = cwnd;
    copa
}

#[test]
fn the_window_moves_towards_the_target_rate() {
    // dq = 24 − 20 = 4 ms: target 1/(0.5·4 ms) = 500 segments/s, which a window of 500·24 ms = 12 segments reaches.
    // A step is v/(δ·cwnd) = 2/cwnd.
    let mut below = steering(11.9);
    below.on_ack(&took(21, 24));
    assert_eq!(below.state.cwnd, 11.9 + 2.0 / 11.9);
    let mut above = steering(12.1);
    above.on_ack(&took(21, 24));
    assert_eq!(above.state.cwnd, 12.1 - 2.0 / 12.1);
}

#[test]
fn packets_are_paced_at_twice_the_rate_of_the_window() {
    // 12 segments of 1000 B in 24 ms are 4 Mb/s of payload; on the wire 1090/1000 of it.
    assert_eq!(steering(12.0).limit().pacing, Some(BitRate::from_bps(8_720_000)));
}

#[test]
fn a_burst_of_late_acknowledgments_is_not_a_queue() {
    // The standing delay is the minimum of the last half round trip, 10 ms.
    let mut copa = steering(11.9);
    copa.on_ack(&took(22, 60));
    assert!(copa.state.cwnd > 11.9);
}

#[test]
fn slow_start_ends_where_the_rate_exceeds_the_target() {
    // 20 ms at first, then 25 ms: the target is 400 segments/s or 10 segments; the window has 11 by then.
    let mut copa = Copa::new(&Params::default(), &path());
    copa.on_ack(&took(0, 20));
    assert!(copa.state.slow_start);
    assert_eq!(copa.limit().cwnd, MSS * 11);
    copa.on_ack(&took(20, 25));
    assert!(!copa.state.slow_start);
    assert_eq!(copa.state.cwnd, 11.0 - 2.0 / 11.0);
}

#[test]
fn velocity_doubles_after_four_windows_without_a_turn_and_falls_to_one_at_once() {
    let mut velocity = Velocity::new(10.0);
    let factors: Vec<f64> = (11..=17)
        .map(|cwnd| {
            velocity.judge(cwnd.into());
            velocity.factor
        })
        .collect();
    // The first window sets the direction, four more confirm it.
    assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
    velocity.turn(true, 17.5);
    assert_eq!(velocity.factor, 8.0);
    velocity.turn(false, 18.0);
    assert_eq!((velocity.factor, velocity.up, velocity.same), (1.0, Some(false), 0));
}

#[test]
fn a_velocity_of_any_size_changes_the_window_by_what_was_acknowledged_at_most() {
    let mut copa = steering(11.0);
    copa.state.velocity = Velocity { factor: 1e9, up: Some(true), same: 9, cwnd: 9.0 };
    copa.on_ack(&took(21, 24));
    assert_eq!(copa.state.cwnd, 12.0);
}

#[test]
fn a_queue_that_was_not_empty_for_five_round_trips_is_competed_for_and_left_when_it_empties() {
    // dq swings from 4 to 20 ms around the 5 ms of the target, and stays above 10 % of its range, 2 ms, from 20 ms on.
    let mut copa = steering(10.0);
    for round in 1..=9 {
        copa.on_ack(&Ack { round_start: true, ..took(20 * round, if round % 2 == 0 { 40 } else { 24 }) });
        // The queue was empty at 0 ms; 5·20 ms later it still counts.
        assert_eq!(copa.state.competing, round > 5, "round {round}");
    }
    // 1/δ = 2 + 1 for each of rounds 6 to 9.
    assert_eq!(copa.state.inverse_delta, 6.0);
    copa.on_congestion(at(181), Congestion::Loss { flight_size: MSS * 100 });
    assert_eq!(copa.state.inverse_delta, 3.0);
    copa.on_ack(&Ack { round_start: true, ..took(200, 40) });
    assert_eq!(copa.state.inverse_delta, 3.0, "no increase in a round with a loss");
    copa.on_congestion(at(201), Congestion::Loss { flight_size: MSS * 100 });
    assert_eq!(copa.state.inverse_delta, 2.0, "never below the default");
    copa.on_ack(&took(210, 21));
    assert!(!copa.state.competing);
    assert_eq!(copa.state.inverse_delta, 2.0);
}

#[test]
fn a_queue_within_the_resolution_of_packets_is_nearly_empty() {
    // 12 segments of 1000 B in 24 ms: one and a half take 3 ms.
    let delivery = DeliverySample {
        delivered: MSS * 12,
        interval: ms(24),
        app_limited: false,
        ..DeliverySample::default()
    };
    for (rtt, empty) in [(22, true), (24, false)] {
        let mut copa = steering(12.0);
        copa.on_ack(&Ack { delivery, ..took(200, rtt) });
        let found = copa.state.delays.as_ref().map(|delays| delays.last_empty == at(200));
        assert_eq!(found, Some(empty), "{rtt} ms");
    }
}

#[test]
fn a_queue_that_takes_long_to_drain_is_not_competed_for() {
    // The window moves the same way for longer than in equilibrium.
    for (same, competing) in [(SWING, true), (SWING + 1, false)] {
        let mut copa = steering(100.0);
        copa.state.velocity = Velocity { factor: 1.0, up: Some(false), same, cwnd: 101.0 };
        for round in 1..=9 {
            copa.on_ack(&took(20 * round, 40));
        }
        assert_eq!(copa.state.competing, competing, "{same}");
    }
}

#[test]
fn in_default_mode_a_loss_changes_nothing() {
    let mut copa = steering(50.0);
    copa.on_congestion(at(30), Congestion::Loss { flight_size: MSS * 50 });
    assert_eq!((copa.state.cwnd, copa.state.inverse_delta), (50.0, 2.0));
}

#[test]
fn after_a_timeout_slow_start_begins_again_and_a_spurious_one_is_taken_back() {
    let mut copa = steering(50.0);
    copa.on_congestion(at(300), Congestion::Timeout { flight_size: MSS * 50, repeated: false });
    assert_eq!(copa.limit().cwnd, MSS);
    assert!(copa.state.slow_start);
    copa.on_congestion(at(310), Congestion::Spurious);
    assert_eq!(copa.limit().cwnd, MSS * 50);
}

/// 100 Mb/s and 20 ms, 162 packets; acknowledges every segment.
fn over_100_mbps(flows: &[(Config, Time)], buffer: Bytes, until: Time, every: Span) -> Vec<Vec<Sample>> {
    let stream = Stream { ack_every: 1, ..Stream::default() };
    run(&Bottleneck::new(BitRate::from_mbps(100), ms(20), buffer), &stream, flows, until, every)
}

const DEEP: Bytes = Bytes::new(3_000_000);

fn copa(delta: f64, competitive: bool) -> Config {
    Config::Copa(Params { delta, competitive, ..Params::default() })
}

/// Mean, smallest and largest queue, in packets of 1538 B.
fn queue(samples: &[Sample]) -> [f64; 3] {
    let queue = || samples.iter().map(|sample| sample.queue.as_f64() / 1538.0);
    [
        queue().sum::<f64>() / samples.len() as f64,
        queue().fold(f64::MAX, f64::min),
        queue().fold(0.0, f64::max),
    ]
}

fn mean_rate(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.rate.as_f64()).sum::<f64>() / samples.len() as f64
}

/// The largest rate of payload on 100 Mb/s.
const FULL: f64 = 100e6 * 1448.0 / 1538.0;

#[test]
fn the_queue_of_one_connection_swings_between_nothing_and_two_and_a_half_over_delta() {
    // §3: it grows by 1/δ each round until 1/δ is seen a round and a half too late, and shrinks until 1/δ is seen a round
    // too late: from 0 to 2.5/δ and back in 5 rounds, 1.25/δ on average. Here 1/δ = 10 packets, a round is 20 ms.
    let samples = &over_100_mbps(&[(copa(0.1, true), at(0))], DEEP, at(4_000), ms(1))[0][1_000..];
    let [mean, min, max] = queue(samples);
    // A packet that is being sent counts as waiting. ±1.5 of 25: the window moves in packets.
    assert!((mean - 13.5).abs() < 1.5, "mean {mean}");
    assert!(min <= 2.0, "min {min}");
    assert!((max - 26.0).abs() <= 1.5, "max {max}");
    let above: Vec<bool> = samples.iter().map(|sample| sample.queue.as_f64() / 1538.0 > mean).collect();
    // 3 s of 100 ms. The mean is crossed by single packets too, so a crossing must last 5 ms.
    let rises = above.windows(10).filter(|w| w[..5] == [false; 5] && w[5..] == [true; 5]).count();
    assert!((27..=30).contains(&rises), "{rises} rises in 3 s");
    assert!(mean_rate(samples) > 0.99 * FULL);
}

#[test]
fn with_the_default_delta_one_connection_keeps_about_two_packets_waiting() {
    // Slow start leaves 100 packets for more than ten round trips, which are competed for; that is over by 0.6 s.
    let samples = &over_100_mbps(&[(copa(0.5, true), at(0))], DEEP, at(3_000), ms(1))[0][1_000..];
    let [mean, _, max] = queue(samples);
    // As above with 1/δ = 2: 2.5 and 5 packets, and one that is being sent; a packet more or less is 1/δ·½.
    assert!((mean - 3.5).abs() < 1.0, "mean {mean}");
    assert!(max <= 8.0, "max {max}");
    assert!(mean_rate(samples) > 0.99 * FULL);
}

/// A connection alone, from the 20th second to the 40th: goodput as a part of the largest, and the queue.
fn alone(rate: BitRate, rtt: Span, ack_every: u64) -> (f64, [f64; 3]) {
    let path = Bottleneck::new(rate, rtt, Bytes::ZERO);
    let path = Bottleneck { buffer: path.product().saturating_mul(20), ..path };
    let stream = Stream { ack_every, ..Stream::default() };
    let samples = &run(&path, &stream, &[(copa(0.5, true), at(0))], at(40_000), ms(5))[0][4_000..];
    (mean_rate(samples) / (rate.as_f64() * 1448.0 / 1538.0), queue(samples))
}

#[test]
fn a_connection_alone_does_not_compete_whatever_the_path_and_the_acknowledgments() {
    // A tenth of the swing of five packets is half a packet. Swings that end a packet above zero must not count, nor the
    // queue that slow start left. The paths hold 2, 8, 16, 39, 163, 406 and 3251 packets.
    for (mbps, rtt) in [(1, 20), (1, 100), (10, 20), (12, 40), (100, 20), (100, 50), (400, 100)] {
        for ack_every in [1, 2] {
            let (goodput, [mean, _, max]) = alone(BitRate::from_mbps(mbps), ms(rtt), ack_every);
            let path = format!("{mbps} Mb/s, {rtt} ms, every {ack_every}");
            assert!(goodput > 0.98, "{path}: {goodput}");
            // §3: 2.5 on average, 5 at most, and one that is being sent; a packet more or less is 1/δ·½.
            assert!((mean - 3.5).abs() < 1.0, "{path}: mean {mean}");
            assert!(max <= 8.0, "{path}: max {max}");
        }
    }
}

#[test]
fn connections_share_equally_and_each_adds_its_own_to_the_queue() {
    for (count, competitive) in [(2, true), (4, true), (10, false)] {
        let flows: Vec<_> = (0..count).map(|number| (copa(0.5, competitive), at(500 * number))).collect();
        let samples = over_100_mbps(&flows, DEEP, at(36_000), ms(20));
        let share = FULL / count as f64;
        for flow in &samples {
            // ±5 %: §3 has all connections at the same rate; windows differ by the packets they move in.
            let rate = mean_rate(&flow[600..]);
            assert!((rate / share - 1.0).abs() < 0.05, "{count} {competitive}: {rate} of {share}");
        }
        // The last 6 s. 1.25/δ for each and a packet that is being sent; 20 % is what swings in step do not reach.
        let expected = 2.5 * count as f64 + 1.0;
        let [mean, ..] = queue(&samples[0][1_500..]);
        assert!((mean / expected - 1.0).abs() < 0.2, "{count} {competitive}: {mean}, {expected}");
    }
}

#[test]
fn ten_connections_that_need_more_than_the_path_holds_compete_with_each_other() {
    // §3 condition 1: their swing would be 50 packets, and the path of 12 Mb/s and 40 ms holds 39. With δ fixed the queue
    // stays below the swing; with the mode judged by it, it grows until losses end it, which a deep buffer does not have.
    let path = Bottleneck::new(BitRate::from_mbps(12), ms(40), DEEP);
    let queues = [false, true].map(|competitive| {
        let flows: Vec<_> = (0..10).map(|number| (copa(0.5, competitive), at(500 * number))).collect();
        queue(&run(&path, &Stream::default(), &flows, at(40_000), ms(5))[0][4_000..])
    });
    let [[fixed, ..], [judged, ..]] = queues;
    assert!(fixed < 50.0 && judged > 10.0 * fixed, "{queues:?}");
}

/// Mean rates of a Copa connection and of one of `other`'s beside it, in bit/s, from 20 s to 120 s. The buffer has room for so many
/// times the product of 20 Mb/s and 20 ms.
fn against(other: &Config, competitive: bool, buffer: u64) -> (f64, f64) {
    let path = Bottleneck::new(BitRate::from_mbps(20), ms(20), Bytes::new(50_000 * buffer));
    let flows = [(copa(0.5, competitive), at(0)), (other.clone(), at(1_000))];
    let samples = run(&path, &Stream::default(), &flows, at(120_000), ms(1_000));
    (mean_rate(&samples[0][20..]), mean_rate(&samples[1][20..]))
}

fn reno() -> Config {
    Config::Reno(reno::Params::default())
}

#[test]
fn the_competitive_mode_keeps_its_share_of_a_buffer_against_controls_that_fill_it() {
    // 1/δ moves like Reno's window, and both have the same round trip: about half for each. The loss hits who happens to
    // send then, so a third is left to chance.
    for other in [reno(), Config::Cubic(cubic::Params::default())] {
        for buffer in [1, 3, 5] {
            let (copa, rest) = against(&other, true, buffer);
            let share = copa / (copa + rest);
            assert!((0.35..=0.65).contains(&share), "{} {buffer}: {share}", other.name());
        }
    }
}

#[test]
fn the_default_mode_starves_in_a_deep_buffer_that_reno_fills() {
    // At a queue of q packets it sends 1/(δ·dq): 2 of q of the rate. q is 80 to 162 here: 1.2 to 2.5 %, and more for a few
    // rounds after each loss of Reno's.
    let (copa, reno) = against(&reno(), false, 5);
    let share = copa / (copa + reno);
    assert!(share < 0.08, "{share}");
}
