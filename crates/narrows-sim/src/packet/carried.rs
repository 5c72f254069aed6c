//! Contents of packets: segments, acknowledgments and messages, packed and unpacked.

use std::num::NonZeroU16;

use narrows_proto::cnm::{Cnm, CpId, Signal};
use narrows_proto::rdma;
use narrows_proto::stream::{AckFrame, CeCount, SackBlocks, Segment};

use super::{
    ACE, AGAIN, ANSWERS_AGAIN, CWR, Control, ECE, FIN, FLAGS, Fields, Kind, MAX_TRAILERS, NAK, OF_AGAIN,
    PUSHED, Packet, Parcel, REQUESTS_ACK, SPIN, Trailers, pair,
};
use crate::ids::{FlowId, HostId};

impl Packet {
    /// The segment inside a packet that has `overhead` bytes of headers.
    pub(crate) fn segment(self, overhead: u16) -> Segment {
        Segment {
            seq: self.seq(),
            len: u32::from(self.size().saturating_sub(overhead)),
            syn: self.kind() == Kind::Syn,
            fin: self.is(FIN),
            cwr: self.is(CWR),
            retransmission: self.is(AGAIN),
            goes_on: false,
            pushed: self.has_marks(PUSHED),
            spin: self.has_marks(SPIN),
            requests_ack: false,
            not_ect: false,
            ce: self.is_marked(),
            mangled: false,
            merged: 0,
            entropy: 0,
        }
    }

    /// The packet of an RDMA connection inside.
    pub(crate) fn rdma_segment(self, overhead: u16) -> Segment {
        let (requests_ack, entropy) = (self.is(REQUESTS_ACK), self.entropy());
        Segment { cwr: false, requests_ack, entropy, ..self.segment(overhead) }
    }

    /// A message of a congestion point about a flow, to the host that sends it.
    pub(crate) fn from_cnm(cnm: &Cnm, flow: FlowId, to: HostId, size: u16, priority: u8) -> Self {
        let Cnm { from, signal, q_offset, q_delta } = *cnm;
        let seq =
            u64::from(from.0.get()) | u64::from(q_offset as u16) << 16 | u64::from(q_delta as u16) << 32;
        let incarnation = signal.to_bits().into();
        let (kind, flags, trailers) = (Kind::Control(Control::Cnm), 0, 0);
        Self::new(Fields { seq, flow, to, size, incarnation, kind, priority, flags, trailers })
    }

    /// The message inside.
    pub(crate) fn cnm(self) -> Option<Cnm> {
        Some(Cnm {
            from: CpId(NonZeroU16::new(self.seq() as u16)?),
            signal: Signal::from_bits(self.incarnation() as u8),
            q_offset: (self.seq() >> 16) as i16,
            q_delta: (self.seq() >> 32) as i16,
        })
    }
}

impl Packet {
    /// An acknowledgment says all that an older one of its flow does, which has no slots.
    pub(crate) fn says_all_of(self, older: Self) -> bool {
        let flags = |packet: Self| packet.high() >> FLAGS & 0x3f;
        self.seq() > older.seq() && self.incarnation() == older.incarnation() && flags(self) == flags(older)
    }
}

impl Parcel<'_> {
    /// The acknowledgment inside.
    #[inline(always)]
    pub(crate) fn ack_frame(self) -> AckFrame {
        let slots = self.slots();
        let sacks = if slots.is_empty() { SackBlocks::default() } else { unpack(slots) };
        let packet = self.packet;
        let (syn, window) = (packet.kind() == Kind::SynAck, packet.window());
        let ce = self.ce_count();
        let ece = packet.is(ECE) && ce == CeCount::None;
        let mangled = matches!(ce, CeCount::Exact(_)) && self.slots()[0].high() & MANGLED > 0;
        let (again, spin) = (packet.is(ANSWERS_AGAIN), packet.has_marks(SPIN));
        AckFrame { ack: packet.seq(), syn, ece, window, spin, ce, mangled, again, sacks }
    }

    /// The count of marks in the acknowledgment inside.
    #[inline(always)]
    pub(crate) fn ce_count(self) -> CeCount {
        const COUNTS: u64 = ((ACE | FIN) as u64) << FLAGS;
        if self.packet.high() & COUNTS == 0 { CeCount::None } else { self.counted() }
    }

    #[inline(never)]
    fn counted(self) -> CeCount {
        let bit = |number: u8, flag: u8| u8::from(self.packet.is(flag)) << number;
        match self.slots().first() {
            _ if self.packet.is(ACE) => CeCount::Ace(bit(0, ECE) | bit(1, CWR) | bit(2, FIN)),
            Some(slot) => CeCount::Exact(slot.words()[3] as u32),
            None => CeCount::None,
        }
    }

    /// The acknowledgment of an RDMA connection inside.
    pub(crate) fn rdma_ack_frame(&self) -> rdma::AckFrame {
        let packet = self.packet;
        let nak = packet.is(NAK).then(|| self.trailers[0].words()[0]);
        rdma::AckFrame { ack: packet.seq(), nak, ece: packet.is(ECE), ..rdma::AckFrame::default() }
    }

    /// The same where packets are taken in any order.
    pub(crate) fn selective_ack_frame(&self) -> rdma::AckFrame {
        let packet = self.packet;
        let [named, base, arrived] = self.slots().first().map_or([0; 3], words);
        let (entropy, again, at_last_hop) = (packet.entropy(), packet.is(OF_AGAIN), packet.is(FIN));
        rdma::AckFrame {
            ack: packet.seq(),
            nak: packet.is(NAK).then_some(named),
            ece: packet.is(ECE),
            selective: rdma::Selective { base, arrived, entropy, again, at_last_hop },
        }
    }
}

