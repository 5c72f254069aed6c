//! Packets on a link: 32 bytes, copied from ring to ring.

mod carried;
mod codepoint;
mod control;
mod spread;
mod tag;

use narrows_proto::units::{Bytes, Time};

use crate::ids::{FlowId, HostId};

pub(crate) use self::carried::{ack_flags, pack, pack_rdma, pack_selective, rdma_flags, segment_flags};
pub use self::control::Control;

/// A packet, or a trailer of the packet before it in the same ring.
///
/// A packet that carries more than fits (selective acknowledgments) is followed by [`Packet::trailers`] further slots.
/// They travel with it, so nothing has to be allocated, shared between nodes or freed when it is dropped.
///
/// ```text
/// place   bits 0..64      time of arrival; while the packet waits, where it came from
///         bits 64..128    sequence number; of control packets what they say
/// header  bits 0..32      flow
///         bits 32..56     destination
///         bits 56..64     marks: bit 56 exempt from marking, bit 57 L4S, bit 58 may be trimmed, bit 59 has entropy, bit 60 ends a burst,
///                         bit 61 spin bit of a stream, bits 62 and 63 free
///         bits 64..80     size on the wire
///         bits 80..96     incarnation; of some control packets what they say
///         bits 96..100    kind: 0 data, 1 ack, 2 SYN, 3 SYN-ACK, 4 datagram, 5 control, 6 trimmed data, 7 free;
///                         bit 99 tagged by a limiter: 8, 10, 12; 9, 11, 13, 14, 15 free
///         bits 100..103   priority
///         bits 103..109   flags: ECT, CE, and four whose meaning depends on the kind
///         bits 109..125   tag of a limiter; of control packets which one, bits 117 to 124 of those free;
///                         of acknowledgments of a stream the window, if it is announced; over RDMA entropy
///         bit  125        it comes from a side queue
///         bits 126..128   slots behind it
/// ```
/// The fields share two numbers and are reached by shifts, so that a packet that is changed and passed on stays in
/// registers. With fields of their own, writing one and then copying the whole stalls until the write has reached the
/// cache; that cost a third of the speed of large networks.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Packet {
    /// Time of arrival, sequence number.
    place: u128,
    /// Flow, destination, and the smaller fields.
    header: u128,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// The parts of a packet, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) seq: u64,
    pub(crate) flow: FlowId,
    pub(crate) to: HostId,
    /// Bytes on the wire.
    pub(crate) size: u16,
    /// Which of the flows that use this [`FlowId`] one after the other.
    pub(crate) incarnation: u16,
    pub(crate) kind: Kind,
    /// 7 goes first.
    pub(crate) priority: u8,
    pub(crate) flags: u8,
    /// Slots behind this one that belong to it.
    pub(crate) trailers: u8,
}

/// Where fields begin in the lower half of the header, behind the 32 bits of the flow.
const TO: u32 = 32;
const MARKS: u32 = 56;

/// Where fields begin in the upper half, behind the 16 bits of the size.
const INCARNATION: u32 = 16;
const KIND: u32 = 32;
const PRIORITY: u32 = 36;
const FLAGS: u32 = 39;
const TAG: u32 = 45;
const ASIDE: u64 = 1 << 61;
const TRAILERS: u32 = 62;

/// Hosts are numbered with so many bits.
pub(crate) const HOST_BITS: u32 = MARKS - TO;

/// Of the bits of the kind: a limiter has tagged the packet.
const LIMITED: u64 = 8 << KIND;

/// Of the marks: ports neither mark the packet nor drop it in place of marking, though its connection uses ECN.
const EXEMPT: u64 = 1 << MARKS;

/// Of the marks: where the packet may be marked it says ECT(1), not ECT(0) (RFC 9331 §4.1).
pub(crate) const L4S: u64 = 2 << MARKS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Ack,
    Syn,
    SynAck,
    Datagram,
    /// A message or frame of a mechanism; it never carries a tag.
    Control(Control),
    /// Data whose payload a switch has cut off.
    Trimmed,
    /// Data, SYN or datagram of a flow that a limiter slows down; [`Packet::untagged`] returns which.
    Limited,
}

/// Of the marks: a switch may cut off its payload in place of dropping it.
pub(crate) const TRIMMABLE: u64 = 4 << MARKS;

/// Of the marks: it has entropy, which switches hash.
pub(crate) const SPREAD: u64 = 8 << MARKS;

