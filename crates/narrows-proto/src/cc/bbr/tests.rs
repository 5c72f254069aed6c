use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::cc::{DeliverySample, Offload};

const RTT: Span = Span::from_ms(10);
const RATE: BitRate = BitRate::from_mbps(80);

// 80 Mb/s × 10 ms = 100 segments of 1000 B. With 3 quanta and an even number, target(1) = 104, target(1.25) = 128, with
// the 2 of phase 0 130, target(2) = 204.

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn starting() -> Model {
    Model::new(&Params::default(), &path())
}

/// Knows the path, and has been in `phase` since time 0.
fn probing(phase: u32) -> Model {
    let mut model = starting();
    model.bandwidth.add(10, 0, RATE);
    model.min_rtt = Some(RTT);
    model.full.reached = true;
    model.seen_rtt = true;
    model.mode = Mode::ProbeBw { phase, since: Time::ZERO };
    model.cwnd = MSS * 204;
    model
}

/// One segment of a flight of a product, at the rate of the path, in the middle of a round.
fn steady(now: Time) -> Ack {
    Ack {
        now,
        rtt: Some(RTT),
        srtt: RTT,
        inflight: MSS * 100,
        inflight_before: MSS * 101,
        delivered: MSS * 1000,
        delivery: DeliverySample {
            delivered: MSS * 100,
            interval: RTT,
            app_limited: false,
            ..DeliverySample::default()
        },
        ..ack(MSS)
    }
}

/// A round with a sample of `rate`.
fn round(rate: BitRate) -> Ack {
    let delivery = DeliverySample {
        delivered: rate * RTT,
        interval: RTT,
        app_limited: false,
        ..DeliverySample::default()
    };
    Ack { round_start: true, delivery, ..steady(at(1)) }
}

fn phase(model: &Model) -> u32 {
    if let Mode::ProbeBw { phase, .. } = model.mode { phase } else { panic!("{:?}", model.mode) }
}

/// Each factor is rounded down to 1 b/s, and the later ones multiply that.
fn assert_paces(model: &Model, expected: f64) {
    let pacing = model.pacing.expect("paced").as_f64();
    assert!((pacing - expected).abs() < 4.0, "{pacing} instead of {expected}");
}

fn samples_at(model: &mut Model, rates_mbps: &[u64]) {
    for rate in rates_mbps {
        model.on_ack(&round(BitRate::from_mbps(*rate)));
    }
}

#[test]
fn the_phase_up_lasts_a_round_trip_and_until_a_quarter_more_is_in_flight() {
    let later = at(10) + Span::from_ps(1);
    let full = |inflight: u64| Ack { inflight_before: MSS * inflight, ..steady(later) };
    let mut model = probing(0);
    model.on_ack(&Ack { now: at(10), ..full(130) });
    assert_eq!(phase(&model), 0, "not longer than a round trip");
    model.on_ack(&full(129));
    assert_eq!(phase(&model), 0, "less than 1.25 products and what comes on top");
    model.on_ack(&full(130));
    assert_eq!(model.mode, Mode::ProbeBw { phase: 1, since: later });
}

#[test]
fn a_loss_ends_the_phase_up_after_a_round_trip() {
    let mut model = probing(0);
    model.on_ack(&Ack { lost: MSS, ..steady(at(9)) });
    assert_eq!(phase(&model), 0);
    model.on_ack(&Ack { lost: MSS, ..steady(at(11)) });
    assert_eq!(phase(&model), 0, "the loss is old");
    model.on_ack(&Ack { lost: MSS * 2, ..steady(at(11)) });
    assert_eq!(phase(&model), 1);
}

