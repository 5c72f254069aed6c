//! Timeout before a tail loss probe.
//!
//! ```text
//! Several segments under way   2·SRTT + several                          tcp_schedule_loss_probe of Linux
//! One, which may wait for      the longer of 2·SRTT
//! a delayed acknowledgment         and alone_rtts·SRTT + alone, or + min_rto with alone_is_min_rto
//! Both                         at least `least`, never beyond the retransmission timeout
//! ```

use crate::cc::{OutOfRange, Ranges};
use crate::units::Span;

/// Settings of the wait for a tail loss probe.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ProbeTimeout")]
pub struct ProbeTimeout {
    /// Added to twice the smoothed round-trip time (`TCP_TIMEOUT_MIN_US`).
    pub several: Span,
    /// Added if there is one segment alone: `TCP_DELACK_MAX` in Linux 4.9.
    pub alone: Span,
    /// `min_rto` in place of `alone`, as in Linux 6.12.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone_is_min_rto: bool,
    /// Smoothed round-trip times that `alone` is added to: 2 in Linux 6.12, 1.5 in 4.9.
    pub alone_rtts: f64,
    /// The shortest wait: 10 ms in Linux 4.9.
    pub least: Span,
}

impl Default for ProbeTimeout {
    fn default() -> Self {
        let (several, alone) = (Span::from_ms(2), Span::from_ms(200));
        Self { several, alone, alone_is_min_rto: false, alone_rtts: 2.0, least: Span::ZERO }
    }
}

impl ProbeTimeout {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { several, alone, alone_rtts, least, .. } = *self;
        let most = Span::from_secs(60);
        for (span, key) in [
            (several, "probe_timeout.several"),
            (alone, "probe_timeout.alone"),
            (least, "probe_timeout.least"),
        ] {
            ranges.unless(span <= most, key, span, "at most 60 s")?;
        }
        ranges.unless((0.0..=10.0).contains(&alone_rtts), "probe_timeout.alone_rtts", alone_rtts, "0 to 10")
    }

    /// The wait for a flight with this smoothed round-trip time.
    pub(super) fn wait(&self, srtt: Span, is_alone: bool, min_rto: Span) -> Span {
        let twice = srtt * 2;
        let wait = if is_alone {
            let delayed = if self.alone_is_min_rto { min_rto } else { self.alone };
            twice.max(Span::from_secs_f64(srtt.as_secs_f64() * self.alone_rtts) + delayed)
        } else {
            twice + self.several
        };
        wait.max(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_alone_is_given_the_time_of_a_delayed_acknowledgment() {
        let ms = Span::from_ms;
        let linux_6_12 = ProbeTimeout { alone_is_min_rto: true, ..ProbeTimeout::default() };
        assert_eq!([false, true].map(|alone| linux_6_12.wait(ms(40), alone, ms(200))), [ms(82), ms(280)]);
        assert_eq!([false, true].map(|alone| linux_6_12.wait(ms(40), alone, ms(5))), [ms(82), ms(85)]);
        let linux_4_9 =
            ProbeTimeout { several: Span::ZERO, alone_rtts: 1.5, least: ms(10), ..ProbeTimeout::default() };
        let wait = |srtt, alone| linux_4_9.wait(srtt, alone, ms(5));
        assert_eq!([false, true].map(|alone| wait(ms(40), alone)), [ms(80), ms(260)]);
        assert_eq!([false, true].map(|alone| wait(ms(1), alone)), [ms(10), Span::from_us(201_500)]);
        assert_eq!(wait(ms(1000), true), ms(2000));
    }
}
