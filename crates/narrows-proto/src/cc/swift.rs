//! Swift: hold the delay of the fabric at a target, with windows down to a thousandth of a segment.
//!
//! For every acknowledgment; windows in segments, delay its round-trip time.
//! ```text
//! target = base + hops·h + fs                                            Swift §3.2, §3.5
//!     fs = clamp(a/√cwnd − b, 0, range)
//!     a  = range/(1/√fs_min − 1/√fs_max),  b = a/√fs_max
//! delay < target                                                         Algorithm 1
//!     cwnd += ai/cwnd for each segment acknowledged if cwnd ≥ 1, else ai
//! delay ≥ target, the last decrease at least a round trip ago
//!     cwnd *= max(1 − beta·(delay − target)/delay, 1 − max_mdf)
//! Loss      cwnd *= 1 − max_mdf, not within a round trip of the last decrease    Algorithm 1, §3.6
//! Timeout   the same; the `retransmit_reset`-th in a row sets cwnd to its minimum
//! cwnd < 1  a segment every RTT/cwnd, RTT the smoothed one               §3.4
//! ```
//! There is no slow start. The target must exceed the round-trip time of the empty path, serialization included: Swift is
//! meant for one data center, and the defaults are for its microseconds.
//!
//! The receiver must acknowledge every segment at once (`ack_every = 1`; §3.6): an acknowledgment that waits counts as
//! delay, and with windows of one segment all of them wait.
//!
//! Differs from Swift §3.1, §3.3: hosts of this simulator have no delay of their own, so only the fabric window exists; the
//! endpoint window is left out.
//! Differs from Swift §3.5: the number of hops is a setting, because a control does not know its path.
//! Differs from Swift Algorithm 1: only a real decrease starts the round trip in which no other may follow. As printed
//! (cwnd ≤ previous cwnd), every acknowledgment that changes nothing would start it again. There is no largest window
//! either; delay bounds it.

use super::parts::WindowPacing;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::{Bytes, Span, Time};

/// Settings of Swift (Kumar et al., SIGCOMM 2020). The paper keeps most of its values to itself; defaults without another
/// source are those of the model in htsim, whose authors call them guesses.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Swift")]
pub struct Params {
    /// base: the target for one flow on a path without hops; 20 us.
    pub base_target: Span,
    /// h: what a hop adds to the target; 3.053 us = base/6.55.
    pub hop_delay: Span,
    /// Hops of the path, which the published control takes from the TTL of packets (Swift §3.5). 3: leaf, spine, leaf.
    pub hops: u64,
    /// range: the most that the target rises for small windows; 100 us, five times base.
    pub flow_scaling_range: Span,
    /// fs_min: windows below this many segments raise the target no further; 0.1.
    pub flow_scaling_min: f64,
    /// fs_max: windows above this many segments do not raise the target; 100.
    pub flow_scaling_max: f64,
    /// ai: segments per round that are added below the target; 1.
    pub additive_increase: f64,
    /// beta: the part of the window taken for a delay far above the target, as far as `max_decrease` allows; 0.8.
    pub beta: f64,
    /// max_mdf: the largest part of the window taken at once; 0.5.
    pub max_decrease: f64,
    /// The smallest window in segments; 0.001 (Swift §3.4).
    pub min_window: f64,
    /// Timeouts in a row that set the window to its minimum; 5.
    pub retransmit_reset: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_target: Span::from_us(20),
            hop_delay: Span::from_ns(3_053),
            hops: 3,
            flow_scaling_range: Span::from_us(100),
            flow_scaling_min: 0.1,
            flow_scaling_max: 100.0,
            additive_increase: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            min_window: 0.001,
            retransmit_reset: 5,
        }
    }
}

/// Where the delay should be.
#[derive(Clone, Debug)]
struct Target {
    /// base + hops·h, in seconds.
    path: f64,
    range: f64,
    a: f64,
    b: f64,
}

impl Target {
    fn new(params: &Params) -> Self {
        let range = params.flow_scaling_range.as_secs_f64();
        let root = |window: f64| 1.0 / libm::sqrt(window);
        let (small, large) = (root(params.flow_scaling_min), root(params.flow_scaling_max));
        let a = range / (small - large);
        let path = params.base_target + params.hop_delay.saturating_mul(params.hops);
        Self { path: path.as_secs_f64(), range, a, b: a * large }
    }

    /// In seconds, for a window of `cwnd` segments.
    fn delay(&self, cwnd: f64) -> f64 {
        self.path + (self.a / libm::sqrt(cwnd) - self.b).clamp(0.0, self.range)
    }
}

