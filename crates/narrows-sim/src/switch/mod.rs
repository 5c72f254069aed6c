//! Switches: store and forward, output queued, one packet memory.
//!
//! A packet passes fixed stages: route, admission to the packet memory, marking, queue, link.

mod buffer;
mod marking;
mod plain;
mod scheduled;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{Span, Time};

pub use self::buffer::{Buffer, Dynamic, Sharing};
use self::buffer::Memory;
use self::marking::{Marker, Verdict};
pub use self::marking::{Marking, Red, RedAction, Step};
use self::plain::PlainQueue;
use self::scheduled::ScheduledQueue;
use crate::engine::World;
use crate::ids::LinkId;
use crate::link::Egress;
use crate::observe::Observer;
use crate::packet::{CE, ECT, Packet};
use crate::random::Stream;
use crate::record::{DropCause, PortCounters};
use crate::routing::{Choice, Routes};

/// Settings of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Its packet memory.
    pub buffer: Buffer,
    /// How its queues signal congestion.
    pub marking: Marking,
    /// Time from the last bit of a packet until it joins a queue.
    pub latency: Span,
    /// How its ports work.
    pub ports: PortKind,
}

/// Kinds of ports. Both give the same results where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortKind {
    /// First in, first out: knows the departure of a packet when it arrives.
    #[default]
    Plain,
    /// A queue for each priority, the highest first.
    Scheduled,
}

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Its wires are next to each other.
    first_wire: usize,
    wires: usize,
    impaired: bool,
    leaf: u32,
    routes: Routes,
    choice: Choice,
    /// Changes of the routes to come, the next one last.
    edits: Vec<(Time, Routes)>,
    next_edit: Time,
    ports: Vec<Port>,
    memory: Memory,
    random: Stream,
    /// When scheduled ports become free.
    frees: BinaryHeap<Reverse<(Time, u32)>>,
    next_free: Time,
    no_route: PortCounters,
}

/// What a switch is made from.
pub(crate) struct SwitchParts {
    pub(crate) first_wire: usize,
    pub(crate) wires: usize,
    pub(crate) impaired: bool,
    /// Its index among switches with hosts; any other number if it has none.
    pub(crate) leaf: u32,
    pub(crate) routes: Routes,
    pub(crate) choice: Choice,
    /// In order of time.
    pub(crate) edits: Vec<(Time, Routes)>,
    pub(crate) egresses: Vec<Egress>,
    pub(crate) random: Stream,
    /// Size of a typical packet, for RED's idle time.
    pub(crate) typical_packet: u16,
}

#[derive(Debug)]
struct Port {
    egress: Egress,
    marker: Marker,
    queue: Queue,
    counters: PortCounters,
}

#[derive(Debug)]
enum Queue {
    Plain(PlainQueue),
    Scheduled(Box<ScheduledQueue>),
}

/// Where the time of arrival stands in a sort key, above the number of the wire.
const WIRE_BITS: u32 = 16;

impl Switch {
    pub(crate) fn new(config: &SwitchConfig, parts: SwitchParts) -> Self {
        let memory = Memory::new(&config.buffer, parts.egresses.len());
        let port = |egress: Egress| Port {
            egress,
            marker: Marker::new(&config.marking, egress.wire_time.of(parts.typical_packet)),
            queue: match config.ports {
                PortKind::Plain => Queue::Plain(PlainQueue::default()),
                PortKind::Scheduled => Queue::Scheduled(Box::default()),
            },
            counters: PortCounters::default(),
        };
        let mut edits = parts.edits;
        edits.reverse();
        Self {
            first_wire: parts.first_wire,
            wires: parts.wires,
            impaired: parts.impaired,
            leaf: parts.leaf,
            routes: parts.routes,
            choice: parts.choice,
            next_edit: edits.last().map_or(Time::NEVER, |edit| edit.0),
            edits,
            ports: parts.egresses.into_iter().map(port).collect(),
            memory,
            random: parts.random,
            frees: BinaryHeap::new(),
            next_free: Time::NEVER,
            no_route: PortCounters::default(),
        }
    }

