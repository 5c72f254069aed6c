//! Memory that recorded data can take: an upper bound.
//!
//! Recorders keep rows, at most one for each thing and interval. From rows tables are made, and both are there while the
//! tables are written. How many rows come is not known before the run; here all that can come are counted.

use narrows_proto::cc::MOST_INSIDE;
use narrows_proto::units::{Span, Time};
use narrows_sim::observe::{PortRow, StateRow, WindowRow};
use narrows_sim::traffic::Transport;
use narrows_sim::{FlowId, LinkId};

use super::Plan;
use super::rows::{GROWS, bytes, intervals};
use crate::mechanism;

/// Bytes of all that can be recorded, with the tables made of it.
pub(super) fn estimate(plan: &Plan) -> u64 {
    let record = &plan.record;
    let end = plan.stop.at.saturating_since(Time::ZERO);
    let ports = |recorded: &Option<(Span, Vec<LinkId>)>| {
        recorded.as_ref().map_or(0, |(interval, links)| {
            let both_ends = |link: &LinkId| 1 + u64::from(loses(plan, *link));
            intervals(end, *interval).saturating_mul(links.iter().map(both_ends).sum())
        })
    };
    let deepest = record.queues.as_ref().map_or(0, |(interval, _)| intervals(end, *interval));
    let kept = [
        bytes::<PortRow>(ports(&record.queues)),
        bytes::<PortRow>(ports(&record.links)),
        // The summary has the peak queue of each interval.
        deepest.saturating_mul(GROWS * size_of::<u64>() as u64),
        bytes::<WindowRow>(of_flows(plan, plan.record.windows.as_ref(), end, |_| 1)),
        bytes::<StateRow>(of_flows(plan, plan.record.state.as_ref(), end, reported)),
    ];
    let of_mechanisms = mechanism::all().map(|mechanism| mechanism.recorded_bytes(plan, end));
    kept.into_iter().chain(of_mechanisms).fold(0, u64::saturating_add)
}

/// Packets may be lost on the link, which its far end tells, in rows of its own.
fn loses(plan: &Plan, link: LinkId) -> bool {
    let wire = &plan.network.topology.link(link).wire;
    wire.error_rate > 0.0 || !plan.network.failures.is_empty() || plan.network.paths.contains_key(&link)
}

/// So many for each flow and interval from its start on.
fn of_flows(
    plan: &Plan,
    recorded: Option<&(Span, Vec<FlowId>)>,
    end: Span,
    each: impl Fn(&Transport) -> u64,
) -> u64 {
    let Some((interval, flows)) = recorded else { return 0 };
    let lasts = |start: Time| if start == Time::NEVER { end } else { end.saturating_sub(start - Time::ZERO) };
    let rows = flows.iter().map(|flow| {
        let flow = &plan.traffic.flows[flow.index()];
        let each = each(&plan.traffic.groups[flow.group.index()].transport);
        intervals(lasts(flow.start), *interval).saturating_mul(each)
    });
    rows.fold(0, u64::saturating_add)
}

/// Number of values that the congestion control of a flow reports at most.
fn reported(transport: &Transport) -> u64 {
    transport.control().map_or(0, |control| control.inside().map_or(MOST_INSIDE, <[_]>::len) as u64)
}
