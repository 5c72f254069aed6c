//! Routes while links fail and come back.
//!
//! Who notices a change looks at every leaf once. Where the link lies on no shortest path, nothing happens. Where switches keep their
//! distances, only the rows of the two ends change. Where distances change, they are found anew for that leaf alone. Nothing is kept
//! of changes that lie in the past or in the future.

use std::collections::{BTreeMap, BTreeSet};

use narrows_proto::units::Time;

use super::backbone::Backbone;
use super::{leads_down, weights};
use crate::ids::{LinkId, NodeId};
use crate::mechanism::wcmp::Weights;
use crate::network::Network;
use crate::topology::Topology;

/// The row of a switch after a change.
#[derive(Debug)]
pub(crate) struct NewRow<'a> {
    pub(crate) node: NodeId,
    pub(crate) leaf: usize,
    /// All ports that lead there, each as often as its weight says.
    pub(crate) ports: &'a [u16],
    /// They are parallel links to one switch of a lower tier.
    pub(crate) down: bool,
}

/// A link that goes down or comes up, in the eyes of switches.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Time,
    /// One of its directions.
    link: LinkId,
    fails: bool,
}

/// Distances to all leaves, and the changes to come.
#[derive(Clone, Debug)]
pub(crate) struct ChangingRoutes {
    backbone: Backbone,
    /// By switch: its tier.
    tiers: Vec<Option<u32>>,
    /// By leaf: the number of its switch.
    leaves: Vec<usize>,
    /// By leaf, then by switch: hops.
    distances: Vec<u32>,
    /// In order of time.
    changes: Vec<Change>,
    next: usize,
    /// Numbers of the two switches of the links that fail, by direction.
    ends: BTreeMap<LinkId, (usize, usize)>,
    /// Failures that a link has at the moment, if it has any.
    failures: BTreeMap<LinkId, u32>,
    /// Weights of ports, if they have some.
    weights: Option<Weights>,
}

impl ChangingRoutes {
    /// None if no route ever changes.
    pub(crate) fn new(network: &Network) -> Option<Self> {
        let topology = &network.topology;
        let mut changes = Vec::new();
        for failure in &network.failures {
            let change = |at, fails| Change { at, link: failure.link, fails };
            let noticed = |at| at + failure.reroute_after;
            changes.push(change(noticed(failure.outage.from), true));
            changes.push(change(noticed(failure.outage.until), false));
        }
        changes.retain(|change| change.at < Time::NEVER);
        changes.sort_by_key(|change| change.at);
        if changes.is_empty() {
            return None;
        }
        let shortest = topology.shortest();
        let backbone = shortest.backbone.clone();
        let leaves: Vec<_> = shortest.tables.leaves().iter().map(|leaf| backbone.number(*leaf)).collect();
        let (mut distances, mut of_leaf) = (Vec::new(), Vec::new());
        for leaf in &leaves {
            backbone.distances(*leaf, &mut of_leaf);
            distances.extend_from_slice(&of_leaf);
        }
        let mut ends = BTreeMap::new();
        for link in changes.iter().flat_map(|change| [change.link, Topology::reverse(change.link)]) {
            let both = topology.link(link);
            if [both.from, both.to].iter().all(|node| topology.as_host(*node).is_none()) {
                ends.insert(link, (backbone.number(both.from), backbone.number(both.to)));
            }
        }
        let tiers = backbone.switches.iter().map(|node| topology.tier(*node)).collect();
        let weights = weights(topology, &network.routing);
        let failures = BTreeMap::new();
        Some(Self { backbone, tiers, leaves, distances, changes, next: 0, ends, failures, weights })
    }

    /// When routes change next.
    pub(crate) fn due(&self) -> Time {
        self.changes.get(self.next).map_or(Time::NEVER, |change| change.at)
    }

