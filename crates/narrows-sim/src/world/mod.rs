//! The world of a node: the links that leave it, the calendar, the table of flows, the log for the results.

mod arrivals;
pub(crate) mod calendar;
mod shared;

use std::sync::Arc;

use narrows_proto::units::Time;

pub(crate) use self::arrivals::{Arrival, Arrivals, Groups, MAX_WINDOW, OWN, check_places, entry, place};
pub(crate) use self::calendar::{Calendar, Windows};
pub(crate) use self::shared::{Flight, GroupState, NO_FLOW, NO_RANK, RdmaState, Shared, TransportState};
use crate::followers::Report;
use crate::ids::FlowId;
use crate::link::{Target, Wires};
use crate::mechanism::Records;
use crate::observe::{Observer, PacketRef};
use crate::packet::{NO_TRAILERS, Packet, Parcel, Trailers};
use crate::path::{Crossing, Line};
use crate::ranks::IterationRecord;
use crate::record::{DatagramRecord, FlowRecord, Sampled};
use crate::ring::Ring;

/// Everything a node may touch besides itself: the links that leave it, the calendar, the tables of its thread.
#[derive(Debug)]
pub(crate) struct World<O> {
    pub(crate) shard: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) wires: Wires,
    /// Sending ends of links with a path.
    pub(crate) lines: Vec<Line>,
    pub(crate) calendar: Calendar,
    /// For each thread: what goes there when threads meet.
    pub(crate) outboxes: Vec<Outbox>,
    pub(crate) flows: FlowTable,
    pub(crate) log: Log,
    pub(crate) observer: O,
    /// Scratch: the arrivals at one switch in one window.
    pub(crate) arrivals: Arrivals,
    /// Packets that arrived anywhere.
    pub(crate) hops: u64,
    /// Some host has more flows than stay in a cache.
    pub(crate) crowded: bool,
}

/// Packets and reports for one thread.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Packets with the wire they arrive on. Trailers follow their packet.
    pub(crate) packets: Vec<(u32, Packet)>,
    /// Reports for its hosts.
    pub(crate) reports: Vec<Report>,
    /// When the first of all that arrives.
    pub(crate) head: Time,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { packets: Vec::new(), reports: Vec::new(), head: Time::NEVER }
    }
}

/// Where the two halves of each flow are kept. An entry belongs to one host.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    /// Slot of the sender at its host.
    pub(crate) senders: Vec<u32>,
    pub(crate) receivers: Vec<Reception>,
    /// Number that a mechanism of whole switches keeps with it. Empty if none does.
    pub(crate) at_switch: Vec<u32>,
}

pub(crate) const NO_SLOT: u32 = u32::MAX;

/// Where the number of a wire stands in an outbox: the packet is put at its place there.
const BY_PLACE: u32 = 1 << 31;

/// The receiving half of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Reception {
    /// Nothing has arrived.
    #[default]
    None,
    /// Kept at this slot of its host.
    Live { slot: u32, incarnation: u16 },
    /// Complete: everything below `ack` has arrived.
    Done { incarnation: u16, ack: u64 },
}

/// Records of the nodes of one thread for the results.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Senders that know their flow to be complete. `end` is empty.
    pub(crate) senders: Vec<FlowRecord>,
    /// When receivers had everything.
    pub(crate) completions: Vec<(FlowId, Time)>,
    /// Ends of flows at their sources, from [`Log::noted_from`] on.
    pub(crate) closings: Vec<Closing>,
    /// The first flow whose end at its source is noted; none by default.
    pub(crate) noted_from: Option<FlowId>,
    pub(crate) datagrams: Vec<DatagramRecord>,
    pub(crate) mechanisms: Records,
    pub(crate) sampled: Sampled,
    /// Of ranks.
    pub(crate) iterations: Vec<IterationRecord>,
    /// Flows not yet complete, started or not, and generators and ranks that may start more.
    pub(crate) outstanding: u64,
}

/// End of a flow at its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) at: Time,
    pub(crate) flow: FlowId,
    /// The sender has given up; otherwise it knows that all has arrived.
    pub(crate) gave_up: bool,
    /// Its place in [`Log::senders`].
    pub(crate) record: u32,
}

impl Log {
    /// The sender of the flow whose record was the last to be added is done with it.
    #[inline]
    pub(crate) fn note_closing(&mut self, at: Time, flow: FlowId, gave_up: bool) {
        if self.noted_from.is_some_and(|first| first <= flow) {
            let record = self.senders.len().saturating_sub(1) as u32;
            self.closings.push(Closing { at, flow, gave_up, record });
        }
    }
}

impl<O> World<O> {
    /// The group of a flow.
    #[inline]
    pub(crate) fn group_of(&self, flow: FlowId) -> &GroupState {
        &self.shared.groups[self.shared.flows[flow.index()].group.index()]
    }
}

/// The far end of a link in hand.
pub(crate) struct OpenLink {
    wire: u32,
    was_empty: bool,
    ring: Ring<Packet>,
    bytes: u64,
}

impl OpenLink {
    /// Puts a packet, whose `at` says when it arrives, on the link.
    #[inline(always)]
    pub(crate) fn carry(&mut self, packet: Packet, trailers: &[Packet]) {
        self.bytes += u64::from(packet.size());
        self.ring.push(packet);
        for trailer in trailers {
            self.ring.push(*trailer);
        }
    }
}

impl<O: Observer> World<O> {
    /// Puts a packet, whose `at` says when it arrives, on a link.
    #[inline(always)]
    pub(crate) fn carry(&mut self, to: Target, parcel: Parcel<'_>) {
        if u32::from(to.shard) == self.shard {
            self.receive(to.wire, parcel);
        } else {
            self.hand_over(to, parcel.packet, parcel.trailers);
        }
    }

