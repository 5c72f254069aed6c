//! The rules by value. Two flows over one bottleneck are in the tests of the simulator.

use super::*;
use crate::cc::conformance::{ack, path};

const LINE: f64 = 10e9;

fn timely(params: &Params, rate: f64) -> Timely {
    Timely { rate, ..Timely::new(params, &path()) }
}

/// A segment is complete; its last packet took `us`.
fn complete(timely: &mut Timely, us: u64) -> f64 {
    timely.on_ack(&Ack { rtt: Some(Span::from_us(us)), ..ack(Bytes::new(16_000)) });
    timely.rate
}

#[track_caller]
fn assert_rate(found: f64, gbps: f64) {
    // 1 b/s in a sum of a few numbers.
    assert!((found - gbps * 1e9).abs() < 1.0, "{found}, expected {gbps} Gb/s");
}

fn gbps(timely: &Timely) -> f64 {
    timely.limit().pacing.expect("it paces").as_f64() / 1e9
}

#[test]
fn a_flow_begins_at_line_rate_and_never_exceeds_it() {
    let mut timely = Timely::new(&Params::default(), &path());
    assert_eq!((timely.rate, timely.limit().cwnd), (LINE, Bytes::MAX));
    assert_rate(complete(&mut timely, 30), 10.0);
}

#[test]
fn below_t_low_the_rate_grows_by_delta_whatever_the_gradient() {
    let mut timely = timely(&Params::default(), 1e9);
    assert_rate(complete(&mut timely, 20), 1.01);
    assert_rate(complete(&mut timely, 49), 1.02);
}

#[test]
fn above_t_high_the_rate_falls_by_how_far_above() {
    // 1 − 0.8·(1 − 500/800) = 0.7, with a gradient below 0.
    let mut timely = timely(&Params::default(), 1e9);
    complete(&mut timely, 499);
    timely.rate = 1e9;
    (timely.previous, timely.rtt_diff) = (Some(Span::from_us(900)), 0.0);
    assert_rate(complete(&mut timely, 800), 0.7);
}

#[test]
fn the_rate_falls_by_the_gradient_of_the_smoothed_difference() {
    let mut timely = timely(&Params::default(), 1e9);
    // The first has no difference: a gradient of 0.
    assert_rate(complete(&mut timely, 100), 1.01);
    timely.rate = 1e9;
    // 0.875·8 us = 7 us; 7/20 = 0.35; 1 − 0.8·0.35 = 0.72.
    assert_rate(complete(&mut timely, 108), 0.72);
    // 0.125·7 us + 0.875·4 us = 4.375 us; 0.21875; 1 − 0.175 = 0.825; 0.72·0.825 = 0.594.
    assert_rate(complete(&mut timely, 112), 0.594);
    // 0.125·4.375 us − 0.875·2 us < 0.
    assert_rate(complete(&mut timely, 110), 0.604);
}

#[test]
fn increases_are_five_times_as_large_from_the_fifth_in_a_row_on() {
    let mut timely = timely(&Params::default(), 1e9);
    let rates: Vec<_> = (0..6).map(|_| (complete(&mut timely, 100) / 1e7).round()).collect();
    assert_eq!(rates, [101.0, 102.0, 103.0, 104.0, 109.0, 114.0]);
    // A decrease begins the count anew, and so does a time below T_low.
    complete(&mut timely, 101);
    assert_eq!(timely.falling, 0);
    for _ in 0..4 {
        complete(&mut timely, 90);
    }
    assert_eq!(timely.falling, 4);
    complete(&mut timely, 49);
    assert_eq!(timely.falling, 0);
}

#[test]
fn a_steep_gradient_stops_at_the_least_rate() {
    // 0.875·200/20 = 8.75: the factor is below 0.
    let mut timely = timely(&Params::default(), 1e9);
    complete(&mut timely, 100);
    assert_rate(complete(&mut timely, 300), 0.01);
}

