//! The state of a JumboFlow at the switch of its source rack (RackCC §3.1, §3.3).
//!
//! ```text
//! Every period                                                          RackCC §3.1, Table 1
//!     F     = bytes reported as marked / bytes acknowledged
//!     alpha = (1 − w)·alpha + w·F        w = 1 − (1 − g)^(period/RTT)
//! M subflows join                                                       RackCC §3.3
//!     N = N + M, and each of the others yields M/(N + M) of its rate
//! ```
//! RackCC leaves the gain of alpha and the average of T open: g = 1/16 for each round-trip time as in DCTCP, whatever the
//! period; T is what was acknowledged, averaged over rounds in which something was. What is sent may be more than the path carries.

use super::JumboReport;
use crate::cc::{OutOfRange, Ranges};
use crate::units::{BitRate, Span, Time};

/// Settings of a JumboFlow.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "JumboFlow")]
pub struct Params {
    /// Interval between reports of the switch to hosts; 10 us (RackCC §4.2, "ECN aggregation period").
    pub period: Span,
    /// g, the weight in alpha of what happened within a round-trip time; 1/16 as in DCTCP. RackCC does not say.
    pub gain: f64,
    /// The weight in T of the newest round; 1/2. RackCC does not say how T is averaged.
    pub throughput_gain: f64,
    /// The round-trip time that periods are compared with; measured at packets that pass if left out.
    pub rtt: Option<Span>,
    /// A JumboFlow is quiet when nothing of it was marked for so many round trips, or ever; 20. RackCC does not have this.
    pub quiet: f64,
    /// It is not when round-trip times exceed the smallest by this, for networks that do not mark; only marks count if left out.
    pub delay_threshold: Option<Span>,
    /// Time without packets after which the state of a JumboFlow is forgotten; 10 ms.
    pub memory: Span,
    /// Redistribution of the share of a subflow that ends.
    pub fast_end: FastEnd,
}

/// Redistribution of the share of a subflow that ends (RackCC §3.3).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FastEnd {
    /// The others take it by increasing as usual.
    Additive,
    /// The others take it at once.
    #[default]
    Boost,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            period: Span::from_us(10),
            gain: 1.0 / 16.0,
            throughput_gain: 0.5,
            rtt: None,
            quiet: 20.0,
            delay_threshold: None,
            memory: Span::from_ms(10),
            fast_end: FastEnd::Boost,
        }
    }
}

impl Params {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { period, gain, throughput_gain: weight, rtt, memory, quiet, .. } = *self;
        let longest = Span::from_secs(10);
        let shortest = Span::from_ns(100);
        ranges.unless((shortest..=longest).contains(&period), "period", period, "100 ns to 10 s")?;
        ranges.unless(gain > 0.0 && gain < 1.0, "gain", gain, "between 0 and 1, both excluded")?;
        ranges.unless(weight > 0.0 && weight <= 1.0, "throughput_gain", weight, "above 0, at most 1")?;
        let rtt = rtt.unwrap_or(longest);
        ranges.unless(rtt > Span::ZERO && rtt <= longest, "rtt", rtt, "above 0 s, at most 10 s")?;
        ranges.unless(quiet > 0.0 && quiet <= 1e6, "quiet", quiet, "above 0, at most 1 000 000")?;
        ranges.unless(memory >= period, "memory", memory, "at least one period")
    }
}

/// The state of a JumboFlow.
#[derive(Clone, Debug)]
pub struct JumboFlow {
    alpha: f64,
    /// Bytes acknowledged in this period, and those of them reported as marked.
    acked: u64,
    marked: u64,
    /// Reported as marked since the beginning.
    all_marked: u64,
    /// T in bit/s, and bytes acknowledged since the round began.
    throughput: f64,
    round_bytes: u64,
    round_began: Time,
    joined: u32,
    subflows: u32,
    yielded: f64,
    rtt: Span,
    base_rtt: Span,
    /// The smallest round-trip time of this round and of the last.
    round_rtt: Span,
    recent_rtt: Span,
    /// When it met congestion last.
    congested: Option<Time>,
    /// When something was sent last.
    active: Time,
}

