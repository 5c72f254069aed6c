//! How long a tail loss probe waits.
//!
//! ```text
//! Several segments under way   2·SRTT + several                          tcp_schedule_loss_probe of Linux
//! One, which may wait for      the longer of 2·SRTT
//! a delayed acknowledgment         and alone_rtts·SRTT + alone
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
    /// Added if there is one segment alone: `tcp_rto_min` in Linux 6.12, `TCP_DELACK_MAX` in 4.9.
    pub alone: Span,
    /// What `alone` is added to, in smoothed round-trip times: 2 in Linux 6.12, 1.5 in 4.9.
    pub alone_rtts: f64,
    /// The shortest wait: 10 ms in Linux 4.9.
    pub least: Span,
}

impl Default for ProbeTimeout {
    fn default() -> Self {
        Self { several: Span::from_ms(2), alone: Span::from_ms(200), alone_rtts: 2.0, least: Span::ZERO }
    }
}

impl ProbeTimeout {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { several, alone, alone_rtts, least } = *self;
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
    pub(super) fn wait(&self, srtt: Span, is_alone: bool) -> Span {
        let twice = srtt * 2;
        let wait = if is_alone {
            twice.max(Span::from_secs_f64(srtt.as_secs_f64() * self.alone_rtts) + self.alone)
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
        let linux_6_12 = ProbeTimeout::default();
        assert_eq!([false, true].map(|alone| linux_6_12.wait(ms(40), alone)), [ms(82), ms(280)]);
        let linux_4_9 =
            ProbeTimeout { several: Span::ZERO, alone_rtts: 1.5, least: ms(10), ..ProbeTimeout::default() };
        assert_eq!([false, true].map(|alone| linux_4_9.wait(ms(40), alone)), [ms(80), ms(260)]);
        assert_eq!([false, true].map(|alone| linux_4_9.wait(ms(1), alone)), [ms(10), Span::from_us(201_500)]);
        assert_eq!(linux_4_9.wait(ms(1000), true), ms(2000));
    }
}
