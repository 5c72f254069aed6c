//! TCP Prague: a scalable window for low queues, cut in proportion to the fraction of marked packets, whose rate does not depend on
//! round-trip times below 25 ms.
//!
//! ```text
//! R   smoothed round-trip time       Rv = max(R, 25 ms)   virtual round-trip time
//! Once per round, and once per Rv
//!     alpha = (1 − g)·alpha + g·F    F = marked packets / acknowledged packets
//! Each packet acknowledged without a mark
//!     cwnd  = cwnd + (R/Rv)²/cwnd    also while marks reduce the window
//! First mark after a round and Rv since the last reduction
//!     cwnd  = cwnd·(1 − alpha/2)     the first of all halves the window
//! Up to 4 packets the rate is kept instead of the window
//!     rate  = rate + 1/(rate·Rv²)    for each packet without a mark; cut likewise
//! Pacing    rate = cwnd/R            2·cwnd/R below ssthresh/2; 3 % more and less by turns if the rate is kept
//! Slow start like Reno's, until the first mark or loss. Rv counts 4 rounds after it; until then Rv = R.
//! ```
//! The window has fractions; the one in force is rounded up, at least two packets, and follows one packet per acknowledgment.
//!
//! Packets marked at random with probability p hold `cwnd = x/p·R/Rv` with x² = 2(1 − p)(1 − p/4)(x + 1 − p/2): x is 2.7 for a small p,
//! whatever the rate. Were a reduction not to wait for a mark after Rv has passed, x would be 2(1 − p), about two marks in each Rv.
//!
//! Packets say ECT(1), and acknowledgments count marks (`accurate_ecn` of the transport). A loss halves the window once per recovery,
//! and a needless one is taken back. Bursts of segmentation offload last 244 us at most. Packets shrink below 1 Mb/s, so that two in Rv
//! are left to be marked; windows are counted in full ones.
//!
//! A receiver that has only the feedback of RFC 3168, or none (`peer_ecn` of the transport), makes it Reno, whose packets say ECT(0) or
//! cannot be marked, as with `ecn = false`. If packets arrive with another codepoint than ECT(1) or CE, those that follow cannot be
//! marked, and losses alone reduce the window (UDP Prague).
//!
//! `ecn_fallback` detects queues that mark by classic rules, as version 0.6 does. It only keeps alpha up: packets still say ECT(1).
//!
//! Differs from version 0.7: the pacing rate follows the window with its fractions, not the whole packets of it; the increase of the
//! rate does not round its window up.
//! Differs from version 0.7: a sender that its pacing stops counts as stopped by its window, unless that is more than twice of what is
//! in flight.
//! Differs from version 0.7: the first mark after a virtual round trip and a round reduces the window; there a mark within the virtual
//! round trip begins another round without a reduction.
//! Differs from version 0.7: the window of a loss is in force at once; proportional rate reduction spreads it.
//! Differs from version 0.7: acknowledgments cannot be marked.
//! Differs from version 0.6: scores of `ecn_fallback` are real numbers; the least round-trip time is that of the connection.

use super::inside::SSTHRESH;
use super::reno::{self, Reno};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, PeerEcn, Ranges,
    Reporter, Signal,
};
use crate::units::{Bytes, Span, Time};

mod classic_aqm;
mod params;
mod scalable;

#[cfg(test)]
mod tests;

pub use classic_aqm::Fallback;
pub use params::Params;
use scalable::Scalable;

/// A Prague sender.
#[derive(Clone, Debug)]
pub enum Prague {
    /// With marks.
    Scalable(Box<Scalable>),
    /// Without.
    Reno(Reno),
}

impl Algorithm for Prague {
    type Params = Params;
    const SUMMARY: &'static str =
        "scalable window for L4S, whose rate does not depend on short round-trip times";
    const SOURCE: &'static str = "TCP Prague for Linux, version 0.7 (L4STeam); RFC 9331";
    const READS_DELAY: bool = true;
    const INSIDE: Described = &[
        SSTHRESH,
        (
            "mode",
            "`slow_start`, `window`, `rate` (the rate is kept, not the window) or `reno` (without ECN).",
        ),
        ("alpha", "The estimated fraction of marked packets, 0 to 1."),
        ("window_bytes", "The window with its fractions."),
        (
            "classic_score",
            "With `ecn_fallback`: the higher, the more the queue seems to mark by classic rules.",
        ),
    ];

    fn new(params: &Params, path: &Path) -> Self {
        if params.ecn && path.peer_ecn == PeerEcn::Accurate {
            Self::Scalable(Box::new(Scalable::new(params, path)))
        } else {
            Self::Reno(Reno::new(&reno::Params::default(), path))
        }
    }

    fn ecn(params: &Params) -> Ecn {
        if params.ecn { Ecn::Counted } else { Ecn::Off }
    }

    fn is_l4s(params: &Params) -> bool {
        params.ecn
    }

    fn burst(params: &Params) -> Option<Span> {
        params.ecn.then_some(params.burst)
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        params.check(ranges)
    }
}

impl Controller for Prague {
    fn on_ack(&mut self, ack: &Ack) {
        match self {
            Self::Scalable(scalable) => scalable.on_ack(ack),
            Self::Reno(reno) => reno.on_ack(ack),
        }
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        match self {
            Self::Scalable(scalable) => scalable.on_congestion(event),
            Self::Reno(reno) => reno.on_congestion(now, event),
        }
    }

    fn on_idle(&mut self, now: Time, idle: Span, restart: Option<Bytes>) {
        match self {
            Self::Scalable(scalable) => restart.into_iter().for_each(|window| scalable.restart(window)),
            Self::Reno(reno) => reno.on_idle(now, idle, restart),
        }
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        match (self, signal) {
            (Self::Scalable(scalable), Signal::Handshake { rtt }) => scalable.on_handshake(*rtt),
            (Self::Scalable(scalable), Signal::Remembered { ssthresh }) => scalable.remember(*ssthresh),
            (Self::Scalable(_), _) => {}
            (Self::Reno(reno), signal) => reno.on_signal(now, signal),
        }
    }

    fn segment(&self) -> Option<Bytes> {
        match self {
            Self::Scalable(scalable) => Some(scalable.segment()),
            Self::Reno(_) => None,
        }
    }

    fn limit(&self) -> Limit {
        match self {
            Self::Scalable(scalable) => scalable.limit(),
            Self::Reno(reno) => reno.limit(),
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        match self {
            Self::Scalable(scalable) => scalable.inside(report),
            Self::Reno(reno) => {
                report("mode", "reno".into());
                reno.inside(report);
            }
        }
    }
}
