//! Which port leads to which host: shortest paths by hop count, computed once, and the choice among equal ones.
//!
//! ```text
//! ecmp       port number ⌊h·n⌋ of n, h in [0, 1) from a hash of the flow and the salt of the switch
//! wcmp       the same, with a port as often in the list of n as its weight says
//! d_mod_k    port ⌊d/s⌋ mod n by the number d of the destination, s by level
//! spray      any port, for each packet
//! flowlets   any port, for each flowlet: after a pause
//! adaptive   the port with the shortest queue, for each packet or flowlet
//! ```
//! ECMP and WCMP keep a flow on its path. The hash is one of the number of a flow, in place of addresses and ports of its packets;
//! acknowledgments have the same number. Messages of one queue pair (RDMA) share that of the first. Packets of RDMA that takes any order may
//! have entropy, which is hashed with the flow: they spread over all ports.
//!
//! Polarization: where two switches on one path have the same salt, the second sees only flows whose hashes lie in one n-th and uses few
//! of its ports: one of eight if both have eight. With `hash_salt` it can be seen; by default each switch has a salt of its own.
//!
//! Differs from switches that take the hash modulo n: with equal salts and n₁ ≠ n₂ those use n₂/gcd(n₁, n₂) ports; here about n₂/n₁ are
//! used.

mod backbone;
pub(crate) mod changes;
pub(crate) mod edits;
pub(crate) mod paths;
mod polarization;
mod rules;
mod salt;
pub(crate) mod shortest;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::backbone::{Backbone, Hop};
pub use self::polarization::Polarization;
pub(crate) use self::rules::PacketRule;
pub use self::rules::Routing;
pub use self::salt::Salt;
pub(crate) use self::shortest::Shortest;
pub use self::tables::MOST_LEAVES;
use self::tables::UNREACHABLE;
pub(crate) use self::tables::{Access, Hashed, NO_LEAF, Routes, RoutingTables};
pub(crate) use crate::choice::Choice;
use crate::ids::{LinkId, NodeId};
use crate::mechanism::wcmp::Weights;
use crate::topology::{NodeKind, Topology};

impl Topology {
    /// Shortest paths while all links are up, found by the first who asks.
    pub(crate) fn shortest(&self) -> &Arc<Shortest> {
        self.kept_shortest(|| Shortest::over(self, |_| true))
    }
}

impl Shortest {
    /// Shortest paths over the links for which `up` holds. Hosts never forward.
    fn over(topology: &Topology, up: impl Fn(LinkId) -> bool) -> Self {
        let ports = topology.ports();
        let backbone = Backbone::new(topology, &ports, up);
        let tables = RoutingTables::new(&backbone, topology, &ports);
        Self { ports, backbone, tables }
    }
}

impl RoutingTables {
    fn new(backbone: &Backbone, topology: &Topology, ports: &[Vec<LinkId>]) -> Self {
        let mut tables = Self::attach(topology, ports);
        let leaves: Vec<_> = tables.leaves.iter().map(|node| backbone.number(*node)).collect();
        let mut distance = Vec::new();
        for alike in backbone.alike(&leaves) {
            tables.find(backbone, &leaves, &alike, &mut distance);
        }
        tables.measure(topology, ports);
        tables
    }

    /// Finds the rows of all switches for leaves that are [alike](Backbone::alike).
    fn find(&mut self, backbone: &Backbone, leaves: &[usize], alike: &[usize], distance: &mut Vec<u32>) {
        let Some((&first, others)) = alike.split_first() else { return };
        let mut towards = Vec::new();
        let mut set = |routes: &mut [Routes], leaf, switch, distance: &[u32]| {
            backbone.towards(switch, distance, &mut towards);
            routes[backbone.switches[switch].index()].set(leaf, &towards);
        };
        backbone.distances(leaves[first], distance);
        for (switch, node) in backbone.switches.iter().enumerate() {
            set(&mut self.routes, first, switch, distance);
            let rows = &mut self.routes[node.index()].rows;
            others.iter().for_each(|other| rows[*other] = rows[first]);
        }
        // The others are as far from everywhere; what differs is found at the two leaves, and next to them.
        for &other in others {
            distance.swap(leaves[first], leaves[other]);
            let next = backbone.hops(leaves[other]).iter().map(|hop| hop.to as usize);
            for switch in next.chain([leaves[first], leaves[other]]) {
                set(&mut self.routes, other, switch, distance);
            }
            distance.swap(leaves[first], leaves[other]);
        }
    }