    #[inline(always)]
    fn receive(&mut self, number: u32, parcel: Parcel<'_>) {
        let packet = parcel.packet;
        let wire = &mut self.wires.wires[number as usize];
        wire.packets += 1;
        wire.bytes += u64::from(packet.size());
        if wire.ring.is_empty() {
            self.wires.heads[number as usize] = packet.at();
            self.calendar.schedule(wire.node, packet.at());
        }
        wire.ring.push_with(parcel);
    }

    /// Sends a packet over the line of this number. Returns when it has been sent. Packet and slots come apart, as in
    /// [`hand_over`](Self::hand_over).
    #[inline(never)]
    pub(crate) fn send_over(&mut self, line: u32, now: Time, packet: Packet, trailers: &Trailers) -> Time {
        let line = &mut self.lines[line as usize];
        let parcel = Parcel { packet: line.mangle(packet), trailers };
        let (Crossing { sent, arrives, by_place }, link, to) =
            (line.send(now, parcel.packet), line.egress.link, line.egress.to);
        let size = parcel.packet.size();
        self.observer.sent(now, link, size);
        self.observer.departs(now, link, PacketRef::new(parcel));
        match arrives {
            Err(cause) => {
                self.hops += 1;
                self.observer.lost(now, link, size, cause);
                self.observer.discarded(now, link, PacketRef::new(parcel), cause);
            }
            Ok(at) => {
                let parcel = parcel.with(parcel.packet.arriving(at));
                match by_place {
                    false => self.carry(to, parcel),
                    true if u32::from(to.shard) == self.shard => self.insert(to.wire, parcel),
                    true => self.hand_over(
                        Target { wire: to.wire | BY_PLACE, ..to },
                        parcel.packet,
                        parcel.trailers,
                    ),
                }
            }
        }
        sent
    }

    /// Puts a packet on a wire at its place: before those that arrive later. It may make others needless.
    fn insert(&mut self, number: u32, parcel: Parcel<'_>) {
        let (packet, wire) = (parcel.packet, &mut self.wires.wires[number as usize]);
        wire.packets += 1;
        wire.bytes += u64::from(packet.size());
        wire.ring.insert(parcel);
        let impairment = self.wires.impairments[number as usize].as_mut();
        if let Some(thinning) = impairment.and_then(|impairment| impairment.thinning.as_mut()) {
            thinning.on_sent(packet);
        }
        if packet.at() < self.wires.heads[number as usize] {
            self.wires.heads[number as usize] = packet.at();
            self.calendar.schedule(wire.node, packet.at());
        }
    }

    /// Takes the far end of a link of this thread in hand, to put several packets on the link. None if another thread has it.
    #[inline(always)]
    pub(crate) fn open(&mut self, to: Target) -> Option<OpenLink> {
        if u32::from(to.shard) != self.shard {
            return None;
        }
        let ring = std::mem::take(&mut self.wires.wires[to.wire as usize].ring);
        Some(OpenLink { was_empty: ring.is_empty(), wire: to.wire, ring, bytes: 0 })
    }

    /// Puts the far end of a link back, on which so many packets were put.
    #[inline(always)]
    pub(crate) fn close(&mut self, link: OpenLink, packets: usize) {
        let wire = &mut self.wires.wires[link.wire as usize];
        wire.packets += packets as u64;
        wire.bytes += link.bytes;
        if link.was_empty {
            let at = link.ring.front_at();
            self.wires.heads[link.wire as usize] = at;
            self.calendar.schedule(wire.node, at);
        }
        wire.ring = link.ring;
    }

    /// Packet and slots come apart: as one value they would be written to memory even where this is not called.
    #[inline(never)]
    fn hand_over(&mut self, to: Target, packet: Packet, trailers: &Trailers) {
        let parcel = Parcel { packet, trailers };
        let outbox = &mut self.outboxes[usize::from(to.shard)];
        outbox.packets.push((to.wire, packet));
        outbox.packets.extend(parcel.slots().iter().map(|trailer| (to.wire, *trailer)));
        outbox.head = outbox.head.min(packet.at());
    }

    /// Hands over a report for a host of some thread, perhaps this one, when the window is over.
    pub(crate) fn report(&mut self, shard: u32, report: Report) {
        let outbox = &mut self.outboxes[shard as usize];
        outbox.reports.push(report);
        outbox.head = outbox.head.min(report.at);
    }

    /// Whether the packet that just arrived over an impaired wire survived the trip.
    #[cold]
    pub(crate) fn survives(&mut self, wire: usize, parcel: Parcel<'_>) -> bool {
        let packet = parcel.packet;
        let Some(impairment) = &mut self.wires.impairments[wire] else { return true };
        match impairment.pass(packet) {
            Ok(()) => true,
            Err(cause) => {
                let (at, link) = (packet.at(), impairment.link);
                self.observer.lost(at, link, packet.size(), cause);
                self.observer.discarded(at, link, PacketRef::new(parcel), cause);
                false
            }
        }
    }

    /// Takes over what other threads sent. Trailers follow their packet.
    pub(crate) fn take_in(&mut self, mail: &mut Vec<(u32, Packet)>) {
        let mut mail_left = mail.drain(..);
        let mut trailers = NO_TRAILERS;
        while let Some((wire, packet)) = mail_left.next() {
            for trailer in &mut trailers[..packet.trailers()] {
                *trailer = mail_left.next().expect("trailers follow their packet").1;
            }
            let parcel = Parcel { packet, trailers: &trailers };
            match wire & BY_PLACE {
                0 => self.receive(wire, parcel),
                _ => self.insert(wire & !BY_PLACE, parcel),
            }
        }
    }
}
