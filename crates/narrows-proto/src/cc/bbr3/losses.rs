//! Effects of losses and marks on bounds.

use super::super::{Ack, LostSegment};
use super::mode::Mode;
use super::model::{Model, part_of};
use super::probing::inflight_at_loss;
use crate::units::{Bytes, Time};

impl Model {
    /// A segment was lost.
    pub(super) fn on_lost(&mut self, now: Time, segment: &LostSegment) {
        self.bounds.note(segment, self.mode, self.long_term);
        self.judge_lost(now, segment);
    }

    /// Losses and marks of a round that is over lower the bounds, unless they are what probing looks for.
    pub(super) fn update_bounds(&mut self) {
        if !self.bounds.round_began {
            return;
        }
        if !self.mode.is_probing() {
            let before = self.bounds.inflight.unwrap_or(self.cwnd);
            if self.bounds.loss_in_round {
                let rate = self.bounds.rate.unwrap_or(self.max_rate()).scaled(self.params.beta);
                let volume = part_of(before, self.params.beta);
                self.bounds.rate = Some(rate.max(self.bounds.latest_rate));
                self.bounds.inflight = Some(volume.max(self.bounds.latest_inflight));
            }
            if let Some(params) = self.params.ecn.as_ref().filter(|_| self.marks.in_round) {
                let kept = 1.0 - self.marks.alpha * params.factor;
                let volume = self.bounds.inflight.unwrap_or(before);
                self.bounds.inflight = Some(volume.min(part_of(before, kept)));
            }
        }
        self.bounds.loss_in_round = false;
        self.marks.in_round = false;
    }

    /// More of a flight was lost than may be.
    pub(super) fn is_too_much(&self, lost: Bytes, inflight: Bytes) -> bool {
        lost.as_f64() > inflight.as_f64() * self.params.loss_threshold
    }

    pub(super) fn update_marks(&mut self, ack: &Ack) {
        let Some(params) = &self.params.ecn else { return };
        let counts = self.round_trips.min.is_some_and(|min| min <= params.max_rtt);
        self.marks.on_ack(params, ack, self.round.began, counts);
    }

    /// More than may be was lost of a flight of `inflight` while probing.
    pub(super) fn on_too_much(&mut self, now: Time, inflight: Bytes, app_limited: bool) {
        self.probing.samples = false;
        self.probing.too_high = true;
        if !app_limited {
            self.long_term = Some(inflight.max(part_of(self.target(), self.params.beta)));
        }
        if self.mode == Mode::Up {
            self.start_down(now);
        }
    }

    /// A segment was lost: with it, more of its flight may be than may be.
    fn judge_lost(&mut self, now: Time, segment: &LostSegment) {
        if self.probing.samples && self.is_too_much(segment.lost, segment.inflight) {
            let inflight = inflight_at_loss(segment, self.params.loss_threshold);
            self.on_too_much(now, inflight, segment.app_limited);
        }
    }
}
