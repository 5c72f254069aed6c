//! DCTCP: reduce the window in proportion to the fraction of marked bytes.
//!
//! ```text
//! Once per round                                                        RFC 8257 §3.3
//!     M     = marked bytes / acknowledged bytes
//!     alpha = (1 − g)·alpha + g·M
//! First mark, and first after a window of data that rests               RFC 8257 §3.3
//!     cwnd  = cwnd·(1 − alpha/2)
//! ```
//! Otherwise the window grows like Reno's (§3.4), and restarts like it after an idle time; a loss halves the window and leaves
//! alpha alone (§3.5).
//!
//! Differs from RFC 8257 §3.3: the window is cut at the first mark instead of at the end of a round, as in Linux, and
//! selectively acknowledged bytes count in M as well.
//!
//! The receiver reports marks byte by byte ([`Ecn::Accurate`]), with the delayed-acknowledgment state machine of §3.2.

use super::inside::SSTHRESH;
use super::parts::{MarkedFraction, RenoWindow, Rest};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{Bytes, Span, Time};

/// Settings of DCTCP.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Dctcp")]
pub struct Params {
    /// g, the weight of the newest round; 1/16 (RFC 8257 §4.2).
    pub gain: f64,
    /// alpha before the first round; 1, so that the first cut is a halving (RFC 8257 §3.3).
    pub initial_alpha: f64,
    /// Marks never reduce the window below this many segments. RFC 8257 leaves it to the implementation; Linux uses 2. The slow
    /// start threshold stays at 2 or this, whichever is more: with 1, slow start leads from one segment to two.
    pub min_window: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self { gain: 1.0 / 16.0, initial_alpha: 1.0, min_window: 2 }
    }
}

/// A DCTCP window.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: RenoWindow,
    /// The running fraction of marked bytes, in [0, 1].
    alpha: MarkedFraction,
    /// The window is cut at most once per window of data, and rests until it is acknowledged.
    rest: Rest,
    floor: Bytes,
}

impl Algorithm for Dctcp {
    type Params = Params;
    const SUMMARY: &'static str = "window cut in proportion to the fraction of marked bytes";
    const SOURCE: &'static str = "RFC 8257; Alizadeh et al., SIGCOMM 2010";
    const INSIDE: Described = &[SSTHRESH, ("alpha", "The estimated fraction of marked bytes, 0 to 1.")];

    fn new(params: &Params, path: &Path) -> Self {
        Self {
            window: RenoWindow::new(path.mss, path.initial_window, 2).merged(path.merged),
            alpha: MarkedFraction::new(params.initial_alpha, params.gain),
            rest: Rest::NONE,
            floor: path.mss * params.min_window,
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Accurate
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { gain, initial_alpha: alpha, min_window } = *params;
        ranges.unless(gain > 0.0 && gain <= 1.0, "gain", gain, "above 0, at most 1")?;
        ranges.unless((0.0..=1.0).contains(&alpha), "initial_alpha", alpha, "0 to 1")?;
        ranges.unless(min_window >= 1, "min_window", min_window, "at least 1 segment")
    }
}

impl Dctcp {
    fn reduce(&mut self, now: Time) {
        let factor = 1.0 - self.alpha.get() / 2.0;
        self.window.reduce_to(Bytes::from_f64(self.window.cwnd().as_f64() * factor), self.floor);
        self.rest.begin(now);
    }
}

impl Controller for Dctcp {
    fn on_idle(&mut self, _now: Time, _idle: Span, restart: Option<Bytes>) {
        if let Some(window) = restart {
            self.window.restart(window);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.alpha.add(ack);
        if self.rest.holds(ack) || ack.in_recovery {
            return;
        }
        if ack.marked > Bytes::ZERO {
            self.reduce(ack.now);
        } else if ack.cwnd_limited {
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
        report("alpha", self.alpha.get().into());
    }

    fn limit(&self) -> Limit {
        Limit::window(self.window.cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack, path};

    fn dctcp(initial_alpha: f64) -> Dctcp {
        Dctcp::new(&Params { initial_alpha, ..Params::default() }, &path())
    }

    fn marked(acked: Bytes) -> Ack {
        Ack { marked: acked, ..ack(acked) }
    }

    #[test]
    fn the_first_cut_is_a_halving() {
        let mut dctcp = dctcp(1.0);
        dctcp.on_ack(&marked(MSS));
        assert_eq!(dctcp.limit().cwnd, MSS * 5);
    }

    #[test]
    fn one_cut_per_round_however_many_marks() {
        let mut dctcp = dctcp(1.0);
        for _ in 0..5 {
            dctcp.on_ack(&marked(MSS));
        }
        assert_eq!(dctcp.limit().cwnd, MSS * 5);
    }

    #[test]
    fn until_what_was_sent_after_a_cut_is_acknowledged_the_window_rests() {
        // The cut is at 0 and a round trip takes 100 us; a new round of observation changes nothing.
        let at = |us: u64, ack: Ack| Ack { now: Time::ZERO + Span::from_us(us), ..ack };
        let mut dctcp = dctcp(1.0);
        dctcp.on_ack(&marked(MSS));
        dctcp.on_ack(&at(50, Ack { round_start: true, ..marked(MSS) }));
        dctcp.on_ack(&at(99, ack(MSS * 5)));
        assert_eq!(dctcp.limit().cwnd, MSS * 5);
        dctcp.on_ack(&at(100, ack(MSS * 5)));
        assert_eq!(dctcp.limit().cwnd, MSS * 6);
    }

    #[test]
    fn alpha_follows_the_fraction_of_marked_bytes_once_per_round() {
        let mut dctcp = dctcp(0.0);
        dctcp.on_ack(&Ack { cwnd_limited: false, ..ack(MSS * 3) });
        dctcp.on_ack(&Ack { round_start: true, ..marked(MSS) });
        assert_eq!(dctcp.alpha.get(), 0.25 / 16.0);
    }

    #[test]
    fn a_loss_halves_and_leaves_alpha_alone() {
        let mut dctcp = dctcp(0.5);
        dctcp.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * 10 });
        assert_eq!(dctcp.limit().cwnd, MSS * 5);
        assert_eq!(dctcp.alpha.get(), 0.5);
    }
}
