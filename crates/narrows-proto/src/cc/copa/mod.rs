//! Copa: steer the window towards a rate that falls with the queueing delay, so that every connection keeps about 1/δ
//! segments waiting; against controls that fill the buffer, let 1/δ grow like Reno's window.
//!
//! ```text
//! Windows in segments, rates in segments/s.                        Arun & Balakrishnan, NSDI 2018
//! Each acknowledgment                                              §2.1
//!     dq     = RTTstanding − RTTmin        RTTstanding: minimum over srtt/2; RTTmin: over 10 s
//!     target = 1/(δ·dq),  rate = cwnd/RTTstanding
//!     cwnd  += v·acked/(δ·cwnd)            if rate ≤ target, else −= the same
//! Each window                                                       §2.1
//!     v doubles if cwnd moved the way it did in the four windows before, and is 1 after a turn
//! Slow start       cwnd doubles each round until rate > target      §2.1
//! Pacing           2·cwnd/RTTstanding                               §2.1
//! Competitive mode, when the queue was not nearly empty for 5 RTT   §2.2
//!     nearly empty: dq ≤ 0.1·(RTTmax − RTTmin)  RTTmax: over 4 RTT
//!               or  dq ≤ 1.5 packets at the highest delivery rate of 4 RTT
//!     time in which cwnd moves one way for more than 3 RTT does not count in default mode
//!     1/δ   += 1 each round without loss, halved by a loss, never below its value in default mode
//! ```
//! In default mode a loss changes nothing. The window may be 2 segments at the least, as in the authors' code.
//!
//! Differs from Copa §2.1: an acknowledgment of several segments counts as that many, or delayed acknowledgments would halve
//! v; and none changes the window by more than it acknowledged, which bounds v (the authors' code: v ≤ cwnd).
//! Differs from Copa §2.1: v doubles after four windows in one direction, not three, as in mvfst with RTTstanding. The swing of
//! §3 keeps its direction for 2.5 rounds, and with whole packets and windows that begin anywhere three windows see it as one
//! direction now and then. v then doubles until a turn that is seen a round late: an excursion that feeds the next.
//! Differs from Copa §2.1: v falls to 1 as soon as the wanted direction differs from that of the last window, as in mvfst;
//! a large v is not applied in the direction it was not meant for.
//! Differs from Copa §2.2: the queue is nearly empty also if dq equals a tenth, so that a path without any queue counts, and
//! if no more waits than packets can resolve: one and a half. The swing of Copa §3 is 2.5/δ = 5 packets high, a tenth of it
//! half a packet. One swing that ends a packet above zero, and a connection alone would compete with itself. The packets are
//! those of this connection, so that the resolution is coarser for a share of several, whose queue is longer as well. With δ
//! of 0.67 or more it reaches the target 1/δ, and such a connection seldom competes.
//! Differs from Copa §2.2: while the window keeps its direction for more than three rounds in default mode, the time without
//! an empty queue does not count. That the queue empties every five rounds follows from the swing of §3, which turns every
//! 2.5. A queue of more than ten packets, as slow start leaves it, takes longer to drain even without anybody else.
//!
//! A limit of the paper's rule remains: many connections on a path that does not hold several times their swing, 2.5/δ for
//! each, do not empty the queue (§3, condition 1), and take each other for somebody else. Once 1/δ is not far below what the
//! path holds, a connection that competes no longer empties the queue either, since §2.1 compares the window of now with the
//! queue of a round ago, which dampens the swing. In a deep buffer that lasts until losses end it.
//!
//! Differs from the paper, which leaves out timeouts: the window falls to one segment and slow start begins again, and
//! 1/δ is halved as after a loss; delays do not end it below two segments. It leaves out windows that do not limit the sender: they do not grow.

use std::cmp::Reverse;

use super::parts::{MIN_THRESHOLD, RecentMin};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

#[cfg(test)]
mod tests;

