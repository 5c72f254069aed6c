//! The rules by value. Flows over switches are in the tests of the simulator.

use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::telemetry::Hop;
use crate::units::{BitRate, Bytes};

/// The host of `path()`. 10 Gb/s are 1.25 B/ns.
const RATE: BitRate = BitRate::from_gbps(10);
/// tau: the product is 12 500 B, and beta a tenth of it, 1250 B.
const TAU: Span = Span::from_us(10);

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn hop(ns: u64, sent: u64, queue: u64) -> Hop {
    Hop::new(RATE, at(ns), sent, queue)
}

struct Fixture(Powertcp);

impl Fixture {
    /// Has received the record of one port that had sent nothing at 0.
    fn new() -> Self {
        Self::with([hop(0, 0, 0)])
    }

    fn with(hops: impl IntoIterator<Item = Hop>) -> Self {
        let mut fixture = Self(Powertcp::new(&Params { base_rtt: TAU, ..Params::default() }, &path()));
        fixture.receive(0, 0, hops);
        fixture
    }

    /// An acknowledgment at `ns` of a packet sent `rtt` ns before. Returns S and the window.
    fn receive(&mut self, ns: u64, rtt: u64, hops: impl IntoIterator<Item = Hop>) -> (f64, f64) {
        self.0.on_signal(at(ns), &Signal::Telemetry(&Telemetry::new(7, hops)));
        self.0.on_ack(&Ack { now: at(ns), rtt: Some(Span::from_ns(rtt)), ..ack(MSS) });
        (self.0.window.power().unwrap_or(f64::NAN), self.0.window.limit().cwnd.as_f64() * 1.09)
    }
}

#[track_caller]
fn assert_near((power, window): (f64, f64), expected: (f64, f64)) {
    assert!((power - expected.0).abs() < 1e-9, "S = {power}, expected {}", expected.0);
    // The limit is whole bytes of payload.
    assert!((window - expected.1).abs() < 1.1, "{window} B, expected {}", expected.1);
}

#[test]
fn a_flow_begins_with_the_product_at_line_rate() {
    let limit = Fixture::new().0.limit();
    // Of 1090 B on the wire 1000 B are payload.
    assert_eq!((limit.cwnd, limit.pacing), (Bytes::from_f64(12_500.0 / 1.09), Some(RATE)));
}

#[test]
fn the_window_by_hand() {
    let mut flow = Fixture::new();
    // 5120 B sent in 2048 ns and 2000 B more waiting: lambda = 7120/2048 = 3.4765625 B/ns.
    // P = 3.4765625·(2000 + 12 500)/(1.25²·10 000) = 3.22625; the first S is P.
    // cwnd = 0.9·(12 500/3.22625 + 1250) + 0.1·12 500 = 5862.02.
    assert_near(flow.receive(2_048, 2_000, [hop(2_048, 5_120, 2_000)]), (3.226_25, 5_862.022));
    // Nothing more waits, the link is busy: 2560 B in 2048 ns. P = 1.25·14 500/(15 625) = 1.16; dt is 0.2048 of tau.
    // S = 0.7952·3.22625 + 0.2048·1.16 = 2.803082. The packet was sent at 96 ns, when the window was 12 500 B.
    // cwnd = 0.9·(12 500/2.803082 + 1250) + 0.1·5862.022 = 5724.642.
    assert_near(flow.receive(4_096, 4_000, [hop(4_096, 7_680, 2_000)]), (2.803_082, 5_724.642));
    // Sent at 2096 ns, with 5862.022 B. The queue falls by 2000 B while 2560 B are sent: lambda = 560/2048 = 0.2734375 B/ns.
    // P = 0.2734375·12 500/15 625 = 0.21875; S = 0.7952·2.803082 + 0.2048·0.21875 = 2.273810806.
    // cwnd = 0.9·(5862.022/2.273811 + 1250) + 0.1·5724.642 = 4017.726.
    assert_near(flow.receive(6_144, 4_048, [hop(6_144, 10_240, 0)]), (2.273_810_806_4, 4_017.726));
}

#[test]
fn the_busiest_link_counts_with_its_own_time_and_rate() {
    let slow = |ns, sent, queue| Hop::new(BitRate::from_gbps(5), at(ns), sent, queue);
    let mut flow = Fixture::with([hop(0, 0, 0), slow(100, 0, 0)]);
    // First link: 1280 B in 2048 ns, a half. Second: 1280 B in 2560 ns are 0.8 of 0.625 B/ns; 800 B wait of 6250 B, but arrived before.
    // lambda = (1280 + 800)/2560 = 0.8125; P = 0.8125·(800 + 6250)/(0.625²·10 000) = 1.4664.
    let found = flow.receive(2_660, 2_000, [hop(2_048, 1_280, 0), slow(2_660, 1_280, 800)]);
    assert_near(found, (1.4664, 0.9 * (12_500.0 / 1.4664 + 1_250.0) + 1_250.0));
}

#[test]
fn what_is_longer_than_tau_counts_as_tau() {
    let mut flow = Fixture::new();
    flow.receive(2_048, 2_000, [hop(2_048, 5_120, 2_000)]);
    // 25 600 B in 20 480 ns and 2000 B less waiting: lambda = 23 600/20 480; P = lambda/1.25 = 0.921875 and nothing of S before.
    let (power, _) = flow.receive(22_528, 2_000, [hop(22_528, 30_720, 0)]);
    assert!((power - 0.921_875).abs() < 1e-9, "{power}");
}

#[test]
fn the_window_stays_between_a_packet_and_the_product() {
    let mut flow = Fixture::new();
    // An idle link: P is 2⁻¹⁶.
    assert_near(flow.receive(20_000, 2_000, [hop(20_000, 0, 0)]), (1.0 / 65_536.0, 12_500.0));
    // Five megabytes wait.
    let found = flow.receive(40_000, 2_000, [hop(40_000, 25_600, 5_000_000)]);
    assert!(found.1 < 2_500.0, "{}", found.1);
    let params = Params { base_rtt: TAU, flows: u32::MAX, gain: 1.0 };
    let mut alone = Fixture(Powertcp::new(&params, &path()));
    alone.receive(0, 0, [hop(0, 0, 0)]);
    let found = alone.receive(20_000, 2_000, [hop(20_000, 25_600, 5_000_000)]);
    assert!((found.1 - 1_090.0).abs() < 1.1, "{}", found.1);
}

#[test]
fn where_it_stands_still_beta_waits() {
    // A link of half the rate: w = w/S + beta, S = (q + b·tau)/(b·tau), w = q + b·tau: q = beta = 1250 B, w = 7500 B.
    let mut window = Fixture::new().0.window;
    for step in 0..200 {
        let queue = (window.limit().cwnd.as_f64() * 1.09 - 6_250.0).max(0.0);
        window.smooth((queue + 6_250.0) / 6_250.0, 1.0);
        window.update(&Ack { now: at(step * 10_000), rtt: Some(Span::from_ns(1)), ..ack(MSS) });
    }
    // 2 B: whole bytes of payload are fed back.
    assert!((window.limit().cwnd.as_f64() * 1.09 - 7_500.0).abs() < 2.0, "{:?}", window.limit());
}
