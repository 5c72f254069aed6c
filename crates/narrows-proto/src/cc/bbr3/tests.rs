use super::mode::Mode;
use super::model::part_of;
use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::cc::{DeliverySample, LostSegment};
use crate::units::{BitRate, Bytes, Span};

const RTT: Span = Span::from_ms(10);
const RATE: BitRate = BitRate::from_mbps(80);

// 80 Mb/s × 10 ms = 100 segments of 1000 B.

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn starting() -> Model {
    Model::new(&Params::default(), &path())
}

/// Knows the path, and has been in `mode` since time 0. 1000 segments have been delivered.
fn knowing(mode: Mode) -> Model {
    let mut model = starting();
    model.bandwidth = [BitRate::ZERO, RATE];
    model.round_trips.min = Some(RTT);
    model.full.reached = true;
    model.seen_rtt = true;
    model.mode = mode;
    model.cwnd = MSS * 200;
    model.delivered = MSS * 1000;
    model.round.end = MSS * 1000;
    model.probing.restart(Time::ZERO, Span::from_secs(2), 0.0, 0);
    model
}

/// Acknowledges `acked` segments that were sent when `flight` were in flight, of which `lost` were lost since.
fn flight(model: &Model, now: Time, acked: u64, flight: u64, lost: u64) -> Ack {
    Ack {
        now,
        rtt: Some(RTT),
        srtt: RTT,
        inflight: MSS * flight,
        inflight_before: MSS * (flight + acked),
        delivered: model.delivered + MSS * acked,
        delivery: DeliverySample {
            delivered: MSS * 100,
            interval: RTT,
            app_limited: false,
            inflight: MSS * flight,
            lost: MSS * lost,
        },
        ..ack(MSS * acked)
    }
}

/// A round of a flight of `segments`, delivered within a round trip.
fn round(model: &Model, now: Time, segments: u64) -> Ack {
    let delivery = DeliverySample {
        delivered: MSS * segments,
        interval: RTT,
        app_limited: false,
        inflight: MSS * segments,
        lost: Bytes::ZERO,
    };
    Ack { delivery, ..flight(model, now, segments, segments, 0) }
}

fn loss(first: u64, inflight: u64, lost: u64) -> LostSegment {
    LostSegment {
        first: first * MSS.get(),
        size: MSS,
        inflight: MSS * inflight,
        lost: MSS * lost,
        app_limited: false,
    }
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut model = starting();
    for (number, segments) in (1..).zip([10, 20, 40, 80, 100, 100, 109]) {
        assert_eq!(model.mode, Mode::Startup, "round {number}");
        let ack = round(&model, at(10 * number), segments);
        model.on_ack(&ack);
    }
    // 100 is 1.25·80, so the count began after it: 100, 109 and one more.
    assert_eq!(model.mode, Mode::Startup);
    let last = round(&model, at(80), 109);
    model.on_ack(&Ack { inflight: MSS * 300, ..last });
    assert_eq!(model.mode, Mode::Drain { since: model.round.count });
    assert!(model.full.now && model.full.reached);
}

#[test]
fn six_ranges_and_two_percent_lost_end_startup_though_the_application_limits_it() {
    let run = |ranges: u64, lost: u64| {
        let mut model = starting();
        let first = round(&model, at(10), 100);
        model.on_ack(&first);
        for number in 0..ranges {
            model.on_lost(at(15), &loss(number * 2, 100, number + 1));
        }
        for now in [15, 25, 35] {
            let mut ack = round(&model, at(now), 100);
            ack.delivery.lost = MSS * lost;
            ack.delivery.app_limited = true;
            ack.in_recovery = true;
            model.on_ack(&ack);
        }
        model
    };
    let ended = run(6, 6);
    assert!(matches!(ended.mode, Mode::Drain { .. } | Mode::Down | Mode::Cruise), "{:?}", ended.mode);
    assert_eq!(ended.long_term, Some(MSS * 100), "a product, or what was delivered of late");
    assert_eq!(run(5, 6).mode, Mode::Startup);
    assert_eq!(run(6, 2).mode, Mode::Startup);
}

