//! Messages of switches as frames.
//!
//! | message | EtherType | layout |
//! | --- | --- | --- |
//! | QCN's congestion notification (CNM) | 0x22E7 | IEEE 802.1Qau §33.4 |
//! | congestion isolation (CIM), of every scheme | 0x89A2 | IEEE 802.1Qcz |
//! | BCN's message | 0x8904 | after the proposals of 2006; the slides of 2005 leave it open |
//! | the messages of RackCC | 0x88B5 (for experiments) | ours: number, flow, sequence number |
//!
//! Those of BCN and of 802.1Qcz are written from memory, as the texts of the standards were not at hand.
//! Deviations: a CNM never has a CN-TAG, since messages do not keep whether the sampled frame had one. The sampled frame is made up from
//! its flow: its sequence number is 0, and it has no data.

use narrows_proto::cnm::{Cnm, Signal};
use narrows_sim::observe::{Control, PacketKind};
use narrows_sim::traffic::Transport;
use narrows_sim::{FlowId, HostId};

use super::super::happening::Packet;
use super::frames::{AROUND, ETHERNET, Frame, Frames, SMALLEST, ethernet, finish, mac_of};
use super::isolation::CIM;

const CNM: u16 = 0x22e7;
const BCN: u16 = 0x8904;
/// IEEE 802 local experimental EtherType 1.
const EXPERIMENTAL: u16 = 0x88b5;
/// The most octets of a sampled frame that a CNM carries (IEEE 802.1Qau §33.4.10).
const MOST_OF_SAMPLE: usize = 64;

/// The number of a message in its frame: control packets are numbered after five kinds that have a standard form.
fn number_of(kind: PacketKind) -> u8 {
    match kind {
        PacketKind::Control(control) => 5 + control as u8,
        _ => 0,
    }
}

impl Frames {
    /// A message of a switch, or to one.
    pub(super) fn message(&self, packet: &Packet) -> Frame {
        let on_link = u64::from(packet.size).saturating_sub(AROUND);
        let room = on_link.max(SMALLEST as u64).saturating_sub(ETHERNET) as usize;
        let (ether_type, content) = match (packet.kind, packet.cnm, packet.flow) {
            (PacketKind::Control(Control::Cnm), Some(cnm), Some(flow)) => match cnm.signal {
                Signal::Quantized(feedback) => (CNM, self.cnm(feedback, &cnm, packet, flow, room)),
                signal => (BCN, self.bcn(signal, &cnm, packet, flow, room)),
            },
            (PacketKind::Control(Control::Isolate), _, Some(flow)) => (CIM, self.cim(packet, flow, room)),
            _ => (EXPERIMENTAL, of_ours(packet)),
        };
        let topology = &self.plan.network.topology;
        let to = packet.to.map(|to| mac_of(0, to.0));
        let to = to.unwrap_or_else(|| mac_of(1, topology.link(packet.link).to.0));
        let from = self.sender(packet);
        let from = topology.as_host(from).map_or_else(|| mac_of(1, from.0), |host| mac_of(0, host.0));
        let mut bytes = ethernet(from, to, ether_type);
        bytes.extend_from_slice(&content);
        finish(bytes, 0, on_link)
    }

    /// Version (4 bits), reserved (6), quantized feedback (6); identifier of the congestion point; offset and change of the queue in
    /// units of 64 B; priority and destination of the sampled frame, and its first octets.
    fn cnm(&self, feedback: u8, cnm: &Cnm, packet: &Packet, flow: FlowId, room: usize) -> Vec<u8> {
        let mut content = u16::from(feedback).to_be_bytes().to_vec();
        content.extend(queue(cnm));
        let priority = self.plan.traffic.groups[self.plan.traffic.flows[flow.index()].group.index()].priority;
        content.extend((u16::from(priority) << 13).to_be_bytes());
        content.extend(mac_of(0, self.ends_of(flow)[1].0));
        let sample = self.sample(packet, flow, room.saturating_sub(content.len() + 2));
        content.extend((sample.len() as u16).to_be_bytes());
        content.extend(sample);
        content
    }

    /// Version, signal ([`Signal::to_bits`]); identifier of the congestion point; offset and change of the queue in units of 64 B; the
    /// first octets of the sampled frame.
    fn bcn(&self, signal: Signal, cnm: &Cnm, packet: &Packet, flow: FlowId, room: usize) -> Vec<u8> {
        let mut content = vec![0, signal.to_bits()];
        content.extend(queue(cnm));
        content.extend(self.sample(packet, flow, room.saturating_sub(content.len())));
        content
    }

    pub(super) fn ends_of(&self, flow: FlowId) -> [HostId; 2] {
        let flow = &self.plan.traffic.flows[flow.index()];
        [flow.from, flow.to]
    }

    /// The first octets of a frame of this flow, from its EtherType on.
    pub(super) fn sample(&self, message: &Packet, flow: FlowId, room: usize) -> Vec<u8> {
        const ADDRESSES: usize = 12;
        let group = self.plan.traffic.flows[flow.index()].group;
        let kind = match self.plan.traffic.groups[group.index()].transport {
            Transport::Datagram { .. } => PacketKind::Datagram,
            Transport::Stream { .. } | Transport::Rdma { .. } => PacketKind::Data,
        };
        let sampled = Packet { kind, seq: 0, size: 0, tagged: false, cnm: None, ..message.clone() };
        let frame = self.ip(&sampled, flow, self.ends_of(flow));
        let content = &frame.bytes[ADDRESSES..];
        content[..content.len().min(room).min(MOST_OF_SAMPLE)].to_vec()
    }
}

/// Identifier of the congestion point; offset and change of its queue.
fn queue(cnm: &Cnm) -> impl Iterator<Item = u8> + use<> {
    let of = u64::from(cnm.from.0.get()).to_be_bytes();
    of.into_iter().chain(cnm.q_offset.to_be_bytes()).chain(cnm.q_delta.to_be_bytes())
}

/// Number of the kind, flow, sequence number.
fn of_ours(packet: &Packet) -> Vec<u8> {
    let mut content = vec![number_of(packet.kind)];
    content.extend_from_slice(&packet.flow.map_or(u32::MAX, |flow| flow.0).to_be_bytes());
    content.extend_from_slice(&packet.seq.to_be_bytes());
    content
}
