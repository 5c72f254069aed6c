//! Connections over 100 Mb/s and 30 ms, for the tests of both versions.

use std::ops::Range;

use super::super::Config;
use super::super::parts::SplitMix;
use crate::stream::Params;
use crate::stream::bottleneck::{Bottleneck, Sample, run};
use crate::units::{BitRate, Bytes, Span, Time};

/// Means over the time given.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Payload delivered, of all that the path could have carried.
    pub(crate) share: f64,
    /// The same for every second.
    pub(crate) each_second: Vec<f64>,
    /// Waiting packets of 1538 B.
    pub(crate) queue: f64,
    /// Packets retransmitted, of all that the path could have carried.
    pub(crate) lost: f64,
}

/// Loses `PERCENT` of the packets at random after the first 40 000 (about 5 s): early losses end the starting phase at any
/// rate, which is another question.
pub(crate) fn scattered_loss<const PERCENT: u64>(packet: u64) -> bool {
    packet > 40_000 && SplitMix::new(packet).uniform() < PERCENT as f64 / 100.0
}

/// Runs connections that start 5 s apart. The buffer is in products of rate and round trip, 244 packets; the time is in
/// seconds.
pub(crate) fn over_100_mbps(
    connections: &[Config],
    buffer: f64,
    loses: fn(u64) -> bool,
    seconds: Range<usize>,
) -> Vec<Outcome> {
    let path = Bottleneck::new(BitRate::from_mbps(100), Span::from_ms(30), Bytes::ZERO);
    let path = Bottleneck { buffer: Bytes::from_f64(path.product().as_f64() * buffer), loses, ..path };
    let flows: Vec<_> = (0..)
        .zip(connections)
        .map(|(number, config)| (config.clone(), Time::ZERO + Span::from_secs(5 * number)))
        .collect();
    let until = Time::ZERO + Span::from_secs(seconds.end as u64);
    let samples = run(&path, &Params::default(), &flows, until, Span::from_ms(100));
    samples.iter().map(|samples| outcome(&samples[10 * seconds.start..10 * seconds.end])).collect()
}

fn outcome(samples: &[Sample]) -> Outcome {
    // 1448 B of each packet are payload.
    let full = 100e6 * 1448.0 / 1538.0;
    let each_second: Vec<_> = samples
        .chunks(10)
        .map(|second| second.iter().map(|sample| sample.rate.as_f64()).sum::<f64>() / 10.0 / full)
        .collect();
    let retransmitted = samples[samples.len() - 1].retransmissions - samples[0].retransmissions;
    Outcome {
        share: each_second.iter().sum::<f64>() / each_second.len() as f64,
        queue: samples.iter().map(|sample| sample.queue.as_f64() / 1538.0).sum::<f64>()
            / samples.len() as f64,
        lost: retransmitted as f64 / (each_second.len() as f64 * 100e6 / (8.0 * 1538.0)),
        each_second,
    }
}
