//! The rate of a subflow at its source host (RackCC §3.1 to §3.3).
//!
//! ```text
//! When the switch has reported new marks, once in a round-trip time     RackCC §3.1
//!     f = f·(1 − alpha/2)
//! In each round trip without, if the subflow sends at f                 RackCC §3.1, §3.2
//!     f = f + MSS/RTT
//! When others have joined                                               RackCC §3.3
//!     f = f·N/(N + M)
//! A new subflow, when the switch has reported                           RackCC §3.3
//!     f = T/(N + M)
//! s = min(f, D), D what the destination advertises                      RackCC §3.2
//! ```
//!
//! Differs from RackCC §3.1: "alpha = 0" is taken as "nothing was reported as marked since the last look". The moving average
//! itself never returns to zero, and its tail would cut rates for dozens of round trips after the last mark. The literal rule,
//! with a bound in place of zero, is [`Zero::Below`].
//! Differs from RackCC §3.3: T/(N + M) is a share of the path only if the path is what limits the JumboFlow. In one that has not met
//! congestion for long a new subflow begins with the initial window if that is more, and doubles its rate in each round trip like
//! TCP in slow start until it meets marks, which then halve it as DCTCP's first ones do; unless [`Params::opening`] says
//! otherwise. RackCC describes JumboFlows that fill their path.
//! Differs from RackCC §3.3: a subflow sends one packet before it has received its share; without an answer within a round
//! trip, or without a switch that answers, it begins with the initial window.
//!
//! f is kept as a window, f·RTT, which also bounds what is on its way, so that f falls when round-trip times rise, as DCTCP's
//! does. RackCC speaks of both ("set a subflow's congestion window", §3.1; "rate based, rather than window based", §5). As a rate
//! alone ([`Control::Rate`]) nothing slows a subflow down before marks do, and queues swing between full and empty.
//!
//! RackCC leaves open what a loss does: it halves f as it does in DCTCP, once in a round trip.
//!
//! Under the rule of GEMINI (Zeng et al., ICNP 2019, Algorithm 1) the same shared state is used, with its cut and its growth:
//! ```text
//! f = f·(1 − max(alpha·F if there are marks, beta if RTT_min > RTT + T))
//! f = f + h/RTT
//! ```
//! where the switch measures round-trip times for all subflows.

use super::JumboReport;
use crate::cc::gemini;
use crate::cc::{OutOfRange, Path, Ranges};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of subflows.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RackCc")]
pub struct Params {
    /// Quantity that f is kept as.
    pub control: Control,
    /// Rule by which rates fall and grow.
    pub rule: Rule,
    /// When the JumboFlow counts as free of marks.
    pub zero: Zero,
    /// Segments that an unconstrained subflow adds in each round trip under the rule of DCTCP; 1 (RackCC §3.1).
    pub increase: f64,
    /// A subflow is unconstrained if it sent at no less than this part of f, but for one packet; 0.95. RackCC §3.2 says that its
    /// rate is f.
    pub unconstrained: f64,
    /// Behavior of new subflows in a JumboFlow that is quiet.
    pub opening: Opening,
    /// Part of f that remains after a loss; 1/2. RackCC does not say.
    pub after_loss: f64,
    /// With a window: packets leave at this times f, so that acknowledgments and not the smoothed round-trip time decide when; 2.
    /// With less subflows see longer queues than connections of DCTCP, and get less beside them.
    pub pacing: f64,
    /// With a rate: at most this times rate and round-trip time are on their way; 2. A guard against answers that stay out.
    pub in_flight: f64,
    /// Congestion does not reduce f below so many packets per round trip; 2 as in DCTCP of Linux. RackCC does not say. Shares may
    /// be less.
    pub min_window: f64,
    /// f never falls below so many; 0.1.
    pub floor: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            control: Control::Window,
            rule: Rule::Dctcp,
            zero: Zero::Unmarked,
            increase: 1.0,
            unconstrained: 0.95,
            opening: Opening::SlowStart,
            after_loss: 0.5,
            pacing: 2.0,
            in_flight: 2.0,
            min_window: 2.0,
            floor: 0.1,
        }
    }
}

