//! Headers for simulated packets: Ethernet, IPv4, TCP, UDP, RoCEv2, PAUSE, the tag of limiters (CN-TAG).
//!
//! They hold what the simulation knows; the rest is made up:
//! - Hosts have addresses 10.0.0.1, 10.0.0.2, … and 02:00:…; switches 02:01:….
//! - A flow is a TCP connection of its own, from port 32768 + flow mod 32768 to port 32768 + (flow div 32768 + incarnation) mod 32768,
//!   with initial sequence numbers of 0, so that byte 0 of a flow has the number 1. Its last segment has PSH; nothing is closed.
//! - Windows are those that receivers announce, with the scale of their receive buffer; without one `receive_window`, or the largest
//!   there is. Who sends the data, and a receiver that repeats its last acknowledgment, announce what there is room for at first.
//! - Options that stand for the rest of the headers of a scenario are NOPs.
//! - The priority of a packet is its class selector (DSCP 8·priority).
//! - The flow identifier of a CN-TAG is the number of the flow mod 65536.

use std::sync::Arc;

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TcpOptions,
    UdpHeader,
};
use narrows::plan::Plan;
use narrows_proto::cc::Ecn;
use narrows_proto::cnm::Signal;
use narrows_proto::stream::{AccurateEcn, CeCount};
use narrows_proto::units::Bytes;
use narrows_sim::observe::{Control, PacketKind, StopFrame};
use narrows_sim::traffic::Transport;
use narrows_sim::{FlowId, HostId, NodeId};

use super::super::happening::Packet;

/// A frame without its payload.
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// Length with payload, without preamble, checksum and gap.
    pub(super) original: u32,
}

/// Makes headers.
pub(super) struct Frames {
    pub(super) plan: Arc<Plan>,
    /// Size of a limiter's tag, in bytes.
    tag: u64,
}

/// Smallest Ethernet frame without its checksum.
pub(super) const SMALLEST: usize = 60;
pub(super) const ETHERNET: u64 = 14;
/// Bytes that a link adds to an Ethernet frame: preamble, checksum and gap.
pub(super) const AROUND: u64 = 24;
/// MAC control frames, and the address they go to (IEEE 802.3 Annex 31B, IEEE 802.1Qbb).
const MAC_CONTROL: u16 = 0x8808;
const MAC_CONTROL_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
/// The tag of frames that a limiter of QCN has sent (IEEE 802.1Qau clause 33): its EtherType, and the size of both.
const CN_TAG: u16 = 0x22e9;
const CN_TAG_SIZE: u64 = 4;
/// RoCEv2 (InfiniBand Annex A17).
const ROCE_PORT: u16 = 4791;
/// The largest scale of windows (RFC 7323 §2.3).
const MOST_SCALE: u32 = 14;

/// The address of a host.
pub(super) fn ip_of(host: HostId) -> [u8; 4] {
    let [_, a, b, c] = (host.0 + 1).to_be_bytes();
    [10, a, b, c]
}

pub(super) fn mac_of(kind: u8, number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [2, kind, a, b, c, d]
}

