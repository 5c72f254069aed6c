//! NSCC: the sender's control of Ultra Ethernet, by marks and queueing delay together.
//!
//! Windows and n in bytes on the wire; base the smallest round-trip time, BDP = C·base for the link rate C; delay = rtt − base.
//! ```text
//! A = C·RTT/150 kB,  T = 0.75·RTT with trimming, 1·RTT without,  B = T/12 us         uet-htsim, uec.cpp
//! first and largest window 1.5·BDP, smallest a full packet
//! for every acknowledgment of n bytes
//!     avg = (1 − w)·avg + w·x,  w = 0.0125,  x = delay, or base/4 if not marked and delay > T
//!     not marked, delay < T     inc += alpha·n·(T − delay),  alpha = 4·MSS·A·B/T      proportional increase
//!                               or cwnd += A·n/4, once more than a window had delay < 1 us; until one of these has a longer delay, or
//!                               one that is marked has delay ≥ T
//!     not marked, delay ≥ T     inc += 5·MSS·A·n                                      fair increase
//!     marked, delay < T         nothing: only the path changes
//!     marked, delay ≥ T         cwnd *= max(1 − 0.8·(avg − T)/avg, 1/2) if avg > T, the last time longer ago than base
//! more than 8 full packets have arrived, or RTT has passed, since the last time
//!     cwnd += inc/cwnd,  inc = 0;  cwnd += 0.15·MSS·A once in RTT
//! quick adapt: every base + T, from the first acknowledgment on, with the first event after that time
//!     a packet was trimmed since it last set in or delay > 4·T, and received < (largest window)/8
//!                               cwnd = received, inc = 0; what was in flight changes nothing any more by marks or by being trimmed
//! a packet of size s was trimmed; base is also the smallest time until the sender is notified of one
//!     x = RTT in avg; quick adapt; otherwise cwnd −= s, unless in front of the last link and there are credits
//! timeout                       cwnd −= a full packet
//! ```
//! alpha and 5·MSS·A are for a window: a window of acknowledgments without marks adds five packets above T, and fewer below.
//!
//! Without a sample of the round-trip time (a packet was retransmitted) delay is avg, which stays as it is. Losses that the transport
//! finds otherwise change nothing: the source repairs them without a decrease (loss detection SLEEK), and marks and delay show their cause.
//! There is no pacing.
//!
//! With `credits` receivers limit the sender besides: see [`credits`](crate::rdma::credits).
//!
//! Marks are accurate. The receiver acknowledges at once what is marked, retransmitted or the last of a window, and otherwise each packet or
//! each 16 KiB (`ack_every`).
//!
//! Left out: the penalty of a receiver in acknowledgments (destination control), whose coding differs between the sources.
//!
//! Differs from uet-htsim: a timeout takes a full packet, however large the packet was, because the transport does not report its size.
//! Differs from uet-htsim: quick adapt begins anew after an idle time, which would count as one in which nothing arrived.

mod params;
mod quick_adapt;

#[cfg(test)]
mod tests;

pub use params::Params;

use self::quick_adapt::{QuickAdapt, Verdict};
use super::parts::Ewma;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::rdma::Credits;
use crate::units::{Bytes, Span, Time};

/// A window of NSCC.
#[derive(Clone, Debug)]
pub struct Nscc(Box<State>);

#[derive(Clone, Debug)]
struct State {
    rules: Rules,
    /// In bytes on the wire.
    cwnd: f64,
    /// The largest window; follows the base round-trip time.
    largest: f64,
    base: Span,
    /// In seconds.
    average: Ewma,
    /// Increases that have not taken effect, in bytes times bytes.
    increase: f64,
    /// Bytes that arrived since increases took effect, and when they last did so with the floor.
    arrived: f64,
    floored: Time,
    fast: Fast,
    decreased: Option<Time>,
    quick: QuickAdapt,
    /// Bytes on their way.
    inflight: f64,
}