/// Quantity that f is kept as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// A window: f is the window divided by the round-trip time.
    Window,
    /// A rate.
    Rate,
}

/// Rule by which rates fall and grow.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// As RackCC has it: the sum of N subflows behaves like N flows of DCTCP.
    Dctcp,
    /// Like N flows of GEMINI. Its switch has to know the delay (`rack_agent.jumboflow.delay_threshold`) if nothing marks.
    Gemini(Box<gemini::Params>),
}

/// When alpha counts as zero.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zero {
    /// If nothing was reported as marked since the subflow looked last.
    Unmarked,
    /// If it is below this.
    Below(f64),
}

/// Behavior of new subflows in a JumboFlow that has not met congestion for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// Double their rates in each round trip until they meet some.
    SlowStart,
    /// Grow as always.
    Additive,
}

impl Params {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { increase, unconstrained, after_loss, pacing, in_flight, min_window, floor, .. } = *self;
        ranges.unless(increase > 0.0 && increase <= 1e3, "increase", increase, "above 0, at most 1000")?;
        for (setting, part) in [("unconstrained", unconstrained), ("after_loss", after_loss)] {
            ranges.unless(part > 0.0 && part <= 1.0, setting, part, "above 0, at most 1")?;
        }
        ranges.unless((1.0..=1e3).contains(&pacing), "pacing", pacing, "1 to 1000")?;
        ranges.unless((1.0..=1e3).contains(&in_flight), "in_flight", in_flight, "1 to 1000")?;
        ranges.unless(
            (0.001..=1e3).contains(&min_window),
            "min_window",
            min_window,
            "0.001 to 1000 packets",
        )?;
        ranges.unless((0.001..=10.0).contains(&floor), "floor", floor, "0.001 to 10 packets")?;
        if let Zero::Below(below) = self.zero {
            ranges.unless(below > 0.0 && below <= 1.0, "zero.below", below, "above 0, at most 1")?;
        }
        match &self.rule {
            Rule::Dctcp => Ok(()),
            Rule::Gemini(params) => <gemini::Gemini as crate::cc::Algorithm>::check(params, ranges),
        }
    }
}

/// The rate of one subflow. Rates are those on the wire, in bit/s.
#[derive(Clone, Debug)]
pub struct Subflow {
    params: Params,
    gemini: Option<Box<gemini::Rules>>,
    /// f in bit/s, or the window in bits on the wire.
    value: f64,
    /// D.
    destination: f64,
    /// The rate of its own link.
    line: f64,
    /// Bits of a full packet, and packets of the initial window.
    packet: f64,
    initial: f64,
    /// It has a rate.
    begun: bool,
    /// It has received a report of the JumboFlow.
    informed: bool,
    opening: bool,
    base_rtt: Span,
    /// Counts of the JumboFlow, as far as it knows them.
    yielded: f64,
    marked: u64,
    rtt: Span,
    /// Its share when it began, if no round-trip time was known that would have made a window of it.
    first_share: Option<f64>,
    /// No cut before this time.
    rest_until: Time,
    /// When the round began, and what had been sent on the wire by then, in bits.
    round_began: Time,
    round_sent: f64,
    /// f when the round began.
    round_rate: f64,
    /// In the round before this one it sent at less than f.
    constrained: bool,
}

impl Subflow {
    /// One that has received no report.
    pub fn new(params: &Params, path: &Path) -> Self {
        let gemini = match &params.rule {
            Rule::Dctcp => None,
            Rule::Gemini(settings) => Some(Box::new(gemini::Rules::new(settings, path))),
        };
        let line = path.link.as_f64();
        Self {
            params: params.clone(),
            gemini,
            value: line,
            destination: line,
            line,
            packet: 8.0 * path.packet.as_f64(),
            initial: path.initial_window.as_f64() / path.mss.as_f64(),
            begun: false,
            informed: false,
            opening: false,
            base_rtt: Span::MAX,
            yielded: 0.0,
            marked: 0,
            rtt: Span::ZERO,
            first_share: None,
            rest_until: Time::ZERO,
            round_began: Time::ZERO,
            round_sent: 0.0,
            round_rate: line,
            constrained: false,
        }
    }

