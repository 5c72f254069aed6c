//! TIMELY: a rate that follows the gradient of round-trip times.
//!
//! ```text
//! Each completed segment, with the round-trip time of its last packet       Mittal et al. (SIGCOMM 2015) Alg. 1
//!     rtt_diff = (1 − alpha)·rtt_diff + alpha·(rtt − previous rtt)
//!     gradient = rtt_diff / min RTT
//!     rtt < T_low           R = R + delta
//!     rtt > T_high          R = R·(1 − beta·(1 − T_high/rtt))
//!     gradient ≤ 0          R = R + N·delta,  N = 5 from the fifth time in a row on (hyperactive increase), 1 before
//!     gradient > 0          R = R·(1 − beta·gradient)
//! Patched: between the thresholds, whatever the gradient                    Zhu et al. (CoNEXT 2016) Alg. 2
//!     w = 0 if gradient ≤ −1/4, 1 if gradient ≥ 1/4, 2·gradient + 1/2 between
//!     R = delta·(1 − w) + R·(1 − beta·w·(rtt − T_low)/T_low)
//! ```
//! The published rules have no unique fixed point; the patched ones share fairly. The first segment has no
//! difference. Losses and timeouts do not change the rate.
//!
//! Differs from Mittal et al. §5: packets leave one by one at the rate, not in bursts of a segment, so the time to send a segment
//! is not part of a round trip and is not taken off; that of one packet and its acknowledgment is part of it.
//! Differs from Mittal et al. §4.3: a flow begins at the rate of the host's link, as their first flow of a host does, however many
//! others there are.

#[cfg(test)]
mod tests;

use super::parts::RateWindow;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of TIMELY.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Timely")]
pub struct Params {
    /// The rule of Zhu et al. (CoNEXT 2016) between the thresholds, which has one fixed point. Off: as published in 2015.
    pub patched: bool,
    /// Acknowledged payload that makes up a segment; 16 kB to 64 kB (Mittal et al. §5).
    pub segment: Bytes,
    /// One update for each round trip, as in HPCC's simulations, instead of each segment.
    pub every_round_trip: bool,
    /// Below this round-trip time the rate grows; 50 us (Mittal et al. §6).
    pub t_low: Span,
    /// Above it the rate falls whatever the gradient; 500 us (Mittal et al. §6).
    pub t_high: Span,
    /// Constant by which the gradient is normalized; 20 us (Zhu et al., CoNEXT 2016).
    pub min_rtt: Span,
    /// Additive increase; 10 Mb/s (Mittal et al. §6).
    pub delta: BitRate,
    /// Factor of the decrease; 0.8 (Mittal et al. §6), patched: 0.008 (Zhu et al., CoNEXT 2016).
    pub beta: Option<f64>,
    /// Weight of the newest difference in the average; 0.875 (Zhu et al., CoNEXT 2016).
    pub alpha: f64,
    /// From so many updates in a row with a gradient of 0 or less on, increases are larger; 5 (Mittal et al. §4.3).
    pub hai_after: u32,
    /// N, how much larger; 5 (Mittal et al. §4.3).
    pub hai_factor: u32,
    /// Increases below `t_low` count as well, and grow like the others, as in HPCC's simulations. Off: they are `delta` (Mittal et al.
    /// Alg. 1).
    pub hai_below_t_low: bool,
    /// Payload that may be on its way at line rate, and in proportion to the rate below it: HPCC's simulations with `VAR_WIN 1`. A packet
    /// may be sent as long as less is on its way. Unlimited if left out.
    pub window: Option<Bytes>,
    /// The rate does not fall below; 10 Mb/s (not published).
    pub min_rate: BitRate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            patched: false,
            segment: Bytes::new(16_000),
            every_round_trip: false,
            t_low: Span::from_us(50),
            t_high: Span::from_us(500),
            min_rtt: Span::from_us(20),
            delta: BitRate::from_mbps(10),
            beta: None,
            alpha: 0.875,
            hai_after: 5,
            hai_factor: 5,
            hai_below_t_low: false,
            window: None,
            min_rate: BitRate::from_mbps(10),
        }
    }
}

impl Params {
    fn beta(&self) -> f64 {
        self.beta.unwrap_or(if self.patched { 0.008 } else { 0.8 })
    }
}

/// A TIMELY rate.
#[derive(Clone, Debug)]
pub struct Timely {
    params: Box<Params>,
    window: RateWindow,
    line_rate: f64,
    /// In bit/s.
    rate: f64,
    /// Smoothed difference of round-trip times, in seconds.
    rtt_diff: f64,
    previous: Option<Span>,
    /// Payload acknowledged since the last update.
    acked: u64,
    /// A round trip is over and has not been counted.
    round_over: bool,
    /// Updates in a row with a gradient of 0 or less; increases in a row with `hai_below_t_low`.
    falling: u32,
}

