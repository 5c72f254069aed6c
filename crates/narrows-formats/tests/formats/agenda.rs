//! The order of events in models of other simulators.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events that are due, the earliest first, and of one time the one that was planned first.
pub(crate) struct Agenda<E> {
    events: Vec<E>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<E: Copy> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self { events: Vec::new(), due: BinaryHeap::new() }
    }

    pub(crate) fn at(&mut self, at: u64, event: E) {
        self.due.push(Reverse((at, self.events.len())));
        self.events.push(event);
    }

    /// The next event, and its time.
    pub(crate) fn next(&mut self) -> Option<(u64, E)> {
        let Reverse((at, number)) = self.due.pop()?;
        Some((at, self.events[number]))
    }
}