/// The flags of a packet that carries `segment`.
#[inline(always)]
pub(crate) fn segment_flags(segment: &Segment) -> u8 {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    flag(segment.cwr, CWR) | flag(segment.fin, FIN) | flag(segment.retransmission, AGAIN)
}

/// The flags of a packet that carries `frame`, of a stream.
#[inline(always)]
pub(crate) fn ack_flags(frame: &AckFrame) -> u8 {
    let again = if frame.again { ANSWERS_AGAIN } else { 0 };
    let marks = match frame.ce {
        CeCount::None if frame.ece => ECE,
        CeCount::None => 0,
        CeCount::Exact(_) => FIN,
        CeCount::Ace(bits) => {
            let bit = |number: u8, flag: u8| if bits >> number & 1 > 0 { flag } else { 0 };
            ACE | bit(0, ECE) | bit(1, CWR) | bit(2, FIN)
        }
    };
    marks | again
}

/// The flags of a packet of an RDMA connection that carries `segment`.
#[inline(always)]
pub(crate) fn rdma_flags(segment: &Segment) -> u8 {
    segment_flags(segment) | if segment.requests_ack { REQUESTS_ACK } else { 0 }
}

/// The flags and trailers of a packet that carries `frame`, where packets are taken in any order. Returns how many trailers are used.
#[inline]
pub(crate) fn pack_selective(frame: &rdma::AckFrame) -> (u8, u8, Trailers) {
    let rdma::Selective { base, arrived, again, at_last_hop, .. } = frame.selective;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flags = flag(frame.ece, ECE)
        | flag(frame.nak.is_some(), NAK)
        | flag(again, OF_AGAIN)
        | flag(at_last_hop, FIN);
    let used = frame.nak.is_some() || arrived > 0;
    (flags, used.into(), [slot([frame.nak.unwrap_or(0), base, arrived]), Packet::default()])
}

/// The flags and trailers of a packet that carries `frame`, and the telemetry of a data packet if it brought some. Returns how
/// many trailers are used.
#[inline]
pub(crate) fn pack_rdma(frame: &rdma::AckFrame, telemetry: Option<Parcel<'_>>) -> (u8, u8, Trailers) {
    let flags = if frame.ece { ECE } else { 0 } | if frame.nak.is_some() { NAK } else { 0 };
    let named = frame.nak.unwrap_or(0);
    match telemetry {
        None => (flags, frame.nak.is_some().into(), [slot([named, 0, 0]), Packet::default()]),
        Some(Parcel { packet, trailers }) => {
            let [_, first, second, path] = trailers[0].words();
            let slots = [Packet::of_words([named, first, second, path]), trailers[1]];
            (flags, packet.trailers() as u8, slots)
        }
    }
}

/// Of the word with a count of marks: codepoints arrived changed.
const MANGLED: u64 = 1 << 32;

/// Three numbers fit a slot.
fn slot(words: [u64; 3]) -> Packet {
    Packet { place: pair(words[0], words[1]), header: words[2].into() }
}

fn words(slot: &Packet) -> [u64; 3] {
    [slot.place as u64, (slot.place >> 64) as u64, slot.header as u64]
}

/// Lays out the selective acknowledgments of `frame` in slots, and a count of marks. Returns how many are used.
#[inline]
pub(crate) fn pack(frame: &AckFrame) -> (u8, Trailers) {
    let (used, mut slots) = pack_sacks(&frame.sacks);
    let CeCount::Exact(packets) = frame.ce else { return (used, slots) };
    // The fourth word of the slot is free.
    let mangled = if frame.mangled { MANGLED } else { 0 };
    slots[0].header |= pair(0, u64::from(packets) | mangled);
    (used.max(1), slots)
}

