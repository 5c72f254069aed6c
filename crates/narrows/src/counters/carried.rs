//! Counters of packets that ports send, and of backlogs.

use super::Of::Ports;
use super::{Counter, Counters};

pub(super) static CARRIED: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[
        Counter::new(Ports(|port| port.packets), "", "Packets that began to be sent.").column("packets"),
        Counter::new(Ports(|port| port.bytes), "B", "Their bytes, framing included.").column("bytes"),
        Counter::new(
            Ports(|port| port.measured_bytes),
            "B",
            "The part of these that began to be sent in the measured time.",
        )
        .column("measured_bytes"),
        Counter::most(Ports(|port| port.max_backlog), "B", "The most that ever waited.")
            .column("max_backlog_bytes"),
    ],
};
