//! BBRv3 over one bottleneck, against what its rules say.

use super::*;
use crate::cc::{Config, cubic};
use crate::stream::Params as Stream;
use crate::stream::bottleneck::{Bottleneck, Sample, run};
use crate::units::{BitRate, Bytes, Span};

const RATE: BitRate = BitRate::from_mbps(100);
const RTT: Span = Span::from_ms(40);
const PACKET: Bytes = Bytes::new(1538);

fn bbr3() -> Config {
    Config::Bbr3(Params::default())
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn alone(path: &Bottleneck, until_ms: u64, every_ms: u64) -> Vec<Sample> {
    run(path, &Stream::default(), &[(bbr3(), Time::ZERO)], at(until_ms), Span::from_ms(every_ms)).remove(0)
}

fn mean_mbps(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.rate.as_f64() / 1e6).sum::<f64>() / samples.len() as f64
}

/// Goodput of each connection from 30 s to 90 s, in Mb/s.
fn together(path: &Bottleneck, controls: &[Config]) -> Vec<f64> {
    let starts = (0..).map(|number: u64| at(100 * number));
    let connections: Vec<_> = controls.iter().cloned().zip(starts).collect();
    let samples = run(path, &Stream::default(), &connections, at(90_000), Span::from_secs(30));
    samples.iter().map(|samples| mean_mbps(&samples[1..])).collect()
}

fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (squares * shares.len() as f64)
}

/// 325 packets on the way, and room for 1300 more: nothing is dropped.
fn deep() -> Bottleneck {
    Bottleneck::new(RATE, RTT, PACKET * 1300)
}

