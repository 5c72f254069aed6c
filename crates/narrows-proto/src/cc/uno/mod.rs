//! UnoCC: one control for flows inside a data center and between them, for switches with phantom queues.
//!
//! For every acknowledgment; windows and acked in bytes on the wire, base the base round-trip time, BDP = C·base.
//! ```text
//! not marked and rtt < 1.05·base                 cwnd += AI·acked/cwnd, AI = 0.001·BDP       Uno (SC 2025), code of the artifact
//! end of an epoch: a packet sent at or after its end mark is acknowledged
//!     F = marked/acked of the epoch,  E' = E,  E = (1 − g)·E + g·F
//!     congested (F > 0 or rtt > 1.05·base)
//!         E' = 0, E > 0.9 or E ≥ E'              cwnd *= 1 − E·b,  b = beta = 4K/(BDP + K)
//!                                                b = 0.35·beta if rtt ≤ 1.055·base: only the phantom queue is full
//!         otherwise: it drains already           cwnd += AI·acked/cwnd, acked of the epoch
//!     end mark                                   += rtt·intra/base, an epoch for each round trip inside a data center ("short"),
//!                                                or = now ("long")
//! quick adapt: every 1.05·base
//!     rtt > base + time of 0.9 queues, or acked < cwnd/2
//!                                                cwnd = 0.96·acked
//! rate = cwnd/base
//! ```
//! The first epoch begins when a window has been sent, and so does the first after a quick adapt, which itself rests until a packet sent
//! later is acknowledged. The window is between a packet and BDP. If `base_rtt` is left out a flow begins with the initial window of its
//! transport, and has its first window from the first round-trip time of data on. Losses and timeouts do not change the window: what is
//! lost is missing in acked, for quick adapt. Round-trip times are those that timestamps echo, so that packets which were sent twice count as well.
//!
//! The receiver must acknowledge every segment at once (`ack_every = 1`), with accurate marks.
//!
//! Left out: the fast increase, which the figures of Uno switch off; erasure coding and the choice of paths (UnoRC, UnoLB), for which
//! the transport lacks groups of packets that any eight of ten complete; the timeout of each packet after the drain time of a few queues.
//!
//! Differs from Uno: beta is 1/2 at most, which its formula exceeds where BDP < 7K.
//! Differs from Uno: the rate follows the window at once, not every twentieth of a round trip.
//! Differs from Uno: an end mark is never before the packet that ended the epoch, so that a flow which was idle does not decide with each
//! acknowledgment; and a flow that had nothing more to send neither grows nor adapts quickly. Quick adapt always looks at a whole round
//! trip, and never raises the window.

#[cfg(test)]
mod tests;

use super::parts::{Ewma, WindowPacing};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of UnoCC. Of the paper only abstract and introduction were at hand: values are those of the scripts and the code of its
/// artifact.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Uno")]
pub struct Params {
    /// The base round-trip time of this traffic, sending a packet and its acknowledgment included; the smallest that was measured if left
    /// out. Uno has 14 us inside a data center and 1.792 ms between two.
    pub base_rtt: Option<Span>,
    /// The base round-trip time inside a data center, which epochs last; 14 us. Flows with a shorter one have epochs of their own.
    pub intra_rtt: Span,
    /// C: the capacity of bottlenecks; that of the sender's own link if left out.
    pub capacity: Option<BitRate>,
    /// The first window, as a part of BDP; 1, as in the artifact.
    pub start: f64,
    /// AI, what a window of acknowledgments adds, as a part of BDP; 0.001.
    pub increase: f64,
    /// K of beta; 24 576 B, six packets of 4096 B.
    pub k: Bytes,
    /// g, the weight of the newest epoch; 0.65.
    pub gain: f64,
    /// E above which the window is cut although E falls; 0.9.
    pub cut_above: f64,
    /// A longer round trip is a sign of congestion: this times the base; 1.05.
    pub target: f64,
    /// Up to this times the base only the phantom queue is full; 1.055.
    pub phantom_target: f64,
    /// Beta is multiplied with this then; 0.35.
    pub phantom_cut: f64,
    /// When decisions are made.
    pub epochs: Epochs,
    /// Reduce the window to what arrives as soon as that is far less; true.
    pub quick_adapt: bool,
    /// The queue of a switch: quick adapt takes nine tenths of it for too much; 1 MB.
    pub queue: Bytes,
    /// Acknowledged part of a window below which quick adapt sets in; 0.5.
    pub quick_below: f64,
    /// The part of what arrives that it leaves as a window; 0.96.
    pub quick_share: f64,
}

