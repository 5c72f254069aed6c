//! Where there is no room: packets that give way to others, and others in their place.

use super::{Mechanisms, QueuedPorts};
use narrows_proto::units::Time;

use crate::mechanism::at_ports::{Refused, Replaced};
use crate::mechanism::at_queues::Place;
use crate::mechanism::registry::QueueMechanisms;
use crate::observe::Observer;
use crate::packet::{NO_TRAILERS, Packet, Parcel};
use crate::record::DropCause;
use crate::switch::common::Common;
use crate::switch::queue::{Origin, QueuedPort};
use crate::world::World;

impl QueuedPorts {
    /// A packet arrives, and a mechanism may put another in its place.
    #[inline(never)]
    pub(super) fn join_replaced<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'_>,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let Self { ports, mechanisms: Some(mechanisms), .. } = self else { return false };
        let (queue, replaced) = replaced(now, &ports[number], number, parcel.packet, mechanisms, common);
        let mut notifies = false;
        let parcel = match replaced {
            None => parcel,
            Some(Replaced::Arriving(packet)) => parcel.with(packet),
            Some(Replaced::Youngest(packet)) => {
                notifies = self.rejoin(Place { now, port: number, queue }, packet, common, world);
                parcel
            }
        };
        notifies | self.join_with_mechanisms::<true, O>(now, number, parcel, from, common, world)
    }

    /// The youngest packet of a queue joins one again, as this one.
    fn rejoin<O: Observer>(
        &mut self,
        place: Place,
        becomes: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let Place { now, port: number, queue } = place;
        let mut slots = NO_TRAILERS;
        let port = &mut self.ports[number];
        let Some(packet) = port.pop_youngest(queue, &mut slots) else { return false };
        world.observer.backlog(now, port.link(), port.waiting);
        let (size, origin) = (u64::from(packet.size()), Origin::of(packet));
        common.memory.used -= size;
        self.on_left(now, number, origin, size, common, world);
        let parcel = Parcel { packet: becomes, trailers: &slots };
        self.join_with_mechanisms::<true, O>(now, number, parcel, origin.from, common, world)
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

/// The queue of a packet, and the packet that a mechanism puts in its place because it would have to wait.
fn replaced(
    now: Time,
    port: &QueuedPort,
    number: usize,
    packet: Packet,
    mechanisms: &mut Mechanisms,
    common: &Common,
) -> (usize, Option<Replaced>) {
    let queue = mechanisms.at_ports.queue_of(number, packet);
    let waits = port.busy_until > now || mechanisms.open(port, number, now) & 1 << queue == 0;
    if !waits {
        return (queue, None);
    }
    let refused = Refused { port: number, packet, backlog: port.backlog(queue) };
    // Flow control by class admits packets itself.
    let needs_memory = !mechanisms.flow_control.admits();
    let no_room = || needs_memory && common.memory.admit(refused.backlog, packet.size().into()).is_err();
    (queue, mechanisms.at_ports.replace(&refused, no_room, || port.youngest(queue)))
}