impl Frames {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        let tag = plan.network.reaction.as_ref().map_or(0, |reaction| reaction.rule.tag_size().get());
        Self { plan, tag }
    }

    /// The hosts that an IP packet goes from and to; none of frames without addresses of hosts.
    pub(super) fn ends(&self, packet: &Packet) -> Option<[HostId; 2]> {
        let flow = self.plan.traffic.flows.get(packet.flow?.index())?;
        match packet.kind {
            PacketKind::Data | PacketKind::Syn | PacketKind::Datagram | PacketKind::Trimmed => {
                Some([flow.from, flow.to])
            }
            PacketKind::Ack | PacketKind::SynAck | PacketKind::Control(Control::Cnp) => {
                Some([flow.to, flow.from])
            }
            _ => None,
        }
    }

    /// The headers of a packet.
    pub(super) fn frame(&self, packet: &Packet) -> Frame {
        let framed = (packet.flow.zip(self.ends(packet))).map(|(flow, ends)| self.ip(packet, flow, ends));
        match (framed, packet.stop) {
            (Some(frame), _) => frame,
            (None, Some(stop)) => self.stop(packet, stop),
            (None, None) => self.message(packet),
        }
    }

    /// Meaning of a frame that has no standard form.
    pub(super) fn meaning(&self, packet: &Packet) -> Option<String> {
        let topology = &self.plan.network.topology;
        let goes = if packet.over { "ends" } else { "begins" };
        match packet.kind {
            PacketKind::Control(Control::Cnm) => {
                let cnm = packet.cnm?;
                let cp = cnm.from.0;
                // The spelling stays as it is in stored traces.
                let signal = match cnm.signal {
                    Signal::Quantized(feedback) => format!("Quantised({feedback})"),
                    signal => format!("{signal:?}"),
                };
                let (offset, delta) = (cnm.q_offset, cnm.q_delta);
                Some(format!("message=notice cp={cp} signal={signal} q_offset={offset} q_delta={delta}"))
            }
            PacketKind::Control(Control::Pause | Control::Pfc) => {
                let stop = packet.stop?;
                let isolated = if stop.classes & 256 > 0 && packet.kind == PacketKind::Control(Control::Pfc) {
                    " stops_isolated_flows"
                } else {
                    ""
                };
                Some(format!("stops=\"{}\"{isolated}", topology.link_name(stop.link)))
            }
            PacketKind::Control(control) if control != Control::Cnp => {
                let name = control.name();
                Some(if control.begins_or_ends() {
                    format!("message={name} {goes}")
                } else {
                    format!("message={name}")
                })
            }
            PacketKind::Trimmed => Some("trimmed".into()),
            _ => packet.nak.map(|byte| format!("nak_byte={byte}")),
        }
    }

    /// A packet from host to host.
    pub(super) fn ip(&self, packet: &Packet, flow: FlowId, [from, to]: [HostId; 2]) -> Frame {
        let group = &self.plan.traffic.groups[self.plan.traffic.flows[flow.index()].group.index()];
        let tag = if packet.tagged { self.tag } else { 0 };
        // What it has for headers, payload and padding.
        let above = |framing: Bytes| u64::from(packet.size).saturating_sub(tag + framing.get());
        let (framing, protocol, headers, payload) = match &group.transport {
            Transport::Stream { params, cc } => {
                let ecn = params.ecn(cc);
                let (headers, payload) = tcp(packet, flow, params, ecn, above(params.framing));
                (params.framing, IpNumber::TCP, headers, payload)
            }
            Transport::Rdma { params, cc } => {
                let params = params.under(cc);
                let payload = above(params.framing).saturating_sub(params.headers.get());
                let (headers, payload) = roce(packet, flow, params.mtu.get(), payload);
                (params.framing, IpNumber::UDP, headers, payload)
            }
            Transport::Datagram { params, .. } => {
                let of_data = above(params.framing).saturating_sub(params.headers.get());
                let payload = if packet.kind == PacketKind::Datagram { of_data } else { 0 };
                let (ours, theirs) = ports(flow, packet.incarnation);
                let ends = if packet.kind == PacketKind::Datagram { (ours, theirs) } else { (theirs, ours) };
                (params.framing, IpNumber::UDP, udp(ends, payload), payload)
            }
        };
        let ip = Ipv4Header {
            dscp: IpDscp::try_new(packet.priority << 3).unwrap_or_default(),
            ecn: match (packet.marked, packet.ect) {
                (true, _) => IpEcn::CongestionExperienced,
                (false, true) if packet.l4s => IpEcn::Ect1,
                (false, true) => IpEcn::Ect0,
                (false, false) => IpEcn::default(),
            },
            total_len: (20 + headers.len() as u64 + payload).min(u16::MAX.into()) as u16,
            dont_fragment: true,
            time_to_live: 64,
            protocol,
            source: ip_of(from),
            destination: ip_of(to),
            ..Ipv4Header::default()
        };
        let mut bytes = ethernet(mac_of(0, from.0), mac_of(0, to.0), EtherType::IPV4.0);
        if packet.tagged && self.has_cn_tag() {
            // Between the addresses and the EtherType.
            let [high, low] = (flow.0 as u16).to_be_bytes();
            let [kind, of_tag] = CN_TAG.to_be_bytes();
            bytes.splice(12..12, [kind, of_tag, high, low]);
        }
        let ip = Ipv4Header { header_checksum: ip.calc_header_checksum(), ..ip };
        bytes.extend_from_slice(&ip.to_bytes());
        bytes.extend_from_slice(&headers);
        let on_link = u64::from(packet.size).saturating_sub(framing.get()) + ETHERNET;
        finish(bytes, payload, on_link)
    }

    /// Its limiters write tags that have a standard form.
    fn has_cn_tag(&self) -> bool {
        let rule = self.plan.network.reaction.as_ref().map(|reaction| &reaction.rule);
        self.tag == CN_TAG_SIZE && matches!(rule, Some(narrows_proto::reaction::Config::Qcn(_)))
    }

    /// A frame that stops the neighbor.
    fn stop(&self, packet: &Packet, stop: StopFrame) -> Frame {
        let rate = self.plan.network.topology.link(stop.link).wire.rate;
        // A quantum is the time of 512 bits.
        let quanta = (stop.lasts.as_secs_f64() * rate.as_f64() / 512.0).round().min(65535.0) as u16;
        let from = mac_of(1, self.sender(packet).0);
        let mut bytes = ethernet(from, MAC_CONTROL_ADDRESS, MAC_CONTROL);
        if packet.kind == PacketKind::Control(Control::Pause) {
            bytes.extend_from_slice(&[0x00, 0x01]);
            bytes.extend_from_slice(&quanta.to_be_bytes());
        } else {
            bytes.extend_from_slice(&[0x01, 0x01]);
            // A class that is not stopped may go on at once: all are enabled, those with time 0.
            bytes.extend_from_slice(&0x00ff_u16.to_be_bytes());
            for class in 0..8 {
                let time = if stop.classes & 1 << class == 0 { 0 } else { quanta };
                bytes.extend_from_slice(&time.to_be_bytes());
            }
        }
        finish(bytes, 0, u64::from(packet.size).saturating_sub(AROUND))
    }

    /// The node whose port it leaves.
    pub(super) fn sender(&self, packet: &Packet) -> NodeId {
        self.plan.network.topology.link(packet.link).from
    }
}