    /// Finds the groups of parallel links downwards, and the widest of the others.
    fn measure(&mut self, topology: &Topology, ports: &[Vec<LinkId>]) {
        for (node, routes) in self.routes.iter_mut().enumerate() {
            let Some(tier) = topology.tier(NodeId::from(node)) else { continue };
            let of_tier = self.widest.entry(tier).or_insert(1);
            for group in &mut routes.groups {
                let end = |port: &u16| topology.link(ports[node][usize::from(*port)]).to;
                let ends = group.of(&routes.members).iter().map(end);
                group.down = leads_down(Some(tier), ends, |end| topology.tier(end));
                if !group.down {
                    *of_tier = u32::from(group.len).max(*of_tier);
                }
            }
        }
    }

    fn attach(topology: &Topology, ports: &[Vec<LinkId>]) -> Self {
        let leaves = topology.racks();
        let mut leaf_of = vec![NO_LEAF; topology.nodes().len()];
        for (leaf, switch) in leaves.iter().enumerate() {
            leaf_of[switch.index()] = leaf as u32;
        }
        let access = topology.hosts().iter().map(|host| {
            let Some(link) = ports[host.index()].first() else { return Access { leaf: NO_LEAF, port: 0 } };
            let switch = topology.link(*link).to;
            if topology.as_host(switch).is_some() {
                return Access { leaf: NO_LEAF, port: 0 };
            }
            let back = Topology::reverse(*link);
            let port = ports[switch.index()]
                .iter()
                .position(|port| *port == back)
                .expect("links have two directions");
            Access { leaf: leaf_of[switch.index()], port: port as u16 }
        });
        let access = access.collect();
        let empty = |node: &crate::topology::Node| match node.kind {
            NodeKind::Host(_) => Routes::default(),
            // The row behind the last is for what no host is to receive.
            NodeKind::Switch { .. } => {
                Routes { rows: vec![UNREACHABLE; leaves.len() + 1], ..Routes::default() }
            }
        };
        let routes = topology.nodes().iter().map(empty).collect();
        Self { access, routes, leaves, leaf_of, widest: BTreeMap::new() }
    }
}

/// Whether all ports of a switch of this tier end at one switch of a lower tier.
fn leads_down<N: Copy + PartialEq>(
    tier: Option<u32>,
    mut ends: impl Iterator<Item = N>,
    tier_of: impl Fn(N) -> Option<u32>,
) -> bool {
    let below = ends.next().filter(|end| tier_of(*end).zip(tier).is_some_and(|(end, tier)| end < tier));
    below.is_some_and(|first| ends.all(|end| end == first))
}

impl Backbone {
    fn new(topology: &Topology, ports: &[Vec<LinkId>], up: impl Fn(LinkId) -> bool) -> Self {
        let nodes = (0..topology.nodes().len()).map(NodeId::from);
        let switches: Vec<_> = nodes.filter(|node| topology.as_host(*node).is_none()).collect();
        let mut number = vec![u32::MAX; topology.nodes().len()];
        (0..).zip(&switches).for_each(|(position, switch)| number[switch.index()] = position);
        let (mut first, mut hops) = (vec![0], Vec::new());
        for switch in &switches {
            for (port, link) in ports[switch.index()].iter().enumerate() {
                let to = topology.link(*link).to;
                if topology.as_host(to).is_none() {
                    let (up, back_up) = (up(*link), up(Topology::reverse(*link)));
                    hops.push(Hop { to: number[to.index()], link: *link, port: port as u16, up, back_up });
                }
            }
            first.push(hops.len());
        }
        Self { switches, number, first, hops }
    }
}

