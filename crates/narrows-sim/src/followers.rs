//! Flows that wait for others: who is notified of what, and how reports travel.
//!
//! A flow starts at its source. What it waits for happens at another host, or at the same one. A report within a host takes no
//! time. One for another host arrives after the time that the smallest packet of the waiting flow's group takes over the
//! empty network: a packet could not be sooner, so nothing outruns the windows of the engine. It takes no bandwidth, meets
//! no queue and is never lost.

use narrows_proto::units::{Span, Time};

use crate::ideal::IdealPath;
use crate::ids::{FlowId, HostId};
use crate::network::Network;
use crate::routing::paths::Paths;
use crate::traffic::{Dependent, Milestone, Traffic};

/// Who waits for which flow.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    /// By flow: where in `all` those begin who wait for it, and a last entry. Empty if nobody waits.
    first: Vec<u32>,
    all: Vec<Follower>,
    /// Those who wait, by number.
    pub(crate) dependents: Vec<Dependent>,
}

/// Someone who waits for a milestone of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follower {
    pub(crate) milestone: Milestone,
    /// Its number.
    pub(crate) dependent: u32,
    /// The thread and the node of its source.
    pub(crate) place: (u32, u32),
    /// Time that a report is under way; none within a host.
    pub(crate) away: Option<Span>,
}

/// A report for a host of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// Its node.
    pub(crate) node: u32,
    /// When it arrives.
    pub(crate) at: Time,
    /// Who waited for it.
    pub(crate) dependent: u32,
}

impl Followers {
    /// `place` returns the thread and the node of a host.
    pub(crate) fn new(
        network: &Network,
        traffic: &Traffic,
        seed: u64,
        place: impl Fn(HostId) -> (u32, u32),
    ) -> Self {
        if traffic.dependents.is_empty() {
            return Self::default();
        }
        let paths = Paths::of(network, seed);
        let mut pairs = Vec::new();
        for (number, dependent) in (0..).zip(&traffic.dependents) {
            let source = traffic.flows[dependent.flow.index()].from;
            let size = traffic.groups[traffic.flows[dependent.flow.index()].group.index()].smallest_packet();
            for &(flow, milestone) in &dependent.after {
                let notified = notified_at(traffic, flow, milestone);
                let away = (notified != source).then(|| {
                    let path = paths.path(dependent.flow, notified, source).expect("reports find a path");
                    IdealPath::new(network, &path).packet_time(size)
                });
                pairs.push((flow, Follower { milestone, dependent: number, place: place(source), away }));
            }
        }
        pairs.sort_by_key(|(flow, _)| *flow);
        let mut first = vec![0; traffic.flows.len() + 1];
        for (flow, _) in &pairs {
            first[flow.index() + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let all = pairs.into_iter().map(|(_, follower)| follower).collect();
        Self { first, all, dependents: traffic.dependents.clone() }
    }

    /// Nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.dependents.is_empty()
    }

    /// Those who wait for a flow.
    pub(crate) fn of(&self, flow: FlowId) -> &[Follower] {
        match self.first.get(flow.index()..flow.index() + 2) {
            Some(&[from, to]) => &self.all[from as usize..to as usize],
            _ => &[],
        }
    }
}

/// The host where a milestone of a flow happens.
fn notified_at(traffic: &Traffic, flow: FlowId, milestone: Milestone) -> HostId {
    let spec = &traffic.flows[flow.index()];
    match milestone {
        Milestone::Received => spec.to,
        Milestone::Sent => spec.from,
    }
}
