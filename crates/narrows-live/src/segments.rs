//! Packets of several segments, as hosts with segmentation offload hand them over (TSO): the fabric carries each segment by itself, and a
//! host receives at once what left the fabric together.

use std::ops::Range;

use crate::frames::{self, ETHERNET};

/// Most segments that a packet of a host may have.
pub const MOST: u32 = 64;

/// Bytes of the headers of Ethernet, IPv4 and TCP at most.
const HEADERS: usize = ETHERNET + 60 + 60;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`.
const TCP: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_ECN`: the first segment has CWR.
const WITH_CWR: u8 = 0x80;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Offloads of a frame, before it on a device that has some (`struct virtio_net_hdr`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offload(pub(crate) [u8; 10]);

impl Offload {
    fn word(self, at: usize) -> usize {
        u16::from_ne_bytes([self.0[at], self.0[at + 1]]).into()
    }

    fn set(&mut self, at: usize, to: usize) {
        self.0[at..at + 2].copy_from_slice(&(to as u16).to_ne_bytes());
    }

    /// Payload of each segment but the last; none if the frame is a single one.
    fn segment(self) -> Option<usize> {
        (self.0[1] & !WITH_CWR == TCP).then(|| self.word(4)).filter(|size| *size > 0)
    }
}

/// Segments of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Bytes before the payload, which each segment has.
    headers: usize,
    /// Bytes of payload of each but the last.
    payload: usize,
    /// Bytes of the whole frame.
    length: usize,
    pub(crate) count: u32,
}

impl Cut {
    /// None if it has more segments than a packet may have, or is not what its offloads say.
    pub(crate) fn of(offload: Offload, frame: &[u8]) -> Option<Self> {
        let length = frame.len();
        let Some(payload) = offload.segment() else {
            return Some(Self { headers: length, payload: 0, length, count: 1 });
        };
        let inner = ETHERNET + 4 * usize::from(frame.get(ETHERNET)? & 15);
        let headers = inner + 4 * usize::from(frame.get(inner + 12)? >> 4);
        let count = length.checked_sub(headers)?.div_ceil(payload).max(1);
        let is_sound = headers >= inner + 20 && inner >= ETHERNET + 20 && count <= MOST as usize;
        is_sound.then_some(Self { headers, payload, length, count: count as u32 })
    }

    /// Bytes of a segment with its headers.
    pub(crate) fn size(&self, segment: u32) -> usize {
        self.headers + self.within(segment..segment + 1).len()
    }

    /// Place of the payload of some segments.
    fn within(&self, segments: Range<u32>) -> Range<usize> {
        let at = |segment: u32| (self.headers + segment as usize * self.payload).min(self.length);
        at(segments.start)..at(segments.end)
    }
}

/// Some segments of a frame as one.
pub(crate) struct Joined<'a> {
    pub(crate) offload: Offload,
    headers: [u8; HEADERS],
    length: usize,
    pub(crate) payload: &'a [u8],
}

