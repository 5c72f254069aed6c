//! Packets of many queues in one block of memory that grows to the most they ever held together.

use crate::packet::{Packet, Parcel, Trailers};

/// No slot.
const NONE: u32 = u32::MAX;

/// Slots of packets and of their trailers, each with the number of the next one of its queue, or of the next free one.
#[derive(Clone, Debug)]
pub(super) struct Store {
    slots: Vec<Packet>,
    next: Vec<u32>,
    free: u32,
}

/// Packets of a store, first in, first out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

impl Default for Store {
    fn default() -> Self {
        Self { slots: Vec::new(), next: Vec::new(), free: NONE }
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Store {
    #[inline]
    pub(super) fn push(&mut self, chain: &mut Chain, parcel: Parcel<'_>) {
        self.append(chain, parcel.packet);
        for trailer in parcel.slots() {
            self.append(chain, *trailer);
        }
    }

    /// The first packet, which must exist; its trailers, if it has any, go to `slots`.
    #[inline]
    pub(super) fn pop(&mut self, chain: &mut Chain, slots: &mut Trailers) -> Packet {
        let packet = self.take(chain);
        for slot in &mut slots[..packet.trailers()] {
            *slot = self.take(chain);
        }
        packet
    }

    #[inline]
    fn append(&mut self, chain: &mut Chain, packet: Packet) {
        let slot = self.slot(packet);
        match chain.last {
            NONE => chain.first = slot,
            last => self.next[last as usize] = slot,
        }
        chain.last = slot;
    }

    /// A slot that holds a packet.
    #[inline]
    fn slot(&mut self, packet: Packet) -> u32 {
        if self.free == NONE {
            return self.grow(packet);
        }
        let slot = self.free;
        self.free = std::mem::replace(&mut self.next[slot as usize], NONE);
        self.slots[slot as usize] = packet;
        slot
    }

    #[cold]
    fn grow(&mut self, packet: Packet) -> u32 {
        let slot = self.slots.len() as u32;
        assert!(slot < NONE, "a port holds fewer than 2^32 - 1 packets");
        self.slots.push(packet);
        self.next.push(NONE);
        slot
    }

    #[inline]
    fn take(&mut self, chain: &mut Chain) -> Packet {
        let slot = chain.first;
        debug_assert!(slot != NONE, "took from an empty queue");
        chain.first = std::mem::replace(&mut self.next[slot as usize], self.free);
        self.free = slot;
        if chain.first == NONE {
            chain.last = NONE;
        }
        self.slots[slot as usize]
    }
}
