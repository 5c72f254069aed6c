//! Controlled delay (CoDel): packets are dropped or marked when all of them have waited too long for a while.
//!
//! ```text
//! sojourn       from the time a packet joined its queue until it leaves            RFC 8289 §5.1
//! above         sojourn >= target, and more than one packet is left
//! begin         when above for an interval: drop the packet that leaves            §5.5
//! go on         the next after interval/sqrt(count), count drops so far            §5.2
//! end           when a packet leaves that is not above
//! again         soon after the last end: with the count that was needed then       §5.5
//! ```
//! With `ecn` packets that can be marked are marked in place of dropping, and leave (as in Linux `sch_codel`).

use narrows_proto::units::{Bytes, Span, Time};

use super::verdict::{Leaving, Verdict};
use crate::mechanism::CLASSES;

/// Controlled delay (RFC 8289), for each queue by itself.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Codel {
    /// The sojourn time that a standing queue may have; 5 ms (RFC 8289 §4.4), a tenth of the round-trip time or less.
    pub target: Span,
    /// Time that sojourn times may stay above; 100 ms (RFC 8289 §4.3), a round-trip time of most connections.
    pub interval: Span,
    /// Packets that can be marked are marked in place of dropping.
    pub ecn: bool,
}

impl Default for Codel {
    fn default() -> Self {
        Self { target: Span::from_ms(5), interval: Span::from_ms(100), ecn: false }
    }
}

/// The queues of a switch.
#[derive(Clone, Debug)]
pub(super) struct CodelSwitch {
    config: Codel,
    /// A queue that holds no more than this has no standing queue.
    largest: u64,
    /// By port, then by queue.
    queues: Vec<[CodelState; CLASSES]>,
}

/// State of a queue. The names are those of RFC 8289 §5.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodelState {
    /// When sojourn times will have been above for an interval; none while they are not above.
    first_above_time: Option<Time>,
    /// When the next packet is dropped.
    drop_next: Time,
    /// Packets dropped since dropping began.
    count: u32,
    /// `count` when dropping last began.
    last_count: u32,
    dropping: bool,
    /// The last packet was dropped, and the next one follows it at the same time.
    after: After,
}

/// Step after a packet that was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Nothing,
    /// It was the first: the next one leaves, and dropping has begun.
    First,
    /// It was one more.
    More,
}

impl CodelSwitch {
    pub(super) fn new(config: &Codel, ports: usize, largest: Bytes) -> Self {
        let queues = vec![[CodelState::default(); CLASSES]; ports];
        Self { config: config.clone(), largest: largest.get(), queues }
    }

    /// Verdict on a packet that is about to leave.
    #[inline(never)]
    pub(super) fn judge(&mut self, leaving: &Leaving) -> Verdict {
        let above = leaving.sojourn >= self.config.target && leaving.left > self.largest;
        let state = &mut self.queues[leaving.port][leaving.queue];
        state.judge(&self.config, leaving.now, above, self.config.ecn && leaving.ect)
    }
}

impl CodelState {
    /// Verdict on a packet that is about to leave, whose sojourn time is `above` or not, and which may be marked or is dropped.
    pub(crate) fn judge(&mut self, config: &Codel, now: Time, above: bool, marks: bool) -> Verdict {
        let ok_to_drop = self.ok_to_drop(config, now, above);
        match std::mem::take(&mut self.after) {
            After::First => {
                self.begin(config, now);
                return Verdict::Pass;
            }
            After::More if ok_to_drop => self.drop_next = control_law(self.drop_next, config, self.count),
            After::More | After::Nothing if !ok_to_drop => self.dropping = false,
            After::Nothing if !self.dropping => {
                if marks {
                    self.begin(config, now);
                    return Verdict::Mark;
                }
                self.after = After::First;
                return Verdict::Drop;
            }
            After::More | After::Nothing => {}
        }
        if !self.dropping || now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        if marks {
            self.drop_next = control_law(self.drop_next, config, self.count);
            return Verdict::Mark;
        }
        self.after = After::More;
        Verdict::Drop
    }

    /// Sojourn times have been above for an interval.
    fn ok_to_drop(&mut self, config: &Codel, now: Time, above: bool) -> bool {
        if !above {
            self.first_above_time = None;
            return false;
        }
        now >= *self.first_above_time.get_or_insert(now + config.interval)
    }

    /// Dropping begins. If the last time was a short while ago, the count that controlled the queue then is where it begins.
    fn begin(&mut self, config: &Codel, now: Time) {
        let delta = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) / 16 < config.interval;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = control_law(now, config, self.count);
    }
}

