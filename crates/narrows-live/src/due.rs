//! Things that happen at a time of the scenario.

use narrows_sim::FlowId;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    MeasureFrom,
    MeasureUntil,
    /// A moment of the traffic.
    Sample(usize),
    /// The windows of senders are recorded.
    Windows,
    Start(FlowId),
    /// A client begins a transaction.
    Client(usize),
}
