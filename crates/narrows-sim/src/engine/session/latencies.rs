//! Times that nothing beats from one host to another, whatever way it takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{Span, Time};

use crate::ids::{HostId, LinkId, NodeId};
use crate::network::Network;

/// Propagation and forwarding latency between hosts. From a switch with hosts they are looked up once it is asked for.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    /// By node: where its links lead, and the least time they take.
    links: Vec<Vec<(NodeId, Span)>>,
    /// By host: its switch, and the time to it and from it.
    access: Vec<(NodeId, [Span; 2])>,
    /// By node: the times to all nodes, if it was asked for.
    from: Vec<Option<Box<[Span]>>>,
}

impl Latencies {
    pub(super) fn new(network: &Network) -> Self {
        let topology = &network.topology;
        let mut links = vec![Vec::new(); topology.nodes().len()];
        for (number, link) in topology.links().iter().enumerate() {
            links[link.from.index()].push((link.to, network.least_delay(LinkId::from(number))));
        }
        let access = |host: &NodeId| {
            let (switch, there) = links[host.index()][0];
            let back = links[switch.index()].iter().find(|(to, _)| to == host);
            (switch, [there, back.map_or(Span::ZERO, |(_, back)| *back)])
        };
        let access = topology.hosts().iter().map(access).collect();
        Self { access, from: vec![None; links.len()], links }
    }

    /// The least time from one host to another.
    pub(super) fn between(&mut self, from: HostId, to: HostId) -> Span {
        let ((near, [there, _]), (far, [_, back])) = (self.access[from.index()], self.access[to.index()]);
        if near == far {
            return there + back;
        }
        let links = &self.links;
        let times = self.from[near.index()].get_or_insert_with(|| times_from(links, near));
        there + times[far.index()] + back
    }
}

/// The least time from a node to each (Dijkstra).
fn times_from(links: &[Vec<(NodeId, Span)>], from: NodeId) -> Box<[Span]> {
    let mut times = vec![Time::NEVER; links.len()];
    times[from.index()] = Time::ZERO;
    let mut next = BinaryHeap::from([Reverse((Time::ZERO, from))]);
    while let Some(Reverse((at, node))) = next.pop() {
        if at > times[node.index()] {
            continue;
        }
        for (to, takes) in &links[node.index()] {
            let there = at + *takes;
            if there < times[to.index()] {
                times[to.index()] = there;
                next.push(Reverse((there, *to)));
            }
        }
    }
    times.into_iter().map(|at| at.saturating_since(Time::ZERO)).collect()
}
