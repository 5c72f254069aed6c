use narrows_proto::units::{Bytes, Time};

use crate::diagnostic::Rejection;

/// Something that an attached program cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The scenario makes no sense, or there is more to record than there is memory for.
    #[error(transparent)]
    Scenario(#[from] Rejection),
    /// The network has no such host.
    #[error("the network has no host \"{host}\"; {help}")]
    UnknownHost {
        /// As it was written.
        host: String,
        /// Hosts that there are, and the nearest.
        help: String,
    },
    /// The network has no host of this number.
    #[error("host {number}, the network has {hosts}, numbered from 0")]
    HostNumber {
        /// The number.
        number: u64,
        /// Number of hosts.
        hosts: usize,
    },
    /// The scenario has no such traffic group.
    #[error("the scenario has no traffic \"{class}\"; {help}")]
    UnknownClass {
        /// As it was written.
        class: String,
        /// Groups that there are, and the nearest.
        help: String,
    },
    /// The scenario has no traffic group of this number.
    #[error("traffic group {number}, the scenario has {groups}, numbered from 0")]
    ClassNumber {
        /// The number.
        number: u64,
        /// Number of groups.
        groups: usize,
    },
    /// Messages need connections.
    #[error("traffic \"{class}\" sends datagrams, which carry no messages")]
    Datagrams {
        /// Name of the group.
        class: String,
    },
    /// There is no way from a host to itself.
    #[error("a message from host \"{host}\" to itself: the network has no loopback")]
    ToItself {
        /// Name of the host.
        host: String,
    },
    /// No path leads there.
    #[error("no path leads from host \"{from}\" to host \"{to}\"")]
    Unreachable {
        /// Name of the source.
        from: String,
        /// Name of the destination.
        to: String,
    },
    /// Larger than any flow may be.
    #[error("a message of {size} B, expected {most} B at most")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The largest possible.
        most: Bytes,
    },
    /// More messages than flows have numbers.
    #[error("the run has had {messages} messages, which is as many as it can have")]
    TooMany {
        /// Number of messages.
        messages: usize,
    },
    /// Time was to go backward.
    #[error("time was to go back to {until}, now is {now}")]
    Backward {
        /// The moment that was requested.
        until: Time,
        /// Now.
        now: Time,
    },
    /// Nothing happens at or after the end of the run.
    #[error("at {at} the run is over: it ends at {end} (stop.after and stop.drain of the scenario)")]
    Over {
        /// When something was to happen.
        at: Time,
        /// When the run ends.
        end: Time,
    },
    /// No message or timer has this number.
    #[error("no {what} has the number {number}, there are {count}")]
    UnknownNumber {
        /// "message", "timer" or "link".
        what: &'static str,
        /// The number.
        number: u64,
        /// Number of those that there are.
        count: usize,
    },
}
