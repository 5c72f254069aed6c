//! Effects of losses and marks on bounds.

use super::super::{Ack, LostSegment};
use super::mode::Mode;
use super::model::{Model, Sample, part_of};
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
            let marked = self.marks.cut.take();
            if self.bounds.loss_in_round || marked.is_some() {
                let bounds = &self.bounds;
                let rate = bounds.rate.unwrap_or(self.bandwidth[0].max(self.bandwidth[1]));
                let inflight = bounds.inflight.unwrap_or(self.cwnd);
                let (mut lower, mut volume) = (rate, inflight);
                if bounds.loss_in_round {
                    lower = rate.scaled(self.params.beta).max(bounds.latest_rate);
                    volume = part_of(inflight, self.params.beta).max(bounds.latest_inflight);
                }
                if let Some(kept) = marked {
                    volume = volume.min(part_of(inflight, kept));
                }
                self.bounds.rate = if self.bounds.loss_in_round { Some(lower) } else { self.bounds.rate };
                self.bounds.inflight = Some(volume);
            }
        }
        self.bounds.loss_in_round = false;
    }

    /// More of the flight of the newest segment was lost than may be.
    pub(super) fn is_too_much(&self, sample: &Sample) -> bool {
        sample.lost.as_f64() > sample.inflight.as_f64() * self.params.loss_threshold
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
        let threshold = self.params.loss_threshold;
        if self.probing.samples && segment.lost.as_f64() > segment.inflight.as_f64() * threshold {
            self.on_too_much(now, inflight_at_loss(segment, threshold), segment.app_limited);
        }
    }
}
