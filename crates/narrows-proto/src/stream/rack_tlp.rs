use super::rtt::RttEstimator;
use super::sent::{Sent, Tally};
use crate::units::{Span, Time};

/// Recent acknowledgment, RACK-TLP (RFC 8985 §6): a segment is lost if one sent later by more than the reordering window has
/// been delivered.
#[derive(Clone, Debug, Default)]
pub(crate) struct RackTlp {
    /// When the most recently sent of all delivered segments was sent, and its end (`RACK.segment`).
    sent_at: Time,
    end: u64,
    /// Its round-trip time (`RACK.rtt`).
    rtt: Span,
    reordering_seen: bool,
    /// Quarters of the minimum round-trip time the reordering window has (`RACK.reo_wnd_mult`).
    quarters: u64,
    /// Recoveries until it falls back to one (`RACK.reo_wnd_persist`).
    persist: u32,
    /// Duplicates up to this byte have widened the window already (`RACK.dsack_round`); zero if none have.
    widened_until: u64,
}

/// RFC 8985 §6.2 step 4: DSACKs widen the window for this many recoveries.
const PERSIST: u32 = 16;

/// RFC 5681 §3.2: this many segments delivered beyond a hole mean loss, as long as no reordering has been seen.
const DUP_THRESH: u64 = 3;

impl RackTlp {
    /// Takes in what an acknowledgment delivered (steps 1 to 3).
    pub(crate) fn on_ack(&mut self, now: Time, tally: &Tally, rtt: &RttEstimator) {
        self.reordering_seen |= tally.reordered > 0;
        let Some(newest) = tally.newest else { return };
        let round_trip = now.saturating_since(newest.sent_at);
        // An answer faster than the path to a segment sent twice belongs to the first transmission.
        if newest.retransmitted && round_trip < rtt.min() {
            return;
        }
        self.rtt = round_trip;
        if newest.is_later_than(self.newest()) {
            self.sent_at = newest.sent_at;
            self.end = newest.end;
        }
    }

    /// A duplicate was reported: what was taken for lost had only been late (step 4).
    pub(crate) fn on_duplicate(&mut self, una: u64, next: u64) {
        if una >= self.widened_until {
            self.widened_until = next;
            self.quarters = self.quarters.max(1) + 1;
        }
        self.persist = PERSIST;
    }

    /// Sequence numbers begin anew; nothing sent so far is on its way. What is known of the path stays.
    pub(super) fn forget_segments(&mut self) {
        self.end = 0;
        self.widened_until = 0;
    }

    /// A recovery ended.
    pub(crate) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Time by which a segment may arrive later than others without being lost.
    pub(crate) fn reordering_window(
        &self,
        rtt: &RttEstimator,
        recovering: bool,
        sacked_segments: u64,
    ) -> Span {
        if !self.reordering_seen && (recovering || sacked_segments >= DUP_THRESH) {
            return Span::ZERO;
        }
        (rtt.min() / 4).saturating_mul(self.quarters.max(1)).min(rtt.srtt())
    }

    /// Identifies the most recently sent of all delivered segments.
    pub(crate) fn newest(&self) -> (Time, u64) {
        (self.sent_at, self.end)
    }

    /// `sent` is lost if it has not been acknowledged by then (step 5).
    pub(crate) fn deadline(&self, sent: &Sent, reordering_window: Span) -> Time {
        sent.sent_at + self.rtt + reordering_window
    }

    /// Everything sent up to this moment is lost when the retransmission timer expires (§6.3).
    pub(crate) fn stale_before(&self, now: Time, reordering_window: Span) -> Time {
        Time::ZERO + now.saturating_since(Time::ZERO + self.rtt + reordering_window)
    }
}
