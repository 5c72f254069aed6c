//! Ports that signal: scheduled ports with congestion points or telemetry, and ports that PAUSE stops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use narrows_proto::units::{Span, Time};

use super::common::Common;
use super::congestion_point::{CongestionPoints, Sampler};
use super::pause::{Ingresses, Order};
use super::scheduled::ScheduledPort;
use crate::ids::{HostId, LinkId};
use crate::link::Egress;
use crate::observe::Observer;
use crate::packet::{NO_TRAILERS, Packet, Parcel, Trailers};
use crate::telemetry::Meter;
use crate::world::World;

/// All ports of a switch that signals, or that a neighbour may pause.
#[derive(Debug)]
pub(super) struct SignallingPorts {
    ports: Vec<SignallingPort>,
    /// When ports may send something they have, and when pauses are renewed: the number of a port, or behind those of an
    /// ingress. An entry counts only if its port or ingress agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first of these times.
    next: Time,
    points: Option<CongestionPoints>,
    ingresses: Option<Ingresses>,
    /// What a congestion point has just said.
    message: Option<Packet>,
}

/// A port.
#[derive(Debug)]
struct SignallingPort {
    port: ScheduledPort,
    sampler: Sampler,
    /// What writes telemetry, if the switch does.
    meter: Option<Meter>,
    /// When it may send something; the entry of the agenda that counts.
    due: Time,
    /// The neighbour allows nothing but PAUSE frames before this.
    paused_until: Time,
    /// A PAUSE frame that goes before everything else. A later one takes its place.
    frame: Option<Packet>,
}

impl SignallingPorts {
    pub(super) fn new(
        egresses: &[Egress],
        meters: Vec<Meter>,
        mut points: Option<CongestionPoints>,
        ingresses: Option<Ingresses>,
    ) -> Self {
        let mut meters = meters.into_iter();
        let mut port = |egress| SignallingPort {
            port: ScheduledPort::new(egress),
            sampler: points.as_mut().map(CongestionPoints::sampler).unwrap_or_default(),
            meter: meters.next(),
            due: Time::NEVER,
            paused_until: Time::ZERO,
            frame: None,
        };
        Self {
            ports: egresses.iter().map(&mut port).collect(),
            agenda: BinaryHeap::new(),
            next: Time::NEVER,
            points,
            ingresses,
            message: None,
        }
    }

    /// Bytes that wait at all ports. PAUSE frames have their own place.
    pub(super) fn waiting(&self) -> u64 {
        self.ports.iter().map(|port| port.port.waiting).sum()
    }

