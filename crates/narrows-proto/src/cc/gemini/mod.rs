//! GEMINI: marks bound the queues inside a data center, delay bounds what is in flight between data centers.
//!
//! For every acknowledgment; windows in segments, C the capacity, RTT the base round-trip time.
//! ```text
//! DCN congested: this acknowledgment reports marks                       GEMINI §III-B, Algorithm 1
//! WAN congested: RTT_min > RTT + T, RTT_min the minimum over a round
//! If either, and the last reduction is more than a round trip ago:
//!     F    = 4K/(C·RTT + K)                                               Theorem 1, §III-C
//!     cwnd = cwnd·(1 − max(alpha·F if DCN, beta if WAN))
//! If neither:
//!     h     = H·C·RTT, C·RTT in bits, between 0.1 and 5                   §III-D
//!     cwnd += h/cwnd                                 for each segment acknowledged
//! ```
//! alpha is the running fraction of marked bytes, as in DCTCP. Every packet is paced (§III-D). Without marks what remains is
//! a delay control; without delays it is a DCTCP whose cut depends on the round-trip time.
//!
//! §III leaves open, and settings decide: the gain of alpha, the memory of the base round-trip time, the rate of
//! pacing. Losses halve the window, timeouts collapse it, as in TCP.
//!
//! Differs from GEMINI Theorem 1: F is 1/2 at most, as in DCTCP. The theorem bounds F from above; on short paths its bound
//! exceeds 1, and the text says of a path with K = C·RTT/7 that F = 1/2 is "exactly" DCTCP's. Whether the cap helps or harms
//! fairness among round-trip times depends on K: with the 300 packets of §IV-C shares are nearer to equal with it, with 50
//! packets and prompt acknowledgments without it (`max_scale = 4`). A cut by marks takes half of the window at most even
//! then: alpha·F of a window would leave nothing.
//! Differs from GEMINI §III-B: slow start, which it does not describe, is TCP's and ends with the first reduction, or with the
//! first mark or loss (`slow_start_ignores_delay`). The restart after an idle time is TCP's as well. Neither a mark nor a delay takes
//! the threshold below two segments (RFC 5681 §3.1 Eq. 4), so a window that a timeout has left at one segment leaves it with the next
//! acknowledgment that reports no congestion.
//! Differs from GEMINI Algorithm 1: a round trip has passed when a segment sent after the reduction is acknowledged, and
//! `RTT_min` counts no segments sent before it: they report on the old window, and would have it reduced twice.
//!
//! The base round-trip time must be remembered for longer than a cycle of the delay half, T·C/(N·h) rounds with N flows: if
//! the base rises as fast as the queue, no delay is ever found. If it is remembered for some cycles only, it drifts: delay
//! alone never drains the queue below (1 − beta)·(RTT + T), so the base tends to T·(1 − beta)/beta, 20 ms with the defaults.

mod threshold;

