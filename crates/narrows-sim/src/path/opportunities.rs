//! Times at which a link may deliver a packet: traces of mahimahi (Netravali et al., USENIX ATC 2015).
//!
//! At each opportunity so many bytes leave. Small packets share one, a large one spans several and leaves at the one that completes it.
//! An opportunity that is not used is lost.

use std::sync::Arc;

use narrows_proto::units::{Bytes, Span, Time};

/// Times at which a link may deliver, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// In order; several may be equal.
    times: Vec<Span>,
    period: Span,
    /// Bytes that leave at each.
    size: u32,
}

impl Opportunities {
    /// Opportunities at these times, each for `size` bytes, which begin again after `period`.
    ///
    /// # Panics
    /// If there are none, they are not in order, or the period is zero or ends before the last of them.
    pub fn new(times: Vec<Span>, period: Span, size: Bytes) -> Self {
        assert!(!times.is_empty() && times.is_sorted(), "there are opportunities, in order of time");
        assert!(period > Span::ZERO && times.last() <= Some(&period), "the period ends after all of them");
        let size = u32::try_from(size.get()).ok().filter(|size| *size > 0);
        Self { times, period, size: size.expect("an opportunity has 1 B to 4 GB") }
    }

    /// Memory that they take.
    pub(super) fn bytes(&self) -> u64 {
        size_of_val(self.times.as_slice()) as u64
    }

    /// Bytes that may leave in a period.
    pub fn per_period(&self) -> Bytes {
        Bytes::new(self.times.len() as u64 * u64::from(self.size))
    }

    /// Time after which they begin again.
    pub fn period(&self) -> Span {
        self.period
    }

    /// Bytes that may leave after `from`, and at `until` at the latest.
    pub(super) fn between(&self, from: Time, until: Time) -> Bytes {
        let at_the_latest = |time: Time| self.before(Time::from_ps(time.as_ps().saturating_add(1)));
        let count = at_the_latest(until).saturating_sub(at_the_latest(from));
        Bytes::new(count.saturating_mul(self.size.into()))
    }

    /// Number of those before a time, counted from the beginning of the run.
    fn before(&self, time: Time) -> u64 {
        let since = time.as_ps();
        // The last may be at the end of the period, where the next one begins.
        let rounds = (since / self.period.as_ps()).saturating_sub(1);
        let mut count = rounds * self.times.len() as u64;
        for round in rounds..rounds + 2 {
            let begin = round.saturating_mul(self.period.as_ps());
            count += self.times.partition_point(|at| begin.saturating_add(at.as_ps()) < since) as u64;
        }
        count
    }

    /// When the opportunity of this number is.
    fn at(&self, number: u64) -> Time {
        let (round, place) = (number / self.times.len() as u64, number % self.times.len() as u64);
        let begin = round.saturating_mul(self.period.as_ps());
        Time::from_ps(begin.saturating_add(self.times[place as usize].as_ps()))
    }
}

/// Sends packets at opportunities.
#[derive(Clone, Debug)]
pub(super) struct AtOpportunities {
    all: Arc<Opportunities>,
    /// The opportunity that was used last, none before the first.
    used: Option<u64>,
    /// When it was, and bytes of it that are left.
    at: Time,
    left: u64,
}

impl AtOpportunities {
    pub(super) fn new(all: &Arc<Opportunities>) -> Self {
        Self { all: Arc::clone(all), used: None, at: Time::ZERO, left: 0 }
    }

