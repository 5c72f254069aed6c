//! HPCC: a window computed from what switches say of their links.
//!
//! ```text
//! Each acknowledgment: inflight of the busiest link     Li et al. (SIGCOMM 2019) Alg. 1, MeasureInflight
//!     txRate = bytes sent / time, between this record of a link and the one before
//!     u = min(queue, queue before)/(B·T) + txRate/B      of the link where it is largest, with tau = time there, T at most
//!     U = (1 − tau/T)·U + (tau/T)·u
//! The window                                             Alg. 1, ComputeWind
//!     U ≥ eta, or incStage ≥ maxStage:  W = Wc/(U/eta) + W_AI;   at the end of a round trip incStage = 0
//!     otherwise:                        W = Wc + W_AI;           at the end of a round trip incStage + 1
//! At the end of a round trip            Wc = W                   Alg. 1, NewAck
//! R = W/T                                                §3.2
//! ```
//! T is one base round-trip time for the whole network. A flow begins with W = Wc = B·T of its host's link, at line rate. Windows are
//! bytes on the wire here; the limit is the payload in them ([`Params::payload_window`]: they are payload).
//!
//! The paper leaves open what U is at first (1, as in HPCC's simulations), what the first record is compared with (nothing: it
//! is only kept), and bounds of the window (B·T at the most, `min_rate`·T at the least, one packet on its way in any case). The end of a
//! round trip is the acknowledgment of something sent after the last one that was (`lastUpdateSeq`), as the transport counts
//! rounds. Losses and timeouts do not change the window.

#[cfg(test)]
mod tests;

use super::parts::up_to_packets;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::telemetry::{Latest, Received, Telemetry};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of HPCC.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Hpcc")]
pub struct Params {
    /// eta, the part of a link that may be used; 0.95 (Li et al. §3.3).
    pub eta: f64,
    /// maxStage, round trips of additive increase before the window is scaled; 5 (Li et al. §5.1). HPCC's simulations have 0.
    pub max_stage: u32,
    /// T, the base round-trip time; 13 us as in the simulations of Li et al. (§5.1). It should be the longest of the network,
    /// sending a packet and its acknowledgment included.
    pub base_rtt: Span,
    /// N, flows that share a link, for the default of `w_ai`. 100: with hosts at 100 Gb/s `w_ai` is 81 B, and Li et al. have 80 B
    /// (§5.1). If B·T is only a dozen packets, that is lost in what a packet more or less between two records changes, and flows do
    /// not share: at 10 Gb/s `flows` should be 10.
    pub flows: u32,
    /// W_AI, additive increase in bytes on the wire; B·T·(1 − eta)/N (Li et al. §3.3) if left out.
    pub w_ai: Option<Bytes>,
    /// The rate does not fall below; 100 Mb/s as in HPCC's simulations.
    pub min_rate: BitRate,
    /// W bounds the payload on its way, and a packet may be sent as long as less is, as in HPCC's simulations. Off: W bounds the bytes on
    /// the wire, of all packets.
    pub payload_window: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 5,
            base_rtt: Span::from_us(13),
            flows: 100,
            w_ai: None,
            min_rate: BitRate::from_mbps(100),
            payload_window: false,
        }
    }
}

/// An HPCC window.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// W and Wc, in bytes on the wire.
    window: f64,
    reference: f64,
    /// U.
    utilization: f64,
    inc_stage: u32,
    /// Telemetry that came just before an acknowledgment, and its state.
    received: Received,
    /// A round trip is over and Wc has not been updated.
    round_over: bool,
    rules: Box<Rules>,
    last: Box<Latest>,
}

#[derive(Clone, Debug)]
struct Rules {
    eta: f64,
    max_stage: u32,
    /// T, in seconds.
    base_rtt: f64,
    w_ai: f64,
    /// B·T, and what the least rate sends in T, in bytes.
    most: f64,
    least: f64,
    /// The part of a packet on the wire that is payload; none if windows count payload.
    payload: Option<f64>,
    mss: Bytes,
}