/// Settings of Copa (Arun & Balakrishnan, NSDI 2018).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Copa")]
pub struct Params {
    /// δ of the default mode, in 1/segment: how much delay counts against throughput; 0.5 (Copa §2.2). A connection keeps
    /// about 1/δ segments waiting.
    pub delta: f64,
    /// Compete with controls that fill the buffer (Copa §2.2); `false` stays in default mode.
    pub competitive: bool,
    /// Over which time the smallest round-trip time is taken; 10 s (Copa §2.1).
    pub min_rtt_window: Span,
    /// The queue is nearly empty below this fraction of the range of recent round-trip times; 0.1 (Copa §2.2).
    pub nearly_empty: f64,
    /// Delays never reduce the window below this many segments; 2 (the authors' code). Slow start goes on to two segments even with 1.
    pub min_window: u64,
}

impl Default for Params {
    fn default() -> Self {
        let min_rtt_window = Span::from_secs(10);
        Self { delta: 0.5, competitive: true, min_rtt_window, nearly_empty: 0.1, min_window: 2 }
    }
}

/// The mode is judged over so many round trips (§2.2), the largest delay over one less.
const MODE_ROUNDS: u64 = 5;
/// The queue that packets cannot resolve, in packets at the connection's own rate: one, and the half for which the second of
/// two that one acknowledgment releases waits for the first, since pacing is at twice the rate.
const RESOLUTION: f64 = 1.5;
/// Windows in the same direction, after the first one, before v doubles.
const PATIENCE: u32 = 4;
/// A queue in equilibrium keeps its direction for 2.5 rounds (§3): for two windows after the first one.
const SWING: u32 = 2;

/// A Copa window.
#[derive(Clone, Debug)]
pub struct Copa {
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    params: Params,
    path: Path,
    /// In segments.
    cwnd: f64,
    slow_start: bool,
    /// 1/δ in force.
    inverse_delta: f64,
    velocity: Velocity,
    /// None before the first round-trip time.
    delays: Option<Delays>,
    competing: bool,
    /// Something was lost in this round.
    lost: bool,
    /// For a loss or timeout that turns out to be none.
    before: Option<Before>,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: f64,
    inverse_delta: f64,
}