    /// It has a rate: it has received its share, or has waited long enough.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// It begins anew: the next report brings its share.
    pub fn restart(&mut self) {
        (self.begun, self.informed) = (false, false);
    }

    /// s: what it may send on the wire.
    pub fn limit(&self) -> BitRate {
        BitRate::from_f64(self.rate().min(self.destination).max(self.least()))
    }

    /// Rate at which its packets may leave, if a window bounds what is on its way.
    pub fn pacing(&self) -> BitRate {
        let factor = match self.params.control {
            Control::Window => self.params.pacing,
            Control::Rate => 1.0,
        };
        let rate = (factor * self.rate()).min(self.line).min(self.destination);
        BitRate::from_f64(rate.max(self.least()))
    }

    /// f, what its share of the JumboFlow is.
    pub fn share(&self) -> BitRate {
        BitRate::from_f64(self.rate())
    }

    /// Smoothed round-trip time, as it was reported last.
    pub fn rtt(&self) -> Span {
        self.rtt
    }

    /// Bytes on the wire that may be on its way. Packets come whole and acknowledgments for several, so a window has room for
    /// the packet that is partly in it. One of two packets, DCTCP's smallest, has two on their way, and not three.
    pub fn in_flight(&self) -> Bytes {
        Bytes::from_f64(match self.params.control {
            // A byte less than one packet more. Rounded up, a window a little above two packets would hold three.
            Control::Window => (self.value + self.packet) / 8.0 - 1.0,
            Control::Rate => self.params.in_flight * self.limit().as_f64() / 8.0 * self.rtt.as_secs_f64(),
        })
    }

    /// f in bit/s.
    fn rate(&self) -> f64 {
        match self.params.control {
            Control::Rate => self.value,
            Control::Window if self.rtt == Span::ZERO => self.line,
            Control::Window => (self.value / self.rtt.as_secs_f64()).min(self.line),
        }
    }

    fn least(&self) -> f64 {
        WireTime::MIN_RATE.as_f64()
    }

    /// A number of packets per round-trip time.
    fn packets_per_rtt(&self, packets: f64) -> f64 {
        if self.rtt == Span::ZERO { self.line } else { packets * self.packet / self.rtt.as_secs_f64() }
    }

    fn set_rate(&mut self, rate: f64) {
        let floor = self.packets_per_rtt(self.params.floor).min(self.line);
        let rate = rate.clamp(floor.max(self.least()), self.line);
        self.value = match self.params.control {
            Control::Rate => rate,
            Control::Window => rate * self.rtt.as_secs_f64(),
        };
    }

    fn scale(&mut self, factor: f64) {
        self.set_rate(self.rate() * factor);
    }

    /// The destination has advertised its rate.
    pub fn on_destination(&mut self, rate: BitRate) {
        self.destination = rate.as_f64();
    }

    /// Round trips take this long; zero if nobody knows.
    pub fn on_rtt(&mut self, rtt: Span) {
        if rtt == Span::ZERO {
            return;
        }
        self.rtt = rtt;
        if let Some(share) = self.first_share.take() {
            self.set_rate(self.first_rate(share));
        }
    }

    /// The switch of its rack has reported.
    pub fn on_report(&mut self, now: Time, report: &JumboReport) {
        self.base_rtt = report.base_rtt;
        if self.rtt == Span::ZERO {
            self.rtt = report.rtt;
        }
        if !self.informed {
            self.informed = true;
            if !self.begun {
                self.begin(now, report);
            }
            (self.yielded, self.marked) = (report.yielded, report.marked);
            return;
        }
        if report.yielded != self.yielded {
            self.scale(libm::exp(self.yielded - report.yielded));
            self.yielded = report.yielded;
        }
        let cut = self.cut(report);
        self.marked = report.marked;
        if cut > 0.0 && now >= self.rest_until {
            let cut = if self.opening { cut.max(0.5) } else { cut };
            self.fall(now, 1.0 - cut);
        }
    }

