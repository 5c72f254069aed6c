//! A port with its queues, without anything that a mechanism adds.

use narrows_proto::units::Time;

use crate::ids::LinkId;
use crate::link::Egress;
use crate::mechanism::CLASSES;
use crate::mechanism::isolation::View;
use crate::observe::{Observer, PacketRef};
use crate::packet::{Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::world::World;

/// One for each priority, and one for isolated flows.
const QUEUES: usize = CLASSES;

/// A port.
#[derive(Debug)]
pub(super) struct QueuedPort {
    egress: Egress,
    /// When the packet on the wire has been sent.
    pub(super) busy_until: Time,
    /// When it may send something; the entry of the agenda that counts.
    pub(super) due: Time,
    /// Bytes that wait.
    pub(super) waiting: u64,
    /// A bit for each queue that is not empty.
    occupied: u16,
    /// A bit for each class that the neighbor does not take before `stopped_until`.
    pub(super) stopped: u16,
    /// Something goes before all queues.
    pub(super) urgent: bool,
    pub(super) stopped_until: Time,
    backlogs: [u64; QUEUES],
    queues: [Ring<Packet>; QUEUES],
}

impl QueuedPort {
    pub(super) fn new(egress: &Egress) -> Self {
        Self {
            egress: *egress,
            busy_until: Time::ZERO,
            due: Time::NEVER,
            waiting: 0,
            occupied: 0,
            stopped: 0,
            urgent: false,
            stopped_until: Time::ZERO,
            backlogs: [0; QUEUES],
            queues: Default::default(),
        }
    }

    pub(super) fn link(&self) -> LinkId {
        self.egress.link
    }

    /// A bit for each class that the neighbor does not take.
    #[inline]
    pub(super) fn stops(&self, now: Time) -> u16 {
        if now < self.stopped_until { self.stopped } else { 0 }
    }

    /// A bit for each queue that is not empty.
    #[inline]
    pub(super) fn occupied(&self) -> u16 {
        self.occupied
    }

    /// The highest priority of these queues.
    #[inline]
    pub(super) fn highest(&self, queues: u16) -> Option<usize> {
        15_u32.checked_sub(queues.leading_zeros()).map(|highest| highest as usize)
    }

    /// Bytes that wait in one of its queues.
    #[inline]
    pub(super) fn backlog(&self, queue: usize) -> u64 {
        self.backlogs[queue]
    }

    /// Size of the first packet of a queue; none if it is empty.
    #[inline]
    pub(super) fn first_size(&self, queue: usize) -> u16 {
        self.queues[queue].front().map_or(0, |packet| packet.size())
    }

    /// As isolation sees it, which watches one priority.
    #[inline]
    pub(super) fn view(&self, now: Time, port: usize, priority: u8) -> View {
        View {
            now,
            port,
            link: self.egress.link,
            normal: self.backlogs[usize::from(priority)],
            isolated: self.backlogs[crate::mechanism::ISOLATED_CLASS],
            stops: self.stops(now),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, queue: usize, parcel: Parcel<'_>) {
        let size = u64::from(parcel.packet.size());
        self.queues[queue].push_with(parcel);
        self.backlogs[queue] += size;
        self.waiting += size;
        self.occupied |= 1 << queue;
    }

    /// The first packet of a queue, which must exist.
    #[inline]
    pub(super) fn pop(&mut self, queue: usize, slots: &mut Trailers) -> Packet {
        let packet = self.queues[queue].pop(slots);
        let size = u64::from(packet.size());
        self.backlogs[queue] -= size;
        self.waiting -= size;
        if self.queues[queue].is_empty() {
            self.occupied &= !(1 << queue);
        }
        packet
    }

    #[inline]
    pub(super) fn transmit<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        self.busy_until = now + self.egress.wire_time.of(packet.size());
        world.observer.sent(now, self.egress.link, packet.size());
        world.observer.departs(now, self.egress.link, PacketRef::new(parcel));
        world.carry(self.egress.to, parcel.with(packet.arriving(self.busy_until + self.egress.delay)));
    }
}

/// Where a packet came from, kept instead of its time of arrival while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The number of the link.
    pub(super) from: u32,
    pub(super) class: usize,
    /// It was counted in the congested queue of its link.
    pub(super) counted: bool,
}

impl Origin {
    #[inline]
    pub(super) fn keep(self) -> Time {
        Time::from_ps(u64::from(self.from) | (self.class as u64) << 32 | u64::from(self.counted) << 36)
    }

    #[inline]
    pub(super) fn of(packet: Packet) -> Self {
        let kept = packet.at().as_ps();
        Self { from: kept as u32, class: (kept >> 32 & 15) as usize, counted: kept >> 36 & 1 != 0 }
    }
}
