//! Prefetching of what a host will need soon. Hints to the processor, without effect but on speed.

use super::Host;
use super::agenda::Wake;
use crate::packet::Kind;
use crate::prefetch::{prefetch, prefetch_at};
use crate::world::{Reception, World};

/// With no more flows than this at a host their state stays in the cache.
const FEW: usize = 200;
/// The place of a packet's flow is prefetched so many packets before it arrives, and its state so many before.
const PLACE_AHEAD: u32 = 6;
const STATE_AHEAD: u32 = 3;

impl Host {
    /// Prefetches the state of the wire, some nodes before this one is advanced.
    #[inline]
    pub(crate) fn prefetch_state<O>(&self, world: &World<O>) {
        prefetch(&world.wires.heads[self.wire]);
        prefetch(&world.wires.wires[self.wire]);
    }

    /// Prefetches the packets that arrive next, and for the sender whose turn it is.
    #[inline]
    pub(crate) fn prefetch_packets<O>(&self, world: &World<O>) {
        world.wires.wires[self.wire].ring.prefetch_front();
        if let Some(slot) = self.senders.nic.turn::<false>() {
            self.senders.outgoing.prefetch(slot);
        }
    }

    /// Prefetches the flow of the packet that arrives next.
    #[inline]
    pub(crate) fn prefetch_flow<O>(&self, world: &World<O>) {
        self.prefetch_flow_at(0, world);
    }

    /// Prefetches where the flows are listed that start.
    pub(crate) fn prefetch_start(&self) {
        prefetch_at(&self.starts, self.starts.len().wrapping_sub(1));
    }

    /// Prefetches the state of the flow of a packet.
    #[inline]
    fn prefetch_flow_at<O>(&self, ahead: u32, world: &World<O>) {
        let Some(packet) = world.wires.wires[self.wire].ring.get(ahead) else { return };
        let flow = packet.flow().index();
        if packet.kind() == Kind::Ack {
            if let Some(slot) = world.flows.senders.get(flow) {
                self.senders.outgoing.prefetch(*slot);
            }
        } else if let Some(Reception::Live { slot, .. }) = world.flows.receivers.get(flow) {
            self.incoming.prefetch(*slot);
        }
    }

    /// It has more flows than a cache holds.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.senders.outgoing.most() + self.incoming.most() > FEW
    }

    /// A window begins: prefetches the flows of the packets that arrive first, which were not on their way yet in the one before.
    #[inline(never)]
    pub(super) fn prefetch_first<O>(&self, world: &World<O>) {
        for ahead in 0..PLACE_AHEAD {
            self.prefetch_place(ahead, world);
        }
        for ahead in 0..STATE_AHEAD {
            self.prefetch_flow_at(ahead, world);
        }
    }

    /// A packet is about to be taken: prefetches the flows of those behind it.
    #[inline(never)]
    pub(super) fn prefetch_next<O>(&self, world: &World<O>) {
        self.prefetch_place(PLACE_AHEAD, world);
        self.prefetch_flow_at(STATE_AHEAD, world);
    }

    /// Prefetches the place of the flow of a packet. What stands there may belong to the packet before: then something else is prefetched.
    #[inline]
    fn prefetch_place<O>(&self, ahead: u32, world: &World<O>) {
        let Some(packet) = world.wires.wires[self.wire].ring.get(ahead) else { return };
        let flow = packet.flow().index();
        match packet.kind() {
            Kind::Ack => prefetch_at(&world.flows.senders, flow),
            _ => prefetch_at(&world.flows.receivers, flow),
        }
    }

    /// Prefetches the sender that has its turn at the network card after the next one.
    #[inline(never)]
    pub(super) fn prefetch_waiting<const BURSTS: bool>(&mut self) {
        if let Some(slot) = self.senders.nic.turn_after_next::<BURSTS>(&mut self.senders.outgoing) {
            self.senders.outgoing.prefetch(slot);
        }
    }

    /// Prefetches what the agenda will wake soon.
    #[inline]
    pub(super) fn prefetch_planned(&self) {
        match self.senders.agenda.soon() {
            Some(Wake::Sender(slot)) => self.senders.outgoing.prefetch(slot),
            Some(Wake::Receiver(slot)) => self.incoming.prefetch(slot),
            _ => {}
        }
    }
}