#[test]
fn the_phase_down_ends_as_soon_as_one_product_is_in_flight() {
    let mut model = probing(1);
    model.on_ack(&Ack { inflight_before: MSS * 105, ..steady(at(2)) });
    assert_eq!(phase(&model), 1);
    model.on_ack(&Ack { inflight_before: MSS * 104, ..steady(at(3)) });
    assert_eq!(phase(&model), 2);
    let mut model = probing(1);
    model.on_ack(&Ack { inflight_before: MSS * 300, ..steady(at(11)) });
    assert_eq!(phase(&model), 2, "or after a round trip");
}

#[test]
fn level_phases_last_a_round_trip_and_the_last_is_followed_by_the_first() {
    let mut model = probing(2);
    for expected in [3, 4, 5, 6, 7, 0] {
        let Mode::ProbeBw { since, .. } = model.mode else { panic!("{:?}", model.mode) };
        model.on_ack(&Ack { inflight_before: MSS * 300, ..steady(since + RTT) });
        assert_eq!((phase(&model) + 1) % 8, expected);
        model.on_ack(&steady(since + RTT + Span::from_ps(1)));
        assert_eq!(phase(&model), expected);
    }
}

#[test]
fn a_cycle_begins_in_every_phase_but_the_one_that_drains() {
    let mut model = probing(0);
    let mut seen = [0; 8];
    for _ in 0..700 {
        model.start_cycle(Time::ZERO);
        seen[phase(&model) as usize] += 1;
    }
    assert_eq!(seen[1], 0);
    // 100 each; ±50 is more than five standard deviations (√(700·1/7·6/7) = 9.3).
    assert!(
        seen.iter().enumerate().all(|(phase, count)| phase == 1 || (50..150).contains(count)),
        "{seen:?}"
    );
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut model = starting();
    // 25 counts as growth from 20 (exactly 1.25), 31 does not from 25 (31.25), nor do two more rounds.
    samples_at(&mut model, &[10, 20, 25, 31, 31]);
    assert_eq!(model.mode, Mode::Startup);
    samples_at(&mut model, &[31]);
    assert!(model.full.reached);
}

#[test]
fn growth_begins_the_three_rounds_again() {
    let mut model = starting();
    samples_at(&mut model, &[10, 11, 12, 13, 13, 13]);
    // 13 is more than 1.25·10, in the second round after 11: two rounds without growth are left of it.
    assert_eq!((model.full.rounds, model.full.reached), (2, false));
}

#[test]
fn rounds_of_a_sender_without_data_do_not_end_startup() {
    let mut model = starting();
    samples_at(&mut model, &[10]);
    for _ in 0..10 {
        let mut ack = round(BitRate::from_mbps(10));
        ack.delivery.app_limited = true;
        model.on_ack(&ack);
    }
    assert_eq!(model.full.rounds, 0);
}

#[test]
fn drain_ends_when_no_more_than_a_product_is_in_flight() {
    let mut model = probing(0);
    model.mode = Mode::Drain;
    model.on_ack(&Ack { inflight: MSS * 105, ..steady(at(1)) });
    assert_eq!(model.mode, Mode::Drain);
    // 80 Mb/s/2.885·0.99, with 90 B of headers for 1000 B.
    let expected = 80e6 / 2.885 * 0.99 * 1.09;
    assert_paces(&model, expected);
    model.on_ack(&Ack { inflight: MSS * 104, ..steady(at(1)) });
    assert!(model.is_probing());
}

#[test]
fn the_first_round_trip_time_sets_the_rate_and_later_ones_only_raise_it_in_startup() {
    let mut model = starting();
    assert_eq!(model.pacing, None);
    let slow =
        DeliverySample { delivered: MSS, interval: RTT, app_limited: false, ..DeliverySample::default() };
    model.on_ack(&Ack { delivery: slow, ..steady(at(10)) });
    // 10 segments in 10 ms are 8 Mb/s; ·2.885·0.99·1.09. The sample alone would give a tenth of it.
    let expected = 8e6 * 2.885 * 0.99 * 1.09;
    assert_paces(&model, expected);
    samples_at(&mut model, &[16]);
    assert_paces(&model, 2.0 * expected);
}

