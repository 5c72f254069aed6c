//! Packets whose route is looked up late, because something looks at them first: neighbors for their frames, mechanisms of the whole
//! switch.

use narrows_proto::units::Time;

use super::{Ports, Switch, UNROUTED};
use crate::mechanism::StopFrame;
use crate::mechanism::at_routing::Fork;
use crate::mechanism::at_switch::Pass;
use crate::observe::{Observer, PacketRef};
use crate::packet::{Control, Packet, Parcel};
use crate::record::DropCause;
use crate::routing::changes::NewRow;
use crate::world::World;

impl Switch {
    /// Routes are looked up late, or are changing, or there is none.
    #[cold]
    pub(super) fn join_late<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel<'_>,
        from: u32,
        world: &mut World<O>,
    ) {
        let packet = parcel.packet;
        // First, so that ports see everything in order of time.
        if self.mechanisms.is_some() {
            self.serve_mechanisms(now, world);
        }
        if packet.control().is_some_and(Control::is_for_neighbor) {
            return self.on_neighbor(now, packet, from, world);
        }
        let Some(mechanisms) = &mut self.mechanisms else { return self.route_late(now, parcel, from, world) };
        match mechanisms.pass(now, packet, from, world) {
            Pass::Through(packet) => self.route_late(now, parcel.with(packet), from, world),
            Pass::Over(packet, number) => self.join_uplink(now, parcel.with(packet), number, from, world),
            Pass::LastHop(packet) => {
                let port = world.shared.access[packet.to().index()].port;
                let backlog = self.ports.backlog(now, port.into(), &mut self.common, world);
                let Some(mechanisms) = &mut self.mechanisms else { return };
                let packet = mechanisms.on_last_hop(now, port, packet, backlog);
                self.route_late(now, parcel.with(packet), from, world);
            }
            Pass::Taken => {}
            Pass::Full(port) => self.common.drop(now, port.into(), parcel, DropCause::Limiter, world),
        }
    }

    /// A frame or message of the neighbor at the other end of link number `from` arrived.
    fn on_neighbor<O: Observer>(&mut self, now: Time, packet: Packet, from: u32, world: &mut World<O>) {
        let Ports::Queued(ports) = &mut self.ports else { return };
        match StopFrame::read(packet) {
            Some(stop) => ports.on_stop(&stop, now, &mut self.common, world),
            None => ports.on_message(now, from, packet, &mut self.common, world),
        }
    }

    /// A packet leaves over one of the uplinks that lead to its destination.
    fn join_uplink<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel<'_>,
        number: u32,
        from: u32,
        world: &mut World<O>,
    ) {
        self.edit_routes(now);
        let ports = self.routes.ports_to(world.shared.access[parcel.packet.to().index()].leaf);
        match ports.get(number as usize % ports.len().max(1)) {
            Some(port) => self.join(now, (*port).into(), parcel, from, world),
            None => self.drop_unrouted(now, parcel, world),
        }
    }

    /// Lets mechanisms do what is due up to and including `last`. Returns when the next of it is due.
    #[inline(never)]
    pub(super) fn serve_mechanisms<O: Observer>(&mut self, last: Time, world: &mut World<O>) -> Time {
        loop {
            let Some(mechanisms) = &mut self.mechanisms else { return Time::NEVER };
            let at = mechanisms.next();
            if at > last {
                return at;
            }
            for port in 0..mechanisms.wants_backlogs(at) {
                let backlog = self.ports.backlog(at, port.into(), &mut self.common, world);
                mechanisms.on_backlog(port, backlog);
            }
            mechanisms.step(at, world);
            while let Some((packet, trailers, from)) =
                self.mechanisms.as_mut().and_then(|mechanisms| mechanisms.take_packet())
            {
                self.route_late(at, Parcel { packet, trailers: &trailers }, from, world);
            }
        }
    }

    /// Looks up the route of a packet now.
    fn route_late<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, from: u32, world: &mut World<O>) {
        let packet = parcel.packet;
        self.edit_routes(now);
        let leaf = world.shared.access[packet.to().index()].leaf;
        let port = match &mut self.by_packet {
            Some(rule) if leaf != self.leaf => match self.routes.ports_to(leaf) {
                [] => UNROUTED,
                ports => {
                    let fork = Fork { now, flow: packet.flow(), leaf, ports };
                    let (ports, common) = (&mut self.ports, &mut self.common);
                    rule.choose(&fork, |port| ports.length(now, port.into(), common, world))
                }
            },
            _ => self.route(packet, &world.shared.access),
        };
        match port {
            UNROUTED => self.drop_unrouted(now, parcel, world),
            port => self.join(now, port.into(), parcel, from, world),
        }
    }

    fn drop_unrouted<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        self.no_route.count_drop(DropCause::NoRoute, parcel.packet.size());
        world.observer.unrouted(now, PacketRef::new(parcel));
    }

    /// A row of its routes is another from this moment on, which is not before that of the last.
    pub(crate) fn edit_route(&mut self, at: Time, row: &NewRow<'_>) {
        self.edits.push(at, row);
    }

    /// Takes over what has changed of its routes.
    #[inline]
    pub(crate) fn edit_routes(&mut self, now: Time) {
        if self.edits.next <= now {
            self.edits.apply(now, &mut self.routes);
        }
    }
}