/// Pads a frame that carries no data; one that does is left without it.
pub(super) fn finish(mut bytes: Vec<u8>, payload: u64, on_link: u64) -> Frame {
    if payload == 0 && bytes.len() < SMALLEST {
        bytes.resize(SMALLEST, 0);
    }
    let least = bytes.len() as u64 + payload;
    Frame { original: least.max(on_link.max(SMALLEST as u64)).min(u64::from(u32::MAX)) as u32, bytes }
}

pub(super) fn ethernet(source: [u8; 6], destination: [u8; 6], ether_type: u16) -> Vec<u8> {
    Ethernet2Header { source, destination, ether_type: EtherType(ether_type) }.to_bytes().to_vec()
}

/// The ports of the two ends of a flow: of who sends, of who receives.
fn ports(flow: FlowId, incarnation: u16) -> (u16, u16) {
    const HALF: u32 = 1 << 15;
    let theirs = (flow.0 / HALF + u32::from(incarnation)) % HALF;
    ((HALF + flow.0 % HALF) as u16, (HALF + theirs) as u16)
}

/// The windows of a connection.
struct Windows {
    /// Those on the wire are so many bits shorter.
    scale: u8,
    /// Room of a receiver at first, in bytes.
    first: u64,
}

impl Windows {
    fn of(params: &narrows_proto::stream::Params) -> Self {
        let first = params.receive_window.map_or(u64::MAX, Bytes::get).min(params.first_edge());
        let scale = match params.receive_buffer {
            Some(buffer) => buffer.unit().trailing_zeros(),
            None => (u64::BITS - first.leading_zeros()).saturating_sub(u16::BITS).min(MOST_SCALE),
        };
        Self { scale: scale as u8, first }
    }
}

