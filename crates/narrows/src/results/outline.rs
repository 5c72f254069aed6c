//! Data of a run that its summary needs.

use std::ops::Range;

use narrows_proto::units::{Span, Time};
use narrows_sim::mechanism::Records;
use narrows_sim::observe::PortRow;
use narrows_sim::{DatagramRecord, PortCounters};

use super::{CollectiveRow, FlowRow, RpcRow};
use crate::plan::Plan;

/// Data that metrics and activity are computed from.
pub(crate) struct Outline<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) flows: &'a [FlowRow],
    pub(crate) rpcs: &'a [RpcRow],
    pub(crate) collectives: &'a [CollectiveRow],
    pub(crate) datagrams: &'a [DatagramRecord],
    pub(crate) ports: &'a [PortCounters],
    pub(crate) no_route: &'a PortCounters,
    pub(crate) queues: Option<Queues<'a>>,
    pub(crate) mechanisms: &'a Records,
    pub(crate) packet_hops: u64,
    pub(crate) ended: Time,
}

impl Outline<'_> {
    /// Length of the measured time, as far as the run went.
    pub(crate) fn measured_for(&self) -> Span {
        let Range { start, end } = self.plan.measured;
        end.min(self.ended).saturating_since(start)
    }
}

/// Recorded queues, in order of time.
pub(crate) struct Queues<'a> {
    pub(crate) rows: &'a [PortRow],
    pub(crate) interval: Span,
    pub(crate) ended: Time,
}