#[test]
fn drain_ends_with_a_product_in_flight_or_after_three_rounds() {
    let mut model = knowing(Mode::Drain { since: 0 });
    let above = flight(&model, at(1), 1, 101, 0);
    model.on_ack(&above);
    assert_eq!(model.mode.name(), "drain");
    let at_last = flight(&model, at(2), 1, 100, 0);
    model.on_ack(&at_last);
    assert_eq!(model.mode, Mode::Cruise, "by way of DOWN, which a product in flight ends at once");

    let mut model = knowing(Mode::Drain { since: 0 });
    for number in 1..=3 {
        let ack = flight(&model, at(10 * number), 100, 150, 0);
        model.on_ack(&ack);
        assert_eq!((model.mode.name(), model.round.count), ("drain", number));
    }
    let fourth = flight(&model, at(40), 100, 150, 0);
    model.on_ack(&fourth);
    assert_eq!(model.mode, Mode::Down);
}

#[test]
fn down_ends_below_a_product_and_the_headroom() {
    let mut model = knowing(Mode::Down);
    model.long_term = Some(MSS * 100);
    // 100 − 15 = 85.
    let above = flight(&model, at(1), 1, 86, 0);
    model.on_ack(&above);
    assert_eq!(model.mode, Mode::Down);
    let below = flight(&model, at(2), 1, 85, 0);
    model.on_ack(&below);
    assert_eq!(model.mode, Mode::Cruise);
    assert_eq!(model.cwnd, MSS * 85);
}

#[test]
fn a_probe_comes_after_the_wait_or_when_reno_would_need_it() {
    let mut model = knowing(Mode::Cruise);
    let ack = flight(&model, at(2_000), 1, 100, 0);
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Cruise, "not later than two seconds");
    let ack = flight(&model, at(2_001), 1, 100, 0);
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Refill);

    let rounds = |segments: u64| {
        let mut model = knowing(Mode::Cruise);
        model.cwnd = MSS * segments;
        (1..).find(|number| {
            let ack = Ack { rtt: None, ..round(&model, at(10 * number), segments) };
            model.on_ack(&ack);
            model.cwnd = MSS * segments;
            model.mode == Mode::Refill
        })
    };
    // The number of acknowledgments of a whole flight that it took.
    assert_eq!([33, 63, 90].map(rounds), [Some(33), Some(63), Some(63)]);
}

#[test]
fn refill_forgets_short_term_bounds_and_lasts_a_round() {
    let mut model = knowing(Mode::Cruise);
    model.bounds.rate = Some(BitRate::from_mbps(10));
    model.bounds.inflight = Some(MSS * 20);
    let ack = flight(&model, at(2_001), 1, 20, 0);
    model.on_ack(&ack);
    assert_eq!((model.mode, model.rate(), model.bounds.inflight), (Mode::Refill, RATE, None));
    let ack = flight(&model, at(2_005), 50, 100, 0);
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Refill, "of data sent before");
    let ack = flight(&model, at(2_011), 60, 100, 0);
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Up);
    assert_eq!(model.gains(), (1.25, 2.25));
}

#[test]
fn up_ends_when_the_bandwidth_has_not_grown_for_three_rounds() {
    let mut model = knowing(Mode::Up);
    model.full.restart(RATE);
    for (number, mode) in (1..).zip([Mode::Up, Mode::Up, Mode::Down]) {
        let ack = flight(&model, at(10 * number), 120, 120, 0);
        model.on_ack(&ack);
        assert_eq!(model.mode, mode, "round {number}");
    }
}

#[test]
fn without_data_up_never_ends_of_itself() {
    let mut model = knowing(Mode::Up);
    for number in 1..=100 {
        let mut ack = flight(&model, at(10 * number), 50, 50, 0);
        ack.delivery.app_limited = true;
        ack.rtt = None;
        model.on_ack(&ack);
    }
    assert_eq!(model.mode, Mode::Up);
}

#[test]
fn two_percent_lost_in_up_set_the_long_term_bound_and_end_it() {
    let mut model = knowing(Mode::Refill);
    model.round.end = model.delivered;
    let ack = flight(&model, at(1), 120, 120, 0);
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Up);
    model.on_lost(at(2), &loss(0, 120, 1));
    model.on_lost(at(2), &loss(1, 120, 2));
    assert_eq!((model.mode, model.long_term), (Mode::Up, None), "2 of 120 are 1.7 %");
    model.on_lost(at(2), &loss(2, 120, 3));
    assert_eq!(model.mode, Mode::Down);
    // 119 + (0.02·119 − 2)/0.98 = 119.4 segments: the third one takes it to 2 %.
    let bound = model.long_term.expect("set").as_f64() / MSS.as_f64();
    assert!((bound - 119.388).abs() < 0.002, "{bound}");
}

