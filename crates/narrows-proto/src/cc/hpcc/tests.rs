//! The rules by value. Flows over switches are in the tests of the simulator.

use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::telemetry::Hop;

/// The host of `path()`. 10 Gb/s are 1.25 B/ns.
const RATE: BitRate = BitRate::from_gbps(10);
/// T: W_init is 12 500 B, W_AI = 12 500·0.05/5 = 125 B.
const T: Span = Span::from_us(10);

fn params() -> Params {
    Params { base_rtt: T, flows: 5, ..Params::default() }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn hop(ns: u64, sent: u64, queue: u64) -> Hop {
    Hop::new(RATE, at(ns), sent, queue)
}

struct Fixture(Hpcc);

impl Fixture {
    /// Has received the record of one port that had sent nothing at 0.
    fn new(params: &Params) -> Self {
        Self::with(params, [hop(0, 0, 0)])
    }

    fn with(params: &Params, hops: impl IntoIterator<Item = Hop>) -> Self {
        let mut fixture = Self(Hpcc::new(params, &path()));
        fixture.receive(0, true, hops);
        fixture
    }

    fn receive(&mut self, ns: u64, round_start: bool, hops: impl IntoIterator<Item = Hop>) -> &Hpcc {
        self.0.on_signal(at(ns), &Signal::Telemetry(&Telemetry::new(7, hops)));
        self.0.on_ack(&Ack { now: at(ns), round_start, ..ack(MSS) });
        &self.0
    }

    /// U is set, as if just measured.
    fn compute(&mut self, utilization: f64, update: bool) -> f64 {
        self.0.utilization = utilization;
        self.0.compute(update);
        self.0.window
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{found}, expected {expected}");
}

#[test]
fn a_flow_begins_with_what_its_link_holds_in_t_at_line_rate() {
    let hpcc = Hpcc::new(&params(), &path());
    // Of 1090 B on the wire 1000 B are payload: 12 500·1000/1090 = 11 467.9 B.
    let limit = hpcc.limit();
    assert_eq!((limit.cwnd, limit.pacing), (Bytes::from_f64(12_500.0 / 1.09), Some(RATE)));
    assert_near(hpcc.rules.w_ai, 125.0);
}

#[test]
fn the_default_increase_is_about_that_of_the_paper_at_100_gbps() {
    let path = Path { link: BitRate::from_gbps(100), ..path() };
    // 100 Gb/s · 13 us = 162 500 B; · 0.05 / 100.
    assert_near(Hpcc::new(&Params::default(), &path).rules.w_ai, 81.25);
}

#[test]
fn the_first_record_is_kept_and_changes_nothing() {
    let Fixture(hpcc) = Fixture::new(&params());
    assert_eq!((hpcc.utilization, hpcc.inc_stage), (1.0, 0));
    assert_near(hpcc.window, 12_500.0);
    assert_eq!(hpcc.received, Received::Nothing);
}

#[test]
fn u_is_the_rate_of_the_link_averaged_by_share_of_t() {
    let mut fixture = Fixture::new(&params());
    // 1280 B in 2048 ns: 0.625 B/ns, u = 0.5. Share 0.2048: U = 0.7952 + 0.1024 = 0.8976.
    fixture.receive(2048, false, [hop(2048, 1280, 0)]);
    assert_near(fixture.0.utilization, 0.8976);
}

#[test]
fn the_smaller_of_two_queues_counts() {
    let mut fixture = Fixture::with(&params(), [hop(0, 0, 4000)]);
    // min(4000, 2000)/(1.25·10 000) = 0.16; 2560 B in 2048 ns are 1. U = 0.7952 + 0.2048·1.16.
    fixture.receive(2048, false, [hop(2048, 2560, 2000)]);
    assert_near(fixture.0.utilization, 0.7952 + 0.2048 * 1.16);
    // The other way round: the queue before was 2000 B.
    fixture.0.utilization = 1.0;
    fixture.receive(4096, false, [hop(4096, 5120, 8000)]);
    assert_near(fixture.0.utilization, 0.7952 + 0.2048 * 1.16);
}

#[test]
fn the_busiest_link_counts_with_its_own_time_and_rate() {
    let slow = BitRate::from_gbps(5);
    let on_slow = |ns, sent| Hop::new(slow, at(ns), sent, 0);
    let mut fixture = Fixture::with(&params(), [hop(0, 0, 0), on_slow(100, 0)]);
    // First link: 0.5. Second: 1280 B in 2560 ns, 0.5 of 0.625 B/ns: 0.8, share 0.256.
    fixture.receive(2660, false, [hop(2048, 1280, 0), on_slow(2660, 1280)]);
    assert_near(fixture.0.utilization, 0.744 + 0.256 * 0.8);
}

#[test]
fn what_is_longer_than_t_counts_as_t() {
    let mut fixture = Fixture::new(&params());
    // 12 800 B in 20 480 ns: 0.5.
    fixture.receive(20_480, false, [hop(20_480, 12_800, 0)]);
    assert_near(fixture.0.utilization, 0.5);
}

#[test]
fn above_eta_the_reference_window_is_scaled() {
    let mut fixture = Fixture::new(&params());
    // 12 500/(1.9/0.95) + 125. The window that others see is not the reference yet.
    assert_near(fixture.compute(1.9, false), 6_375.0);
    assert_near(fixture.compute(1.9, false), 6_375.0);
    assert_near(fixture.0.reference, 12_500.0);
    assert_near(fixture.compute(1.9, true), 6_375.0);
    // 6375/2 + 125.
    assert_near(fixture.compute(1.9, false), 3_312.5);
}

#[test]
fn below_eta_the_window_grows_by_w_ai_for_max_stage_round_trips_then_it_is_scaled() {
    let mut fixture = Fixture::new(&params());
    (fixture.0.reference, fixture.0.window) = (5_000.0, 5_000.0);
    // Within a round trip the stage does not change.
    assert_near(fixture.compute(0.5, false), 5_125.0);
    assert_near(fixture.compute(0.5, false), 5_125.0);
    for stage in 1..=5_u32 {
        assert_near(fixture.compute(0.5, true), 5_000.0 + 125.0 * f64::from(stage));
        assert_eq!(fixture.0.inc_stage, stage);
    }
    // 5625·0.95/0.5 + 125.
    assert_near(fixture.compute(0.5, true), 10_812.5);
    assert_eq!(fixture.0.inc_stage, 0);
}

#[test]
fn exactly_eta_scales_and_resets_the_stage() {
    let mut fixture = Fixture::new(&params());
    (fixture.0.reference, fixture.0.inc_stage) = (5_000.0, 3);
    assert_near(fixture.compute(0.95, true), 5_125.0);
    assert_eq!(fixture.0.inc_stage, 0);
}

#[test]
fn without_stages_the_window_is_always_scaled() {
    let mut fixture = Fixture::new(&Params { max_stage: 0, ..params() });
    fixture.0.reference = 5_000.0;
    assert_near(fixture.compute(0.5, true), 9_625.0);
}

#[test]
fn the_window_stays_between_what_the_least_rate_and_the_link_send_in_t() {
    let mut fixture = Fixture::new(&params());
    assert_near(fixture.compute(0.1, true), 12_500.0);
    fixture.0.reference = 125.0;
    // 100 Mb/s · 10 us = 125 B.
    fixture.0.rules.w_ai = 0.0;
    assert_near(fixture.compute(4.0, true), 125.0);
    let limit = fixture.0.limit();
    assert_eq!((limit.cwnd, limit.pacing), (MSS, Some(BitRate::from_mbps(100))));
}

#[test]
fn the_reference_changes_once_for_each_round_trip() {
    let mut fixture = Fixture::new(&params());
    // Always 1.25 of what is sent at line rate: a queue of 3125 B is 0.25, recorded as 3120 B.
    let mut reference = Vec::new();
    for step in 1..=6_u64 {
        let ns = step * 10_240;
        fixture.receive(ns, step % 3 == 0, [hop(ns, step * 12_800, 3125)]);
        reference.push(fixture.0.reference.round());
    }
    // U: at first min(0, 3120), so 1; then 1.2496. 12 500·0.95/1.2496 + 125 = 9628; 9628·0.95/1.2496 + 125 = 7445.
    assert_eq!(reference, [12_500.0, 12_500.0, 9_628.0, 9_628.0, 9_628.0, 7_445.0]);
}

#[test]
fn records_of_another_way_are_kept_and_nothing_is_computed_from_them() {
    let mut fixture = Fixture::new(&params());
    fixture.0.on_signal(at(1000), &Signal::Telemetry(&Telemetry::new(8, [hop(1000, 64_000, 0)])));
    assert_eq!((fixture.0.utilization, fixture.0.received), (1.0, Received::Kept));
    fixture.0.on_signal(at(3048), &Signal::Telemetry(&Telemetry::new(8, [hop(3048, 65_280, 0)])));
    assert_near(fixture.0.utilization, 0.8976);
}

#[test]
fn an_answer_that_was_overtaken_says_nothing() {
    let mut fixture = Fixture::new(&params());
    fixture.receive(2048, false, [hop(2048, 1280, 0)]);
    let before = fixture.0.utilization;
    fixture.receive(2100, true, [hop(1000, 640, 0)]);
    assert_eq!(fixture.0.utilization, before);
    // The round trip that ended with it is not forgotten.
    assert!(fixture.0.round_over);
    fixture.receive(4096, false, [hop(4096, 2560, 0)]);
    assert_eq!((fixture.0.round_over, fixture.0.inc_stage), (false, 1));
}

#[test]
fn settings_out_of_range_are_named() {
    let bad = |params: Params| Hpcc::check(&params, &mut Ranges::default()).unwrap_err().setting;
    assert_eq!(bad(Params { eta: 0.0, ..params() }), "eta");
    assert_eq!(bad(Params { base_rtt: Span::ZERO, ..params() }), "base_rtt");
    assert_eq!(bad(Params { flows: 0, ..params() }), "flows");
}

#[test]
fn windows_of_payload_hold_the_packets_that_begin_within_them() {
    // 12 500 B and packets of 1000 B: the thirteenth begins at 12 000.
    let hpcc = Hpcc::new(&Params { payload_window: true, ..params() }, &path());
    let limit = hpcc.limit();
    assert_eq!((limit.cwnd, limit.pacing), (MSS * 13, Some(RATE)));
}