/// A Swift window.
#[derive(Clone, Debug)]
pub struct Swift {
    rules: Box<Rules>,
    /// In segments.
    cwnd: f64,
    srtt: Span,
    last_decrease: Option<Time>,
    /// Timeouts since the last acknowledgment.
    timeouts: u64,
}

/// Constants of a connection.
#[derive(Clone, Debug)]
struct Rules {
    target: Target,
    params: Params,
    mss: Bytes,
    wire: WindowPacing,
}

impl Algorithm for Swift {
    type Params = Params;
    const SUMMARY: &'static str =
        "delay held at a target that grows with hops and flows; windows down to 0.001 segments";
    const SOURCE: &'static str = "Kumar et al., SIGCOMM 2020";
    const INSIDE: Described = &[("target_ps", "The delay it aims at with its present window.")];
    const READS_DELAY: bool = true;
    const WANTS_EVERY_ACK: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let target = Target::new(params);
        let wire = WindowPacing::new(path);
        Self {
            rules: Box::new(Rules { target, params: params.clone(), mss: path.mss, wire }),
            cwnd: path.initial_window.as_f64() / path.mss.as_f64(),
            srtt: Span::ZERO,
            last_decrease: None,
            timeouts: 0,
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { base_target: base, hops, flow_scaling_min: min, flow_scaling_max: max, .. } = *params;
        let Params { additive_increase: ai, beta, max_decrease, min_window, retransmit_reset, .. } = *params;
        ranges.unless(base > Span::ZERO, "base_target", base, "more than 0 s")?;
        ranges.unless(hops <= 255, "hops", hops, "0 to 255")?;
        ranges.unless((1e-6..=1e9).contains(&min), "flow_scaling_min", min, "1e-6 to 1e9 segments")?;
        ranges.unless(
            max > min && max <= 1e12,
            "flow_scaling_max",
            max,
            "above flow_scaling_min, at most 1e12",
        )?;
        ranges.unless(ai > 0.0 && ai <= 1e3, "additive_increase", ai, "above 0, at most 1000 segments")?;
        ranges.unless(beta > 0.0 && beta <= 1e3, "beta", beta, "above 0, at most 1000")?;
        let expected = "above 0, below 1";
        ranges.unless(max_decrease > 0.0 && max_decrease < 1.0, "max_decrease", max_decrease, expected)?;
        ranges.unless((1e-6..=1.0).contains(&min_window), "min_window", min_window, "1e-6 to 1 segment")?;
        ranges.unless(retransmit_reset >= 1, "retransmit_reset", retransmit_reset, "at least 1")
    }
}

impl Swift {
    fn grow(&mut self, ack: &Ack) {
        let acked = ack.acked.as_f64() / self.rules.mss.as_f64();
        let paced = self.cwnd < 1.0;
        // While segments are paced the window never stops the sender.
        let used = if paced { !ack.delivery.app_limited } else { ack.cwnd_limited };
        if used && !ack.in_recovery {
            self.cwnd += self.rules.params.additive_increase * acked / if paced { 1.0 } else { self.cwnd };
        }
    }

    /// Multiplies the window by `factor`, unless it was decreased less than `rtt` ago.
    fn decrease(&mut self, now: Time, rtt: Span, factor: f64) {
        if self.last_decrease.is_none_or(|last| now.saturating_since(last) >= rtt) {
            self.cwnd = (self.cwnd * factor).max(self.rules.params.min_window);
            self.last_decrease = Some(now);
        }
    }
}

