//! PCC Allegro: try a slightly higher and a slightly lower rate, measure which one serves better, and go there.
//!
//! ```text
//! Utility of an interval                                                Dong et al., NSDI 2015
//!     u = T·sigmoid(L − 0.05) − x·L,  T = x·(1 − L),  sigmoid(y) = 1/(1 + e^(100·y))
//!     x: rate of sending, L: part of it that was lost
//! Starting      x doubles each interval until u falls; then back to the last x
//! Deciding      two pairs of intervals, r·(1 + ε) and r·(1 − ε) in random order
//!     the same side wins both: r = that side, ε = 0.01, adjusting
//!     otherwise: r stays, ε += 0.01 up to 0.05, again
//! Adjusting     r_n = r_(n−1)·(1 ± n·0.01) each interval until u falls; then back to r_(n−1), deciding
//! Interval      max(10 packets, U[1.7, 2.2]·RTT)
//! ```
//! The next rate does not wait for results, except after the four trials; an interval under way when the rate
//! changes its course is dropped and a new one begins (re-alignment). Neither losses nor marks change the rate at
//! once, nor does delay at all: a deep buffer fills.
//!
//! With few packets in an interval a loss more or less outweighs any trial: random loss may end the starting phase early,
//! and the rate then climbs slowly (2 %, 4 Mb/s at first: 20 Mb/s after a minute). Two connections share a path without
//! being equal: any division between 3:5 and 5:3 is at rest, see the tests. Close below 3:5 the smaller one would gain so
//! little that a lost packet more or less hides it: 33:67 is at rest as well.
//!
//! Differs from Allegro: starts at the initial window per round-trip time, not at two segments: other controls would send that
//! much, too.
//! Differs from Allegro, which has no window: 2·rate·srtt bounds what is sent into silence. It leaves out timeouts:
//! each halves the rate, and deciding begins again; a spurious one is not taken back.
//! Rates are of payload, repetitions included. A rate the sender could not keep up counts as what was sent.

use super::parts::SplitMix;
use super::pcc::monitor::Report;
use super::pcc::rate::{Aim, Bounds, RateSender, Strategy, Timing};
use super::pcc::starting::Doubling;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::Time;

/// Settings of PCC Allegro (Dong et al., NSDI 2015).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "PccAllegro")]
pub struct Params {
    /// ε of the first trial, its step, and the unit of rate adjusting, as a fraction of the rate; 0.01 (Allegro).
    pub epsilon_min: f64,
    /// The largest ε; 0.05 (Allegro).
    pub epsilon_max: f64,
    /// The part of the data beyond whose loss the utility collapses; 0.05 (Allegro).
    pub loss_tolerance: f64,
    /// Steepness of the collapse; 100 (Allegro: at least 100, and 2.2·(n − 1) for n connections).
    pub steepness: f64,
    /// Shortest interval in round-trip times; 1.7 (Allegro).
    pub interval_min: f64,
    /// Longest interval in round-trip times; 2.2 (Allegro).
    pub interval_max: f64,
    /// An interval lasts at least as long as this many segments take; 10 (Allegro).
    pub interval_packets: u64,
    /// Window as a multiple of rate times smoothed round-trip time; 2, so that the rate rules while acknowledgments come.
    pub window_rtts: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            epsilon_min: 0.01,
            epsilon_max: 0.05,
            loss_tolerance: 0.05,
            steepness: 100.0,
            interval_min: 1.7,
            interval_max: 2.2,
            interval_packets: 10,
            window_rtts: 2.0,
        }
    }
}

impl Params {
    fn timing(&self) -> Timing {
        let Self { interval_min, interval_max, interval_packets: packets, window_rtts, .. } = *self;
        Timing { rtts: [interval_min, interval_max], packets, window_rtts }
    }

    /// u of a rate of `x` Mb/s (any unit gives the same decisions), `loss` of which was lost.
    fn utility(&self, x: f64, loss: f64) -> f64 {
        let sigmoid = 1.0 / (1.0 + libm::exp(self.steepness * (loss - self.loss_tolerance)));
        x * (1.0 - loss) * sigmoid - x * loss
    }
}

/// A rate in search of the highest utility.
#[derive(Clone, Debug)]
pub struct PccAllegro {
    sender: Box<RateSender<Search>>,
}

impl Algorithm for PccAllegro {
    type Params = Params;
    const SUMMARY: &'static str = "rate found by trials in random order, judged by throughput and loss";
    const SOURCE: &'static str = "Dong et al., NSDI 2015";
    const INSIDE: Described = &[
        ("phase", "`starting`, `deciding` or `adjusting`."),
        ("base_rate_bps", "The rate around which others are tried, payload."),
        ("epsilon", "How far from it they are, as a fraction."),
    ];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let search = Search {
            params: params.clone(),
            rate: 0.0,
            epsilon: params.epsilon_min,
            phase: Phase::Starting(Doubling::new(0.0)),
        };
        Self { sender: Box::new(RateSender::new(search, params.timing(), path)) }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { epsilon_min, epsilon_max, loss_tolerance, steepness, .. } = *params;
        ranges.unless((1e-4..=0.5).contains(&epsilon_min), "epsilon_min", epsilon_min, "0.0001 to 0.5")?;
        ranges.unless(
            (epsilon_min..=0.5).contains(&epsilon_max),
            "epsilon_max",
            epsilon_max,
            "epsilon_min to 0.5",
        )?;
        ranges.unless((0.0..=1.0).contains(&loss_tolerance), "loss_tolerance", loss_tolerance, "0 to 1")?;
        ranges.unless((1.0..=1e6).contains(&steepness), "steepness", steepness, "1 to 1 000 000")?;
        params.timing().check(ranges)
    }
}

