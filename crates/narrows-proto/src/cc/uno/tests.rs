//! The rules by value. Flows over phantom queues are in the tests of the simulator.

use super::*;
use crate::cc::DeliverySample;
use crate::cc::conformance::{MSS, ack, path};

/// A path of Uno between data centers: 100 Gb/s over 1.792 ms are 22 400 000 B.
fn inter() -> (Params, Path) {
    let params = Params { base_rtt: Some(Span::from_us(1_792)), ..Params::default() };
    (
        params,
        Path { link: BitRate::from_gbps(100), packet: Bytes::new(4_160), mss: Bytes::new(4_096), ..path() },
    )
}

/// 100 us at 10 Gb/s: 125 000 B, AI is 125 B, beta 4·24 576/149 576 = 0.657, so 1/2. Packets of 1090 B.
fn uno() -> Uno {
    with(&Params::default())
}

fn with(params: &Params) -> Uno {
    Uno::new(&Params { base_rtt: Some(Span::from_us(100)), ..params.clone() }, &path())
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// An acknowledgment at `us` of packets that were sent `rtt` before.
fn seen(us: u64, rtt: u64, segments: u64, marked: u64) -> Ack {
    let rtt = Span::from_us(rtt);
    Ack {
        now: at(us),
        rtt: Some(rtt),
        since_sent: rtt,
        srtt: rtt,
        marked: MSS * marked,
        sent: MSS * 1_000,
        ..ack(MSS * segments)
    }
}

/// In the middle of epochs, with this window and E, at the end of one that ended `us`.
fn in_epochs(params: &Params, cwnd: f64, marks: f64, us: u64) -> Uno {
    let mut uno = with(&Params { quick_adapt: false, ..params.clone() });
    uno.0.cwnd = Some(cwnd);
    uno.0.marks = Ewma::new(marks, uno.0.rules.params.gain);
    uno.0.epoch = Some(Epoch { end: at(us), acked: 0.0, marked: 0.0 });
    uno
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "{found}, expected {expected}");
}

#[test]
fn beta_is_that_of_the_reference_inside_and_between_data_centers() {
    let (params, path) = inter();
    let between = Uno::new(&params, &path);
    // 98 304/(22 400 000 + 24 576) and 98 304/(175 000 + 24 576).
    assert_near(between.0.rules.beta(between.0.base), 0.004_383_761);
    let params = Params { base_rtt: Some(Span::from_us(14)), ..params };
    let inside = Uno::new(&params, &path);
    assert_near(inside.0.rules.beta(inside.0.base), 0.492_564_236);
}

#[test]
fn a_flow_begins_with_the_product_paced_over_the_base_round_trip() {
    let limit = uno().limit();
    // 125 000 B on the wire, 1000 of each 1090 B are payload; 10 Gb/s but for whole bytes.
    assert_eq!(limit.cwnd, Bytes::new(114_678));
    assert!(limit.pacing.is_some_and(|rate| (rate.as_f64() / 1e10 - 1.0).abs() < 1e-5), "{limit:?}");
}

#[test]
fn a_measured_base_gives_the_first_window() {
    let mut uno = Uno::new(&Params { quick_adapt: false, ..Params::default() }, &path());
    assert_eq!(uno.limit(), Limit::window(path().initial_window));
    uno.on_ack(&seen(200, 200, 1, 0));
    assert_eq!(uno.0.cwnd, Some(250_000.0));
    uno.on_ack(&seen(210, 150, 1, 1));
    assert_eq!(uno.0.base, Span::from_us(150));
}

#[test]
fn quick_adapt_begins_when_the_first_measured_window_arrives() {
    let mut uno = Uno::new(&Params::default(), &path());
    uno.on_ack(&seen(200, 200, 1, 0));
    // Sent in the initial window, which is far less.
    uno.on_ack(&seen(400, 200, 1, 0));
    assert!(uno.0.period.is_none());
    uno.on_ack(&seen(401, 200, 1, 0));
    assert!(uno.0.period.is_some());
}

