use std::borrow::Cow;

use narrows_sim::traffic::{Group, Transport};
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
    let mut counts = vec![
        ("ECN marks", marks),
        ("messages: slower", ports(|port| port.slower)),
        ("messages: faster", ports(|port| port.faster)),
        ("messages: stop", ports(|port| port.stops)),
        ("limiters", results.reaction.limiters),
        ("CNPs", flows(|stats| stats.cnps)),
        ("pauses", ports(|port| port.pauses)),
        ("drops: buffer full", drops(DropCause::BufferFull)),
        ("drops: queue limit", drops(DropCause::QueueLimit)),
        ("drops: RED", drops(DropCause::Red)),
        ("drops: link error", drops(DropCause::LinkError)),
        ("drops: link down", drops(DropCause::LinkDown)),
        ("drops: no route", drops(DropCause::NoRoute)),
        ("drops: limiter full", drops(DropCause::Limiter)),
        ("drops: at the source", dropped_at_source),
        ("retransmissions", flows(|stats| stats.retransmissions)),
        ("fast recoveries", flows(|stats| stats.recoveries)),
        ("tail loss probes", flows(|stats| stats.probes)),
        ("timeouts", flows(|stats| stats.timeouts)),
        ("spurious recoveries", flows(|stats| stats.spurious)),
    ];
    let keeps_connections = |group: &Group| matches!(&group.transport, Transport::Stream { params, .. } if params.keep_connections);
    if results.plan.traffic.groups.iter().any(keeps_connections) {
        let again = results.flows.iter().filter(|flow| flow.again).count();
        counts.push(("flows on kept connections", again as u64));
    }
    if results.plan.network.switches.iter().flatten().any(|switch| switch.isolation.is_some()) {
        counts.push(("flows isolated", ports(|port| port.isolated_flows)));
        counts.push(("isolation refused: table full", ports(|port| port.isolation_refused)));
    }
    if results.plan.network.switches.iter().flatten().any(|switch| switch.rack.is_some()) {
        let rack = &results.rack;
        counts.push(("subflows registered", rack.registered));
        counts.push(("subflows expired", rack.expired));
        counts.push(("subflows counted late", rack.late));
        counts.push(("subflows refused: table full", rack.refused));
    }
    counts.into_iter().map(|(what, times)| Activity { what: what.into(), times }).collect()
}
