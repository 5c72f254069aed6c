//! Packets whose route is looked up late, because a mechanism of the switch looks at them first: frames of neighbors, limiters at the
//! edge, agents of racks.

use narrows_proto::units::Time;

use super::{OWN, Ports, Switch, UNROUTED};
use crate::mechanism::StopFrame;
use crate::mechanism::limiter::Entry;
use crate::mechanism::rackcc::Pass;
use crate::observe::Observer;
use crate::packet::{Control, Packet, Parcel};
use crate::record::DropCause;
use crate::routing::Choice;
use crate::world::World;

impl Switch {
    /// Lets mechanisms do what is due up to and including `last`. Returns when the next of them has something to do.
    pub(super) fn serve_early<O: Observer>(&mut self, last: Time, world: &mut World<O>) -> Time {
        let told = self.tell_rack(last, world);
        self.release_limited(last, world);
        told.min(self.early.edge.as_ref().map_or(Time::NEVER, |edge| edge.next()))
    }

    /// Packets that limiters release up to and including `now` join their ports.
    fn release_limited<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        while let Some((at, packet, from)) =
            self.early.edge.as_mut().and_then(|edge| edge.release(now, world))
        {
            self.route_late(at, Parcel::bare(packet), from, world);
        }
    }

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
        if self.early.rack.is_some() {
            self.tell_rack(now, world);
        }
        if self.early.edge.is_some() {
            self.release_limited(now, world);
        }
        let control = packet.control();
        if control.is_some_and(Control::is_for_neighbor) {
            return self.on_neighbor(now, packet, from, world);
        }
        if let Some(edge) = &mut self.early.edge {
            if packet.is_cnm() && world.shared.access[packet.to().index()].leaf == self.leaf {
                return edge.on_notice(now, packet, world);
            }
            match edge.enter(now, packet, from, world) {
                Entry::Through => {}
                Entry::Kept => return,
                Entry::Full(port) => {
                    return self.common.drop(now, port.into(), parcel, DropCause::Limiter, world);
                }
            }
        }
        if self.early.rack.is_some() {
            return self.join_at_rack(now, parcel, from, world);
        }
        self.route_late(now, parcel, from, world);
    }

    /// A frame or message of the neighbor at the other end of link number `from` arrived.
    fn on_neighbor<O: Observer>(&mut self, now: Time, packet: Packet, from: u32, world: &mut World<O>) {
        let Ports::Queued(ports) = &mut self.ports else { return };
        match StopFrame::read(packet) {
            Some(stop) => ports.on_stop(&stop, now, &mut self.common, world),
            None => ports.on_flow_message(now, from, packet, &mut self.common, world),
        }
    }

    /// Looks up the route of a packet now.
    fn route_late<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, from: u32, world: &mut World<O>) {
        let packet = parcel.packet;
        self.edit_routes(now);
        let leaf = world.shared.access[packet.to().index()].leaf;
        let port = match &mut self.choice {
            Choice::Spray(random) if leaf != self.leaf => {
                self.routes.any_port(leaf, random).unwrap_or(UNROUTED)
            }
            _ => self.route(packet, &world.shared.access),
        };
        match port {
            UNROUTED => self.no_route.count_drop(DropCause::NoRoute, packet.size()),
            port => self.join(now, port.into(), parcel, from, world),
        }
    }

    /// Takes over what has changed of its routes.
    #[inline]
    fn edit_routes(&mut self, now: Time) {
        if self.next_edit <= now {
            while let Some((_, routes)) = self.edits.pop_if(|edit| edit.0 <= now) {
                self.routes = routes;
            }
            self.next_edit = self.edits.last().map_or(Time::NEVER, |edit| edit.0);
        }
    }

    /// A packet joins a port of a switch that keeps the state of JumboFlows.
    fn join_at_rack<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, from: u32, world: &mut World<O>) {
        let Some(rack) = &mut self.early.rack else { return };
        let (packet, over) = match rack.pass(now, parcel.packet, from, world) {
            Pass::Through(packet) => (packet, None),
            Pass::Over(packet, number) => (packet, Some(number as usize)),
            Pass::LastHop(packet) => {
                let access = world.shared.access[packet.to().index()];
                let backlog = self.ports.backlog(now, access.port.into(), &mut self.common, world);
                let Some(rack) = &mut self.early.rack else { return };
                let may_be_marked = rack.on_last_hop(now, access.port, packet.to(), backlog);
                (if may_be_marked { packet } else { packet.exempt() }, None)
            }
            Pass::Taken => return,
        };
        let parcel = parcel.with(packet);
        let Some(number) = over else { return self.route_late(now, parcel, from, world) };
        self.edit_routes(now);
        let ports = self.routes.ports_to(world.shared.access[packet.to().index()].leaf);
        match ports.get(number % ports.len().max(1)) {
            Some(port) => self.join(now, (*port).into(), parcel, from, world),
            None => self.no_route.count_drop(DropCause::NoRoute, packet.size()),
        }
    }

    /// Sends what hosts of the rack are told up to and including `last`. Returns when the next of it is due.
    #[inline(never)]
    fn tell_rack<O: Observer>(&mut self, last: Time, world: &mut World<O>) -> Time {
        loop {
            let Some(rack) = &mut self.early.rack else { return Time::NEVER };
            let at = rack.next();
            if at > last {
                return at;
            }
            for port in rack.reports(at) {
                let backlog = self.ports.backlog(at, port.into(), &mut self.common, world);
                rack.report(port, backlog);
            }
            rack.step(at, world);
            while let Some((packet, trailers)) = self.early.rack.as_mut().and_then(|rack| rack.take_message())
            {
                self.route_late(at, Parcel { packet, trailers: &trailers }, OWN, world);
            }
        }
    }
}
