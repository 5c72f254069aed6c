use std::borrow::Cow;

use narrows_proto::stream::Stats;
use narrows_sim::switch::SwitchConfig;
use narrows_sim::traffic::{Dependent, Group, Transport};
use narrows_sim::{DropCause, PortCounters};
use serde::Serialize;

use self::Times::{Drops, Flows, Ports, Run};
use super::Results;
use crate::plan::Plan;

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

/// Of what an event is counted.
enum Times {
    Ports(fn(&PortCounters) -> u64),
    Flows(fn(&Stats) -> u64),
    Drops(DropCause),
    Run(fn(&Results) -> u64),
}

/// An event, and how often it happened.
struct Event {
    name: &'static str,
    meaning: &'static str,
    times: Times,
}

/// Events that the same runs count.
struct Events {
    present: &'static str,
    are_in: fn(&Plan) -> bool,
    events: &'static [Event],
}

const fn event(name: &'static str, meaning: &'static str, times: Times) -> Event {
    Event { name, meaning, times }
}

/// All that is counted, in the order in which it is shown.
const EVENTS: &[Events] = &[
    Events {
        present: "always",
        are_in: |_| true,
        events: &[
            event(
                "ECN marks",
                "Packets that a queue marked with congestion experienced.",
                Ports(|port| port.marks),
            ),
            event(
                "messages: slower",
                "Messages of congestion points that ask a source to slow down.",
                Ports(|port| port.slower),
            ),
            event(
                "messages: faster",
                "Messages of congestion points that allow a source to speed up (BCN).",
                Ports(|port| port.faster),
            ),
            event(
                "messages: stop",
                "Messages of congestion points that stop a source for a while (BCN0).",
                Ports(|port| port.stops),
            ),
            event(
                "limiters",
                "Limiters that reaction points made for flows that were asked to slow down; near-source loops of Annulus count as well.",
                Run(|run| run.reaction.limiters),
            ),
            event(
                "CNPs",
                "Congestion notification packets that senders over RDMA heard.",
                Flows(|stats| stats.cnps),
            ),
            event(
                "pauses",
                "PAUSE frames that stop a neighbour, and stops of a class (priority-based flow control).",
                Ports(|port| port.pauses),
            ),
            event(
                "drops: buffer full",
                "Packets dropped because the whole packet memory of a switch was in use.",
                Drops(DropCause::BufferFull),
            ),
            event(
                "drops: queue limit",
                "Packets dropped because their queue had its share of the packet memory.",
                Drops(DropCause::QueueLimit),
            ),
            event("drops: RED", "Packets that random early detection dropped.", Drops(DropCause::Red)),
            event("drops: link error", "Packets lost to bit errors of a link.", Drops(DropCause::LinkError)),
            event("drops: link down", "Packets lost because a link had failed.", Drops(DropCause::LinkDown)),
            event("drops: no route", "Packets that no path was left for.", Drops(DropCause::NoRoute)),
            event(
                "drops: limiter full",
                "Packets dropped because the queue of their limiter was full.",
                Drops(DropCause::Limiter),
            ),
            event(
                "drops: at the source",
                "Datagrams dropped in the host that made them, for want of room.",
                Run(|run| run.datagrams.iter().map(|source| source.dropped_at_source).sum()),
            ),
            event("retransmissions", "Segments retransmitted.", Flows(|stats| stats.retransmissions)),
            event(
                "fast recoveries",
                "Recoveries from losses that were noticed without a timeout.",
                Flows(|stats| stats.recoveries),
            ),
            event(
                "tail loss probes",
                "Segments sent to find out whether the end of a flow was lost (RFC 8985).",
                Flows(|stats| stats.probes),
            ),
            event("timeouts", "Retransmission timers that ran out.", Flows(|stats| stats.timeouts)),
            event(
                "spurious recoveries",
                "Losses and timeouts that were none: the segments had only been late.",
                Flows(|stats| stats.spurious),
            ),
        ],
    },
    Events {
        present: "with kept connections",
        are_in: |plan| plan.traffic.groups.iter().any(keeps_connections),
        events: &[event(
            "flows on kept connections",
            "Flows that began on a connection that had carried others (`keep_connections`).",
            Run(|run| run.flows.iter().filter(|flow| flow.again).count() as u64),
        )],
    },
    Events {
        present: "networks that isolate flows",
        are_in: |plan| any_switch(plan, |switch| switch.isolation.is_some()),
        events: &[
            event(
                "flows isolated",
                "Flows that a switch moved to a queue for isolated flows.",
                Ports(|port| port.isolated_flows),
            ),
            event(
                "isolation refused: table full",
                "Flows that were not isolated because the table of the port was full.",
                Ports(|port| port.isolation_refused),
            ),
        ],
    },
    Events {
        present: "networks with rack agents",
        are_in: |plan| any_switch(plan, |switch| switch.rack.is_some()),
        events: &[
            event(
                "subflows registered",
                "Subflows that hosts registered at the switch of their rack (RackCC).",
                Run(|run| run.rack.registered),
            ),
            event(
                "subflows expired",
                "Subflows that the switch forgot, because nothing was seen of them for too long or their client had another.",
                Run(|run| run.rack.expired),
            ),
            event(
                "subflows counted late",
                "Subflows counted again because they sent without being registered.",
                Run(|run| run.rack.late),
            ),
            event(
                "subflows refused: table full",
                "Times a subflow found no room in the table of the switch.",
                Run(|run| run.rack.refused),
            ),
        ],
    },
    Events {
        present: "with flows that wait for others",
        are_in: |plan| !plan.traffic.dependents.is_empty(),
        events: &[event(
            "flows that waited and never started",
            "Flows of a trace that wait for others (`after`) which had not ended when the run did.",
            Run(never_started),
        )],
    },
];

/// Everything that can be counted, in the order of [`activity`].
pub fn activity_infos() -> impl Iterator<Item = ActivityInfo> {
    EVENTS.iter().flat_map(|Events { present, events, .. }| {
        events.iter().map(|Event { name, meaning, .. }| ActivityInfo { name, meaning, present })
    })
}

/// Everything that can happen, in a fixed order, whether it did or not; of some mechanisms only in networks that have them.
pub fn activity(results: &Results) -> Vec<Activity> {
    let counted = EVENTS.iter().filter(|events| (events.are_in)(&results.plan));
    let activity = |event: &Event| Activity { what: event.name.into(), times: event.times.of(results) };
    counted.flat_map(|events| events.events).map(activity).collect()
}

impl Times {
    fn of(&self, results: &Results) -> u64 {
        match self {
            Ports(value) => results.ports.iter().map(value).sum(),
            Flows(value) => results.flows.iter().map(|flow| value(&flow.stats)).sum(),
            Drops(cause) => results.drops(*cause),
            Run(value) => value(results),
        }
    }
}

fn any_switch(plan: &Plan, is: fn(&SwitchConfig) -> bool) -> bool {
    plan.network.switches.iter().flatten().any(is)
}

fn keeps_connections(group: &Group) -> bool {
    matches!(&group.transport, Transport::Stream { params, .. } if params.keep_connections)
}

fn never_started(results: &Results) -> u64 {
    let started =
        |dependent: &Dependent| results.flows.binary_search_by_key(&dependent.flow, |flow| flow.flow).is_ok();
    results.plan.traffic.dependents.iter().filter(|dependent| !started(dependent)).count() as u64
}