impl JumboFlow {
    /// One that nothing is known of.
    pub fn new(now: Time) -> Self {
        Self {
            alpha: 0.0,
            acked: 0,
            marked: 0,
            all_marked: 0,
            throughput: 0.0,
            round_bytes: 0,
            round_began: now,
            joined: 0,
            subflows: 0,
            yielded: 0.0,
            rtt: Span::ZERO,
            base_rtt: Span::MAX,
            round_rtt: Span::MAX,
            recent_rtt: Span::MAX,
            congested: None,
            active: now,
        }
    }

    /// Registered subflows.
    pub fn subflows(&self) -> u32 {
        self.subflows
    }

    /// A packet of a subflow was sent.
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        self.active = now;
    }

    /// So many bytes on the wire were acknowledged, and reported as marked or not.
    #[inline]
    pub fn on_acked(&mut self, bytes: u64, marked: bool) {
        self.acked += bytes;
        self.round_bytes += bytes;
        if marked {
            self.marked += bytes;
        }
    }

    /// A packet and its acknowledgment took this time there and back.
    pub fn on_rtt(&mut self, rtt: Span) {
        self.rtt = if self.rtt == Span::ZERO { rtt } else { (self.rtt * 7 + rtt) / 8 };
        self.base_rtt = self.base_rtt.min(rtt);
        self.round_rtt = self.round_rtt.min(rtt);
    }

    /// A new subflow joins: it will begin with its share, and the others make room.
    pub fn join(&mut self, params: &Params, now: Time) {
        self.forget(params, now);
        if self.subflows > 0 {
            self.yielded += ratio(self.subflows + 1, self.subflows);
        }
        self.subflows += 1;
        self.joined += 1;
        self.active = now;
    }

    /// A subflow that sends already is counted from now on: its registration was lost, or had expired.
    pub fn join_late(&mut self, now: Time) {
        self.subflows += 1;
        self.active = now;
    }

    /// A subflow has ended, or is taken to have.
    pub fn leave(&mut self, params: &Params) {
        debug_assert!(self.subflows > 0, "who leaves has joined");
        self.subflows = self.subflows.saturating_sub(1);
        if params.fast_end == FastEnd::Boost && self.subflows > 0 {
            self.yielded -= ratio(self.subflows + 1, self.subflows);
        }
    }

    /// Its state is not too old.
    pub fn is_remembered(&self, params: &Params, now: Time) -> bool {
        now.saturating_since(self.active) <= params.memory
    }

    /// Resets state that is too old.
    fn forget(&mut self, params: &Params, now: Time) {
        if !self.is_remembered(params, now) {
            let Self { subflows, joined, yielded, all_marked, base_rtt, .. } = *self;
            *self = Self { subflows, joined, yielded, all_marked, base_rtt, ..Self::new(now) };
        }
    }

    /// A period is over: what the switch reports to hosts.
    pub fn report(&mut self, params: &Params, now: Time) -> JumboReport {
        self.forget(params, now);
        let rtt = params.rtt.unwrap_or(self.rtt).max(params.period);
        if self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            let weight = period_gain(params.gain, params.period, rtt);
            self.alpha += weight * (fraction - self.alpha);
            self.all_marked += self.marked;
            if self.marked > 0 {
                self.congested = Some(now);
            }
            (self.acked, self.marked) = (0, 0);
        }
        let elapsed = now.saturating_since(self.round_began);
        if elapsed >= rtt {
            self.end_round(params, now, elapsed);
        }
        let joined = std::mem::take(&mut self.joined);
        JumboReport {
            alpha: self.alpha,
            joined,
            subflows: self.subflows,
            throughput: BitRate::from_bps(self.throughput as u64),
            yielded: self.yielded,
            marked: self.all_marked,
            rtt: self.rtt,
            base_rtt: self.base_rtt,
            recent_rtt: self.recent_rtt,
            quiet: self
                .congested
                .is_none_or(|at| now.saturating_since(at).as_secs_f64() > params.quiet * rtt.as_secs_f64()),
        }
    }

    fn end_round(&mut self, params: &Params, now: Time, elapsed: Span) {
        if self.round_bytes > 0 {
            let sample = self.round_bytes as f64 * 8.0 / elapsed.as_secs_f64();
            let known = self.throughput > 0.0;
            let weight = if known { params.throughput_gain } else { 1.0 };
            self.throughput += weight * (sample - self.throughput);
        }
        self.recent_rtt = std::mem::replace(&mut self.round_rtt, Span::MAX);
        if let Some(threshold) = params.delay_threshold
            && self.recent_rtt < Span::MAX
            && self.recent_rtt > self.base_rtt + threshold
        {
            self.congested = Some(now);
        }
        (self.round_bytes, self.round_began) = (0, now);
    }
}