/// When the next packet is dropped after one at `at` (RFC 8289 §5.2).
fn control_law(at: Time, config: &Codel, count: u32) -> Time {
    let gap = config.interval.as_ps() as f64 / libm::sqrt(f64::from(count.max(1)));
    at + Span::from_ps(gap as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1_500;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn switch(ecn: bool) -> CodelSwitch {
        CodelSwitch::new(&Codel { ecn, ..Codel::default() }, 1, Bytes::new(MTU))
    }

    fn leaving(now: Time, sojourn_ms: u64, left: u64) -> Leaving {
        let sojourn = Span::from_ms(sojourn_ms);
        Leaving { now, port: 0, queue: 0, sojourn, left, ect: true }
    }

    /// Times at which a packet was not let pass, of packets that leave every 100 µs from `from` on, all of which waited for 20 ms.
    fn hit(codel: &mut CodelSwitch, from: Time, until: Time) -> Vec<Time> {
        let mut times = Vec::new();
        let mut now = from;
        while now < until {
            // What is dropped makes room for the next at once.
            while codel.judge(&leaving(now, 20, 100_000)) != Verdict::Pass {
                times.push(now);
                if codel.config.ecn {
                    break;
                }
            }
            now += Span::from_us(100);
        }
        times
    }

    /// RFC 8289 §5.2: the n-th drop follows the one before it after interval/sqrt(n); from 100 ms on, when sojourn times have been
    /// above target for an interval.
    #[test]
    fn drops_come_at_the_times_of_the_control_law() {
        for ecn in [false, true] {
            let found = hit(&mut switch(ecn), Time::ZERO, ms(800));
            // 100, then + 100/sqrt(1), 100/sqrt(2), 100/sqrt(3), ... in ms.
            let expected = [100.0, 200.0, 270.71, 328.45, 378.45, 423.17, 464.0, 501.79, 537.15, 570.48];
            assert!(found.len() >= expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                let found = (*found - Time::ZERO).as_secs_f64() * 1e3;
                // The next packet leaves up to 0.1 ms after the time of the law, which goes on from the law and not from the packet.
                assert!((0.0..=0.11).contains(&(found - expected)), "{found} ms instead of {expected} ms");
            }
        }
    }

    #[test]
    fn short_sojourns_and_queues_of_one_packet_are_left_alone() {
        let mut codel = switch(false);
        for step in 0..10_000 {
            assert_eq!(codel.judge(&leaving(ms(step), 4, 100_000)), Verdict::Pass);
        }
        for step in 10_000..20_000 {
            assert_eq!(codel.judge(&leaving(ms(step), 50, MTU)), Verdict::Pass);
        }
    }

    #[test]
    fn a_single_short_sojourn_ends_dropping_and_counts_the_interval_anew() {
        let mut codel = switch(false);
        assert!(!hit(&mut codel, Time::ZERO, ms(150)).is_empty());
        assert_eq!(codel.judge(&leaving(ms(150), 1, 100_000)), Verdict::Pass);
        assert_eq!(hit(&mut codel, ms(151), ms(251)), []);
        assert_eq!(hit(&mut codel, ms(251), ms(252)), [ms(251)]);
    }

    /// RFC 8289 §5.5: begun again within 16 intervals, dropping goes on at the rate it had.
    #[test]
    fn dropping_that_begins_again_soon_begins_at_the_rate_it_had() {
        let mut codel = switch(false);
        let before = hit(&mut codel, Time::ZERO, ms(600)).len() as u32;
        codel.judge(&leaving(ms(600), 1, 100_000));
        hit(&mut codel, ms(601), ms(702));
        assert_eq!(codel.queues[0][0].count, before - 1, "count - lastcount");
        codel.judge(&leaving(ms(703), 1, 100_000));
        // After more than 16 intervals it begins slowly.
        hit(&mut codel, ms(3_000), ms(3_101));
        assert_eq!(codel.queues[0][0].count, 1);
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        let mut codel = switch(true);
        hit(&mut codel, Time::ZERO, ms(100));
        let packet = Leaving { ect: false, ..leaving(ms(100), 20, 100_000) };
        assert_eq!(codel.judge(&packet), Verdict::Drop);
    }

    #[test]
    fn queues_are_controlled_by_themselves() {
        let mut codel = switch(false);
        hit(&mut codel, Time::ZERO, ms(100));
        assert_eq!(codel.judge(&Leaving { queue: 3, ..leaving(ms(100), 20, 100_000) }), Verdict::Pass);
        assert_eq!(codel.judge(&leaving(ms(100), 20, 100_000)), Verdict::Drop);
    }
}