#[test]
fn patched_weighs_increase_and_decrease_by_the_gradient() {
    let params = Params { patched: true, ..Params::default() };
    let mut timely = timely(&params, 1e9);
    // Gradient 0: w = 1/2, error (100 − 50)/50 = 1. 5 Mb/s + 1 Gb/s·(1 − 0.004) = 1.001 Gb/s.
    assert_rate(complete(&mut timely, 100), 1.001);
    // 0.875·8/20 = 0.35: w = 1, error 1.16; 1 − 0.00928.
    timely.rate = 1e9;
    assert_rate(complete(&mut timely, 108), 0.99072);
    // 0.35/8 − 0.875·24/20 = −1.00625: w = 0.
    timely.rate = 1e9;
    assert_rate(complete(&mut timely, 84), 1.01);
}

#[test]
fn patched_has_one_fixed_point_for_each_rate() {
    // Gradient 0: 5 Mb/s = R·0.004·error. At 1 Gb/s error is 1.25: 112.5 us.
    let params = Params { patched: true, ..Params::default() };
    let mut timely = timely(&params, 1e9);
    timely.previous = Some(Span::from_ns(112_500));
    timely.on_ack(&Ack { rtt: Some(Span::from_ns(112_500)), ..ack(Bytes::new(16_000)) });
    assert_rate(timely.rate, 1.0);
}

#[test]
fn a_segment_is_counted_in_acknowledged_bytes() {
    let mut timely = timely(&Params::default(), 1e9);
    let rates: Vec<_> = (0..8)
        .map(|_| {
            timely.on_ack(&Ack { rtt: Some(Span::from_us(20)), ..ack(Bytes::new(5_000)) });
            (gbps(&timely) * 100.0).round()
        })
        .collect();
    // 16 kB are complete with the fourth, which leaves 4 kB, and 20 kB with the seventh: 4 + 15 = 19 kB.
    assert_eq!(rates, [100.0, 100.0, 100.0, 101.0, 101.0, 101.0, 102.0, 102.0]);
}

#[test]
fn one_update_for_each_round_trip_if_set_to() {
    let mut timely = timely(&Params { every_round_trip: true, ..Params::default() }, 1e9);
    let mut receive = |round_start, rtt| {
        timely.on_ack(&Ack { rtt, round_start, ..ack(Bytes::new(16_000)) });
        (gbps(&timely) * 100.0).round()
    };
    let rtt = Some(Span::from_us(20));
    assert_eq!([receive(false, rtt), receive(true, rtt), receive(false, rtt)], [100.0, 101.0, 101.0]);
    // The packet had been sent twice.
    assert_eq!([receive(true, None), receive(false, rtt)], [101.0, 102.0]);
}

#[test]
fn settings_out_of_range_are_named() {
    let bad = |params: Params| Timely::check(&params, &mut Ranges::default()).unwrap_err().setting;
    assert_eq!(bad(Params { t_high: Span::from_us(49), ..Params::default() }), "t_high");
    assert_eq!(bad(Params { beta: Some(1.5), ..Params::default() }), "beta");
    assert_eq!(bad(Params { alpha: 0.0, ..Params::default() }), "alpha");
    assert_eq!(bad(Params { hai_after: 0, ..Params::default() }), "hai_after");
}

#[test]
fn increases_below_t_low_grow_if_they_count() {
    let increase = |hai_below_t_low, times: u32| {
        let mut timely = timely(&Params { hai_below_t_low, ..Params::default() }, 1e9);
        let rates: Vec<_> = (0..times).map(|_| complete(&mut timely, 30)).collect();
        ((rates[rates.len() - 1] - rates[rates.len() - 2]) / 1e6).round()
    };
    // The fifth in a row is five times as large.
    assert_eq!([increase(true, 4), increase(true, 5), increase(false, 5)], [10.0, 50.0, 10.0]);
}

#[test]
fn the_window_follows_the_rate() {
    let mss = path().mss;
    let timely = timely(&Params { window: Some(mss * 20), ..Params::default() }, LINE / 4.0);
    assert_eq!(timely.limit().cwnd, mss * 5);
}