impl Algorithm for Timely {
    type Params = Params;
    const SUMMARY: &'static str = "rate that follows the gradient of delay (RDMA)";
    const SOURCE: &'static str = "Mittal et al., SIGCOMM 2015";
    const INSIDE: Described = &[(
        "gradient",
        "The smoothed change of the round-trip time between updates, in minimum round-trip times.",
    )];
    const READS_DELAY: bool = true;
    const NEEDS_RDMA: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let line_rate = path.link.as_f64();
        Self {
            params: Box::new(params.clone()),
            window: RateWindow::new(params.window, path.link, path.mss),
            line_rate,
            rate: line_rate,
            rtt_diff: 0.0,
            previous: None,
            acked: 0,
            round_over: false,
            falling: 0,
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn complete(params: &mut Params) {
        params.beta = Some(params.beta());
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { segment, t_low, t_high, min_rtt, delta, alpha, min_rate, .. } = *params;
        ranges.unless(segment > Bytes::ZERO, "segment", segment, "more than 0 B")?;
        ranges.unless(t_low > Span::ZERO, "t_low", t_low, "more than 0 s")?;
        ranges.unless(t_high >= t_low, "t_high", t_high, "at least t_low")?;
        ranges.unless(min_rtt > Span::ZERO, "min_rtt", min_rtt, "more than 0 s")?;
        ranges.unless(delta <= WireTime::MAX_RATE, "delta", delta, "at most 100 Tb/s")?;
        let beta = params.beta();
        ranges.unless(beta > 0.0 && beta <= 1.0, "beta", beta, "above 0, at most 1")?;
        ranges.unless(alpha > 0.0 && alpha <= 1.0, "alpha", alpha, "above 0, at most 1")?;
        for (name, count) in [("hai_after", params.hai_after), ("hai_factor", params.hai_factor)] {
            ranges.unless((1..=1_000).contains(&count), name, count, "1 to 1 000")?;
        }
        RateWindow::check(params.window, ranges)?;
        let range = WireTime::MIN_RATE..=WireTime::MAX_RATE;
        ranges.unless(range.contains(&min_rate), "min_rate", min_rate, "1 kb/s to 100 Tb/s")
    }
}

impl Timely {
    /// A segment is complete: the rules.
    fn update(&mut self, rtt: Span) {
        let Params { patched, t_low, t_high, min_rtt, delta, alpha, hai_after, hai_factor, .. } =
            *self.params;
        let (seconds, delta, beta) = (rtt.as_secs_f64(), delta.as_f64(), self.params.beta());
        let difference = self.previous.map_or(0.0, |previous| seconds - previous.as_secs_f64());
        self.previous = Some(rtt);
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * difference;
        let gradient = self.rtt_diff / min_rtt.as_secs_f64();
        let below = rtt < t_low;
        let rises = if below { self.params.hai_below_t_low } else { rtt <= t_high && gradient <= 0.0 };
        self.falling = if rises { self.falling.saturating_add(1) } else { 0 };
        let steps = if self.falling >= hai_after { hai_factor } else { 1 };
        let rate = if below {
            self.rate + f64::from(steps) * delta
        } else if rtt > t_high {
            self.rate * (1.0 - beta * (1.0 - t_high.as_secs_f64() / seconds))
        } else if patched {
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = seconds / t_low.as_secs_f64() - 1.0;
            delta * (1.0 - weight) + self.rate * (1.0 - beta * weight * error)
        } else if gradient <= 0.0 {
            self.rate + f64::from(steps) * delta
        } else {
            self.rate * (1.0 - beta * gradient)
        };
        self.rate = rate.max(self.params.min_rate.as_f64()).min(self.line_rate);
    }
}

impl Controller for Timely {
    fn on_ack(&mut self, ack: &Ack) {
        let segment = self.params.segment.get();
        self.acked = self.acked.saturating_add(ack.acked.get());
        self.round_over |= ack.round_start;
        let complete = if self.params.every_round_trip { self.round_over } else { self.acked >= segment };
        // A packet that was sent twice gives no sample: the next one does.
        let (true, Some(rtt)) = (complete, ack.rtt) else { return };
        self.acked %= segment;
        self.round_over = false;
        self.update(rtt);
    }

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        Limit { cwnd: self.window.at(self.rate), pacing: Some(BitRate::from_f64(self.rate)) }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("gradient", (self.rtt_diff / self.params.min_rtt.as_secs_f64()).into());
    }
}
