//! Short-term bounds: what losses since the last probe have left of the rate and of the volume in flight.

use super::super::LostSegment;
use super::mode::Mode;
use super::sample::Sample;
use crate::units::{BitRate, Bytes};

#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// `bw_shortterm` and `inflight_shortterm`; none without a loss since the last probe.
    pub(super) rate: Option<BitRate>,
    pub(super) inflight: Option<Bytes>,
    /// The most delivered in this round.
    pub(super) latest_rate: BitRate,
    pub(super) latest_inflight: Bytes,
    /// A round for losses ends when data is acknowledged that was sent after this much had been delivered.
    round_end: Bytes,
    pub(super) round_began: bool,
    /// The round began with a loss that the acknowledgment at hand reports.
    restarts: bool,
    pub(super) loss_in_round: bool,
    /// Ranges lost in this round, and where the last one ends.
    pub(super) ranges: u32,
    range_end: u64,
    undo: Option<Undo>,
    /// The acknowledgment before said that losses are being repaired: further ones have the same beginning.
    pub(super) recovering: bool,
}

/// Bounds and state before the first loss of a recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub(super) mode: Mode,
    pub(super) long_term: Option<Bytes>,
    rate: Option<BitRate>,
    inflight: Option<Bytes>,
}

impl Bounds {
    /// `BBRUpdateLatestDeliverySignals`.
    pub(super) fn latest(&mut self, sample: &Sample, delivered: Bytes) {
        self.latest_rate = self.latest_rate.max(sample.rate.unwrap_or_default());
        self.latest_inflight = self.latest_inflight.max(sample.delivered);
        // Losses are noticed just before what the acknowledgment delivers is counted.
        let restarts = std::mem::take(&mut self.restarts);
        self.round_began = !restarts && sample.sent_after >= self.round_end;
        if self.round_began || restarts {
            self.round_end = delivered;
        }
    }

    /// `BBRAdvanceLatestDeliverySignals`.
    pub(super) fn advance(&mut self, sample: &Sample) {
        if self.round_began {
            self.latest_rate = sample.rate.unwrap_or_default();
            self.latest_inflight = sample.delivered;
            self.ranges = 0;
        }
    }

    pub(super) fn forget_latest(&mut self) {
        self.loss_in_round = false;
        self.latest_rate = BitRate::ZERO;
        self.latest_inflight = Bytes::ZERO;
    }

    /// Nothing is bounded until the next loss.
    pub(super) fn reset(&mut self) {
        self.rate = None;
        self.inflight = None;
    }

    pub(super) fn volume(&self) -> Bytes {
        self.inflight.unwrap_or(Bytes::MAX)
    }

    /// Takes back what losses since [`Undo`] was noted have done.
    pub(super) fn undo(&mut self) -> Option<Undo> {
        let undo = self.undo.take()?;
        self.loss_in_round = false;
        self.recovering = false;
        self.rate = undo.rate.and_then(|before| Some(before.max(self.rate?)));
        self.inflight = undo.inflight.and_then(|before| Some(before.max(self.inflight?)));
        Some(undo)
    }

    /// A segment was lost in `mode` while `long_term` was the long-term bound.
    pub(super) fn note(&mut self, segment: &LostSegment, mode: Mode, long_term: Option<Bytes>) {
        if !self.loss_in_round {
            self.loss_in_round = true;
            self.restarts = true;
        }
        // Losses that end UP do not hide that it was UP.
        if !self.recovering && (self.ranges == 0 || self.undo.is_none()) {
            let (rate, inflight) = (self.rate, self.inflight);
            self.undo = Some(Undo { mode, long_term, rate, inflight });
        }
        self.ranges += u32::from(self.ranges == 0 || segment.first != self.range_end);
        self.range_end = segment.first + segment.size.get();
    }
}