/// Of the marks: it ends a burst of several segments of a stream (PSH).
pub(crate) const PUSHED: u64 = 16 << MARKS;

/// Of the marks: the spin bit of a stream, of data and acknowledgments.
pub(crate) const SPIN: u64 = 32 << MARKS;

impl Kind {
    /// Number of the kind of control packets.
    const CONTROL: u64 = 5;
    const TRIMMED: u64 = 6;

    /// As it stands in the upper half of the header: the number of the kind, and of a control packet which one, in place of a tag.
    #[inline(always)]
    const fn bits(self) -> u64 {
        match self {
            Self::Data => 0,
            Self::Ack => 1 << KIND,
            Self::Syn => 2 << KIND,
            Self::SynAck => 3 << KIND,
            Self::Datagram => 4 << KIND,
            Self::Control(control) => Self::CONTROL << KIND | (control as u64) << TAG,
            Self::Trimmed => Self::TRIMMED << KIND,
            Self::Limited => LIMITED,
        }
    }
}

/// The packet may be marked (ECT, RFC 3168 §5).
pub(crate) const ECT: u8 = 1;
/// It has been marked.
pub(crate) const CE: u8 = 2;
/// Acknowledgment of a stream, which is never marked: answers a segment that had been sent before.
pub(crate) const ANSWERS_AGAIN: u8 = 2;
/// Acknowledgment: echoes a mark.
pub(crate) const ECE: u8 = 4;
/// Data over RDMA: switches write telemetry into it.
pub(crate) const TELEMETRY: u8 = 4;
/// Trimmed data: on the link to its receiver.
pub(crate) const AT_LAST_HOP: u8 = 4;
/// Data: the window was reduced.
pub(crate) const CWR: u8 = 8;
/// Data over RDMA: requests an acknowledgment.
pub(crate) const REQUESTS_ACK: u8 = 8;
/// Acknowledgment over RDMA in any order: the packet that it answers had been sent before.
pub(crate) const OF_AGAIN: u8 = 8;
/// Data: the last of its flow. Acknowledgment over RDMA in any order: a packet was trimmed on the link to its receiver. Control packets: something ends.
pub(crate) const FIN: u8 = 16;
/// Data: sent before.
pub(crate) const AGAIN: u8 = 32;
/// Acknowledgment of a stream: ECE, CWR and FIN are the three bits of ACE. Without it FIN says that a count of marks follows in the
/// first slot.
pub(crate) const ACE: u8 = 32;
/// Acknowledgment over RDMA: a packet was missing. The first word of its trailers names the one that arrived instead; in any order, the
/// one that was trimmed.
pub(crate) const NAK: u8 = 32;

/// Size on the wire as packets carry it.
pub(crate) fn wire_size(size: Bytes) -> u16 {
    u16::try_from(size.get()).expect("settings keep packets below 64 KiB")
}

/// All flags there are.
#[cfg(test)]
const ALL_FLAGS: [u8; 6] = [ECT, CE, ECE, CWR, FIN, AGAIN];

/// The most slots one packet may bring along.
pub(crate) const MAX_TRAILERS: usize = 2;

/// The slots behind a packet.
pub(crate) type Trailers = [Packet; MAX_TRAILERS];

/// The slots of packets that have none.
pub(crate) const NO_TRAILERS: Trailers = [Packet { place: 0, header: 0 }; MAX_TRAILERS];

static NONE: Trailers = NO_TRAILERS;

/// Slots that stand behind a packet in a list, as a packet in hand has them.
pub(crate) fn in_hand(slots: &[Packet]) -> Trailers {
    let mut trailers = NO_TRAILERS;
    trailers[..slots.len()].copy_from_slice(slots);
    trailers
}

/// A packet in hand, with the slots that belong to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel<'a> {
    pub(crate) packet: Packet,
    /// As many of them count as the packet says.
    pub(crate) trailers: &'a Trailers,
}

impl Parcel<'static> {
    /// A packet without slots.
    #[inline(always)]
    pub(crate) fn bare(packet: Packet) -> Self {
        debug_assert!(packet.trailers() == 0, "{packet:?} brings trailers");
        Self { packet, trailers: &NONE }
    }
}

impl Parcel<'_> {
    /// The slots that count.
    #[inline(always)]
    pub(crate) fn slots(&self) -> &[Packet] {
        &self.trailers[..self.packet.trailers()]
    }

    /// The same slots behind a packet that was changed.
    #[inline(always)]
    pub(crate) fn with(self, packet: Packet) -> Self {
        Self { packet, ..self }
    }
}

