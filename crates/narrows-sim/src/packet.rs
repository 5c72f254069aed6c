//! What travels over a link: 32 bytes, copied from ring to ring.

use narrows_proto::stream::{AckFrame, SackBlocks, Segment};
use narrows_proto::units::Time;

use crate::ids::{FlowId, HostId};

/// A packet, or a trailer of the packet before it in the same ring.
///
/// A packet that carries more than fits (selective acknowledgements) is followed by [`Packet::trailers`] further slots.
/// They travel with it, so nothing has to be allocated, shared between nodes or freed when it is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Packet {
    /// When its last bit arrives at the next node.
    pub(crate) at: Time,
    /// Data: the first byte. Acknowledgement: everything below has arrived.
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

const _: () = assert!(size_of::<Packet>() == 32);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    #[default]
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
    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The segment inside a packet that has `overhead` bytes of headers.
    pub(crate) fn segment(&self, overhead: u16) -> Segment {
        Segment {
            seq: self.seq,
            len: u32::from(self.size.saturating_sub(overhead)),
            syn: self.kind == Kind::Syn,
            fin: self.is(FIN),
            cwr: self.is(CWR),
            retransmission: self.is(AGAIN),
            ce: self.is(CE),
        }
    }

    /// The acknowledgement inside.
    pub(crate) fn ack_frame(&self, trailers: &Trailers) -> AckFrame {
        let sacks = if self.trailers == 0 { SackBlocks::default() } else { unpack(&trailers[..self.trailers.into()]) };
        AckFrame { ack: self.seq, syn: self.kind == Kind::SynAck, ece: self.is(ECE), sacks }
    }
}

/// The flags of a packet that carries `segment`.
#[inline]
pub(crate) fn segment_flags(segment: &Segment) -> u8 {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    flag(segment.cwr, CWR) | flag(segment.fin, FIN) | flag(segment.retransmission, AGAIN)
}

/// Three numbers fit a slot: two fields of 64 bits and two of 32.
fn slot(words: [u64; 3]) -> Packet {
    Packet {
        at: Time::from_ps(words[0]),
        seq: words[1],
        flow: FlowId(words[2] as u32),
        to: HostId((words[2] >> 32) as u32),
        ..Packet::default()
    }
}

fn words(slot: &Packet) -> [u64; 3] {
    [slot.at.as_ps(), slot.seq, u64::from(slot.flow.0) | u64::from(slot.to.0) << 32]
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
            let packet = Packet { seq: frame.ack, kind: Kind::Ack, trailers: used, ..Packet::default() };
            assert_eq!(packet.ack_frame(&trailers), frame);
        }
    }
}