/// Constants of a connection. Times in seconds, amounts in bytes on the wire.
#[derive(Clone, Debug)]
struct Rules {
    /// C, bytes per second.
    rate: f64,
    max_window: f64,
    /// Payload and size of a full packet, and bytes on the wire for each of payload.
    mss: Bytes,
    packet: f64,
    wire: f64,
    rtt: Span,
    /// T.
    target: f64,
    /// alpha, bytes for each second of delay below T.
    proportional: f64,
    fair: f64,
    /// eta.
    floor: f64,
    /// For each byte.
    fast: f64,
    fast_below: f64,
    gamma: f64,
    /// The smallest factor of a decrease.
    least_factor: f64,
    unmarked_delay: f64,
    batch: f64,
    /// Receivers see to what is trimmed in front of the last link.
    has_credits: bool,
}

/// Fast increase.
#[derive(Clone, Copy, Debug, Default)]
struct Fast {
    /// Bytes acknowledged without delay in a row.
    acked: f64,
    is_on: bool,
}

impl Rules {
    fn new(params: &Params, path: &Path) -> Self {
        let rate = path.link.as_f64() / 8.0;
        let target = params.target().as_secs_f64();
        let mss = path.mss.as_f64();
        let a = rate * params.rtt.as_secs_f64() / params.reference_bdp.as_f64();
        let b = target / params.reference_rtt.as_secs_f64();
        let packet = path.packet.as_f64();
        Self {
            rate,
            max_window: params.max_window,
            mss: path.mss,
            packet,
            wire: packet / mss,
            rtt: params.rtt,
            target,
            proportional: params.proportional * mss * a * b / target,
            fair: params.fair * mss * a,
            floor: params.floor * mss * a,
            fast: params.fast * a,
            fast_below: params.fast_below.as_secs_f64(),
            gamma: params.gamma,
            least_factor: 1.0 - params.max_decrease,
            unmarked_delay: params.unmarked_delay,
            batch: params.batch as f64 * packet,
            has_credits: params.credits.is_some(),
        }
    }

    fn largest(&self, base: Span) -> f64 {
        (self.max_window * self.rate * base.as_secs_f64()).max(self.packet)
    }
}

impl Algorithm for Nscc {
    type Params = Params;
    const SUMMARY: &'static str =
        "marks and queueing delay together, quick adapt, trimmed packets (Ultra Ethernet)";
    const SOURCE: &'static str = "Ultra Ethernet 1.0, by the consortium's simulator uet-htsim";
    const INSIDE: Described = &[
        ("delay_ps", "The mean queueing delay, on which decreases depend."),
        ("base_rtt_ps", "The base round-trip time: the smallest one measured, or that of the settings."),
        ("target_ps", "T, the queueing delay it aims at."),
    ];
    const READS_DELAY: bool = true;
    const WANTS_EVERY_ACK: bool = true;
    const NEEDS_RDMA: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let rules = Rules::new(params, path);
        let base = params.base_rtt.unwrap_or(params.rtt);
        let largest = rules.largest(base);
        Self(Box::new(State {
            cwnd: largest,
            largest,
            base,
            average: Ewma::new(0.0, params.delay_gain),
            increase: 0.0,
            arrived: 0.0,
            floored: Time::ZERO,
            fast: Fast::default(),
            decreased: None,
            quick: QuickAdapt::new(params, rules.target),
            inflight: 0.0,
            rules,
        }))
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Accurate
    }

    fn credits(params: &Params) -> Option<Credits> {
        params.credits
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        params.check(ranges)
    }
}

