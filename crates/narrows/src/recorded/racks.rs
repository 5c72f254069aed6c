//! JumboFlows, and rates that destinations advertise (RackCC).

use std::sync::Arc;

use narrows_proto::units::Span;
use narrows_sim::NodeId;
use narrows_sim::mechanism::rackcc::{AdvertisedRow, JumboFlowRow, RackObserver};
use narrows_sim::observe::RowLimit;
use narrows_sim::topology::NodeKind;

use super::rows::{self, intervals};
use crate::plan::Plan;

pub(super) fn observer(plan: &Plan, _: &Arc<RowLimit>) -> Option<RackObserver> {
    let (interval, of) = plan.record.racks.as_ref()?;
    Some(RackObserver::new(*interval, plan.network.topology.nodes().len(), of))
}

pub(super) fn finish(observers: Vec<RackObserver>) -> (Vec<JumboFlowRow>, Vec<AdvertisedRow>) {
    RackObserver::finish(observers)
}

pub(super) fn bytes(plan: &Plan, end: Span) -> u64 {
    let jumboflows = rows::bytes::<JumboFlowRow>(jumboflows(plan, end));
    jumboflows.saturating_add(rows::bytes::<AdvertisedRow>(advertised(plan, end)))
}

/// One for each JumboFlow to another rack and interval, and no more than the switch reports to its hosts.
fn jumboflows(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.racks else { return 0 };
    let agents: Vec<_> =
        plan.network.switches.iter().map(|switch| switch.as_ref()?.rackcc.as_ref()).collect();
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
    let agents = plan.network.switches.iter().flatten().filter_map(|switch| switch.rackcc.as_ref());
    let Some(shortest) = agents.map(|agent| agent.receivers.interval).min() else { return 0 };
    let is_host = |node: &&NodeId| matches!(plan.network.topology.node(**node).kind, NodeKind::Host(_));
    let hosts = nodes.iter().filter(is_host).count() as u64;
    hosts.saturating_mul(intervals(end, (*interval).max(shortest)))
}
