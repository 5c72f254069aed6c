//! A link that changes the ECN field of packets, as some middleboxes do: `bleach` clears it, `to_ect0` says ECT(0) in place of ECT(1),
//! `unmark` takes marks off. Senders that count marks notice the first two and go on without ECN; nothing shows the third.
//!
//! It happens behind the queue, so marks of the queue in front of the link are changed as well.

use crate::packet::Packet;

/// Change of the ECN field of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "EcnMangling")]
#[serde(rename_all = "snake_case")]
pub enum Mangling {
    /// All packets leave as Not-ECT.
    Bleach,
    /// ECT(1) becomes ECT(0).
    ToEct0,
    /// CE becomes the codepoint that the packet was sent with.
    Unmark,
}

impl Mangling {
    /// The packet with the codepoint that it leaves with.
    pub(super) fn apply(self, packet: Packet) -> Packet {
        match self {
            Self::Bleach => packet.bleached(),
            Self::ToEct0 => packet.classic(),
            Self::Unmark => packet.unmarked(),
        }
    }
}
