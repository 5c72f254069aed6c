//! External hosts: their packets come from outside, and what arrives for them is handed out. Only the network card is inside.

use std::collections::VecDeque;

use narrows_proto::stream::{AckFrame, Segment};
use narrows_proto::units::{Bytes, Time};

use super::packets::{Way, ack_packet, segment_packet};
use crate::ids::{FlowId, HostId};
use crate::packet::{self, Fields, Kind, Packet, Parcel, Trailers, wire_size};
use crate::world::GroupState;

/// The ECN field of a packet (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codepoint {
    /// Its transport does not use ECN: it is dropped where others are marked.
    #[default]
    NotEct = 0,
    /// ECT(1): it may be marked, and is of a scalable control (RFC 9331 §4.1).
    Ect1 = 1,
    /// ECT(0): it may be marked.
    Ect0 = 2,
    /// It has been marked.
    Ce = 3,
}

impl Codepoint {
    /// The codepoint in the two lowest bits of the second byte of an IPv4 header, or of a traffic class.
    pub fn of_bits(byte: u8) -> Self {
        [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce][usize::from(byte & 3)]
    }

    /// As packets carry it: flags and marks.
    fn carried(self) -> (u8, u64) {
        match self {
            Self::NotEct => (0, 0),
            Self::Ect1 => (packet::ECT, packet::L4S),
            Self::Ect0 => (packet::ECT, 0),
            Self::Ce => (packet::ECT | packet::CE, 0),
        }
    }
}

/// A packet from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Anything, between the ends of a flow.
    Datagram {
        /// From the destination of the flow to its source.
        back: bool,
        /// For those who receive it; it comes back as [`PacketRef::seq`](crate::observe::PacketRef::seq).
        number: u64,
        /// On the wire, framing included.
        size: Bytes,
        /// Its ECN field.
        ecn: Codepoint,
    },
    /// Data or a SYN of a stream, from the source of a flow to its destination.
    Segment(Segment),
    /// An acknowledgment of a stream, from the destination of a flow to its source.
    Ack(AckFrame),
}

impl Injected {
    /// It goes from the destination of its flow to the source.
    pub(crate) fn goes_back(&self) -> bool {
        matches!(self, Self::Ack(_) | Self::Datagram { back: true, .. })
    }

    /// It as a packet of `flow` to `to`, with its trailers.
    ///
    /// # Panics
    /// If the group has another transport.
    pub(crate) fn packet(&self, flow: FlowId, to: HostId, group: &GroupState) -> WholePacket {
        let (priority, incarnation) = (group.priority, 0);
        let (packet, trailers) = match self {
            Self::Datagram { number, size, ecn, .. } => {
                let (kind, (flags, marks)) = (Kind::Datagram, ecn.carried());
                let (seq, size, trailers) = (*number, wire_size(*size), 0);
                let fields = Fields { seq, flow, to, size, incarnation, kind, priority, flags, trailers };
                (Packet::new(fields).with_marks(marks), Trailers::default())
            }
            Self::Segment(segment) => {
                group.stream(); // or panics
                (segment_packet(segment, Way { flow, to, incarnation }, group), Trailers::default())
            }
            Self::Ack(frame) => {
                let (used, trailers) = packet::pack(frame);
                (ack_packet(frame, used, Way { flow, to, incarnation }, group), trailers)
            }
        };
        WholePacket { packet, trailers }
    }
}

/// Packets between an external host and the outside.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Packets that become ready to be sent, in order of time.
    later: VecDeque<(Time, WholePacket)>,
    arrived: Vec<WholePacket>,
}

/// A packet and its trailers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholePacket {
    pub(crate) packet: Packet,
    pub(crate) trailers: Trailers,
}

impl WholePacket {
    pub(crate) fn parcel(&self) -> Parcel<'_> {
        Parcel { packet: self.packet, trailers: &self.trailers }
    }
}

impl Outside {
    /// A packet will be ready at `at`.
    pub(super) fn send_later(&mut self, at: Time, packet: WholePacket) {
        let place = self.later.partition_point(|other| other.0 <= at);
        self.later.insert(place, (at, packet));
    }

    /// The next packet that becomes ready.
    pub(super) fn next_ready(&mut self) -> Option<WholePacket> {
        self.later.pop_front().map(|(_, packet)| packet)
    }

    /// A packet arrived.
    pub(super) fn receive(&mut self, Parcel { packet, trailers }: Parcel<'_>) {
        self.arrived.push(WholePacket { packet, trailers: *trailers });
    }

    /// Packets that have arrived since the last call.
    pub(super) fn take_arrived(&mut self) -> Vec<WholePacket> {
        std::mem::take(&mut self.arrived)
    }
}