/// The weight of a period, if what happened within a round-trip time has the weight `gain`.
pub fn period_gain(gain: f64, period: Span, rtt: Span) -> f64 {
    1.0 - libm::pow(1.0 - gain, period.as_secs_f64() / rtt.as_secs_f64())
}

/// ln(more/less).
fn ratio(more: u32, less: u32) -> f64 {
    libm::log(f64::from(more) / f64::from(less))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn params() -> Params {
        Params { rtt: Some(Span::from_us(100)), ..Params::default() }
    }

    #[test]
    fn alpha_moves_as_far_in_a_round_trip_whatever_the_period() {
        let after_a_round = |period: u64| {
            let params = Params { period: Span::from_us(period), ..params() };
            let mut jumbo = JumboFlow::new(at(0));
            for tick in 1..=100 / period {
                jumbo.on_acked(1000, true);
                jumbo.report(&params, at(tick * period));
            }
            jumbo.alpha
        };
        for period in [1, 10, 50, 100] {
            let alpha = after_a_round(period);
            assert!((alpha - 1.0 / 16.0).abs() < 1e-12, "{alpha} with {period} us");
        }
    }

    #[test]
    fn alpha_is_the_fraction_of_bytes_and_not_of_messages() {
        let params = Params { gain: 0.999_999, ..params() };
        let mut jumbo = JumboFlow::new(at(0));
        jumbo.on_acked(3000, false);
        jumbo.on_acked(1000, true);
        for tick in 1..=10 {
            jumbo.on_acked(3000, false);
            jumbo.on_acked(1000, true);
            jumbo.report(&params, at(10 * tick));
        }
        assert!((jumbo.alpha - 0.25).abs() < 1e-4, "{}", jumbo.alpha);
    }

    #[test]
    fn a_period_without_acknowledgments_leaves_alpha_alone() {
        let mut jumbo = JumboFlow::new(at(0));
        jumbo.on_acked(1, true);
        let first = jumbo.report(&params(), at(10)).alpha;
        assert_eq!(
            (0..50).map(|tick| jumbo.report(&params(), at(20 + 10 * tick)).alpha).fold(0.0, f64::max),
            first
        );
    }

    #[test]
    fn those_who_join_take_their_share_from_the_others() {
        // Three subflows; two join: each of the three keeps 3/5 of what it had (RackCC §3.3).
        let mut jumbo = JumboFlow::new(at(0));
        (0..3).for_each(|_| jumbo.join(&params(), at(0)));
        let before = jumbo.report(&params(), at(10));
        assert_eq!((before.joined, before.subflows), (3, 3));
        (0..2).for_each(|_| jumbo.join(&params(), at(11)));
        let after = jumbo.report(&params(), at(20));
        assert_eq!((after.joined, after.subflows), (2, 5));
        let kept = libm::exp(before.yielded - after.yielded);
        assert!((kept - 3.0 / 5.0).abs() < 1e-12, "{kept}");
        assert_eq!(jumbo.report(&params(), at(30)).joined, 0);
    }

    #[test]
    fn with_a_boost_those_who_stay_take_the_share_of_who_leaves() {
        let params = Params { fast_end: FastEnd::Boost, ..params() };
        let mut jumbo = JumboFlow::new(at(0));
        (0..4).for_each(|_| jumbo.join(&params, at(0)));
        let before = jumbo.report(&params, at(10)).yielded;
        jumbo.leave(&params);
        let kept = libm::exp(before - jumbo.report(&params, at(20)).yielded);
        assert!((kept - 4.0 / 3.0).abs() < 1e-12, "{kept}");
    }

    #[test]
    fn throughput_counts_rounds_in_which_something_was_acknowledged() {
        // 125 kB in 100 us are 10 Gb/s.
        let mut jumbo = JumboFlow::new(at(0));
        jumbo.join(&params(), at(0));
        let mut report = None;
        for us in 1..=1000 {
            if us <= 500 {
                jumbo.on_acked(1250, false);
            }
            if us % 10 == 0 {
                report = Some(jumbo.report(&params(), at(us)));
            }
        }
        let report = report.unwrap();
        assert_eq!((report.throughput, report.share()), (BitRate::from_gbps(10), BitRate::from_gbps(10)));
    }

    #[test]
    fn what_is_known_is_forgotten_after_an_idle_time_but_not_who_is_registered() {
        let mut jumbo = JumboFlow::new(at(0));
        jumbo.join(&params(), at(0));
        for us in 1..=200 {
            jumbo.on_sent(at(us));
            jumbo.on_acked(1250, true);
            if us % 10 == 0 {
                jumbo.report(&params(), at(us));
            }
        }
        let before = jumbo.report(&params(), at(210));
        assert!(before.alpha > 0.0 && !before.quiet && before.throughput > BitRate::ZERO);
        let after = jumbo.report(&params(), at(10_300));
        assert_eq!((after.alpha, after.throughput, after.quiet), (0.0, BitRate::ZERO, true));
        assert_eq!((after.subflows, after.marked), (1, before.marked));
    }

    #[test]
    fn the_smallest_round_trip_times_are_those_of_all_time_and_of_the_last_round() {
        let mut jumbo = JumboFlow::new(at(0));
        for us in [60, 50, 80] {
            jumbo.on_rtt(Span::from_us(us));
        }
        jumbo.report(&params(), at(100));
        jumbo.on_rtt(Span::from_us(70));
        let report = jumbo.report(&params(), at(200));
        assert_eq!((report.base_rtt, report.recent_rtt), (Span::from_us(50), Span::from_us(70)));
        assert_eq!(jumbo.report(&params(), at(300)).recent_rtt, Span::MAX);
    }

    #[test]
    fn delay_is_congestion_only_if_set_to() {
        let quiet = |delay_threshold| {
            let params = Params { delay_threshold, ..params() };
            let mut jumbo = JumboFlow::new(at(0));
            for round in 0..3 {
                jumbo.on_rtt(Span::from_us(50 + 30 * round));
                jumbo.report(&params, at(100 * (round + 1)));
            }
            jumbo.report(&params, at(310)).quiet
        };
        assert!(quiet(None) && quiet(Some(Span::from_us(60))));
        assert!(!quiet(Some(Span::from_us(59))));
    }

    #[test]
    fn a_jumboflow_is_quiet_again_some_round_trips_after_the_last_mark() {
        let mut jumbo = JumboFlow::new(at(0));
        assert!(jumbo.report(&params(), at(10)).quiet);
        jumbo.on_sent(at(15));
        jumbo.on_acked(1, true);
        assert!(!jumbo.report(&params(), at(20)).quiet);
        // A round trip takes 100 us.
        assert!(!jumbo.report(&params(), at(2020)).quiet && jumbo.report(&params(), at(2030)).quiet);
    }
}
