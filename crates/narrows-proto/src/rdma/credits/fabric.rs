//! The rule for fabrics that are oversubscribed: marks and trimmed packets lower the rate of grants.

use super::settings::Oversubscribed;
use crate::units::{Span, Time};

/// Fate of a packet that arrived at a network card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// With its payload.
    Full {
        /// With a mark.
        marked: bool,
    },
    /// Without it.
    Trimmed {
        /// It was trimmed in front of the link to this card.
        at_last_hop: bool,
    },
}

/// Intervals without congestion in a row, beyond which the increase is the full rate anyway.
const MOST_QUIET: u32 = 31;
/// Intervals without packets after which nothing changes any more but g, which is next to zero then.
const MOST_EMPTY: u64 = 64;

#[derive(Clone, Debug)]
pub(super) struct Fabric {
    rule: Oversubscribed,
    /// Part of the full rate.
    rate: f64,
    /// g, the running fraction of marked packets.
    marked: f64,
    /// k, intervals in a row without mark or trimmed packet.
    quiet: u32,
    count: Count,
    /// When the present interval ends; none before the first packet.
    ends: Option<Time>,
}

/// Packets of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    all: u32,
    full: u32,
    marked: u32,
    /// Before the last link.
    trimmed: u32,
}

impl Fabric {
    pub(super) fn new(rule: &Oversubscribed) -> Self {
        Self { rule: *rule, rate: 1.0, marked: 0.0, quiet: 0, count: Count::default(), ends: None }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    #[inline]
    pub(super) fn on_arrival(&mut self, now: Time, arrival: Arrival) {
        self.advance(now);
        if self.ends.is_none() {
            self.ends = Some(now + self.rule.interval);
        }
        let count = &mut self.count;
        count.all = count.all.saturating_add(1);
        match arrival {
            Arrival::Full { marked } => {
                count.full = count.full.saturating_add(1);
                count.marked = count.marked.saturating_add(marked.into());
            }
            Arrival::Trimmed { at_last_hop } => {
                count.trimmed = count.trimmed.saturating_add((!at_last_hop).into());
            }
        }
    }

    /// Ends the intervals that are over.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) {
        let Some(ends) = self.ends.filter(|ends| *ends <= now) else { return };
        let over = 1 + (now - ends).as_ps() / self.rule.interval.as_ps();
        for _ in 0..over.min(MOST_EMPTY) {
            let count = std::mem::take(&mut self.count);
            self.end_interval(count);
        }
        // The remainder of the time since then has passed of the next one.
        let passed = Span::from_ps((now - ends).as_ps() % self.rule.interval.as_ps());
        self.ends = Some(now + (self.rule.interval - passed));
    }