impl Packet {
    #[inline(always)]
    pub(crate) fn new(fields: Fields) -> Self {
        let Fields { seq, flow, to, size, incarnation, kind, priority, flags, trailers } = fields;
        debug_assert!(to.0 >> HOST_BITS == 0, "host {} is numbered with more than {HOST_BITS} bits", to.0);
        let low = u64::from(flow.0) | u64::from(to.0) << TO;
        let high = u64::from(size)
            | u64::from(incarnation) << INCARNATION
            | kind.bits()
            | u64::from(priority) << PRIORITY
            | u64::from(flags) << FLAGS
            | u64::from(trailers) << TRAILERS;
        Self { place: pair(u64::MAX, seq), header: pair(low, high) }
    }

    /// When its last bit arrives at the next node.
    #[inline(always)]
    pub(crate) fn at(self) -> Time {
        Time::from_ps(self.place as u64)
    }

    #[inline(always)]
    pub(crate) fn arriving(self, at: Time) -> Self {
        Self { place: pair(at.as_ps(), self.seq()), ..self }
    }

    /// Data: the first byte. Acknowledgment: everything below has arrived.
    #[inline(always)]
    pub(crate) fn seq(self) -> u64 {
        (self.place >> 64) as u64
    }

    #[inline(always)]
    pub(crate) fn flow(self) -> FlowId {
        FlowId(self.header as u32)
    }

    #[inline(always)]
    pub(crate) fn to(self) -> HostId {
        HostId((self.header >> TO) as u32 & ((1 << HOST_BITS) - 1))
    }

    #[inline(always)]
    fn high(self) -> u64 {
        (self.header >> 64) as u64
    }

    #[inline(always)]
    pub(crate) fn size(self) -> u16 {
        self.high() as u16
    }

    #[inline(always)]
    pub(crate) fn incarnation(self) -> u16 {
        (self.high() >> INCARNATION) as u16
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        match (self.high() >> KIND) & 0xf {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Syn,
            3 => Kind::SynAck,
            4 => Kind::Datagram,
            Kind::CONTROL => Kind::Control(self.which()),
            Kind::TRIMMED => Kind::Trimmed,
            _ => Kind::Limited,
        }
    }

    #[inline(always)]
    fn which(self) -> Control {
        // Above these eight bits a mechanism may say more.
        Control::ALL[usize::from((self.high() >> TAG) as u8) % Control::ALL.len()]
    }

    /// Which control packet it is, if it is one.
    #[inline(always)]
    pub(crate) fn control(self) -> Option<Control> {
        ((self.high() >> KIND) & 0xf == Kind::CONTROL).then(|| self.which())
    }

    /// Its kind before a limiter tagged it, if one has.
    pub(crate) fn kind_below_tag(self) -> Kind {
        match (self.high() >> KIND) & 0xf {
            8 => Kind::Data,
            10 => Kind::Syn,
            12 => Kind::Datagram,
            _ => self.kind(),
        }
    }

    /// It is a message of a congestion point.
    #[inline(always)]
    pub(crate) fn is_cnm(self) -> bool {
        const BITS: u64 = Kind::Control(Control::Cnm).bits();
        self.high() & (0xf << KIND | 0xffff << TAG) == BITS
    }

    #[inline(always)]
    pub(crate) fn priority(self) -> u8 {
        (self.high() >> PRIORITY) as u8 & 7
    }

    /// It comes from a side queue.
    #[inline(always)]
    pub(crate) fn is_aside(self) -> bool {
        self.high() & ASIDE != 0
    }

    /// The same packet from a side queue.
    #[inline(always)]
    pub(crate) fn aside(self) -> Self {
        Self { header: self.header | pair(0, ASIDE), ..self }
    }

    /// The same packet from the queue of its priority.
    #[inline(always)]
    pub(crate) fn in_common(self) -> Self {
        Self { header: self.header & !pair(0, ASIDE), ..self }
    }

    /// The same packet with another sequence number.
    pub(crate) fn with_seq(self, seq: u64) -> Self {
        Self { place: pair(self.place as u64, seq), ..self }
    }

    #[inline(always)]
    pub(crate) fn is(self, flag: u8) -> bool {
        self.high() & u64::from(flag) << FLAGS != 0
    }

