//! Messages of congestion points: BCN, QCN.

use narrows_sim::PortCounters;

use super::Of::Ports;
use super::{Counter, Counters};

pub(super) static CONGESTION_POINTS: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[
        Counter::new(Ports(PortCounters::messages), "", "Messages of congestion points to sources.")
            .column("messages")
            .metric("messages"),
        Counter::new(
            Ports(|port| port.slower),
            "",
            "Messages of congestion points that ask a source to slow down.",
        )
        .activity("messages: slower"),
        Counter::new(
            Ports(|port| port.faster),
            "",
            "Messages of congestion points that allow a source to speed up (BCN).",
        )
        .activity("messages: faster"),
        Counter::new(
            Ports(|port| port.stops),
            "",
            "Messages of congestion points that stop a source for a while (BCN0).",
        )
        .activity("messages: stop"),
    ],
};