impl Controller for Swift {
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.timeouts = 0;
        let Some(rtt) = ack.rtt else { return };
        let (delay, target) = (rtt.as_secs_f64(), self.rules.target.delay(self.cwnd));
        if delay < target {
            self.grow(ack);
        } else {
            let Params { beta, max_decrease, .. } = self.rules.params;
            let factor = 1.0 - beta * (delay - target) / delay;
            if factor < 1.0 {
                self.decrease(ack.now, rtt, factor.max(1.0 - max_decrease));
            }
        }
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        let Params { max_decrease, min_window, retransmit_reset, .. } = self.rules.params;
        match event {
            Congestion::Loss { .. } | Congestion::Mark { .. } => {
                self.timeouts = 0;
                self.decrease(now, self.srtt, 1.0 - max_decrease);
            }
            Congestion::Timeout { .. } => {
                self.timeouts += 1;
                if self.timeouts >= retransmit_reset {
                    self.cwnd = min_window;
                    self.last_decrease = Some(now);
                } else {
                    self.decrease(now, self.srtt, 1.0 - max_decrease);
                }
            }
            // The published control takes nothing back.
            Congestion::Spurious => {}
        }
    }

    fn limit(&self) -> Limit {
        let Rules { mss, wire, .. } = &*self.rules;
        let cwnd = self.cwnd * mss.as_f64();
        if self.cwnd >= 1.0 {
            return Limit::window(Bytes::from_f64(cwnd));
        }
        let paced = self.srtt > Span::ZERO;
        Limit { cwnd: *mss, pacing: paced.then(|| wire.rate(cwnd, self.srtt, 1.0)) }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("target_ps", (self.rules.target.delay(self.cwnd) * 1e12).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack, path};
    use crate::cc::{Config, DeliverySample};
    use crate::stream::Params as Stream;
    use crate::stream::bottleneck::{Bottleneck, Sample, run};
    use crate::units::BitRate;

    fn swift(segments: f64) -> Swift {
        let mut swift = Swift::new(&Params::default(), &path());
        swift.cwnd = segments;
        swift
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn seen(now: Time, delay: Span) -> Ack {
        Ack { now, rtt: Some(delay), srtt: delay, ..ack(MSS) }
    }

    #[test]
    fn the_target_rises_as_the_window_falls() {
        // base + hops·h = 20 + 3·3.053 = 29.159 us; a = 100/(1/√0.1 − 1/√100) = 32.6556 us, b = a/10 = 3.2656 us.
        // √10: 7.061 us more; 1: 29.390 us; 0.1 and less: the range, 100 us; 100 and more: nothing.
        let target = Target::new(&Params::default());
        let cases =
            [(10.0, 36.220), (1.0, 58.549), (0.1, 129.159), (0.01, 129.159), (100.0, 29.159), (1e4, 29.159)];
        for (cwnd, us) in cases {
            assert!((target.delay(cwnd) * 1e6 - us).abs() < 0.001, "{cwnd}: {}", target.delay(cwnd) * 1e6);
        }
    }

    #[test]
    fn below_the_target_a_window_of_acknowledgments_adds_ai() {
        let mut swift = swift(10.0);
        swift.on_ack(&Ack { acked: MSS * 10, ..seen(at(0), Span::from_us(30)) });
        assert_eq!(swift.cwnd, 11.0);
        swift.cwnd = 0.25;
        swift.on_ack(&seen(at(0), Span::from_us(30)));
        assert_eq!(swift.cwnd, 1.25);
    }

    #[test]
    fn above_it_the_window_falls_with_the_excess_once_per_round_trip() {
        // Target 36.220 us for 10 segments. At twice that: 1 − 0.8/2.
        let mut swift = swift(10.0);
        let delay = Span::from_ps(72_440_000);
        swift.on_ack(&seen(at(0), delay));
        assert!((swift.cwnd - 6.0).abs() < 1e-3, "{}", swift.cwnd);
        swift.on_ack(&seen(at(72), delay));
        assert!((swift.cwnd - 6.0).abs() < 1e-3, "{}", swift.cwnd);
        swift.on_ack(&seen(at(73), delay));
        assert!(swift.cwnd < 5.0);
    }

    #[test]
    fn no_delay_takes_more_than_half() {
        let mut swift = swift(10.0);
        swift.on_ack(&seen(at(0), Span::from_secs(1)));
        assert_eq!(swift.cwnd, 5.0);
    }

    #[test]
    fn a_window_below_a_segment_is_one_segment_paced() {
        let mut swift = swift(0.25);
        swift.on_ack(&Ack { rtt: None, ..seen(at(0), Span::from_us(100)) });
        // 1090 B in 100 us/0.25
        let limit = swift.limit();
        assert_eq!((limit.cwnd, limit.pacing), (MSS, Some(BitRate::from_bps(21_800_000))));
        swift.cwnd = 1.5;
        assert_eq!(swift.limit(), Limit::window(Bytes::new(1_500)));
    }

    #[test]
    fn a_paced_window_grows_although_it_never_stops_the_sender_but_not_without_data() {
        let mut swift = swift(0.5);
        let idle = DeliverySample { app_limited: true, ..DeliverySample::default() };
        swift.on_ack(&Ack { cwnd_limited: false, delivery: idle, ..seen(at(0), Span::from_us(30)) });
        assert_eq!(swift.cwnd, 0.5);
        swift.on_ack(&Ack { cwnd_limited: false, ..seen(at(0), Span::from_us(30)) });
        assert_eq!(swift.cwnd, 1.5);
    }

    #[test]
    fn losses_and_timeouts_halve_once_per_round_trip() {
        let mut swift = swift(16.0);
        swift.on_ack(&Ack { rtt: None, ..seen(at(0), Span::from_us(100)) });
        swift.on_congestion(at(0), Congestion::Loss { flight_size: MSS * 16 });
        swift.on_congestion(at(50), Congestion::Loss { flight_size: MSS * 16 });
        assert_eq!(swift.cwnd, 8.0);
        swift.on_congestion(at(100), Congestion::Timeout { flight_size: MSS * 8, repeated: false });
        assert_eq!(swift.cwnd, 4.0);
    }

    #[test]
    fn the_fifth_timeout_in_a_row_sets_the_smallest_window() {
        let timeout = Congestion::Timeout { flight_size: MSS, repeated: true };
        let mut swift = swift(16.0);
        for number in 1..=4 {
            swift.on_congestion(at(1_000 * number), timeout);
        }
        assert_eq!(swift.cwnd, 1.0);
        swift.on_congestion(at(5_000), timeout);
        assert_eq!(swift.cwnd, 0.001);
        swift.on_ack(&Ack { rtt: None, ..seen(at(5_500), Span::from_us(100)) });
        swift.cwnd = 16.0;
        swift.on_congestion(at(6_000), timeout);
        assert_eq!(swift.cwnd, 8.0);
    }

    /// `flows` from the same moment over a round trip of 20 us, seen after `from`, every 100 us.
    fn late(rate: BitRate, flows: usize, from: Time, until: Time) -> Vec<Vec<Sample>> {
        let path = Bottleneck::new(rate, Span::from_us(20), Bytes::new(10_000_000));
        let stream = Stream { ack_every: 1, ..Stream::default() };
        let config = Config::Swift(Params::default());
        let all = run(&path, &stream, &vec![(config, Time::ZERO); flows], until, Span::from_us(100));
        let seen = |one: Vec<Sample>| one.into_iter().filter(|sample| sample.at >= from).collect();
        all.into_iter().map(seen).collect()
    }

    fn mean(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> f64 {
        samples.iter().map(value).sum::<f64>() / samples.len() as f64
    }

    #[test]
    fn the_delay_of_the_bottleneck_settles_at_the_target() {
        // 10 Gb/s: a packet takes 1.2304 us.
        for flows in [1, 4] {
            let all = late(BitRate::from_gbps(10), flows, at(100_000), at(200_000));
            for one in &all {
                let target =
                    Target::new(&Params::default()).delay(mean(one, |sample| sample.cwnd.as_f64() / 1448.0));
                let delay = mean(one, |sample| sample.srtt.as_secs_f64());
                // The window is used in whole segments, of all flows: so much delay lies between two steps.
                let step = flows as f64 * 1.2304e-6;
                assert!((delay - target).abs() < step, "{flows}: {delay} for {target}");
            }
            let total: f64 = all.iter().map(|one| mean(one, |sample| sample.rate.as_f64())).sum();
            assert!(total > 0.999 * 1e10 * 1448.0 / 1538.0, "{total}");
        }
    }

    #[test]
    fn a_hundred_flows_share_a_product_of_three_segments() {
        // 1 Gb/s, 20 us and 12.3 us for a packet: 2.6 packets. With a segment each, 97 packets or more would wait.
        let all = late(BitRate::from_gbps(1), 100, at(1_000_000), at(3_000_000));
        // The target is at most 129 us: 8 packets. Windows leap by a segment (ai), so many flows at once overshoot;
        // twice the target.
        let queue = mean(&all[0], |sample| sample.queue.as_f64() / 1538.0);
        assert!(queue < 16.0, "{queue}");
        let rates: Vec<f64> = all.iter().map(|one| mean(one, |sample| sample.rate.as_f64())).collect();
        let total: f64 = rates.iter().sum();
        assert!(total > 0.99 * 1e9 * 1448.0 / 1538.0, "{total}");
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let jain = total * total / squares / 100.0;
        assert!(jain > 0.9, "{jain}");
        let paced = all.iter().flatten().filter(|sample| sample.pacing.is_some()).count();
        assert!(
            paced * 10 > all.len() * all[0].len() * 9,
            "windows are below a segment most of the time: {paced}"
        );
    }
}