    #[inline(always)]
    pub(crate) fn with(self, flag: u8) -> Self {
        Self { header: self.header | pair(0, u64::from(flag) << FLAGS), ..self }
    }

    #[inline]
    pub(crate) fn without(self, flag: u8) -> Self {
        Self { header: self.header & !pair(0, u64::from(flag) << FLAGS), ..self }
    }

    #[inline(always)]
    pub(crate) fn trailers(self) -> usize {
        (self.high() >> TRAILERS) as usize
    }

    /// The same packet with another number of slots behind it.
    #[inline(always)]
    pub(crate) fn with_trailers(self, trailers: u8) -> Self {
        let high = self.high() & !(7 << TRAILERS) | u64::from(trailers) << TRAILERS;
        Self { header: pair(self.header as u64, high), ..self }
    }

    /// It is data, tagged or not, that switches write telemetry into.
    #[inline(always)]
    pub(crate) fn wants_telemetry(self) -> bool {
        const FLAG: u64 = (TELEMETRY as u64) << FLAGS;
        self.high() & (7 << KIND | FLAG) == FLAG
    }

    /// A slot that holds these four numbers.
    pub(crate) fn of_words(words: [u64; 4]) -> Self {
        Self { place: pair(words[0], words[1]), header: pair(words[2], words[3]) }
    }

    /// The four numbers in a slot.
    pub(crate) fn words(self) -> [u64; 4] {
        [self.place as u64, (self.place >> 64) as u64, self.header as u64, self.high()]
    }

    /// An acknowledgment: the window that it announces, zero for none. It stands where other packets have a tag.
    #[inline(always)]
    pub(crate) fn window(self) -> u16 {
        (self.high() >> TAG) as u16
    }

    /// The same acknowledgment with this window.
    #[inline(always)]
    pub(crate) fn announcing(self, window: u16) -> Self {
        Self { header: pair(self.header as u64, self.high() | u64::from(window) << TAG), ..self }
    }
}

impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, flow, to, seq, size) = (self.kind(), self.flow().0, self.to().0, self.seq(), self.size());
        write!(f, "{kind:?} {seq} of flow {flow} to host {to}, {size} B, at {}", self.at())
    }
}

#[inline(always)]
const fn pair(low: u64, high: u64) -> u128 {
    low as u128 | (high as u128) << 64
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use narrows_proto::cnm::CpId;

    use super::*;

    pub(super) fn fields() -> Fields {
        let (flow, to) = (FlowId(0), HostId(0));
        Fields {
            seq: 0,
            flow,
            to,
            size: 84,
            incarnation: 0,
            kind: Kind::Ack,
            priority: 0,
            flags: 0,
            trailers: 0,
        }
    }

    #[test]
    fn every_control_packet_is_known_by_its_number() {
        for (number, control) in Control::ALL.iter().copied().enumerate() {
            assert_eq!(control as usize, number);
            let packet = Packet::new(Fields { kind: Kind::Control(control), ..fields() });
            assert_eq!((packet.kind(), packet.control()), (Kind::Control(control), Some(control)));
            assert_eq!(packet.is_cnm(), control == Control::Cnm);
        }
        assert_eq!(Packet::new(fields()).control(), None);
    }

    #[test]
    fn every_field_keeps_to_itself() {
        let (flow, to) = (FlowId(u32::MAX - 1), HostId((1 << HOST_BITS) - 2));
        let full = Fields {
            seq: 5,
            flow,
            to,
            size: u16::MAX,
            incarnation: 7,
            kind: Kind::Datagram,
            priority: 6,
            flags: CE,
            trailers: 2,
        };
        let tag = NonZeroU16::new(u16::MAX - 3).map(CpId);
        let before = Packet::new(Fields { size: u16::MAX - 4, ..full }).with(ECE);
        let tagged = before.tagged(tag, 4);
        assert_eq!((tagged.tag(), tagged.kind(), tagged.size()), (tag, Kind::Limited, u16::MAX));
        assert_eq!(tagged.untagged(4), before);
        let packet = Packet::new(full).with(ECE);
        assert_eq!(packet.tag(), None);
        assert_eq!(
            (packet.flow(), packet.to(), packet.size(), packet.incarnation()),
            (flow, to, u16::MAX, 7)
        );
        assert_eq!((packet.kind(), packet.priority(), packet.trailers()), (Kind::Datagram, 6, 2));
        assert_eq!(ALL_FLAGS.map(|flag| packet.is(flag)), [false, true, true, false, false, false]);
    }
}
