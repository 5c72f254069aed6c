//! Datagrams, and how many of them are where.

use std::net::SocketAddr;

use narrows_proto::units::Time;
use narrows_sim::Codepoint;

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When its last bit did.
    pub at: Time,
    /// Where it comes from.
    pub from: SocketAddr,
    /// Its ECN field, as the switches left it.
    pub ecn: Codepoint,
    /// All of it.
    pub payload: Vec<u8>,
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where it goes.
    pub to: SocketAddr,
    /// Its ECN field.
    pub ecn: Codepoint,
    /// All of it.
    pub payload: Vec<u8>,
}

/// Datagrams of all sockets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handed to a network card.
    pub sent: u64,
    /// Received by a socket, whether or not it was read.
    pub received: u64,
    /// Arrived where no socket was bound.
    pub unclaimed: u64,
    /// Dropped by a switch, or lost on a link.
    pub dropped: u64,
    /// Still in the network.
    pub in_flight: u64,
}