pub use self::threshold::MarkingThreshold;
use super::inside::SSTHRESH;
use super::parts::{MarkedFraction, RecentMin, Rest, SegmentWindow, WindowPacing};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of GEMINI (Zeng et al., ICNP 2019).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Gemini")]
pub struct Params {
    /// React to marks, congestion in the data center; true.
    pub ecn: bool,
    /// React to delay, congestion in the wide area; true.
    pub delay: bool,
    /// C: the capacity of bottlenecks. If left out, the rate of the port that `marking_threshold` is taken from; if that is given, the
    /// sender's own link: the testbeds of GEMINI §IV-A have links of one rate.
    pub capacity: Option<BitRate>,
    /// K: the backlog above which switches mark, headers included; the same number as at the switches. `switches`, as if left out,
    /// takes the smallest step threshold on all shortest paths of this traffic, each of which needs one. In version 1 of scenarios
    /// and without marking switches 50 full packets per Gb/s of capacity if left out (GEMINI Table IV).
    pub marking_threshold: Option<MarkingThreshold>,
    /// T: how much delay above the base round-trip time is congestion of the wide area; 5 ms (GEMINI Table IV).
    pub delay_threshold: Span,
    /// beta: the part of the window that delay takes; 0.2 (GEMINI Table IV). Below T/(T + RTT) the queue does not run empty
    /// (GEMINI §III-D).
    pub beta: f64,
    /// H: segments per round and per bit of C·RTT; 1.2e-7 (GEMINI §III-D).
    pub increase: f64,
    /// The smallest h, in segments per round; 0.1 (GEMINI §III-D).
    pub min_increase: f64,
    /// The largest h, in segments per round; 5 (GEMINI §III-D).
    pub max_increase: f64,
    /// The largest F; 1/2, so that short paths have the cut of DCTCP. 4 is none: the bound of Theorem 1 stays below it.
    pub max_scale: f64,
    /// g, the weight of the newest round in alpha; 1/16 as in DCTCP. GEMINI does not say.
    pub gain: f64,
    /// alpha before the first round; 1 as in DCTCP (RFC 8257 §3.3). GEMINI does not say.
    pub initial_alpha: f64,
    /// Time that a round-trip time is remembered as the base. GEMINI says "a long time"; for ever if left out, because
    /// paths become longer by failures only. With a shorter memory a queue that never empties becomes part of the base.
    pub base_rtt_window: Option<Span>,
    /// The base is taken to be this at most, if given. A connection that begins while a queue stands measures a longer
    /// round-trip time, allows T on top of that, and crowds out those that know better. Connections that have lasted
    /// since the network was idle, like those of GEMINI's traffic generator, do not have this trouble.
    pub max_base_rtt: Option<Span>,
    /// Only marks and losses end slow start, delay does not; false. GEMINI does not describe slow start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub slow_start_ignores_delay: bool,
    /// Packets are paced at this times cwnd/RTT, RTT the smoothed one; 1.2 as in Linux, on which GEMINI was built. Not below
    /// 1, where pacing would hold back what the window allows.
    pub pacing: f64,
    /// That factor in slow start; 2 as in Linux, so that the window can double in a round.
    pub slow_start_pacing: f64,
    /// Marks and delays never reduce the window below this many segments; 2 as in DCTCP of Linux. GEMINI does not say. The slow
    /// start threshold stays at 2 or this, whichever is more: with 1, slow start leads from one segment to two.
    pub min_window: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            ecn: true,
            delay: true,
            capacity: None,
            marking_threshold: None,
            delay_threshold: Span::from_ms(5),
            beta: 0.2,
            increase: 1.2e-7,
            min_increase: 0.1,
            max_increase: 5.0,
            max_scale: 0.5,
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
            base_rtt_window: None,
            max_base_rtt: None,
            slow_start_ignores_delay: false,
            pacing: 1.2,
            slow_start_pacing: 2.0,
            min_window: 2,
        }
    }
}

impl Params {
    /// K in bytes, for a capacity in bit/s and the size of full packets.
    pub fn threshold(&self, capacity: f64, packet: Bytes) -> f64 {
        let default = packet.as_f64() * PACKETS_PER_GBPS * capacity / 1e9;
        self.marking_threshold.and_then(MarkingThreshold::bytes).map_or(default, Bytes::as_f64)
    }
}

/// Packets of K per Gb/s of capacity (GEMINI Table IV).
const PACKETS_PER_GBPS: f64 = 50.0;

/// Marks never take more of the window than DCTCP's. Matters only if F is larger.
const MAX_CUT_BY_MARKS: f64 = 0.5;

/// Constants of a connection, and state that few connections have.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    params: Params,
    /// C in bit/s.
    capacity: f64,
    /// K in bits.
    threshold: f64,
    wire: WindowPacing,
    /// Filter for the smallest round-trip time, if the base is forgotten.
    recent: Option<RecentMin<Span>>,
}

impl Rules {
    pub(crate) fn new(params: &Params, path: &Path) -> Self {
        let capacity = params.capacity.unwrap_or(path.link).as_f64();
        let threshold = 8.0 * params.threshold(capacity, path.packet);
        Self { params: params.clone(), capacity, threshold, wire: WindowPacing::new(path), recent: None }
    }

    /// C·RTT in bits.
    fn product(&self, base_rtt: Span) -> f64 {
        self.capacity * base_rtt.as_secs_f64()
    }

    /// The settings they follow from.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// F.
    fn scale(&self, base_rtt: Span) -> f64 {
        let k = self.threshold;
        (4.0 * k / (self.product(base_rtt) + k)).min(self.params.max_scale)
    }

