//! Delay of an acknowledgment if it follows the gaps between arrivals.
//!
//! ```text
//! ato = least                          first segment                    tcp_event_data_recv of Linux
//!       ato/2 + least/2                gap ≤ least/2
//!       ato/2 + gap                    gap < ato, no more than the receiver's own timeout and `most`
//!       2·ato                          when an acknowledgment has waited for all of its time,     tcp_delack_timer_handler
//!                                      likewise; on an interactive connection least
//! Wait  ato; beyond `least` no longer than the round-trip time, and never longer than `most`      tcp_send_delayed_ack
//! ```
//! The receiver's own timeout is RTT + max(2·RTT, `min_rto`), with the round-trip time of the handshake; `initial_rto` without.
//!
//! Differs from Linux 4.9: there ato may exceed `most`, the wait may not; and without a push flag `most` is 500 ms.

use crate::cc::{OutOfRange, Ranges};
use crate::units::Span;

/// Settings of waits that follow arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "AckTimeout")]
pub struct AckTimeout {
    /// The shortest wait, and the one of segments that arrive quickly (`TCP_ATO_MIN`).
    pub least: Span,
    /// The longest wait (`TCP_DELACK_MAX`).
    pub most: Span,
}

impl Default for AckTimeout {
    fn default() -> Self {
        Self { least: Span::from_ms(40), most: Span::from_ms(200) }
    }
}

impl AckTimeout {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { least, most } = *self;
        ranges.unless(
            (Span::from_us(1)..=most).contains(&least),
            "ack_timeout.least",
            least,
            "1 us to ack_timeout.most",
        )?;
        ranges.unless(most <= Span::from_secs(10), "ack_timeout.most", most, "at most 10 s")
    }
}

/// The state of a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ato {
    /// Zero before the first segment.
    ato: Span,
}

impl Ato {
    /// A segment arrived so long after the one before; `rto` is the receiver's own timeout.
    pub(super) fn on_arrival(&mut self, settings: &AckTimeout, gap: Span, rto: Span) {
        let least = settings.least;
        if self.ato == Span::ZERO {
            self.ato = least;
        } else if gap <= least / 2 {
            self.ato = self.ato / 2 + least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto).min(settings.most);
        }
    }

    /// An acknowledgment has waited for all of its time.
    pub(super) fn on_timeout(&mut self, settings: &AckTimeout, rto: Span) {
        self.ato = (self.ato * 2).min(rto).min(settings.most);
    }

    /// A quick or interactive mode ended.
    pub(super) fn deflate(&mut self, settings: &AckTimeout) {
        self.ato = settings.least;
    }

    /// The time itself, for which Linux takes what is sent for a reply; zero before the first segment.
    pub(super) fn get(&self) -> Span {
        self.ato
    }

    /// Delay of the next acknowledgment; `rtt` is zero if it is not known.
    pub(super) fn wait(&self, settings: &AckTimeout, rtt: Span) -> Span {
        let longest = if rtt == Span::ZERO { settings.most } else { rtt.max(settings.least) };
        self.ato.max(settings.least).min(longest).min(settings.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_ms;
    const LINUX: AckTimeout = AckTimeout { least: Span::from_ms(40), most: Span::from_ms(200) };

    /// Waits after segments with these gaps, in milliseconds.
    fn waits(ato: &mut Ato, gaps: &[u64], rtt: u64) -> Vec<u64> {
        let wait = |gap: &u64| {
            ato.on_arrival(&LINUX, MS(*gap), MS(1000));
            ato.wait(&LINUX, MS(rtt)).as_ps() / MS(1).as_ps()
        };
        gaps.iter().map(wait).collect()
    }

    #[test]
    fn the_wait_shrinks_with_the_gap_of_arrivals() {
        let mut ato = Ato::default();
        assert_eq!(waits(&mut ato, &[0, 30], 0), [40, 50]); // 40/2 + 30
        assert_eq!(waits(&mut ato, &[45, 45, 45], 0), [70, 80, 85]); // towards 90
        // Each quick arrival leaves half of what is above 40.
        assert_eq!(waits(&mut ato, &[10; 4], 0), [62, 51, 45, 42]);
    }

    #[test]
    fn a_gap_beyond_the_wait_changes_nothing() {
        assert_eq!(waits(&mut Ato::default(), &[0, 50, 500], 0), [40, 40, 40]);
    }

    #[test]
    fn a_wait_in_vain_doubles_it_up_to_the_round_trip_time_and_the_most() {
        let mut ato = Ato::default();
        waits(&mut ato, &[0], 0);
        (0..4).for_each(|_| ato.on_timeout(&LINUX, MS(1000)));
        assert_eq!(ato.get(), MS(200));
        let waits = [0, 10, 100, 1000].map(|rtt| ato.wait(&LINUX, MS(rtt)));
        assert_eq!(waits, [MS(200), MS(40), MS(100), MS(200)]);
        ato.deflate(&LINUX);
        assert_eq!(ato.wait(&LINUX, Span::ZERO), MS(40));
    }
}