impl Controller for PccAllegro {
    fn on_ack(&mut self, ack: &Ack) {
        self.sender.on_ack(ack);
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        self.sender.on_congestion(now, event);
    }

    fn limit(&self) -> Limit {
        self.sender.limit()
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let search = &self.sender.strategy;
        report("phase", search.phase.name().into());
        report("base_rate_bps", search.rate.into());
        report("epsilon", search.epsilon.into());
    }
}

#[derive(Clone, Debug)]
struct Search {
    params: Params,
    /// r while deciding, the newest r_n while adjusting.
    rate: f64,
    epsilon: f64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Starting(Doubling),
    Deciding(Trials),
    /// n of the next step, and rate and utility of the last one reported.
    Adjusting {
        up: bool,
        n: u32,
        last: (f64, f64),
    },
}

impl Phase {
    /// As observers see it.
    fn name(&self) -> &'static str {
        match self {
            Self::Starting(_) => "starting",
            Self::Deciding(_) => "deciding",
            Self::Adjusting { .. } => "adjusting",
        }
    }
}

/// Two pairs of intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Trials {
    begun: u8,
    reported: u8,
    /// The first one of the current pair was above.
    up_first: bool,
    /// For each pair the utility below r and that above r.
    utilities: [[f64; 2]; 2],
}

impl Trials {
    fn next(&mut self, dice: &mut SplitMix) -> Option<(u8, bool)> {
        let (pair, second) = (self.begun / 2, self.begun % 2 == 1);
        if pair == 2 {
            return None;
        }
        if !second {
            self.up_first = dice.coin();
        }
        self.begun += 1;
        Some((pair, self.up_first != second))
    }

    /// The side that won both pairs: true is up.
    fn winner(&self) -> Option<bool> {
        let [[down, up], [down_again, up_again]] = self.utilities;
        if up > down && up_again > down_again {
            Some(true)
        } else if up < down && up_again < down_again {
            Some(false)
        } else {
            None
        }
    }

    /// The mean utility of one side.
    fn mean(&self, up: bool) -> f64 {
        (self.utilities[0][usize::from(up)] + self.utilities[1][usize::from(up)]) / 2.0
    }
}

impl Search {
    fn beside(&self, up: bool, fraction: f64) -> f64 {
        // Rates never fall by more than half at once, however many steps led there.
        self.rate * if up { 1.0 + fraction } else { (1.0 - fraction).max(0.5) }
    }

    fn decide(&mut self, rate: f64) {
        self.rate = rate;
        self.epsilon = self.params.epsilon_min;
        self.phase = Phase::Deciding(Trials::default());
    }

    /// All four results are there.
    fn conclude(&mut self, trials: &Trials, bounds: Bounds) {
        if let Some(up) = trials.winner() {
            self.rate = bounds.clamp(self.beside(up, self.epsilon));
            self.epsilon = self.params.epsilon_min;
            self.phase = Phase::Adjusting { up, n: 1, last: (self.rate, trials.mean(up)) };
        } else {
            self.epsilon = (self.epsilon + self.params.epsilon_min).min(self.params.epsilon_max);
            self.phase = Phase::Deciding(Trials::default());
        }
    }
}

impl Strategy for Search {
    fn start(&mut self, rate: f64) {
        self.phase = Phase::Starting(Doubling::new(rate));
    }

    fn next(&mut self, bounds: Bounds, dice: &mut SplitMix) -> (Aim, f64) {
        match &mut self.phase {
            Phase::Starting(doubling) => {
                self.rate = doubling.next(bounds);
                (Aim::Step, self.rate)
            }
            Phase::Deciding(trials) => match trials.next(dice) {
                Some((number, up)) => (Aim::Trial { number, up }, self.beside(up, self.epsilon)),
                None => (Aim::Wait, self.rate),
            },
            Phase::Adjusting { up, n, .. } => {
                let (up, fraction) = (*up, f64::from(*n) * self.params.epsilon_min);
                *n += 1;
                self.rate = bounds.clamp(self.beside(up, fraction));
                (Aim::Step, self.rate)
            }
        }
    }

    fn on_report(&mut self, report: &Report<Aim>, bounds: Bounds) -> bool {
        let rate = report.rate;
        let utility = self.params.utility(rate / 1e6, report.loss);
        match (&mut self.phase, report.aim) {
            (Phase::Starting(doubling), Aim::Step) => {
                let end = doubling.on_utility(rate, utility);
                end.inspect(|&rate| self.decide(rate)).is_some()
            }
            (Phase::Deciding(trials), Aim::Trial { number, up }) => {
                trials.utilities[usize::from(number)][usize::from(up)] = utility;
                trials.reported += 1;
                let trials = *trials;
                if trials.reported == 4 {
                    self.conclude(&trials, bounds);
                }
                trials.reported == 4
            }
            (Phase::Adjusting { up, last, .. }, Aim::Step) => {
                let moved = if *up { rate > last.0 } else { rate < last.0 };
                if utility >= last.1 && moved {
                    *last = (rate, utility);
                    return false;
                }
                let back = last.0;
                self.decide(back);
                true
            }
            _ => false,
        }
    }

    fn on_timeout(&mut self) {
        self.decide(self.rate / 2.0);
    }
}

#[cfg(test)]
mod tests;