/// Times at which UnoCC decides.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "UnoEpochs")]
pub enum Epochs {
    /// For what was sent in each round trip of a data center.
    #[default]
    Short,
    /// Once in a round trip of the flow.
    Long,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: None,
            intra_rtt: Span::from_us(14),
            capacity: None,
            start: 1.0,
            increase: 0.001,
            k: Bytes::new(24_576),
            gain: 0.65,
            cut_above: 0.9,
            target: 1.05,
            phantom_target: 1.055,
            phantom_cut: 0.35,
            epochs: Epochs::Short,
            quick_adapt: true,
            queue: Bytes::new(1_000_000),
            quick_below: 0.5,
            quick_share: 0.96,
        }
    }
}

/// The part of a queue that is too much for quick adapt (artifact).
const QUICK_QUEUE: f64 = 0.9;
/// The largest beta: half of the window, as in DCTCP.
const MOST_BETA: f64 = 0.5;

/// A window of UnoCC.
#[derive(Clone, Debug)]
pub struct Uno(Box<State>);

#[derive(Clone, Debug)]
struct State {
    rules: Rules,
    /// In bytes on the wire; none before the base round-trip time is known.
    cwnd: Option<f64>,
    /// [`Span::MAX`] before it is known.
    base: Span,
    /// E.
    marks: Ewma,
    /// None while a window is being sent.
    epoch: Option<Epoch>,
    /// Payload that has been sent when the next first epoch begins.
    window_sent: u64,
    /// None while it rests.
    period: Option<Period>,
    /// Quick adapt rests until a packet sent after this is acknowledged.
    adapted: Option<Time>,
}

#[derive(Clone, Debug)]
struct Rules {
    params: Params,
    /// Bytes per second.
    capacity: f64,
    initial_window: Bytes,
    mss: Bytes,
    /// A full packet on the wire, and the bytes there for each of payload.
    packet: f64,
    wire: f64,
    pacing: WindowPacing,
}

/// Decisions are made for packets sent before `end`.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    end: Time,
    acked: f64,
    marked: f64,
}

/// Time in which quick adapt counts.
#[derive(Clone, Copy, Debug)]
struct Period {
    since: Time,
    acked: f64,
}

