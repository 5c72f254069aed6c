//! PAUSE, and priority-based flow control.

use narrows_sim::switch::SwitchConfig;

use super::Of::Ports;
use super::{Counter, Counters};

pub(super) static PAUSES: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[
        Counter::new(
            Ports(|port| port.pauses),
            "",
            "PAUSE frames that stop a neighbor, and stops of a class (priority-based flow control).",
        )
        .activity("pauses")
        .column("pauses")
        .metric("pauses"),
        Counter::new(
            Ports(|port| port.paused.as_ps()),
            "ps",
            "How long the node at the far end paused the port, all of it or one or more classes of packets.",
        )
        .column("paused_ps")
        .only("networks with `pause` or `pfc`", |plan| {
            plan.network.switches.iter().flatten().any(SwitchConfig::pauses)
        }),
        Counter::most(
            Ports(|port| port.longest_stop.as_ps()),
            "ps",
            "The longest time a class of packets that waited stayed stopped.",
        )
        .column("longest_stop_ps"),
        Counter::most(
            Ports(|port| port.stuck.as_ps()),
            "ps",
            "How long a class of packets that waited had been stopped when the run ended.",
        )
        .column("stuck_ps"),
    ],
};
