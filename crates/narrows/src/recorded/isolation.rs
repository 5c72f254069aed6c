//! Queues for isolated flows.

use std::sync::Arc;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::mechanism::isolation::{IsolationObserver, IsolationRow};
use narrows_sim::observe::RowLimit;

use super::rows;
use crate::plan::Plan;

pub(super) fn observer(plan: &Plan, events: &Arc<RowLimit>) -> Option<IsolationObserver> {
    let of = plan.record.isolation.as_ref()?;
    Some(IsolationObserver::new(&plan.network.topology, of, Arc::clone(events)))
}

pub(super) fn finish(observers: Vec<IsolationObserver>) -> Vec<IsolationRow> {
    IsolationObserver::finish(observers)
}

/// The most events of isolation that a run may record, unless it is forced: what could come is a thousand times what does.
pub(crate) const MOST_EVENTS: u64 = 1 << 23;

/// Each packet that leaves a port can have isolated a flow there, of which a neighbor is notified. Queues for isolated flows are
/// set up and given up, at the port and at the input, as often as `detect` bytes can come and go. A run with more than
/// [`MOST_EVENTS`] is ended.
pub(super) fn bytes(plan: &Plan, end: Span) -> u64 {
    let Some(nodes) = &plan.record.isolation else { return 0 };
    let topology = &plan.network.topology;
    let full =
        plan.traffic.groups.iter().map(|group| group.transport.packet_size(group.transport.full_payload()));
    let packet = full.min().unwrap_or(Bytes::new(1)).max(Bytes::new(1));
    let events = topology.links().iter().filter(|link| nodes.contains(&link.from)).map(|link| {
        let switch = plan.network.switches[link.from.index()].as_ref();
        let Some(isolation) = switch.and_then(|switch| switch.isolation.as_ref()) else { return 0 };
        let carried = link.wire.rate * end;
        let packets = carried.div_ceil(packet);
        let cycles = carried.div_ceil(isolation.detect.max(packet));
        packets.saturating_mul(2).saturating_add(cycles.saturating_mul(4))
    });
    rows::bytes::<IsolationRow>(events.fold(0, u64::saturating_add).min(MOST_EVENTS))
}
