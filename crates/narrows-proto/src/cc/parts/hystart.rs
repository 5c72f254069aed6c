use super::super::{OutOfRange, Ranges};
use crate::units::Span;

/// Settings of [`HyStart`]; the constants of RFC 9406 §4.3.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "HyStart")]
pub struct HyStartParams {
    /// `MIN_RTT_THRESH`: a smaller rise of the round-trip time is noise. With the RFC's 4 ms, slow start inside a data
    /// center never ends by delay.
    pub min_rtt_threshold: Span,
    /// `MAX_RTT_THRESH`: a larger rise always counts.
    pub max_rtt_threshold: Span,
    /// `MIN_RTT_DIVISOR`: the fraction of the round-trip time that counts as a rise, between the two thresholds.
    pub rtt_divisor: u64,
    /// `N_RTT_SAMPLE`: samples a round needs before it is judged.
    pub samples: u32,
    /// `CSS_GROWTH_DIVISOR`: how much slower the window grows while the rise is being confirmed.
    pub css_growth_divisor: u64,
    /// `CSS_ROUNDS`: rounds of confirmation.
    pub css_rounds: u32,
}

impl Default for HyStartParams {
    fn default() -> Self {
        Self {
            min_rtt_threshold: Span::from_ms(4),
            max_rtt_threshold: Span::from_ms(16),
            rtt_divisor: 8,
            samples: 8,
            css_growth_divisor: 4,
            css_rounds: 5,
        }
    }
}

impl HyStartParams {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { rtt_divisor, css_growth_divisor, min_rtt_threshold, max_rtt_threshold, .. } = *self;
        ranges.unless(rtt_divisor >= 1, "rtt_divisor", rtt_divisor, "at least 1")?;
        ranges.unless(css_growth_divisor >= 1, "css_growth_divisor", css_growth_divisor, "at least 1")?;
        ranges.unless(
            min_rtt_threshold <= max_rtt_threshold,
            "min_rtt_threshold",
            min_rtt_threshold,
            "at most max_rtt_threshold",
        )
    }
}

/// `HyStart++`: leaves slow start when the round-trip time rises, before the buffer overflows (RFC 9406 §4.2).
///
/// A rise starts Conservative Slow Start, in which the window grows more slowly; if the rise proves to be noise slow
/// start resumes, otherwise it ends after some rounds.
#[derive(Clone, Debug)]
pub struct HyStart {
    params: HyStartParams,
    last_round_min: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    SlowStart,
    Conservative { baseline: Span, rounds: u32 },
}

impl HyStart {
    /// At the beginning of the first slow start; to be dropped when that has ended.
    pub fn new(params: HyStartParams) -> Self {
        Self { params, last_round_min: None, round_min: None, samples: 0, phase: Phase::SlowStart }
    }

    /// Divisor of the growth of slow start at present.
    pub fn growth_divisor(&self) -> u64 {
        if let Phase::Conservative { .. } = self.phase { self.params.css_growth_divisor } else { 1 }
    }

    /// An acknowledgment arrived in slow start. True says that slow start is over.
    #[must_use]
    pub fn on_ack(&mut self, rtt: Option<Span>, round_start: bool) -> bool {
        if round_start && self.on_round() {
            return true;
        }
        if let Some(rtt) = rtt {
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        false
    }

    fn on_round(&mut self) -> bool {
        self.last_round_min = self.round_min.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            return *rounds >= self.params.css_rounds;
        }
        false
    }

    fn judge(&mut self) {
        if self.samples < self.params.samples {
            return;
        }
        match (&self.phase, self.round_min, self.last_round_min) {
            (Phase::SlowStart, Some(now), Some(last)) if now >= last + self.threshold(last) => {
                self.phase = Phase::Conservative { baseline: now, rounds: 0 };
            }
            (Phase::Conservative { baseline, .. }, Some(now), _) if now < *baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    fn threshold(&self, last: Span) -> Span {
        (last / self.params.rtt_divisor).clamp(self.params.min_rtt_threshold, self.params.max_rtt_threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds one round of `rtts`; true if slow start ended.
    fn round(hystart: &mut HyStart, rtt_ms: u64) -> bool {
        let ended = hystart.on_ack(Some(Span::from_ms(rtt_ms)), true);
        (0..8).any(|_| hystart.on_ack(Some(Span::from_ms(rtt_ms)), false)) || ended
    }

    #[test]
    fn a_rise_slows_the_growth_and_ends_slow_start_after_five_rounds() {
        let mut hystart = HyStart::new(HyStartParams::default());
        assert!(!round(&mut hystart, 40));
        assert!(!round(&mut hystart, 45)); // 40/8 = 5 ms above the last round
        assert_eq!(hystart.growth_divisor(), 4);
        for _ in 0..4 {
            assert!(!round(&mut hystart, 46));
        }
        assert!(round(&mut hystart, 46));
    }

    #[test]
    fn a_rise_that_vanishes_was_noise() {
        let mut hystart = HyStart::new(HyStartParams::default());
        round(&mut hystart, 40);
        round(&mut hystart, 45);
        round(&mut hystart, 41);
        assert_eq!(hystart.growth_divisor(), 1);
    }

    #[test]
    fn a_rise_below_the_threshold_changes_nothing() {
        let mut hystart = HyStart::new(HyStartParams::default());
        round(&mut hystart, 10);
        round(&mut hystart, 13);
        assert_eq!(hystart.growth_divisor(), 1);
    }
}