#[test]
fn what_is_lost_while_the_application_limits_says_nothing_of_the_long_term_bound() {
    let mut model = knowing(Mode::Refill);
    let ack = flight(&model, at(1), 120, 120, 0);
    model.on_ack(&ack);
    model.on_lost(at(2), &LostSegment { app_limited: true, ..loss(0, 20, 1) });
    assert_eq!((model.mode, model.long_term), (Mode::Down, None));
}

#[test]
fn the_flight_at_the_loss_is_where_the_threshold_was_crossed() {
    // Of 1000 segments before, 10 were lost: at 1010.2 it is 2 %.
    let at_loss = inflight_at(1001, 11);
    assert!((at_loss - 1010.204).abs() < 0.002, "{at_loss}");
}

fn inflight_at(inflight: u64, lost: u64) -> f64 {
    probing::inflight_at_loss(&loss(0, inflight, lost), 0.02).as_f64() / MSS.as_f64()
}

#[test]
fn the_long_term_bound_grows_by_1_2_4_segments_a_round_while_the_window_is_full() {
    let mut model = knowing(Mode::Up);
    model.long_term = Some(MSS * 100);
    model.cwnd = MSS * 100;
    model.probing.refill();
    model.probing.begin(model.cwnd, MSS);
    let mut grown = vec![0];
    for number in 1..=4 {
        for part in 0..4 {
            // Four acknowledgments a round; none says that more than the bound was in flight.
            let ack = flight(&model, at(10 * number + part), 25, 90, 0);
            model.on_ack(&ack);
        }
        grown.push(model.long_term.expect("set").div_ceil(MSS) - 100);
    }
    // A flight of 100 acknowledged brings 2^i segments, the window grows along.
    let each: Vec<_> = grown.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(each[0] <= 2 && each[1] >= 1 && each[2] >= 3 && each[3] >= 6, "{each:?}");
    assert!(grown[4] >= 11 && grown[4] <= 16, "about 2^4 − 1: {grown:?}");
}

#[test]
fn a_flight_without_loss_raises_the_long_term_bound_to_itself() {
    let mut model = knowing(Mode::Cruise);
    model.long_term = Some(MSS * 50);
    let ack = flight(&model, at(1), 1, 80, 1);
    model.on_ack(&ack);
    assert_eq!(model.long_term, Some(MSS * 80), "1 of 80 is 1.25 %");
    let ack = flight(&model, at(2), 1, 90, 2);
    model.on_ack(&ack);
    assert_eq!(model.long_term, Some(MSS * 80), "2 of 90 are 2.2 %");
}

#[test]
fn each_round_with_a_loss_leaves_seven_tenths_of_the_short_term_bounds() {
    let mut model = knowing(Mode::Cruise);
    model.cwnd = MSS * 200;
    for number in 1..=7 {
        model.on_lost(at(10 * number), &loss(number * 10, 100, 1));
        model.probing.rounds = 0;
        // Nothing else tells that more than 5 segments a round arrive.
        for part in 0..2 {
            let mut ack = flight(&model, at(10 * number + part * 5), 120, 100, 1);
            ack.delivery.delivered = MSS * 5;
            ack.delivery.interval = RTT;
            ack.rtt = None;
            model.on_ack(&ack);
        }
    }
    let part = model.rate().as_f64() / RATE.as_f64();
    // 0.7⁷ = 0.082: seven rounds take the rate to less than a tenth.
    assert!((part - 0.7_f64.powi(7)).abs() < 1e-6, "{part}");
    assert_eq!(model.max_rate(), RATE, "what probing found stays");
}

#[test]
fn short_term_bounds_stay_above_what_arrived_in_the_round() {
    let mut model = knowing(Mode::Cruise);
    model.on_lost(at(1), &loss(0, 100, 1));
    let mut window = Bytes::ZERO;
    for now in [1, 11] {
        window = model.cwnd;
        // 90 segments in a round trip: 72 Mb/s, more than 0.7·80.
        let mut ack = flight(&model, at(now), 120, 100, 1);
        ack.delivery.delivered = MSS * 90;
        model.on_ack(&ack);
    }
    assert_eq!(model.bounds.rate, Some(BitRate::from_mbps(72)));
    assert_eq!(model.bounds.inflight, Some(part_of(window, 0.7)), "more than the 90 that arrived");
}

