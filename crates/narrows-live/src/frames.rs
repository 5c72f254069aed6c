//! Frames of real hosts: Ethernet, ARP, IPv4, and the ports of what is in it.

use narrows::addresses::{address_of, host_of};
use narrows_proto::cnm::Cnm;
use narrows_sim::Codepoint;

/// Bytes before the network-layer packet.
pub(crate) const ETHERNET: usize = 14;

/// Bytes that the wire adds to a frame as hosts hand it over: checksum, preamble and gap.
pub(crate) const WIRE: usize = 24;

const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const CNM: [u8; 2] = [0x22, 0xe7];

/// Hardware address of the host of this number: one that is administered locally.
pub(crate) fn hardware_of(host: u32) -> [u8; 6] {
    let [.., high, low] = (host + 1).to_be_bytes();
    [0x02, 0x4e, 0, 0, high, low]
}

/// Ports of a connection, or zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ports {
    pub(crate) from: u16,
    pub(crate) to: u16,
}

impl Ports {
    /// Those of answers.
    pub(crate) fn back(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// A frame that goes to another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) to: u32,
    pub(crate) ports: Ports,
    pub(crate) ecn: Codepoint,
}

/// Destination, ports and ECN of a frame; none if it is not for another host.
pub(crate) fn read(frame: &[u8]) -> Option<Seen> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
    if ethernet[12..] != IPV4 || packet.len() < 20 || packet[0] >> 4 != 4 {
        return None;
    }
    let to = host_of(packet[16..20].try_into().expect("four bytes"))?;
    let ecn = Codepoint::of_bits(packet[1]);
    let has_ports = matches!(packet[9], 6 | 17);
    let ports = packet.get(4 * usize::from(packet[0] & 15)..).and_then(|inner| inner.get(..4));
    let ports = match ports {
        Some(&[a, b, c, d]) if has_ports => {
            Ports { from: u16::from_be_bytes([a, b]), to: u16::from_be_bytes([c, d]) }
        }
        _ => Ports::default(),
    };
    Some(Seen { to, ports, ecn })
}

/// A segment of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) connection: Connection,
    /// Bytes of the network-layer packet.
    pub(crate) packet: usize,
    /// Bytes of them that are payload.
    pub(crate) payload: usize,
    /// It says PSH.
    pub(crate) is_pushed: bool,
    /// It opens a connection.
    pub(crate) opens: Option<Opens>,
}

/// A segment that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    Syn,
    SynAck,
}

/// The segment in a frame that comes in parts, of which the first has all headers; none if it is no TCP from host to host.
pub(crate) fn segment(parts: &[&[u8]]) -> Option<Segment> {
    let (headers, beyond) = parts.split_first()?;
    let Seen { to, ports, .. } = read(headers)?;
    let headers = &headers[ETHERNET..];
    let header = 4 * usize::from(headers[0] & 15);
    let tcp = headers.get(header..).filter(|tcp| headers[9] == 6 && tcp.len() >= 20)?;
    let from = host_of(headers[12..16].try_into().expect("four bytes"))?;
    let packet = headers.len() + beyond.iter().map(|part| part.len()).sum::<usize>();
    let payload = packet.saturating_sub(header + 4 * usize::from(tcp[12] >> 4));
    let is_pushed = tcp[13] & 0x08 > 0;
    let opens = match tcp[13] & 0x12 {
        0x02 => Some(Opens::Syn),
        0x12 => Some(Opens::SynAck),
        _ => None,
    };
    Some(Segment { connection: Connection { from, to, ports }, packet, payload, is_pushed, opens })
}

/// Marks a frame that [`read`] has understood (RFC 3168 §5), and mends its checksum (RFC 1624 §3).
pub(crate) fn mark(frame: &mut [u8]) {
    let packet = &mut frame[ETHERNET..];
    let word = |packet: &[u8], at| u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let before = word(packet, 0);
    packet[1] |= 3;
    let sum = (!word(packet, 10) & 0xffff) + (!before & 0xffff) + word(packet, 0);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!folded as u16).to_be_bytes());
}

/// Sum of the words of some bytes, an even number of them (RFC 1071).
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.as_chunks::<2>().0.iter();
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded + (folded >> 16)) as u16
}

/// A connection, from its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Connection {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) ports: Ports,
}

impl Connection {
    /// That of answers.
    pub(crate) fn back(self) -> Self {
        Self { from: self.to, to: self.from, ports: self.ports.back() }
    }
}

/// A congestion notification message about a connection, to its sender (IEEE 802.1Qau §33.4). It quotes the beginning of a packet as it
/// would have been sampled, from the EtherType on.
pub(crate) fn notice(cnm: &Cnm, feedback: u8, connection: Connection) -> [u8; 68] {
    let Connection { from, to, ports } = connection;
    let mut frame = [0; 68];
    frame[..6].copy_from_slice(&hardware_of(from));
    frame[6..12].copy_from_slice(&hardware_of(to));
    frame[12..14].copy_from_slice(&CNM);
    frame[15] = feedback & 63;
    frame[22..24].copy_from_slice(&cnm.from.0.get().to_be_bytes());
    frame[24..26].copy_from_slice(&cnm.q_offset.to_be_bytes());
    frame[26..28].copy_from_slice(&cnm.q_delta.to_be_bytes());
    frame[30..36].copy_from_slice(&hardware_of(to));
    frame[36..38].copy_from_slice(&30_u16.to_be_bytes());
    let quoted = &mut frame[38..];
    quoted[..2].copy_from_slice(&IPV4);
    quoted[2] = 0x45;
    quoted[11] = 6;
    quoted[14..18].copy_from_slice(&address_of(from).octets());
    quoted[18..22].copy_from_slice(&address_of(to).octets());
    quoted[22..24].copy_from_slice(&ports.from.to_be_bytes());
    quoted[24..26].copy_from_slice(&ports.to.to_be_bytes());
    frame
}

