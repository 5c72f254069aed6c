//! Ways from one state to the next, but for the cycle of probing.

use super::super::Ack;
use super::mode::Mode;
use super::model::{Model, Sample};
use crate::units::{BitRate, Bytes, Span, Time};

impl Model {
    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        let Some(rate) = sample.rate.filter(|_| self.round.began) else { return };
        if self.full.now || sample.app_limited {
            return;
        }
        if rate.as_f64() >= self.full.rate.as_f64() * self.params.full_growth {
            self.full.restart(rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= self.params.full_rounds;
        self.full.reached |= self.full.now;
    }

    /// STARTUP ends when the pipe is full, or when too much was lost in a whole round of repair, or marked in two.
    pub(super) fn check_startup(&mut self, ack: &Ack, sample: &Sample) {
        let ranges = self.bounds.ranges;
        let lost = ack.in_recovery
            && ranges >= self.params.startup_losses
            && self.is_too_much(sample.lost, sample.inflight);
        let marked = self.marks.rounds_full >= 2;
        if !self.full.reached && (self.bounds.round_began && lost || marked) {
            self.full.reached = true;
            self.full.now = true;
            let latest = self.bounds.latest_inflight;
            self.long_term = Some(self.product(self.rate(), 1.0).max(latest));
        }
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain { since: self.round.count };
        }
    }

    pub(super) fn check_drain(&mut self, ack: &Ack) {
        let Mode::Drain { since } = self.mode else { return };
        if ack.inflight <= self.whole(self.max_rate()) || self.round.count > since + 3 {
            self.start_down(ack.now);
        }
    }

    pub(super) fn start_down(&mut self, now: Time) {
        self.bounds.forget_latest();
        self.marks.in_round = false;
        let wait = self.params.probe_wait_random.as_secs_f64() * self.random.uniform();
        let first = self.random.below(2);
        self.probing.restart(now, self.params.probe_wait, wait, first);
        self.start_round();
        self.mode = Mode::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.bounds.reset();
        self.probing.refill();
        self.start_round();
        self.mode = Mode::Refill;
    }

    pub(super) fn start_up(&mut self, sample: &Sample) {
        self.full.restart(sample.rate.unwrap_or_default());
        self.start_round();
        self.mode = Mode::Up;
        let (cwnd, mss) = (self.cwnd, self.path.mss);
        self.probing.begin(cwnd, mss);
    }

    /// The state that a loss which was none had ended goes on.
    pub(super) fn on_spurious(&mut self) {
        let Some(undo) = self.bounds.undo() else { return };
        self.full.restart(BitRate::ZERO);
        if let Some(long_term) = self.long_term {
            // Without a bound before there is none again.
            self.long_term = undo.long_term.map(|before| before.max(long_term));
        }
        match undo.mode {
            Mode::Startup if matches!(self.mode, Mode::Drain { .. } | Mode::Down | Mode::Cruise) => {
                self.full.reached = false;
                self.mode = Mode::Startup;
            }
            Mode::Up if matches!(self.mode, Mode::Down | Mode::Cruise) => {
                self.start_refill();
                // The acknowledgment at hand is not counted yet. What was sent since the one before it left before the spurious recovery was noticed.
                self.round.end = self.round.end.saturating_add(Bytes::new(1));
            }
            _ => {}
        }
        if self.repairing.take().is_some() {
            self.cwnd = self.cwnd.max(self.saved).min(self.volume_bound());
        }
    }

    pub(super) fn update_min_rtt(&mut self, ack: &Ack, sample: &Sample) {
        let trips = &mut self.round_trips;
        let expired = trips.recent.is_some() && ack.now > trips.recent_at + self.params.probe_rtt_interval;
        // A lone segment that is not full may have waited at the receiver for company.
        let delayed = ack.acked < self.path.mss && ack.delivery.delivered == ack.acked;
        if let Some(rtt) = ack.rtt {
            trips.add(ack.now, rtt, expired && !delayed, self.params.min_rtt_window);
        }
        let is_probing = matches!(self.mode, Mode::ProbeRtt { .. });
        let wanted = expired && !sample.restart && self.params.probe_rtt_duration > Span::ZERO;
        if wanted && !is_probing {
            self.save_cwnd();
            self.probing.stop();
            self.start_round();
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
        }
        self.probe_rtt(ack, sample);
    }

    fn probe_rtt(&mut self, ack: &Ack, sample: &Sample) {
        let window = self.probe_rtt_window();
        let Mode::ProbeRtt { until, round_done } = &mut self.mode else { return };
        let from = self.round_trips.held.map_or(ack.delivered, |(from, _)| from);
        self.round_trips.held = Some((from, ack.delivered.saturating_add(ack.inflight)));
        let Some(until) = *until else {
            if ack.inflight <= window {
                *until = Some(ack.now + self.params.probe_rtt_duration);
                self.start_round();
            }
            return;
        };
        *round_done |= self.round.began || sample.restart;
        if *round_done && ack.now > until {
            self.round_trips.recent_at = ack.now;
            self.cwnd = self.cwnd.max(self.saved);
            self.leave_probe_rtt(ack.now);
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.bounds.reset();
        if self.full.reached {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}
