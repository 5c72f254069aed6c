//! BBR version 3: paces at the bandwidth that probing has found, and keeps its rate and what is in flight below bounds that
//! losses set.
//!
//! ```text
//! Model       max_bw  = largest delivery rate of this and the previous cycle of probing
//!             min_rtt = windowed min of round-trip times, 10 s
//!             bw      = min(max_bw, bw_short)      bdp = bw·min_rtt
//! Bounds      inflight_long   the most that probing found safe: raised by flights without loss > 2 %, set by those with
//!             bw_short, inflight_short   after a round with loss outside of probing: max(latest, 0.7·bound)
//! Pacing      rate    = pacing_gain·bw·0.99; only raised until the pipe is full
//! Window      target  = max(cwnd_gain·bdp + extra_acked, 3 quanta, 4 segments), + 2 in UP
//!             cwnd    = min(cwnd + acked, target, bounds), at least 4 segments
//! STARTUP     gains 2.77 and 2 until bw has not grown by 25 % for 3 rounds, or > 2 % of a flight is lost in 6 ranges
//! DRAIN       0.5 until inflight ≤ bdp, at most 3 rounds
//! DOWN        0.9 until inflight ≤ bdp and ≤ 0.85·inflight_long
//! CRUISE      1, below 0.85·inflight_long; until 2 to 3 s have passed since DOWN began, or as many rounds as segments fit
//!             into a bdp, at most 63
//! REFILL      1, without short-term bounds, for a round
//! UP          gains 1.25 and 2.25 until bw has not grown for 3 rounds, or > 2 % of a flight is lost; inflight_long grows by
//!             1, 2, 4, … segments a round while the window is full
//! PROBE_RTT   without a smaller round-trip time for 5 s: half a bdp for 200 ms and a round
//! Timeout     cwnd = 1 segment, the old cwnd after the repair
//! Spurious    the bounds before the loss again; STARTUP or UP again if the loss had ended it
//! ```
//!
//! Compared with [version 1](super::bbr): losses bound rate and volume, which version 1 ignores; the filter of the bandwidth
//! spans two cycles of seconds instead of ten rounds; probing comes every few seconds, or as often as Reno would need it,
//! instead of every eight round trips, and CRUISE leaves 15 % to others in between; `PROBE_RTT` comes twice as often, but keeps
//! half a bandwidth-delay product in flight instead of four segments; there is no detector of policers, as losses bound the rate.
//!
//! With `ecn` marks count as in Linux, on paths with a `min_rtt` of at most 5 ms: an average of the marked part
//! lowers `inflight_short`, half of a round marked is too much.
//!
//! Differs from the draft: at a timeout the window is one segment; what is not yet given up is not added.
//! Differs from the draft: a spurious recovery is noticed as late as the transport notices it, when all that was repeated had
//! arrived; a spurious timeout with the first acknowledgment.
//! Differs from the draft: the round-trip time of the handshake is not used; see [`Params::initial_rtt`].
//! Differs from Linux: the marked part is that of a round, not of the flight of a packet; the first step after marks have ceased
//! is the ordinary one.
//!
//! "Draft" is draft-ietf-ccwg-bbr of August 2026; "Linux" is `tcp_bbr.c` of BBRv3.

use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::Time;

mod bounds;
mod cycle;
mod losses;
mod machine;
mod marks;
mod mode;
mod model;
mod params;
mod probing;
mod round_trips;
mod sample;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trajectories;

use model::Model;
pub use params::{EcnParams, Params};

/// A BBRv3 sender.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<Model>);

impl Algorithm for Bbr3 {
    type Params = Params;
    const SUMMARY: &'static str =
        "version 3: paces at the bandwidth that probing found, below bounds that losses set";
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr (August 2026); Linux, BBRv3, for marks";
    const INSIDE: Described = &[
        ("mode", "`startup`, `drain`, `down`, `cruise`, `refill`, `up` or `probe_rtt`."),
        ("bandwidth_bps", "The largest delivery rate of two cycles of probing, payload."),
        ("bw_short_bps", "What losses since the last probe have left of it; no row without any."),
        (
            "inflight_short_bytes",
            "What losses since the last probe have left of the window; no row without any.",
        ),
        ("inflight_long_bytes", "The most that probing found safe; no row before a loss while probing."),
        ("min_rtt_ps", "The smallest round-trip time of the last ten seconds; no row before there is one."),
        (
            "extra_acked_bytes",
            "The most that was acknowledged at once beyond the bandwidth, over ten rounds.",
        ),
        ("pacing_gain", "The factor of the bandwidth at which packets leave."),
        ("cwnd_gain", "The factor of the bandwidth-delay product that the window aims at."),
        ("alpha", "The average of the marked part; only with `ecn`."),
    ];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        Self(Box::new(Model::new(params, path)))
    }

    fn ecn(params: &Params) -> Ecn {
        if params.ecn.is_some() { Ecn::Accurate } else { Ecn::Off }
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        params.check(ranges)
    }
}

impl Controller for Bbr3 {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        match event {
            // Each segment is reported, and each marked byte.
            Congestion::Loss { .. } | Congestion::Mark { .. } => {}
            Congestion::Timeout { flight_size, .. } => self.0.on_timeout(flight_size),
            Congestion::Spurious => self.0.on_spurious(),
        }
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        if let Signal::Lost(segment) = signal {
            self.0.on_lost(now, segment);
        }
    }

    fn limit(&self) -> Limit {
        Limit { cwnd: self.0.cwnd, pacing: self.0.pacing }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let model = &self.0;
        report("mode", model.mode.name().into());
        report("bandwidth_bps", model.max_rate().as_f64().into());
        if let Some(rate) = model.bounds.rate {
            report("bw_short_bps", rate.as_f64().into());
        }
        if let Some(volume) = model.bounds.inflight {
            report("inflight_short_bytes", volume.as_f64().into());
        }
        if let Some(volume) = model.long_term {
            report("inflight_long_bytes", volume.as_f64().into());
        }
        if let Some(min_rtt) = model.round_trips.min {
            report("min_rtt_ps", (min_rtt.as_ps() as f64).into());
        }
        report("extra_acked_bytes", model.extra_acked().as_f64().into());
        let (pacing, window) = model.gains();
        report("pacing_gain", pacing.into());
        report("cwnd_gain", window.into());
        if model.params.ecn.is_some() {
            report("alpha", model.marks.alpha.into());
        }
    }
}
