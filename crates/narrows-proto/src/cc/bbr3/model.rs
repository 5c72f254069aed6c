//! The model of the path, and how much it lets the sender send.

use super::super::parts::{Aggregation, SplitMix};
use super::super::{Ack, Path};
use super::bounds::Bounds;
use super::marks::Marks;
use super::mode::{FullPipe, Mode};
use super::params::Params;
use super::probing::Probing;
use super::round_trips::RoundTrips;
pub(super) use super::sample::Sample;
use crate::units::{BitRate, Bytes, Span, WireTime};

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) params: Params,
    pub(super) path: Path,
    pub(super) mode: Mode,
    pub(super) cwnd: Bytes,
    pub(super) pacing: Option<BitRate>,
    /// Pacing follows a measured round-trip time.
    pub(super) seen_rtt: bool,
    /// The largest delivery rates of payload, of the cycle before and of this one.
    pub(super) bandwidth: [BitRate; 2],
    pub(super) round: Round,
    pub(super) round_trips: RoundTrips,
    pub(super) full: FullPipe,
    /// `inflight_longterm`; none before a loss while probing.
    pub(super) long_term: Option<Bytes>,
    pub(super) bounds: Bounds,
    pub(super) probing: Probing,
    pub(super) marks: Marks,
    pub(super) aggregation: Aggregation,
    /// The window before a timeout or `PROBE_RTT`.
    pub(super) saved: Bytes,
    /// The repair of a timeout ends when this much is delivered.
    pub(super) repairing: Option<Bytes>,
    pub(super) random: SplitMix,
    /// After the acknowledgment before.
    pub(super) delivered: Bytes,
    pub(super) was_empty: bool,
}

/// A round ends when data is acknowledged that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) end: Bytes,
    /// The acknowledgment at hand began one.
    pub(super) began: bool,
    pub(super) count: u64,
}

pub(super) fn part_of(volume: Bytes, part: f64) -> Bytes {
    Bytes::from_f64(volume.as_f64() * part)
}

impl Model {
    pub(super) fn new(params: &Params, path: &Path) -> Self {
        let mut model = Self {
            params: params.clone(),
            path: *path,
            mode: Mode::Startup,
            cwnd: path.initial_window,
            pacing: None,
            seen_rtt: false,
            bandwidth: [BitRate::ZERO; 2],
            round: Round::default(),
            round_trips: RoundTrips::default(),
            full: FullPipe::default(),
            long_term: None,
            bounds: Bounds::default(),
            probing: Probing::default(),
            marks: Marks::default(),
            aggregation: Aggregation::default(),
            saved: Bytes::ZERO,
            repairing: None,
            random: SplitMix::new(path.seed),
            delivered: Bytes::ZERO,
            was_empty: false,
        };
        model.pacing = params.initial_rtt.map(|rtt| model.initial_pacing(rtt));
        model
    }

