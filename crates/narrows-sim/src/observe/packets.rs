use std::ops::Range;

use narrows_proto::cnm::Cnm;

use crate::ids::{FlowId, HostId};
pub use crate::mechanism::StopFrame;
pub use crate::packet::Control;
use crate::packet::{AGAIN, CWR, ECE, ECT, FIN, Kind, NAK, PUSHED, Packet, Parcel, REQUESTS_ACK};

/// A packet on its way, as an observer sees it. What it says is worked out when it is read.
#[derive(Clone, Copy, Debug)]
pub struct PacketRef<'a> {
    parcel: Parcel<'a>,
}

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketKind {
    /// Data of a stream or of an RDMA connection.
    Data,
    /// An acknowledgment.
    Ack,
    /// Opens a stream.
    Syn,
    /// Answers a SYN.
    SynAck,
    /// A datagram.
    Datagram,
    /// Data whose payload a switch has cut off.
    Trimmed,
    /// A message or frame of a mechanism.
    Control(Control),
}

impl<'a> PacketRef<'a> {
    #[inline(always)]
    pub(crate) fn new(parcel: Parcel<'a>) -> Self {
        Self { parcel }
    }

    fn packet(self) -> Packet {
        self.parcel.packet
    }

    /// Its kind, whether or not a limiter has tagged it.
    pub fn kind(self) -> PacketKind {
        match self.packet().kind_below_tag() {
            Kind::Data | Kind::Limited => PacketKind::Data,
            Kind::Ack => PacketKind::Ack,
            Kind::Syn => PacketKind::Syn,
            Kind::SynAck => PacketKind::SynAck,
            Kind::Datagram => PacketKind::Datagram,
            Kind::Trimmed => PacketKind::Trimmed,
            Kind::Control(control) => PacketKind::Control(control),
        }
    }

    /// The flow it belongs to; none of what belongs to no flow.
    pub fn flow(self) -> Option<FlowId> {
        match self.kind() {
            PacketKind::Control(control) if !control.is_of_flow() => None,
            _ => Some(self.packet().flow()),
        }
    }

    /// Which of the flows that use the same [`FlowId`] one after the other, on a circle of 2^16; of a message about flows 0.
    pub fn incarnation(self) -> u16 {
        match self.kind() {
            PacketKind::Control(Control::Cnm) => 0,
            _ => self.packet().incarnation(),
        }
    }

    /// The host it goes to; none of frames for a neighbor.
    pub fn to(self) -> Option<HostId> {
        match self.kind() {
            PacketKind::Control(control) if control.is_for_neighbor() => None,
            _ => Some(self.packet().to()),
        }
    }

    /// Data and datagrams, trimmed or not: the first byte, or the number. Acknowledgments: everything below has arrived.
    pub fn seq(self) -> u64 {
        self.packet().seq()
    }

    /// Bytes on the wire.
    pub fn size(self) -> u16 {
        self.packet().size()
    }

    /// 0 to 7; 7 goes first.
    pub fn priority(self) -> u8 {
        self.packet().priority()
    }

    /// A limiter has tagged it, which has made it larger.
    pub fn is_tagged(self) -> bool {
        self.packet().kind() == Kind::Limited
    }

    /// It may be marked (ECT), or is marked.
    pub fn is_ect(self) -> bool {
        self.packet().is(ECT) || self.packet().is_exempt()
    }

    /// It says that it is of a scalable control, ECT(1) in place of ECT(0).
    pub fn is_l4s(self) -> bool {
        self.packet().is_l4s()
    }

    /// It has been marked (CE).
    pub fn is_marked(self) -> bool {
        self.packet().is_marked()
    }

    /// It echoes a mark.
    pub fn echoes_mark(self) -> bool {
        matches!(self.kind(), PacketKind::Ack | PacketKind::SynAck) && self.packet().is(ECE)
    }

    /// Acknowledgment of a stream that counts marks: the three bits of ACE; of a SYN-ACK how the SYN arrived.
    pub fn ace(self) -> Option<u8> {
        let acknowledges = matches!(self.kind(), PacketKind::Ack | PacketKind::SynAck);
        acknowledges.then(|| self.parcel.ce_count().ace()).flatten()
    }

    /// Data of a stream: the sender has reduced its window. Over RDMA the same bit is [`requests_ack`](Self::requests_ack).
    pub fn reduced(self) -> bool {
        self.kind() == PacketKind::Data && self.packet().is(CWR)
    }

    /// Data over RDMA: it requests an acknowledgment.
    pub fn requests_ack(self) -> bool {
        self.kind() == PacketKind::Data && self.packet().is(REQUESTS_ACK)
    }

    /// Data: the last of its flow.
    pub fn is_last(self) -> bool {
        self.kind() == PacketKind::Data && self.packet().is(FIN)
    }

    /// Data of a stream: it ends a burst of several.
    pub fn is_pushed(self) -> bool {
        self.kind() == PacketKind::Data && self.packet().has_marks(PUSHED)
    }

    /// Data: it was sent before.
    pub fn is_again(self) -> bool {
        self.kind() == PacketKind::Data && self.packet().is(AGAIN)
    }

    /// Selective acknowledgments of a stream, most recent first.
    pub fn sacks(self) -> impl Iterator<Item = Range<u64>> {
        let is_ack = self.kind() == PacketKind::Ack;
        let sacks = is_ack.then(|| self.parcel.ack_frame().sacks);
        let blocks: Vec<_> = sacks.iter().flat_map(|sacks| sacks.iter()).collect();
        blocks.into_iter()
    }

    /// Acknowledgment of a stream: the window that it announces, in units of the receive buffer
    /// ([`ReceiveBuffer::unit`](narrows_proto::stream::ReceiveBuffer::unit)); none without such a buffer.
    pub fn announces(self) -> Option<u16> {
        let announces = matches!(self.kind(), PacketKind::Ack | PacketKind::SynAck);
        Some(self.packet().window()).filter(|window| announces && *window > 0)
    }

    /// Acknowledgment over RDMA: the first byte of the packet that arrived in place of one that is missing.
    pub fn nak(self) -> Option<u64> {
        let is_nak = self.kind() == PacketKind::Ack && self.packet().is(NAK);
        is_nak.then(|| self.parcel.rdma_ack_frame().nak).flatten()
    }

    /// The message of a congestion point, if it is one.
    pub fn cnm(self) -> Option<Cnm> {
        (self.kind() == PacketKind::Control(Control::Cnm)).then(|| self.packet().cnm()).flatten()
    }

    /// The request of a PAUSE frame or one of priority-based flow control.
    pub fn stop(self) -> Option<StopFrame> {
        StopFrame::read(self.packet())
    }

    /// It says that something ends: what a neighbor does with a flow, or a subflow.
    pub fn is_over(self) -> bool {
        self.packet().control().is_some_and(Control::begins_or_ends) && self.packet().is(FIN)
    }
}
