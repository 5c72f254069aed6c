use narrows_proto::stream::Stats;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::{GroupId, HostId};

/// Number of a message, in the order in which they were sent, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// Number of a timer, in the order in which they were set, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(pub u32);

/// Something that an attached program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub at: Time,
    /// The message or timer.
    pub kind: EventKind,
    /// The tag that the program gave it.
    pub tag: u64,
}

/// Kind of an event, with its message or timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The last byte has arrived at the destination.
    Delivered(MessageId),
    /// The source knows that: the last acknowledgment is back.
    Sent(MessageId),
    /// The sender has given up: its retries are exhausted.
    Failed(MessageId),
    /// A timer is due.
    Timer(TimerId),
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Its source.
    pub from: HostId,
    /// Its destination.
    pub to: HostId,
    /// Payload. A message of 0 B is carried by a packet with one byte.
    pub size: u64,
    /// The traffic group whose transport carries it.
    pub class: GroupId,
    /// Any number; events of the message have it.
    pub tag: u64,
    /// It starts so much later than now.
    pub delay: Span,
}

/// A message, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its source.
    pub from: HostId,
    /// Its destination.
    pub to: HostId,
    /// Its traffic group.
    pub class: GroupId,
    /// Payload.
    pub size: Bytes,
    /// Its tag.
    pub tag: u64,
    /// When it starts, or has started.
    pub start: Time,
    /// When the last byte had arrived.
    pub delivered: Option<Time>,
    /// When the source knew.
    pub sent: Option<Time>,
    /// The sender has given up.
    pub failed: bool,
    /// Payload that the source knows to have arrived.
    pub acknowledged: Bytes,
    /// Counters of its sender.
    pub stats: Stats,
}

/// Sums over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Messages handed over.
    pub messages: u64,
    /// Messages of which the last byte has arrived.
    pub delivered: u64,
    /// Messages whose source knows that.
    pub sent: u64,
    /// Messages whose sender has given up.
    pub failed: u64,
    /// Payload of the delivered ones.
    pub delivered_bytes: u64,
    /// Packets that arrived at some node, those of the scenario's own traffic included.
    pub packet_hops: u64,
}
