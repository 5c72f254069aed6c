//! Flows from outside whose arrivals and ends somebody waits for.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use narrows_proto::units::Time;

use super::latencies::Latencies;
use crate::ids::FlowId;
use crate::traffic::FlowSpec;

/// Progress of flows from outside that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Sources are watched as well.
    pub(super) closings: bool,
    pub(super) latencies: Latencies,
    /// No flow arrives or ends before its time here.
    pub(super) bounds: BinaryHeap<Reverse<(Time, FlowId, Milestone)>>,
    /// Flows that have arrived, which their sources do not know.
    pub(super) unknown: BTreeSet<FlowId>,
    /// Nodes have not come as far as to now.
    pub(super) lags: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Milestone {
    Received,
    Closed,
}

impl Events {
    /// All of a flow has arrived.
    pub(super) fn on_received(&mut self, flow: FlowId, at: Time, spec: &FlowSpec) {
        if self.closings {
            self.unknown.insert(flow);
            let known = at + self.latencies.between(spec.to, spec.from);
            self.bounds.push(Reverse((known, flow, Milestone::Closed)));
        }
    }

    /// The source of a flow is done with it.
    pub(super) fn on_closed(&mut self, flow: FlowId) {
        self.unknown.remove(&flow);
    }

    /// All nodes come as far as to now.
    pub(super) fn keep_up(&mut self) {
        self.lags = false;
    }

    pub(super) fn first(&self) -> Time {
        self.bounds.peek().map_or(Time::NEVER, |entry| entry.0.0)
    }
}