impl Algorithm for Copa {
    type Params = Params;
    const SUMMARY: &'static str =
        "window steered to a rate that falls with the queueing delay; competes where buffers are filled";
    const SOURCE: &'static str = "Arun & Balakrishnan, NSDI 2018";
    const INSIDE: Described = &[
        ("mode", "`default`, or `competitive` against flows that fill buffers."),
        ("delta", "delta in force: the target rate is 1 / (delta * queueing delay)."),
        ("velocity", "By how much the step of the window has grown."),
        (
            "standing_rtt_ps",
            "The smallest round-trip time of the last half round; no row before there is one.",
        ),
        ("min_rtt_ps", "The smallest round-trip time of the last ten seconds; no row before there is one."),
    ];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let cwnd = path.initial_window.as_f64() / path.mss.as_f64();
        let state = State {
            params: params.clone(),
            path: *path,
            cwnd,
            slow_start: true,
            inverse_delta: 1.0 / params.delta,
            velocity: Velocity::new(cwnd),
            delays: None,
            competing: false,
            lost: false,
            before: None,
        };
        Self { state: Box::new(state) }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { delta, min_rtt_window, nearly_empty, min_window, .. } = *params;
        ranges.unless((1e-6..=1e3).contains(&delta), "delta", delta, "0.000001 to 1000")?;
        let window = min_rtt_window;
        ranges.unless(window > Span::ZERO, "min_rtt_window", window, "more than 0 s")?;
        ranges.unless(
            (0.0..1.0).contains(&nearly_empty),
            "nearly_empty",
            nearly_empty,
            "0 to 1, without 1",
        )?;
        ranges.unless(min_window >= 1, "min_window", min_window, "at least 1 segment")
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, ack: &Ack) {
        let state = &mut *self.state;
        state.measure(ack);
        let Some(delays) = &state.delays else { return };
        let increase = delays.permit(state.cwnd, state.inverse_delta);
        let acked = ack.acked.as_f64() / state.path.mss.as_f64();
        // A queue that others have left must not end slow start with the one segment of a timeout.
        if state.slow_start && (increase || state.cwnd < MIN_THRESHOLD as f64) {
            state.cwnd += if ack.cwnd_limited { acked } else { 0.0 };
        } else {
            state.slow_start = false;
            state.steer(increase, acked, ack.cwnd_limited);
        }
        if ack.round_start {
            state.end_round();
        }
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        let state = &mut *self.state;
        match event {
            Congestion::Loss { .. } => state.on_loss(),
            Congestion::Mark { .. } => {}
            Congestion::Timeout { repeated, .. } => {
                if !repeated {
                    state.on_loss();
                }
                state.cwnd = 1.0;
                state.slow_start = true;
                state.velocity = Velocity::new(state.cwnd);
            }
            Congestion::Spurious => {
                if let Some(before) = state.before.take() {
                    state.cwnd = state.cwnd.max(before.cwnd);
                    state.inverse_delta = state.inverse_delta.max(before.inverse_delta);
                }
            }
        }
    }

    fn limit(&self) -> Limit {
        let State { path, delays, cwnd, .. } = &*self.state;
        let cwnd = Bytes::from_f64(cwnd * path.mss.as_f64()).max(path.mss);
        let pacing = delays.as_ref().map(|delays| {
            let rate = path.on_wire(BitRate::per(cwnd, delays.standing.get())).scaled(2.0);
            rate.clamp(WireTime::MIN_RATE, WireTime::MAX_RATE)
        });
        Limit { cwnd, pacing }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let state = &*self.state;
        report("mode", if state.competing { "competitive" } else { "default" }.into());
        report("delta", (1.0 / state.inverse_delta).into());
        report("velocity", state.velocity.factor.into());
        if let Some(delays) = &state.delays {
            report("standing_rtt_ps", (delays.standing.get().as_ps() as f64).into());
            report("min_rtt_ps", (delays.lowest.get().as_ps() as f64).into());
        }
    }
}

impl State {
    /// Takes in the delay, and what it says of the mode.
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let delays = self.delays.get_or_insert_with(|| Delays::new(ack.now, rtt));
        delays.add(ack, rtt, self.path.mss, &self.params);
        if !self.competing && !self.velocity.swings() {
            delays.last_empty = ack.now;
        }
        let competing = self.params.competitive
            && ack.now.saturating_since(delays.last_empty) > ack.srtt.saturating_mul(MODE_ROUNDS);
        if self.competing && !competing {
            self.inverse_delta = 1.0 / self.params.delta;
        }
        self.competing = competing;
    }

    /// One step of §2.1.
    fn steer(&mut self, increase: bool, acked: f64, cwnd_limited: bool) {
        self.velocity.turn(increase, self.cwnd);
        let step = (self.velocity.factor * self.inverse_delta / self.cwnd).min(1.0) * acked;
        if !increase {
            let floor = (self.params.min_window as f64).min(self.cwnd);
            self.cwnd = (self.cwnd - step).max(floor);
        } else if cwnd_limited {
            self.cwnd += step;
        }
    }

    fn end_round(&mut self) {
        if !self.slow_start {
            self.velocity.judge(self.cwnd);
        }
        if self.competing && !self.lost {
            self.inverse_delta += 1.0;
        }
        self.lost = false;
    }

    fn on_loss(&mut self) {
        self.before = Some(Before { cwnd: self.cwnd, inverse_delta: self.inverse_delta });
        self.lost = true;
        if self.competing {
            self.inverse_delta = (self.inverse_delta / 2.0).max(1.0 / self.params.delta);
        }
    }
}

