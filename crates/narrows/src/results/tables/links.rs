//! Tables of ports and links: of the whole run, and of recorded intervals.

use std::borrow::Cow;

use narrows_sim::observe::PortRow;
use narrows_sim::topology::Link;
use narrows_sim::{LinkId, NodeId};

use super::super::Results;
use super::described::{Described, nodes};
use crate::counters::{self, CounterColumn};
use crate::plan::Plan;

const LINK: &str = "Number of the directed link, in the order of `narrows check --nodes`; it also stands for the port in front of it.";

pub(super) fn ports() -> Described<LinkId> {
    let table = Described::<LinkId>::new(
        "ports",
        "One row per directed link: what it is, and what the port it leaves from did in the whole run.",
        "always",
        |run| Some((0..run.ports.len()).map(LinkId::from).collect()),
    );
    let mut table = table
        .count("link", LINK, |link, _| link.0.into())
        .name("from", "The node that sends over the link.", nodes, |id, run| link(*id, run).from.0)
        .name("to", "The node at its end.", nodes, |id, run| link(*id, run).to.0)
        .flag("from_host", "A host sends over it.", |id, run| is_host(link(*id, run).from, run))
        .flag("to_host", "It ends at a host.", |id, run| is_host(link(*id, run).to, run))
        .segment(|id| id.index())
        .bps("rate_bps", "Its rate.", |id, run| link(*id, run).wire.rate.as_bps())
        .ps("delay_ps", "Its propagation delay.", |id, run| link(*id, run).wire.delay.as_ps());
    for CounterColumn { name, counter, value } in counters::of_ports() {
        table = table.counter(name, counter, move |link, run| value(&run.ports[link.index()]));
    }
    table
}

pub(super) fn queues() -> Described<PortRow> {
    let table = Described::<PortRow>::new(
        "queues",
        "One row per recorded port and interval in which something waited, left, was marked or dropped, or the port was paused.",
        "with `record.queues`",
        |run| run.queues.as_deref().map(Cow::Borrowed),
    );
    table
        .ps("start_ps", "When the interval began.", |row, _| row.start.as_ps())
        .name("node", "The node whose port it is.", nodes, |row, run| link(row.link, run).from.0)
        .name("to", "The node at the other end of its link.", nodes, |row, run| link(row.link, run).to.0)
        .count("link", LINK, |row, _| row.link.0.into())
        .segment(|row| row.link.index())
        .bytes("max_backlog_bytes", "The most that waited in the interval.", |row, _| row.max_backlog)
        .bytes("max_isolated_bytes", "The most that waited of isolated flows.", |row, _| row.max_side)
        .only("networks that isolate flows", isolates)
        .real("mean_backlog_bytes", "B", "What waited on average over the interval.", |row, _| {
            row.mean_backlog
        })
        .bytes("bytes", "Bytes of the packets that began to be sent, framing included.", |row, _| row.bytes)
        .count("marks", "Packets that were marked.", |row, _| row.marks)
        .count("drops", "Packets that were dropped at the port or lost on its link.", |row, _| row.drops)
        .count("messages", "Messages that its congestion points sent to sources.", |row, _| row.messages)
        .ps("paused_ps", "How long the node at the far end paused the port.", |row, _| row.paused.as_ps())
}

pub(super) fn links() -> Described<PortRow> {
    let table = Described::<PortRow>::new(
        "links",
        "One row per recorded link and interval in which something waited for it, was sent or was lost.",
        "with `record.links`",
        |run| run.links.as_deref().map(Cow::Borrowed),
    );
    table
        .ps("start_ps", "When the interval began.", |row, _| row.start.as_ps())
        .name("from", "The node that sends over the link.", nodes, |row, run| link(row.link, run).from.0)
        .name("to", "The node at its end.", nodes, |row, run| link(row.link, run).to.0)
        .count("link", LINK, |row, _| row.link.0.into())
        .segment(|row| row.link.index())
        .count("packets", "Packets that began to be sent.", |row, _| row.packets)
        .bytes("bytes", "Their bytes, framing included.", |row, _| row.bytes)
        .real(
            "utilization",
            "",
            "Bits sent, framing included, as a fraction of what the link carries in an interval.",
            utilization,
        )
        .count("drops", "Packets that were dropped at the port or lost on the link.", |row, _| row.drops)
}

fn link(id: LinkId, run: &Results) -> &Link {
    run.plan.network.topology.link(id)
}

fn is_host(node: NodeId, run: &Results) -> bool {
    run.plan.network.topology.as_host(node).is_some()
}

fn isolates(plan: &Plan) -> bool {
    plan.network.switches.iter().flatten().any(|switch| switch.has_side_class())
}

fn utilization(row: &PortRow, run: &Results) -> f64 {
    let interval = run.plan.record.links.as_ref().map_or(0.0, |(interval, _)| interval.as_secs_f64());
    row.bytes as f64 * 8.0 / (link(row.link, run).wire.rate.as_f64() * interval)
}