    fn end_interval(&mut self, count: Count) {
        let Oversubscribed { gain, mark_threshold, decrease, increase, least, .. } = self.rule;
        let part = |of: u32, all: u32| if all == 0 { 0.0 } else { f64::from(of) / f64::from(all) };
        self.marked = (1.0 - gain) * self.marked + gain * part(count.marked, count.full);
        self.rate -= part(count.trimmed, count.all);
        let is_marked = self.marked > mark_threshold;
        if is_marked {
            self.rate *= 1.0 - decrease * (self.marked - mark_threshold);
        }
        let is_quiet = count.trimmed == 0 && count.marked == 0;
        if count.trimmed == 0 && !is_marked {
            let times = if is_quiet { (1_u64 << self.quiet) as f64 } else { 1.0 };
            self.rate += increase * times;
        }
        self.quiet = if is_quiet && !is_marked { (self.quiet + 1).min(MOST_QUIET) } else { 0 };
        self.rate = self.rate.clamp(least, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture(Fabric, u64);

    impl Fixture {
        /// The next interval, with so many full packets without a mark, marked ones, and those trimmed before and at the last hop. Returns
        /// the rate after it.
        fn interval(&mut self, [plain, marked, before, last]: [usize; 4]) -> f64 {
            let now = Time::ZERO + Span::from_us(12 * self.1 + 1);
            let kinds = [
                (plain, Arrival::Full { marked: false }),
                (marked, Arrival::Full { marked: true }),
                (before, Arrival::Trimmed { at_last_hop: false }),
                (last, Arrival::Trimmed { at_last_hop: true }),
            ];
            for (count, arrival) in kinds {
                (0..count).for_each(|_| self.0.on_arrival(now, arrival));
            }
            self.1 += 1;
            self.0.advance(Time::ZERO + Span::from_us(12 * self.1 + 1));
            self.0.rate()
        }
    }

    fn fixture() -> Fixture {
        Fixture(Fabric::new(&Oversubscribed::default()), 0)
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }

    #[test]
    fn six_intervals_by_hand() {
        let mut fabric = fixture();
        // m/t = 1/10, f = 4/8: g = 0.25 is not above 0.3.
        assert_near(fabric.interval([4, 4, 1, 1]), 0.9);
        // f = 1: g = 0.625.
        assert_near(fabric.interval([0, 10, 0, 0]), 0.9 * (1.0 - 0.5 * 0.325));
        // f = 0: g = 0.3125.
        let rate = 0.75375 * (1.0 - 0.5 * 0.0125);
        assert_near(fabric.interval([10, 0, 0, 0]), rate);
        // f = 0.1: g = 0.20625. It is not quiet.
        assert_near(fabric.interval([9, 1, 0, 0]), rate + 0.01);
        // The first and second that are.
        assert_near(fabric.interval([10, 0, 0, 0]), rate + 0.02);
        assert_near(fabric.interval([10, 0, 0, 2]), rate + 0.04);
        // A mark ends their row.
        assert_near(fabric.interval([9, 1, 0, 0]), rate + 0.05);
        assert_near(fabric.interval([10, 0, 0, 0]), rate + 0.06);
    }

    #[test]
    fn an_interval_without_marks_that_lowers_the_rate_begins_no_row() {
        let mut fabric = fixture();
        (0..2).for_each(|_| _ = fabric.interval([0, 10, 0, 0]));
        // g falls from 0.75 to 0.375, still above 0.3, and to 0.1875.
        let lowered = fabric.interval([10, 0, 0, 0]);
        assert_near(fabric.interval([10, 0, 0, 0]), lowered + 0.01);
        assert_near(fabric.interval([10, 0, 0, 0]), lowered + 0.03);
    }

    #[test]
    fn the_rate_has_bounds() {
        let mut fabric = fixture();
        assert_eq!(fabric.interval([10, 0, 0, 0]), 1.0);
        assert_eq!(fabric.interval([0, 0, 10, 0]), 0.01);
        assert_eq!(fabric.interval([0, 0, 10, 0]), 0.01);
    }

    #[test]
    fn it_recovers_in_seven_quiet_intervals() {
        let mut fabric = fixture();
        fabric.interval([0, 0, 10, 0]);
        // 0.01 + 0.01·(2^n − 1)
        let rates: Vec<f64> = (0..7).map(|_| fabric.interval([1, 0, 0, 0])).collect();
        for (rate, expected) in rates.iter().zip([0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0]) {
            assert_near(*rate, expected);
        }
    }

    #[test]
    fn intervals_in_which_nothing_arrives_are_quiet_ones() {
        let mut fabric = fixture();
        fabric.interval([0, 0, 10, 0]);
        fabric.0.advance(Time::ZERO + Span::from_us(12 * 4 + 1));
        assert_near(fabric.0.rate(), 0.08);
        fabric.0.advance(Time::ZERO + Span::from_secs(3_600));
        assert_eq!(fabric.0.rate(), 1.0);
    }

    #[test]
    fn intervals_keep_their_distance_however_late_they_are_ended() {
        let mut fabric = Fabric::new(&Oversubscribed::default());
        let at = |us| Time::ZERO + Span::from_us(us);
        fabric.on_arrival(at(5), Arrival::Full { marked: false });
        assert_eq!(fabric.ends, Some(at(17)));
        fabric.advance(at(16));
        assert_eq!(fabric.ends, Some(at(17)));
        fabric.advance(at(17));
        assert_eq!(fabric.ends, Some(at(29)));
        fabric.advance(at(60));
        assert_eq!(fabric.ends, Some(at(65)));
    }
}