#[test]
fn a_spurious_loss_gives_back_what_it_took() {
    let mut model = knowing(Mode::Refill);
    let ack = flight(&model, at(1), 120, 120, 0);
    model.on_ack(&ack);
    for number in 0..4 {
        model.on_lost(at(2), &loss(number, 100, number + 1));
    }
    assert_eq!(model.mode, Mode::Down);
    assert!(model.long_term.is_some());
    model.on_spurious();
    assert_eq!((model.mode, model.long_term, model.bounds.rate), (Mode::Refill, None, None));

    let mut model = knowing(Mode::Cruise);
    model.bounds.rate = Some(BitRate::from_mbps(70));
    model.bounds.inflight = Some(MSS * 90);
    model.on_lost(at(2), &loss(0, 100, 1));
    for now in [2, 12] {
        let ack = flight(&model, at(now), 60, 100, 1);
        model.on_ack(&Ack { delivery: DeliverySample { delivered: MSS * 10, ..ack.delivery }, ..ack });
    }
    assert_eq!(model.bounds.inflight, Some(part_of(MSS * 90, 0.7)));
    model.on_spurious();
    assert_eq!(model.bounds.inflight, Some(MSS * 90));
    assert_eq!(model.bounds.rate, Some(BitRate::from_mbps(70)));
}

#[test]
fn a_spurious_recovery_of_several_rounds_gives_back_what_there_was_before_it() {
    let mut model = knowing(Mode::Refill);
    let ack = flight(&model, at(1), 120, 120, 0);
    model.on_ack(&ack);
    for number in 0..4 {
        model.on_lost(at(2), &loss(number, 100, number + 1));
    }
    for now in [3, 13] {
        let ack = flight(&model, at(now), 120, 100, 4);
        model.on_ack(&Ack { in_recovery: true, ..ack });
    }
    assert!(model.bounds.round_began && model.long_term.is_some());
    model.on_lost(at(14), &loss(200, 100, 1));
    model.on_spurious();
    assert_eq!((model.mode, model.long_term), (Mode::Refill, None));
}

#[test]
fn after_a_spurious_loss_the_round_is_not_that_of_what_was_sent_before() {
    let mut model = knowing(Mode::Refill);
    let ack = flight(&model, at(1), 120, 120, 0);
    model.on_ack(&ack);
    for number in 0..4 {
        model.on_lost(at(2), &loss(number, 100, number + 1));
    }
    model.on_spurious();
    // A segment that was sent after the last acknowledgment, and one that is sent now.
    for (now, since, mode) in [(3, 1, Mode::Refill), (4, 1, Mode::Up)] {
        let mut ack = flight(&model, at(now), 1, 100, 0);
        ack.delivery.delivered = MSS * since;
        model.on_ack(&ack);
        assert_eq!(model.mode, mode, "{now} ms");
    }
}

#[test]
fn half_a_product_stays_in_flight_for_200_ms_after_five_seconds_without_a_smaller_round_trip() {
    let mut model = knowing(Mode::Cruise);
    model.probing.restart(at(4_000), Span::from_secs(10), 0.0, 0);
    let ack = flight(&model, at(1), 1, 100, 0);
    model.on_ack(&ack);
    let same = Ack { rtt: Some(RTT), ..flight(&model, at(5_001), 1, 100, 0) };
    model.on_ack(&same);
    assert_eq!(model.mode, Mode::Cruise);
    let late = flight(&model, at(5_002), 1, 100, 0);
    model.on_ack(&late);
    assert_eq!((model.mode.name(), model.cwnd), ("probe_rtt", MSS * 50));
    let small = flight(&model, at(5_012), 50, 50, 0);
    model.on_ack(&small);
    for (now, mode) in [(5_022, "probe_rtt"), (5_212, "probe_rtt"), (5_213, "cruise")] {
        let ack = flight(&model, at(now), 50, 50, 0);
        model.on_ack(&ack);
        assert_eq!(model.mode.name(), mode, "{now} ms");
    }
    assert!(model.cwnd >= MSS * 200, "{}", model.cwnd);
}