impl Algorithm for Hpcc {
    type Params = Params;
    const SUMMARY: &'static str = "window from telemetry of switches (RDMA)";
    const SOURCE: &'static str = "Li et al., SIGCOMM 2019";
    const INSIDE: Described = &[
        ("utilization", "U, the utilization of the busiest link, of which `eta` is the target."),
        ("reference_window_bytes", "W^c, the window that is adjusted once a round trip."),
    ];
    const READS_DELAY: bool = true;
    const NEEDS_RDMA: bool = true;
    const TELEMETRY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let Params { eta, max_stage, base_rtt, flows, w_ai, min_rate, payload_window } = *params;
        let base_rtt = base_rtt.as_secs_f64();
        let most = path.link.as_f64() / 8.0 * base_rtt;
        let rules = Rules {
            eta,
            max_stage,
            base_rtt,
            w_ai: w_ai.map_or(most * (1.0 - eta) / f64::from(flows), Bytes::as_f64),
            most,
            least: (min_rate.as_f64() / 8.0 * base_rtt).min(most),
            payload: (!payload_window).then(|| path.mss.as_f64() / path.packet.as_f64()),
            mss: path.mss,
        };
        Self {
            window: most,
            reference: most,
            utilization: 1.0,
            inc_stage: 0,
            received: Received::Nothing,
            round_over: false,
            rules: Box::new(rules),
            last: Box::default(),
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { eta, base_rtt, flows, w_ai, min_rate, .. } = *params;
        ranges.unless(eta > 0.0 && eta <= 1.0, "eta", eta, "above 0, at most 1")?;
        let in_range = base_rtt > Span::ZERO && base_rtt <= Span::from_secs(10);
        ranges.unless(in_range, "base_rtt", base_rtt, "more than 0 s, at most 10 s")?;
        ranges.unless(flows > 0, "flows", flows, "at least 1")?;
        let w_ai = w_ai.unwrap_or(Bytes::ZERO);
        ranges.unless(w_ai <= Bytes::new(1_000_000_000), "w_ai", w_ai, "at most 1 GB")?;
        let range = WireTime::MIN_RATE..=WireTime::MAX_RATE;
        ranges.unless(range.contains(&min_rate), "min_rate", min_rate, "1 kb/s to 100 Tb/s")
    }
}

impl Hpcc {
    /// MeasureInflight; none if the records do not follow those kept, so that nothing follows from them.
    fn measure(&mut self, now: Time, telemetry: &Telemetry) -> Received {
        let base_rtt = self.rules.base_rtt;
        let (mut most, mut tau) = (0.0, 0.0);
        let received = self.last.compare(now, telemetry, |hop, before, ns| {
            let (seconds, rate) = (f64::from(ns) * 1e-9, hop.rate.as_f64() / 8.0);
            let queue = hop.queue().min(before.queue()).as_f64();
            let inflight = queue / (rate * base_rtt) + hop.sent_since(before).as_f64() / seconds / rate;
            if inflight > most {
                (most, tau) = (inflight, seconds);
            }
        });
        if received == Received::Measured {
            let share = tau.min(base_rtt) / base_rtt;
            self.utilization = (1.0 - share) * self.utilization + share * most;
        }
        received
    }

    /// ComputeWind.
    fn compute(&mut self, update: bool) {
        let Rules { eta, max_stage, w_ai, most, least, .. } = *self.rules;
        let scaled = self.utilization >= eta || self.inc_stage >= max_stage;
        let window = if scaled { self.reference / (self.utilization / eta) } else { self.reference } + w_ai;
        self.window = window.max(least).min(most);
        if update {
            self.inc_stage = if scaled { 0 } else { self.inc_stage + 1 };
            self.reference = self.window;
        }
    }
}

impl Controller for Hpcc {
    fn on_ack(&mut self, ack: &Ack) {
        match std::mem::replace(&mut self.received, Received::Nothing) {
            // A round begins with records that nothing follows from: Wc is due at its end.
            Received::Kept => {}
            Received::Nothing => self.round_over |= ack.round_start,
            Received::Measured => {
                let update = std::mem::take(&mut self.round_over) | ack.round_start;
                self.compute(update);
            }
        }
    }

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        let Rules { payload, mss, base_rtt, .. } = *self.rules;
        let within = |share| Bytes::from_f64(self.window * share).max(mss);
        Limit {
            cwnd: payload.map_or_else(|| up_to_packets(self.window, mss), within),
            pacing: Some(BitRate::from_f64(self.window * 8.0 / base_rtt)),
        }
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        if let Signal::Telemetry(telemetry) = signal {
            self.received = self.measure(now, telemetry);
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("utilization", self.utilization.into());
        report("reference_window_bytes", self.reference.into());
    }
}
