//! Switches: store and forward, output queued, one packet memory.
//!
//! A packet passes fixed stages: route, queue, marking, admission to the packet memory, flow control, congestion point, link.

mod common;
mod config;
mod fifo;
mod grouped;
mod late;
mod parts;
mod queue;
mod queued;

use narrows_proto::units::Time;

use self::common::Common;
pub use self::config::{PortKind, SwitchConfig};
use self::fifo::FifoPorts;
pub(crate) use self::parts::{SignalParts, SwitchParts};
pub(crate) use self::queue::sojourn;
#[cfg(test)]
pub(crate) use self::queue::waiting;
use self::queued::QueuedPorts;
use crate::ids::LinkId;
pub use crate::mechanism::buffer::{Buffer, Dynamic, Sharing};
pub use crate::mechanism::congestion_point::{
    Bcn, BcnVersion, CongestionPoint, MOST_CONGESTION_POINTS, Message, Qcn, Reach, Reached, Sampling,
};
pub use crate::mechanism::marking::{
    Beside, Codel, MarkAt, Marking, Phantom, PhantomCounters, Pie, RealQueue, Red, RedAction, RedAt,
    ScaledThreshold, Sojourn, Step, Threshold,
};
pub use crate::mechanism::pause::Pause;
pub use crate::mechanism::pfc::{Pfc, Xoff};
use crate::mechanism::registry::SwitchMechanisms;
use crate::observe::{Observer, Reviewed};
use crate::packet::{NO_TRAILERS, Packet, Parcel};
use crate::prefetch::prefetch;
use crate::record::PortCounters;
use crate::routing::edits::Edits;
use crate::routing::{Access, Choice, Hashed, PacketRule, Routes};
use crate::world::{Arrival, Arrivals, MAX_WINDOW, OWN, World, check_places, entry, place};

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Its wires are next to each other.
    first_wire: u32,
    wires: u32,
    /// Its index among switches with hosts; any other number if it has none.
    leaf: u32,
    /// Some of its wires lose packets.
    impaired: bool,
    /// Routes are looked up when packets have been sorted, because the choice of a port depends on
    /// those before, or because it matters
    /// which way a packet came.
    routes_late: bool,
    routes: Routes,
    choice: Choice,
    /// The rule that chooses for each packet, if there is one.
    by_packet: Option<Box<PacketRule>>,
    ports: Ports,
    /// By port: the wire it leads to if this thread has it, an impossible one otherwise. For speed only.
    leads_to: Box<[u32]>,
    common: Common,
    edits: Edits,
    no_route: Box<PortCounters>,
    /// Mechanisms of the whole switch, if there are any.
    mechanisms: Option<Box<SwitchMechanisms>>,
}

/// The output ports.
#[derive(Debug)]
enum Ports {
    Fifo(FifoPorts),
    Queued(QueuedPorts),
}

const UNROUTED: u16 = u16::MAX;
/// The most ports a switch may have: they are numbered with 15 bits.
pub const MOST_PORTS: usize = (1 << 15) - 1;

/// Number of packets ahead for which the place on the link they leave on is prefetched.
const LOOK_AHEAD: usize = 4;

impl Switch {
    /// Prefetches the state of wires and ports, some nodes before this one is advanced.
    #[inline]
    pub(crate) fn prefetch_state<O>(&self, world: &World<O>) {
        let first = self.first_wire as usize;
        let last = first + self.wires as usize;
        world.wires.heads[first..last].iter().step_by(8).for_each(prefetch);
        world.wires.wires[first..last].iter().for_each(prefetch);
        if let Ports::Fifo(ports) = &self.ports {
            ports.prefetch();
        }
    }

    /// Prefetches the packets that arrive before `until`, and for what waits at the ports.
    #[inline]
    pub(crate) fn prefetch_packets<O>(&self, until: Time, world: &World<O>) {
        let first = self.first_wire as usize;
        let last = first + self.wires as usize;
        for (head, wire) in world.wires.heads[first..last].iter().zip(&world.wires.wires[first..last]) {
            if *head < until {
                wire.ring.prefetch_front();
            }
        }
        if let Ports::Fifo(ports) = &self.ports {
            ports.prefetch_starts();
        }
    }

    /// Does everything due before `until`. Returns when the next thing is due.
    pub(crate) fn advance<O: Observer>(&mut self, until: Time, world: &mut World<O>) -> Time {
        if let Some(above) = self.may_group::<O>(until) {
            return self.advance_grouped(until, above, world);
        }
        let mut arrivals = std::mem::take(&mut world.arrivals);
        let next_arrival = self.collect(until, &mut arrivals, world);
        let Arrivals { list, trailers, order, wires, .. } = &mut arrivals;
        if let Some(mechanisms) = &mut self.mechanisms {
            mechanisms.prefetch(list, world);
        }
        order.sort_unstable();
        for (number, entry) in order.iter().enumerate() {
            let ahead = order.get(number + LOOK_AHEAD).and_then(|ahead| list.get(place(*ahead)));
            if let Some(wire) = ahead.and_then(|ahead| world.wires.wires.get(ahead.leaves_on as usize)) {
                wire.ring.prefetch_end();
            }
            let arrival = &list[place(*entry)];
            let parcel = arrival.parcel(trailers);
            let now = parcel.packet.at();
            match arrival.port {
                UNROUTED => {
                    let from = wires.get(place(*entry)).copied().unwrap_or(OWN);
                    self.join_late(now, parcel, from, world);
                }
                port => self.join(now, port.into(), parcel, OWN, world),
            }
        }
        list.clear();
        trailers.clear();
        order.clear();
        wires.clear();
        world.arrivals = arrivals;
        let next_arrival = match &self.mechanisms {
            None => next_arrival,
            Some(_) => next_arrival.min(self.serve_mechanisms(Time::from_ps(until.as_ps() - 1), world)),
        };
        match &mut self.ports {
            Ports::Fifo(_) => next_arrival,
            Ports::Queued(ports) => next_arrival.min(ports.serve_before(until, &mut self.common, world)),
        }
    }