impl State {
    fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.min(self.largest).max(self.rules.packet);
    }

    fn shorten_base(&mut self, rtt: Span) {
        if rtt < self.base {
            self.base = rtt;
            self.largest = self.rules.largest(rtt);
        }
    }

    /// Takes a sample of the round-trip time in. Returns the delay, in seconds.
    fn measure(&mut self, rtt: Option<Span>, marked: bool) -> f64 {
        let Some(rtt) = rtt else { return self.average.get() };
        self.shorten_base(rtt);
        let delay = (rtt - self.base).as_secs_f64();
        // A path that is slow and not marked must not cause a decrease alone.
        let is_odd = !marked && delay > self.rules.target;
        let odd = || self.rules.unmarked_delay * self.base.as_secs_f64();
        self.average.add(if is_odd { odd() } else { delay });
        delay
    }

    fn react(&mut self, now: Time, marked: bool, delay: f64, bytes: f64) {
        match (marked, delay < self.rules.target) {
            (false, true) => self.grow(delay, bytes),
            (false, false) => self.increase += self.rules.fair * bytes,
            // Another path may be free.
            (true, true) => {}
            (true, false) => self.decrease(now),
        }
    }

    fn grow(&mut self, delay: f64, bytes: f64) {
        if delay < self.rules.fast_below {
            self.fast.acked += bytes;
            self.fast.is_on |= self.fast.acked > self.cwnd;
        } else {
            self.fast = Fast::default();
        }
        if self.fast.is_on {
            self.set(self.cwnd + self.rules.fast * bytes);
        } else {
            self.increase += self.rules.proportional * bytes * (self.rules.target - delay);
        }
    }

    fn decrease(&mut self, now: Time) {
        self.fast = Fast::default();
        let (average, target) = (self.average.get(), self.rules.target);
        let rested = self.decreased.is_none_or(|last| now.saturating_since(last) > self.base);
        if average > target && rested {
            let factor = 1.0 - self.rules.gamma * (average - target) / average;
            self.set(self.cwnd * factor.max(self.rules.least_factor));
            self.decreased = Some(now);
        }
    }

    /// Increases take effect.
    fn fulfil(&mut self, now: Time) {
        let mut cwnd = self.cwnd + self.increase / self.cwnd;
        if now.saturating_since(self.floored) >= self.rules.rtt {
            cwnd += self.rules.floor;
            self.floored = now;
        }
        self.increase = 0.0;
        self.arrived = 0.0;
        self.set(cwnd);
    }

    /// Takes the decision of quick adapt. Returns whether the other rules are left out.
    fn adapt(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Adapt { received } => self.set(received),
            Verdict::Ignore => {}
            Verdict::Normal => return false,
        }
        self.increase = 0.0;
        self.arrived = 0.0;
        true
    }

    fn on_trimmed(&mut self, now: Time, size: f64, rtt: Span, at_last_hop: bool) {
        self.shorten_base(rtt);
        self.average.add(self.rules.rtt.as_secs_f64());
        let verdict = self.quick.on_trimmed(now, size, self.base, self.largest, self.inflight);
        self.inflight = (self.inflight - size).max(0.0);
        let is_for_credits = at_last_hop && self.rules.has_credits;
        if !self.adapt(verdict) && !is_for_credits {
            self.set(self.cwnd - size);
        }
    }
}

impl Controller for Nscc {
    fn on_ack(&mut self, ack: &Ack) {
        let state = &mut *self.0;
        let (marked, bytes) = (ack.marked > Bytes::ZERO, ack.acked.as_f64() * state.rules.wire);
        state.inflight = ack.inflight.as_f64() * state.rules.wire;
        let delay = state.measure(ack.rtt, marked);
        state.set(state.cwnd);
        let seen = quick_adapt::Seen { now: ack.now, bytes, marked, delay };
        let verdict = state.quick.on_ack(&seen, state.base, state.largest, state.inflight);
        state.arrived += bytes;
        if state.adapt(verdict) {
            return;
        }
        state.react(ack.now, marked, delay, bytes);
        let rested = ack.now.saturating_since(state.floored) > state.rules.rtt;
        if state.arrived > state.rules.batch || rested {
            state.fulfil(ack.now);
        }
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        if let Congestion::Timeout { .. } = event {
            self.0.set(self.0.cwnd - self.0.rules.packet);
        }
    }

    fn limit(&self) -> Limit {
        let Rules { mss, wire, .. } = self.0.rules;
        Limit::window(Bytes::from_f64(self.0.cwnd / wire).max(mss))
    }

    fn on_idle(&mut self, _now: Time, _idle: Span, _restart: Option<Bytes>) {
        self.0.quick.rest();
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        match *signal {
            Signal::Sent { size } => self.0.inflight += size.as_f64(),
            Signal::Trimmed { size, rtt, at_last_hop } => {
                self.0.on_trimmed(now, size.as_f64(), rtt, at_last_hop);
            }
            _ => {}
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let State { average, base, rules, .. } = &*self.0;
        report("delay_ps", (average.get() * 1e12).into());
        report("base_rtt_ps", (base.as_ps() as f64).into());
        report("target_ps", (rules.target * 1e12).into());
    }
}
