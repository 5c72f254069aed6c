//! Ports that signal: scheduled ports with congestion points, and ports that PAUSE stops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use narrows_proto::notification::Notification;
use narrows_proto::units::{Span, Time};

use super::Common;
use super::congestion_point::CongestionPoints;
use super::pause::{Ingresses, Order};
use super::scheduled::ScheduledPort;
use crate::engine::World;
use crate::ids::{HostId, LinkId};
use crate::link::Egress;
use crate::observe::Observer;
use crate::packet::{Kind, Packet};

/// All ports of a switch that signals, or that a neighbour may pause.
#[derive(Debug)]
pub(super) struct SignallingPorts {
    ports: Vec<ScheduledPort>,
    gates: Vec<Gate>,
    /// When ports may send something they have, and when pauses are renewed: the number of a port, or behind those of an
    /// ingress. An entry counts only if its gate or ingress agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first of these times.
    next: Time,
    points: Option<CongestionPoints>,
    ingresses: Option<Ingresses>,
}

/// What is special about a port.
#[derive(Clone, Copy, Debug)]
struct Gate {
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
        points: Option<CongestionPoints>,
        ingresses: Option<Ingresses>,
    ) -> Self {
        let gate = Gate { due: Time::NEVER, paused_until: Time::ZERO, frame: None };
        Self {
            ports: egresses.iter().map(ScheduledPort::new).collect(),
            gates: vec![gate; egresses.len()],
            agenda: BinaryHeap::new(),
            next: Time::NEVER,
            points,
            ingresses,
        }
    }

    /// Bytes that wait at all ports. PAUSE frames have their own place.
    pub(super) fn waiting(&self) -> u64 {
        self.ports.iter().map(|port| port.waiting).sum()
    }

    /// A packet that came over link number `from` of the switch arrives at a port. Returns a message to its source, if the
    /// congestion point has one.
    pub(super) fn join<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        packet: Packet,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Option<Packet> {
        if self.next <= now {
            self.serve(now, common, world);
        }
        let (port, gate) = (&mut self.ports[number], &mut self.gates[number]);
        let backlog = port.backlog(packet.priority());
        let waits = port.busy_until.max(gate.paused_until) > now;
        debug_assert!(waits || port.is_empty(), "a free port has sent what it had");
        let is_message = packet.kind() == Kind::Notice;
        let packet = if is_message {
            common.admit(now, number, packet, backlog, !waits, world)?
        } else {
            let idle_since = (!waits).then_some(port.busy_until);
            common.judge(now, number, packet, backlog, idle_since, world)?
        };
        let size = u64::from(packet.size());
        if waits {
            common.memory.used += size;
            // While it waits a packet needs no time of arrival; it remembers which way it came.
            port.push(packet.arriving(Time::from_ps(from.into())), &world.trailers);
            common.note_backlog(now, number, port.waiting, world);
            let due = port.busy_until.max(gate.paused_until);
            if due < gate.due {
                gate.due = due;
                self.next = self.next.min(due);
                self.agenda.push(Reverse((due, number as u32)));
            }
            self.store(now, from, size, common, world);
        } else {
            port.transmit(now, packet, world);
        }
        if is_message {
            return None;
        }
        let points = self.points.as_mut()?;
        let notification = points.on_arrival(number, packet, if waits { backlog + size } else { 0 })?;
        Some(points.tell(now, number, packet, &notification, common, world))
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
        self.gates[number].paused_until = now + pause;
        world.observer.paused(now, link, now + pause);
        self.reconsider(number);
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
        let in_hand = world.trailers;
        while let Some(&Reverse((at, number))) = self.agenda.peek()
            && at <= now
        {
            let order = self.step(at, number as usize, common, world);
            self.obey(at, order, common, world);
        }
        self.next = self.agenda.peek().map_or(Time::NEVER, |entry| entry.0.0);
        world.trailers = in_hand;
    }

    /// Does what the first entry of the agenda says. Returns what a neighbour is to be told.
    #[inline]
    fn step<O: Observer>(
        &mut self,
        at: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Option<Order> {
        let mut entry = self.agenda.peek_mut()?;
        let Some(gate) = self.gates.get_mut(number) else {
            PeekMut::pop(entry);
            return self.ingresses.as_mut()?.renew(at, number - self.ports.len(), neighbour(world));
        };
        if gate.due != at {
            PeekMut::pop(entry);
            return None;
        }
        let port = &mut self.ports[number];
        let mut released = None;
        if let Some(frame) = gate.frame.take() {
            port.transmit(at, frame, world);
        } else {
            let packet = port.pop(&mut world.trailers);
            common.memory.used -= u64::from(packet.size());
            world.observer.backlog(at, port.link(), port.waiting);
            port.transmit(at, packet, world);
            released = Some((packet.at().as_ps() as usize, u64::from(packet.size())));
        }
        gate.due = gate.next(port);
        if gate.due < Time::NEVER {
            entry.0.0 = gate.due;
        } else {
            PeekMut::pop(entry);
        }
        let (from, size) = released?;
        self.ingresses.as_mut()?.release(at, from, size, neighbour(world))
    }

    #[inline]
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
        self.gates[port].frame = Some(order.frame);
        if self.ports[port].busy_until <= now {
            // A free port sends it at once.
            let frame = self.gates[port].frame.take();
            self.ports[port].transmit(now, frame.expect("just put there"), world);
        }
        self.reconsider(port);
    }

    /// When a port may send may have changed.
    fn reconsider(&mut self, number: usize) {
        let gate = &mut self.gates[number];
        let due = gate.next(&self.ports[number]);
        if due != gate.due {
            gate.due = due;
            if due < Time::NEVER {
                self.agenda.push(Reverse((due, number as u32)));
                self.next = self.next.min(due);
            }
        }
    }
}

impl CongestionPoints {
    /// Notes a message of a port about a packet, and makes it.
    #[inline(never)]
    fn tell<O: Observer>(
        &self,
        now: Time,
        port: usize,
        sampled: Packet,
        notification: &Notification,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Packet {
        common.note_message(now, port, notification.signal, world);
        let source = world.shared.flows[sampled.flow().index()].from;
        self.message(notification, sampled, source)
    }
}

impl Gate {
    /// When the port may send something it has.
    #[inline]
    fn next(&self, port: &ScheduledPort) -> Time {
        if self.frame.is_some() {
            port.busy_until
        } else if port.is_empty() {
            Time::NEVER
        } else {
            port.busy_until.max(self.paused_until)
        }
    }
}

/// The address of PAUSE frames: no host has it, so that they are recognised where routes are looked up.
fn neighbour<O>(world: &World<O>) -> HostId {
    HostId(world.shared.access.len() as u32 - 1)
}
