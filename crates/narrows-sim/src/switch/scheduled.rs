//! Ports with a queue for each priority; the highest goes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use narrows_proto::units::Time;

use super::common::Common;
use crate::ids::LinkId;
use crate::link::Egress;
use crate::observe::{Observer, PacketRef};
use crate::packet::{NO_TRAILERS, Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::world::World;

const PRIORITIES: usize = 8;

/// All scheduled ports of a switch.
#[derive(Debug)]
pub(super) struct ScheduledPorts {
    ports: Vec<ScheduledPort>,
    /// When ports that have packets waiting become free.
    frees: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first of these times.
    next_free: Time,
}

/// A port.
#[derive(Debug)]
pub(super) struct ScheduledPort {
    egress: Egress,
    /// When the packet on the wire has been sent.
    pub(super) busy_until: Time,
    /// Bytes that wait.
    pub(super) waiting: u64,
    /// A bit for each queue that is not empty.
    occupied: u8,
    backlogs: [u64; PRIORITIES],
    queues: [Ring<Packet>; PRIORITIES],
}

impl ScheduledPorts {
    pub(super) fn new(egresses: &[Egress]) -> Self {
        Self {
            ports: egresses.iter().map(ScheduledPort::new).collect(),
            frees: BinaryHeap::new(),
            next_free: Time::NEVER,
        }
    }

    /// Bytes that wait at all ports.
    pub(super) fn waiting(&self) -> u64 {
        self.ports.iter().map(|port| port.waiting).sum()
    }

    /// A packet arrives at a port.
    pub(super) fn join<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'_>,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        if self.next_free <= now {
            self.serve(now, common, world);
        }
        let port = &mut self.ports[number];
        let backlog = port.backlog(parcel.packet.priority());
        let idle = port.busy_until <= now;
        debug_assert!(!idle || port.occupied == 0, "a free port has sent what it had");
        let idle_since = idle.then_some(port.busy_until);
        let Some(packet) = common.judge(now, number, parcel, backlog, idle_since, world) else { return };
        let parcel = parcel.with(packet);
        common.tell_queued(now, number, parcel, if idle { 0 } else { backlog }, world);
        if idle {
            port.transmit(now, parcel, world);
            return;
        }
        if port.occupied == 0 {
            self.next_free = self.next_free.min(port.busy_until);
            self.frees.push(Reverse((port.busy_until, number as u32)));
        }
        common.memory.used += u64::from(packet.size());
        port.push(parcel);
        common.note_backlog(now, number, port.waiting, world);
    }

    /// Bytes that wait at a port.
    pub(super) fn backlog<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        if self.next_free <= now {
            self.serve(now, common, world);
        }
        self.ports[number].waiting
    }

    /// Lets ports send until before `until`. Returns when the next one becomes free.
    pub(super) fn serve_before<O: Observer>(
        &mut self,
        until: Time,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Time {
        if self.next_free < until {
            self.serve(Time::from_ps(until.as_ps() - 1), common, world);
        }
        self.next_free
    }

    /// Lets ports send up to and including `now`.
    fn serve<O: Observer>(&mut self, now: Time, common: &mut Common, world: &mut World<O>) {
        let mut slots = NO_TRAILERS;
        while let Some(mut entry) = self.frees.peek_mut().filter(|entry| entry.0.0 <= now) {
            let Reverse((at, number)) = *entry;
            let port = &mut self.ports[number as usize];
            let packet = port.pop(&mut slots);
            common.memory.used -= u64::from(packet.size());
            world.observer.backlog(at, port.egress.link, port.waiting);
            port.transmit(at, Parcel { packet, trailers: &slots }, world);
            if port.occupied == 0 {
                PeekMut::pop(entry);
            } else {
                *entry = Reverse((port.busy_until, number));
            }
        }
        self.next_free = self.frees.peek().map_or(Time::NEVER, |entry| entry.0.0);
    }
}

impl ScheduledPort {
    pub(super) fn new(egress: &Egress) -> Self {
        Self {
            egress: *egress,
            busy_until: Time::ZERO,
            waiting: 0,
            occupied: 0,
            backlogs: [0; PRIORITIES],
            queues: Default::default(),
        }
    }

    pub(super) fn link(&self) -> LinkId {
        self.egress.link
    }

    /// Nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Bytes that wait in one of its queues.
    pub(super) fn backlog(&self, priority: u8) -> u64 {
        self.backlogs[usize::from(priority)]
    }

    pub(super) fn push(&mut self, parcel: Parcel<'_>) {
        let packet = parcel.packet;
        let priority = usize::from(packet.priority());
        self.queues[priority].push_with(parcel);
        self.backlogs[priority] += u64::from(packet.size());
        self.waiting += u64::from(packet.size());
        self.occupied |= 1 << priority;
    }

    /// A bit for each queue that is not empty.
    pub(super) fn occupied(&self) -> u8 {
        self.occupied
    }

    /// The packet to send next, which must exist.
    #[inline]
    pub(super) fn pop(&mut self, trailers: &mut Trailers) -> Packet {
        self.pop_from(7 - self.occupied.leading_zeros() as u8, trailers)
    }

    /// The first packet of a queue, which must exist.
    #[inline]
    pub(super) fn pop_from(&mut self, priority: u8, trailers: &mut Trailers) -> Packet {
        let priority = usize::from(priority);
        let packet = self.queues[priority].pop(trailers);
        self.backlogs[priority] -= u64::from(packet.size());
        self.waiting -= u64::from(packet.size());
        if self.queues[priority].is_empty() {
            self.occupied &= !(1 << priority);
        }
        packet
    }

    pub(super) fn transmit<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        self.busy_until = now + self.egress.wire_time.of(packet.size());
        world.observer.sent(now, self.egress.link, packet.size());
        world.observer.departs(now, self.egress.link, PacketRef::new(parcel));
        world.carry(self.egress.to, parcel.with(packet.arriving(self.busy_until + self.egress.delay)));
    }
}
