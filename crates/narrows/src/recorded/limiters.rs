//! Limiters and near-source loops.

use std::sync::Arc;

use narrows_proto::annulus::Aggregate;
use narrows_proto::units::Span;
use narrows_sim::mechanism::limiter::{LimiterObserver, LimiterRow};
use narrows_sim::observe::RowLimit;
use narrows_sim::topology::NodeKind;
use narrows_sim::{NodeId, ReactionPlace};

use super::rows;
use crate::plan::{LIVE_PER_HOST, Plan};

pub(super) fn observer(plan: &Plan, _: &Arc<RowLimit>) -> Option<LimiterObserver> {
    let (interval, of) = plan.record.limiters.as_ref()?;
    Some(LimiterObserver::new(*interval, plan.network.topology.nodes().len(), of))
}

pub(super) fn finish(observers: Vec<LimiterObserver>) -> Vec<LimiterRow> {
    LimiterObserver::finish(observers)
}

/// One for each limiter or near-source loop and interval.
pub(super) fn bytes(plan: &Plan, end: Span) -> u64 {
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
    rows::bytes::<LimiterRow>(limiters.saturating_mul(rows::intervals(end, *interval)))
}
