use std::borrow::Cow;

use narrows_sim::traffic::{Dependent, Group, Transport};
use narrows_sim::{DropCause, PortCounters};
use serde::Serialize;

use super::Results;

/// Something that can happen in a run, and how often it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// What.
    pub what: Cow<'static, str>,
    /// How often.
    pub times: u64,
}

/// What can be counted in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ActivityInfo {
    /// Its name.
    pub name: &'static str,
    /// What is counted.
    pub meaning: &'static str,
    /// Which runs count it.
    pub present: &'static str,
}

const fn event(name: &'static str, meaning: &'static str) -> ActivityInfo {
    ActivityInfo { name, meaning, present: "always" }
}

const fn events<const N: usize>(present: &'static str, mut events: [ActivityInfo; N]) -> [ActivityInfo; N] {
    let mut number = 0;
    while number < N {
        events[number].present = present;
        number += 1;
    }
    events
}

const ALWAYS: [ActivityInfo; 20] = [
    event("ECN marks", "Packets that a queue marked with congestion experienced."),
    event("messages: slower", "Messages of congestion points that ask a source to slow down."),
    event("messages: faster", "Messages of congestion points that allow a source to speed up (BCN)."),
    event("messages: stop", "Messages of congestion points that stop a source for a while (BCN0)."),
    event(
        "limiters",
        "Limiters that reaction points made for flows that were asked to slow down; near-source loops of Annulus count as well.",
    ),
    event("CNPs", "Congestion notification packets that senders over RDMA heard."),
    event(
        "pauses",
        "PAUSE frames that stop a neighbour, and stops of a class (priority-based flow control).",
    ),
    event("drops: buffer full", "Packets dropped because the whole packet memory of a switch was in use."),
    event("drops: queue limit", "Packets dropped because their queue had its share of the packet memory."),
    event("drops: RED", "Packets that random early detection dropped."),
    event("drops: link error", "Packets lost to bit errors of a link."),
    event("drops: link down", "Packets lost because a link had failed."),
    event("drops: no route", "Packets that no path was left for."),
    event("drops: limiter full", "Packets dropped because the queue of their limiter was full."),
    event("drops: at the source", "Datagrams dropped in the host that made them, for want of room."),
    event("retransmissions", "Segments sent again."),
    event("fast recoveries", "Recoveries from losses that were noticed without a timeout."),
    event("tail loss probes", "Segments sent to find out whether the end of a flow was lost (RFC 8985)."),
    event("timeouts", "Retransmission timers that ran out."),
    event("spurious recoveries", "Losses and timeouts that were none: the segments had only been late."),
];

const KEPT: [ActivityInfo; 1] = events(
    "with kept connections",
    [event(
        "flows on kept connections",
        "Flows that began on a connection that had carried others (`keep_connections`).",
    )],
);

const ISOLATION: [ActivityInfo; 2] = events(
    "networks that isolate flows",
    [
        event("flows isolated", "Flows that a switch moved to a queue for isolated flows."),
        event(
            "isolation refused: table full",
            "Flows that were not isolated because the table of the port was full.",
        ),
    ],
);

const RACKS: [ActivityInfo; 4] = events(
    "networks with rack agents",
    [
        event("subflows registered", "Subflows that hosts registered at the switch of their rack (RackCC)."),
        event(
            "subflows expired",
            "Subflows that the switch forgot, because nothing was seen of them for too long or their client had another.",
        ),
        event("subflows counted late", "Subflows counted again because they sent without being registered."),
        event("subflows refused: table full", "Times a subflow found no room in the table of the switch."),
    ],
);

const DEPENDENTS: [ActivityInfo; 1] = events(
    "with flows that wait for others",
    [event(
        "flows that waited and never started",
        "Flows of a trace that wait for others (`after`) which had not ended when the run did.",
    )],
);

/// Everything that can be counted, in the order of [`activity`].
pub fn activity_infos() -> impl Iterator<Item = ActivityInfo> {
    ALWAYS.into_iter().chain(KEPT).chain(ISOLATION).chain(RACKS).chain(DEPENDENTS)
}

/// Everything that can happen, in a fixed order, whether it did or not; flows on kept connections if any are kept, isolated
/// flows if switches isolate, subflows if switches keep JumboFlows.
pub fn activity(results: &Results) -> Vec<Activity> {
    let flows = |value: fn(&narrows_proto::stream::Stats) -> u64| {
        results.flows.iter().map(|flow| value(&flow.stats)).sum()
    };
    let drops = |cause| results.drops(cause);
    let marks = results.ports.iter().map(|port| port.marks).sum();
    let dropped_at_source = results.datagrams.iter().map(|source| source.dropped_at_source).sum();
    let ports = |value: fn(&PortCounters) -> u64| results.ports.iter().map(value).sum();
    let always: [u64; ALWAYS.len()] = [
        marks,
        ports(|port| port.slower),
        ports(|port| port.faster),
        ports(|port| port.stops),
        results.reaction.limiters,
        flows(|stats| stats.cnps),
        ports(|port| port.pauses),
        drops(DropCause::BufferFull),
        drops(DropCause::QueueLimit),
        drops(DropCause::Red),
        drops(DropCause::LinkError),
        drops(DropCause::LinkDown),
        drops(DropCause::NoRoute),
        drops(DropCause::Limiter),
        dropped_at_source,
        flows(|stats| stats.retransmissions),
        flows(|stats| stats.recoveries),
        flows(|stats| stats.probes),
        flows(|stats| stats.timeouts),
        flows(|stats| stats.spurious),
    ];
    let mut counts = named(ALWAYS, always);
    let keeps_connections = |group: &Group| matches!(&group.transport, Transport::Stream { params, .. } if params.keep_connections);
    if results.plan.traffic.groups.iter().any(keeps_connections) {
        let again = results.flows.iter().filter(|flow| flow.again).count();
        counts.extend(named(KEPT, [again as u64]));
    }
    if results.plan.network.switches.iter().flatten().any(|switch| switch.isolation.is_some()) {
        let isolation = [ports(|port| port.isolated_flows), ports(|port| port.isolation_refused)];
        counts.extend(named(ISOLATION, isolation));
    }
    if results.plan.network.switches.iter().flatten().any(|switch| switch.rack.is_some()) {
        let rack = &results.rack;
        counts.extend(named(RACKS, [rack.registered, rack.expired, rack.late, rack.refused]));
    }
    let dependents = &results.plan.traffic.dependents;
    if !dependents.is_empty() {
        let started = |dependent: &Dependent| {
            results.flows.binary_search_by_key(&dependent.flow, |flow| flow.flow).is_ok()
        };
        let never = dependents.iter().filter(|dependent| !started(dependent)).count();
        counts.extend(named(DEPENDENTS, [never as u64]));
    }
    counts
}

fn named<const N: usize>(infos: [ActivityInfo; N], times: [u64; N]) -> Vec<Activity> {
    infos.iter().zip(times).map(|(info, times)| Activity { what: info.name.into(), times }).collect()
}
