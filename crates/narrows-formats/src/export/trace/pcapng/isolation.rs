//! Messages about isolated flows as frames: congestion isolation messages (CIM).

use narrows_sim::FlowId;

use super::super::happening::Packet;
use super::frames::{Frames, mac_of};

/// EtherType of CIMs (IEEE 802.1Qcz).
pub(super) const CIM: u16 = 0x89a2;

impl Frames {
    /// Version (4 bits), reserved (3), whether the flow is to be isolated no longer (1); destination and source of its frames, VLAN,
    /// and the first octets of one.
    pub(super) fn cim(&self, packet: &Packet, flow: FlowId, room: usize) -> Vec<u8> {
        let [from, to] = self.ends_of(flow);
        let mut content = vec![u8::from(packet.over)];
        content.extend(mac_of(0, to.0));
        content.extend(mac_of(0, from.0));
        content.extend([0, 0]);
        let sample = self.sample(packet, flow, room.saturating_sub(content.len() + 2));
        content.extend((sample.len() as u16).to_be_bytes());
        content.extend(sample);
        content
    }
}
