//! The rules by value, and a queue that several flows share.

use std::collections::VecDeque;

use super::*;
use crate::cc::conformance::{ack, path};
use crate::split_mix::SplitMix;
use crate::units::BitRate;

/// Without headers, so that bytes on the wire are those of payload.
const MSS: Bytes = Bytes::new(4_096);
/// RTT of the reference network and the first base.
const RTT: Span = Span::from_us(12);

fn on(gbps: u64) -> Path {
    Path { mss: MSS, packet: MSS, link: BitRate::from_gbps(gbps), ..path() }
}

/// At 100 Gb/s: A = 1, T = 9 us, B = 0.75, BDP = 150 kB.
fn nscc() -> Nscc {
    Nscc::new(&Params::default(), &on(100))
}

fn with(cwnd: f64) -> Nscc {
    let mut nscc = nscc();
    nscc.0.cwnd = cwnd;
    nscc
}

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Of one packet, with this queueing delay.
fn delayed(ns: u64, delay_ns: u64) -> Ack {
    Ack { now: at(ns), rtt: Some(RTT + Span::from_ns(delay_ns)), inflight: MSS * 10, ..ack(MSS) }
}

fn marked(ns: u64, delay_ns: u64) -> Ack {
    Ack { marked: MSS, ..delayed(ns, delay_ns) }
}

fn trim(nscc: &mut Nscc, ns: u64, at_last_hop: bool) {
    nscc.on_signal(at(ns), &Signal::Trimmed { size: MSS, rtt: RTT * 2, at_last_hop });
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found}, expected {expected}");
}

#[test]
fn constants_follow_link_and_round_trip_time() {
    // alpha = 4·4096·A·B/T: 1365.3 and 5461.3 B for each us.
    let cases = [
        (100, 16_384.0 / 12.0, 20_480.0, 614.4, 225_000.0),
        (400, 65_536.0 / 12.0, 81_920.0, 2_457.6, 900_000.0),
    ];
    for (gbps, alpha, fair, floor, largest) in cases {
        let Nscc(state) = Nscc::new(&Params::default(), &on(gbps));
        assert_near(state.rules.target, 9e-6);
        assert_near(state.rules.proportional * 1e-6, alpha);
        assert_near(state.rules.fair, fair);
        assert_near(state.rules.floor, floor);
        assert_near(state.largest, largest);
        assert_near(state.cwnd, largest);
    }
}

#[test]
fn the_target_is_the_whole_round_trip_time_without_trimming_unless_it_is_set() {
    let of = |params: Params| params.target();
    assert_eq!(of(Params { trimming: false, ..Params::default() }), RTT);
    assert_eq!(of(Params { target: Some(Span::from_us(5)), ..Params::default() }), Span::from_us(5));
}

#[test]
fn the_limit_is_payload_of_a_window_on_the_wire() {
    let nscc = Nscc::new(&Params::default(), &Path { packet: Bytes::new(4_150), ..on(100) });
    // 225 000·4096/4150 = 222 072.3
    assert_eq!(nscc.limit(), Limit::window(Bytes::new(222_072)));
}

#[test]
fn below_the_target_increases_are_in_proportion_to_the_slack_and_wait_for_nine_packets() {
    let mut nscc = with(100_000.0);
    (1..9).for_each(|packet| nscc.on_ack(&delayed(packet, 4_500)));
    assert_eq!(nscc.0.cwnd, 100_000.0);
    nscc.on_ack(&delayed(9, 4_500));
    // Half of the slack: 4·4096·0.75·0.5 = 6144 B for a window, of which 9·4096 B arrived.
    assert_near(nscc.0.cwnd, 100_000.0 + 6_144.0 * 9.0 * 4_096.0 / 100_000.0);
}

#[test]
fn increases_take_effect_after_a_round_trip_time_with_the_floor() {
    let mut nscc = with(100_000.0);
    nscc.on_ack(&delayed(12_001, 4_500));
    assert_near(nscc.0.cwnd, 100_000.0 + 6_144.0 * 4_096.0 / 100_000.0 + 614.4);
}

#[test]
fn the_floor_is_added_once_in_a_round_trip_time() {
    let mut nscc = with(100_000.0);
    // Marked below the target: nothing else grows.
    (0..27).for_each(|packet| nscc.on_ack(&marked(12_000 + packet, 4_500)));
    assert_near(nscc.0.cwnd, 100_614.4);
    (0..9).for_each(|packet| nscc.on_ack(&marked(24_026 + packet, 4_500)));
    assert_near(nscc.0.cwnd, 101_228.8);
}