/// Each state, when it began and how long it lasted, without the last.
fn states(samples: &[Sample]) -> Vec<(&'static str, Time, Span)> {
    let mut changes: Vec<(&'static str, Time)> = Vec::new();
    for sample in samples {
        if changes.last().is_none_or(|(last, _)| *last != sample.mode) {
            changes.push((sample.mode, sample.at));
        }
    }
    changes.windows(2).map(|pair| (pair[0].0, pair[0].1, pair[1].1 - pair[0].1)).collect()
}

fn assert_within(span: Span, least_ms: u64, most_ms: u64, of: &str) {
    assert!((Span::from_ms(least_ms)..=Span::from_ms(most_ms)).contains(&span), "{of}: {span}");
}

#[test]
fn startup_leaves_a_product_in_the_queue_and_drain_half_the_rate_to_empty_it() {
    let samples = alone(&deep(), 1_000, 1);
    let states = states(&samples);
    let last = samples.iter().rfind(|sample| sample.mode == "startup").expect("it started");
    // 2.77·0.99·100 Mb/s. Two products of 326 segments and some that came at once are in flight: one product waits.
    assert_eq!(last.pacing.map(|rate| (rate.as_f64() / 1e5).round()), Some(2742.0));
    assert!((326..=360).contains(&last.queue.div_ceil(PACKET)), "{}", last.queue);
    let (name, _, drain) = states[1];
    let then = samples.last().map(|sample| sample.mode);
    assert_eq!((states[0].0, name, then), ("startup", "drain", Some("cruise")));
    // 4.1 packets leave each ms more than enter: 343 of them take 83 ms.
    assert_within(drain, 80, 86, "drain");
}

#[test]
fn a_cycle_refills_for_a_round_probes_for_three_and_rests_until_the_wait_is_over() {
    let all = states(&alone(&deep(), 60_000, 1));
    let names = |part: &[(&'static str, Time, Span)]| part.iter().map(|(name, ..)| *name).collect::<Vec<_>>();
    // In some PROBE_RTT comes before DOWN is over.
    let whole = |part: &&[(&'static str, Time, Span)]| names(part) == ["refill", "up", "down", "cruise"];
    let cycles: Vec<_> = all.windows(4).filter(whole).collect();
    assert!(cycles.len() > 10, "{}", cycles.len());
    for cycle in cycles {
        assert_within(cycle[0].2, 39, 42, "refill");
        // At 1.25 of the rate each round is 1.25 times as long as the one before: 40 + 50 + 62 ms.
        assert_within(cycle[1].2, 149, 155, "up");
        // 292 packets wait; 0.1·100 Mb/s and what the window of two products holds back empty them.
        assert_within(cycle[2].2, 320, 335, "down");
    }
    for (place, (_, down, _)) in all.iter().enumerate().filter(|(_, (name, ..))| *name == "down") {
        // 2 to 3 s, or 63 rounds; where PROBE_RTT comes between, the wait begins again.
        if let Some((_, refill, _)) = all[place..].iter().find(|(name, ..)| *name == "refill") {
            assert_within(*refill - *down, 2_000, 6_000, "wait");
        }
    }
}

#[test]
fn every_five_seconds_half_a_product_is_in_flight_for_200_ms_and_a_round() {
    let samples = alone(&deep(), 30_000, 1);
    let holds: Vec<_> = states(&samples).into_iter().filter(|(name, ..)| *name == "probe_rtt").collect();
    assert_eq!(holds.len(), 5);
    for pair in holds.windows(2) {
        assert_within(pair[1].1 - pair[0].1, 5_200, 5_240, "between two");
    }
    for (_, start, length) in holds {
        // Half of 326 has left after 20 ms.
        assert_within(length, 218, 224, "held");
        let held = samples.iter().filter(|s| s.at > start + Span::from_ms(25) && s.at < start + length);
        let most = held.map(|sample| sample.inflight.div_ceil(Bytes::new(1448))).max();
        assert_eq!(most, Some(163));
    }
}

#[test]
fn alone_it_uses_the_path_but_for_the_margin_and_what_probing_the_round_trip_costs() {
    // 0.99·94.1 Mb/s of payload. Half of it for 220 ms of 5.2 s is 2.1 % less; UP and DOWN add and take about the same.
    for buffer in [0.25, 1.0, 4.0] {
        let path = Bottleneck::new(RATE, RTT, Bytes::from_f64(path_product() * buffer));
        let mean = mean_mbps(&alone(&path, 60_000, 1_000)[5..]);
        assert!((90.5..92.0).contains(&mean), "{buffer}: {mean}");
    }
}

fn path_product() -> f64 {
    deep().product().as_f64()
}

#[test]
fn two_and_ten_flows_share_a_buffer_of_one_product() {
    let path = Bottleneck::new(RATE, RTT, deep().product());
    for flows in [2, 10] {
        let shares = together(&path, &vec![bbr3(); flows]);
        assert!(jain(&shares) >= 0.9, "{shares:?}");
        assert!(shares.iter().sum::<f64>() > 88.0, "{shares:?}");
    }
}

#[test]
fn cubic_gets_more_beside_it_in_a_deep_buffer_than_in_a_shallow_one() {
    let shares = [0.25, 64.0].map(|buffer| {
        let path = Bottleneck::new(RATE, RTT, Bytes::from_f64(path_product() * buffer));
        let shares = together(&path, &[bbr3(), Config::Cubic(cubic::Params::default())]);
        shares[1] / (shares[0] + shares[1])
    });
    // It keeps about two products in flight whatever the buffer holds, and CUBIC fills it.
    assert!(shares[0] < 0.4 && shares[1] > shares[0] + 0.1, "{shares:?}");
}

#[test]
fn a_loss_of_a_percent_takes_a_percent_a_round_until_the_next_probe() {
    let mean = |loses| {
        let path = Bottleneck { loses, ..deep() };
        mean_mbps(&alone(&path, 60_000, 1_000)[10..])
    };
    let (some, many) = (mean(|n| n % 100 == 99), mean(|n| n % 20 == 19));
    // The mean of 0.99^k over the 63 rounds between two probes is 0.745, of 92 Mb/s.
    assert!((64.0..76.0).contains(&some), "1 %: {some}");
    // Above the threshold the probe itself ends at the first losses, and its bound keeps 0.7 of the window.
    assert!(many < 0.5 * some, "5 %: {many} after {some}");
}
