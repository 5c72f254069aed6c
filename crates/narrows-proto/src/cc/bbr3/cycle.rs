//! The cycle of probing: DOWN, CRUISE, REFILL, UP.

use super::super::Ack;
use super::mode::Mode;
use super::model::{Model, Sample};
use crate::units::{BitRate, Bytes, Time};

impl Model {
    pub(super) fn update_probing(&mut self, ack: &Ack, sample: &Sample) {
        if !self.full.reached || self.update_long_term(ack, sample) {
            return;
        }
        match self.mode {
            Mode::Down if self.is_time_to_probe(ack.now) => self.start_refill(),
            Mode::Down => {
                let most = self.with_headroom().min(self.whole(self.max_rate()));
                if ack.inflight <= most {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            Mode::Refill if self.round.began => {
                self.probing.samples = true;
                self.start_up(sample);
            }
            Mode::Up => self.check_up(ack, sample),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let segments = self.target().div_ceil(self.path.mss);
        let marks_ceased = self.marks.ceased && self.bounds.rate.is_none();
        now.saturating_since(self.probing.since) > self.probing.wait
            || self.probing.rounds >= segments.min(self.params.reno_rounds)
            || marks_ceased
    }

    /// The volume that should be in flight.
    pub(super) fn target(&self) -> Bytes {
        self.whole(self.rate()).min(self.cwnd)
    }

    fn check_up(&mut self, ack: &Ack, sample: &Sample) {
        let bound = self.long_term.unwrap_or(Bytes::MAX);
        let risky = self.probing.too_high && ack.inflight >= bound;
        if risky {
            self.probing.precautionary = true;
        } else if ack.cwnd_limited && self.cwnd >= bound {
            // It is the bound that limits the rate.
            self.full.restart(sample.rate.unwrap_or_default());
            return;
        } else if !self.full.now {
            return;
        }
        self.probing.too_high = false;
        self.start_down(ack.now);
    }

    /// Acknowledgments say how much may be in flight. Returns whether a probe that had stopped early goes on.
    fn update_long_term(&mut self, ack: &Ack, sample: &Sample) -> bool {
        if self.probing.stopping && self.round.began {
            self.probing.samples = false;
            self.probing.stopping = false;
            if self.mode.is_cycle() && !sample.app_limited {
                self.advance_bandwidth();
            }
            if self.mode.is_cycle() && self.probing.precautionary && !self.probing.too_high {
                self.start_refill();
                return true;
            }
        }
        let marked = self.round.began && self.marks.rounds_full > 0;
        if self.is_too_much(sample.lost, sample.inflight) || marked {
            if self.probing.samples {
                self.on_too_much(ack.now, sample.inflight, sample.app_limited);
            }
        } else if let Some(bound) = self.long_term {
            self.long_term = Some(bound.max(sample.inflight));
            if self.mode == Mode::Up {
                self.probe_upward(ack);
            }
        }
        false
    }

    /// A cycle is over: its largest rate stays for the next one.
    fn advance_bandwidth(&mut self) {
        if self.bandwidth[1] > BitRate::ZERO {
            self.bandwidth = [self.bandwidth[1], BitRate::ZERO];
        }
    }

    fn probe_upward(&mut self, ack: &Ack) {
        let Some(bound) = self.long_term.filter(|bound| ack.cwnd_limited && self.cwnd >= *bound) else {
            return;
        };
        let (probing, mss) = (&mut self.probing, self.path.mss);
        probing.up_acked = probing.up_acked.saturating_add(ack.acked);
        let steps = probing.up_acked.get() / probing.step.get().max(1);
        probing.up_acked = probing.up_acked.saturating_sub(probing.step.saturating_mul(steps));
        self.long_term = Some(bound.saturating_add(mss.saturating_mul(steps)));
        if self.round.began {
            probing.steepen(self.cwnd, mss);
        }
    }
}