/// Headers and payload of a segment; `size` is what it has for both.
fn tcp(
    packet: &Packet,
    flow: FlowId,
    params: &narrows_proto::stream::Params,
    ecn: Ecn,
    size: u64,
) -> (Vec<u8>, u64) {
    let (ours, theirs) = ports(flow, packet.incarnation);
    let payload = size.saturating_sub(params.headers.get());
    let Windows { scale, first } = Windows::of(params);
    let syn = matches!(packet.kind, PacketKind::Syn | PacketKind::SynAck);
    let window = packet.announces.map_or(first, |window| u64::from(window) << scale);
    // That of a SYN is not scaled (RFC 7323 §2.2).
    let window = window >> if syn { 0 } else { scale };
    let mut header = TcpHeader {
        source_port: ours,
        destination_port: theirs,
        window_size: window.min(u16::MAX.into()) as u16,
        ..TcpHeader::default()
    };
    // Byte 0 has the number 1. Numbers go round after 4 GiB.
    let number = |byte: u64| byte.wrapping_add(1) as u32;
    let mut options = Vec::new();
    let payload = match packet.kind {
        PacketKind::Syn | PacketKind::SynAck => {
            header.syn = true;
            header.ack = packet.kind == PacketKind::SynAck;
            header.acknowledgment_number = u32::from(header.ack);
            let of_syn = packet.kind == PacketKind::Syn;
            header.ece = ecn != Ecn::Off && (of_syn || ecn != Ecn::Counted);
            header.cwr = ecn != Ecn::Off && (of_syn || ecn == Ecn::Counted);
            // AE, CWR, ECE: 111 asks for counts; the answer says how that arrived (RFC 9768 §3.1.1).
            header.ns = ecn == Ecn::Counted && of_syn;
            if let Some(ace) = packet.ace {
                [header.ns, header.cwr, header.ece] = [4, 2, 1].map(|bit| ace & bit > 0);
            }
            let mss = params.mss().get().min(u16::MAX.into()) as u16;
            options = vec![
                TcpOptionElement::MaximumSegmentSize(mss),
                TcpOptionElement::SelectiveAcknowledgementPermitted,
                TcpOptionElement::WindowScale(scale),
            ];
            0
        }
        PacketKind::Ack => {
            header.ack = true;
            header.sequence_number = 1;
            header.acknowledgment_number = number(packet.seq);
            header.ece = packet.echoes_mark;
            if let Some(ace) = packet.ace {
                [header.ns, header.cwr, header.ece] = [4, 2, 1].map(|bit| ace & bit > 0);
            }
            let mut blocks = packet.sacks.iter().map(|block| (number(block.start), number(block.end)));
            if let Some(first) = blocks.next() {
                let rest = std::array::from_fn(|_| blocks.next());
                options.push(TcpOptionElement::SelectiveAcknowledgement(first, rest));
            }
            0
        }
        _ => {
            header.ack = true;
            header.sequence_number = number(packet.seq);
            header.acknowledgment_number = 1;
            header.psh = packet.last || packet.pushed;
            header.cwr = packet.reduced;
            payload
        }
    };
    if matches!(packet.kind, PacketKind::Ack | PacketKind::SynAck) {
        std::mem::swap(&mut header.source_port, &mut header.destination_port);
    }
    // The option of counts: its bytes are not known here.
    let sacks = packet.sacks.len() as u64;
    let sacks = if sacks > 0 { 4 + 8 * sacks } else { 0 };
    let exact = packet.ace.is_some() && !syn && params.accurate_ecn != Some(AccurateEcn::Ace);
    let counts = if exact { CeCount::Exact(0).options(sacks) - sacks } else { 0 };
    header.options = padded(&options, params.headers.get().saturating_sub(40) + counts);
    (header.to_bytes().to_vec(), payload)
}

