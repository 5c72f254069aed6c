//! PCC Vivace: climb the gradient of a utility of rate, growth of delay and loss.
//!
//! ```text
//! Utility of an interval, x in Mb/s                           Dong et al., NSDI 2018 §3, Eq. 1
//!     u = x^0.9 − 900·x·dRTT/dt − 11.35·x·L
//! Starting     x doubles each interval until u falls; then back to the last x           §4
//! Each step    two intervals at r·(1 + ε) and r·(1 − ε), ε = 0.05, in random order      §4.2
//!     γ = (u₊ − u₋)/(2·ε·r)
//!     Δ = m·θ·γ                   θ = 1 (Mb/s)²; m = τ up to 3, then 2·τ − 3, after τ steps the same way
//!     |Δ| ≤ ω·r,  ω = 0.05 + 0.1·k
//!         k + 1 after a step that was cut; else the smallest k that allows the step; 0 after a turn
//! dRTT/dt      slope of the line through round-trip times by time of sending; 0 within ±0.01     §4.3
//! Interval     one RTT, at least as long as 10 packets take
//! ```
//! While results are waited for, r is sent. A fall of delay counts as a gain, as the formula has it. With
//! `rtt_coefficient = 0` it is the loss-only variant, which fills buffers.
//!
//! In equilibrium nothing is lost: n connections of x Mb/s gain from rates above the path only if 0.9·x^−0.1 > 11.35/n, which
//! takes 16 of them. But rates are tried at ±5 %, by each at its own time, and while a queue drains whatever is tried seems to
//! gain, so that with more than two connections rates wander, and the queue fills now and then. Four lose 1 to 2 %. The
//! authors' code takes a fall of delay for none: `count_falls = false`. Four then lose almost nothing and share better. Eight
//! fill the buffer either way: 5 % of an eighth of the path is less than the 0.01 that is taken for noise.
//!
//! Differs from Vivace, which has no window: 2·rate·srtt bounds what is sent into silence. It starts at the initial window
//! per round-trip time.
//! Differs from Vivace §4.3: results that contradict each other (less loss at the higher rate) are not measured a second
//! time. It is the transport's timeout that halves the rate, not an interval that stays without results; steps then begin
//! anew, and a spurious timeout is not taken back.
//! Rates are of payload, repetitions included; a rate the sender could not keep up counts as what was sent.

use super::parts::SplitMix;
use super::pcc::monitor::Report;
use super::pcc::rate::{Aim, Bounds, RateSender, Strategy, Timing};
use super::pcc::starting::Doubling;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::Time;

/// Settings of PCC Vivace (Dong et al., NSDI 2018).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "PccVivace")]
pub struct Params {
    /// t: what the rate in Mb/s is raised to in the utility; 0.9 (the authors' code).
    pub exponent: f64,
    /// b: what a growth of delay by 1 s/s costs, per Mb/s; 900 (the authors' code). 0 is the loss-only variant.
    pub rtt_coefficient: f64,
    /// c: what the loss of everything costs, per Mb/s; 11.35 (the authors' code).
    pub loss_coefficient: f64,
    /// Growth of delay within this, in s/s, is taken for noise; 0.01 (Vivace §4.3).
    pub gradient_tolerance: f64,
    /// A fall of delay counts as a gain (Vivace Eq. 1); `false` takes it for none (the authors' code).
    pub count_falls: bool,
    /// ε: how far the two intervals of a step lie from the rate, as a fraction of it; 0.05 (Vivace).
    pub epsilon: f64,
    /// θ: Mb/s of rate per unit of utility gradient; 1 (Vivace).
    pub theta: f64,
    /// ω of the first step: the largest change as a fraction of the rate; 0.05 (Vivace).
    pub omega: f64,
    /// Growth of ω after each step that was cut; 0.1 (Vivace).
    pub omega_step: f64,
    /// Shortest interval in round-trip times; 1 (Vivace).
    pub interval_min: f64,
    /// Longest interval in round-trip times; 1 (Vivace).
    pub interval_max: f64,
    /// An interval lasts at least as long as this many segments take; 10, as in Allegro.
    pub interval_packets: u64,
    /// Window as a multiple of rate times smoothed round-trip time; 2, so that the rate rules while acknowledgments come.
    pub window_rtts: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            exponent: 0.9,
            rtt_coefficient: 900.0,
            loss_coefficient: 11.35,
            gradient_tolerance: 0.01,
            count_falls: true,
            epsilon: 0.05,
            theta: 1.0,
            omega: 0.05,
            omega_step: 0.1,
            interval_min: 1.0,
            interval_max: 1.0,
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

    /// u of `x` Mb/s, `loss` of which was lost, while the delay grew by `rtt_gradient` s/s.
    fn utility(&self, x: f64, rtt_gradient: f64, loss: f64) -> f64 {
        let ignored =
            rtt_gradient.abs() < self.gradient_tolerance || (rtt_gradient < 0.0 && !self.count_falls);
        let growth = if ignored { 0.0 } else { rtt_gradient };
        libm::pow(x, self.exponent) - self.rtt_coefficient * x * growth - self.loss_coefficient * x * loss
    }
}

/// A rate that climbs.
#[derive(Clone, Debug)]
pub struct PccVivace {
    sender: Box<RateSender<Climb>>,
}