impl Algorithm for Uno {
    type Params = Params;
    const SUMMARY: &'static str =
        "marks of phantom queues, by epochs of the data center; quick adapt (UnoCC)";
    const SOURCE: &'static str = "Uno, SC 2025 (arXiv 2510.15802)";
    const INSIDE: Described = &[
        ("marked_fraction", "E, the smoothed fraction of marked bytes of an epoch, 0 to 1."),
        ("base_rtt_ps", "The base round-trip time; no row before it is known."),
        (
            "beta",
            "The part of the window that is taken where all is marked; no row before the base is known.",
        ),
    ];
    const READS_DELAY: bool = true;
    const WANTS_EVERY_ACK: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let rules = Rules {
            params: params.clone(),
            capacity: params.capacity.unwrap_or(path.link).as_f64() / 8.0,
            initial_window: path.initial_window,
            mss: path.mss,
            packet: path.packet.as_f64(),
            wire: path.packet.as_f64() / path.mss.as_f64(),
            pacing: WindowPacing::new(path),
        };
        let mut state = State {
            marks: Ewma::new(0.0, params.gain),
            rules,
            cwnd: None,
            base: Span::MAX,
            epoch: None,
            window_sent: 0,
            period: None,
            adapted: None,
        };
        if let Some(base) = params.base_rtt {
            state.learn(base, Time::ZERO, Bytes::ZERO);
        }
        Self(Box::new(state))
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Accurate
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let longest = Span::from_secs(10);
        for (setting, span) in [("base_rtt", params.base_rtt), ("intra_rtt", Some(params.intra_rtt))] {
            let span = span.unwrap_or(longest);
            ranges.unless(
                span > Span::ZERO && span <= longest,
                setting,
                span,
                "more than 0 s, at most 10 s",
            )?;
        }
        let capacity = params.capacity.unwrap_or(WireTime::MAX_RATE);
        let rates = WireTime::MIN_RATE..=WireTime::MAX_RATE;
        ranges.unless(rates.contains(&capacity), "capacity", capacity, "1 kb/s to 100 Tb/s")?;
        for (setting, bytes) in [("k", params.k), ("queue", params.queue)] {
            let in_range = bytes > Bytes::ZERO && bytes <= Bytes::new(1_000_000_000_000);
            ranges.unless(in_range, setting, bytes, "more than 0 B, at most 1 TB")?;
        }
        let Params { start, increase, gain, cut_above, phantom_cut, .. } = *params;
        let Params { target, phantom_target, quick_below, quick_share, .. } = *params;
        let above_0 = "above 0, at most 1";
        let parts = [("start", start), ("increase", increase), ("gain", gain), ("quick_share", quick_share)];
        for (setting, part) in parts {
            ranges.unless(part > 0.0 && part <= 1.0, setting, part, above_0)?;
        }
        for (setting, part) in
            [("cut_above", cut_above), ("phantom_cut", phantom_cut), ("quick_below", quick_below)]
        {
            ranges.unless((0.0..=1.0).contains(&part), setting, part, "0 to 1")?;
        }
        for (setting, times) in [("target", target), ("phantom_target", phantom_target)] {
            ranges.unless((1.0..=100.0).contains(&times), setting, times, "1 to 100")?;
        }
        Ok(())
    }
}

impl Rules {
    fn product(&self, base: Span) -> f64 {
        (self.capacity * base.as_secs_f64()).max(self.packet)
    }

    fn beta(&self, base: Span) -> f64 {
        let k = self.params.k.as_f64();
        (4.0 * k / (self.product(base) + k)).min(MOST_BETA)
    }
}

impl State {
    /// A base round-trip time, maybe a smaller one, when so much payload has been sent.
    fn learn(&mut self, base: Span, now: Time, sent: Bytes) {
        self.base = base;
        match self.cwnd {
            Some(cwnd) => self.set(cwnd),
            None => {
                self.set(self.rules.params.start * self.rules.product(base));
                self.rest_epochs(sent);
                // What is acknowledged until then was sent with a smaller window.
                self.adapted = (now > Time::ZERO).then_some(now);
            }
        }
    }

    fn set(&mut self, cwnd: f64) {
        self.cwnd = Some(cwnd.max(self.rules.packet).min(self.rules.product(self.base)));
    }

    /// Epochs begin again when a window has been sent.
    fn rest_epochs(&mut self, sent: Bytes) {
        self.epoch = None;
        let payload = self.cwnd.unwrap_or(0.0) / self.rules.wire;
        self.window_sent = sent.get().saturating_add(payload as u64);
    }

    /// This times the base round-trip time, in seconds.
    fn times_base(&self, factor: f64) -> f64 {
        factor * self.base.as_secs_f64()
    }

    fn widen(&mut self, cwnd: f64, acked: f64) {
        let increase = self.rules.params.increase * self.rules.product(self.base);
        self.set(cwnd + increase * acked / cwnd);
    }

    fn grow(&mut self, ack: &Ack, acked: f64) {
        let short = ack.since_sent.as_secs_f64() < self.times_base(self.rules.params.target);
        let quiet = ack.marked == Bytes::ZERO && short;
        if let Some(cwnd) = self.cwnd
            && quiet
            && !ack.delivery.app_limited
        {
            self.widen(cwnd, acked);
        }
    }

