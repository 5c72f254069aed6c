//! The part of a receiving network card.

use super::fabric::{Arrival, Fabric};
use super::settings::Credits;
use crate::units::{BitRate, Bytes, Time};

/// Grants of one network card to all connections that end there.
///
/// Connections have small numbers, which the caller gives and may give again after [`close`](Self::close). Call
/// [`request`](Self::request) for whatever carries a target, and [`turn`](Self::turn) at [`next_turn`](Self::next_turn).
#[derive(Clone, Debug)]
pub struct Granter {
    sinks: Vec<Sink>,
    /// Those with less granted than requested, and those that may have a slow pull, in the order of their turns.
    unmet: List,
    resting: List,
    /// Bytes of a turn, and of slow pulls beyond the request.
    grant: u64,
    slow: u64,
    /// Rate of grants, before and after the rule for the fabric.
    full: BitRate,
    rate: BitRate,
    fabric: Option<Fabric>,
    /// When the last turn is over.
    free_at: Time,
}

/// A grant that goes to the sender of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Number of the connection.
    pub sink: u32,
    /// All that was granted to it since it began, in bytes.
    pub granted: u64,
    /// It was not requested.
    pub slow: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sink {
    target: u64,
    granted: u64,
    place: Place,
    previous: Option<u32>,
    next: Option<u32>,
}

/// The list that a connection is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Unmet,
    Resting,
}

impl Granter {
    /// A card with no connections, whose links have this rate together. W is that of a sender with the same rate.
    pub fn new(credits: &Credits, rate: BitRate) -> Self {
        let full = rate.scaled(credits.rate).max(BitRate::from_bps(1));
        let slow = if credits.slow_pulls { credits.window_of(rate, credits.quantum).get() } else { 0 };
        Self {
            sinks: Vec::new(),
            unmet: List::default(),
            resting: List::default(),
            grant: credits.grant.get(),
            // Grants are whole quanta.
            slow: slow - slow % credits.quantum.get(),
            full,
            rate: full,
            fabric: credits.oversubscribed.as_ref().map(Fabric::new),
            free_at: Time::ZERO,
        }
    }

    /// A connection requests to have been granted `target` bytes since it began. Its first request, even of nothing, opens it. A smaller
    /// one than before changes nothing.
    #[inline]
    pub fn request(&mut self, sink: u32, target: u64) {
        let index = sink as usize;
        if index >= self.sinks.len() {
            self.sinks.resize(index + 1, Sink::default());
        }
        let it = &mut self.sinks[index];
        it.target = it.target.max(target);
        self.settle(sink);
    }

    /// All that was granted to a connection since it began.
    pub fn granted(&self, sink: u32) -> u64 {
        self.sinks.get(sink as usize).map_or(0, |sink| sink.granted)
    }

    /// A connection is over. Its number may be given to another.
    pub fn close(&mut self, sink: u32) {
        if (sink as usize) < self.sinks.len() {
            self.leave(sink);
            self.sinks[sink as usize] = Sink::default();
        }
    }

    /// When to call [`turn`](Self::turn): in the past if at once, never while nobody is to be granted anything.
    #[inline]
    pub fn next_turn(&self) -> Time {
        if self.unmet.head.is_none() && self.resting.head.is_none() { Time::NEVER } else { self.free_at }
    }

    /// The grant to send at `now`; none before [`next_turn`](Self::next_turn).
    #[inline]
    pub fn turn(&mut self, now: Time) -> Option<Pull> {
        if now < self.free_at {
            return None;
        }
        let sink = self.unmet.head.or(self.resting.head)?;
        self.leave(sink);
        let it = &mut self.sinks[sink as usize];
        let slow = it.granted >= it.target;
        let upto = if slow { it.target.saturating_add(self.slow) } else { it.target };
        let granted = self.grant.min(upto - it.granted);
        it.granted += granted;
        let pull = Pull { sink, granted: it.granted, slow };
        self.settle(sink);
        if let Some(fabric) = &mut self.fabric {
            fabric.advance(now);
            self.rate = self.full.scaled(fabric.rate()).max(BitRate::from_bps(1));
        }
        self.free_at = now + self.rate.time_to_send(Bytes::new(granted));
        Some(pull)
    }

    /// A packet arrived at the card, for the rule of oversubscribed fabrics.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, arrival: Arrival) {
        if let Some(fabric) = &mut self.fabric {
            fabric.on_arrival(now, arrival);
        }
    }

    /// The present part of the full rate, by the rule of oversubscribed fabrics; 1 without it.
    pub fn part(&self) -> f64 {
        self.fabric.as_ref().map_or(1.0, Fabric::rate)
    }

    /// Puts a connection at the end of the list in which it belongs, unless it is there.
    fn settle(&mut self, sink: u32) {
        let it = &self.sinks[sink as usize];
        let place = if it.granted < it.target {
            Place::Unmet
        } else if it.granted < it.target.saturating_add(self.slow) {
            Place::Resting
        } else {
            Place::Nowhere
        };
        if place == it.place {
            return;
        }
        self.leave(sink);
        self.sinks[sink as usize].place = place;
        match place {
            Place::Nowhere => {}
            Place::Unmet => self.unmet.push(&mut self.sinks, sink),
            Place::Resting => self.resting.push(&mut self.sinks, sink),
        }
    }

    /// Takes a connection out of the list it is in.
    fn leave(&mut self, sink: u32) {
        match std::mem::take(&mut self.sinks[sink as usize].place) {
            Place::Nowhere => {}
            Place::Unmet => self.unmet.remove(&mut self.sinks, sink),
            Place::Resting => self.resting.remove(&mut self.sinks, sink),
        }
    }
}

/// Connections in the order of their turns, linked in their records.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    head: Option<u32>,
    tail: Option<u32>,
}

impl List {
    fn push(&mut self, sinks: &mut [Sink], sink: u32) {
        sinks[sink as usize].previous = self.tail;
        sinks[sink as usize].next = None;
        match self.tail.replace(sink) {
            Some(tail) => sinks[tail as usize].next = Some(sink),
            None => self.head = Some(sink),
        }
    }

    fn remove(&mut self, sinks: &mut [Sink], sink: u32) {
        let Sink { previous, next, .. } = sinks[sink as usize];
        match previous {
            Some(previous) => sinks[previous as usize].next = next,
            None => self.head = next,
        }
        match next {
            Some(next) => sinks[next as usize].previous = previous,
            None => self.tail = previous,
        }
    }
}

#[cfg(test)]
mod tests;