#[test]
fn after_probe_rtt_in_startup_comes_startup() {
    let mut model = starting();
    for now in [10, 5_011, 5_021, 5_222, 5_232] {
        let ack = round(&model, at(now), 4);
        model.on_ack(&ack);
    }
    assert_eq!(model.mode, Mode::Startup);
}

#[test]
fn an_idle_flow_restarts_at_its_rate_without_probing_the_round_trip() {
    let mut model = knowing(Mode::Cruise);
    let last = flight(&model, at(1), 1, 0, 0);
    model.on_ack(&last);
    let mut ack = flight(&model, at(7_000), 1, 10, 0);
    ack.delivery.app_limited = true;
    model.on_ack(&ack);
    assert_ne!(model.mode.name(), "probe_rtt");
    assert_eq!(model.pacing, Some(model.on_wire(RATE)));
}

#[test]
fn a_timeout_leaves_one_segment_and_the_old_window_comes_back_after_the_repair() {
    let mut model = knowing(Mode::Cruise);
    model.on_timeout(MSS * 100);
    assert_eq!(model.cwnd, MSS);
    let ack = flight(&model, at(1), 40, 10, 0);
    model.on_ack(&ack);
    assert_eq!(model.cwnd, MSS * 41);
    let ack = flight(&model, at(2), 60, 10, 0);
    model.on_ack(&ack);
    assert_eq!(model.cwnd, MSS * 200);
}

#[test]
fn marks_lower_the_window_by_a_third_of_their_average_and_end_a_probe_at_one_half() {
    let params =
        Params { ecn: Some(EcnParams { max_rtt: RTT, ..EcnParams::default() }), ..Params::default() };
    let mut model = knowing(Mode::Cruise);
    model.params = params.clone();
    let mut ack = round(&model, at(1), 100);
    ack.marked = MSS * 25;
    model.on_ack(&ack);
    let mut ack = round(&model, at(11), 100);
    ack.marked = MSS * 25;
    model.on_ack(&ack);
    // α = 1 − (1 − 0.25)/16, twice; the first round alone lowers the window, the second is not over.
    let first = 1.0 - 0.75 / 16.0;
    let second = first + (0.25 - first) / 16.0;
    assert!((model.marks.alpha - second).abs() < 1e-12, "{}", model.marks.alpha);
    let kept = (1.0 - first / 3.0) * (1.0 - second / 3.0);
    let found = model.bounds.inflight.expect("bounded").as_f64() / (MSS * 200).as_f64();
    assert!((found - kept).abs() < 0.001, "{found} {kept}");

    let mut model = knowing(Mode::Refill);
    model.params = params;
    let ack = round(&model, at(1), 100);
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Up);
    let mut ack = round(&model, at(11), 100);
    ack.marked = MSS * 50;
    model.on_ack(&ack);
    assert_eq!(model.mode, Mode::Down);
}

#[test]
fn marks_seen_while_probing_lower_no_bound_after_the_probe() {
    let ecn = EcnParams { max_rtt: RTT, ..EcnParams::default() };
    let mut model = knowing(Mode::Refill);
    model.params = Params { ecn: Some(ecn), ..Params::default() };
    model.on_ack(&round(&model, at(1), 100));
    assert_eq!(model.mode, Mode::Up);
    // Less than half is marked, so the probe goes on until something else ends it.
    let marked = Ack { marked: MSS * 25, ..round(&model, at(11), 100) };
    model.on_ack(&marked);
    assert_eq!(model.mode, Mode::Up);
    let half = flight(&model, at(15), 50, 100, 0);
    model.on_ack(&half);
    model.start_down(at(15));
    // The round of losses ends before the round that DOWN has begun.
    let rest = flight(&model, at(21), 60, 100, 0);
    model.on_ack(&rest);
    assert!(!model.round.began && !model.mode.is_probing());
    assert_eq!(model.bounds.inflight, None);
}

#[test]
fn a_small_product_still_has_four_segments() {
    let mut model = knowing(Mode::Cruise);
    model.bandwidth = [BitRate::from_bps(400_000), BitRate::ZERO];
    let ack = flight(&model, at(1), 1, 1, 0);
    let slow = DeliverySample { delivered: MSS, interval: Span::from_ms(20), ..ack.delivery };
    model.on_ack(&Ack { delivery: slow, ..ack });
    assert_eq!(model.cwnd, MSS * 4);
}
