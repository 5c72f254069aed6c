//! Flows from outside whose arrivals and ends somebody waits for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{Span, Time};

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
    pub(super) bounds: BinaryHeap<Reverse<Bound>>,
    /// Nodes have not come as far as to now.
    pub(super) lags: bool,
}

/// A flow does not reach a milestone before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bound {
    pub(super) at: Time,
    pub(super) flow: FlowId,
    pub(super) milestone: Milestone,
    /// A packet arrives then with which the milestone may be reached.
    pub(super) arrives: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Milestone {
    /// All has arrived.
    Received,
    /// The source knows.
    Closed,
}

impl Events {
    /// All of a flow has arrived, which its source does not know.
    pub(super) fn on_received(&mut self, flow: FlowId, at: Time, spec: &FlowSpec, pending: &mut Pending) {
        if self.closings {
            pending.add(flow, Milestone::Closed);
            let takes = self.latencies.between(spec.to, spec.from).max(Span::from_ps(1));
            let milestone = Milestone::Closed;
            self.bounds.push(Reverse(Bound { at: at + takes, flow, milestone, arrives: false }));
        }
    }

    /// All nodes come as far as to now.
    pub(super) fn keep_up(&mut self) {
        self.lags = false;
    }

    pub(super) fn first(&self) -> Time {
        self.bounds.peek().map_or(Time::NEVER, |entry| entry.0.at)
    }
}

/// Milestones that flows from outside have yet to reach.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// By flow: a bit for each milestone.
    flows: Vec<u8>,
    count: usize,
}

impl Pending {
    pub(super) fn add(&mut self, flow: FlowId, milestone: Milestone) {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, 0);
        }
        self.count += usize::from(!self.has(flow, milestone));
        self.flows[flow.index()] |= 1 << milestone as u8;
    }

    /// Returns whether it was there.
    pub(super) fn remove(&mut self, flow: FlowId, milestone: Milestone) -> bool {
        let was = self.has(flow, milestone);
        if was {
            self.flows[flow.index()] &= !(1 << milestone as u8);
            self.count -= 1;
        }
        was
    }

    pub(super) fn has(&self, flow: FlowId, milestone: Milestone) -> bool {
        self.flows.get(flow.index()).is_some_and(|bits| bits >> milestone as u8 & 1 == 1)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}
