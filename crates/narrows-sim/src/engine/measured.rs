//! Bytes that links carry in the measured time, without a look at any packet that passes: those sent before that time
//! began are subtracted from those sent by its end.

use std::ops::Range;

use narrows_proto::units::{Bytes, Time};

use crate::link::{Wire, Wires};
use crate::world::{Shared, Windows};

/// Counts bytes of the measured time for the wires of one thread.
#[derive(Debug)]
pub(super) struct Measured {
    /// The begin and the end of the measured time, as far as they lie ahead; the next one last.
    moments: Vec<Time>,
    /// The window the next moment lies in. In later windows it is over.
    due: u64,
    /// By wire: bytes sent before the measured time; when that is over, bytes sent in it.
    bytes: Vec<Bytes>,
}

impl Measured {
    pub(super) fn new(time: &Range<Time>, windows: Windows, wires: usize) -> Self {
        let moments = vec![time.end.max(time.start), time.start];
        Self { due: windows.of(time.start), moments, bytes: vec![Bytes::ZERO; wires] }
    }

    /// Everything before `window` has happened.
    #[inline]
    pub(super) fn reach(&mut self, window: u64, windows: Windows, wires: &Wires, shared: &Shared) {
        while window > self.due {
            self.pass(Time::NEVER, wires, shared);
            self.due = self.moments.last().map_or(u64::MAX, |moment| windows.of(*moment));
        }
    }

    /// By wire: bytes sent in the measured time, as far as it lies before `end`, when the run was over.
    pub(super) fn finish(&mut self, end: Time, wires: &Wires, shared: &Shared) -> Vec<Bytes> {
        while !self.moments.is_empty() {
            self.pass(end, wires, shared);
        }
        std::mem::take(&mut self.bytes)
    }

    /// Accounts for the next moment, or for `latest` if that comes first. Nothing that began to be sent then or later has
    /// left its wire: no window is longer than a packet is under way.
    #[cold]
    fn pass(&mut self, latest: Time, wires: &Wires, shared: &Shared) {
        let Some(moment) = self.moments.pop() else { return };
        for (bytes, wire) in self.bytes.iter_mut().zip(&wires.wires) {
            *bytes = sent_before(moment.min(latest), wire, shared) - *bytes;
        }
    }
}

/// Bytes of the packets that began to be sent before `moment`.
fn sent_before(moment: Time, wire: &Wire, shared: &Shared) -> Bytes {
    // Lines count by themselves.
    let Some(flight) = shared.flights[wire.link.index()] else { return Bytes::ZERO };
    let later = wire.ring.iter().filter(|packet| packet.at() >= moment + flight.of(packet.size()));
    Bytes::new(wire.bytes - later.map(|packet| u64::from(packet.size())).sum::<u64>())
}
