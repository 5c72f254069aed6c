//! Segments, acknowledgments and CNPs of transports, as packets.

use narrows_proto::cc::Ecn;
use narrows_proto::rdma::{self, Recovery};
use narrows_proto::stream::{AckFrame, Segment};
use narrows_proto::units::Bytes;

use crate::ids::{FlowId, HostId};
use crate::packet::{self, Control, ECT, Fields, Kind, PUSHED, Packet, Parcel, SPIN, Trailers, wire_size};
use crate::world::{GroupState, RdmaState, TransportState};

/// Where a packet of a flow goes.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) flow: FlowId,
    pub(crate) to: HostId,
    /// Which of the flows that use this number one after the other.
    pub(crate) incarnation: u16,
}

/// The packet that carries `segment`.
#[inline(always)]
pub(crate) fn segment_packet(segment: &Segment, way: Way, group: &GroupState) -> Packet {
    let (kind, size, flags) = match &group.transport {
        TransportState::Datagram { params, .. } => (Kind::Datagram, params.packet_size(), 0),
        TransportState::Stream(stream) if segment.syn => {
            (Kind::Syn, stream.params.packet_size(Bytes::ZERO), stream.syn_ect)
        }
        TransportState::Stream(stream) => {
            let size = stream.params.packet_size(Bytes::new(segment.len.into()));
            let ect = stream.ect[usize::from(segment.retransmission) + 2 * usize::from(segment.not_ect)];
            (Kind::Data, size, ect | packet::segment_flags(segment))
        }
        TransportState::Rdma(rdma) => {
            let size = rdma.params.packet_size(Bytes::new(segment.len.into()));
            (Kind::Data, size, rdma.data_flags | packet::rdma_flags(segment))
        }
    };
    let Way { flow, to, incarnation } = way;
    let (seq, size, priority) = (segment.seq, wire_size(size), group.priority);
    let packet = Packet::new(Fields { seq, flow, to, size, incarnation, kind, priority, flags, trailers: 0 });
    // Without entropy there are zeros in its place.
    let mark = |set: bool, mark: u64| u64::from(set) * mark;
    let marks = group.marks | mark(segment.pushed, PUSHED) | mark(segment.spin, SPIN);
    packet.with_marks(marks).with_tag_bits(segment.entropy)
}

/// The segment of a stream inside a packet that arrived.
#[inline(always)]
pub(crate) fn arrived_segment(packet: Packet, group: &GroupState) -> Segment {
    let segment = packet.segment(group.overhead);
    let counted = group.stream().ecn == Ecn::Counted;
    Segment { mangled: counted && is_mangled(packet, group), ..segment }
}

/// The codepoint of a packet that may be marked arrived changed, not to a mark.
fn is_mangled(packet: Packet, group: &GroupState) -> bool {
    let may_be_marked = packet.is(ECT) || packet.is_exempt();
    let as_sent = may_be_marked && packet.has_marks(group.marks);
    !(packet.is_marked() || as_sent)
}

/// The packet that carries `frame`, of a stream.
#[inline(always)]
pub(crate) fn ack_packet(frame: &AckFrame, trailers: u8, way: Way, group: &GroupState) -> Packet {
    let size = group.stream().params.packet_size(Bytes::new(frame.option_size()));
    Packet::new(Fields {
        seq: frame.ack,
        flow: way.flow,
        to: way.to,
        size: wire_size(size),
        incarnation: way.incarnation,
        kind: if frame.syn { Kind::SynAck } else { Kind::Ack },
        priority: group.priority,
        flags: packet::ack_flags(frame),
        trailers,
    })
    .announcing(frame.window)
    .with_marks(u64::from(frame.spin) * SPIN)
}

/// The packet that carries `frame`, of an RDMA connection, and its trailers: with the telemetry of the data packet that it answers, if
/// there is some. Where packets are taken in any order it goes the way that its entropy says.
pub(crate) fn rdma_ack_packet(
    frame: &rdma::AckFrame,
    telemetry: Option<Parcel<'_>>,
    way: Way,
    group: &GroupState,
) -> (Packet, Trailers) {
    let rdma = group.rdma();
    let in_any_order = rdma.params.recovery == Recovery::AnyOrder;
    let (flags, trailers, slots) =
        if in_any_order { packet::pack_selective(frame) } else { packet::pack_rdma(frame, telemetry) };
    let packet = Packet::new(Fields {
        seq: frame.ack,
        flow: way.flow,
        to: way.to,
        size: wire_size(rdma.params.ack_size),
        incarnation: way.incarnation,
        kind: Kind::Ack,
        priority: rdma.ack_priority,
        flags: flags | rdma.ect,
        trailers,
    });
    (if in_any_order { packet.with_entropy(frame.selective.entropy) } else { packet }, slots)
}

/// Credit for a sender.
pub(crate) fn grant_packet(granted: u64, way: Way, group: &GroupState) -> Packet {
    let rdma = group.rdma();
    let (size, priority) = (rdma.params.ack_size, rdma.ack_priority);
    control_packet(Control::Grant, granted, (size, priority), way, rdma)
}

/// A congestion notification packet.
pub(crate) fn cnp_packet(way: Way, group: &GroupState) -> Packet {
    let rdma = group.rdma();
    let (size, priority) = (rdma.params.cnp_size, rdma.cnp_priority);
    control_packet(Control::Cnp, 0, (size, priority), way, rdma)
}

/// A packet of an RDMA receiver that says no more than a number.
fn control_packet(
    control: Control,
    seq: u64,
    (size, priority): (Bytes, u8),
    way: Way,
    rdma: &RdmaState,
) -> Packet {
    let Way { flow, to, incarnation } = way;
    let (kind, size, flags, trailers) = (Kind::Control(control), wire_size(size), rdma.ect, 0);
    Packet::new(Fields { seq, flow, to, size, incarnation, kind, priority, flags, trailers })
}