#[test]
fn an_unmarked_window_adds_a_thousandth_of_the_product() {
    let mut uno = in_epochs(&Params::default(), 109_000.0, 0.0, 1_000);
    // 100 segments are 109 000 B on the wire: + 125 B.
    uno.on_ack(&seen(200, 104, 100, 0));
    assert_near(uno.0.cwnd.expect("it is known"), 109_125.0);
    // Marked, or late, or for want of data: nothing.
    uno.on_ack(&seen(200, 104, 1, 1));
    uno.on_ack(&seen(200, 105, 1, 0));
    let idle = DeliverySample { app_limited: true, ..DeliverySample::default() };
    uno.on_ack(&Ack { delivery: idle, ..seen(200, 104, 1, 0) });
    assert_near(uno.0.cwnd.expect("it is known"), 109_125.0);
}

#[test]
fn an_epoch_ends_with_a_packet_sent_at_its_end_mark_and_cuts_by_the_fraction() {
    let mut uno = in_epochs(&Params::default(), 100_000.0, 0.0, 1_000);
    // Sent at 999 us: counts, decides nothing.
    uno.on_ack(&seen(1_109, 110, 3, 3));
    assert_near(uno.0.cwnd.expect("it is known"), 100_000.0);
    // Sent at 1000 us. F = 4/8, E = 0.65·0.5 = 0.325; E' was 0; 110 us are more than 1.055·100: b = 1/2.
    uno.on_ack(&seen(1_110, 110, 5, 1));
    assert_near(uno.0.marks.get(), 0.325);
    assert_near(uno.0.cwnd.expect("it is known"), 100_000.0 * (1.0 - 0.325 * 0.5));
    // The next ends 110 us · 14/100 = 15.4 us later.
    assert_eq!(uno.0.epoch.map(|epoch| epoch.end), Some(at(1_000) + Span::from_ns(15_400)));
}

#[test]
fn a_long_epoch_ends_a_round_trip_later() {
    let mut uno = in_epochs(&Params { epochs: Epochs::Long, ..Params::default() }, 100_000.0, 0.0, 1_000);
    uno.on_ack(&seen(1_110, 110, 1, 0));
    assert_eq!(uno.0.epoch.map(|epoch| epoch.end), Some(at(1_110)));
}

#[test]
fn a_flow_that_was_idle_does_not_decide_with_every_acknowledgment() {
    let mut uno = in_epochs(&Params::default(), 100_000.0, 0.0, 1_000);
    uno.on_ack(&seen(9_100, 100, 1, 0));
    assert_eq!(uno.0.epoch.map(|epoch| epoch.end), Some(at(9_000)));
}

#[test]
fn with_the_phantom_queue_alone_full_the_cut_is_035_of_beta() {
    // E' = 0.1, F = 1: E = 0.035 + 0.65 = 0.685.
    for (rtt, beta) in [(105, 0.35 * 0.5), (106, 0.5)] {
        let mut uno = in_epochs(&Params::default(), 100_000.0, 0.1, 1_000);
        uno.on_ack(&seen(1_000 + rtt, rtt, 1, 1));
        assert_near(uno.0.cwnd.expect("it is known"), 100_000.0 * (1.0 - 0.685 * beta));
    }
}

#[test]
fn while_e_falls_the_window_grows_by_the_bytes_of_the_epoch() {
    // F = 1/10, E' = 0.8: E = 0.28 + 0.065 = 0.345. 10 segments are 10 900 B: + 125·10 900/100 000.
    let mut uno = in_epochs(&Params::default(), 100_000.0, 0.8, 1_000);
    uno.on_ack(&seen(1_110, 110, 10, 1));
    assert_near(uno.0.marks.get(), 0.345);
    assert_near(uno.0.cwnd.expect("it is known"), 100_013.625);
    // Above 0.9 it is cut all the same: F = 0.95, E' = 0.99: E = 0.3465 + 0.6175.
    let mut uno = in_epochs(&Params::default(), 100_000.0, 0.99, 1_000);
    uno.on_ack(&seen(1_110, 110, 20, 19));
    assert_near(uno.0.cwnd.expect("it is known"), 100_000.0 * (1.0 - 0.964 * 0.5));
}

