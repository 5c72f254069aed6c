//! How much memory what is recorded can take: an upper bound.
//!
//! Recorders keep rows, at most one for each thing and interval. From rows tables are made, and both are there while the
//! tables are written. How many rows come is not known before the run; here all that can come are counted.

use narrows_proto::units::{Span, Time};
use narrows_sim::LinkId;
use narrows_sim::observe::{PortRow, WindowRow};

use super::Plan;
use crate::recorded;
use crate::recorded::rows::{GROWS, bytes, intervals};

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
        // The summary has the deepest queue of each interval.
        deepest.saturating_mul(GROWS * size_of::<u64>() as u64),
        bytes::<WindowRow>(windows(plan, end)),
        recorded::bytes(plan, end),
    ];
    kept.into_iter().fold(0, u64::saturating_add)
}

/// Packets may be lost on the link, which its far end tells, in rows of its own.
fn loses(plan: &Plan, link: LinkId) -> bool {
    let wire = &plan.network.topology.link(link).wire;
    wire.error_rate > 0.0 || !plan.network.failures.is_empty()
}

/// One for each flow and interval from its start on.
fn windows(plan: &Plan, end: Span) -> u64 {
    let Some((interval, flows)) = &plan.record.windows else { return 0 };
    let lasts = |start: Time| if start == Time::NEVER { end } else { end.saturating_sub(start - Time::ZERO) };
    let rows = flows.iter().map(|flow| intervals(lasts(plan.traffic.flows[flow.index()].start), *interval));
    rows.fold(0, u64::saturating_add)
}
