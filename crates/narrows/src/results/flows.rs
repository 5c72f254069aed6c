//! Flows, as results hold them.

use narrows_proto::stream::Stats;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::{FlowId, FlowRecord, HostId, IdealPath, Paths, ideal_fct};

use crate::plan::{ENDLESS, Plan};

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRow {
    /// Its number.
    pub flow: FlowId,
    /// Number of flows the same client had started before.
    pub incarnation: u64,
    /// Its group.
    pub group: u32,
    /// Who sent.
    pub from: HostId,
    /// Who received.
    pub to: HostId,
    /// Payload.
    pub size: Bytes,
    /// When the application handed it over.
    pub start: Time,
    /// It began on a connection that had carried other flows.
    pub again: bool,
    /// When the receiver had all of it.
    pub end: Option<Time>,
    /// Completion time on the empty network, without a handshake if connections are kept; with packet spray a lower bound of it.
    pub ideal: Span,
    /// Payload known to the sender to have arrived.
    pub delivered: Bytes,
    /// The part of it that became known in the measured time.
    pub delivered_measured: Bytes,
    /// Statistics of its transport.
    pub stats: Stats,
    /// It counts in summaries.
    pub measured: bool,
}

impl FlowRow {
    /// Flow completion time: from the hand-over to the arrival of the last byte.
    pub fn fct(&self) -> Option<Span> {
        self.end.map(|end| end - self.start)
    }

    /// From the hand-over to the moment the last byte began to leave, for the first time.
    pub fn injection(&self) -> Option<Span> {
        self.stats.injected.map(|injected| injected - self.start)
    }

    /// Completion time divided by the ideal one; at least 1.
    pub fn slowdown(&self) -> Option<f64> {
        self.fct().map(|fct| fct.as_ps() as f64 / self.ideal.as_ps() as f64)
    }

    /// It was never meant to end.
    pub fn is_endless(&self) -> bool {
        self.size == ENDLESS
    }
}

/// Completion times of flows on the empty network.
pub(super) struct Ideals<'a> {
    pub(super) plan: &'a Plan,
    paths: Paths<'a>,
}

impl<'a> Ideals<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self { plan, paths: Paths::of(&plan.network, plan.scenario.seed) }
    }

    /// Of `size` bytes sent as `flow` from `start` on, which must belong to a connection.
    pub(super) fn of(&self, flow: FlowId, start: Time, size: Bytes) -> Span {
        let spec = &self.plan.traffic.flows[flow.index()];
        let transport = &self.plan.traffic.groups[spec.group.index()].transport;
        let [forth, back] = [(spec.from, spec.to), (spec.to, spec.from)].map(|(from, to)| {
            let of_flow = (flow, transport.has_entropy());
            let path = IdealPath::between(&self.plan.network, &self.paths, of_flow, from, to);
            path.expect("the plan found a path")
        });
        ideal_fct(transport, &forth, &back, start, size)
    }
}

/// Adds to each flow what the plan knows of it.
pub(super) fn flow_rows(ideals: &Ideals<'_>, records: &[FlowRecord]) -> Vec<FlowRow> {
    let plan = ideals.plan;
    let row = |record: &FlowRecord| {
        let spec = &plan.traffic.flows[record.flow.index()];
        FlowRow {
            flow: record.flow,
            incarnation: record.incarnation,
            group: spec.group.0,
            from: spec.from,
            to: spec.to,
            size: record.size,
            start: record.start,
            again: record.again,
            end: record.end,
            ideal: ideals.of(record.flow, record.start, record.size),
            delivered: record.delivered,
            delivered_measured: record.delivered_measured,
            stats: record.stats,
            measured: plan.measured.contains(&record.start),
        }
    };
    let rows: Vec<_> = records.iter().map(row).collect();
    debug_assert!(
        rows.iter().all(is_possible),
        "no flow can be as fast as {:?}",
        rows.iter().find(|row| !is_possible(row))
    );
    rows
}

/// Whether a flow could do what it did: nothing is faster than on the empty network, and no more arrives than it has.
fn is_possible(row: &FlowRow) -> bool {
    row.fct().is_none_or(|fct| fct >= row.ideal)
        && row.delivered <= row.size
        && row.delivered_measured <= row.delivered
}
