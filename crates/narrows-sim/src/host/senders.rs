//! The sending half of a host, which mechanisms act upon.

use narrows_proto::units::Time;

use super::agenda::{Agenda, Wake};
use super::nic::Nic;
use super::outgoing::Outgoing;
use super::slots::Slots;
use crate::packet::{NO_TRAILERS, Parcel};
use crate::ring::Ring;
use crate::world::World;

/// The sending half of a host: its flows, the network card they share, and timers.
#[derive(Debug)]
pub(crate) struct Senders {
    pub(crate) nic: Nic,
    pub(crate) outgoing: Slots<Outgoing>,
    pub(crate) agenda: Agenda,
}

impl Senders {
    /// Puts what is in `slot` into a queue of the card, if it is in none.
    pub(crate) fn activate<O>(&mut self, slot: u32, world: &World<O>) {
        let Some(outgoing) = self.outgoing.get_mut(slot) else { return };
        if !outgoing.place.queued {
            let priority = world.shared.groups[outgoing.group as usize].priority;
            self.nic.activate(priority, slot, &mut self.outgoing);
        }
    }

    /// The sender in `slot` may have something to send, and its timer may have changed.
    #[inline]
    pub(crate) fn attend<O>(&mut self, slot: u32, world: &World<O>) {
        let outgoing = self.outgoing.get_mut(slot).expect("the caller has just used it");
        outgoing.arm(outgoing.next_timer(), slot, &mut self.agenda);
        if !outgoing.place.queued {
            let priority = world.shared.groups[outgoing.group as usize].priority;
            self.nic.activate(priority, slot, &mut self.outgoing);
        }
    }

    /// Packets that were held back are ready again, before those that became ready since.
    pub(crate) fn return_held(&mut self, held: &mut Ring<crate::packet::Packet>) {
        let mut trailers = NO_TRAILERS;
        while let Some(packet) = self.nic.pop_ready(&mut trailers) {
            held.push_with(Parcel { packet, trailers: &trailers });
        }
        while !held.is_empty() {
            let packet = held.pop(&mut trailers);
            self.nic.push_ready(Parcel { packet, trailers: &trailers });
        }
    }

    /// Wakes mechanisms at `at`.
    pub(crate) fn plan(&mut self, at: Time) {
        self.agenda.plan(at, Wake::Mechanisms);
    }
}
