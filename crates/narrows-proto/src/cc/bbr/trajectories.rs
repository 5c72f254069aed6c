//! BBR over one bottleneck, against what is published of it.

use std::ops::Range;

use super::*;
use crate::cc::{Config, reno};
use crate::stream::Params as Stream;
use crate::stream::bottleneck::{Bottleneck, Sample, run};

const RATE: BitRate = BitRate::from_mbps(100);
const RTT: Span = Span::from_ms(40);
const SEGMENT: Bytes = Bytes::new(1448);
const PACKET: Bytes = Bytes::new(1538);

fn bbr() -> Config {
    Config::Bbr(Params::default())
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// 325 packets on the way, and room for 1300 more: nothing is dropped.
fn deep() -> Bottleneck {
    Bottleneck::new(RATE, RTT, PACKET * 1300)
}

fn alone(path: &Bottleneck, config: Config, until_ms: u64, every_ms: u64) -> Vec<Sample> {
    run(path, &Stream::default(), &[(config, Time::ZERO)], at(until_ms), Span::from_ms(every_ms)).remove(0)
}

fn pacing_mbps(sample: &Sample) -> f64 {
    sample.pacing.map_or(0.0, |rate| rate.as_f64() / 1e6)
}

fn mean_mbps(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.rate.as_f64() / 1e6).sum::<f64>() / samples.len() as f64
}

/// Duration of each value of `key`, without the first and the last.
fn runs<K: PartialEq>(samples: &[Sample], key: impl Fn(&Sample) -> K) -> Vec<(K, Time, Span)> {
    let mut changes: Vec<(K, Time)> = Vec::new();
    for sample in samples {
        let key = key(sample);
        if changes.last().is_none_or(|(last, _)| *last != key) {
            changes.push((key, sample.at));
        }
    }
    let ends: Vec<Time> = changes.iter().skip(1).map(|(_, start)| *start).collect();
    changes.into_iter().zip(ends).skip(1).map(|((key, start), end)| (key, start, end - start)).collect()
}

#[test]
fn startup_overshoots_for_three_rounds_and_drain_takes_it_back() {
    let samples = alone(&deep(), bbr(), 1_200, 100);
    // (ms, pacing in Mb/s, packets that wait)
    let expected = [
        // 2.885·0.99·10 packets of 1538 B in the 40 ms of the handshake: 8.8 Mb/s.
        (100, 8.8, 1),
        (200, 20.0, 0),
        (300, 136.3, 29),
        // 2.885·0.99·100 Mb/s; the window is 2.885 products, so 1.9 of them wait: 618 of 325. A round is now 116 ms.
        (400, 285.6, 618),
        // Three such rounds without growth.
        (500, 285.6, 618),
        (600, 285.6, 619),
        (700, 285.6, 618),
        // 0.99·100/2.885 Mb/s; 65.7 Mb/s more leave the queue than enter it, 534 packets in 100 ms.
        (800, 34.3, 275),
        // Probing since 851 ms.
        (900, 74.2, 73),
        (1_000, 99.0, 1),
    ];
    for ((ms, pacing, queue), sample) in expected.into_iter().zip(&samples) {
        let found = (sample.at, (pacing_mbps(sample) * 10.0).round() / 10.0, sample.queue.div_ceil(PACKET));
        assert_eq!(found, (at(ms), pacing, queue));
    }
}

#[test]
fn a_cycle_has_a_phase_up_a_phase_down_and_six_level_ones_of_a_round_trip_each() {
    let samples = alone(&deep(), bbr(), 9_900, 1);
    let phases = runs(&samples[1_000..], |sample| (pacing_mbps(sample) * 10.0).round() / 10.0);
    // 8.9 s of cycles of 327 ms, three runs each.
    assert!(phases.len() > 75, "{}", phases.len());
    let order = [(123.7, 74.2), (74.2, 99.0), (99.0, 123.7)];
    for pair in phases.windows(2) {
        assert!(order.contains(&(pair[0].0, pair[1].0)), "{pair:?}");
    }
    for (pacing, start, length) in phases {
        // A phase ends with the first acknowledgment after 40.12 ms, which is the round trip with the packet itself. They
        // come every 0.25 ms, samples every 1 ms.
        let (least, most) = match pacing {
            // From 324 in flight to 1.25·326 + 3, even, + 2 = 414: 90 packets at 24.75 Mb/s, 2.01 a ms, take 44.8 ms.
            123.7 => (44, 46),
            // Back to 326 + 3, even, = 330: 84 at 25.75 Mb/s, 2.09 a ms, take 40.2 ms, as long as a round trip.
            74.2 => (39, 41),
            // Six times 40.12 to 40.37 ms.
            _ => (240, 243),
        };
        assert!(
            (Span::from_ms(least)..=Span::from_ms(most)).contains(&length),
            "{pacing} at {start}: {length}"
        );
    }
}