#[test]
fn above_the_target_without_a_mark_a_window_adds_five_packets() {
    let mut nscc = with(100_000.0);
    (1..10).for_each(|packet| nscc.on_ack(&delayed(packet, 20_000)));
    assert_near(nscc.0.cwnd, 100_000.0 + 20_480.0 * 9.0 * 4_096.0 / 100_000.0);
}

#[test]
fn a_window_without_delay_starts_fast_increase_and_a_delay_ends_it() {
    let mut nscc = with(40_960.0);
    (1..10).for_each(|packet| nscc.on_ack(&delayed(packet, 0)));
    // Proportional so far: 4·4096·0.75 for a window, of which nine tenths arrived.
    assert_near(nscc.0.cwnd, 40_960.0 + 12_288.0 * 0.9);
    (10..12).for_each(|packet| nscc.on_ack(&delayed(packet, 0)));
    assert!(!nscc.0.fast.is_on);
    // 13 packets are the first to be more than a window of 40 960 + 11 059 B.
    (12..14).for_each(|packet| nscc.on_ack(&delayed(packet, 999)));
    assert!(nscc.0.fast.is_on);
    let before = nscc.0.cwnd;
    nscc.on_ack(&delayed(14, 0));
    assert_near(nscc.0.cwnd, before + 1_024.0);
    nscc.on_ack(&delayed(15, 1_000));
    assert!(!nscc.0.fast.is_on && nscc.0.cwnd == before + 1_024.0);
}

#[test]
fn marks_below_the_target_and_trimmed_packets_do_not_end_fast_increase() {
    let on = || {
        let mut nscc = with(100_000.0);
        nscc.0.fast.is_on = true;
        nscc
    };
    let mut nscc = on();
    nscc.on_ack(&marked(1, 8_999));
    nscc.on_ack(&delayed(2, 9_000));
    trim(&mut nscc, 3, false);
    nscc.on_congestion(at(4), Congestion::Timeout { flight_size: MSS, repeated: false });
    assert!(nscc.0.fast.is_on);
    for ack in [delayed(5, 1_000), marked(5, 9_000)] {
        let mut nscc = on();
        nscc.on_ack(&ack);
        assert!(!nscc.0.fast.is_on, "{ack:?}");
    }
}

#[test]
fn a_trimmed_packet_that_was_fast_shortens_the_base() {
    let mut nscc = nscc();
    nscc.on_signal(at(0), &Signal::Trimmed { size: MSS, rtt: Span::from_us(10), at_last_hop: false });
    assert_eq!(nscc.0.base, Span::from_us(10));
    assert_near(nscc.0.largest, 187_500.0);
}

#[test]
fn a_mark_below_the_target_changes_nothing() {
    let mut nscc = with(100_000.0);
    nscc.0.average = Ewma::new(1.0, 0.0125);
    (1..10).for_each(|packet| nscc.on_ack(&marked(packet, 8_999)));
    assert_eq!(nscc.0.cwnd, 100_000.0);
}

#[test]
fn a_mark_above_the_target_takes_a_part_by_the_mean_delay_once_in_a_round_trip_time() {
    let mut nscc = with(100_000.0);
    nscc.0.average = Ewma::new(18e-6, 0.0125);
    nscc.on_ack(&marked(0, 18_000));
    // 1 − 0.8·(18 − 9)/18
    assert_near(nscc.0.cwnd, 60_000.0);
    nscc.on_ack(&marked(12_000, 18_000));
    assert_near(nscc.0.cwnd, 60_000.0);
    // The round trip has also added the floor.
    nscc.on_ack(&marked(12_001, 18_000));
    assert_near(nscc.0.cwnd, 36_000.0 + 614.4);
}

#[test]
fn a_decrease_is_a_half_at_most_and_none_while_the_mean_is_below_the_target() {
    let mut nscc = with(100_000.0);
    nscc.on_ack(&marked(0, 100_000));
    assert_eq!(nscc.0.cwnd, 100_000.0);
    nscc.0.average = Ewma::new(100e-6, 0.0125);
    nscc.on_ack(&marked(1, 100_000));
    assert_eq!(nscc.0.cwnd, 50_000.0);
}