    /// The part of the window that marks take.
    pub(crate) fn cut_by_marks(&self, alpha: f64, base_rtt: Span) -> f64 {
        (alpha * self.scale(base_rtt)).min(MAX_CUT_BY_MARKS)
    }

    /// h, in segments per round.
    pub(crate) fn increase(&self, base_rtt: Span) -> f64 {
        (self.params.increase * self.product(base_rtt))
            .clamp(self.params.min_increase, self.params.max_increase)
    }
}

/// A GEMINI window.
#[derive(Clone, Debug)]
pub struct Gemini {
    rules: Box<Rules>,
    window: SegmentWindow,
    /// The running fraction of marked bytes, in [0, 1].
    alpha: MarkedFraction,
    /// [`Span::MAX`] before the first sample.
    base_rtt: Span,
    /// The smallest round-trip time of this round; [`Span::MAX`] if nothing of it was sent after the last reduction.
    round_min: Span,
    /// The last complete round had too much delay.
    delayed: bool,
    /// At most one reduction in a round trip.
    rest: Rest,
    /// Zero before the first acknowledgment.
    srtt: Span,
}

impl Algorithm for Gemini {
    type Params = Params;
    const SUMMARY: &'static str =
        "marks for queues in the data center, delay for the wide area; cut and growth scaled by RTT";
    const SOURCE: &'static str = "Zeng, Bai, Chen et al., ICNP 2019";
    const INSIDE: Described = &[
        SSTHRESH,
        ("alpha", "The estimated fraction of marked bytes, 0 to 1."),
        ("base_rtt_ps", "The smallest round-trip time; no row before there is one."),
    ];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        Self {
            rules: Box::new(Rules::new(params, path)),
            window: SegmentWindow::new(path.mss, path.initial_window, 2).merged(path.merged),
            alpha: MarkedFraction::new(params.initial_alpha, params.gain),
            base_rtt: Span::MAX,
            round_min: Span::MAX,
            delayed: false,
            rest: Rest::NONE,
            srtt: Span::ZERO,
        }
    }

    fn ecn(params: &Params) -> Ecn {
        if params.ecn { Ecn::Accurate } else { Ecn::Off }
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let capacity = params.capacity.unwrap_or(WireTime::MAX_RATE);
        let rates = WireTime::MIN_RATE..=WireTime::MAX_RATE;
        ranges.unless(rates.contains(&capacity), "capacity", capacity, "1 kb/s to 100 Tb/s")?;
        let threshold = params.marking_threshold.and_then(MarkingThreshold::bytes).unwrap_or(Bytes::MAX);
        ranges.unless(threshold > Bytes::ZERO, "marking_threshold", threshold, "more than 0 B")?;
        let Params { beta, increase, min_increase: min, max_increase: max, .. } = *params;
        let Params { max_scale, gain, initial_alpha: alpha, min_window, .. } = *params;
        ranges.unless(beta > 0.0 && beta < 1.0, "beta", beta, "between 0 and 1, both excluded")?;
        ranges.unless((0.0..=1.0).contains(&increase), "increase", increase, "0 to 1 segment per bit")?;
        ranges.unless(min > 0.0 && min <= 1e3, "min_increase", min, "above 0, at most 1000 segments")?;
        ranges.unless(max >= min && max <= 1e3, "max_increase", max, "min_increase to 1000 segments")?;
        ranges.unless(max_scale > 0.0 && max_scale <= 4.0, "max_scale", max_scale, "above 0, at most 4")?;
        ranges.unless(gain > 0.0 && gain <= 1.0, "gain", gain, "above 0, at most 1")?;
        ranges.unless((0.0..=1.0).contains(&alpha), "initial_alpha", alpha, "0 to 1")?;
        let times = [("base_rtt_window", params.base_rtt_window), ("max_base_rtt", params.max_base_rtt)];
        for (setting, span) in times {
            let span = span.unwrap_or(Span::MAX);
            ranges.unless(span > Span::ZERO, setting, span, "more than 0 s")?;
        }
        for (setting, gain) in [("pacing", params.pacing), ("slow_start_pacing", params.slow_start_pacing)] {
            ranges.unless((1.0..=1e3).contains(&gain), setting, gain, "1 to 1000")?;
        }
        ranges.unless(min_window >= 1, "min_window", min_window, "at least 1 segment")
    }
}

