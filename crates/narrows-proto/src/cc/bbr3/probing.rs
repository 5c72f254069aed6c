//! Probing for bandwidth: when, how far, and what its flights said of the long-term bound of the volume.

use super::super::LostSegment;
use crate::units::{Bytes, Span, Time};

#[derive(Clone, Debug, Default)]
pub(super) struct Probing {
    /// When DOWN began, and how long to wait since.
    pub(super) since: Time,
    pub(super) wait: Span,
    /// Rounds since then.
    pub(super) rounds: u64,
    /// Nothing more of a probe is sent; a round later nothing more of it comes.
    pub(super) stopping: bool,
    /// Data acknowledged or lost now was sent while probing, and nothing of it was too much so far.
    pub(super) samples: bool,
    /// Rounds of UP, bytes acknowledged towards the next segment more, and how many it takes.
    pub(super) up_rounds: u32,
    pub(super) up_acked: Bytes,
    pub(super) step: Bytes,
    /// The last probe was too much for the path.
    pub(super) too_high: bool,
    /// The last one stopped before it could be.
    pub(super) precautionary: bool,
}

impl Probing {
    /// Waits for `wait` and `more` seconds. `rounds` of what Reno would wait for have passed.
    pub(super) fn restart(&mut self, now: Time, wait: Span, more: f64, rounds: u64) {
        self.since = now;
        self.wait = wait + Span::from_secs_f64(more);
        self.rounds = rounds;
        self.stop();
    }

    /// No more of a probe is sent.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
    }

    pub(super) fn refill(&mut self) {
        self.up_rounds = 0;
        self.up_acked = Bytes::ZERO;
        self.precautionary = false;
        self.stopping = false;
    }

    pub(super) fn begin(&mut self, cwnd: Bytes, mss: Bytes) {
        self.stopping = false;
        self.steepen(cwnd, mss);
    }

    /// Twice as many segments in the round that begins: 1, 2, 4, …
    pub(super) fn steepen(&mut self, cwnd: Bytes, mss: Bytes) {
        let growth = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.step = Bytes::new(cwnd.get() / growth).max(mss);
    }
}

/// The part of the flight before a lost segment, and the part of the segment, at which the lost part of it reached `threshold`.
pub(super) fn inflight_at_loss(segment: &LostSegment, threshold: f64) -> Bytes {
    let before = segment.inflight.saturating_sub(segment.size);
    let lost_before = segment.lost.saturating_sub(segment.size);
    let prefix = (threshold * before.as_f64() - lost_before.as_f64()) / (1.0 - threshold);
    Bytes::from_f64((before.as_f64() + prefix).max(0.0))
}