    /// When a packet has left that may from `start` on.
    pub(super) fn sent_at(&mut self, start: Time, size: u64) -> Time {
        let mut missing = size;
        if start > self.at {
            self.left = 0;
        }
        let shared = self.left.min(missing);
        (self.left, missing) = (self.left - shared, missing - shared);
        if missing > 0 {
            let each = u64::from(self.all.size);
            let first = self.all.before(start).max(self.used.map_or(0, |used| used + 1));
            let last = first + (missing - 1) / each;
            (self.used, self.at) = (Some(last), self.all.at(last));
            self.left = (last - first + 1) * each - missing;
        }
        self.at.max(start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_ps(ms * 1_000_000_000)
    }

    fn trace(lines: &[u64]) -> AtOpportunities {
        let times: Vec<_> = lines.iter().map(|line| Span::from_ms(*line)).collect();
        let period = *times.last().unwrap();
        AtOpportunities::new(&Arc::new(Opportunities::new(times, period, Bytes::new(1500))))
    }

    #[test]
    fn a_full_packet_leaves_at_each_opportunity_and_the_trace_repeats() {
        let mut link = trace(&[2, 5, 5, 10]);
        let mut sent = [Time::ZERO; 9];
        for place in 0..sent.len() {
            let start = if place == 0 { Time::ZERO } else { sent[place - 1] };
            sent[place] = link.sent_at(start, 1500);
        }
        assert_eq!(sent, [2, 5, 5, 10, 12, 15, 15, 20, 22].map(ms));
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_span_several() {
        let mut link = trace(&[1, 2, 3, 10]);
        // 1500 B at 1 ms: two packets, and 500 B of the third, which ends at 2 ms; 1000 B are left there.
        let sent = [500, 500, 1000, 1000].map(|size| link.sent_at(Time::ZERO, size));
        assert_eq!(sent, [1, 1, 2, 2].map(ms));
        assert_eq!(link.sent_at(ms(2), 3001), ms(11), "3 ms, 10 ms, and 1 B at 1 ms of the next round");
    }

    #[test]
    fn an_opportunity_without_a_packet_is_lost_and_so_is_the_rest_of_one() {
        let mut link = trace(&[1, 2, 3, 10]);
        assert_eq!(link.sent_at(Time::ZERO, 100), ms(1));
        assert_eq!(link.sent_at(Time::from_ps(ms(1).as_ps() + 1), 100), ms(2));
        // One that arrives at the very moment of an opportunity uses it.
        assert_eq!(link.sent_at(ms(10), 1500), ms(10));
        assert_eq!(link.sent_at(ms(1_000_000), 1500), ms(1_000_000));
    }

    #[test]
    fn bytes_that_leave_a_link_that_is_never_idle_are_those_of_its_trace() {
        let lines = [0, 0, 3, 4, 4, 4, 7, 20, 21, 25];
        let mut link = trace(&lines);
        let (mut at, mut bytes) = (Time::ZERO, 0);
        for size in [84, 1500, 40, 9000, 777].iter().cycle().take(5_000) {
            at = link.sent_at(at, *size);
            bytes += *size;
            // All that has left was offered before or at this moment, and no whole opportunity less.
            let offered = (0..).map(|number| link.all.at(number)).take_while(|offered| *offered <= at);
            let earlier = (0..).map(|number| link.all.at(number)).take_while(|offered| *offered < at);
            assert!(bytes <= offered.count() as u64 * 1500, "at {at}");
            assert!(bytes > earlier.count() as u64 * 1500, "at {at}");
        }
    }

    #[test]
    fn a_part_of_a_period_has_the_opportunities_in_it_and_not_its_share_of_them() {
        let times = (1..=100).map(Span::from_ms).collect();
        let all = Opportunities::new(times, Span::from_ms(1_000), Bytes::new(1500));
        let bytes = |from, until| all.between(ms(from), ms(until)).get();
        assert_eq!(bytes(0, 100), 150_000);
        assert_eq!([bytes(0, 1), bytes(1, 2), bytes(100, 1_000), bytes(1_000, 1_001)], [1500, 1500, 0, 1500]);
        assert_eq!(bytes(0, 100_000), 100 * 150_000);
    }

    proptest! {
        #[test]
        fn bytes_of_a_time_are_those_of_its_parts_and_of_a_round_those_of_the_period(
            mut times in prop::collection::vec(0..50_u64, 1..40),
            rest in 1..9_u64,
            mut at in prop::collection::vec(0..1_000_u64, 2..9),
            rounds in 0..9_u64,
        ) {
            times.sort_unstable();
            at.sort_unstable();
            let period = times[times.len() - 1] + rest;
            let times = times.into_iter().map(Span::from_ms).collect();
            let all = Opportunities::new(times, Span::from_ms(period), Bytes::new(1500));
            let between = |from, until| all.between(ms(from), ms(until)).get();
            let parts: u64 = at.windows(2).map(|ends| between(ends[0], ends[1])).sum();
            prop_assert_eq!(between(at[0], at[at.len() - 1]), parts);
            // Wherever they begin, whole rounds have the same.
            prop_assert_eq!(between(at[0], at[0] + rounds * period), rounds * all.per_period().get());
        }
    }
}