    /// The order is that of the draft, `BBRUpdateModelAndState`.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        let sample = self.digest(ack);
        self.bounds.latest(&sample, ack.delivered);
        self.update_bandwidth(&sample);
        self.update_marks(ack);
        self.update_bounds();
        self.update_aggregation(ack, &sample);
        self.check_full_pipe(&sample);
        self.check_startup(ack, &sample);
        self.check_drain(ack);
        self.update_probing(ack, &sample);
        self.update_min_rtt(ack, &sample);
        self.bounds.advance(&sample);
        self.set_pacing(ack, &sample);
        self.set_cwnd(ack);
        self.bounds.recovering = ack.in_recovery || self.repairing.is_some();
    }

    pub(super) fn digest(&mut self, ack: &Ack) -> Sample {
        let sent_after = ack.delivered.saturating_sub(ack.delivery.delivered);
        let sample = Sample {
            rate: ack.delivery.rate(),
            delivered: ack.delivery.delivered,
            sent_after,
            inflight: ack.delivery.inflight,
            lost: ack.delivery.lost,
            app_limited: ack.delivery.app_limited || self.round_trips.held_back(sent_after),
            restart: self.was_empty && ack.delivery.app_limited,
        };
        self.delivered = ack.delivered;
        self.was_empty = ack.inflight == Bytes::ZERO;
        self.round.began = sent_after >= self.round.end;
        if self.round.began {
            self.start_round();
            self.round.count += 1;
            self.probing.rounds += 1;
        }
        sample
    }

    /// All that is sent from now on belongs to the next round.
    pub(super) fn start_round(&mut self) {
        self.round.end = self.delivered;
    }

    pub(super) fn max_rate(&self) -> BitRate {
        self.bandwidth[0].max(self.bandwidth[1])
    }

    /// The bandwidth to work with.
    pub(super) fn rate(&self) -> BitRate {
        self.bounds.rate.map_or(self.max_rate(), |bound| bound.min(self.max_rate()))
    }

    pub(super) fn update_bandwidth(&mut self, sample: &Sample) {
        // A sender without data says nothing of the path, unless it was faster than ever.
        if let Some(rate) = sample.rate.filter(|rate| !sample.app_limited || *rate >= self.max_rate()) {
            self.bandwidth[1] = self.bandwidth[1].max(rate);
        }
    }

    pub(super) fn update_aggregation(&mut self, ack: &Ack, sample: &Sample) {
        if ack.delivery.interval == Span::ZERO {
            return;
        }
        if sample.restart {
            self.aggregation.restart(ack.now);
        }
        let half = if self.full.reached { self.params.extra_acked_rounds } else { 1 };
        let rate = self.rate();
        self.aggregation.on_ack(ack, rate, self.cwnd, half, Bytes::MAX);
    }

    pub(super) fn set_pacing(&mut self, ack: &Ack, sample: &Sample) {
        if !self.seen_rtt && ack.srtt > Span::ZERO {
            self.seen_rtt = true;
            self.pacing = Some(self.initial_pacing(ack.srtt));
        }
        let gain = if sample.restart && self.mode.is_cycle() { 1.0 } else { self.gains().0 };
        let pacing = self.on_wire(self.rate().scaled(gain));
        // A small sample early on must not slow the start down.
        if self.full.reached || self.pacing.is_some_and(|before| pacing > before) {
            self.pacing = Some(pacing);
        }
    }

    pub(super) fn initial_pacing(&self, rtt: Span) -> BitRate {
        self.on_wire(BitRate::per(self.cwnd, rtt).scaled(self.params.startup_gain))
    }

    pub(super) fn on_wire(&self, payload: BitRate) -> BitRate {
        let rate = self.path.on_wire(payload.scaled(1.0 - self.params.pacing_margin));
        rate.clamp(WireTime::MIN_RATE, WireTime::MAX_RATE)
    }

    pub(super) fn least(&self) -> Bytes {
        self.path.mss * self.params.min_window
    }

    /// Segments that leave the host in one piece.
    pub(super) fn quantum(&self) -> u64 {
        self.params.send_quantum.or_else(|| self.path.burst(self.pacing)).unwrap_or(1)
    }

    /// `gain` bandwidth-delay products of `rate`.
    pub(super) fn product(&self, rate: BitRate, gain: f64) -> Bytes {
        self.round_trips.min.map_or(self.path.initial_window, |min| {
            Bytes::from_f64(rate.as_f64() / 8.0 * min.as_secs_f64() * gain)
        })
    }

    /// `volume`, with room for what leaves at once.
    pub(super) fn with_budget(&self, volume: Bytes) -> Bytes {
        let budget = self.path.mss.saturating_mul(3 * self.quantum());
        let probe = if self.mode == Mode::Up { self.path.mss * 2 } else { Bytes::ZERO };
        volume.max(budget).max(self.least()).saturating_add(probe)
    }

    /// A product of `rate`, as tests of what is in flight have it.
    pub(super) fn whole(&self, rate: BitRate) -> Bytes {
        self.with_budget(self.product(rate, 1.0))
    }

    /// The most that was acknowledged beyond the bandwidth.
    pub(super) fn extra_acked(&self) -> Bytes {
        self.aggregation.extra(self.rate(), Span::MAX)
    }

    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let whole = self.product(self.rate(), self.gains().1).saturating_add(self.extra_acked());
        let target = self.with_budget(whole);
        let grown = self.cwnd.saturating_add(ack.acked);
        if self.full.reached {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || ack.delivered < self.path.initial_window {
            self.cwnd = grown;
        }
        if self.repairing.is_some_and(|until| ack.delivered >= until) {
            self.repairing = None;
            self.cwnd = self.cwnd.max(self.saved);
        }
        let most = match self.mode {
            Mode::ProbeRtt { .. } => self.volume_bound().min(self.probe_rtt_window()),
            _ => self.volume_bound(),
        };
        // A timeout leaves one segment, from which the window grows.
        let least = if self.repairing.is_some() { self.path.mss } else { self.least() };
        self.cwnd = self.cwnd.min(most).max(least);
    }

    pub(super) fn on_timeout(&mut self, flight_size: Bytes) {
        self.save_cwnd();
        self.repairing = Some(self.delivered.saturating_add(flight_size));
        self.cwnd = self.path.mss;
    }

    /// Notes the window to return to. One that is held down already is less than that.
    pub(super) fn save_cwnd(&mut self) {
        let held = self.repairing.is_some() || matches!(self.mode, Mode::ProbeRtt { .. });
        self.saved = if held { self.saved.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn gains(&self) -> (f64, f64) {
        let params = &self.params;
        match self.mode {
            Mode::Startup => (params.startup_gain, params.cwnd_gain),
            Mode::Drain { .. } => (params.drain_gain, params.cwnd_gain),
            Mode::Down => (params.down_gain, params.cwnd_gain),
            Mode::Cruise | Mode::Refill => (1.0, params.cwnd_gain),
            Mode::Up => (params.up_gain, params.up_cwnd_gain),
            Mode::ProbeRtt { .. } => (1.0, params.probe_rtt_cwnd_gain),
        }
    }

    /// The long-term bound with room for others.
    pub(super) fn with_headroom(&self) -> Bytes {
        let Some(bound) = self.long_term else { return Bytes::MAX };
        let room = self.path.mss.max(part_of(bound, self.params.headroom));
        bound.saturating_sub(room).max(self.least())
    }

    /// The most that bounds allow to be in flight.
    pub(super) fn volume_bound(&self) -> Bytes {
        let long_term = self.long_term.unwrap_or(Bytes::MAX);
        let bound = match self.mode {
            Mode::Startup => Bytes::MAX,
            Mode::Drain { .. } | Mode::Down => long_term.min(self.bounds.volume()),
            Mode::Refill | Mode::Up => long_term,
            Mode::Cruise | Mode::ProbeRtt { .. } => self.with_headroom().min(self.bounds.volume()),
        };
        bound.max(self.least())
    }

    pub(super) fn probe_rtt_window(&self) -> Bytes {
        self.product(self.rate(), self.params.probe_rtt_cwnd_gain).max(self.least())
    }
}
