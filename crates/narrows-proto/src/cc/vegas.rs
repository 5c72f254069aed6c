//! Vegas: keep a few segments waiting at the bottleneck, measured by delay.
//!
//! Once per round; windows in segments, baseRTT the smallest round-trip time so far, RTT the smallest of the round.
//! ```text
//! diff = cwnd·(1 − baseRTT/RTT)                  what waits in queues         Brakmo & Peterson, JSAC 1995
//! Congestion avoidance
//!     diff < alpha   cwnd += 1
//!     diff > beta    cwnd −= 1
//! Slow start: the window doubles in every other round                         Brakmo & Peterson, JSAC 1995
//!     diff > gamma   ends it with cwnd = min(cwnd, cwnd·baseRTT/RTT + 1)      Linux tcp_vegas
//!     RTT here that of the segment sent first in a round without doubling
//! ```
//! A round with fewer than three samples says too little; then the window grows like Reno's (Linux). Losses halve it.
//!
//! `variant = "linux"` takes diff = cwnd·(RTT − baseRTT)/baseRTT, which is larger by RTT/baseRTT, and doubles in every
//! round of slow start. It is the Vegas that most papers compare with. Both agree while queues are short against the
//! path. Without the noise of a real network, that slow start overshoots: the smallest round-trip time of a round
//! belongs to half of the window, so it goes on until the window is several times what the path holds, and then loses
//! one segment per round. A flow that begins on a connection that has carried others measures baseRTT anew, as when Linux sends
//! with nothing in flight (`tcp_vegas_cwnd_event`).
//!
//! Differs from Brakmo & Peterson, JSAC 1995: losses are detected and repaired by the transport, without the checks
//! of the fine-grained clock, and halve the window instead of taking a quarter.
//! Differs from Linux: a round without enough samples adds a whole segment in avoidance, as Reno does in a round.
//!
//! A flow that starts while others keep a queue takes that queue for part of the path, and claims more than its share.

use super::inside::SSTHRESH;
use super::parts::SegmentWindow;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{Bytes, Span, Time};

/// Settings of Vegas (Brakmo & Peterson, JSAC 1995; Linux).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Vegas")]
pub struct Params {
    /// The fewest segments to keep waiting in queues; 2 (Linux).
    pub alpha: f64,
    /// The most segments to keep waiting in queues; 4 (Linux).
    pub beta: f64,
    /// Slow start ends when more segments than this wait; 1 (Linux).
    pub gamma: f64,
    /// Whose measure of what waits, and whose slow start.
    pub variant: Variant,
}

impl Default for Params {
    fn default() -> Self {
        Self { alpha: 2.0, beta: 4.0, gamma: 1.0, variant: Variant::Original }
    }
}

/// The published Vegas or that of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VegasVariant")]
pub enum Variant {
    /// Brakmo & Peterson, JSAC 1995.
    Original,
    /// Linux: a larger measure on long queues, a slow start that doubles in every round, and a base that is measured anew after pauses.
    Linux,
}

/// Rounds with fewer samples are not judged (Linux: more than 2).
const ENOUGH_SAMPLES: u32 = 3;

/// Congestion never takes the window below this many segments (Linux: 2).
const MIN_WINDOW: f64 = 2.0;

/// A Vegas window.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: Params,
    window: SegmentWindow,
    base_rtt: Span,
    round: Round,
    /// Slow start doubles in this round; in the others the window rests, so that the comparison is valid. The first round
    /// begins with its first acknowledgment.
    doubling: bool,
}

/// Measurements of a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    min_rtt: Span,
    samples: u32,
}

impl Round {
    const NEW: Self = Self { min_rtt: Span::MAX, samples: 0 };
}

impl Algorithm for Vegas {
    type Params = Params;
    const SUMMARY: &'static str = "keeps a few segments waiting in queues, measured by delay";
    const SOURCE: &'static str = "Brakmo & Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas";
    const INSIDE: Described =
        &[SSTHRESH, ("base_rtt_ps", "The smallest round-trip time; no row before there is one.")];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        Self {
            params: params.clone(),
            window: SegmentWindow::new(path.mss, path.initial_window, 2).merged(path.merged),
            base_rtt: Span::MAX,
            round: Round::NEW,
            doubling: false,
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { alpha, beta, gamma, .. } = *params;
        let most = 1e9;
        ranges.unless((0.0..=most).contains(&alpha), "alpha", alpha, "0 to 1e9 segments")?;
        ranges.unless((alpha..=most).contains(&beta), "beta", beta, "alpha to 1e9 segments")?;
        ranges.unless((0.0..=most).contains(&gamma), "gamma", gamma, "0 to 1e9 segments")
    }
}

impl Vegas {
    /// Segments that wait in queues when a round trip takes `rtt`.
    fn diff(&self, rtt: Span) -> f64 {
        let (base, rtt) = (self.base_rtt.as_secs_f64(), rtt.as_secs_f64());
        let waiting = self.window.get() * (rtt - base);
        match self.params.variant {
            Variant::Original => waiting / rtt,
            Variant::Linux => waiting / base,
        }
    }