    /// A packet that came over wire number `from` joins a port.
    #[inline(always)]
    fn join<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        parcel: Parcel<'_>,
        from: u32,
        world: &mut World<O>,
    ) {
        match &mut self.ports {
            Ports::Fifo(ports) => ports.join(now, port, parcel, &mut self.common, world),
            Ports::Queued(ports) => {
                if ports.join(now, port, parcel, from, &mut self.common, world) {
                    self.send_message(now, world);
                }
            }
        }
    }

    /// Sends the message that a congestion point has made.
    #[inline(never)]
    fn send_message<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let Ports::Queued(ports) = &mut self.ports else { return };
        if let Some(message) = ports.take_message() {
            self.join_late(now, Parcel::bare(message), OWN, world);
        }
    }

    /// Takes what arrives before `until` off the wires. Returns when the first packet after that arrives.
    #[inline]
    fn collect<O: Observer>(&mut self, until: Time, arrivals: &mut Arrivals, world: &mut World<O>) -> Time {
        let origin = until.as_ps().saturating_sub(MAX_WINDOW.as_ps());
        let route_now = self.edits.next >= until && !self.routes_late;
        let mut next = Time::NEVER;
        let mut slots = NO_TRAILERS;
        let first = self.first_wire as usize;
        for wire in first..first + self.wires as usize {
            let head = world.wires.heads[wire];
            if head >= until {
                next = next.min(head);
                continue;
            }
            let mut ring = std::mem::take(&mut world.wires.wires[wire].ring);
            let head = loop {
                let head = ring.front_at();
                if head >= until {
                    break head;
                }
                let packet = ring.pop(&mut slots);
                world.hops += 1;
                if self.impaired && !world.survives(wire, Parcel { packet, trailers: &slots }) {
                    continue;
                }
                let port = if route_now {
                    self.route(packet, &world.shared.access)
                } else {
                    arrivals.wires.push((wire - first) as u32);
                    UNROUTED
                };
                let leaves_on = self.leads_to.get(usize::from(port)).copied().unwrap_or(u32::MAX);
                world.wires.prefetch(leaves_on);
                let trailers = if packet.trailers() == 0 { 0 } else { arrivals.keep(&slots) };
                arrivals.order.push(entry(head.as_ps() - origin, arrivals.list.len()));
                arrivals.list.push(Arrival { packet, port, trailers, leaves_on });
            };
            world.wires.wires[wire].ring = ring;
            world.wires.heads[wire] = head;
            next = next.min(head);
        }
        check_places(arrivals.list.len());
        next
    }

    #[inline(always)]
    fn route(&self, packet: Packet, access: &[Access]) -> u16 {
        let access = access[packet.to().index()];
        if access.leaf == self.leaf {
            return access.port;
        }
        let hashed = Hashed { flow: packet.flow(), to: packet.to(), entropy: packet.entropy() };
        self.routes.port(access.leaf, hashed, &self.choice).unwrap_or(UNROUTED)
    }

    /// Shows the observer the counters of each port, after it was called for everything up to `now`.
    pub(crate) fn review<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        match &mut self.ports {
            Ports::Fifo(ports) => ports.settle(now, &mut self.common, world),
            Ports::Queued(ports) => ports.report(&mut self.common),
        }
        self.report_choices();
        self.common.report_marking();
        for (link, counters) in self.common.links.iter().zip(&self.common.counters) {
            world.observer.review(Reviewed::Port(*link, counters));
        }
        world.observer.review(Reviewed::NoRoute(&self.no_route));
    }

    /// Brings everything up to date at the end of the run and calls `report` with the counters of each port, and of
    /// packets that had nowhere to go.
    pub(crate) fn finish<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World<O>,
        mut report: impl FnMut(Option<LinkId>, &PortCounters),
    ) {
        if let Some(mechanisms) = &mut self.mechanisms {
            mechanisms.finish(&mut world.log);
        }
        let waiting = match &mut self.ports {
            Ports::Fifo(ports) => ports.finish(now, &mut self.common, world),
            Ports::Queued(ports) => {
                ports.finish(now, &mut self.common);
                ports.waiting()
            }
        };
        self.report_choices();
        self.common.report_marking();
        let used = self.common.memory.used;
        assert!(waiting == used, "{waiting} B wait, {used} B of memory are in use");
        for (link, counters) in self.common.links.iter().zip(&self.common.counters) {
            report(Some(*link), counters);
        }
        report(None, &self.no_route);
    }

    /// Enters what the rule that chooses for each packet has counted into the counters of the ports.
    fn report_choices(&mut self) {
        let Some(rule) = &self.by_packet else { return };
        for (port, counters) in self.common.counters.iter_mut().enumerate() {
            rule.report(port, counters);
        }
    }
}

impl Ports {
    /// Bytes that wait at a port.
    fn backlog<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        match self {
            Self::Fifo(ports) => ports.backlog(now, port, common, world),
            Self::Queued(ports) => ports.backlog(now, port, common, world),
        }
    }

    /// The length of the queue of a port: twice the bytes that wait, and one more while a packet is being sent.
    fn length<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        let waiting = self.backlog(now, port, common, world);
        let busy_until = match self {
            Self::Fifo(ports) => ports.busy_until(port),
            Self::Queued(ports) => ports.busy_until(port),
        };
        waiting << 1 | u64::from(busy_until > now)
    }
}
