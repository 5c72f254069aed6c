//! Prague with marks.

use super::super::parts::{Ewma, Rest};
use super::super::{Ack, Congestion, Limit, Path, Reporter};
use super::classic_aqm::Detector;
use super::params::Params;
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// The smallest window in force, except after a timeout.
const LEAST: f64 = 2.0;

/// Weight of a round in the slow average of the round-trip time.
const SLOW: f64 = 1.0 / 128.0;

/// State of a connection that counts marks. Windows in full packets, rates in those per second, round-trip times in seconds.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: Params,
    mss: f64,
    /// Bits of a full packet on the wire.
    pub(super) packet: f64,
    /// Payload of the packets that are sent.
    pub(super) payload: f64,
    pub(super) window: f64,
    pub(super) rate: f64,
    /// The window in force, whole packets.
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) alpha: Ewma,
    /// Something was marked: there is a queue that marks.
    seen: bool,
    /// Since the last round.
    acked: Bytes,
    marked: Bytes,
    /// A round ends when something is acknowledged that was sent after this much had been delivered.
    round_end: Bytes,
    /// Rounds since slow start.
    rounds: u32,
    /// When alpha was updated.
    pub(super) updated: Time,
    /// When a mark reduced the window.
    reduced: Option<Time>,
    rest: Rest,
    /// Zero before the first sample.
    srtt: f64,
    slow_rtt: f64,
    /// The rate is kept, and the window follows.
    pub(super) by_rate: bool,
    before_loss: Option<Before>,
    detector: Option<Detector>,
    pacing: Option<BitRate>,
}

/// State before a loss.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: f64,
    rate: f64,
    cwnd: f64,
    ssthresh: f64,
}

impl Scalable {
    pub(super) fn new(params: &Params, path: &Path) -> Self {
        let window = path.initial_window.as_f64() / path.mss.as_f64();
        Self {
            params: params.clone(),
            mss: path.mss.as_f64(),
            packet: path.packet.as_f64() * 8.0,
            payload: path.mss.as_f64(),
            window,
            rate: 0.0,
            cwnd: window.ceil(),
            ssthresh: f64::INFINITY,
            alpha: Ewma::new(params.initial_alpha, params.gain),
            seen: false,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            round_end: Bytes::ZERO,
            rounds: 0,
            updated: Time::ZERO,
            reduced: None,
            rest: Rest::NONE,
            srtt: 0.0,
            slow_rtt: 0.0,
            by_rate: false,
            before_loss: None,
            detector: params.ecn_fallback.map(Detector::new),
            pacing: None,
        }
    }

    pub(super) fn on_handshake(&mut self, rtt: Span) {
        self.measure(rtt);
        self.follow_window();
        self.pace(self.window);
    }

