//! What travels over a link: 32 bytes, copied from ring to ring.

use narrows_proto::stream::{AckFrame, SackBlocks, Segment};
use narrows_proto::units::Time;

use crate::ids::{FlowId, HostId};

/// A packet, or a trailer of the packet before it in the same ring.
///
/// A packet that carries more than fits (selective acknowledgements) is followed by [`Packet::trailers`] further slots.
/// They travel with it, so nothing has to be allocated, shared between nodes or freed when it is dropped.
///
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
    pub(crate) turn: u16,
    pub(crate) kind: Kind,
    /// 7 goes first.
    pub(crate) priority: u8,
    pub(crate) flags: u8,
    /// Slots behind this one that belong to it.
    pub(crate) trailers: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Data,
    Ack,
    Syn,
    SynAck,
    Datagram,
}

/// The packet may be marked (ECT, RFC 3168 §5).
pub(crate) const ECT: u8 = 1;
/// It has been marked.
pub(crate) const CE: u8 = 2;
/// Acknowledgement: echoes a mark.
pub(crate) const ECE: u8 = 4;
/// Data: the window was reduced.
pub(crate) const CWR: u8 = 8;
/// Data: the last of its flow.
pub(crate) const FIN: u8 = 16;
/// Data: sent before.
pub(crate) const AGAIN: u8 = 32;

/// The most slots one packet may bring along.
pub(crate) const MAX_TRAILERS: usize = 2;

/// The slots behind a packet.
pub(crate) type Trailers = [Packet; MAX_TRAILERS];

impl Packet {
    #[inline(always)]
    pub(crate) fn new(fields: Fields) -> Self {
        let Fields { seq, flow, to, size, turn, kind, priority, flags, trailers } = fields;
        let low = u64::from(flow.0) | u64::from(to.0) << 32;
        let high = u64::from(size)
            | u64::from(turn) << 16
            | (kind as u64) << 32
            | u64::from(priority) << 40
            | u64::from(flags) << 48
            | u64::from(trailers) << 56;
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

    /// Data: the first byte. Acknowledgement: everything below has arrived.
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
        HostId((self.header >> 32) as u32)
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
    pub(crate) fn turn(self) -> u16 {
        (self.high() >> 16) as u16
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        match (self.high() >> 32) as u8 {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Syn,
            3 => Kind::SynAck,
            _ => Kind::Datagram,
        }
    }

    #[inline(always)]
    pub(crate) fn priority(self) -> u8 {
        (self.high() >> 40) as u8
    }

    #[inline(always)]
    pub(crate) fn is(self, flag: u8) -> bool {
        self.high() & u64::from(flag) << 48 != 0
    }

    #[inline(always)]
    pub(crate) fn with(self, flag: u8) -> Self {
        Self { header: self.header | pair(0, u64::from(flag) << 48), ..self }
    }

    #[inline(always)]
    pub(crate) fn trailers(self) -> usize {
        (self.high() >> 56) as usize
    }

    /// The segment inside a packet that has `overhead` bytes of headers.
    pub(crate) fn segment(self, overhead: u16) -> Segment {
        Segment {
            seq: self.seq(),
            len: u32::from(self.size().saturating_sub(overhead)),
            syn: self.kind() == Kind::Syn,
            fin: self.is(FIN),
            cwr: self.is(CWR),
            retransmission: self.is(AGAIN),
            ce: self.is(CE),
        }
    }

    /// The acknowledgement inside.
    pub(crate) fn ack_frame(self, trailers: &Trailers) -> AckFrame {
        let sacks =
            if self.trailers() == 0 { SackBlocks::default() } else { unpack(&trailers[..self.trailers()]) };
        AckFrame { ack: self.seq(), syn: self.kind() == Kind::SynAck, ece: self.is(ECE), sacks }
    }
}

impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, flow, to, seq, size) = (self.kind(), self.flow().0, self.to().0, self.seq(), self.size());
        write!(f, "{kind:?} {seq} of flow {flow} to host {to}, {size} B, at {}", self.at())
    }
}

/// The flags of a packet that carries `segment`.
#[inline(always)]
pub(crate) fn segment_flags(segment: &Segment) -> u8 {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    flag(segment.cwr, CWR) | flag(segment.fin, FIN) | flag(segment.retransmission, AGAIN)
}

#[inline(always)]
const fn pair(low: u64, high: u64) -> u128 {
    low as u128 | (high as u128) << 64
}

/// Three numbers fit a slot.
fn slot(words: [u64; 3]) -> Packet {
    Packet { place: pair(words[0], words[1]), header: words[2].into() }
}

fn words(slot: &Packet) -> [u64; 3] {
    [slot.place as u64, (slot.place >> 64) as u64, slot.header as u64]
}

/// Lays out selective acknowledgements in slots. Returns how many are used.
pub(crate) fn pack(sacks: &SackBlocks) -> (u8, Trailers) {
    let mut flat = [0; 3 * MAX_TRAILERS];
    for (place, block) in flat.chunks_exact_mut(2).zip(sacks.iter()) {
        place.copy_from_slice(&[block.start, block.end]);
    }
    let used = (2 * sacks.len()).div_ceil(3);
    (used as u8, std::array::from_fn(|i| slot([flat[3 * i], flat[3 * i + 1], flat[3 * i + 2]])))
}

fn unpack(trailers: &[Packet]) -> SackBlocks {
    let mut sacks = SackBlocks::default();
    let mut flat = trailers.iter().flat_map(words);
    while let (Some(start), Some(end)) = (flat.next(), flat.next()) {
        if end > start {
            sacks.push(start..end);
        }
    }
    sacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selective_acknowledgements_survive_the_trip() {
        for blocks in 0..=3_u64 {
            let mut frame = AckFrame { ack: u64::MAX - 9, ..AckFrame::default() };
            (0..blocks).for_each(|n| frame.sacks.push(u64::MAX - 2 * n - 1..u64::MAX - 2 * n));
            let (used, trailers) = pack(&frame.sacks);
            let packet = Packet::new(Fields { seq: frame.ack, trailers: used, ..fields() });
            assert_eq!(packet.ack_frame(&trailers), frame);
        }
    }

    fn fields() -> Fields {
        let (flow, to) = (FlowId(0), HostId(0));
        Fields { seq: 0, flow, to, size: 84, turn: 0, kind: Kind::Ack, priority: 0, flags: 0, trailers: 0 }
    }

    #[test]
    fn every_field_keeps_to_itself() {
        let (flow, to) = (FlowId(u32::MAX - 1), HostId(u32::MAX - 2));
        let full = Fields {
            seq: 5,
            flow,
            to,
            size: u16::MAX,
            turn: 7,
            kind: Kind::Datagram,
            priority: 6,
            flags: CE,
            trailers: 2,
        };
        let packet = Packet::new(full).with(ECE);
        assert_eq!((packet.flow(), packet.to(), packet.size(), packet.turn()), (flow, to, u16::MAX, 7));
        assert_eq!((packet.kind(), packet.priority(), packet.trailers()), (Kind::Datagram, 6, 2));
        assert_eq!(
            [ECT, CE, ECE, CWR, FIN, AGAIN].map(|flag| packet.is(flag)),
            [false, true, true, false, false, false]
        );
    }
}