    fn count(&mut self, ack: &Ack, acked: f64) {
        let Some(epoch) = &mut self.epoch else {
            if ack.sent.get() >= self.window_sent {
                self.epoch = Some(Epoch { end: ack.now, acked: 0.0, marked: 0.0 });
            }
            return;
        };
        epoch.acked += acked;
        epoch.marked += ack.marked.as_f64() * self.rules.wire;
        let epoch = *epoch;
        let (rtt, sent) = (ack.since_sent, sent(ack));
        if sent >= epoch.end {
            self.decide(rtt, &epoch, ack.delivery.app_limited);
            let Params { epochs, intra_rtt, .. } = self.rules.params;
            let end = match epochs {
                Epochs::Long => ack.now,
                Epochs::Short => {
                    let part = (intra_rtt.as_secs_f64() / self.base.as_secs_f64()).min(1.0);
                    (epoch.end + Span::from_secs_f64(rtt.as_secs_f64() * part)).max(sent)
                }
            };
            self.epoch = Some(Epoch { end, acked: 0.0, marked: 0.0 });
        }
    }

    /// An epoch is over.
    fn decide(&mut self, rtt: Span, epoch: &Epoch, app_limited: bool) {
        let Some(cwnd) = self.cwnd.filter(|_| epoch.acked > 0.0) else { return };
        let (fraction, before) = (epoch.marked / epoch.acked, self.marks.get());
        self.marks.add(fraction);
        let Params { target, phantom_target, phantom_cut, cut_above, .. } = self.rules.params;
        let (rtt, now) = (rtt.as_secs_f64(), self.marks.get());
        if fraction <= 0.0 && rtt <= self.times_base(target) {
            return;
        }
        if before == 0.0 || now > cut_above || now >= before {
            let only_phantom = rtt <= self.times_base(phantom_target);
            let beta = self.rules.beta(self.base) * if only_phantom { phantom_cut } else { 1.0 };
            self.set(cwnd * (1.0 - now * beta));
        } else if !app_limited {
            self.widen(cwnd, epoch.acked);
        }
    }

    fn adapt(&mut self, ack: &Ack, acked: f64) {
        let Params { target, queue, quick_below, quick_share, .. } = self.rules.params;
        let Some(period) = &mut self.period else {
            if self.adapted.is_none_or(|at| sent(ack) > at) {
                self.period = Some(Period { since: ack.now, acked: 0.0 });
            }
            return;
        };
        period.acked += acked;
        let Period { since, acked } = *period;
        if ack.now.saturating_since(since).as_secs_f64() < self.times_base(target) {
            return;
        }
        self.period = Some(Period { since: ack.now, acked: 0.0 });
        let Some(cwnd) = self.cwnd.filter(|_| !ack.delivery.app_limited) else { return };
        let full = QUICK_QUEUE * queue.as_f64() / self.rules.capacity;
        if ack.since_sent.as_secs_f64() > self.times_base(1.0) + full || acked < quick_below * cwnd {
            self.set((quick_share * acked).min(cwnd));
            self.rest_epochs(ack.sent);
            (self.period, self.adapted) = (None, Some(ack.now));
        }
    }
}

/// When the acknowledged packet was sent.
fn sent(ack: &Ack) -> Time {
    Time::from_ps(ack.now.as_ps().saturating_sub(ack.since_sent.as_ps()))
}

impl Controller for Uno {
    fn on_ack(&mut self, ack: &Ack) {
        let state = &mut *self.0;
        if let Some(rtt) = ack.rtt
            && state.rules.params.base_rtt.is_none()
            && rtt < state.base
        {
            state.learn(rtt, ack.now, ack.sent);
        }
        let acked = ack.acked.as_f64() * state.rules.wire;
        state.grow(ack, acked);
        state.count(ack, acked);
        if state.rules.params.quick_adapt {
            state.adapt(ack, acked);
        }
    }

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        let State { rules, cwnd, base, .. } = &*self.0;
        let Some(cwnd) = *cwnd else { return Limit::window(rules.initial_window) };
        let payload = cwnd / rules.wire;
        Limit {
            cwnd: Bytes::from_f64(payload).max(rules.mss),
            pacing: Some(rules.pacing.rate(payload, *base, 1.0)),
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let State { rules, marks, base, .. } = &*self.0;
        report("marked_fraction", marks.get().into());
        if *base != Span::MAX {
            report("base_rtt_ps", (base.as_ps() as f64).into());
            report("beta", rules.beta(*base).into());
        }
    }
}