#[test]
fn the_mean_delay_takes_long_delays_without_a_mark_for_a_quarter_of_the_base() {
    let mut nscc = nscc();
    let mean = |nscc: &Nscc| nscc.0.average.get() * 1e6;
    nscc.on_ack(&delayed(0, 8_000));
    assert_near(mean(&nscc), 0.1); // 8·0.0125
    nscc.on_ack(&marked(1, 20_000));
    assert_near(mean(&nscc), 0.34875); // 0.1·0.9875 + 0.25
    nscc.on_ack(&delayed(2, 20_000));
    assert_near(mean(&nscc), 0.34875 * 0.9875 + 3.0 * 0.0125);
    let before = mean(&nscc);
    trim(&mut nscc, 3, false);
    assert_near(mean(&nscc), before * 0.9875 + 12.0 * 0.0125);
}

#[test]
fn without_a_sample_the_mean_stands_for_the_delay() {
    let mut nscc = with(100_000.0);
    nscc.0.average = Ewma::new(18e-6, 0.0125);
    nscc.on_ack(&Ack { rtt: None, ..marked(0, 0) });
    assert_near(nscc.0.cwnd, 60_000.0);
    assert_eq!(nscc.0.average.get(), 18e-6);
}

#[test]
fn a_smaller_round_trip_time_is_the_new_base_and_bounds_the_window() {
    let mut nscc = nscc();
    let seen = |us| Ack { rtt: Some(Span::from_us(us)), ..marked(0, 0) };
    nscc.on_ack(&seen(10));
    // 1.5·100 Gb/s·10 us
    assert_eq!(nscc.0.base, Span::from_us(10));
    assert_near(nscc.0.cwnd, 187_500.0);
    nscc.on_ack(&seen(11));
    assert_eq!(nscc.0.base, Span::from_us(10));
}

/// A first acknowledgment, and 5 packets until quick adapt's first period ends at 21 us; 28 125 B would be an eighth of the window.
fn before_the_end_of_a_period() -> Nscc {
    let mut nscc = nscc();
    nscc.on_ack(&marked(0, 5_000));
    (1..6).for_each(|packet| nscc.on_ack(&marked(packet * 1_000, 5_000)));
    nscc
}

#[test]
fn quick_adapt_sets_the_window_to_what_arrived_once_a_packet_was_trimmed() {
    let mut nscc = before_the_end_of_a_period();
    trim(&mut nscc, 20_000, false);
    nscc.0.increase = 1e9;
    nscc.on_ack(&marked(21_001, 5_000));
    // Six packets, and nothing is added.
    assert_eq!((nscc.0.cwnd, nscc.0.increase), (6.0 * 4_096.0, 0.0));
}

#[test]
fn a_trimmed_packet_ends_a_period_itself() {
    let mut nscc = before_the_end_of_a_period();
    trim(&mut nscc, 21_000, false);
    assert!(nscc.0.cwnd > 200_000.0);
    trim(&mut nscc, 21_001, false);
    assert_eq!(nscc.0.cwnd, 5.0 * 4_096.0);
}

#[test]
fn a_delay_above_four_targets_is_a_sign_for_quick_adapt_and_a_shorter_one_is_not() {
    for (delay, adapts) in [(36_000, false), (36_001, true)] {
        let mut nscc = before_the_end_of_a_period();
        nscc.on_ack(&marked(21_001, delay));
        assert_eq!(nscc.0.cwnd < 30_000.0, adapts, "{delay}");
    }
}

#[test]
fn quick_adapt_leaves_a_window_alone_of_which_an_eighth_arrives() {
    let mut nscc = before_the_end_of_a_period();
    nscc.on_ack(&marked(20_000, 5_000));
    nscc.on_ack(&marked(21_001, 37_000));
    // 7·4096 = 28 672 B. The mean delay is still short.
    assert!(nscc.0.cwnd > 200_000.0, "{}", nscc.0.cwnd);
}

#[test]
fn after_quick_adapt_marks_and_trims_of_one_flight_change_nothing() {
    let mut nscc = before_the_end_of_a_period();
    nscc.0.average = Ewma::new(18e-6, 0.0125);
    // Ten packets are in flight, this one among them. The tenth after it is the first that counts.
    trim(&mut nscc, 21_001, false);
    let window = nscc.0.cwnd;
    (0..5).for_each(|packet| nscc.on_ack(&marked(21_002 + packet, 18_000)));
    (0..4).for_each(|packet| trim(&mut nscc, 21_010 + packet, false));
    assert_eq!(nscc.0.cwnd, window);
    trim(&mut nscc, 21_020, false);
    assert_eq!(nscc.0.cwnd, window - 4_096.0);
}