    pub(super) fn remember(&mut self, ssthresh: Bytes) {
        self.ssthresh = (ssthresh.as_f64() / self.mss).max(LEAST);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack.srtt);
        if let (Some(detector), Some(rtt)) = (&mut self.detector, ack.rtt) {
            detector.measure(rtt.as_secs_f64());
        }
        self.acked = self.acked.saturating_add(ack.acked);
        self.marked = self.marked.saturating_add(ack.marked);
        if ack.marked > Bytes::ZERO {
            self.on_mark(ack);
        }
        if !ack.in_recovery && self.is_limit(ack) {
            self.grow(ack.acked.saturating_sub(ack.marked).as_f64() / self.mss);
        }
        self.step();
        if self.round_is_over(ack) {
            self.end_round(ack);
        }
        self.choose_mode();
        self.payload = self.two_in_a_round_trip();
        let inflight = ack.inflight.as_f64() / self.mss;
        self.pace(if self.by_rate { self.swung(ack.now) } else { self.window.max(inflight) });
    }

    fn measure(&mut self, srtt: Span) {
        self.srtt = srtt.as_secs_f64();
        if self.slow_rtt == 0.0 {
            self.slow_rtt = self.srtt;
        }
    }

    /// R may no longer matter.
    fn is_independent(&self) -> bool {
        !self.in_slow_start() && self.rounds >= self.params.transition
    }

    pub(super) fn in_slow_start(&self) -> bool {
        // The threshold is never less.
        self.window.max(LEAST) < self.ssthresh
    }

    fn target(&self) -> f64 {
        self.params.target_rtt.as_secs_f64()
    }

    /// Rv.
    fn virtual_rtt(&self) -> f64 {
        if self.is_independent() { self.srtt.max(self.target()) } else { self.srtt }
    }

    /// The window limits the sender, by itself or by the pacing that follows from it.
    fn is_limit(&self, ack: &Ack) -> bool {
        let used = ack.inflight_before.as_f64() / self.mss;
        ack.cwnd_limited || !ack.delivery.app_limited && self.window <= 2.0 * used
    }

    fn on_mark(&mut self, ack: &Ack) {
        let first = !self.seen;
        self.seen = true;
        let too_early = |at: Time| ack.now.saturating_since(at) < self.params.target_rtt;
        let rests = self.rest.holds(ack) || self.is_independent() && self.reduced.is_some_and(too_early);
        if rests || ack.in_recovery {
            return;
        }
        let halves = first && self.params.initial_alpha == 0.0;
        self.reduce(if halves { 0.5 } else { self.believed_alpha() / 2.0 });
        if let Some(detector) = &mut self.detector {
            detector.scale(self.ssthresh);
        }
        self.before_loss = None;
        self.reduced = Some(ack.now);
        self.rest.begin(ack.now);
    }

    /// Alpha, unless the queue seems to mark by classic rules.
    fn believed_alpha(&self) -> f64 {
        self.alpha.get().max(self.detector.as_ref().map_or(0.0, Detector::least_alpha))
    }

    /// Takes off this part, and ends slow start.
    fn reduce(&mut self, part: f64) {
        if self.by_rate {
            self.rate = (self.rate * (1.0 - part)).max(self.least_rate());
            self.window = self.rate * self.slow_rtt;
        } else {
            self.window = (self.window * (1.0 - part)).max(self.least_rate() * self.srtt);
            self.follow_window();
        }
        self.ssthresh = self.window.max(LEAST).min(self.ssthresh);
    }

    fn grow(&mut self, packets: f64) {
        if self.in_slow_start() {
            self.window = (self.window + packets).min(self.ssthresh);
            self.follow_window();
        } else if self.by_rate {
            let virtual_rtt = self.virtual_rtt();
            self.rate += packets / (self.rate * virtual_rtt).max(1.0) / virtual_rtt;
            self.window = self.rate * self.slow_rtt;
        } else {
            let part = if self.srtt > 0.0 { self.srtt / self.virtual_rtt() } else { 1.0 };
            self.window += packets * part * part / self.window.max(1.0);
            self.follow_window();
        }
    }

    fn follow_window(&mut self) {
        if self.srtt > 0.0 {
            self.rate = self.window / self.srtt;
        }
    }

    fn whole(&self) -> f64 {
        self.window.ceil().max(LEAST)
    }

    fn step(&mut self) {
        let whole = self.whole();
        self.cwnd = if self.in_slow_start() { whole } else { whole.clamp(self.cwnd - 1.0, self.cwnd + 1.0) };
    }

    fn round_is_over(&self, ack: &Ack) -> bool {
        let sent_after = ack.delivered.saturating_sub(ack.delivery.delivered);
        let too_early =
            self.is_independent() && ack.now.saturating_since(self.updated) < self.params.target_rtt;
        sent_after >= self.round_end && !too_early
    }

    fn end_round(&mut self, ack: &Ack) {
        if self.seen && self.acked > Bytes::ZERO {
            self.alpha.add(self.marked.as_f64() / self.acked.as_f64());
            self.updated = ack.now;
            if let Some(detector) = &mut self.detector {
                detector.update();
            }
        }
        self.slow_rtt += SLOW * (self.srtt - self.slow_rtt);
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
        self.round_end = ack.delivered;
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn choose_mode(&mut self) {
        let few = self.cwnd <= self.params.rate_window as f64;
        self.by_rate = self.seen && self.srtt > 0.0 && few && self.is_independent();
        if self.by_rate {
            self.window = self.rate * self.slow_rtt;
        }
    }

    /// Payload of a packet so large that two of them leave in a virtual round trip at the present rate.
    fn two_in_a_round_trip(&self) -> f64 {
        let least = self.params.min_packet.as_f64() * 8.0;
        if self.srtt == 0.0 || least >= self.packet {
            return self.mss;
        }
        let rate = if self.by_rate { self.rate } else { self.window / self.srtt };
        let wanted = (rate * self.packet * self.virtual_rtt() / 2.0).max(least);
        self.mss - ((self.packet - wanted) / 8.0).max(0.0).ceil()
    }

    /// Payload of the packets that are sent.
    pub(super) fn segment(&self) -> Bytes {
        Bytes::from_f64(self.payload)
    }

    /// The window whose rate is above the one kept in the first half of a virtual round trip, and below in the second.
    pub(super) fn swung(&self, now: Time) -> f64 {
        let second = now.saturating_since(self.updated).as_secs_f64() >= self.virtual_rtt() / 2.0;
        let swing = if second { -self.params.swing } else { self.params.swing };
        self.rate * (1.0 + swing) * self.srtt
    }

    fn least_rate(&self) -> f64 {
        self.params.min_rate.as_f64() / self.packet
    }

    /// `packets` leave in each round trip.
    fn pace(&mut self, packets: f64) {
        if self.srtt == 0.0 {
            return;
        }
        let factor = if self.cwnd < self.ssthresh / 2.0 { 2.0 } else { 1.0 };
        let rate = (factor * packets / self.srtt).max(self.least_rate());
        self.pacing =
            Some(BitRate::from_f64(rate * self.packet).clamp(WireTime::MIN_RATE, WireTime::MAX_RATE));
    }

    pub(super) fn on_congestion(&mut self, event: Congestion) {
        match event {
            Congestion::Loss { .. } | Congestion::Timeout { repeated: false, .. } => self.on_loss(),
            Congestion::Spurious => self.undo(),
            // Each marked packet is counted.
            Congestion::Mark { .. } | Congestion::Timeout { .. } => {}
        }
        if let Congestion::Timeout { .. } = event {
            self.cwnd = 1.0;
        }
    }

    fn on_loss(&mut self) {
        let Self { window, rate, cwnd, ssthresh, .. } = *self;
        self.before_loss = Some(Before { window, rate, cwnd, ssthresh });
        self.reduce(0.5);
        self.cwnd = self.cwnd.min(self.whole());
    }

    fn undo(&mut self) {
        let Some(before) = self.before_loss.take() else { return };
        self.window = self.window.max(before.window);
        self.rate = self.rate.max(before.rate);
        self.cwnd = self.cwnd.max(before.cwnd);
        self.ssthresh = self.ssthresh.max(before.ssthresh);
    }

    /// After an idle time: begins again with `window` or less.
    pub(super) fn restart(&mut self, window: Bytes) {
        self.before_loss = None;
        self.ssthresh = self.ssthresh.max(0.75 * self.window);
        self.window = self.window.min(window.as_f64() / self.mss);
        self.cwnd = self.cwnd.min(self.whole());
        self.by_rate = false;
        self.follow_window();
        self.pace(self.window);
    }

    pub(super) fn limit(&self) -> Limit {
        Limit { cwnd: Bytes::from_f64(self.cwnd * self.mss), pacing: self.pacing }
    }

    pub(super) fn inside(&self, report: &mut Reporter<'_>) {
        let mode = match (self.in_slow_start(), self.by_rate) {
            (true, _) => "slow_start",
            (false, true) => "rate",
            (false, false) => "window",
        };
        report("ssthresh_bytes", (self.ssthresh * self.mss).into());
        report("mode", mode.into());
        report("alpha", self.alpha.get().into());
        report("window_bytes", (self.window * self.mss).into());
        if let Some(detector) = &self.detector {
            report("classic_score", detector.score.into());
        }
    }
}