impl<'a> Joined<'a> {
    /// `frame` has several segments, and is cut like this.
    pub(crate) fn new(mut offload: Offload, frame: &'a [u8], cut: &Cut, segments: Range<u32>) -> Self {
        let (mut headers, length) = ([0; HEADERS], cut.headers);
        headers[..length].copy_from_slice(&frame[..length]);
        let payload = &frame[cut.within(segments.clone())];
        let packet = &mut headers[ETHERNET..length];
        let inner = 4 * usize::from(packet[0] & 15);
        let size = packet.len() + payload.len();
        packet[2..4].copy_from_slice(&(size as u16).to_be_bytes());
        let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(segments.start as u16);
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[10..12].fill(0);
        let checksum = !frames::sum(&packet[..inner]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        // The sum of what TCP covers besides itself; who receives the frame takes its own checksum as right.
        let [high, low] = ((size - inner) as u16).to_be_bytes();
        let mut covered = [0; 12];
        covered[..8].copy_from_slice(&packet[12..20]);
        covered[8..].copy_from_slice(&[0, 6, high, low]);
        let tcp = &mut packet[inner..];
        tcp[16..18].copy_from_slice(&frames::sum(&covered).to_be_bytes());
        let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let seq = seq.wrapping_add(segments.start * cut.payload as u32);
        tcp[4..8].copy_from_slice(&seq.to_be_bytes());
        if segments.end < cut.count {
            tcp[13] &= !FIN_PSH;
        }
        if segments.start > 0 {
            tcp[13] &= !CWR;
        }
        let has_cwr = tcp[13] & CWR != 0;
        offload.0[0] = NEEDS_CHECKSUM;
        offload.set(2, length);
        offload.set(6, ETHERNET + inner);
        offload.set(8, 16);
        if segments.len() > 1 {
            offload.0[1] = TCP | if has_cwr { WITH_CWR } else { 0 };
        } else {
            offload.0[1] = 0;
            offload.set(4, 0);
        }
        Self { offload, headers, length, payload }
    }

    pub(crate) fn headers(&mut self) -> &mut [u8] {
        &mut self.headers[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of `payload` bytes from the first host to the second, with a sequence number of 1000, an identification of 7, CWR and FIN,
    /// as a host hands it over that cuts it into segments of 100 bytes.
    fn handed_over(payload: usize) -> (Offload, Vec<u8>) {
        let mut frame = vec![0; ETHERNET + 40];
        frame[12..14].copy_from_slice(&[8, 0]);
        let packet = &mut frame[ETHERNET..];
        packet[0] = 0x45;
        packet[2..6].copy_from_slice(&[0, 40, 0, 7]);
        packet[8..10].copy_from_slice(&[64, 6]);
        packet[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        packet[24..28].copy_from_slice(&1_000_u32.to_be_bytes());
        packet[32..34].copy_from_slice(&[0x50, CWR | 0x10 | FIN_PSH]);
        frame.extend((0..payload).map(|at| at as u8));
        let mut offload = Offload([NEEDS_CHECKSUM, TCP | WITH_CWR, 0, 0, 0, 0, 0, 0, 0, 0]);
        offload.set(4, 100);
        (offload, frame)
    }

    fn joined(segments: Range<u32>) -> (Offload, Vec<u8>) {
        let (offload, frame) = handed_over(250);
        let cut = Cut::of(offload, &frame).expect("it is sound");
        let mut joined = Joined::new(offload, &frame, &cut, segments);
        let bytes = [&*joined.headers(), &[]].concat();
        (joined.offload, [&bytes, joined.payload].concat())
    }

    #[test]
    fn a_frame_is_cut_into_segments_of_which_the_last_is_smaller() {
        let (offload, frame) = handed_over(250);
        let cut = Cut::of(offload, &frame).expect("it is sound");
        assert_eq!((cut.count, cut.size(0), cut.size(1), cut.size(2)), (3, 154, 154, 104));
        let (_, lone) = handed_over(100);
        let cut = Cut::of(Offload::default(), &lone).expect("it is sound");
        assert_eq!((cut.count, cut.size(0)), (1, lone.len()));
    }

    #[test]
    fn a_frame_that_is_not_what_its_offloads_say_is_refused() {
        let (offload, mut frame) = handed_over(250);
        for length in ETHERNET..ETHERNET + 40 {
            assert_eq!(Cut::of(offload, &frame[..length]), None, "{length}");
        }
        assert_eq!(Cut::of(offload, &handed_over(6_401).1), None);
        frame[ETHERNET + 32] = 0x40;
        assert_eq!(Cut::of(offload, &frame), None);
    }

    #[test]
    fn segments_are_numbered_and_only_ends_have_the_flags_of_ends() {
        for (segments, bytes, seq, id, flags, size) in [
            (0..3, 250, 1_000_u32, 7, CWR | 0x10 | FIN_PSH, 100),
            (0..2, 200, 1_000, 7, CWR | 0x10, 100),
            (1..2, 100, 1_100, 8, 0x10, 0),
            (1..3, 150, 1_100, 8, 0x10 | FIN_PSH, 100),
        ] {
            let (offload, frame) = joined(segments.clone());
            let packet = &frame[ETHERNET..];
            assert_eq!(frame.len(), ETHERNET + 40 + bytes, "{segments:?}");
            assert_eq!(frame[ETHERNET + 40], (100 * segments.start) as u8);
            assert_eq!(packet[2..4], (40 + bytes as u16).to_be_bytes(), "{segments:?}");
            assert_eq!(packet[4..6], [0, id], "{segments:?}");
            assert_eq!(packet[24..28], seq.to_be_bytes());
            assert_eq!((packet[33], offload.word(4)), (flags, size), "{segments:?}");
            assert_eq!(offload.0[1] & WITH_CWR != 0, size > 0 && flags & CWR != 0);
            assert_eq!(frames::sum(&packet[..20]), 0xffff, "the header has the right checksum");
        }
    }
}