#[test]
fn a_trimmed_packet_is_a_sign_until_quick_adapt_sets_in() {
    let mut nscc = before_the_end_of_a_period();
    trim(&mut nscc, 20_000, false);
    // The first period ends with more than an eighth of the window, and the second with a packet.
    (0..2).for_each(|packet| nscc.on_ack(&marked(20_998 + packet, 5_000)));
    nscc.on_ack(&marked(21_001, 5_000));
    assert!(nscc.0.cwnd > 200_000.0);
    nscc.on_ack(&marked(42_002, 5_000));
    assert_eq!(nscc.0.cwnd, 4_096.0);
    // It is none for what follows.
    assert!(!nscc.0.quick.has_sign());
}

#[test]
fn fast_increase_needs_more_than_a_window() {
    let mut nscc = with(8_192.0);
    (0..2).for_each(|packet| nscc.on_ack(&delayed(packet, 0)));
    assert_eq!((nscc.0.cwnd, nscc.0.fast.is_on), (8_192.0, false));
    nscc.on_ack(&delayed(2, 0));
    assert_eq!((nscc.0.cwnd, nscc.0.fast.is_on), (9_216.0, true));
}

#[test]
fn an_idle_time_starts_quick_adapt_anew() {
    let mut nscc = before_the_end_of_a_period();
    nscc.on_idle(at(1_000_000), Span::from_us(900), None);
    nscc.on_ack(&marked(1_000_000, 100_000));
    assert!(nscc.0.cwnd > 200_000.0);
}

#[test]
fn a_trimmed_packet_takes_its_size() {
    let mut nscc = with(100_000.0);
    trim(&mut nscc, 0, false);
    trim(&mut nscc, 1, true);
    assert_eq!(nscc.0.cwnd, 91_808.0);
}

#[test]
fn with_credits_what_is_trimmed_at_the_last_hop_takes_nothing() {
    let params = Params { credits: Some(Credits::default()), ..Params::default() };
    let mut nscc = Nscc::new(&params, &on(100));
    trim(&mut nscc, 0, true);
    assert_eq!(nscc.0.cwnd, 225_000.0);
    trim(&mut nscc, 1, false);
    assert_eq!(nscc.0.cwnd, 220_904.0);
}

#[test]
fn a_timeout_takes_a_packet_and_a_loss_nothing() {
    let mut nscc = with(10_000.0);
    let flight_size = MSS * 2;
    nscc.on_congestion(at(0), Congestion::Loss { flight_size });
    assert_eq!(nscc.0.cwnd, 10_000.0);
    for expected in [5_904.0, 4_096.0, 4_096.0] {
        nscc.on_congestion(at(0), Congestion::Timeout { flight_size, repeated: false });
        assert_eq!(nscc.0.cwnd, expected);
    }
}

#[test]
fn settings_out_of_their_range_are_named() {
    let of = |change: fn(&mut Params)| {
        let mut params = Params { credits: Some(Credits::default()), ..Params::default() };
        change(&mut params);
        params.check(&mut Ranges::default()).map_or_else(|error| error.setting, |()| "none")
    };
    assert_eq!(of(|_| {}), "none");
    assert_eq!(of(|params| params.rtt = Span::ZERO), "rtt");
    assert_eq!(of(|params| params.target = Some(Span::ZERO)), "target");
    assert_eq!(of(|params| params.base_rtt = Some(Span::from_secs(11))), "base_rtt");
    assert_eq!(of(|params| params.reference_bdp = Bytes::ZERO), "reference_bdp");
    assert_eq!(of(|params| params.fair = -1.0), "fair");
    assert_eq!(of(|params| params.max_decrease = 1.0), "max_decrease");
    assert_eq!(of(|params| params.delay_gain = f64::NAN), "delay_gain");
    assert_eq!(of(|params| params.max_window = 0.0), "max_window");
    assert_eq!(of(|params| params.credits = Some(Credits { window: 0.0, ..Credits::default() })), "window");
}

/// A link of 100 Gb/s that `flows` share behind a queue without a bound, which marks linearly between 20 % and 80 % of a BDP.
struct Shared {
    flows: Vec<(Nscc, u64)>,
    /// Acknowledgments on their way: when, of which flow, sent when, marked.
    acks: VecDeque<(Time, usize, Time, bool)>,
    free: Time,
    random: SplitMix,
}

