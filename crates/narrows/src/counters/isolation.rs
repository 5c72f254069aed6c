//! Isolation of congested flows.

use super::Of::Ports;
use super::{Counter, Mechanism};

pub(super) const ISOLATION: Mechanism = Mechanism {
    present: "networks that isolate flows",
    is_in: |plan| plan.network.switches.iter().flatten().any(|switch| switch.isolation.is_some()),
    counters: &[
        Counter::new(
            Ports(|port| port.isolation.flows),
            "",
            "Flows that a switch moved to a queue for isolated flows.",
        )
        .activity("flows isolated")
        .column("isolated_flows"),
        Counter::new(
            Ports(|port| port.isolation.refused),
            "",
            "Flows that were not isolated because the table of the port was full.",
        )
        .activity("isolation refused: table full"),
        Counter::most(
            Ports(|port| port.isolation.max_backlog),
            "B",
            "The most that ever waited of isolated flows.",
        )
        .column("max_isolated_bytes"),
    ],
};
