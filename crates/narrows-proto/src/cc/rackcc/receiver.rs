//! The rate that a destination host advertises to all its sources.
//!
//! ```text
//! Every d    D <- D·(1 + (k·(C − y) − k'·Q/d)/C)        RackCC §3.2
//! Source     s_target = min(f_target, D)                 RackCC §3.2
//! ```
//! C is the rate of the host's link, y what arrived over it in the last interval, Q the persistent queue in front of it.
//! All sources get the same D, whatever they want: D is a bound, and the bound under which demands fill the link gives
//! their max-min shares.
//!
//! y is measured behind the queue, so it never exceeds C. Below C the first term alone raises D, by at most the factor
//! 1 + k per interval; above C the second term alone lowers it.
//!
//! Differs from RackCC §3.2: D stays between a floor and C; the paper has no bounds. With D = 0 nothing could raise it
//! again, and above C it would mean nothing. In one interval it falls by half at most: a queue of more than C·d/k' would make
//! the formula negative.

use crate::cc::{OutOfRange, Ranges};
use crate::units::{BitRate, Bytes, Span};

#[cfg(test)]
mod tests;

/// Settings of the advertised rate.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RackReceiver")]
pub struct Params {
    /// d, the control interval. RackCC leaves it open; 120 us, two round trips of its network (§4.2).
    pub interval: Span,
    /// k, the weight of unused capacity. RackCC leaves it open; 0.4 as in RCP. What is stable depends on d: with k' =
    /// 0.2 up to 0.3 if d is half a round trip, 0.6 if it is one, 1.0 if it is two (tests).
    pub gain: f64,
    /// k', the weight of the persistent queue. RackCC leaves it open; 0.2.
    pub queue_gain: f64,
    /// The rate never falls below it. RackCC has none; 1 Mb/s.
    pub floor: BitRate,
}

impl Default for Params {
    fn default() -> Self {
        Self { interval: Span::from_us(120), gain: 0.4, queue_gain: 0.2, floor: BitRate::from_mbps(1) }
    }
}

impl Params {
    /// Checks that the values make sense.
    ///
    /// # Errors
    /// If one does not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { interval, gain, queue_gain, floor } = *self;
        ranges.timer("interval", interval)?;
        ranges.unless(gain > 0.0 && gain.is_finite(), "gain", gain, "above 0")?;
        let possible = queue_gain >= 0.0 && queue_gain.is_finite();
        ranges.unless(possible, "queue_gain", queue_gain, "at least 0")?;
        ranges.unless(floor > BitRate::ZERO, "floor", floor, "above 0")
    }
}

/// `D_target` of one destination host (RackCC §3.2).
#[derive(Clone, Debug)]
pub struct Receiver {
    /// C.
    capacity: BitRate,
    /// D.
    rate: BitRate,
}

impl Receiver {
    /// A host behind a link of `capacity`. At first its sources may use all of it.
    pub fn new(capacity: BitRate) -> Self {
        Self { capacity, rate: capacity }
    }

    /// The rate no source may exceed.
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// An interval is over: `received` arrived in `elapsed`, headers and framing included, and the queue in front of
    /// the link was never shorter than `queue`. Nothing changes if `elapsed` is zero.
    pub fn update(&mut self, params: &Params, received: Bytes, elapsed: Span, queue: Bytes) {
        let interval = elapsed.as_secs_f64();
        if interval <= 0.0 {
            return;
        }
        // As parts of C: unused, and what it takes to drain the queue in one interval.
        let capacity = self.capacity.as_f64();
        let spare = 1.0 - received.as_f64() * 8.0 / interval / capacity;
        let backlog = queue.as_f64() * 8.0 / interval / capacity;
        let factor = (1.0 + params.gain * spare - params.queue_gain * backlog).max(LEAST_FACTOR);
        self.rate = self.rate.scaled(factor).max(params.floor).min(self.capacity);
    }
}

/// Least part of D that remains after an interval.
const LEAST_FACTOR: f64 = 0.5;

/// Max-min fair shares of `capacity` for demands `caps`: the smallest first, each gets what it wants or an equal part
/// of what is left.
#[cfg(test)]
pub(crate) fn max_min(capacity: f64, caps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..caps.len()).collect();
    order.sort_by(|a, b| caps[*a].total_cmp(&caps[*b]));
    let (mut left, mut shares) = (capacity, vec![0.0; caps.len()]);
    for (served, index) in order.into_iter().enumerate() {
        shares[index] = caps[index].min(left / (caps.len() - served) as f64);
        left -= shares[index];
    }
    shares
}
