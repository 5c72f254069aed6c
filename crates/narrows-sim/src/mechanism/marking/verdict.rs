//! When packets are looked at, and what becomes of them.

use narrows_proto::units::{Span, Time};

/// When packets are looked at.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MarkAt {
    /// When they arrive at the queue.
    #[default]
    Enqueue,
    /// When they leave it.
    Dequeue,
}

/// Verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// A packet that is about to join a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entering {
    pub(crate) now: Time,
    pub(crate) port: usize,
    pub(crate) queue: usize,
    /// Bytes that wait in its queue.
    pub(crate) backlog: u64,
    /// When the link ran out of packets, if it did.
    pub(crate) idle_since: Option<Time>,
    /// It can be marked.
    pub(crate) ect: bool,
    /// Its bytes if it is data.
    pub(crate) data: u64,
}

/// A packet that is about to leave a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) now: Time,
    pub(crate) port: usize,
    pub(crate) queue: usize,
    /// Its sojourn time.
    pub(crate) sojourn: Span,
    /// Bytes that wait behind it in its queue.
    pub(crate) left: u64,
    /// It can be marked.
    pub(crate) ect: bool,
}
