//! Which way the packets of flows go, and how they spread over links, as long as no link fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tables::Hashed;
use super::{NO_LEAF, Routing, Salt, Shortest, choice, shortest};
use crate::choice::Choice;
use crate::ids::{FlowId, HostId, LinkId, NodeId};
use crate::network::Network;
use crate::topology::Topology;

/// Which way packets go, for everyone who has to know it before the run.
#[derive(Clone, Debug)]
pub struct Paths<'a> {
    topology: &'a Topology,
    shortest: Arc<Shortest>,
    /// By node; hosts choose nothing.
    choices: Vec<Choice>,
}

impl<'a> Paths<'a> {
    /// The paths of a run with this seed, as long as no link fails.
    pub fn of(network: &'a Network, seed: u64) -> Self {
        Self::new(&network.topology, &network.routing, &network.salt, seed)
    }

    pub(crate) fn new(topology: &'a Topology, routing: &Routing, salt: &Salt, seed: u64) -> Self {
        let shortest = shortest(topology, routing);
        let node = |node| choice((routing, salt), topology, &shortest.tables, NodeId::from(node), seed);
        let choices = (0..topology.nodes().len()).map(node).collect();
        Self { topology, shortest, choices }
    }

    /// The links a packet of `flow` crosses, in order; where switches choose for each packet, one of its paths. None if there is no path.
    pub fn path(&self, flow: FlowId, from: HostId, to: HostId) -> Option<Vec<LinkId>> {
        let mut link = *self.shortest.ports[self.topology.hosts()[from.index()].index()].first()?;
        let mut path = vec![link];
        loop {
            let node = self.topology.link(link).to;
            match self.topology.as_host(node) {
                Some(host) => return (host == to).then_some(path),
                None => link = self.next(node, flow, to)?,
            }
            path.push(link);
        }
    }

    /// The links a packet of `flow` may cross, hop by hop: all of its shortest paths where it spreads or switches choose for each packet,
    /// otherwise the one it takes. None if there is no path.
    pub fn ways(
        &self,
        (flow, spreads): (FlowId, bool),
        from: HostId,
        to: HostId,
    ) -> Option<Vec<Vec<LinkId>>> {
        let mut hops = vec![vec![*self.shortest.ports[self.topology.hosts()[from.index()].index()].first()?]];
        loop {
            let mut ends: Vec<_> =
                hops.iter().next_back()?.iter().map(|link| self.topology.link(*link).to).collect();
            ends.sort_unstable();
            ends.dedup();
            // All are as far from the destination, so they arrive together.
            if let Some(host) = ends.iter().find_map(|node| self.topology.as_host(*node)) {
                return (host == to).then_some(hops);
            }
            let next: Vec<_> =
                ends.iter().flat_map(|node| self.choices_at(*node, (flow, spreads), to)).collect();
            if next.is_empty() {
                return None;
            }
            hops.push(next);
        }
    }

    /// The links that a switch may choose for a packet of `flow` to `to`.
    fn choices_at(&self, node: NodeId, (flow, spreads): (FlowId, bool), to: HostId) -> Vec<LinkId> {
        let leaf = self.shortest.tables.access[to.index()].leaf;
        let by_packet = match self.choices[node.index()] {
            Choice::ByPacket => true,
            Choice::DModK { .. } => false,
            Choice::Ecmp { .. } | Choice::EcmpOfPairs { .. } | Choice::EcmpByEntropy { .. } => spreads,
        };
        if !by_packet || leaf == NO_LEAF || self.shortest.tables.leaves()[leaf as usize] == node {
            return self.next(node, flow, to).into_iter().collect();
        }
        let ports = self.shortest.tables.routes[node.index()].ports_to(leaf).iter();
        ports.map(|port| self.shortest.ports[node.index()][usize::from(*port)]).collect()
    }

    pub(super) fn choice_of(&self, node: NodeId) -> &Choice {
        &self.choices[node.index()]
    }

    pub(super) fn link_of(&self, node: NodeId, port: u16) -> LinkId {
        self.shortest.ports[node.index()][usize::from(port)]
    }

    pub(crate) fn topology(&self) -> &Topology {
        self.topology
    }

    /// Number of switches with hosts.
    pub(crate) fn leaves(&self) -> usize {
        self.shortest.tables.leaves().len()
    }

    /// The ports of a node that lead to a switch with hosts.
    pub(crate) fn ports_towards(&self, node: usize, leaf: usize) -> &[u16] {
        if self.shortest.tables.routes[node].rows.is_empty() {
            &[]
        } else {
            self.shortest.tables.routes[node].ports_to(leaf as u32)
        }
    }

    /// Whether any path leads from one host to the other.
    pub fn reaches(&self, from: HostId, to: HostId) -> bool {
        let Some(link) = self.shortest.ports[self.topology.hosts()[from.index()].index()].first() else {
            return false;
        };
        let node = self.topology.link(*link).to;
        match self.topology.as_host(node) {
            Some(host) => host == to,
            // Shortest paths have no dead ends.
            None => self.next(node, FlowId(0), to).is_some(),
        }
    }