impl Gemini {
    /// Updates alpha and the round-trip times (line 1 of Algorithm 1).
    fn measure(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.alpha.add(ack);
        if ack.round_start {
            let bound = self.base_rtt + self.rules.params.delay_threshold;
            self.delayed = self.rules.params.delay && self.round_min > bound && self.round_min < Span::MAX;
            self.round_min = Span::MAX;
        }
        if let Some(rtt) = ack.rtt {
            self.remember(ack.now, rtt);
            if !self.rest.holds(ack) {
                self.round_min = self.round_min.min(rtt);
            }
        }
    }

    /// Takes a round-trip time into the base.
    fn remember(&mut self, now: Time, rtt: Span) {
        let measured = match self.rules.params.base_rtt_window {
            None => self.base_rtt.min(rtt),
            Some(window) => {
                self.rules.recent.get_or_insert_with(|| RecentMin::new(now, rtt)).add(now, rtt, window)
            }
        };
        self.base_rtt = self.rules.params.max_base_rtt.map_or(measured, |max| measured.min(max));
    }

    /// The wide area is congested, and the window reacts to that.
    fn is_delayed(&self) -> bool {
        self.delayed && !(self.rules.params.slow_start_ignores_delay && self.window.in_slow_start())
    }

    fn reduce(&mut self, now: Time, marked: bool) {
        let by_marks = if marked { self.rules.cut_by_marks(self.alpha.get(), self.base_rtt) } else { 0.0 };
        let by_delay = if self.is_delayed() { self.rules.params.beta } else { 0.0 };
        let target = self.window.get() * (1.0 - by_marks.max(by_delay));
        self.window.reduce_to(target, self.rules.params.min_window as f64);
        self.reduced(now);
    }

    fn reduced(&mut self, now: Time) {
        self.rest.begin(now);
        self.round_min = Span::MAX;
    }

    fn grow(&mut self, acked: Bytes) {
        if self.window.in_slow_start() {
            self.window.slow_start(acked);
        } else {
            let h = self.rules.increase(self.base_rtt);
            self.window.widen(h * self.window.segments(acked) / self.window.get());
        }
    }
}

impl Controller for Gemini {
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        let marked = ack.marked > Bytes::ZERO && self.rules.params.ecn;
        if ack.in_recovery {
            return;
        }
        if marked || self.is_delayed() {
            if !self.rest.holds(ack) {
                self.reduce(ack.now, marked);
            }
        } else if ack.cwnd_limited {
            self.grow(ack.acked);
        }
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        match event {
            Congestion::Loss { flight_size } | Congestion::Mark { flight_size } => {
                self.window.halve(flight_size);
                self.reduced(now);
            }
            Congestion::Timeout { flight_size, repeated } => {
                self.window.collapse(flight_size, repeated);
                self.reduced(now);
            }
            Congestion::Spurious => self.window.undo(),
        }
    }

    fn limit(&self) -> Limit {
        let cwnd = self.window.cwnd();
        let Params { pacing, slow_start_pacing, .. } = self.rules.params;
        let factor = if self.window.in_slow_start() { slow_start_pacing } else { pacing };
        let paced = self.srtt > Span::ZERO;
        Limit { cwnd, pacing: paced.then(|| self.rules.wire.rate(cwnd.as_f64(), self.srtt, factor)) }
    }

    fn on_idle(&mut self, _now: Time, _idle: Span, restart: Option<Bytes>) {
        self.round_min = Span::MAX; // of before the idle time
        if let Some(window) = restart {
            self.window.restart(window);
        }
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        match *signal {
            Signal::Handshake { rtt } => {
                self.srtt = rtt;
                self.remember(now, rtt);
            }
            Signal::Remembered { ssthresh } => self.window.remember(ssthresh),
            _ => {}
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("ssthresh_bytes", self.window.ssthresh().into());
        report("alpha", self.alpha.get().into());
        if self.base_rtt != Span::MAX {
            report("base_rtt_ps", (self.base_rtt.as_ps() as f64).into());
        }
    }
}

#[cfg(test)]
mod tests;
