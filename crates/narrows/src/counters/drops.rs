//! Drops, by cause.

use narrows_sim::{DropCause, PortCounters};

use super::Of::{Datagrams, Ports};
use super::{Counter, Counters};

pub(super) static DROPS: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[
        Counter::new(
            Ports(PortCounters::dropped),
            "",
            "Packets dropped anywhere or lost on links, for any reason.",
        )
        .column("drops")
        .metric("drops"),
        Counter::new(
            Ports(|port| port.drops[DropCause::BufferFull as usize]),
            "",
            "Packets dropped because the whole packet memory of a switch was in use.",
        )
        .activity("drops: buffer full")
        .column("drops_buffer_full"),
        Counter::new(
            Ports(|port| port.drops[DropCause::QueueLimit as usize]),
            "",
            "Packets dropped because their queue had its share of the packet memory.",
        )
        .activity("drops: queue limit")
        .column("drops_queue_limit"),
        Counter::new(
            Ports(|port| port.drops[DropCause::Red as usize]),
            "",
            "Packets that random early detection dropped.",
        )
        .activity("drops: RED")
        .column("drops_red"),
        Counter::new(
            Ports(|port| port.drops[DropCause::LinkError as usize]),
            "",
            "Packets lost to bit errors of a link.",
        )
        .activity("drops: link error")
        .column("drops_link_error"),
        Counter::new(
            Ports(|port| port.drops[DropCause::LinkDown as usize]),
            "",
            "Packets lost because a link had failed.",
        )
        .activity("drops: link down")
        .column("drops_link_down"),
        // They came to no port.
        Counter::new(
            Ports(|port| port.drops[DropCause::NoRoute as usize]),
            "",
            "Packets for which no path was left.",
        )
        .activity("drops: no route"),
        Counter::new(
            Ports(|port| port.drops[DropCause::Limiter as usize]),
            "",
            "Packets dropped because the queue of their limiter was full.",
        )
        .activity("drops: limiter full")
        .column("drops_limiter"),
        Counter::new(
            Datagrams(|source| source.dropped_at_source),
            "",
            "Datagrams dropped at the host that generated them, for want of room.",
        )
        .activity("drops: at the source"),
    ],
};
