//! State machine of BBR: the states of the draft, §4.3.

use super::super::Ack;
use super::{Model, News};
use crate::units::{BitRate, Bytes, Span, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: u32,
        since: Time,
    },
    /// Since the flight was small enough: when it may end, and the round it must outlast.
    ProbeRtt {
        held: Option<Held>,
    },
}

impl Mode {
    /// As observers see it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeBw { .. } => "probe_bw",
            Self::ProbeRtt { .. } => "probe_rtt",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) until: Time,
    /// The round is over when data is acknowledged that was sent after this much had been delivered.
    pub(super) round_end: Bytes,
    pub(super) round_done: bool,
}

/// Whether STARTUP has found the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth that has to be exceeded.
    pub(super) rate: BitRate,
    /// Rounds without growth.
    pub(super) rounds: u32,
    pub(super) reached: bool,
}

impl Model {
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::ProbeBw { .. })
    }

    /// In any phase but 1, in which a queue that is not there would be drained.
    pub(super) fn start_cycle(&mut self, now: Time) {
        let phases = u64::from(self.params.cycle_phases);
        let random = (2 + self.random.below(phases - 1)) % phases;
        let phase = self.params.initial_phase.unwrap_or(random as u32);
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    pub(super) fn advance_cycle(&mut self, ack: &Ack, news: &News) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let full_length = self.min_rtt.is_none_or(|min| ack.now.saturating_since(since) > min);
        let rate = self.bandwidth.get();
        let over = match phase {
            _ if self.policer.rate().is_some() => full_length,
            0 => {
                let filled = ack.inflight_before >= self.window(rate, self.params.up_gain, Bytes::ZERO);
                full_length && (news.lost > Bytes::ZERO || filled)
            }
            1 => full_length || ack.inflight_before <= self.window(rate, 1.0, Bytes::ZERO),
            _ => full_length,
        };
        if over {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % self.params.cycle_phases, since: ack.now };
        }
    }

    pub(super) fn check_full_pipe(&mut self, ack: &Ack, news: &News) {
        if self.full.reached || !ack.round_start || news.app_limited {
            return;
        }
        let rate = self.bandwidth.get();
        if rate.as_f64() >= self.full.rate.as_f64() * self.params.full_growth {
            self.full = FullPipe { rate, ..FullPipe::default() };
            return;
        }
        self.full.rounds += 1;
        self.full.reached = self.full.rounds >= self.params.full_rounds;
    }

    pub(super) fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
        }
        let drained = || ack.inflight <= self.window(self.bandwidth.get(), 1.0, Bytes::ZERO);
        if self.mode == Mode::Drain && drained() {
            self.start_cycle(ack.now);
        }
    }

    pub(super) fn update_min_rtt(&mut self, ack: &Ack, news: &News) {
        let expired = self.min_rtt.is_some() && ack.now > self.min_rtt_at + self.params.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            // A lone segment that is not full may have waited at the receiver for company.
            let delayed = ack.acked < self.path.mss && ack.delivery.delivered == ack.acked;
            let renews =
                self.min_rtt.is_none_or(|min| rtt < min || rtt == min && self.params.equal_rtt_renews);
            if renews || expired && !delayed {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = ack.now;
            }
        }
        let wanted = expired && !news.restart && self.params.probe_rtt_duration > Span::ZERO;
        if wanted && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.recovery.save(self.cwnd, false);
            self.mode = Mode::ProbeRtt { held: None };
        }
        self.probe_rtt(ack, news);
    }

    fn probe_rtt(&mut self, ack: &Ack, news: &News) {
        let Mode::ProbeRtt { held } = &mut self.mode else { return };
        let from = self.held_back.map_or(ack.delivered, |(from, _)| from);
        self.held_back = Some((from, ack.delivered.saturating_add(ack.inflight)));
        let Some(held) = held else {
            if ack.inflight <= self.path.mss * self.params.min_window {
                let until = ack.now + self.params.probe_rtt_duration;
                *held = Some(Held { until, round_end: ack.delivered, round_done: false });
            }
            return;
        };
        held.round_done |= news.sent_after >= held.round_end || news.restart;
        if held.round_done && ack.now > held.until {
            self.min_rtt_at = ack.now;
            self.cwnd = self.recovery.restored(self.cwnd);
            if self.full.reached {
                self.start_cycle(ack.now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    pub(super) fn gains(&self) -> (f64, f64) {
        let params = &self.params;
        match self.mode {
            Mode::Startup => (params.startup_gain, params.startup_gain),
            Mode::Drain => (params.drain_gain, params.startup_gain),
            Mode::ProbeBw { .. } if self.policer.rate().is_some() => (1.0, params.cwnd_gain),
            Mode::ProbeBw { phase: 0, .. } => (params.up_gain, params.cwnd_gain),
            Mode::ProbeBw { phase: 1, .. } => (params.down_gain, params.cwnd_gain),
            Mode::ProbeBw { .. } => (1.0, params.cwnd_gain),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }
}
