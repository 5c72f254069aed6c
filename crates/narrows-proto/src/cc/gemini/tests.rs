//! GEMINI against values worked by hand, and against its analysis on a bottleneck.

use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::cc::{Config, dctcp};
use crate::stream::Params as Stream;
use crate::stream::bottleneck::{Bottleneck, Sample, run};

const GIGABIT: BitRate = BitRate::from_gbps(1);

fn at_gigabit() -> Params {
    Params { capacity: Some(GIGABIT), ..Params::default() }
}

/// F is 0.5 and alpha stays where it is, so that cuts are easy to recognize.
fn gemini(alpha: f64, change: impl FnOnce(Params) -> Params) -> Gemini {
    let threshold = Bytes::new(1_000_000);
    let params = Params {
        marking_threshold: Some(threshold.into()),
        initial_alpha: alpha,
        gain: 1e-9,
        ..at_gigabit()
    };
    Gemini::new(&change(params), &path())
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// An acknowledgment after `rtt_ms` that does not let the window grow.
fn seen(now: Time, rtt_ms: u64) -> Ack {
    let rtt = Span::from_ms(rtt_ms);
    Ack { now, rtt: Some(rtt), srtt: rtt, cwnd_limited: false, ..ack(MSS) }
}

fn segments(gemini: &Gemini) -> f64 {
    gemini.window.get()
}

/// The base is 10 ms, and one whole round takes `round` each. The acknowledgment that ends it is at 100 ms.
fn after_round(gemini: &mut Gemini, round: &[u64]) {
    gemini.on_ack(&Ack { round_start: true, ..seen(at(20), 10) });
    for (index, rtt) in round.iter().enumerate() {
        gemini.on_ack(&Ack { round_start: index == 0, ..seen(at(50), *rtt) });
    }
    gemini.on_ack(&Ack { round_start: true, ..seen(at(100), 16) });
}

#[test]
fn h_is_proportional_to_the_product_between_its_bounds() {
    // 1.2e-7 times 1e7, 2e5 and 1e8 bits: 1.2, 0.024 and 12 segments.
    let h = |capacity, rtt| {
        Rules::new(&Params { capacity: Some(capacity), ..Params::default() }, &path()).increase(rtt)
    };
    assert!((h(GIGABIT, Span::from_ms(10)) - 1.2).abs() < 1e-12);
    assert_eq!(h(GIGABIT, Span::from_us(200)), 0.1);
    assert_eq!(h(BitRate::from_gbps(10), Span::from_ms(10)), 5.0);
}

#[test]
fn f_is_that_of_theorem_1_up_to_its_cap() {
    // K = 50 packets of 1090 B = 436 kbit. 10 ms: 4·436/(10 000 + 436) = 0.16711. 200 us: 4·436/(200 + 436) = 2.742.
    let rules = Rules::new(&Params { max_scale: 4.0, ..at_gigabit() }, &path());
    assert!((rules.scale(Span::from_ms(10)) - 0.16711).abs() < 1e-5);
    assert!((rules.scale(Span::from_us(200)) - 2.742).abs() < 1e-3);
    let capped = Rules::new(&at_gigabit(), &path());
    assert_eq!(capped.scale(Span::from_us(200)), 0.5);
}

#[test]
fn with_k_a_seventh_of_the_product_f_is_that_of_dctcp() {
    // 50 kB = 400 kbit, 2.8 ms at 1 Gb/s = 2800 kbit: 1600/3200.
    let params = Params { marking_threshold: Some(Bytes::new(50_000).into()), ..at_gigabit() };
    assert!((Rules::new(&params, &path()).scale(Span::from_us(2_800)) - 0.5).abs() < 1e-12);
}

#[test]
fn without_settings_capacity_is_the_own_link_and_k_follows_it() {
    let rules = Rules::new(&Params::default(), &path());
    assert_eq!(rules.capacity, 1e10);
    assert_eq!(rules.threshold, 10.0 * 50.0 * 1090.0 * 8.0);
}

#[test]
fn a_mark_takes_alpha_times_f() {
    let mut gemini = gemini(0.4, |params| params);
    gemini.on_ack(&Ack { marked: MSS, ..seen(at(20), 10) });
    assert_eq!(segments(&gemini), 10.0 * (1.0 - 0.4 * 0.5));
}

#[test]
fn delay_above_the_threshold_for_a_whole_round_takes_beta() {
    let mut gemini = gemini(0.0, |params| params);
    after_round(&mut gemini, &[16, 17, 16]);
    assert_eq!(segments(&gemini), 8.0);
}

#[test]
fn slow_start_that_ignores_delay_ends_with_a_mark() {
    let mut gemini = gemini(0.4, |params| Params { slow_start_ignores_delay: true, ..params });
    after_round(&mut gemini, &[16, 17, 16]);
    assert_eq!(segments(&gemini), 10.0);
    gemini.on_ack(&Ack { marked: MSS, ..seen(at(101), 16) });
    assert!((segments(&gemini) - 10.0 * (1.0 - 0.4 * 0.5)).abs() < 1e-6);
    // In congestion avoidance delay counts: the round that ends here had 16 ms.
    gemini.on_ack(&Ack { round_start: true, ..seen(at(120), 16) });
    gemini.on_ack(&Ack { round_start: true, ..seen(at(140), 16) });
    assert!((segments(&gemini) - 8.0 * 0.8).abs() < 1e-6, "{}", segments(&gemini));
}

#[test]
fn one_round_trip_below_the_threshold_acquits_the_round() {
    let mut gemini = gemini(0.0, |params| params);
    after_round(&mut gemini, &[16, 15, 16]);
    assert_eq!(segments(&gemini), 10.0);
}

#[test]
fn a_base_that_is_known_is_not_raised_by_what_is_measured() {
    // Rounds of 16 ms: no delay to a connection that has seen nothing else, 6 ms too much to one that knows of 10 ms.
    for (known, left) in [(None, 10.0), (Some(Span::from_ms(10)), 8.0)] {
        let mut gemini = gemini(0.0, |params| Params { max_base_rtt: known, ..params });
        gemini.on_ack(&Ack { round_start: true, ..seen(at(20), 16) });
        gemini.on_ack(&Ack { round_start: true, ..seen(at(50), 16) });
        gemini.on_ack(&Ack { round_start: true, ..seen(at(100), 16) });
        assert_eq!(segments(&gemini), left);
    }
    let mut gemini = gemini(0.0, |params| Params { max_base_rtt: Some(Span::from_ms(10)), ..params });
    gemini.on_ack(&Ack { round_start: true, ..seen(at(20), 2) });
    assert_eq!(gemini.base_rtt, Span::from_ms(2));
}

#[test]
fn of_both_signals_the_heavier_cut_counts() {
    for (alpha, left) in [(1.0, 5.0), (0.1, 8.0)] {
        let mut gemini = gemini(alpha, |params| params);
        after_round(&mut gemini, &[16, 16]);
        assert_eq!(segments(&gemini), 8.0);
        // Both at once, with the window as it was.
        gemini.window = SegmentWindow::new(MSS, MSS * 10, 2);
        gemini.rest = Rest::NONE;
        gemini.on_ack(&Ack { marked: MSS, ..seen(at(120), 16) });
        assert!((segments(&gemini) - left).abs() < 1e-6, "{}", segments(&gemini));
    }
}

#[test]
fn a_signal_within_a_round_trip_of_a_reduction_neither_cuts_nor_lets_grow() {
    let mut gemini = gemini(1.0, |params| params);
    let mark = |ms| Ack { marked: MSS, cwnd_limited: true, ..seen(at(ms), 10) };
    gemini.on_ack(&mark(20));
    assert_eq!(segments(&gemini), 5.0);
    gemini.on_ack(&mark(21));
    gemini.on_ack(&mark(29));
    assert_eq!(segments(&gemini), 5.0);
    gemini.on_ack(&mark(30));
    assert_eq!(segments(&gemini), 2.5);
}

#[test]
fn round_trips_begun_before_a_reduction_do_not_cause_the_next() {
    let mut gemini = gemini(0.0, |params| params);
    after_round(&mut gemini, &[16, 16]);
    assert_eq!(segments(&gemini), 8.0);
    // Sent before 100 ms, and so before the reduction; they end a round.
    gemini.on_ack(&seen(at(110), 16));
    gemini.on_ack(&Ack { round_start: true, ..seen(at(117), 16) });
    assert_eq!(segments(&gemini), 8.0);
    // This one was sent after it.
    gemini.on_ack(&Ack { round_start: true, ..seen(at(140), 16) });
    assert_eq!(segments(&gemini), 6.4);
}

#[test]
fn a_window_of_acknowledgments_adds_h() {
    let mut gemini = gemini(1.0, |params| params);
    gemini.on_ack(&Ack { marked: MSS, ..seen(at(20), 10) });
    for _ in 0..5 {
        gemini.on_ack(&Ack { cwnd_limited: true, ..seen(at(40), 10) });
    }
    // 1.2, less what the later acknowledgments of a window lose because it has grown: at most 1.2²/5/2.
    let grown = segments(&gemini) - 5.0;
    assert!(grown < 1.2 && grown > 1.2 - 0.144, "{grown}");
}

#[test]
fn without_its_delay_half_it_ignores_delay() {
    let mut gemini = gemini(0.0, |params| Params { delay: false, ..params });
    after_round(&mut gemini, &[160, 160]);
    assert_eq!(segments(&gemini), 10.0);
}

#[test]
fn without_its_ecn_half_it_is_not_marked_and_ignores_marks() {
    let mut gemini = gemini(1.0, |params| Params { ecn: false, ..params });
    gemini.on_ack(&Ack { marked: MSS, ..seen(at(20), 10) });
    assert_eq!(segments(&gemini), 10.0);
    assert_eq!(Gemini::ecn(&Params { ecn: false, ..Params::default() }), Ecn::Off);
    assert_eq!(Gemini::ecn(&Params::default()), Ecn::Accurate);
}

#[test]
fn a_loss_halves_and_marks_of_the_same_round_trip_take_no_more() {
    let mut gemini = gemini(1.0, |params| params);
    gemini.on_ack(&seen(at(20), 10));
    gemini.on_congestion(at(21), Congestion::Loss { flight_size: MSS * 10 });
    gemini.on_ack(&Ack { marked: MSS, ..seen(at(25), 10) });
    assert_eq!(segments(&gemini), 5.0);
}

#[test]
fn every_packet_is_paced_once_the_round_trip_is_known() {
    let mut gemini = gemini(1.0, |params| params);
    assert_eq!(gemini.limit().pacing, None);
    gemini.on_ack(&seen(at(20), 10));
    // Slow start: 2 · 10 · 1090 B · 8 / 10 ms.
    assert_eq!(gemini.limit().pacing, Some(BitRate::from_bps(17_440_000)));
    gemini.on_ack(&Ack { marked: MSS, ..seen(at(21), 10) });
    // 1.2 · 5 · 1090 B · 8 / 10 ms.
    assert_eq!(gemini.limit().pacing, Some(BitRate::from_bps(5_232_000)));
}

// On a bottleneck of 1 Gb/s and 10 ms, as in the testbed of §IV-A: C·RTT is 813 packets of 1538 B, payload at most
// 941.5 Mb/s.

/// A full packet on the wire.
const PACKET: Bytes = Bytes::new(1538);
const FULL: f64 = 1e9 * 1448.0 / 1538.0;

/// Measurements of the last `seconds` before the end.
struct Outcome {
    /// Packets that waited, least and most.
    queue: (f64, f64),
    /// Payload of each connection in bit/s.
    rates: Vec<f64>,
}

impl Outcome {
    fn of(all: &[Vec<Sample>], samples: usize) -> Self {
        let last = |one: &Vec<Sample>| one[one.len() - samples..].to_vec();
        let queue: Vec<f64> =
            last(&all[0]).iter().map(|sample| sample.queue.as_f64() / PACKET.as_f64()).collect();
        let mean = |one| last(one).iter().map(|sample| sample.rate.as_f64()).sum::<f64>() / samples as f64;
        Self {
            queue: (
                queue.iter().copied().fold(f64::MAX, f64::min),
                queue.iter().copied().fold(0.0, f64::max),
            ),
            rates: all.iter().map(mean).collect(),
        }
    }

    fn total(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// `flows` that start a millisecond apart and run for `seconds`, seen in the second half of the time.
fn outcome(path: &Bottleneck, config: &Config, flows: u64, seconds: u64) -> Outcome {
    let stream = Stream { ack_every: 1, ..Stream::default() };
    let connections: Vec<_> = (0..flows).map(|flow| (config.clone(), at(flow))).collect();
    let all = run(path, &stream, &connections, at(1_000 * seconds), Span::from_ms(1));
    Outcome::of(&all, 500 * seconds as usize)
}

fn marking_above(packets: u64) -> Bottleneck {
    let path = Bottleneck::new(GIGABIT, Span::from_ms(10), PACKET * 20_000);
    Bottleneck { mark_above: PACKET * packets, ..path }
}

fn by_marks(packets: u64) -> Config {
    Config::Gemini(Params {
        delay: false,
        marking_threshold: Some((PACKET * packets).into()),
        ..at_gigabit()
    })
}

fn by_delay(base_rtt_window: Option<Span>) -> Config {
    Config::Gemini(Params { ecn: false, base_rtt_window, ..at_gigabit() })
}

#[test]
fn the_queue_of_one_flow_swings_as_the_analysis_says() {
    // §III-C with N = 1, h = 1.2, K = 50: Qmax = K + h = 51.2, F = 200/863 = 0.232, A = √(h·F·863) = 15.5, Qmin = 35.7.
    let outcome = outcome(&marking_above(50), &by_marks(50), 1, 4);
    let (min, max) = outcome.queue;
    // The queue holds whole packets, and the one being sent.
    assert!((max - 51.2).abs() <= 2.0, "{max}");
    // alpha is not the constant of the analysis: it swings by g = 1/16 of itself a cycle and more, A with it. ±20 % of A.
    assert!((min - 35.7).abs() <= 0.2 * 15.5 + 1.0, "{min}");
    assert!(outcome.total() > 0.9999 * FULL);
}

#[test]
fn the_queue_does_not_run_empty_with_the_worst_number_of_flows() {
    // Qmin = K + Nh − √(NhF(C·RTT + K)) is least for Nh = K, N = 42, and zero there with F of Theorem 1. Qmax = K + Nh
    // = 100.
    let gemini = outcome(&marking_above(50), &by_marks(50), 42, 4);
    // A packet more or less at the empty queue costs 1/863 of a round.
    assert!(gemini.total() > 0.999 * FULL, "{}", gemini.total());
    // Flows are not in step as in the analysis: their steps of h and their packets meet by chance. 10 % of Qmax.
    assert!((gemini.queue.1 - 100.0).abs() <= 10.0, "{:?}", gemini.queue);
    // DCTCP cuts by alpha/2, more than twice F = 0.232, and does run empty.
    let dctcp = outcome(&marking_above(50), &Config::Dctcp(dctcp::Params::default()), 42, 4);
    assert_eq!(dctcp.queue.0, 0.0);
    assert!(dctcp.total() < 0.99 * FULL, "{}", dctcp.total());
}

#[test]
fn with_a_low_threshold_it_carries_more_than_dctcp_and_with_a_high_one_as_much() {
    let dctcp = Config::Dctcp(dctcp::Params::default());
    let both = |packets| {
        let path = marking_above(packets);
        (outcome(&path, &by_marks(packets), 20, 4).total(), outcome(&path, &dctcp, 20, 4).total())
    };
    // K = 320 is more than C·RTT/7 = 116 packets: neither runs empty.
    let (gemini, other) = both(320);
    assert!(gemini > 0.9999 * FULL && other > 0.9999 * FULL, "{gemini} {other}");
    // K = 20: A of DCTCP is ½√(2·20·833) = 91 packets, far more than Qmax = 40; with F = 80/833 A is √(24·0.096·833) = 44,
    // as much as Qmax.
    let (gemini, other) = both(20);
    assert!(gemini > 0.99 * FULL && other < 0.98 * FULL, "{gemini} {other}");
}

#[test]
fn delay_stays_below_the_threshold_and_three_rounds_of_growth() {
    // A queue that crosses T is noticed when a whole round was above it: the round of the crossing must end, the next must
    // be measured, and each is measured a round trip after it was sent. In 3 round trips a flow adds 3·1.2 segments,
    // which are at most 4 whole ones. T = 5 ms are 406.4 packets. Two more: the packet being sent, and the one that
    // measures.
    let path = Bottleneck::new(GIGABIT, Span::from_ms(10), PACKET * 20_000);
    let outcome = outcome(&path, &by_delay(None), 4, 8);
    let (min, max) = outcome.queue;
    assert!(max > 406.0 && max <= 406.4 + 4.0 * 4.0 + 2.0, "{max}");
    // beta = 0.2 < T/(T + RTT) = 1/3: never empty (§III-D).
    assert!(min > 0.0, "{min}");
    assert!(outcome.total() > 0.9999 * FULL);
}

#[test]
fn a_base_that_forgets_within_a_cycle_never_finds_delay() {
    // One flow needs 0.2·1219/1.2 = 203 rounds, 3 s, to win back a cut. A memory of 1 s has forgotten the empty queue
    // by then.
    let path = Bottleneck::new(GIGABIT, Span::from_ms(10), PACKET * 20_000);
    let outcome = outcome(&path, &by_delay(Some(Span::from_secs(1))), 1, 10);
    assert!(outcome.queue.1 > 2.0 * 406.4, "{:?}", outcome.queue);
}

#[test]
fn flows_with_round_trips_64_times_as_long_get_their_share() {
    // 200 us and 12.8 ms, K = 50 (§IV-C with its default K). Four flows each.
    let path = Bottleneck::new(GIGABIT, Span::from_us(200), PACKET * 20_000);
    let extra_rtt = |flow| if flow < 4 { Span::ZERO } else { Span::from_us(12_600) };
    let path = Bottleneck { mark_above: PACKET * 50, extra_rtt, ..path };
    let share = |config: &Config| {
        let rates = outcome(&path, config, 8, 10).rates;
        rates[..4].iter().sum::<f64>() / rates[4..].iter().sum::<f64>()
    };
    let with_cap = |max_scale| {
        Config::Gemini(Params { max_scale, marking_threshold: Some((PACKET * 50).into()), ..at_gigabit() })
    };
    // F without a cap makes short flows give way (4·50/(16 + 50) = 3): with this K and prompt acknowledgments nearly equal
    // shares, "regardless of the varying RTTs".
    let published = share(&with_cap(4.0));
    assert!(published > 0.8 && published < 1.25, "{published}");
    // The cap of 1/2 costs a part of that. DCTCP leaves long flows the smallest windows.
    let capped = share(&with_cap(0.5));
    let dctcp = share(&Config::Dctcp(dctcp::Params::default()));
    assert!(capped < 5.0, "{capped}");
    assert!(dctcp > 50.0, "{dctcp}");
}