/// Means of the second half of a run.
#[derive(Debug)]
struct Means {
    windows: f64,
    queue: f64,
    /// Of each flow.
    shares: Vec<f64>,
}

impl Shared {
    const RATE: BitRate = BitRate::from_gbps(100);
    const BDP: f64 = 150_000.0;

    fn send(&mut self, flow: usize, now: Time) {
        let size = MSS.get();
        while self.flows[flow].1 + size <= self.flows[flow].0.limit().cwnd.get() {
            let (nscc, inflight) = &mut self.flows[flow];
            *inflight += size;
            nscc.on_signal(now, &Signal::Sent { size: MSS });
            let wait = self.free.saturating_since(now);
            let queue = (Self::RATE * wait).as_f64() / Self::BDP;
            let marked = self.random.uniform() < (queue - 0.2) / 0.6;
            self.free = now + wait + Self::RATE.time_to_send(MSS);
            self.acks.push_back((now + wait + RTT, flow, now, marked));
        }
    }

    fn run(flows: usize, span: Span) -> Means {
        let mut run = Self {
            flows: vec![(nscc(), 0); flows],
            acks: VecDeque::new(),
            free: Time::ZERO,
            random: SplitMix::new(1),
        };
        (0..flows).for_each(|flow| run.send(flow, Time::ZERO));
        let (mut samples, mut windows, mut queue) = (0.0, 0.0, 0.0);
        let mut arrived = vec![0.0; flows];
        while let Some((now, flow, sent, marked)) =
            run.acks.pop_front().filter(|ack| ack.0 < Time::ZERO + span)
        {
            let (nscc, inflight) = &mut run.flows[flow];
            *inflight -= MSS.get();
            let marked = if marked { MSS } else { Bytes::ZERO };
            nscc.on_ack(&Ack {
                now,
                rtt: Some(now - sent),
                marked,
                inflight: Bytes::new(*inflight),
                ..ack(MSS)
            });
            run.send(flow, now);
            if now > Time::ZERO + span / 2 {
                samples += 1.0;
                windows += run.flows.iter().map(|(nscc, _)| nscc.0.cwnd).sum::<f64>();
                queue += (Self::RATE * (now - sent - RTT)).as_f64();
                arrived[flow] += MSS.as_f64();
            }
        }
        let bytes = Self::RATE.as_f64() / 8.0 * (span / 2).as_secs_f64();
        let shares = arrived.iter().map(|arrived| arrived / bytes).collect();
        Means { windows: windows / samples, queue: queue / samples, shares }
    }
}

#[test]
fn flows_hold_the_queueing_delay_of_a_queue_at_the_target() {
    // T·C = 112.5 kB.
    for flows in [2, 4, 8, 16] {
        let means = Shared::run(flows, Span::from_ms(20));
        // A decrease needs a mean delay above T, so that the queue is not shorter. It is longer by what flows add in the round trip between
        // two decreases, at least 614 B each: 2 % for 2 flows, 8 % for 16.
        let part = means.queue / 112_500.0;
        assert!((1.0..1.1).contains(&part), "{flows} flows: {means:?}");
        // Windows are what is in flight and less than a packet each that does not fit.
        let unused = means.windows - means.queue - Shared::BDP;
        let most = flows as f64 * MSS.as_f64();
        assert!(unused > -MSS.as_f64() && unused < most, "{flows} flows: {unused} of {most}");
        // The link is never idle. Shares are within 19 % of equal ones: marks fall by chance, and each flow decreases by its own.
        assert!((means.shares.iter().sum::<f64>() - 1.0).abs() < 0.001, "{flows} flows: {means:?}");
        let equal = means.shares.iter().map(|share| share * flows as f64);
        assert!(equal.clone().all(|share| (0.7..1.3).contains(&share)), "{flows} flows: {means:?}");
    }
}

#[test]
fn a_flow_alone_keeps_its_largest_window() {
    let means = Shared::run(1, Span::from_ms(5));
    // 225 kB are 54.9 packets, of which 54 fit; each finds those before it that the path does not hold.
    assert!((means.windows - 225_000.0).abs() < 1e-6, "{means:?}");
    assert!((means.queue - (54.0 * 4_096.0 - Shared::BDP)).abs() < MSS.as_f64(), "{means:?}");
}
