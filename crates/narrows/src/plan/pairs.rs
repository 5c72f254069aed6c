//! Which hosts a traffic group may join, told by pairs that stand for all that are alike.

use std::collections::BTreeMap;

use narrows_proto::units::{BitRate, Span};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::workload::Pairs;
use narrows_sim::{HostId, LinkId, Network, NodeId};

use super::PlannedGroup;

/// The switch a host is attached to, and its link. Ways of hosts that agree in these differ in links that are alike.
type Kind = (NodeId, [(BitRate, Span); 2]);

/// By host: a number for its kind.
pub(super) struct Kinds(Vec<u32>);

impl Kinds {
    pub(super) fn new(network: &Network) -> Self {
        let topology = &network.topology;
        let (ports, inputs) = (topology.ports(), topology.inputs());
        let wire = |link: LinkId| (topology.link(link).wire.rate, topology.link(link).wire.delay);
        let mut numbers: BTreeMap<Kind, u32> = BTreeMap::new();
        let kind = |host: &NodeId| {
            let (out, back) = (ports[host.index()][0], inputs[host.index()][0]);
            let next = numbers.len() as u32;
            *numbers.entry((topology.link(out).to, [wire(out), wire(back)])).or_insert(next)
        };
        Self(topology.hosts().iter().map(kind).collect())
    }

    /// Pairs of hosts that a group of `flows` may join, one for all whose ends are of the same kinds: requests and responses, and
    /// those that it has not drawn.
    pub(super) fn pairs(&self, group: &PlannedGroup, flows: &[FlowSpec]) -> Vec<(HostId, HostId)> {
        let mut by_kind = BTreeMap::new();
        let mut enter = |pair: (HostId, HostId)| {
            by_kind.entry([pair.0, pair.1].map(|host| self.0[host.index()])).or_insert(pair);
        };
        match &group.possible {
            Some(pairs) => {
                for (from, to) in pairs.among(self.few(pairs)) {
                    enter((from, to));
                    if group.rpcs.is_some() {
                        enter((to, from));
                    }
                }
            }
            None => flows[group.flows.clone()].iter().for_each(|flow| enter((flow.from, flow.to))),
        }
        by_kind.into_values().collect()
    }

    /// Of the senders and of the receivers the first two of each kind, who may be a pair.
    fn few(&self, pairs: &Pairs) -> impl Fn(HostId) -> bool {
        let mut chosen = vec![false; self.0.len()];
        for side in [pairs.from().to_vec(), pairs.to()] {
            let mut seen = vec![0; self.0.len()];
            for host in side {
                let seen = &mut seen[self.0[host.index()] as usize];
                *seen += 1;
                chosen[host.index()] |= *seen <= 2;
            }
        }
        move |host: HostId| chosen[host.index()]
    }
}