/// Shortest paths as a rule uses them, while all links are up.
pub(crate) fn shortest(topology: &Topology, routing: &Routing) -> Arc<Shortest> {
    match weights(topology, routing) {
        None => Arc::clone(topology.shortest()),
        Some(weights) => Arc::new(weights.into_shortest()),
    }
}

/// Weights of ports, if a rule has some.
pub(crate) fn weights(topology: &Topology, routing: &Routing) -> Option<Weights> {
    let Routing::Wcmp(wcmp) = routing else { return None };
    Some(Weights::new(wcmp, topology, topology.shortest()))
}

/// The choice of one switch of `topology` under a rule.
pub(crate) fn choice(
    (routing, salt): (&Routing, &Salt),
    topology: &Topology,
    tables: &RoutingTables,
    node: NodeId,
    seed: u64,
) -> Choice {
    match routing {
        Routing::Ecmp | Routing::Wcmp(_) => Choice::Ecmp { salt: salt.of(topology, node, seed) },
        Routing::DModK => Choice::DModK { stride: stride(topology, tables, node) },
        _ => Choice::ByPacket,
    }
}

/// Product of the numbers of uplinks of one switch in each lower tier: the levels below have divided by it already.
/// Beyond the number of hosts it makes no difference, so it may saturate.
fn stride(topology: &Topology, tables: &RoutingTables, node: NodeId) -> u32 {
    let Some(tier) = topology.tier(node) else { return 1 };
    tables.widest.range(..tier).fold(1, |stride: u32, (_, widest)| stride.saturating_mul(*widest))
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span, Time};
    use proptest::prelude::*;

    use super::paths::Paths;
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::mechanism::at_routing::{Fork, RoutingSite};
    use crate::topology::{FatTree, KaryTree, LeafSpine};

    fn fat_tree() -> Topology {
        let mut topology = Topology::default();
        FatTree { k: 4, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }.build(&mut topology, "");
        topology
    }

    /// The names of the switches a packet crosses.
    fn walk(topology: &Topology, routing: &Routing, flow: u32, from: HostId, to: HostId) -> Vec<String> {
        let path =
            Paths::new(topology, routing, &Salt::PerSwitch, 1).path(FlowId(flow), from, to).expect("a path");
        path[1..].iter().map(|link| topology.node(topology.link(*link).from).name.clone()).collect()
    }

    #[test]
    fn paths_in_a_fat_tree_are_shortest() {
        let topology = fat_tree();
        let hops = |from, to| walk(&topology, &Routing::Ecmp, 7, HostId(from), HostId(to)).len();
        assert_eq!([hops(0, 1), hops(0, 2), hops(0, 15)], [1, 3, 5]);
    }

    #[test]
    fn ecmp_keeps_a_flow_on_its_path_and_spreads_flows_over_all() {
        let topology = fat_tree();
        let path = |flow| walk(&topology, &Routing::Ecmp, flow, HostId(0), HostId(15));
        assert_eq!(path(3), path(3));
        let mut cores: Vec<_> = (0..200).map(|flow| path(flow)[2].clone()).collect();
        cores.sort();
        cores.dedup();
        assert_eq!(cores.len(), 4);
    }

    #[test]
    fn ecmp_is_balanced_to_within_chance() {
        let topology = fat_tree();
        let flows = 2000;
        let first = (0..flows)
            .filter(|flow| walk(&topology, &Routing::Ecmp, *flow, HostId(0), HostId(15))[1] == "pod0/agg0");
        let first = first.count() as i64;
        // Four standard deviations of a fair coin: 4·√2000/2.
        assert!((first - 1000).abs() < 90, "{first}");
    }

    #[test]
    fn d_mod_k_gives_every_destination_one_path_and_every_core_the_same_number_of_destinations() {
        let mut topology = Topology::default();
        KaryTree { k: 4, levels: 3, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }
            .build(&mut topology, "");
        let mut load = std::collections::BTreeMap::new();
        for to in 16..64 {
            let path = walk(&topology, &Routing::DModK, 0, HostId(0), HostId(to));
            assert_eq!(path, walk(&topology, &Routing::DModK, 9, HostId(0), HostId(to)), "whatever the flow");
            *load.entry(path[2].clone()).or_insert(0) += 1;
        }
        assert_eq!(load.len(), 16);
        assert!(load.values().all(|count| *count == 3), "{load:?}");
    }

    /// By directed link: how many destinations D-mod-K leads over it, if every host sends to every other.
    fn destinations(topology: &Topology) -> Vec<usize> {
        let paths = Paths::new(topology, &Routing::DModK, &Salt::PerSwitch, 1);
        let hosts = || (0..topology.hosts().len()).map(HostId::from);
        let mut over = vec![std::collections::BTreeSet::new(); topology.links().len()];
        for (from, to) in hosts().flat_map(|from| hosts().map(move |to| (from, to))).filter(|(a, b)| a != b) {
            for link in paths.path(FlowId(from.0), from, to).expect("a path") {
                over[link.index()].insert(to);
            }
        }
        over.into_iter().map(|destinations| destinations.len()).collect()
    }

    /// Counts of [`destinations`] on the links from switches of one tier to switches of another, without repetitions.
    fn destinations_between(topology: &Topology, from: u32, to: u32) -> Vec<usize> {
        let tier = |node| topology.tier(node);
        let between =
            |link: &crate::topology::Link| tier(link.from) == Some(from) && tier(link.to) == Some(to);
        let counted = topology.links().iter().zip(destinations(topology));
        let mut counts: Vec<_> = counted.filter(|(link, _)| between(link)).map(|(_, count)| count).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    fn leaf_spine(racks: u32, hosts_per_rack: u32, spines: u32, links_per_spine: u32) -> Topology {
        let mut topology = Topology::default();
        let (host_rate, uplink_rate) = (BitRate::from_gbps(1), BitRate::from_gbps(1));
        let delay = Span::from_us(1);
        LeafSpine { racks, hosts_per_rack, spines, links_per_spine, host_rate, uplink_rate, delay }
            .build(&mut topology, "");
        topology
    }

    #[test]
    fn d_mod_k_shares_destinations_evenly_over_the_links_of_a_k_ary_n_tree() {
        let mut topology = Topology::default();
        KaryTree { k: 4, levels: 3, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }
            .build(&mut topology, "");
        // Of 60 destinations elsewhere each of four uplinks leads to 15; of these the next switch meets 12 that are not
        // below it, 3 for each uplink. On the way down a link leads to what is below it: 4 hosts, 16 hosts, each by one
        // of four and one of 16 switches.
        assert_eq!(destinations_between(&topology, 0, 1), [15]);
        assert_eq!(destinations_between(&topology, 1, 2), [3]);
        assert_eq!(destinations_between(&topology, 2, 1), [1]);
        assert_eq!(destinations_between(&topology, 1, 0), [1]);
    }

    #[test]
    fn d_mod_k_shares_destinations_evenly_over_the_links_of_a_leaf_spine() {
        let topology = leaf_spine(64, 32, 32, 1);
        // 63 racks elsewhere, of each one host for each of 32 spines.
        let paths = Paths::new(&topology, &Routing::DModK, &Salt::PerSwitch, 1);
        let mut over = vec![0; topology.links().len()];
        for to in 0..64 * 32 {
            // From each rack a host; all that is sent to one destination comes down over one spine.
            let from = (0..64).filter(|rack| *rack != to / 32).map(|rack| HostId(rack * 32 + to % 7));
            let ways = from.map(|from| paths.path(FlowId(from.0), from, HostId(to)).expect("a path"));
            let mut down = Vec::new();
            for way in ways {
                over[way[1].index()] += 1;
                down.push(way[2]);
            }
            down.dedup();
            assert_eq!(down.len(), 1, "one way down to {to}");
            over[down[0].index()] += 1;
        }
        for (link, count) in over.iter().enumerate() {
            let name = topology.link_name(LinkId::from(link));
            let expected = match name.split_once(" -> ") {
                Some((_, to)) if to.starts_with("spine") => 63,
                Some((from, _)) if from.starts_with("spine") => 1,
                _ => 0,
            };
            assert_eq!(*count, expected, "{name}");
        }
    }

    #[test]
    fn d_mod_k_shares_destinations_evenly_over_parallel_links() {
        // As many links up as hosts in a rack, as many down as spines and links to each.
        for (racks, hosts, spines, links) in [(32, 32, 16, 2), (8, 8, 2, 4), (6, 6, 1, 6), (9, 6, 3, 2)] {
            let topology = leaf_spine(racks, hosts, spines, links);
            let case = format!("{racks} racks, {hosts} hosts each, {links} links to each of {spines} spines");
            assert_eq!(destinations_between(&topology, 0, 1), [racks as usize - 1], "{case}: up");
            assert_eq!(destinations_between(&topology, 1, 0), [1], "{case}: down");
        }
    }

    #[test]
    fn every_routing_uses_all_parallel_links() {
        let topology = leaf_spine(2, 4, 2, 3);
        let uplinks = |rack: &str, to: &str| {
            let names = (0..topology.links().len()).map(|link| topology.link_name(LinkId::from(link)));
            names.filter(|name| name.starts_with(rack) && name.contains(to)).count()
        };
        assert_eq!(uplinks("rack0/tor", "spine"), 6);
        let paths = Paths::new(&topology, &Routing::Ecmp, &Salt::PerSwitch, 1);
        let taken = |hop: usize| {
            let way = |flow| paths.path(FlowId(flow), HostId(0), HostId(7)).expect("a path")[hop];
            (0..400).map(way).collect::<std::collections::BTreeSet<_>>().len()
        };
        // Up to both spines and down from both, over three links each.
        assert_eq!([taken(1), taken(2)], [6, 6]);
        let tables = &topology.shortest().tables;
        let node = |name: &str| topology.by_name()[name].index();
        let leaf = tables.access[7].leaf;
        let site = RoutingSite { node: NodeId(0), ports: 16, leaves: 2, first_of_pairs: None, seed: 1 };
        let sprayed = |name: &str| {
            let mut rule = PacketRule::new(&Routing::Spray, &site).expect("a rule for packets");
            let fork = Fork {
                now: Time::ZERO,
                flow: FlowId(0),
                leaf,
                ports: tables.routes[node(name)].ports_to(leaf),
            };
            (0..400).map(|_| rule.choose(&fork, |_| 0)).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!([sprayed("rack0/tor"), sprayed("spine0"), sprayed("spine1")], [6, 3, 3]);
    }

    #[test]
    fn d_mod_k_takes_any_number_of_uplinks_and_any_tier() {
        // 300 ports to choose among on each of the lower five tiers: their product does not fit 32 bits.
        let mut topology = Topology::default();
        let wire = crate::topology::Wire::new(BitRate::from_gbps(1), Span::from_us(1));
        let from = topology.add_host("from");
        let mut below = topology.add_switch("switch0", "switch", 0);
        topology.connect(from, below, wire);
        for tier in [1, 2, 3, 4, u32::MAX] {
            let above = topology.add_switch(format!("switch{tier}"), "switch", tier);
            for _ in 0..300 {
                topology.connect(below, above, wire);
            }
            below = above;
        }
        let to = topology.add_host("to");
        topology.connect(to, below, wire);
        assert_eq!(walk(&topology, &Routing::DModK, 0, HostId(0), HostId(1)).len(), 6);
    }

    #[test]
    fn all_to_all_traffic_loads_every_link_of_a_fat_tree_in_proportion() {
        let topology = fat_tree();
        let hosts = 16_u32;
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (HostId(from), HostId(to))));
        let demands = pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, 1.0));
        let load = Paths::new(&topology, &Routing::Ecmp, &Salt::PerSwitch, 1).spread(demands);
        for (number, load) in load.iter().enumerate() {
            let name = topology.link_name(LinkId::from(number));
            // Each host sends to 15 others: 1 in its rack, 2 in its pod, 12 elsewhere. Two hosts share two uplinks.
            let expected = match (name.contains("core"), name.contains("agg")) {
                (true, _) => 12.0,
                (false, true) => 14.0,
                (false, false) => 15.0,
            };
            assert!((load - expected).abs() < 1e-9, "{name} carries {load}, expected {expected}");
        }
    }

    #[test]
    fn a_failed_link_is_routed_around_and_a_cut_is_noticed() {
        let topology = fat_tree();
        let name = |link| topology.link_name(link);
        let cut = |prefix: &str| {
            let up = |link| !name(link).contains("pod0/rack0/tor") || !name(link).contains(prefix);
            let tables = Shortest::over(&topology, up).tables;
            let tor = topology.by_name()["pod0/rack0/tor"];
            tables.routes[tor.index()].ports_to(tables.access[15].leaf).len()
        };
        assert_eq!([cut("nothing"), cut("agg0"), cut("agg")], [2, 1, 0]);
    }

    /// Switches of two tiers, each with a host, and links between them.
    fn linked(switches: u32, links: &[(u32, u32)]) -> Topology {
        let mut topology = Topology::default();
        let wire = crate::topology::Wire::new(BitRate::from_gbps(1), Span::from_us(1));
        for number in 0..switches {
            let switch = topology.add_switch(format!("switch{number}"), "switch", number % 2);
            let host = topology.add_host(format!("host{number}"));
            topology.connect(host, switch, wire);
        }
        for (from, to) in links.iter().filter(|(from, to)| from != to) {
            // A host follows each switch.
            topology.connect(NodeId(from * 2), NodeId(to * 2), wire);
        }
        topology
    }

    /// Routes found for one leaf after the other.
    fn one_by_one(topology: &Topology, up: impl Fn(LinkId) -> bool) -> RoutingTables {
        let ports = topology.ports();
        let backbone = Backbone::new(topology, &ports, up);
        let mut tables = RoutingTables::attach(topology, &ports);
        let leaves: Vec<_> = tables.leaves.iter().map(|node| backbone.number(*node)).collect();
        (0..leaves.len()).for_each(|leaf| tables.find(&backbone, &leaves, &[leaf], &mut Vec::new()));
        tables.measure(topology, &ports);
        tables
    }

    proptest! {
        #[test]
        fn leaves_that_are_alike_have_the_routes_that_are_found_for_each_alone(
            links in prop::collection::vec((0..7_u32, 0..7_u32), 0..20),
            down in prop::collection::vec(0..54_usize, 0..4),
        ) {
            let topology = linked(7, &links);
            let up = |link: LinkId| !down.contains(&link.index());
            let (found, expected) = (Shortest::over(&topology, up).tables, one_by_one(&topology, up));
            prop_assert_eq!(&found.widest, &expected.widest);
            for (node, (routes, expected)) in found.routes.iter().zip(&expected.routes).enumerate() {
                for leaf in 0..routes.rows.len() {
                    prop_assert_eq!(routes.choice_of(leaf), expected.choice_of(leaf), "{} to {}", node, leaf);
                }
            }
        }
    }

    #[test]
    fn routes_are_found_anew_when_a_link_is_added() {
        let mut topology = linked(2, &[]);
        assert!(!Paths::new(&topology, &Routing::Ecmp, &Salt::PerSwitch, 1).reaches(HostId(0), HostId(1)));
        let wire = crate::topology::Wire::new(BitRate::from_gbps(1), Span::from_us(1));
        topology.connect(NodeId(0), NodeId(2), wire);
        assert!(Paths::new(&topology, &Routing::Ecmp, &Salt::PerSwitch, 1).reaches(HostId(0), HostId(1)));
    }
}
