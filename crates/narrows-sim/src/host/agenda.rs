use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::Time;

/// What a host planned to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// Look at the sender in this slot.
    Sender(u32),
    /// Look at the receiver in this slot.
    Receiver(u32),
    /// Let this generator go on.
    Generator(u32),
    /// What the switch has stopped may be sent again, unless it has said so since.
    Open,
    /// Find and advertise the rate that sources may send at.
    Advertise,
    /// The measured time begins.
    MeasureFrom,
    /// The measured time ends.
    MeasureUntil,
    /// News for a flow that waits.
    News(u32),
    /// A flow that waited starts.
    Dependent(u32),
    /// Flows that still wait may start no more.
    GiveUp,
}

/// Timers of one host. None is ever cancelled: one that moved to a later time wakes early, finds nothing due and is set
/// again.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    /// An entry that comes before all others, unless it was taken: what is taken is often planned again at once.
    front: Option<(Time, Wake)>,
    entries: BinaryHeap<Reverse<(Time, Wake)>>,
}

impl Agenda {
    #[inline]
    pub(super) fn next(&self) -> Time {
        match self.front {
            Some((at, _)) => at,
            None => self.entries.peek().map_or(Time::NEVER, |entry| entry.0.0),
        }
    }

    pub(super) fn plan(&mut self, at: Time, wake: Wake) {
        let entry = (at, wake);
        let later = match self.front {
            Some(front) if entry < front => self.front.replace(entry),
            None if self.entries.peek().is_none_or(|first| entry <= first.0) => {
                self.front = Some(entry);
                None
            }
            _ => Some(entry),
        };
        self.entries.extend(later.map(Reverse));
    }

    /// Takes the next entry, which must exist.
    pub(super) fn take(&mut self) -> (Time, Wake) {
        self.front.take().unwrap_or_else(|| self.entries.pop().expect("there is a next entry").0)
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Span;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_are_taken_in_order(steps in prop::collection::vec(prop::option::of((0..20_u64, 0..3_u32)), 0..200)) {
            let (mut agenda, mut sorted) = (Agenda::default(), Vec::new());
            for step in steps {
                if let Some((at, slot)) = step {
                    let entry = (Time::ZERO + Span::from_us(at), Wake::Sender(slot));
                    agenda.plan(entry.0, entry.1);
                    sorted.push(entry);
                    sorted.sort();
                } else if !sorted.is_empty() {
                    prop_assert_eq!(agenda.take(), sorted.remove(0));
                }
                prop_assert_eq!(agenda.next(), sorted.first().map_or(Time::NEVER, |entry| entry.0));
            }
        }
    }
}
