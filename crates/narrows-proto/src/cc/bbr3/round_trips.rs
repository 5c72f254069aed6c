//! The smallest round-trip time, and data whose samples `PROBE_RTT` has lowered.

use crate::units::{Bytes, Span, Time};

#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    /// The smallest of `min_rtt_window`, and when it was seen.
    pub(super) min: Option<Span>,
    min_at: Time,
    /// The smallest of `probe_rtt_interval`, and when it was seen.
    pub(super) recent: Option<Span>,
    pub(super) recent_at: Time,
    /// Data sent while this much had been delivered, both ends included, was held back by `PROBE_RTT`.
    pub(super) held: Option<(Bytes, Bytes)>,
}

impl RoundTrips {
    /// Data sent after this much had been delivered was sent in `PROBE_RTT`.
    pub(super) fn held_back(&mut self, sent_after: Bytes) -> bool {
        if self.held.is_some_and(|(_, to)| sent_after > to) {
            self.held = None;
        }
        self.held.is_some_and(|(from, to)| (from..=to).contains(&sent_after))
    }

    pub(super) fn add(&mut self, now: Time, rtt: Span, expired: bool, window: Span) {
        if expired || self.recent.is_none_or(|recent| rtt < recent) {
            self.recent = Some(rtt);
            self.recent_at = now;
        }
        let too_old = now > self.min_at + window;
        if too_old || self.min.is_none_or(|min| self.recent.is_some_and(|recent| recent < min)) {
            self.min = self.recent;
            self.min_at = self.recent_at;
        }
    }
}