    /// Makes all changes of the moment [`due`](Self::due). Calls `set` with rows that may be new.
    pub(crate) fn step(&mut self, mut set: impl FnMut(NewRow<'_>)) {
        let at = self.due();
        let mut toggled = BTreeSet::new();
        while self.due() == at && at < Time::NEVER {
            let Change { link, fails, .. } = self.changes[self.next];
            self.next += 1;
            let link = Topology::first_direction(link);
            let failures = self.failures.entry(link).or_insert(0);
            let was_up = *failures == 0;
            *failures = if fails { *failures + 1 } else { failures.saturating_sub(1) };
            let is_up = *failures == 0;
            if is_up {
                self.failures.remove(&link);
            }
            if was_up != is_up && !toggled.remove(&link) {
                toggled.insert(link);
            }
        }
        let ends: Vec<_> = toggled
            .iter()
            .flat_map(|link| [*link, Topology::reverse(*link)])
            .filter_map(|link| self.toggle(link))
            .collect();
        let mut towards = Vec::new();
        for leaf in 0..self.leaves.len() {
            for switch in self.affected(leaf, &ends) {
                self.towards(leaf, switch, &mut towards);
                let (node, down) = (self.backbone.switches[switch], self.leads_down(switch, &towards));
                if let Some(weights) = &self.weights {
                    weights.repeat(node, leaf, &mut towards);
                }
                set(NewRow { node, leaf, ports: &towards, down });
            }
        }
    }

    /// Turns a link from one switch to another up or down. Returns the two, and whether it is up now; none if an end is a host.
    fn toggle(&mut self, link: LinkId) -> Option<(usize, usize, bool)> {
        let &(from, to) = self.ends.get(&link)?;
        // Both directions fail together.
        let up = !self.failures.contains_key(&Topology::first_direction(link));
        let (first, last) = (self.backbone.first[from], self.backbone.first[from + 1]);
        let hop = self.backbone.hops[first..last].iter_mut().find(|hop| hop.link == link)?;
        (hop.up, hop.back_up) = (up, up);
        Some((from, to, up))
    }

    /// Brings distances to a leaf up to date. Returns the switches whose rows may have changed.
    fn affected(&mut self, leaf: usize, ends: &[(usize, usize, bool)]) -> BTreeSet<usize> {
        let switches = self.backbone.switches.len();
        let distances = &self.distances[leaf * switches..][..switches];
        let mut rows = BTreeSet::new();
        let mut moves = false;
        for &(from, to, up) in ends {
            let (here, there) = (distances[from], distances[to]);
            // Zero: the leaf itself.
            if there == u32::MAX || here <= there {
                continue;
            }
            if up {
                moves |= here > there + 1;
                rows.insert(from);
            } else if here == there + 1 {
                let others = self.backbone.hops(from).iter();
                moves |= !others.into_iter().any(|hop| hop.up && distances[hop.to as usize] == there);
                rows.insert(from);
            }
        }
        if moves {
            let mut now = Vec::new();
            self.backbone.distances(self.leaves[leaf], &mut now);
            for switch in (0..switches).filter(|switch| now[*switch] != distances[*switch]) {
                rows.insert(switch);
                rows.extend(self.backbone.hops(switch).iter().map(|hop| hop.to as usize));
            }
            self.distances[leaf * switches..][..switches].copy_from_slice(&now);
        }
        // The leaf looks nothing up for itself.
        rows.remove(&self.leaves[leaf]);
        rows
    }

    /// The ports of a switch that lead to a leaf.
    fn towards(&self, leaf: usize, switch: usize, towards: &mut Vec<u16>) {
        let distances = &self.distances[leaf * self.backbone.switches.len()..];
        self.backbone.towards(switch, distances, towards);
    }

    fn leads_down(&self, switch: usize, ports: &[u16]) -> bool {
        let end = |port: &u16| {
            let mut hops = self.backbone.hops(switch).iter();
            hops.find(|hop| hop.port == *port).map(|hop| hop.to)
        };
        let tier_of = |end: u32| self.tiers[end as usize];
        leads_down(self.tiers[switch], ports.iter().filter_map(end), tier_of)
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::link::Outage;
    use crate::mechanism::hosts::Hosts;
    use crate::network::Failure;
    use crate::routing::{Routing, Shortest};
    use crate::topology::{FatTree, LeafSpine};

    fn network(topology: Topology, failures: Vec<Failure>) -> Network {
        let switches = vec![None; topology.nodes().len()];
        let (routing, reaction, hosts) = (Routing::Ecmp, None, Hosts::Ideal);
        Network { topology, switches, routing, failures, reaction, hosts, ..Network::default() }
    }

    fn tree(parallel: bool) -> Topology {
        let (rate, delay) = (BitRate::from_gbps(1), Span::from_us(1));
        let mut topology = Topology::default();
        if parallel {
            let (host_rate, uplink_rate) = (rate, rate);
            LeafSpine {
                racks: 3,
                hosts_per_rack: 1,
                spines: 2,
                links_per_spine: 2,
                host_rate,
                uplink_rate,
                delay,
            }
            .build(&mut topology, "");
        } else {
            FatTree { k: 4, rate, delay }.build(&mut topology, "");
        }
        topology
    }

    proptest! {
        #[test]
        fn rows_are_those_of_tables_made_anew_after_every_change(
            parallel: bool,
            failures in prop::collection::vec((any::<prop::sample::Index>(), 0..20_u64, 0..20_u64, 0..3_u64), 1..30),
        ) {
            let topology = tree(parallel);
            let links = topology.links().len();
            let failure = |(link, from, lasts, after): (prop::sample::Index, u64, u64, u64)| Failure {
                link: LinkId::from(link.index(links)),
                outage: Outage { from: Time::from_ps(from), until: Time::from_ps(from + lasts) },
                reroute_after: Span::from_ps(after),
            };
            let network = network(topology, failures.into_iter().map(failure).collect());
            let topology = &network.topology;
            let mut tables = topology.shortest().tables.clone();
            let mut changing = ChangingRoutes::new(&network).expect("something fails");
            while changing.due() < Time::NEVER {
                let at = changing.due();
                changing.step(|row| tables.routes[row.node.index()].set_row(row.leaf, row.ports, row.down));
                let down = |link: LinkId| network.failures.iter().any(|failure| {
                    let same = failure.link == link || failure.link == Topology::reverse(link);
                    let noticed = failure.outage.from + failure.reroute_after..failure.outage.until + failure.reroute_after;
                    same && noticed.contains(&at)
                });
                let anew = Shortest::over(topology, |link| !down(link)).tables;
                for (node, (row, expected)) in tables.routes.iter().zip(&anew.routes).enumerate() {
                    for leaf in 0..anew.leaves().len() {
                        if anew.leaf_of[node] != leaf as u32 && topology.as_host(NodeId::from(node)).is_none() {
                            prop_assert_eq!(row.choice_of(leaf), expected.choice_of(leaf), "{} to {}", node, leaf);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_kept_does_not_grow_with_changes() {
        let topology = tree(false);
        let far = (0..40_000).map(|n| Failure {
            link: LinkId::from((n * 7) % topology.links().len()),
            outage: Outage { from: Time::from_ps(10 * n as u64), until: Time::from_ps(10 * n as u64 + 35) },
            reroute_after: Span::ZERO,
        });
        let network = network(topology.clone(), far.collect());
        let mut tables = topology.shortest().tables.clone();
        let mut changing = ChangingRoutes::new(&network).expect("links fail");
        while changing.due() < Time::NEVER {
            changing.step(|row| tables.routes[row.node.index()].set_row(row.leaf, row.ports, row.down));
        }
        let most = tables.routes.iter().map(|routes| routes.groups.len()).max().expect("switches");
        assert!(most <= 4 * tables.leaves().len() + 64, "{most} groups");
        assert!(changing.failures.is_empty());
    }
}