    fn next(&self, node: NodeId, flow: FlowId, to: HostId) -> Option<LinkId> {
        let access = self.shortest.tables.access[to.index()];
        let leaf = self.shortest.tables.leaves().get(access.leaf as usize)?;
        let port = if *leaf == node {
            access.port
        } else {
            self.shortest.tables.routes[node.index()].port(
                access.leaf,
                Hashed { flow, to, entropy: 0 },
                &self.choices[node.index()],
            )?
        };
        Some(self.shortest.ports[node.index()][usize::from(port)])
    }

    /// Mean load of each link under `demands` (from, to, amount), in their unit, if every switch shares traffic among its
    /// shortest paths equally, or as weights say. By link.
    pub fn spread(&self, demands: impl IntoIterator<Item = (HostId, HostId, f64)>) -> Vec<f64> {
        let mut load = vec![0.0; self.topology.links().len()];
        let leaves = self.shortest.tables.leaves().len();
        // By destination leaf: what enters, and at which leaf.
        let mut entering: Vec<Vec<(u32, f64)>> = vec![Vec::new(); leaves];
        for (from, to, amount) in demands {
            let first = self.shortest.ports[self.topology.hosts()[from.index()].index()][0];
            load[first.index()] += amount;
            let (source, access) =
                (self.shortest.tables.access[from.index()].leaf, self.shortest.tables.access[to.index()]);
            if source == NO_LEAF || access.leaf == NO_LEAF {
                continue;
            }
            let last = self.shortest.tables.leaves()[access.leaf as usize];
            load[self.shortest.ports[last.index()][usize::from(access.port)].index()] += amount;
            if source != access.leaf {
                entering[access.leaf as usize].push((source, amount));
            }
        }
        for (leaf, entering) in entering.iter().enumerate().filter(|(_, entering)| !entering.is_empty()) {
            self.spread_to(leaf as u32, entering, &mut load);
        }
        load
    }

    /// The first of these pairs of hosts that any shortest path joins without a link that `is_hit` chooses. Links that leave hosts are
    /// not looked at.
    pub fn avoiding(
        &self,
        pairs: &[(HostId, HostId)],
        is_hit: impl Fn(LinkId) -> bool,
    ) -> Option<(HostId, HostId)> {
        let access = |host: HostId| self.shortest.tables.access[host.index()];
        let mut by_leaf: BTreeMap<u32, Vec<(HostId, HostId)>> = BTreeMap::new();
        for pair in pairs {
            let [source, last] = [pair.0, pair.1].map(|host| access(host).leaf);
            if source != NO_LEAF && last != NO_LEAF {
                by_leaf.entry(last).or_default().push(*pair);
            }
        }
        by_leaf.into_iter().find_map(|(leaf, pairs)| {
            let last = self.shortest.tables.leaves()[leaf as usize];
            let clean = self.clean(leaf, &is_hit);
            pairs.into_iter().find(|(from, to)| {
                let source = self.shortest.tables.leaves()[access(*from).leaf as usize];
                clean[source.index()]
                    && !is_hit(self.shortest.ports[last.index()][usize::from(access(*to).port)])
            })
        })
    }

    /// By node: whether a shortest path leads from it to `leaf` without a link that `is_hit` chooses.
    fn clean(&self, leaf: u32, is_hit: &impl Fn(LinkId) -> bool) -> Vec<bool> {
        let backbone = &self.shortest.backbone;
        let last = self.shortest.tables.leaves()[leaf as usize];
        let mut distance = Vec::new();
        backbone.distances(backbone.number(last), &mut distance);
        let mut order: Vec<_> = (0..distance.len()).filter(|switch| distance[*switch] != u32::MAX).collect();
        order.sort_by_key(|switch| distance[*switch]);
        let mut clean = vec![false; self.topology.nodes().len()];
        clean[last.index()] = true;
        for switch in order.into_iter().filter(|switch| distance[*switch] > 0) {
            let node = backbone.switches[switch].index();
            let mut ports = self.shortest.tables.routes[node].ports_to(leaf).iter();
            clean[node] = ports.any(|port| {
                let link = self.shortest.ports[node][usize::from(*port)];
                !is_hit(link) && clean[self.topology.link(link).to.index()]
            });
        }
        clean
    }

    /// Spreads what enters, each at a leaf, on its way to `leaf`, farthest switches first.
    fn spread_to(&self, leaf: u32, entering: &[(u32, f64)], load: &mut [f64]) {
        let backbone = &self.shortest.backbone;
        let mut distance = Vec::new();
        let last = self.shortest.tables.leaves()[leaf as usize];
        backbone.distances(backbone.number(last), &mut distance);
        let mut amount = vec![0.0; backbone.switches.len()];
        for (source, entered) in entering {
            amount[backbone.number(self.shortest.tables.leaves()[*source as usize])] += entered;
        }
        let mut order: Vec<_> = (0..amount.len()).filter(|switch| distance[*switch] != u32::MAX).collect();
        order.sort_by_key(|switch| std::cmp::Reverse(distance[*switch]));
        for switch in order.into_iter().filter(|switch| distance[*switch] > 0) {
            if amount[switch] == 0.0 {
                continue;
            }
            let node = backbone.switches[switch].index();
            let ports = self.shortest.tables.routes[node].ports_to(leaf);
            for port in ports {
                let link = self.shortest.ports[node][usize::from(*port)];
                let share = amount[switch] / ports.len() as f64;
                load[link.index()] += share;
                amount[backbone.number(self.topology.link(link).to)] += share;
            }
        }
    }
}