    /// At the end of a round, which `ack` brings.
    fn judge(&mut self, ack: &Ack) {
        let Round { min_rtt, samples } = self.round;
        let judged = samples >= ENOUGH_SAMPLES;
        if self.window.in_slow_start() {
            self.judge_slow_start(ack, judged);
        } else if judged && self.diff(min_rtt) > self.params.beta {
            self.reduce_to(self.window.get() - 1.0);
        } else if ack.cwnd_limited && (!judged || self.diff(min_rtt) < self.params.alpha) {
            self.window.widen(1.0);
        }
        self.round = Round::NEW;
    }

    fn judge_slow_start(&mut self, ack: &Ack, judged: bool) {
        let (rtt, valid) = match self.params.variant {
            // The segment that ends a fixed round was sent at its begin, with the window of now. The others of the round
            // were sent while it doubled, and the smallest of their round-trip times belongs to half of the window.
            Variant::Original => (ack.rtt.unwrap_or(self.round.min_rtt), !self.doubling),
            Variant::Linux => (self.round.min_rtt, true),
        };
        self.doubling = valid;
        if judged && valid && self.diff(rtt) > self.params.gamma {
            let target = self.window.get() * self.base_rtt.as_secs_f64() / rtt.as_secs_f64() + 1.0;
            self.reduce_to(target.min(self.window.get()));
        }
    }

    fn reduce_to(&mut self, segments: f64) {
        self.window.reduce_to(segments, MIN_WINDOW);
    }
}

impl Controller for Vegas {
    fn on_idle(&mut self, _now: Time, _idle: Span, restart: Option<Bytes>) {
        self.round = Round::NEW;
        if self.params.variant == Variant::Linux {
            self.base_rtt = Span::MAX;
        }
        if let Some(window) = restart {
            self.window.restart(window);
            self.doubling = false;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.round.min_rtt = self.round.min_rtt.min(rtt);
            self.round.samples += 1;
        }
        if ack.in_recovery {
            return;
        }
        if ack.round_start {
            self.judge(ack);
        }
        if self.window.in_slow_start() && self.doubling && ack.cwnd_limited {
            self.window.slow_start(ack.acked);
        }
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        self.round = Round::NEW;
        match event {
            Congestion::Loss { flight_size } | Congestion::Mark { flight_size } => {
                self.window.halve(flight_size);
            }
            Congestion::Timeout { flight_size, repeated } => {
                self.window.collapse(flight_size, repeated);
                self.doubling = false;
            }
            Congestion::Spurious => self.window.undo(),
        }
    }