    /// RackCC §3.3: a new subflow has T/(N + M). With nothing known of T, or of the path, it has the initial window.
    fn begin(&mut self, now: Time, report: &JumboReport) {
        let share = report.share().as_f64();
        self.opening = report.quiet && self.params.opening == Opening::SlowStart;
        self.begin_at(now, self.first_rate(share));
        self.first_share = (self.rtt == Span::ZERO).then_some(share);
    }

    fn first_rate(&self, share: f64) -> f64 {
        let initial = self.packets_per_rtt(self.initial);
        if self.opening || share == 0.0 { share.max(initial) } else { share }
    }

    fn begin_at(&mut self, now: Time, rate: f64) {
        self.begun = true;
        self.set_rate(rate);
        self.rest_until = now;
        // Rounds begin now.
        (self.round_began, self.round_rate, self.constrained) = (now, 0.0, false);
    }

    /// No report of its share came within a round trip. While nobody knows how long that takes, it waits.
    pub fn begin_alone(&mut self, now: Time) {
        if !self.begun && self.rtt > Span::ZERO {
            self.opening = self.params.opening == Opening::SlowStart;
            self.begin_at(now, self.packets_per_rtt(self.initial));
        }
    }

    /// The part of f that congestion takes; zero if there is none.
    fn cut(&self, report: &JumboReport) -> f64 {
        let marked = match self.params.zero {
            Zero::Unmarked => report.marked > self.marked,
            Zero::Below(below) => report.alpha >= below,
        };
        let Some(gemini) = &self.gemini else {
            return if marked { report.alpha / 2.0 } else { 0.0 };
        };
        let JumboReport { alpha, base_rtt, recent_rtt, .. } = *report;
        let known = base_rtt < Span::MAX && recent_rtt < Span::MAX;
        let settings = gemini.params();
        let delayed = settings.delay && known && recent_rtt > base_rtt + settings.delay_threshold;
        let by_marks =
            if marked && settings.ecn && known { gemini.cut_by_marks(alpha, base_rtt) } else { 0.0 };
        by_marks.max(if delayed { settings.beta } else { 0.0 })
    }

    /// f falls, but not below the smallest window. Below that congestion changes nothing: if it kept a subflow from growing, those
    /// that have more and cannot fall either would keep it there.
    fn fall(&mut self, now: Time, factor: f64) {
        let (rate, least) = (self.rate(), self.packets_per_rtt(self.params.min_window));
        if rate > least {
            self.set_rate((rate * factor).max(least));
            self.rest_until = now + self.rtt;
        }
        self.opening = false;
    }

    /// A packet was lost.
    pub fn on_loss(&mut self, now: Time) {
        if now >= self.rest_until {
            self.fall(now, self.params.after_loss);
        }
    }

    /// So many bits on the wire were acknowledged: f grows, unless it has just fallen or something else limits the subflow.
    pub fn on_acked(&mut self, now: Time, bits: f64) {
        if !self.begun || self.constrained || now < self.rest_until || self.rtt == Span::ZERO {
            return;
        }
        let in_flight = self.rate() * self.rtt.as_secs_f64();
        let part = bits / in_flight.max(self.packet);
        if self.opening {
            return self.scale(1.0 + part.min(1.0));
        }
        let segments = match &self.gemini {
            Some(gemini) if self.base_rtt < Span::MAX => gemini.increase(self.base_rtt),
            _ => self.params.increase,
        };
        self.set_rate(self.rate() + self.packets_per_rtt(segments * part.min(1.0)));
    }

    /// A round trip is over; `sent` is what has been sent on the wire since the beginning, in bits.
    pub fn end_round(&mut self, now: Time, sent: f64) {
        let elapsed = now.saturating_since(self.round_began).as_secs_f64();
        // It may have grown meanwhile. Packets come whole: one less than the rate says is no sign of another bottleneck.
        let expected = self.round_rate.min(self.rate()) * elapsed;
        let in_round = sent - self.round_sent + self.packet;
        self.constrained = in_round < self.params.unconstrained * expected;
        (self.round_began, self.round_sent, self.round_rate) = (now, sent, self.rate());
    }
}

#[cfg(test)]
mod tests;
