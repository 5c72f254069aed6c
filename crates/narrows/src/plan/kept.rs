//! How much memory what is recorded can take: an upper bound.
//!
//! Recorders keep rows, at most one for each thing and interval. From rows tables are made, and both are there while the
//! tables are written. How many rows come is not known before the run; here all that can come are counted.

use narrows_proto::annulus::Aggregate;
use narrows_proto::cc::MOST_INSIDE;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::observe::{
    AdvertisedRow, IsolationRow, JumboFlowRow, LimiterRow, PortRow, StateRow, WindowRow,
};
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::Transport;
use narrows_sim::{FlowId, LinkId, NodeId, ReactionPlace};

use super::Plan;
use super::memory::LIVE_PER_HOST;

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
        bytes::<WindowRow>(of_flows(plan, plan.record.windows.as_ref(), end, |_| 1)),
        bytes::<StateRow>(of_flows(plan, plan.record.state.as_ref(), end, reported)),
        bytes::<LimiterRow>(limiters(plan, end)),
        bytes::<IsolationRow>(isolation(plan, end)),
        bytes::<JumboFlowRow>(jumboflows(plan, end)),
        bytes::<AdvertisedRow>(advertised(plan, end)),
    ];
    kept.into_iter().fold(0, u64::saturating_add)
}

/// A list that grows by doubling has up to twice the room it needs, and while it grows its old half besides.
const GROWS: u64 = 3;
/// Of each row: the list of rows, up to twice as large as they are, and the columns of the table. Those take at most twice as
/// much as the row, as a field of 4 bytes may become a column of 8. While rows are sorted or the list grows, it is less.
const ROW_AND_TABLE: u64 = 2 + 2;

/// Memory of so many rows.
fn bytes<R>(rows: u64) -> u64 {
    rows.saturating_mul(ROW_AND_TABLE * size_of::<R>() as u64)
}

/// How many intervals are begun in `span`; one more for what happens at its very end.
fn intervals(span: Span, interval: Span) -> u64 {
    span.as_ps().div_ceil(interval.as_ps().max(1)).saturating_add(1)
}

/// Packets may be lost on the link, which its far end tells, in rows of its own.
fn loses(plan: &Plan, link: LinkId) -> bool {
    let wire = &plan.network.topology.link(link).wire;
    wire.error_rate > 0.0 || !plan.network.failures.is_empty()
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

/// How many values the congestion control of a flow reports at most.
fn reported(transport: &Transport) -> u64 {
    transport.control().map_or(0, |control| control.inside().map_or(MOST_INSIDE, <[_]>::len) as u64)
}

/// One for each limiter or near-source loop and interval.
fn limiters(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.limiters else { return 0 };
    let flows = plan.most_flows();
    let reaction = plan.network.reaction.as_ref();
    let at = |node: &NodeId| {
        let is_host = matches!(plan.network.topology.node(*node).kind, NodeKind::Host(_));
        let of_place = reaction.filter(|reaction| (reaction.place == ReactionPlace::Host) == is_host);
        let limiters = of_place.map_or(0, |reaction| u64::from(reaction.limiters).min(flows));
        let loops = plan.traffic.groups.iter().filter_map(|group| group.near_source.as_ref()).map(|near| {
            let places = near.places.iter().max().map_or(1, |most| u64::from(*most) + 1);
            match near.per {
                Aggregate::Flow => flows.min(LIVE_PER_HOST),
                Aggregate::DestinationDc => places,
                Aggregate::Host | Aggregate::Rack | Aggregate::SourceDc => 1,
            }
        });
        limiters.saturating_add(if is_host { loops.sum() } else { 0 })
    };
    let limiters = nodes.iter().map(at).fold(0, u64::saturating_add);
    limiters.saturating_mul(intervals(end, *interval))
}

/// The most events of isolation that a run may record, unless it is forced: what could come is a thousand times what does.
pub(crate) const MOST_EVENTS: u64 = 1 << 23;

/// Each packet that leaves a port can have isolated a flow there, of which a neighbor is notified. Queues for isolated flows are
/// set up and given up, at the port and at the input, as often as `detect` bytes can come and go. A run with more than
/// [`MOST_EVENTS`] is ended.
fn isolation(plan: &Plan, end: Span) -> u64 {
    let Some(nodes) = &plan.record.isolation else { return 0 };
    let topology = &plan.network.topology;
    let full =
        plan.traffic.groups.iter().map(|group| group.transport.packet_size(group.transport.full_payload()));
    let packet = full.min().unwrap_or(Bytes::new(1)).max(Bytes::new(1));
    let rows = topology.links().iter().filter(|link| nodes.contains(&link.from)).map(|link| {
        let switch = plan.network.switches[link.from.index()].as_ref();
        let Some(isolation) = switch.and_then(|switch| switch.isolation.as_ref()) else { return 0 };
        let carried = link.wire.rate * end;
        let packets = carried.div_ceil(packet);
        let cycles = carried.div_ceil(isolation.detect.max(packet));
        packets.saturating_mul(2).saturating_add(cycles.saturating_mul(4))
    });
    rows.fold(0, u64::saturating_add).min(MOST_EVENTS)
}

/// One for each JumboFlow to another rack and interval, and no more than the switch reports to its hosts.
fn jumboflows(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.racks else { return 0 };
    let agents: Vec<_> = plan.network.switches.iter().map(|switch| switch.as_ref()?.rack.as_ref()).collect();
    let racks = agents.iter().flatten().count() as u64;
    let rows = nodes.iter().filter_map(|node| agents[node.index()]).map(|agent| {
        let every = (*interval).max(agent.jumboflow.period);
        intervals(end, every).saturating_mul(racks.saturating_mul(agent.jumboflows.into()))
    });
    rows.fold(0, u64::saturating_add)
}

/// One for each host and interval, and no more than it advertises.
fn advertised(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.racks else { return 0 };
    let agents = plan.network.switches.iter().flatten().filter_map(|switch| switch.rack.as_ref());
    let Some(shortest) = agents.map(|agent| agent.receivers.interval).min() else { return 0 };
    let is_host = |node: &&NodeId| matches!(plan.network.topology.node(**node).kind, NodeKind::Host(_));
    let hosts = nodes.iter().filter(is_host).count() as u64;
    hosts.saturating_mul(intervals(end, (*interval).max(shortest)))
}
