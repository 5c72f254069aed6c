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
