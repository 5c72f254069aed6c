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
    /// The measured time begins.
    MeasureFrom,
    /// The measured time ends.
    MeasureUntil,
}

/// Timers of one host. None is ever cancelled: one that moved to a later time wakes early, finds nothing due and is set
/// again.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    entries: BinaryHeap<Reverse<(Time, Wake)>>,
}

impl Agenda {
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.entries.peek().map_or(Time::NEVER, |entry| entry.0.0)
    }

    pub(super) fn plan(&mut self, at: Time, wake: Wake) {
        self.entries.push(Reverse((at, wake)));
    }

    /// Takes the next entry, which must exist.
    pub(super) fn take(&mut self) -> (Time, Wake) {
        self.entries.pop().expect("there is a next entry").0
    }
}