/// Options, with NOPs so that all take `room` bytes besides selective acknowledgments.
fn padded(options: &[TcpOptionElement], room: u64) -> TcpOptions {
    let length = |option: &TcpOptionElement| match option {
        TcpOptionElement::MaximumSegmentSize(_) => 4,
        TcpOptionElement::SelectiveAcknowledgementPermitted => 2,
        TcpOptionElement::WindowScale(_) => 3,
        _ => 0,
    };
    let used: u64 = options.iter().map(length).sum();
    let nops = (room.min(40).saturating_sub(used)) as usize;
    let mut all = vec![TcpOptionElement::Noop; nops];
    all.extend_from_slice(options);
    // Without room for the NOPs: the options alone.
    TcpOptions::try_from_elements(&all)
        .or_else(|_| TcpOptions::try_from_elements(options))
        .unwrap_or_default()
}

fn udp((source_port, destination_port): (u16, u16), payload: u64) -> Vec<u8> {
    let length = (8 + payload).min(u16::MAX.into()) as u16;
    UdpHeader { source_port, destination_port, length, checksum: 0 }.to_bytes().to_vec()
}

/// Headers and payload of a packet of an RDMA connection: UDP and base transport header (InfiniBand §9.2), reliable connection.
fn roce(packet: &Packet, flow: FlowId, mtu: u64, payload: u64) -> (Vec<u8>, u64) {
    const SEND: [[u8; 2]; 2] = [[0x01, 0x02], [0x00, 0x04]]; // [first][last]
    const ACKNOWLEDGE: u8 = 0x11;
    const CNP: u8 = 0x81;
    const BECN: u8 = 0x40;
    const ICRC: u64 = 4;
    // Queue pairs 0 and 1 are for management.
    let pair = (flow.0 & 0x003f_ffff) * 2 + 16;
    let psn = |byte: u64| (byte.div_ceil(mtu.max(1)) & 0x00ff_ffff) as u32;
    let (opcode, notified, to, asks, number, extended) = match packet.kind {
        PacketKind::Control(Control::Cnp) => (CNP, BECN, pair, false, 0, vec![0; 16]),
        PacketKind::Ack => {
            let naks = packet.nak.is_some();
            // An acknowledgment names the last packet that arrived in order, a NAK the one that is missing.
            let number = psn(packet.seq).wrapping_sub(u32::from(!naks)) & 0x00ff_ffff;
            let syndrome = if naks { 0x60 } else { 0x1f };
            (ACKNOWLEDGE, 0, pair, false, number, vec![syndrome, 0, 0, 0])
        }
        _ => {
            let opcode = SEND[usize::from(packet.seq == 0)][usize::from(packet.last)];
            (opcode, 0, pair + 1, packet.asks, psn(packet.seq), Vec::new())
        }
    };
    let payload = if extended.is_empty() { payload } else { 0 };
    let source = (49152 + flow.0 % 16384) as u16;
    let mut headers = udp((source, ROCE_PORT), 12 + extended.len() as u64 + payload + ICRC);
    headers.extend_from_slice(&[opcode, 0, 0xff, 0xff]);
    headers.extend_from_slice(&(u32::from(notified) << 24 | to).to_be_bytes());
    headers.extend_from_slice(&(u32::from(asks) << 31 | number).to_be_bytes());
    headers.extend_from_slice(&extended);
    if payload == 0 {
        headers.extend_from_slice(&[0; ICRC as usize]);
        return (headers, 0);
    }
    (headers, payload + ICRC)
}
