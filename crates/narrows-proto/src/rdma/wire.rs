//! Packets that a receiver sends a sender.

use super::selective::Selective;

/// An acknowledgment on its way from receiver to sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrame {
    /// Everything below has arrived.
    pub ack: u64,
    /// A packet was missing: this is the first byte of the one that arrived instead. With selective repeat the receiver
    /// has kept it.
    pub nak: Option<u64>,
    /// The packets it acknowledges were marked.
    pub ece: bool,
    /// With [`Recovery::AnyOrder`](super::Recovery::AnyOrder).
    pub selective: Selective,
}

/// Packet that a receiver sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An acknowledgment.
    Ack(AckFrame),
    /// A congestion notification packet.
    Cnp,
}