#[test]
fn what_was_sent_twice_counts() {
    let mut uno = in_epochs(&Params::default(), 50_000.0, 0.0, 500);
    uno.on_ack(&Ack { rtt: None, ..seen(200, 100, 10, 0) });
    // AI is 125 B, ten segments are 10 900 B.
    assert_near(uno.0.cwnd.expect("it is known"), 50_000.0 + 125.0 * 10_900.0 / 50_000.0);
    let mut uno = with(&Params::default());
    uno.on_ack(&seen(100, 100, 1, 0));
    uno.on_ack(&Ack { rtt: None, ..seen(150, 100, 60, 0) });
    uno.on_ack(&seen(205, 120, 1, 0));
    // Sixty segments are more than half of the window: no quick adapt.
    assert_near(uno.0.cwnd.expect("it is known"), 125_000.0);
}

#[test]
fn epochs_begin_when_a_window_has_been_sent() {
    let mut uno = with(&Params { quick_adapt: false, ..Params::default() });
    // 114 678 B of payload.
    uno.on_ack(&Ack { sent: MSS * 114, ..seen(100, 100, 1, 1) });
    assert!(uno.0.epoch.is_none());
    uno.on_ack(&Ack { sent: MSS * 115, ..seen(101, 100, 1, 1) });
    assert_eq!(uno.0.epoch.map(|epoch| epoch.end), Some(at(101)));
}

#[test]
fn quick_adapt_leaves_96_percent_of_what_arrives_in_a_round_trip() {
    let mut uno = uno();
    uno.on_ack(&seen(100, 100, 1, 0));
    uno.on_ack(&seen(204, 120, 39, 0));
    assert_near(uno.0.cwnd.expect("it is known"), 125_000.0);
    // 105 us: 40 segments after the first are 43 600 B, less than 62 500 B.
    uno.on_ack(&seen(205, 120, 1, 0));
    assert_near(uno.0.cwnd.expect("it is known"), 0.96 * 43_600.0);
    // It rests until a packet sent after 205 us is acknowledged, and epochs until 38 400 B of payload more have been sent.
    assert_eq!((uno.0.window_sent, uno.0.epoch.is_none()), (1_038_400, true));
    uno.on_ack(&seen(305, 100, 1, 0));
    assert!(uno.0.period.is_none());
    uno.on_ack(&seen(306, 100, 1, 0));
    assert!(uno.0.period.is_some());
}

#[test]
fn quick_adapt_sets_in_where_a_queue_is_nearly_full() {
    // 900 000 B at 10 Gb/s are 720 us. 110 segments are 119 900 B.
    for (rtt, expected) in [(820, 125_000.0), (821, 0.96 * 119_900.0)] {
        let mut uno = uno();
        uno.on_ack(&seen(100, 106, 1, 0));
        uno.on_ack(&seen(205, rtt, 110, 0));
        assert_near(uno.0.cwnd.expect("it is known"), expected);
    }
}

#[test]
fn a_flow_without_more_data_does_not_adapt() {
    let idle = DeliverySample { app_limited: true, ..DeliverySample::default() };
    let mut uno = uno();
    uno.on_ack(&seen(100, 100, 1, 0));
    uno.on_ack(&Ack { delivery: idle, ..seen(300, 100, 1, 0) });
    assert_eq!(uno.0.cwnd, Some(125_000.0));
}

#[test]
fn losses_change_nothing() {
    let mut uno = uno();
    let before = uno.limit();
    uno.on_congestion(at(1), Congestion::Timeout { flight_size: MSS, repeated: false });
    uno.on_congestion(at(2), Congestion::Loss { flight_size: MSS });
    assert_eq!(uno.limit(), before);
}
