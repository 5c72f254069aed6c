//! Marks of queues.

use super::Of::Ports;
use super::{Counter, Counters};

pub(super) static MARKING: Counters = Counters {
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