#[test]
fn an_assumed_round_trip_time_paces_the_initial_window() {
    let params = Params { initial_rtt: Some(Span::from_ms(1)), ..Params::default() };
    let expected = 80e6 * 2.885 * 0.99 * 1.09;
    assert_paces(&Model::new(&params, &path()), expected);
}

#[test]
fn a_sender_without_data_raises_the_estimate_but_does_not_lower_it() {
    let mut model = probing(2);
    let mut idle = round(BitRate::from_mbps(8));
    idle.delivery.app_limited = true;
    for _ in 0..50 {
        model.on_ack(&idle);
    }
    assert_eq!(model.bandwidth.get(), RATE);
    idle.delivery.delivered = BitRate::from_mbps(88) * RTT;
    model.on_ack(&idle);
    assert_eq!(model.bandwidth.get(), BitRate::from_mbps(88));
    // With data, the low rate counts once the high one is more than ten rounds old.
    samples_at(&mut model, &[8; 10]);
    assert_eq!(model.bandwidth.get(), BitRate::from_mbps(88));
    samples_at(&mut model, &[8]);
    assert_eq!(model.bandwidth.get(), BitRate::from_mbps(8));
}

#[test]
fn the_window_is_two_products_and_three_quanta() {
    let mut model = probing(2);
    model.params.ack_aggregation = false;
    for _ in 0..300 {
        model.on_ack(&steady(at(1)));
    }
    assert_eq!(model.cwnd, MSS * 204);
}

#[test]
fn with_segmentation_offload_a_quantum_is_a_burst_at_the_pacing_rate() {
    let mut model = probing(2);
    model.params.ack_aggregation = false;
    let within = Span::from_ps(976_562_500);
    model.path.offload = Some(Offload { least: 2, most: Bytes::new(65_536), within });
    for _ in 0..300 {
        model.on_ack(&steady(at(1)));
    }
    // 79.2 Mb/s for 1/1024 s are 9667 B: 9 segments. 200 + 27, an even number.
    assert_eq!(model.cwnd, MSS * 228);
}

#[test]
fn aggregated_acknowledgments_widen_the_window() {
    let mut model = probing(2);
    // 40 segments at once, 39 ms after the last epoch began at 0 with none: the epoch begins with them.
    model.on_ack(&Ack { acked: MSS * 40, ..steady(at(1)) });
    // 200 + 40 + 3, an even number.
    for _ in 0..300 {
        model.set_cwnd(
            &steady(at(1)),
            &News { sent_after: MSS * 900, lost: Bytes::ZERO, app_limited: false, restart: false },
        );
    }
    assert_eq!(model.cwnd, MSS * 244);
}

/// Enters `PROBE_RTT` at 10 s and 1 ms, with 104 in flight.
fn holding() -> Model {
    let mut model = probing(2);
    model.on_ack(&steady(at(10_001)));
    assert_eq!(model.mode, Mode::ProbeRtt { held: None });
    assert_eq!(model.cwnd, MSS * 4);
    model
}

/// Four in flight, the newest sent after `sent_after` segments had been delivered of `delivered`.
fn held(ms: u64, sent_after: u64, delivered: u64) -> Ack {
    let sample = MSS * (delivered - sent_after);
    let delivery =
        DeliverySample { delivered: sample, interval: RTT, app_limited: false, ..DeliverySample::default() };
    Ack { delivered: MSS * delivered, inflight: MSS * 4, delivery, ..steady(at(ms)) }
}