    /// Does everything due before `until`. Returns when the next thing is due.
    pub(crate) fn advance<O: Observer>(&mut self, until: Time, world: &mut World<O>) -> Time {
        let mut keys = std::mem::take(&mut world.keys);
        let origin = until.as_ps().saturating_sub(1 << (64 - WIRE_BITS - 1));
        let mut next = self.collect(until, origin, &mut keys, world);
        keys.sort_unstable();
        world.hops += keys.len() as u64;
        for key in &keys {
            let wire = self.first_wire + (key & ((1 << WIRE_BITS) - 1)) as usize;
            let packet = world.wires.rings[wire].pop(&mut world.trailers);
            let now = packet.at;
            if self.next_free <= now {
                self.serve_until(now, world);
            }
            if self.next_edit <= now {
                self.edit_routes(now);
            }
            if self.impaired && !world.survives(wire, &packet) {
                continue;
            }
            self.forward(now, packet, world);
        }
        if self.next_free < until {
            self.serve_until(Time::from_ps(until.as_ps() - 1), world);
        }
        keys.clear();
        world.keys = keys;
        next = next.min(self.next_free);
        next
    }

    /// Sorts out what arrives before `until`: a key for each packet, by time, then by wire. Returns when the first
    /// packet after that arrives.
    #[inline]
    fn collect<O>(&self, until: Time, origin: u64, keys: &mut Vec<u64>, world: &mut World<O>) -> Time {
        let mut next = Time::NEVER;
        let wires = self.first_wire..self.first_wire + self.wires;
        let heads = &mut world.wires.heads[wires.clone()];
        let rings = &world.wires.rings[wires];
        for (wire, (head, ring)) in (0..).zip(heads.iter_mut().zip(rings)) {
            if *head < until {
                *head = ring.due_before(until, |at| keys.push((at.as_ps() - origin) << WIRE_BITS | wire));
            }
            next = next.min(*head);
        }
        next
    }