    /// A packet that came over link number `from` of the switch arrives at a port. Returns whether the congestion point has
    /// a message to its source.
    #[inline(never)]
    pub(super) fn join<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'_>,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        if self.next <= now {
            self.serve(now, common, world);
        }
        let packet = parcel.packet;
        let SignallingPort { port, sampler, meter, due, paused_until, .. } = &mut self.ports[number];
        let backlog = port.backlog(packet.priority());
        let free_at = port.busy_until.max(*paused_until);
        let waits = free_at > now;
        debug_assert!(waits || port.is_empty(), "a free port has sent what it had");
        let is_message = packet.is_notice();
        let admitted = if is_message {
            common.admit(now, number, parcel, backlog, !waits, world)
        } else {
            let idle_since = (!waits).then_some(port.busy_until);
            common.judge(now, number, parcel, backlog, idle_since, world)
        };
        let Some(packet) = admitted else { return false };
        let parcel = parcel.with(packet);
        common.tell_queued(now, number, parcel, if waits { backlog } else { 0 }, world);
        let size = u64::from(packet.size());
        if waits {
            common.memory.used += size;
            // While it waits a packet needs no time of arrival; it remembers which way it came.
            port.push(parcel.with(packet.arriving(Time::from_ps(from.into()))));
            common.note_backlog(now, number, port.waiting, world);
            if free_at < *due {
                *due = free_at;
                self.next = self.next.min(free_at);
                self.agenda.push(Reverse((free_at, number as u32)));
            }
        } else {
            transmit(now, port, meter, parcel, world);
        }
        let is_sample =
            !is_message && self.points.as_ref().is_some_and(|points| points.counts(sampler, packet));
        if waits && self.ingresses.is_some() {
            self.store(now, from, size, common, world);
        }
        is_sample && self.sample(now, number, packet, if waits { backlog + size } else { 0 }, common, world)
    }

    /// A packet that has joined a queue of `waiting` bytes is a sample. Returns whether its source is told something.
    #[inline(never)]
    fn sample<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        packet: Packet,
        waiting: u64,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let Some(points) = &mut self.points else { return false };
        let sampler = &mut self.ports[number].sampler;
        self.message = points.answer(now, sampler, number, packet, waiting, common, world);
        self.message.is_some()
    }

    /// What the last packet that joined is answered with.
    pub(super) fn take_message(&mut self) -> Option<Packet> {
        self.message.take()
    }

    /// A PAUSE frame arrived: the port of `link` sends nothing for `pause`.
    pub(super) fn pause<O: Observer>(
        &mut self,
        now: Time,
        link: LinkId,
        pause: Span,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let number = common.links.binary_search(&link).expect("a neighbour pauses the link that leads to it");
        self.ports[number].paused_until = now + pause;
        world.observer.paused(now, link, now + pause);
        self.reconsider(number);
    }

    /// Bytes that wait at a port.
    pub(super) fn backlog<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        if self.next <= now {
            self.serve(now, common, world);
        }
        self.ports[number].port.waiting
    }

    /// Lets ports send until before `until`. Returns when the next one has something it may send.
    pub(super) fn serve_before<O: Observer>(
        &mut self,
        until: Time,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Time {
        if self.next < until {
            self.serve(Time::from_ps(until.as_ps() - 1), common, world);
        }
        self.next
    }

    /// Does everything due up to and including `now`.
    fn serve<O: Observer>(&mut self, now: Time, common: &mut Common, world: &mut World<O>) {
        let mut slots = NO_TRAILERS;
        while let Some(&Reverse((at, number))) = self.agenda.peek()
            && at <= now
        {
            let order = self.step(at, number as usize, &mut slots, common, world);
            self.obey(at, order, common, world);
        }
        self.next = self.agenda.peek().map_or(Time::NEVER, |entry| entry.0.0);
    }

    /// Does what the first entry of the agenda says. Returns what a neighbour is to be told.
    #[inline]
    fn step<O: Observer>(
        &mut self,
        at: Time,
        number: usize,
        slots: &mut Trailers,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Option<Order> {
        let mut entry = self.agenda.peek_mut()?;
        let Some(port) = self.ports.get_mut(number) else {
            PeekMut::pop(entry);
            return self.ingresses.as_mut()?.renew(at, number - self.ports.len(), neighbour(world));
        };
        if port.due != at {
            PeekMut::pop(entry);
            return None;
        }
        let mut released = None;
        if let Some(frame) = port.frame.take() {
            transmit(at, &mut port.port, &mut port.meter, Parcel::bare(frame), world);
        } else {
            let packet = port.port.pop(slots);
            common.memory.used -= u64::from(packet.size());
            world.observer.backlog(at, port.port.link(), port.port.waiting);
            transmit(at, &mut port.port, &mut port.meter, Parcel { packet, trailers: slots }, world);
            released = Some((packet.at().as_ps() as usize, u64::from(packet.size())));
        }
        port.due = port.next();
        if port.due < Time::NEVER {
            entry.0.0 = port.due;
        } else {
            PeekMut::pop(entry);
        }
        let (from, size) = released?;
        self.ingresses.as_mut()?.release(at, from, size, neighbour(world))
    }

    #[inline(never)]
    fn store<O: Observer>(
        &mut self,
        now: Time,
        from: u32,
        size: u64,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        if let Some(ingresses) = &mut self.ingresses {
            let order = ingresses.store(now, from as usize, size, neighbour(world));
            self.obey(now, order, common, world);
        }
    }

    /// Lets a port send a PAUSE frame, if one is to be sent.
    #[inline(always)]
    fn obey<O: Observer>(
        &mut self,
        now: Time,
        order: Option<Order>,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        if let Some(order) = order {
            self.send_frame(now, order, common, world);
        }
    }

    #[inline(never)]
    fn send_frame<O: Observer>(
        &mut self,
        now: Time,
        order: Order,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let port = order.port as usize;
        if order.renew_at < Time::NEVER {
            common.counters[port].pauses += 1;
            self.agenda.push(Reverse((order.renew_at, (self.ports.len() + order.ingress as usize) as u32)));
            self.next = self.next.min(order.renew_at);
        }
        let it = &mut self.ports[port];
        if it.port.busy_until <= now {
            // A free port sends it at once.
            it.frame = None;
            transmit(now, &mut it.port, &mut it.meter, Parcel::bare(order.frame), world);
        } else {
            it.frame = Some(order.frame);
        }
        self.reconsider(port);
    }

    /// When a port may send may have changed.
    fn reconsider(&mut self, number: usize) {
        let port = &mut self.ports[number];
        let due = port.next();
        if due != port.due {
            port.due = due;
            if due < Time::NEVER {
                self.agenda.push(Reverse((due, number as u32)));
                self.next = self.next.min(due);
            }
        }
    }
}

/// Sends a packet, into which the switch writes telemetry if both want it.
#[inline]
pub(super) fn transmit<O: Observer>(
    now: Time,
    port: &mut ScheduledPort,
    meter: &mut Option<Meter>,
    parcel: Parcel<'_>,
    world: &mut World<O>,
) {
    let Some(meter) = meter else {
        port.transmit(now, parcel, world);
        return;
    };
    let mut trailers = *parcel.trailers;
    let packet = meter.send(now, parcel.packet, port.waiting, &mut trailers);
    port.transmit(now, Parcel { packet, trailers: &trailers }, world);
}

impl SignallingPort {
    /// When the port may send something it has.
    #[inline]
    fn next(&self) -> Time {
        if self.frame.is_some() {
            self.port.busy_until
        } else if self.port.is_empty() {
            Time::NEVER
        } else {
            self.port.busy_until.max(self.paused_until)
        }
    }
}

/// The address of PAUSE frames: no host has it, so that they are recognised where routes are looked up.
pub(super) fn neighbour<O>(world: &World<O>) -> HostId {
    HostId(world.shared.access.len() as u32 - 1)
}
