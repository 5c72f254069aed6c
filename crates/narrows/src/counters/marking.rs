//! Marks of queues.

use super::Of::Ports;
use super::{Counter, Mechanism};

pub(super) const MARKING: Mechanism = Mechanism {
    present: "always",
    is_in: |_| true,
    counters: &[Counter::new(
        Ports(|port| port.marks),
        "",
        "Packets that a queue marked with congestion experienced.",
    )
    .activity("ECN marks")
    .column("marks")
    .metric("marks")],
};