#[test]
fn probe_rtt_holds_four_segments_for_200_ms_and_a_round_and_returns_to_the_window() {
    let mut model = holding();
    model.on_ack(&held(10_020, 1000, 1100));
    assert_eq!(model.cwnd, MSS * 4);
    // 200 ms have passed, but nothing that was sent in them has arrived.
    model.on_ack(&held(10_221, 1099, 1101));
    assert!(matches!(model.mode, Mode::ProbeRtt { held: Some(_) }));
    model.on_ack(&held(10_222, 1100, 1102));
    assert!(model.is_probing());
    assert_eq!(model.cwnd, MSS * 204);
    // The next is due 10 s after the end of this one.
    assert_eq!(model.min_rtt_at, at(10_222));
}

#[test]
fn probe_rtt_lasts_200_ms_however_short_the_rounds() {
    let mut model = holding();
    model.on_ack(&held(10_020, 1000, 1100));
    model.on_ack(&held(10_220, 1100, 1104));
    assert!(matches!(model.mode, Mode::ProbeRtt { .. }));
    model.on_ack(&held(10_221, 1104, 1108));
    assert!(model.is_probing());
}

#[test]
fn samples_of_probe_rtt_do_not_lower_the_estimate() {
    let mut model = holding();
    let slow = |ms, sent_after, delivered| {
        let mut ack = held(ms, sent_after, delivered);
        ack.delivery.interval = Span::from_ms(100);
        Ack { round_start: true, ..ack }
    };
    // Sent after 1000 to 1104 had been delivered, which is when it was held back: 30 rounds.
    for _ in 0..30 {
        model.on_ack(&slow(10_020, 1000, 1100));
    }
    model.on_ack(&slow(10_300, 1100, 1104));
    assert!(model.is_probing());
    assert_eq!(model.bandwidth.get(), RATE);
    // 1100 delivered and 4 in flight at the last but one: up to 1104 it was held back, and 4 more by the last.
    model.on_ack(&slow(10_301, 1108, 1200));
    assert_eq!(model.bandwidth.get(), RATE);
    model.on_ack(&slow(10_302, 1109, 1201));
    assert!(model.bandwidth.get() < RATE);
}

#[test]
fn an_equal_round_trip_time_postpones_probe_rtt_if_set_to() {
    for equal_rtt_renews in [false, true] {
        let mut model = probing(2);
        model.params.equal_rtt_renews = equal_rtt_renews;
        model.on_ack(&steady(at(9_000)));
        model.on_ack(&steady(at(10_001)));
        assert_eq!(model.is_probing(), equal_rtt_renews);
    }
}

#[test]
fn a_lone_short_segment_may_have_been_delayed_and_does_not_replace_an_old_minimum() {
    let late = Ack { rtt: Some(RTT * 4), ..steady(at(10_001)) };
    let mut runt = Ack { acked: Bytes::new(300), ..late };
    runt.delivery.delivered = runt.acked;
    let mut model = probing(2);
    model.on_ack(&runt);
    assert_eq!(model.min_rtt, Some(RTT));
    let mut model = probing(2);
    model.on_ack(&late);
    assert_eq!(model.min_rtt, Some(RTT * 4));
}

#[test]
fn a_connection_that_begins_late_does_not_begin_with_probe_rtt() {
    let mut model = starting();
    model.on_ack(&steady(at(60_000)));
    assert_eq!((model.mode, model.min_rtt_at), (Mode::Startup, at(60_000)));
}

#[test]
fn a_restart_after_an_idle_time_is_no_reason_for_probe_rtt() {
    let mut model = probing(2);
    model.on_ack(&Ack { inflight: Bytes::ZERO, ..steady(at(1)) });
    let mut restart = steady(at(20_000));
    restart.delivery.app_limited = true;
    model.on_ack(&restart);
    assert!(model.is_probing());
    assert_eq!(model.min_rtt_at, at(20_000));
}