#[test]
fn alone_it_fills_the_path_and_leaves_no_queue_but_after_probing() {
    let samples = alone(&deep(), bbr(), 9_900, 1);
    let steady = &samples[1_000..];
    // Two of eight phases have a queue and pass 100 Mb/s on the wire, the others 99: 94.1 and 93.2 Mb/s of payload.
    let mean = mean_mbps(steady);
    assert!((93.4..93.6).contains(&mean), "{mean}");
    // The queue of 85 packets that phase 0 builds is gone after phase 1.
    let waiting = |sample: &&Sample| sample.queue > PACKET * 3;
    let share = steady.iter().filter(waiting).count() as f64 / steady.len() as f64;
    assert!((0.22..0.28).contains(&share), "{share}");
    // A quarter of a product and 6 packets wait at the most: 40 ms grow to 51.
    let longest = steady.iter().map(|sample| sample.srtt).max().expect("samples were taken");
    assert!((Span::from_ms(49)..Span::from_ms(52)).contains(&longest), "{longest}");
}

#[test]
fn every_ten_seconds_it_holds_four_segments_for_200_ms_and_then_goes_on_as_before() {
    let samples = alone(&deep(), bbr(), 44_000, 1);
    let held = runs(&samples, |sample| sample.cwnd == SEGMENT * 4);
    let held: Vec<_> = held.into_iter().filter(|(held, ..)| *held).collect();
    // The smallest round-trip time is that of the second window's first packets, at 122 ms. From then on: 10 s without a
    // smaller one, a round trip until four segments are left, and five more for the 200 ms: 10.241 s each time.
    let starts: Vec<_> = held.iter().map(|(_, start, _)| *start).collect();
    assert_eq!(starts, [at(10_122), at(20_363), at(30_605), at(40_846)]);
    for (_, start, length) in held {
        assert!((Span::from_ms(240)..=Span::from_ms(243)).contains(&length), "{start}: {length}");
        let in_hold = |sample: &&Sample| sample.at > start + Span::from_ms(42) && sample.at < start + length;
        let most = samples.iter().filter(in_hold).map(|sample| sample.inflight.div_ceil(SEGMENT)).max();
        assert_eq!(most, Some(4), "{start}");
        let end = start + length;
        let after = samples.iter().skip_while(|sample| sample.at <= end);
        // Two products of 326 segments, 3 more, an even number; 2 more in phase 0.
        let cwnd = after.clone().next().map(|sample| sample.cwnd.div_ceil(SEGMENT));
        assert!(matches!(cwnd, Some(658 | 660)), "{start}: {cwnd:?}");
        // The samples of four segments have not lowered the rate. The first round trip fills the path.
        let second: Vec<_> = after.skip(50).take(1_000).copied().collect();
        let mean = mean_mbps(&second);
        assert!((93.2..93.8).contains(&mean), "{start}: {mean}");
    }
}

/// Of two connections in these seconds: their shares in Mb/s, the mean queue in products, and the fraction retransmitted since the
/// beginning.
fn two(buffer: Bytes, second_at: Time, seconds: Range<usize>) -> ([f64; 2], f64, f64) {
    let path = Bottleneck::new(RATE, Span::from_ms(20), buffer);
    let both = [(bbr(), Time::ZERO), (bbr(), second_at)];
    let until = at(1_000 * seconds.end as u64);
    let samples = run(&path, &Stream::default(), &both, until, Span::from_secs(1));
    let shares = [&samples[0], &samples[1]].map(|samples| mean_mbps(&samples[seconds.clone()]));
    let queue = samples[0][seconds.clone()].iter().map(|sample| sample.queue.as_f64()).sum::<f64>();
    let again: u64 = samples.iter().map(|samples| samples[seconds.end - 1].retransmissions).sum();
    let sent = 8_127.0 * seconds.end as f64; // packets/s
    (shares, queue / seconds.len() as f64 / path.product().as_f64(), again as f64 / sent)
}

