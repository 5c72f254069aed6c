//! Facts about segments that were sent, which loss detection, delivery rates and the scoreboard share.

use crate::units::{Bytes, Span, Time};

/// A segment that has been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// One past its last byte.
    pub(crate) end: u64,
    pub(crate) len: u32,
    pub(crate) state: State,
    pub(crate) retransmitted: bool,
    /// More than once.
    pub(crate) repeatedly: bool,
    pub(crate) app_limited: bool,
    /// When it was sent last.
    pub(crate) sent_at: Time,
    pub(crate) snapshot: Snapshot,
}

impl Sent {
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::new(self.len.into())
    }

    /// Sent later than `other`, by RACK's order (RFC 8985 §6.2: time, then sequence).
    pub(crate) fn is_later_than(&self, other: (Time, u64)) -> bool {
        (self.sent_at, self.end) > other
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    InFlight,
    Sacked,
    /// Deemed lost and not retransmitted yet.
    Lost,
}

/// The state of [`Delivery`](super::delivery::Delivery) when a segment was sent; travels with the segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    pub(super) delivered: Bytes,
    pub(super) delivered_at: Time,
    pub(super) first_sent_at: Time,
    /// Payload on its way, without this segment.
    pub(super) inflight: Bytes,
    /// Payload ever given up as lost.
    pub(super) lost: Bytes,
}

/// Data that an acknowledgment delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    now: Time,
    min_rtt: Span,
    pub(crate) acked: Bytes,
    /// The delivered segment that was sent last. One whose answer came faster than the path can be is not it, unless
    /// there is no other: the answer was to an earlier transmission (RFC 8985 §6.2 step 2).
    pub(crate) newest: Option<Sent>,
    /// When the earliest delivered segment that was sent only once had been sent.
    pub(crate) oldest_once: Option<Time>,
    /// Segments that arrived later than one sent after them.
    pub(crate) reordered: u32,
    /// The most bytes by which any of them lies below what had arrived.
    pub(crate) distance: u64,
}

impl Tally {
    /// For an acknowledgment that arrives at `now`; no round trip so far was shorter than `min_rtt`.
    pub(crate) fn new(now: Time, min_rtt: Span) -> Self {
        Self { now, min_rtt, acked: Bytes::ZERO, newest: None, oldest_once: None, reordered: 0, distance: 0 }
    }

    fn is_plausible(&self, sent: &Sent) -> bool {
        !sent.retransmitted || self.now.saturating_since(sent.sent_at) >= self.min_rtt
    }

    pub(super) fn add(&mut self, sent: &Sent, highest: &mut u64) {
        self.acked += sent.bytes();
        let later = |newest: &Sent| match (self.is_plausible(sent), self.is_plausible(newest)) {
            (true, false) => true,
            (false, true) => false,
            _ => sent.is_later_than((newest.sent_at, newest.end)),
        };
        if self.newest.as_ref().is_none_or(later) {
            self.newest = Some(*sent);
        }
        if !sent.retransmitted {
            self.oldest_once.get_or_insert(sent.sent_at);
            if sent.end < *highest {
                self.reordered += 1;
                self.distance = self.distance.max(*highest - sent.end);
            }
        }
        *highest = sent.end.max(*highest);
    }
}