/// The answer to a frame that asks for the hardware address of a host (RFC 826). The fabric gives it at once: asking is no traffic.
pub(crate) fn answer(frame: &[u8]) -> Option<[u8; 42]> {
    let question: &[u8; 42] = frame.get(..42)?.try_into().ok()?;
    let about = host_of(question[38..42].try_into().expect("four bytes"))?;
    if question[12..14] != ARP || question[20..22] != [0, 1] {
        return None;
    }
    let (mut answer, hardware) = (*question, hardware_of(about));
    answer[..6].copy_from_slice(&question[6..12]);
    answer[6..12].copy_from_slice(&hardware);
    answer[21] = 2;
    answer[22..28].copy_from_slice(&hardware);
    answer[28..32].copy_from_slice(&question[38..42]);
    answer[32..42].copy_from_slice(&question[22..32]);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment from the first host to the second, with ECT(0).
    fn segment() -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 40];
        frame[12..14].copy_from_slice(&IPV4);
        let packet = &mut frame[ETHERNET..];
        packet[..4].copy_from_slice(&[0x45, 0x02, 0, 40]);
        packet[8..10].copy_from_slice(&[64, 6]);
        packet[12..16].copy_from_slice(&address_of(0).octets());
        packet[16..20].copy_from_slice(&address_of(1).octets());
        packet[20..24].copy_from_slice(&[0x12, 0x34, 0x13, 0x88]);
        let sum = checksum(packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// Of the header, whose own field counts as it stands.
    fn checksum(packet: &[u8]) -> u16 {
        !sum(&packet[..20])
    }

    #[test]
    fn a_segment_tells_where_it_goes() {
        let ports = Ports { from: 0x1234, to: 5000 };
        assert_eq!(read(&segment()), Some(Seen { to: 1, ports, ecn: Codepoint::Ect0 }));
        for length in 0..ETHERNET + 20 {
            assert_eq!(read(&segment()[..length]), None);
        }
    }

    #[test]
    fn a_segment_tells_its_connection_its_payload_and_whether_it_says_psh() {
        let mut frame = segment();
        frame[ETHERNET + 32] = 0x50;
        frame.extend([7; 100]);
        let connection = Connection { from: 0, to: 1, ports: Ports { from: 0x1234, to: 5000 } };
        let seen = Segment { connection, packet: 140, payload: 100, is_pushed: false, opens: None };
        assert_eq!(super::segment(&[&frame]), Some(seen));
        assert_eq!(super::segment(&[&frame, &[0; 9]]), Some(Segment { packet: 149, payload: 109, ..seen }));
        frame[ETHERNET + 33] = 0x18;
        assert_eq!(super::segment(&[&frame]), Some(Segment { is_pushed: true, ..seen }));
        assert_eq!(connection.back().back(), connection);
        for length in 0..ETHERNET + 40 {
            assert_eq!(super::segment(&[&frame[..length]]), None);
        }
        frame[ETHERNET + 9] = 17;
        assert_eq!(super::segment(&[&frame]), None, "UDP");
        assert_eq!(super::segment(&[]), None);
    }

    #[test]
    fn a_marked_header_has_the_right_checksum() {
        for ecn in 0..=3 {
            let mut frame = segment();
            frame[ETHERNET + 1] = ecn;
            frame[ETHERNET + 10..ETHERNET + 12].fill(0);
            let sum = checksum(&frame[ETHERNET..]);
            frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
            mark(&mut frame);
            assert_eq!((frame[ETHERNET + 1], checksum(&frame[ETHERNET..])), (3, 0));
        }
    }

    #[test]
    fn a_notice_quotes_addresses_and_ports_of_the_connection_where_programs_look_for_them() {
        use narrows_proto::cnm::{CpId, Signal};
        let from = CpId(std::num::NonZeroU16::new(0x1234).expect("not zero"));
        let cnm = Cnm { from, signal: Signal::Quantized(9), q_offset: -2, q_delta: 1 };
        let ports = Ports { from: 0x0102, to: 0x0304 };
        let frame = notice(&cnm, 9, Connection { from: 0, to: 1, ports });
        assert_eq!((&frame[..6], &frame[12..16]), (&hardware_of(0)[..], &[0x22, 0xe7, 0, 9][..]));
        assert_eq!(frame[22..28], [0x12, 0x34, 0xff, 0xfe, 0, 1]);
        assert_eq!(frame[52..56], address_of(0).octets());
        assert_eq!(frame[56..64], [10, 77, 0, 2, 1, 2, 3, 4]);
    }

    #[test]
    fn questions_for_hosts_are_answered_and_others_are_not() {
        let mut question = [0; 42];
        question[..6].fill(0xff);
        question[6..12].copy_from_slice(&hardware_of(0));
        question[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        question[22..28].copy_from_slice(&hardware_of(0));
        question[28..32].copy_from_slice(&address_of(0).octets());
        question[38..42].copy_from_slice(&address_of(7).octets());
        let answer = answer(&question).expect("an answer");
        assert_eq!((&answer[..6], &answer[22..28]), (&hardware_of(0)[..], &hardware_of(7)[..]));
        assert_eq!((&answer[28..32], answer[21]), (&address_of(7).octets()[..], 2));
        question[38] = 11;
        assert_eq!(super::answer(&question), None);
        assert_eq!(super::answer(&segment()), None);
    }
}
