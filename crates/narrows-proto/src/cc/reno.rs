//! Reno: one segment more per round, half the window after a loss.
//!
//! ```text
//! Slow start             cwnd += min(acked, L·SMSS)                    RFC 5681 §3.1, RFC 3465 §2.2
//! Congestion avoidance   cwnd += SMSS per window                       RFC 5681 §3.1, RFC 3465 §2.1
//! Loss                   ssthresh = cwnd = max(FlightSize/2, 2·SMSS)      RFC 5681 §3.1 Eq. 4, §3.2; RFC 6582 §3.2
//! Mark                   the same, once per round                      RFC 3168 §6.1.2
//! Timeout                ssthresh as above, cwnd = SMSS                RFC 5681 §3.1
//! After an idle time     ssthresh = max(ssthresh, 3/4·cwnd), cwnd = min(RW, cwnd)   RFC 2861, RFC 5681 §4.1
//! ```
//!
//! Differs from RFC 5681 §3.2 and RFC 6582: the window is not inflated by duplicate acknowledgments nor deflated by
//! partial ones; the transport counts what is in flight from its scoreboard (RFC 6675) and repairs all holes of a
//! window in one recovery, which is what those steps of NewReno approximate.

use super::inside::SSTHRESH;
use super::parts::RenoWindow;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{Bytes, Span, Time};

/// Settings of Reno.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Reno")]
pub struct Params {
    /// Ask switches to mark instead of dropping.
    pub ecn: bool,
    /// L: segments one acknowledgment may add in slow start. RFC 5681 says 1; with 2 delayed acknowledgments do not
    /// slow the start down (RFC 3465 §2.3, which allows no more than 2). After a timeout it is 1.
    pub slow_start_limit: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self { ecn: false, slow_start_limit: 2 }
    }
}

/// A Reno window.
#[derive(Clone, Debug)]
pub struct Reno {
    window: RenoWindow,
}

impl Algorithm for Reno {
    type Params = Params;
    const SUMMARY: &'static str = "additive increase, halving on loss (NewReno)";
    const SOURCE: &'static str = "RFC 5681, RFC 6582, RFC 3465, RFC 3168";
    const INSIDE: Described = &[SSTHRESH];

    fn new(params: &Params, path: &Path) -> Self {
        let window = RenoWindow::new(path.mss, path.initial_window, params.slow_start_limit);
        Self { window: window.merged(path.merged) }
    }

    fn ecn(params: &Params) -> Ecn {
        if params.ecn { Ecn::Classic } else { Ecn::Off }
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let limit = params.slow_start_limit;
        ranges.unless(limit >= 1, "slow_start_limit", limit, "at least 1 segment")
    }
}

impl Controller for Reno {
    fn on_idle(&mut self, _now: Time, _idle: Span, restart: Option<Bytes>) {
        if let Some(window) = restart {
            self.window.restart(window);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.cwnd_limited && !ack.in_recovery {
            self.window.grow(ack.acked);
        }
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        match event {
            Congestion::Loss { flight_size } | Congestion::Mark { flight_size } => {
                self.window.halve(flight_size);
            }
            Congestion::Timeout { flight_size, repeated } => self.window.collapse(flight_size, repeated),
            Congestion::Spurious => self.window.undo(),
        }
    }

    fn on_signal(&mut self, _now: Time, signal: &Signal<'_>) {
        if let Signal::Remembered { ssthresh } = *signal {
            self.window.remember(ssthresh);
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("ssthresh_bytes", self.window.reported_threshold());
    }

    fn limit(&self) -> Limit {
        Limit::window(self.window.cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack, path};

    #[test]
    fn a_loss_halves_what_was_in_flight() {
        let mut reno = Reno::new(&Params::default(), &path());
        reno.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * 8 });
        assert_eq!(reno.limit().cwnd, MSS * 4);
    }

    #[test]
    fn the_window_rests_while_it_does_not_limit() {
        let mut reno = Reno::new(&Params::default(), &path());
        reno.on_ack(&Ack { cwnd_limited: false, ..ack(MSS) });
        reno.on_ack(&Ack { in_recovery: true, ..ack(MSS) });
        assert_eq!(reno.limit().cwnd, MSS * 10);
    }
}