#[inline(always)]
fn pack_sacks(sacks: &SackBlocks) -> (u8, Trailers) {
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
    use super::super::NO_TRAILERS;
    use super::super::tests::fields;
    use super::*;

    #[test]
    fn selective_acknowledgments_survive_the_trip() {
        for blocks in 0..=3_u64 {
            let mut frame = AckFrame { ack: u64::MAX - 9, ..AckFrame::default() };
            (0..blocks).for_each(|n| frame.sacks.push(u64::MAX - 2 * n - 1..u64::MAX - 2 * n));
            let (used, trailers) = pack(&frame);
            let packet = Packet::new(Fields { seq: frame.ack, trailers: used, ..fields() });
            assert_eq!(Parcel { packet, trailers: &trailers }.ack_frame(), frame);
        }
    }

    #[test]
    fn counts_of_marks_survive_the_trip_with_and_without_blocks() {
        for ce in [
            CeCount::Exact(0),
            CeCount::Exact(u32::MAX - 1),
            CeCount::Ace(0),
            CeCount::Ace(3),
            CeCount::Ace(6),
        ] {
            for blocks in 0..=3_u64 {
                let mangled = matches!(ce, CeCount::Exact(_)) && blocks % 2 > 0;
                let again = blocks > 1;
                let mut frame = AckFrame { ack: 7, ce, mangled, again, ..AckFrame::default() };
                (0..blocks).for_each(|n| frame.sacks.push(2 * n + 8..2 * n + 9));
                let (trailers, slots) = pack(&frame);
                let flags = ack_flags(&frame);
                let packet = Packet::new(Fields { seq: 7, trailers, flags, ..fields() });
                assert_eq!(Parcel { packet, trailers: &slots }.ack_frame(), frame);
            }
        }
    }

    #[test]
    fn announced_windows_survive_the_trip() {
        for window in [0, 1, u16::MAX] {
            let packet = Packet::new(fields()).announcing(window);
            let frame = Parcel { packet, trailers: &NO_TRAILERS }.ack_frame();
            assert_eq!((frame.window, frame.ack, packet.trailers()), (window, packet.seq(), 0));
        }
    }

    #[test]
    fn messages_of_congestion_points_survive_the_trip() {
        for (q_offset, q_delta) in [(0, 0), (i16::MIN, i16::MAX), (-406, 17), (406, -17)] {
            let from = CpId(NonZeroU16::MAX);
            let sent = Cnm { from, signal: Signal::Level(-3), q_offset, q_delta };
            let packet = Packet::from_cnm(&sent, FlowId(7), HostId(8), 84, 7);
            assert_eq!(packet.cnm(), Some(sent));
            assert_eq!(
                (packet.flow(), packet.to(), packet.kind()),
                (FlowId(7), HostId(8), Kind::Control(Control::Cnm))
            );
        }
    }

    #[test]
    fn acknowledgments_over_rdma_survive_the_trip() {
        for (nak, ece) in [(None, true), (Some(u64::MAX - 5), false), (Some(0), true)] {
            let frame = rdma::AckFrame { ack: u64::MAX - 9, nak, ece, ..rdma::AckFrame::default() };
            let (flags, used, trailers) = pack_rdma(&frame, None);
            let packet = Packet::new(Fields { seq: frame.ack, flags, trailers: used, ..fields() });
            assert_eq!(Parcel { packet, trailers: &trailers }.rdma_ack_frame(), frame);
        }
    }

    #[test]
    fn selective_acknowledgments_over_rdma_survive_the_trip() {
        for (nak, arrived, again) in
            [(None, 0, true), (Some(u64::MAX - 5), 0, false), (Some(7), u64::MAX, true)]
        {
            let used = nak.is_some() || arrived > 0;
            let base = if used { u64::MAX - 1_000 } else { 0 };
            let at_last_hop = nak.is_some() && again;
            let selective = rdma::Selective { base, arrived, entropy: 60_001, again, at_last_hop };
            let frame = rdma::AckFrame { ack: 5, nak, ece: again, selective };
            let (flags, trailers, slots) = pack_selective(&frame);
            let packet = Packet::new(Fields { seq: 5, flags, trailers, ..fields() }).with_entropy(60_001);
            assert_eq!(Parcel { packet, trailers: &slots }.selective_ack_frame(), frame);
        }
    }

    #[test]
    fn packets_over_rdma_survive_the_trip() {
        for bits in 0..8 {
            let (requests_ack, fin, retransmission) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
            let segment = Segment { seq: 7, len: 1, requests_ack, fin, retransmission, ..Segment::default() };
            let (kind, flags) = (Kind::Data, rdma_flags(&segment));
            let packet = Packet::new(Fields { seq: 7, size: 83, kind, flags, ..fields() });
            assert_eq!(packet.rdma_segment(82), segment);
        }
    }
}
