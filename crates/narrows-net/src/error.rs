//! Errors of those who send through a simulated network.

use std::io;
use std::net::SocketAddr;

use narrows::diagnostic::Rejection;
use narrows_proto::units::Time;

/// Something that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The scenario makes no sense, or there is more to record than there is memory for.
    #[error(transparent)]
    Scenario(#[from] Rejection),
    /// The scenario has no such host.
    #[error("the network has no host \"{host}\"; {help}")]
    UnknownHost {
        /// As it was written.
        host: String,
        /// Hosts that there are, and the nearest.
        help: String,
    },
    /// The host is there, but it is a simulated one.
    #[error("host \"{host}\" was not given to the network for sockets; given: {given}")]
    NotGiven {
        /// Its name.
        host: String,
        /// Hosts with sockets, comma separated.
        given: String,
    },
    /// A simulated host cannot be a real one as well.
    #[error(
        "traffic.{group} of the scenario begins or ends at host \"{host}\": give it other hosts (from, to)"
    )]
    Simulated {
        /// Name of the host.
        host: String,
        /// Name of the traffic group.
        group: String,
    },
    /// Hosts beyond the last address.
    #[error("host \"{host}\" has no address: sockets are possible at the first 65 534 hosts of a network")]
    NoAddress {
        /// Its name.
        host: String,
    },
    /// Another socket of the host has this port.
    #[error("port {port} of host \"{host}\" is in use")]
    PortInUse {
        /// Name of the host.
        host: String,
        /// The port.
        port: u16,
    },
    /// All ports of a host that are given to whoever asks for any are in use.
    #[error("host \"{host}\" has no free port left from 49 152 on")]
    NoFreePort {
        /// Name of the host.
        host: String,
    },
    /// A datagram that no link of the network carries.
    #[error("a datagram of {size} B, the path carries {most} B at most (UDP payload)")]
    TooLarge {
        /// Size of its payload.
        size: usize,
        /// The largest possible.
        most: usize,
    },
    /// No socket can be there.
    #[error("{to} is no address of a host with sockets")]
    Unreachable {
        /// The address.
        to: SocketAddr,
    },
    /// There is no way from a host to itself.
    #[error("{to} is the sender's own host: the network has no loopback")]
    ToItself {
        /// The address.
        to: SocketAddr,
    },
    /// The network card has as much as the kernel would let a socket hand it.
    #[error("the send buffer is full until {until}")]
    Full {
        /// When there is room again, at the earliest.
        until: Time,
    },
    /// Time was to go backward.
    #[error("time was to go back to {until}, now is {now}")]
    Backward {
        /// The moment that was requested.
        until: Time,
        /// Now.
        now: Time,
    },
    /// The run has ended, and a future waits for what does not happen any more.
    #[error("the run ended at {end}, and what was waited for had not happened")]
    Ended {
        /// When it ended.
        end: Time,
    },
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Full { .. } => io::ErrorKind::WouldBlock,
            Error::PortInUse { .. } | Error::NoFreePort { .. } => io::ErrorKind::AddrInUse,
            Error::Unreachable { .. } => io::ErrorKind::HostUnreachable,
            Error::UnknownHost { .. } | Error::NotGiven { .. } => io::ErrorKind::NotFound,
            Error::Backward { .. } | Error::Ended { .. } => io::ErrorKind::Other,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
