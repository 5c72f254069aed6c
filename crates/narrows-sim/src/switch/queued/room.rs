//! Where there is no room: packets that give way to others, and others in their place.

use super::QueuedPorts;
use narrows_proto::units::Time;

use crate::mechanism::at_ports::Refused;
use crate::mechanism::at_queues::Place;
use crate::mechanism::registry::QueueMechanisms;
use crate::observe::Observer;
use crate::packet::{NO_TRAILERS, Parcel};
use crate::record::DropCause;
use crate::switch::common::Common;
use crate::switch::queue::Origin;
use crate::world::World;

impl QueuedPorts {
    /// A packet that has to wait in this queue, or what a mechanism has put in its place, with its queue.
    #[inline(always)]
    pub(super) fn replace<'a>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'a>,
        queue: usize,
        needs_memory: bool,
        common: &Common,
    ) -> (Parcel<'a>, usize, bool) {
        let Some(mechanisms) = self.mechanisms.as_deref_mut() else { return (parcel, queue, true) };
        let refused =
            Refused { port: number, packet: parcel.packet, backlog: self.ports[number].backlog(queue) };
        let size = u64::from(parcel.packet.size());
        let no_room = || needs_memory && common.memory.admit(refused.backlog, size).is_err();
        match mechanisms.at_ports.replace(&refused, no_room) {
            None => (parcel, queue, true),
            Some(packet) => {
                let (queue, waits) = self.queue_of::<true>(now, number, packet);
                (parcel.with(packet), queue, waits)
            }
        }
    }

    /// Where there is no room for a packet of this size, others give way, if a mechanism that keeps them says so.
    #[inline]
    pub(super) fn make_room<O: Observer>(
        &mut self,
        place: Place,
        size: u64,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let backlog = self.ports[place.port].backlog(place.queue);
        if let Err(cause) = common.memory.admit(backlog, size) {
            self.give_way(place, cause, common, world);
        }
    }

    /// The mechanism that keeps what waits, if one does.
    fn keeper(&mut self) -> Option<&mut QueueMechanisms> {
        self.mechanisms.as_mut()?.queues.as_deref_mut()
    }

    #[cold]
    fn give_way<O: Observer>(
        &mut self,
        place: Place,
        cause: DropCause,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Place { now, port: number, queue } = place;
        let mut slots = NO_TRAILERS;
        let packets = self.keeper().map_or(0, |keeper| keeper.overflow(place));
        for _ in 0..packets {
            let dropped = self.keeper().and_then(|keeper| keeper.give_way(place, &mut slots));
            let Some(packet) = dropped else { break };
            let port = &mut self.ports[number];
            port.count_out(queue, packet);
            common.memory.used -= u64::from(packet.size());
            world.observer.backlog(now, port.link(), port.waiting);
            let size = packet.size().into();
            common.drop(now, number, Parcel { packet, trailers: &slots }, cause, world);
            self.on_left(now, number, Origin::of(packet), size, common, world);
        }
    }
}
