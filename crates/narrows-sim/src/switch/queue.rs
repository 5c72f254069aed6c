//! A port with its queues, without anything that a mechanism adds.

use narrows_proto::units::{Span, Time};

use crate::ids::LinkId;
use crate::link::Egress;
use crate::mechanism::CLASSES;
use crate::mechanism::at_ports::View;
use crate::mechanism::pause::Stopped;
use crate::observe::{Observer, PacketRef};
use crate::packet::{Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::world::OWN;
use crate::world::World;

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
    pub(super) times: Stopped,
    backlogs: [u64; CLASSES],
    queues: [Ring<Packet>; CLASSES],
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
            times: Stopped::default(),
            backlogs: [0; CLASSES],
            queues: Default::default(),
        }
    }

    /// The number of the line it sends over, if it does.
    #[inline]
    pub(super) fn line(&self) -> u32 {
        self.egress.line
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

    /// As mechanisms see it.
    #[inline]
    pub(super) fn view(&self, now: Time, port: usize) -> View<'_> {
        View { now, port, link: self.egress.link, backlogs: &self.backlogs, stops: self.stops(now) }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, queue: usize, parcel: Parcel<'_>) {
        self.queues[queue].push_with(parcel);
        self.count_in(queue, parcel.packet);
    }

    /// A packet begins to wait, here or with a mechanism that keeps it.
    #[inline(always)]
    pub(super) fn count_in(&mut self, queue: usize, packet: Packet) {
        let size = u64::from(packet.size());
        self.backlogs[queue] += size;
        self.waiting += size;
        self.occupied |= 1 << queue;
    }

    /// The first packet of a queue, which must exist.
    #[inline(always)]
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

    /// The packet that joined a queue last.
    pub(super) fn youngest(&self, queue: usize) -> Option<Packet> {
        self.queues[queue].iter().last().copied()
    }

    /// Takes the packet that joined a queue last.
    pub(super) fn pop_youngest(&mut self, queue: usize, slots: &mut Trailers) -> Option<Packet> {
        let packet = self.queues[queue].pop_last(slots)?;
        self.count_out(queue, packet);
        Some(packet)
    }

    /// A packet that a mechanism keeps waits no longer.
    #[inline]
    pub(super) fn count_out(&mut self, queue: usize, packet: Packet) {
        let size = u64::from(packet.size());
        self.backlogs[queue] -= size;
        self.waiting -= size;
        if self.backlogs[queue] == 0 {
            self.occupied &= !(1 << queue);
        }
    }

    #[inline(always)]
    pub(super) fn transmit<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        self.busy_until = now + self.egress.wire_time.of(packet.size());
        world.observer.sent(now, self.egress.link, packet.size());
        world.observer.departs(now, self.egress.link, PacketRef::new(parcel));
        world.carry(self.egress.to, parcel.with(packet.arriving(self.busy_until + self.egress.delay)));
    }
}

/// Where a packet came from, kept instead of its time of arrival while it waits, with the time since when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The number of the link.
    pub(super) from: u32,
    pub(super) class: usize,
    /// A mechanism counts it at its link.
    pub(super) counted: bool,
}

/// Bits of what is kept.
const CLASS: u32 = 16;
const COUNTED: u32 = 20;
const SINCE: u32 = 21;
/// Times are kept in units of 2^6 ps, on a circle of 2^43 of them, 563 s.
const UNIT: u32 = 6;

impl Origin {
    /// As a time of arrival. The packet waits since `now`.
    #[inline]
    pub(super) fn keep(self, now: Time) -> Time {
        let from = u64::from(self.from as u16);
        let since = (now.as_ps() >> UNIT) << SINCE;
        Time::from_ps(from | (self.class as u64) << CLASS | u64::from(self.counted) << COUNTED | since)
    }

    #[inline]
    pub(super) fn of(packet: Packet) -> Self {
        let kept = packet.at().as_ps();
        let from = if kept as u16 == OWN as u16 { OWN } else { u32::from(kept as u16) };
        Self { from, class: (kept >> CLASS & 15) as usize, counted: kept >> COUNTED & 1 != 0 }
    }
}

/// Sojourn time of a packet that waits, to 64 ps.
#[inline]
pub(crate) fn sojourn(packet: Packet, now: Time) -> Span {
    const CIRCLE: u64 = (1 << (u64::BITS - SINCE)) - 1;
    let since = packet.at().as_ps() >> SINCE;
    Span::from_ps(((now.as_ps() >> UNIT).wrapping_sub(since) & CIRCLE) << UNIT)
}

/// A packet that waits since `now`.
#[cfg(test)]
pub(crate) fn waiting(packet: Packet, now: Time) -> Packet {
    packet.arriving(Origin { from: 0, class: 0, counted: false }.keep(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{Fields, Kind};

    #[test]
    fn a_packet_that_waits_knows_where_it_came_from_and_since_when_it_waits() {
        let (flow, to, kind) = (FlowId(0), HostId(0), Kind::Data);
        let packet = Packet::new(Fields {
            seq: 0,
            flow,
            to,
            size: 1,
            incarnation: 0,
            kind,
            priority: 0,
            flags: 0,
            trailers: 0,
        });
        for (from, class, counted) in [(0, 8, true), ((1 << 15) - 1, 0, false), (OWN, 7, true)] {
            let origin = Origin { from, class, counted };
            for seconds in [0, 562, 563, 100_000] {
                let since = Time::ZERO + Span::from_secs(seconds) + Span::from_ps(12_345);
                let waiting = packet.arriving(origin.keep(since));
                assert_eq!(Origin::of(waiting), origin);
                for waited in [0, 64, 6_400, 64 * 1_000_000_000] {
                    let found = sojourn(waiting, since + Span::from_ps(waited));
                    assert_eq!(found, Span::from_ps(waited), "{seconds} s");
                }
            }
        }
    }
}