#[test]
fn two_connections_share_a_deep_buffer_and_keep_about_a_product_waiting() {
    for second_at in [Time::ZERO, at(3_000)] {
        let (shares, queue, again) = two(PACKET * 1300, second_at, 30..70);
        // Four PROBE_RTT of 0.22 s in 40 s, in which both rest, take 2 % of 94.1 Mb/s.
        assert!((shares[0] + shares[1] - 92.0).abs() < 2.0, "{shares:?}");
        // Half each within 10 %: they change places with every PROBE_RTT, of which 40 s see four.
        assert!((shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
        // Each believes in a little more than its half, since its best sample of ten rounds counts. So the windows of
        // two products limit them: one product flies, one and some waits.
        assert!((0.9..1.5).contains(&queue), "{queue}");
        assert_eq!(again, 0.0);
    }
}

#[test]
fn in_a_buffer_of_one_product_two_connections_lose_packets_all_the_time() {
    // They want more than a product of queue and take no notice of losses. GEMINI §II-B: "> 0.1 %".
    for second_at in [Time::ZERO, at(3_000)] {
        // One that comes later begins with about twice the share of the first. Most of that is gone after 70 s, all of it after 130 s.
        let (shares, _, again) = two(PACKET * 162, second_at, 130..250);
        assert!((shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
        assert!((0.01..0.06).contains(&again), "{again}");
    }
}

fn lose(n: u64, percent: u64) -> bool {
    SplitMix::new(n).below(100) < percent
}

#[test]
fn random_losses_cost_it_what_was_lost_and_reno_nearly_everything() {
    let one: fn(u64) -> bool = |n| lose(n, 1);
    let five: fn(u64) -> bool = |n| lose(n, 5);
    for (fraction, loses) in [(0.01, one), (0.05, five)] {
        let path = Bottleneck { loses, ..deep() };
        let goodput = |config| mean_mbps(&alone(&path, config, 10_000, 1_000)[2..]);
        let (bbr, reno) = (goodput(bbr()), goodput(Config::Reno(reno::Params::default())));
        // 99 Mb/s on the wire are 93.2 of payload; less the losses, because losses cut phases up to a round trip. Every
        // other round conserves packets: what it loses is missing in flight, a half of that on average.
        let expected = 93.2 * (1.0 - fraction);
        assert!(
            ((1.0 - fraction / 2.0) * expected..1.005 * expected).contains(&bbr),
            "{bbr} instead of {expected}"
        );
        // √(3/(2p)) segments per 40 ms: 3.5 and 1.6 Mb/s, without slow start and timeouts (Ott, Kemperman & Mathis 1996).
        assert!(reno < 5.0, "{reno}");
    }
}

#[test]
fn a_lost_flight_is_repaired_at_the_rate_of_the_path() {
    // 340 packets are a flight; the few after it report the loss.
    let path = Bottleneck { loses: |n| (30_000..30_340).contains(&n), ..deep() };
    let samples = alone(&path, bbr(), 4_400, 20);
    let at_ms = |ms: usize| samples[ms / 20 - 1];
    // 658 segments were in flight or lost; what is in flight when the loss is noticed is what may be replaced.
    assert_eq!(at_ms(4_040).cwnd.div_ceil(SEGMENT), 318);
    // One round at what is delivered, one of growth by it, and the window is what it was.
    assert_eq!(at_ms(4_120).cwnd.div_ceil(SEGMENT), 658);
    assert_eq!(at_ms(4_400).retransmissions, 340);
    let repair = mean_mbps(&samples[4_040 / 20..4_120 / 20]);
    assert!(repair > 90.0, "{repair}");
}

#[test]
fn after_a_timeout_the_window_doubles_until_the_path_is_full_again() {
    // The whole window of 658 segments and the probe of its tail.
    let path = Bottleneck { loses: |n| (30_000..30_659).contains(&n), ..deep() };
    let samples = alone(&path, bbr(), 6_000, 10);
    // (ms, window in segments): one, then at least four, then what is acknowledged on top.
    let expected = [
        (4_350, 1),
        (4_420, 4),
        (4_460, 8),
        (4_510, 16),
        (4_550, 32),
        (4_590, 64),
        (4_640, 128),
        (4_690, 256),
    ];
    for (ms, cwnd) in expected {
        let sample = samples[ms / 10 - 1];
        assert_eq!((sample.at, sample.cwnd.div_ceil(SEGMENT)), (at(ms as u64), cwnd));
    }
    let mean = mean_mbps(&samples[500..]);
    assert!((93.2..93.8).contains(&mean), "{mean}");
}

#[test]
fn it_fills_paths_of_all_sizes() {
    // 81, 16, 16 and 812 packets fit on the way.
    for (mbps, us) in [(10_000, 100), (10_000, 20), (1_000, 200), (1_000, 10_000)] {
        let path = Bottleneck::new(BitRate::from_mbps(mbps), Span::from_us(us), PACKET * 3_000);
        let every = Span::from_us(us) * 50;
        let all = run(&path, &Stream::default(), &[(bbr(), Time::ZERO)], Time::ZERO + every * 20, every);
        let share = mean_mbps(&all[0][1..]) / mbps as f64 * PACKET.as_f64() / SEGMENT.as_f64();
        // Pacing is at 0.99 but for the phase up, which the phase down takes back only until a product is in flight.
        assert!((0.99..1.001).contains(&share), "{mbps} Mb/s, {us} us: {share}");
        assert_eq!(all[0][19].retransmissions, 0);
    }
}
