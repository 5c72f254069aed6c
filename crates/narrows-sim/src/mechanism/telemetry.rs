//! Telemetry on its way: records travel in the trailers of a packet, and those of its acknowledgment bring them back.
//!
//! ```text
//! first slot      NAK (acknowledgments only), first record, second record, path
//! second slot     third, fourth and fifth record
//! ```
//! A packet that no switch has written into has no slots.

use narrows_proto::telemetry::{Hop, MOST_HOPS, Telemetry};
use narrows_proto::units::{BitRate, Time};

use crate::ids::LinkId;
use crate::packet::{Packet, Parcel, Trailers};
use crate::random::mix;

/// Writer of telemetry records at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    rate: BitRate,
    /// Of the rate, from 1 on.
    code: u8,
    /// Its part of the number of a path.
    path: u16,
    /// Bytes sent.
    sent: u64,
}

impl Meter {
    pub(crate) fn new(link: LinkId, rate: BitRate, rates: &[BitRate]) -> Self {
        let place = rates.binary_search(&rate).expect("rates of all ports with telemetry are known");
        Self { rate, code: place as u8 + 1, path: mix(link.0.into()) as u16 & 0xfff, sent: 0 }
    }

    /// A packet begins to be sent while `waiting` bytes wait behind it. Writes a record into it, if it wants one.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Time,
        packet: Packet,
        waiting: u64,
        trailers: &mut Trailers,
    ) -> Packet {
        let sent = self.sent;
        self.sent += u64::from(packet.size());
        if !packet.wants_telemetry() {
            return packet;
        }
        let mut words = if packet.trailers() == 0 { [[0; 4]; 2] } else { trailers.map(|slot| slot.words()) };
        if packet.trailers() == 1 {
            words[1] = [0; 4];
        }
        let Some(place) = records().position(|(slot, word)| words[slot][word] == 0) else { return packet };
        let (slot, word) = place_of(place);
        words[slot][word] = Hop::new(self.rate, now, sent, waiting).pack(self.code);
        words[0][PATH] ^= u64::from(self.path);
        *trailers = words.map(Packet::of_words);
        packet.with_trailers(slot as u8 + 1)
    }
}

const PATH: usize = 3;

/// Where records are: slot and word.
fn records() -> impl Iterator<Item = (usize, usize)> {
    (0..MOST_HOPS).map(place_of)
}

const fn place_of(record: usize) -> (usize, usize) {
    if record < 2 { (0, record + 1) } else { (1, record - 2) }
}

/// Telemetry that the acknowledgment `packet` brings back. `rates` are by code.
#[inline]
pub(crate) fn read(Parcel { packet, trailers }: Parcel<'_>, rates: &[BitRate]) -> Option<Telemetry> {
    if packet.trailers() == 0 {
        return None;
    }
    let words = [trailers[0].words(), if packet.trailers() > 1 { trailers[1].words() } else { [0; 4] }];
    let hops = records().map_while(|(slot, word)| Hop::unpack(words[slot][word], rates));
    let telemetry = Telemetry::new(words[0][PATH] as u16, hops);
    (!telemetry.hops().is_empty()).then_some(telemetry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{Control, Fields, Kind, TELEMETRY, pack_rdma};
    use narrows_proto::rdma::AckFrame;
    use narrows_proto::units::Span;

    const RATES: [BitRate; 2] = [BitRate::from_gbps(25), BitRate::from_gbps(100)];

    fn packet(kind: Kind, flags: u8) -> Packet {
        let (flow, to) = (FlowId(1), HostId(2));
        Packet::new(Fields {
            seq: 3,
            flow,
            to,
            size: 1148,
            incarnation: 0,
            kind,
            priority: 0,
            flags,
            trailers: 0,
        })
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// A packet, and its trailers, after `hops` ports.
    fn travel(hops: u32) -> (Packet, Trailers) {
        // What another packet has left there.
        let mut trailers = [packet(Kind::Ack, 0); 2];
        let mut packet = packet(Kind::Data, TELEMETRY);
        for hop in 0..hops {
            let mut meter = Meter::new(LinkId(hop), RATES[hop as usize % 2], &RATES);
            meter.sent = 12_800 * u64::from(hop);
            packet = meter.send(at(1000 * u64::from(hop)), packet, 80 * u64::from(hop), &mut trailers);
        }
        (packet, trailers)
    }

    #[test]
    fn records_are_read_in_the_order_of_switches_and_a_sixth_is_left_out() {
        for hops in 0..=6_u32 {
            let (packet, trailers) = travel(hops);
            let slots = [0, 1, 1, 2, 2, 2, 2][hops as usize];
            assert_eq!((packet.trailers(), packet.seq(), packet.size()), (slots, 3, 1148));
            let read = read(Parcel { packet, trailers: &trailers }, &RATES);
            let expected: Vec<_> = (0..hops.min(5))
                .map(u64::from)
                .map(|hop| Hop::new(RATES[hop as usize % 2], at(1000 * hop), 12_800 * hop, 80 * hop))
                .collect();
            assert_eq!(read.map_or(Vec::new(), |read| read.hops().to_vec()), expected);
        }
    }

    #[test]
    fn paths_have_different_numbers() {
        let of = |links: [u32; 2]| {
            let mut trailers = Trailers::default();
            let mut packet = packet(Kind::Data, TELEMETRY);
            for link in links {
                packet = Meter::new(LinkId(link), RATES[0], &RATES).send(at(1), packet, 0, &mut trailers);
            }
            read(Parcel { packet, trailers: &trailers }, &RATES).map(|telemetry| telemetry.path)
        };
        assert_eq!(of([1, 2]), of([1, 2]));
        // By their numbers alone 1 and 2 would be the same as 0 and 3.
        assert_ne!(of([1, 2]), of([0, 3]));
    }

    #[test]
    fn an_acknowledgment_brings_records_back_beside_what_is_missing() {
        for nak in [None, Some(77)] {
            let (packet, trailers) = travel(4);
            let data = Parcel { packet, trailers: &trailers };
            let frame = AckFrame { ack: 9, nak, ..AckFrame::default() };
            let (flags, used, back) = pack_rdma(&frame, Some(data));
            let ack = Parcel { packet: self::packet(Kind::Ack, flags).with_trailers(used), trailers: &back };
            assert_eq!(read(ack, &RATES), read(data, &RATES));
            assert_eq!(ack.rdma_ack_frame().nak, nak);
            // Without telemetry nothing is read from it.
            let (flags, used, back) = pack_rdma(&frame, None);
            let bare = self::packet(Kind::Ack, flags).with_trailers(used);
            assert_eq!(read(Parcel { packet: bare, trailers: &back }, &RATES), None);
        }
    }

    #[test]
    fn every_packet_counts_and_only_data_that_wants_it_is_written_into() {
        let mut meter = Meter::new(LinkId(0), RATES[0], &RATES);
        let mut trailers = Trailers::default();
        for other in
            [packet(Kind::Data, 0), packet(Kind::Ack, TELEMETRY), packet(Kind::Control(Control::Cnp), 0)]
        {
            assert_eq!(meter.send(at(1), other, 0, &mut trailers), other);
        }
        assert_eq!((meter.sent, trailers), (3 * 1148, Trailers::default()));
        // A limiter's tag does not keep it from being written into.
        let tagged = packet(Kind::Data, TELEMETRY).tagged(None, 4);
        assert_eq!(meter.send(at(1), tagged, 0, &mut trailers).trailers(), 1);
    }
}