impl Algorithm for PccVivace {
    type Params = Params;
    const SUMMARY: &'static str = "rate that climbs a utility of throughput, growth of delay and loss";
    const SOURCE: &'static str = "Dong et al., NSDI 2018";
    const INSIDE: Described = &[
        ("phase", "`starting` or `climbing`."),
        ("base_rate_bps", "The rate around which others are tried, payload."),
    ];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let climb = Climb {
            params: params.clone(),
            rate: 0.0,
            steps: Steps::default(),
            phase: Phase::Starting(Doubling::new(0.0)),
        };
        Self { sender: Box::new(RateSender::new(climb, params.timing(), path)) }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { exponent, epsilon, omega, theta, .. } = *params;
        ranges.unless(
            exponent > 0.0 && exponent < 1.0,
            "exponent",
            exponent,
            "between 0 and 1, both excluded",
        )?;
        for (setting, value) in [
            ("rtt_coefficient", params.rtt_coefficient),
            ("loss_coefficient", params.loss_coefficient),
            ("gradient_tolerance", params.gradient_tolerance),
            ("omega_step", params.omega_step),
        ] {
            ranges.unless((0.0..=1e9).contains(&value), setting, value, "0 to 1 000 000 000")?;
        }
        ranges.unless((1e-4..=0.5).contains(&epsilon), "epsilon", epsilon, "0.0001 to 0.5")?;
        ranges.unless((1e-4..=0.5).contains(&omega), "omega", omega, "0.0001 to 0.5")?;
        ranges.unless(theta > 0.0 && theta <= 1e9, "theta", theta, "above 0, at most 1 000 000 000")?;
        params.timing().check(ranges)
    }
}

impl Controller for PccVivace {
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
        let climb = &self.sender.strategy;
        report("phase", climb.phase.name().into());
        report("base_rate_bps", climb.rate.into());
    }
}

#[derive(Clone, Debug)]
struct Climb {
    params: Params,
    /// r, in bit/s of payload.
    rate: f64,
    steps: Steps,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Starting(Doubling),
    Climbing(Pair),
}

impl Phase {
    /// As observers see it.
    fn name(&self) -> &'static str {
        match self {
            Self::Starting(_) => "starting",
            Self::Climbing(_) => "climbing",
        }
    }
}

/// Two intervals, one on either side of the rate.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    begun: u8,
    reported: u8,
    up_first: bool,
    /// Rate in Mb/s and utility, below and above.
    results: [(f64, f64); 2],
}

/// Confidence amplifier and change boundary.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    up: bool,
    /// τ: steps in this direction.
    same: u32,
    /// k: how often ω has grown.
    widened: u32,
}

impl Steps {
    /// The change of a rate of `rate` Mb/s with this gradient, in Mb/s.
    fn change(&mut self, params: &Params, gradient: f64, rate: f64) -> f64 {
        if gradient == 0.0 {
            *self = Self::default();
            return 0.0;
        }
        let up = gradient > 0.0;
        if up != self.up || self.same == 0 {
            *self = Self { up, same: 0, widened: 0 };
        }
        self.same = self.same.saturating_add(1);
        let tau = f64::from(self.same);
        let amplifier = if self.same <= 3 { tau } else { 2.0 * tau - 3.0 };
        let wanted = (amplifier * params.theta * gradient / rate).abs();
        let allowed = params.omega + params.omega_step * f64::from(self.widened);
        let change = if wanted > allowed {
            self.widened = self.widened.saturating_add(1);
            allowed
        } else {
            let steps = libm::ceil((wanted - params.omega) / params.omega_step.max(1e-9));
            self.widened = self.widened.min(steps.max(0.0) as u32);
            wanted
        };
        rate * if up { change } else { -change }
    }
}

impl Climb {
    fn climb_from(&mut self, rate: f64) {
        self.rate = rate;
        self.phase = Phase::Climbing(Pair::default());
    }

    fn step(&mut self, pair: &Pair, bounds: Bounds) {
        let [(below, u_below), (above, u_above)] = pair.results;
        // What was sent, not what was intended: a bound or the application may have cut one of the two.
        let gradient = if above > below { (u_above - u_below) / (above - below) } else { 0.0 };
        let change = self.steps.change(&self.params, gradient, self.rate / 1e6);
        self.climb_from(bounds.clamp(self.rate + 1e6 * change));
    }
}

impl Strategy for Climb {
    fn start(&mut self, rate: f64) {
        self.phase = Phase::Starting(Doubling::new(rate));
    }

    fn next(&mut self, bounds: Bounds, dice: &mut SplitMix) -> (Aim, f64) {
        match &mut self.phase {
            Phase::Starting(doubling) => {
                self.rate = doubling.next(bounds);
                (Aim::Step, self.rate)
            }
            Phase::Climbing(Pair { begun: 2.., .. }) => (Aim::Wait, self.rate),
            Phase::Climbing(pair) => {
                if pair.begun == 0 {
                    pair.up_first = dice.coin();
                }
                let up = pair.up_first == (pair.begun == 0);
                pair.begun += 1;
                let epsilon = self.params.epsilon;
                let rate = self.rate * if up { 1.0 + epsilon } else { 1.0 - epsilon };
                (Aim::Trial { number: 0, up }, rate)
            }
        }
    }

    fn on_report(&mut self, report: &Report<Aim>, bounds: Bounds) -> bool {
        let mbps = report.rate / 1e6;
        let utility = self.params.utility(mbps, report.rtt_gradient, report.loss);
        match (&mut self.phase, report.aim) {
            (Phase::Starting(doubling), Aim::Step) => {
                let end = doubling.on_utility(report.rate, utility);
                end.inspect(|&rate| self.climb_from(rate)).is_some()
            }
            (Phase::Climbing(pair), Aim::Trial { up, .. }) => {
                pair.results[usize::from(up)] = (mbps, utility);
                pair.reported += 1;
                let pair = *pair;
                if pair.reported == 2 {
                    self.step(&pair, bounds);
                }
                pair.reported == 2
            }
            _ => false,
        }
    }

    fn on_timeout(&mut self) {
        self.steps = Steps::default();
        self.climb_from(self.rate / 2.0);
    }
}

#[cfg(test)]
mod tests;