#[test]
fn a_recovery_conserves_packets_for_a_round_then_grows_and_returns_to_the_window() {
    let mut model = probing(2);
    model.params.ack_aggregation = false;
    model.on_congestion(at(1), Congestion::Loss { flight_size: MSS * 102 });
    assert_eq!(model.cwnd, MSS * 204);
    let repair = |sent_after: u64, delivered: u64, inflight: u64| {
        let delivery = DeliverySample {
            delivered: MSS * (delivered - sent_after),
            interval: RTT,
            app_limited: false,
            ..DeliverySample::default()
        };
        let (delivered, inflight) = (MSS * delivered, MSS * inflight);
        Ack { in_recovery: true, lost: MSS, delivered, inflight, delivery, ..steady(at(1)) }
    };
    // One lost, one delivered of 102: what is left and the one delivered.
    model.on_ack(&repair(900, 1000, 100));
    assert_eq!(model.cwnd, MSS * 101);
    model.on_ack(&repair(999, 1001, 100));
    assert_eq!(model.cwnd, MSS * 101);
    // Sent after the loss was noticed: the round is over and the window grows.
    model.on_ack(&repair(1000, 1002, 100));
    assert_eq!(model.cwnd, MSS * 102);
    model.on_ack(&Ack { in_recovery: false, ..repair(1001, 1003, 100) });
    assert_eq!(model.cwnd, MSS * 204);
}

#[test]
fn after_a_timeout_the_window_is_one_segment_and_returns_when_the_flight_is_delivered() {
    let mut model = probing(2);
    model.on_ack(&steady(at(1)));
    model.on_congestion(at(300), Congestion::Timeout { flight_size: MSS * 100, repeated: false });
    assert_eq!(model.cwnd, MSS);
    let pacing = model.pacing;
    // What the timeout gave up is not taken off again.
    model.on_ack(&Ack { delivered: MSS * 1001, lost: MSS * 100, ..steady(at(310)) });
    assert_eq!(model.cwnd, MSS * 4);
    assert_eq!(model.pacing, pacing);
    model.on_ack(&Ack { delivered: MSS * 1099, lost: MSS * 100, ..steady(at(311)) });
    assert_eq!(model.cwnd, MSS * 5);
    model.on_ack(&Ack { delivered: MSS * 1100, lost: MSS * 100, ..steady(at(312)) });
    assert_eq!(model.cwnd, MSS * 204);
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    let mut model = probing(2);
    model.on_congestion(at(300), Congestion::Timeout { flight_size: MSS * 100, repeated: false });
    model.on_congestion(at(301), Congestion::Spurious);
    assert_eq!(model.cwnd, MSS * 204);
}

/// Rounds of 10 ms of which a fifth is lost, at 40 Mb/s.
fn policed(model: &mut Model, rounds: u64) {
    for _ in 0..rounds {
        let now = model.last.now + RTT;
        let (delivered, lost) = (model.last.delivered + MSS * 50, model.last.lost + MSS * 10);
        let delivery = DeliverySample {
            delivered: MSS * 50,
            interval: RTT,
            app_limited: false,
            ..DeliverySample::default()
        };
        model.on_ack(&Ack { now, delivered, lost, delivery, round_start: true, ..steady(now) });
    }
}

#[test]
fn behind_a_policer_it_keeps_to_its_rate() {
    let mut model = probing(2);
    // The first loss begins the first interval; it ends 3 rounds later, the second one 4 after that.
    policed(&mut model, 7);
    assert_eq!((model.policer.rate(), model.rate()), (None, RATE));
    policed(&mut model, 1);
    assert_eq!(model.rate(), BitRate::from_mbps(40));
    // 40 Mb/s·0.99·1.09 at gain 1 for 47 rounds, whatever the phase.
    for _ in 0..47 {
        assert_eq!(model.pacing, Some(BitRate::from_bps(43_164_000)));
        policed(&mut model, 1);
    }
    policed(&mut model, 1);
    assert_eq!(model.policer.rate(), None);
}

#[test]
fn policers_are_ignored_if_set_to() {
    let mut model = probing(2);
    model.params.policer_detection = false;
    policed(&mut model, 30);
    assert_eq!(model.policer.rate(), None);
}
