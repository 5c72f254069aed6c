//! Timers that the program has set.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use narrows_proto::units::Time;

use super::{Error, Event, EventKind, TimerId};

/// In order of time, then as they were set. Those that were taken back stay until their time has come.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BinaryHeap<Reverse<(Time, TimerId, u64)>>,
    set: u32,
    /// Those that are to come.
    pending: BTreeSet<TimerId>,
}

impl Timers {
    /// Sets one.
    pub(super) fn set(&mut self, at: Time, tag: u64) -> Result<TimerId, Error> {
        let timer = TimerId(self.set);
        if timer.0 == u32::MAX {
            return Err(Error::TooMany { messages: timer.0 as usize });
        }
        self.set += 1;
        self.due.push(Reverse((at, timer, tag)));
        self.pending.insert(timer);
        Ok(timer)
    }

    /// Takes one back. False if it was due already, or has been taken back.
    pub(super) fn cancel(&mut self, timer: TimerId) -> Result<bool, Error> {
        if timer.0 >= self.set {
            let (number, count) = (timer.0.into(), self.set as usize);
            return Err(Error::UnknownNumber { what: "timer", number, count });
        }
        Ok(self.pending.remove(&timer))
    }

    /// When the next one is due that was not taken back.
    pub(super) fn next(&mut self) -> Time {
        while let Some(Reverse((at, timer, _))) = self.due.peek() {
            if self.pending.contains(timer) {
                return *at;
            }
            self.due.pop();
        }
        Time::NEVER
    }

    /// The one that [`next`](Self::next) has found.
    pub(super) fn pop(&mut self) -> Option<Event> {
        let Reverse((at, timer, tag)) = self.due.pop()?;
        self.pending.remove(&timer);
        Some(Event { at, kind: EventKind::Timer(timer), tag })
    }
}