    fn on_signal(&mut self, _now: Time, signal: &Signal<'_>) {
        if let Signal::Remembered { ssthresh } = *signal {
            self.window.remember(ssthresh);
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("ssthresh_bytes", self.window.ssthresh().into());
        if self.base_rtt != Span::MAX {
            report("base_rtt_ps", (self.base_rtt.as_ps() as f64).into());
        }
    }

    fn limit(&self) -> Limit {
        Limit::window(self.window.cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Config;
    use crate::cc::conformance::{MSS, ack, path};
    use crate::stream::Params as Stream;
    use crate::stream::bottleneck::{Bottleneck, run};
    use crate::units::BitRate;

    /// A window of 100 segments beyond slow start, and a base of 10 ms.
    fn avoiding(variant: Variant) -> Vegas {
        let mut vegas = Vegas::new(&Params { variant, ..Params::default() }, &path());
        vegas.window = SegmentWindow::new(MSS, MSS * 100, 2);
        vegas.window.reduce_to(100.0, 2.0);
        vegas.base_rtt = Span::from_ms(10);
        vegas
    }

    /// A round of `samples` acknowledgments after `rtt`; the last ends it.
    fn round(vegas: &mut Vegas, rtt: Span, samples: u32) {
        for sample in 1..=samples {
            vegas.on_ack(&Ack { rtt: Some(rtt), round_start: sample == samples, ..ack(MSS) });
        }
    }

    fn after_round(variant: Variant, rtt_us: u64) -> f64 {
        let mut vegas = avoiding(variant);
        round(&mut vegas, Span::from_us(rtt_us), 3);
        vegas.window.get()
    }

    #[test]
    fn the_window_moves_by_one_segment_if_too_few_or_too_many_wait() {
        // diff = 100·(1 − 10/RTT): 1.96, 2.91, 4.76 segments.
        assert_eq!(after_round(Variant::Original, 10_200), 101.0);
        assert_eq!(after_round(Variant::Original, 10_300), 100.0);
        assert_eq!(after_round(Variant::Original, 10_500), 99.0);
    }

    #[test]
    fn linux_measures_against_the_base() {
        // 100·(1 − 10/10.41) = 3.94, but 100·0.41/10 = 4.1.
        assert_eq!(after_round(Variant::Original, 10_410), 100.0);
        assert_eq!(after_round(Variant::Linux, 10_410), 99.0);
    }

    #[test]
    fn linux_measures_its_base_anew_after_a_pause() {
        // 100·0.5/10 = 5 segments wait, as far as a base of 10 ms tells; one of 10.5 ms tells of none.
        for (variant, window) in [(Variant::Original, 99.0), (Variant::Linux, 101.0)] {
            let mut vegas = avoiding(variant);
            vegas.on_idle(Time::ZERO, Span::from_ms(1), None);
            round(&mut vegas, Span::from_us(10_500), 3);
            assert_eq!(vegas.window.get(), window, "{variant:?}");
        }
    }

    #[test]
    fn the_smallest_round_trip_of_the_round_decides() {
        let mut vegas = avoiding(Variant::Original);
        vegas.on_ack(&Ack { rtt: Some(Span::from_us(10_300)), ..ack(MSS) });
        round(&mut vegas, Span::from_ms(20), 3);
        assert_eq!(vegas.window.get(), 100.0);
    }

    #[test]
    fn a_round_of_two_samples_adds_a_segment_whatever_they_say() {
        let mut vegas = avoiding(Variant::Original);
        round(&mut vegas, Span::from_ms(20), 2);
        assert_eq!(vegas.window.get(), 101.0);
    }

    #[test]
    fn slow_start_doubles_in_every_other_round() {
        for (variant, windows) in
            [(Variant::Original, [20.0, 20.0, 40.0]), (Variant::Linux, [20.0, 40.0, 80.0])]
        {
            let mut vegas = Vegas::new(&Params { variant, ..Params::default() }, &path());
            let mut seen = [0.0; 3];
            for window in &mut seen {
                let segments = vegas.window.get() as u32;
                for sample in 1..=segments {
                    let rtt = Some(Span::from_ms(10));
                    vegas.on_ack(&Ack { rtt, round_start: sample == 1, ..ack(MSS) });
                }
                *window = vegas.window.get();
            }
            assert_eq!(seen, windows, "{variant:?}");
        }
    }

    #[test]
    fn slow_start_ends_with_what_the_path_holds_and_a_segment() {
        let mut vegas = avoiding(Variant::Original);
        vegas.window = SegmentWindow::new(MSS, MSS * 100, 2);
        vegas.doubling = false;
        round(&mut vegas, Span::from_us(12_500), 3);
        // 100·10/12.5 + 1
        assert_eq!(vegas.window.get(), 81.0);
        assert!(!vegas.window.in_slow_start());
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut vegas = avoiding(Variant::Original);
        for sample in 1..=4 {
            let rtt = Some(Span::from_ms(10));
            vegas.on_ack(&Ack { rtt, round_start: sample == 4, cwnd_limited: false, ..ack(MSS) });
        }
        assert_eq!(vegas.window.get(), 100.0);
    }

    #[test]
    fn a_loss_halves() {
        let mut vegas = avoiding(Variant::Original);
        vegas.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * 100 });
        assert_eq!(vegas.window.get(), 50.0);
    }

    #[test]
    fn each_flow_keeps_alpha_to_beta_segments_waiting() {
        // 1 Gb/s, 10 ms. Flows start when the queue is empty, so that all know the true base.
        let path = Bottleneck::new(BitRate::from_gbps(1), Span::from_ms(10), Bytes::new(30_000_000));
        let stream = Stream { ack_every: 1, ..Stream::default() };
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        for (alpha, beta, flows) in [(2.0, 4.0, 1), (2.0, 4.0, 4), (20.0, 40.0, 1), (20.0, 40.0, 4)] {
            let config = Config::Vegas(Params { alpha, beta, ..Params::default() });
            let connections: Vec<_> = (0..flows).map(|flow| (config.clone(), at(flow))).collect();
            let all = run(&path, &stream, &connections, at(2_000), Span::from_ms(1));
            let late: Vec<_> = all.iter().map(|one| &one[1_000..]).collect();
            let queues = late[0].iter().map(|sample| sample.queue.as_f64() / 1538.0);
            let (least, most) =
                queues.fold((f64::MAX, 0.0), |(least, most), queue| (queue.min(least), queue.max(most)));
            let flows = flows as f64;
            // The packet being sent counts in the queue but not in diff, whose base contains its own sending.
            assert!(
                least >= flows * alpha && most <= flows * beta + 1.0,
                "{flows} {alpha}: {least} to {most}"
            );
            let total: f64 = late.iter().flat_map(|one| one.iter()).map(|sample| sample.rate.as_f64()).sum();
            assert!(total / late[0].len() as f64 > 0.9999 * 1e9 * 1448.0 / 1538.0, "{total}");
            assert_eq!(late[0].iter().map(|sample| sample.retransmissions).max(), Some(0));
        }
    }
}