/// Statistics of round-trip times and rates, from which the queue is judged.
#[derive(Clone, Debug)]
struct Delays {
    /// `RTTstanding`: what the queue holds even between bursts of acknowledgments.
    standing: RecentMin<Span>,
    /// `RTTmin`.
    lowest: RecentMin<Span>,
    /// `RTTmax`.
    highest: RecentMin<Reverse<Span>>,
    /// The highest delivery rate.
    fastest: RecentMin<Reverse<BitRate>>,
    /// When the queue was nearly empty, or had no reason to be.
    last_empty: Time,
}

impl Delays {
    fn new(now: Time, rtt: Span) -> Self {
        Self {
            standing: RecentMin::new(now, rtt),
            lowest: RecentMin::new(now, rtt),
            highest: RecentMin::new(now, Reverse(rtt)),
            fastest: RecentMin::new(now, Reverse(BitRate::ZERO)),
            last_empty: now,
        }
    }

    fn add(&mut self, ack: &Ack, rtt: Span, mss: Bytes, params: &Params) {
        let recent = ack.srtt.saturating_mul(MODE_ROUNDS - 1);
        self.standing.add(ack.now, rtt, ack.srtt / 2);
        self.lowest.add(ack.now, rtt, params.min_rtt_window);
        self.highest.add(ack.now, Reverse(rtt), recent);
        self.fastest.add(ack.now, Reverse(ack.delivery.rate().unwrap_or(BitRate::ZERO)), recent);
        let range = self.highest.get().0.saturating_sub(self.lowest.get()).as_secs_f64();
        let resolution = self.resolution(mss);
        if self.queueing().as_secs_f64() <= resolution.max(params.nearly_empty * range) {
            self.last_empty = ack.now;
        }
    }

    /// The queueing delay, in seconds, that packets cannot resolve.
    fn resolution(&self, mss: Bytes) -> f64 {
        let rate = self.fastest.get().0.as_f64();
        if rate > 0.0 { 8.0 * RESOLUTION * mss.as_f64() / rate } else { 0.0 }
    }

    /// dq.
    fn queueing(&self) -> Span {
        self.standing.get().saturating_sub(self.lowest.get())
    }

    /// Whether a window of `cwnd` segments is not above the target: cwnd/RTTstanding ≤ 1/(δ·dq).
    fn permit(&self, cwnd: f64, inverse_delta: f64) -> bool {
        cwnd * self.queueing().as_secs_f64() <= inverse_delta * self.standing.get().as_secs_f64()
    }
}

/// v, and the direction it is meant for.
#[derive(Clone, Debug)]
struct Velocity {
    factor: f64,
    /// None before the first window, and while the window rests.
    up: Option<bool>,
    /// Windows in this direction after the first one.
    same: u32,
    /// In segments, when the window began.
    cwnd: f64,
}

impl Velocity {
    fn new(cwnd: f64) -> Self {
        Self { factor: 1.0, up: None, same: 0, cwnd }
    }

    /// The window may be in equilibrium: it has not kept its direction for longer than that.
    fn swings(&self) -> bool {
        self.same <= SWING
    }

    /// The next step goes `up`.
    fn turn(&mut self, up: bool, cwnd: f64) {
        if self.factor > 1.0 && self.up != Some(up) {
            *self = Self { up: Some(up), ..Self::new(cwnd) };
        }
    }

    /// A window has passed, which left `cwnd`.
    fn judge(&mut self, cwnd: f64) {
        let up = (cwnd != self.cwnd).then_some(cwnd > self.cwnd);
        if up.is_none() || up != self.up {
            *self = Self { up, ..Self::new(cwnd) };
            return;
        }
        self.cwnd = cwnd;
        self.same += 1;
        if self.same >= PATIENCE {
            // Beyond cwnd·δ it changes nothing; the bound keeps it finite.
            self.factor = (2.0 * self.factor).min(1e12);
        }
    }
}