    #[inline]
    fn forward<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let access = world.shared.access[packet.to.index()];
        let port = if access.leaf == self.leaf {
            access.port
        } else {
            match self.routes.port(access.leaf, packet.flow, packet.to, &mut self.choice) {
                Some(port) => port,
                None => return self.no_route.drop(DropCause::NoRoute, packet.size),
            }
        };
        let port = usize::from(port);
        match self.ports[port].queue {
            Queue::Plain(_) => self.join_plain(now, port, packet, world),
            Queue::Scheduled(_) => self.join_scheduled(now, port, packet, world),
        }
    }

    #[inline]
    fn join_plain<O: Observer>(&mut self, now: Time, number: usize, mut packet: Packet, world: &mut World<O>) {
        let port = &mut self.ports[number];
        let Queue::Plain(queue) = &mut port.queue else { return };
        let link = port.egress.link;
        let size = u64::from(packet.size);
        self.memory.used -= queue.settle(now, link, &mut world.observer);
        let verdict = if let Marker::Off = port.marker {
            Verdict::Pass
        } else {
            let idle_since = (queue.busy_until <= now).then_some(queue.busy_until);
            port.marker.judge(now, queue.waiting, idle_since, packet.is(ECT), &mut self.random)
        };
        if verdict == Verdict::Drop {
            return port.drop(now, &packet, DropCause::Red, world);
        }
        let start = queue.busy_until.max(now);
        if start > now {
            if self.memory.admit(queue.waiting, size).is_err() && !self.admit_exactly(now, number, &packet, world) {
                return;
            }
            self.memory.used += size;
        }
        let port = &mut self.ports[number];
        let Queue::Plain(queue) = &mut port.queue else { return };
        if start > now {
            queue.wait(start, size);
            port.counters.max_backlog = port.counters.max_backlog.max(queue.waiting);
            world.observer.backlog(now, link, queue.waiting);
        }
        if verdict == Verdict::Mark {
            packet.flags |= CE;
            port.counters.marks += 1;
            world.observer.marked(now, link);
        }
        queue.busy_until = start + port.egress.wire_time.of(packet.size);
        port.counters.packets += 1;
        port.counters.bytes += size;
        world.observer.sent(start, link, packet.size);
        world.carry(&port.egress, queue.busy_until, packet);
    }

    /// Brings all plain ports up to date and decides admission by what is really in use. Drops the packet if it has to.
    #[cold]
    fn admit_exactly<O: Observer>(&mut self, now: Time, number: usize, packet: &Packet, world: &mut World<O>) -> bool {
        self.settle(now, world);
        let port = &mut self.ports[number];
        let Queue::Plain(queue) = &port.queue else { return false };
        match self.memory.admit(queue.waiting, packet.size.into()) {
            Ok(()) => true,
            Err(cause) => {
                port.drop(now, packet, cause, world);
                false
            }
        }
    }

    fn settle<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        for port in &mut self.ports {
            if let Queue::Plain(queue) = &mut port.queue {
                self.memory.used -= queue.settle(now, port.egress.link, &mut world.observer);
            }
        }
    }

    fn join_scheduled<O: Observer>(&mut self, now: Time, number: usize, mut packet: Packet, world: &mut World<O>) {
        let port = &mut self.ports[number];
        let Queue::Scheduled(queue) = &mut port.queue else { return };
        let backlog = queue.backlog(packet.priority);
        let idle = queue.is_idle(now);
        let idle_since = idle.then_some(queue.busy_until);
        let verdict = port.marker.judge(now, backlog, idle_since, packet.is(ECT), &mut self.random);
        if verdict == Verdict::Drop {
            return port.drop(now, &packet, DropCause::Red, world);
        }
        if !idle {
            if let Err(cause) = self.memory.admit(backlog, packet.size.into()) {
                return port.drop(now, &packet, cause, world);
            }
        }
        if verdict == Verdict::Mark {
            packet.flags |= CE;
            port.counters.marks += 1;
            world.observer.marked(now, port.egress.link);
        }
        if idle {
            port.transmit(now, packet, world);
            return;
        }
        self.memory.used += u64::from(packet.size);
        if queue.is_empty() {
            self.next_free = self.next_free.min(queue.busy_until);
            self.frees.push(Reverse((queue.busy_until, number as u32)));
        }
        queue.push(packet, &world.trailers);
        let waiting = queue.total();
        port.counters.max_backlog = port.counters.max_backlog.max(waiting);
        world.observer.backlog(now, port.egress.link, waiting);
    }

    /// Lets scheduled ports send what they have, up to and including `now`.
    fn serve_until<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let in_hand = world.trailers;
        while let Some(mut entry) = self.frees.peek_mut().filter(|entry| entry.0.0 <= now) {
            let Reverse((at, number)) = *entry;
            let port = &mut self.ports[number as usize];
            let Queue::Scheduled(queue) = &mut port.queue else { unreachable!("plain ports have no schedule") };
            let packet = queue.pop(&mut world.trailers);
            self.memory.used -= u64::from(packet.size);
            let (waiting, empty) = (queue.total(), queue.is_empty());
            world.observer.backlog(at, port.egress.link, waiting);
            port.transmit(at, packet, world);
            if empty {
                std::collections::binary_heap::PeekMut::pop(entry);
            } else {
                *entry = Reverse((port.busy_until(), number));
            }
        }
        self.next_free = self.frees.peek().map_or(Time::NEVER, |entry| entry.0.0);
        world.trailers = in_hand;
    }

    #[cold]
    fn edit_routes(&mut self, now: Time) {
        while let Some((_, routes)) = self.edits.pop_if(|edit| edit.0 <= now) {
            self.routes = routes;
        }
        self.next_edit = self.edits.last().map_or(Time::NEVER, |edit| edit.0);
    }

    /// Brings everything up to date at the end of the run and calls `report` with the counters of each port, and of
    /// packets that had nowhere to go.
    pub(crate) fn finish<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World<O>,
        mut report: impl FnMut(Option<LinkId>, &PortCounters),
    ) {
        self.settle(now, world);
        let waiting: u64 = self.ports.iter().map(|port| port.waiting()).sum();
        assert!(waiting == self.memory.used, "{waiting} B wait, {} B of memory are in use", self.memory.used);
        for port in &self.ports {
            report(Some(port.egress.link), &port.counters);
        }
        report(None, &self.no_route);
    }
}

impl Port {
    fn drop<O: Observer>(&mut self, now: Time, packet: &Packet, cause: DropCause, world: &mut World<O>) {
        self.counters.drop(cause, packet.size);
        world.observer.dropped(now, self.egress.link, packet.size, cause);
    }

    /// A scheduled port begins to send a packet.
    fn transmit<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let Queue::Scheduled(queue) = &mut self.queue else { return };
        queue.busy_until = now + self.egress.wire_time.of(packet.size);
        self.counters.packets += 1;
        self.counters.bytes += u64::from(packet.size);
        world.observer.sent(now, self.egress.link, packet.size);
        world.carry(&self.egress, queue.busy_until, packet);
    }

    fn busy_until(&self) -> Time {
        match &self.queue {
            Queue::Plain(queue) => queue.busy_until,
            Queue::Scheduled(queue) => queue.busy_until,
        }
    }

    fn waiting(&self) -> u64 {
        match &self.queue {
            Queue::Plain(queue) => queue.waiting,
            Queue::Scheduled(queue) => queue.total(),
        }
    }
}
