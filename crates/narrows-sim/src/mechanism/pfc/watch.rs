//! Time that classes stay stopped while packets wait in them: what a watchdog of PFC looks at.

use narrows_proto::units::Time;

use crate::mechanism::CLASSES;
use crate::record::PortCounters;

/// Since when each class of a port is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    since: [Time; CLASSES],
}

impl Default for Watch {
    fn default() -> Self {
        Self { since: [Time::NEVER; CLASSES] }
    }
}

impl Watch {
    /// The classes that are stopped change from `before` to `after`. `waits` says whether packets of a class wait.
    pub(crate) fn change(
        &mut self,
        now: Time,
        before: u16,
        after: u16,
        waits: impl Fn(usize) -> bool,
        counters: &mut PortCounters,
    ) {
        for (class, since) in self.since.iter_mut().enumerate() {
            let bit = 1 << class;
            if before & bit == 0 && after & bit != 0 {
                *since = now;
            } else if before & bit != 0 && after & bit == 0 && waits(class) {
                counters.longest_stop = counters.longest_stop.max(now.saturating_since(*since));
            }
        }
    }

    /// The run ends while `stopped` classes are stopped.
    pub(crate) fn finish(
        &mut self,
        now: Time,
        stopped: u16,
        waits: impl Fn(usize) -> bool,
        counters: &mut PortCounters,
    ) {
        for (class, since) in self.since.iter().enumerate() {
            if stopped & 1 << class != 0 && waits(class) {
                counters.stuck = counters.stuck.max(now.saturating_since(*since));
            }
        }
        counters.longest_stop = counters.longest_stop.max(counters.stuck);
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Span;

    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_stop_counts_from_its_first_frame_to_the_one_that_ends_it() {
        let (mut watch, mut counters) = (Watch::default(), PortCounters::default());
        watch.change(at(10), 0, 0b11, |_| true, &mut counters);
        watch.change(at(20), 0b11, 0b11, |_| true, &mut counters); // renewed
        watch.change(at(35), 0b11, 0b10, |class| class == 0, &mut counters);
        assert_eq!(counters.longest_stop, Span::from_us(25));
        watch.finish(at(100), 0b10, |_| true, &mut counters);
        assert_eq!((counters.stuck, counters.longest_stop), (Span::from_us(90), Span::from_us(90)));
    }

    #[test]
    fn a_class_in_which_nothing_waits_is_not_held_up() {
        let (mut watch, mut counters) = (Watch::default(), PortCounters::default());
        watch.change(at(0), 0, 1, |_| false, &mut counters);
        watch.change(at(50), 1, 0, |_| false, &mut counters);
        watch.finish(at(60), 0, |_| false, &mut counters);
        assert_eq!(counters.longest_stop, Span::ZERO);
    }
}
