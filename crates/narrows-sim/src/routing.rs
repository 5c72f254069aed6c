//! Which port leads to which host: shortest paths by hop count, computed once, and the choice among equal ones.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::{FlowId, HostId, LinkId, NodeId};
use crate::random::{Purpose, Stream, mix};
use crate::topology::{NodeKind, Topology};

/// How a switch chooses among shortest paths.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// By a hash of the flow, salted per switch: a flow keeps its path (ECMP, RFC 2992).
    #[default]
    Ecmp,
    /// By the destination: in a tree with k uplinks per switch, level l takes uplink ⌊d/k^l⌋ mod k.
    DModK,
    /// At random for each packet (packet spraying).
    Spray,
}

/// Where a host is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Index of its switch among those that have hosts, or [`NO_LEAF`] if its neighbour is a host.
    pub(crate) leaf: u32,
    /// The switch's port that leads to it.
    pub(crate) port: u16,
}

pub(crate) const NO_LEAF: u32 = u32::MAX;

/// A row leads to a port, or to a group of ports if this bit is set.
const GROUP: u16 = 0x8000;
const UNREACHABLE: u16 = u16::MAX;
/// The most switches with hosts. A switch chooses among different ports for each of them, at worst, and numbers these
/// choices with 15 bits; one number is for "unreachable".
pub const MOST_LEAVES: usize = (1 << 15) - 2;

/// The routing table of one switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    /// By leaf: a port, a group, or [`UNREACHABLE`].
    rows: Vec<u16>,
    /// Start and length in `members`.
    groups: Vec<(u32, u32)>,
    members: Vec<u16>,
}

/// How one switch chooses.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    Ecmp { salt: u64 },
    DModK { stride: u32 },
    Spray(Box<Stream>),
}

impl Routes {
    /// The port to `leaf` for a packet of `flow` to `to`; with [`Choice::Spray`] the first of all.
    #[inline(always)]
    pub(crate) fn port(&self, leaf: u32, flow: FlowId, to: HostId, choice: &Choice) -> Option<u16> {
        let row = self.rows[leaf as usize];
        if row < GROUP {
            return Some(row);
        }
        if row == UNREACHABLE {
            return None;
        }
        let (first, len) = self.groups[usize::from(row & !GROUP)];
        let member = match choice {
            Choice::Ecmp { salt } => {
                let hash = mix(u64::from(flow.0) ^ *salt);
                (((hash >> 32) * u64::from(len)) >> 32) as u32
            }
            Choice::DModK { stride } => to.0 / *stride % len,
            Choice::Spray(_) => 0,
        };
        Some(self.members[(first + member) as usize])
    }

    /// A port to `leaf`, at random.
    pub(crate) fn any_port(&self, leaf: u32, random: &mut Stream) -> Option<u16> {
        match self.ports_to(leaf) {
            [] => None,
            ports => Some(ports[random.below(ports.len() as u64) as usize]),
        }
    }

    /// All ports that lead to `leaf`.
    pub(crate) fn ports_to(&self, leaf: u32) -> &[u16] {
        match self.rows[leaf as usize] {
            UNREACHABLE => &[],
            row if row < GROUP => std::slice::from_ref(&self.rows[leaf as usize]),
            row => {
                let (first, len) = self.groups[usize::from(row & !GROUP)];
                &self.members[first as usize..(first + len) as usize]
            }
        }
    }

    fn set(&mut self, leaf: usize, ports: &[u16]) {
        self.rows[leaf] = match ports {
            [] => UNREACHABLE,
            [port] => *port,
            _ => GROUP | self.group(ports),
        };
    }

    fn group(&mut self, ports: &[u16]) -> u16 {
        let same =
            |&(first, len): &(u32, u32)| &self.members[first as usize..(first + len) as usize] == ports;
        // The latest group is the most likely one.
        if let Some(back) = self.groups.iter().rev().position(same) {
            return (self.groups.len() - 1 - back) as u16;
        }
        self.groups.push((self.members.len() as u32, ports.len() as u32));
        self.members.extend_from_slice(ports);
        (self.groups.len() - 1) as u16
    }
}

/// The routing of a whole network.
#[derive(Clone, Debug)]
pub(crate) struct RoutingTables {
    /// By host.
    pub(crate) access: Vec<Access>,
    /// By node; empty for hosts.
    pub(crate) routes: Vec<Routes>,
    /// The switch of each leaf.
    leaves: Vec<NodeId>,
    /// By node: its leaf, or [`NO_LEAF`].
    leaf_of: Vec<u32>,
    /// By tier: the most ports any of its switches chooses among.
    widest: BTreeMap<u32, u32>,
}

impl RoutingTables {
    /// Shortest paths over the links for which `up` holds. Hosts never forward.
    pub(crate) fn new(topology: &Topology, up: impl Fn(LinkId) -> bool) -> Self {
        let ports = topology.ports();
        Self::over(&Backbone::new(topology, &ports, up), topology, &ports)
    }

    fn over(backbone: &Backbone, topology: &Topology, ports: &[Vec<LinkId>]) -> Self {
        let mut tables = Self::attach(topology, ports);
        let mut distance = Vec::new();
        let mut towards = Vec::new();
        for (leaf, node) in tables.leaves.iter().enumerate() {
            backbone.distances(*node, &mut distance);
            for (switch, node) in backbone.switches.iter().enumerate() {
                let here = distance[switch];
                if here == 0 || here == u32::MAX {
                    continue;
                }
                let hops = backbone.hops(switch).iter();
                let closer = hops.filter(|hop| hop.up && distance[hop.to as usize] == here - 1);
                towards.clear();
                towards.extend(closer.map(|hop| hop.port));
                tables.routes[node.index()].set(leaf, &towards);
            }
        }
        tables.measure(topology);
        tables
    }

    fn measure(&mut self, topology: &Topology) {
        for (node, routes) in topology.nodes().iter().zip(&self.routes) {
            if let NodeKind::Switch { tier, .. } = node.kind {
                let widest = routes.groups.iter().map(|group| group.1).max().unwrap_or(1);
                let of_tier = self.widest.entry(tier).or_insert(1);
                *of_tier = widest.max(*of_tier);
            }
        }
    }

    fn attach(topology: &Topology, ports: &[Vec<LinkId>]) -> Self {
        let mut leaf_of = vec![NO_LEAF; topology.nodes().len()];
        let mut leaves = Vec::new();
        let access = topology.hosts().iter().map(|host| {
            let Some(link) = ports[host.index()].first() else { return Access { leaf: NO_LEAF, port: 0 } };
            let switch = topology.link(*link).to;
            if topology.as_host(switch).is_some() {
                return Access { leaf: NO_LEAF, port: 0 };
            }
            if leaf_of[switch.index()] == NO_LEAF {
                leaf_of[switch.index()] = leaves.len() as u32;
                leaves.push(switch);
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

    /// The leaf index of a switch, if it has hosts.
    pub(crate) fn leaf_index(&self, node: NodeId) -> u32 {
        self.leaf_of[node.index()]
    }

    /// By host, and one more: an address without a host. Packets to it are not routed but dealt with where they arrive.
    pub(crate) fn access_and_neighbour(&self) -> Vec<Access> {
        let nowhere = Access { leaf: self.leaves.len() as u32, port: 0 };
        self.access.iter().copied().chain([nowhere]).collect()
    }

    /// The switches that have hosts.
    pub(crate) fn leaves(&self) -> &[NodeId] {
        &self.leaves
    }
}

/// The switches and the links between them, close together: finding routes is looking at all of them for every leaf.
#[derive(Clone, Debug)]
struct Backbone {
    switches: Vec<NodeId>,
    /// By node: its position in `switches`; not used for hosts.
    number: Vec<u32>,
    /// By switch: where its hops begin; one more for the end.
    first: Vec<usize>,
    hops: Vec<Hop>,
}

/// A link from one switch to another.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// Position of the other switch.
    to: u32,
    /// Port of the first switch.
    port: u16,
    /// Packets may leave over it.
    up: bool,
    /// Packets may come back over its other direction.
    back_up: bool,
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
                    hops.push(Hop { to: number[to.index()], port: port as u16, up, back_up });
                }
            }
            first.push(hops.len());
        }
        Self { switches, number, first, hops }
    }

    fn hops(&self, switch: usize) -> &[Hop] {
        &self.hops[self.first[switch]..self.first[switch + 1]]
    }

    /// Hops from every switch to `leaf`, by position; `u32::MAX` if there is no way.
    fn distances(&self, leaf: NodeId, distance: &mut Vec<u32>) {
        let leaf = self.number[leaf.index()];
        distance.clear();
        distance.resize(self.switches.len(), u32::MAX);
        distance[leaf as usize] = 0;
        let mut queue = VecDeque::from([leaf]);
        while let Some(switch) = queue.pop_front() {
            let next = distance[switch as usize] + 1;
            // Packets travel the other way, towards the leaf.
            for hop in self.hops(switch as usize).iter().filter(|hop| hop.back_up) {
                let distance = &mut distance[hop.to as usize];
                if *distance == u32::MAX {
                    *distance = next;
                    queue.push_back(hop.to);
                }
            }
        }
    }
}

/// Which way packets go, for everyone who has to know it before the run.
#[derive(Clone, Debug)]
pub struct Paths<'a> {
    topology: &'a Topology,
    ports: Vec<Vec<LinkId>>,
    backbone: Backbone,
    tables: RoutingTables,
    /// By node; hosts choose nothing.
    choices: Vec<Choice>,
}

impl<'a> Paths<'a> {
    /// The paths of a run with this seed, as long as no link fails.
    pub fn new(topology: &'a Topology, routing: Routing, seed: u64) -> Self {
        let ports = topology.ports();
        let backbone = Backbone::new(topology, &ports, |_| true);
        let tables = RoutingTables::over(&backbone, topology, &ports);
        let node = |node| choice(routing, topology, &tables, NodeId::from(node), seed);
        let choices = (0..topology.nodes().len()).map(node).collect();
        Self { topology, ports, backbone, choices, tables }
    }

    /// The links a packet of `flow` crosses, in order; with packet spray, one of its paths. None if there is no path.
    pub fn path(&self, flow: FlowId, from: HostId, to: HostId) -> Option<Vec<LinkId>> {
        let mut link = *self.ports[self.topology.hosts()[from.index()].index()].first()?;
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

    pub(crate) fn topology(&self) -> &Topology {
        self.topology
    }

    /// How many switches have hosts.
    pub(crate) fn leaves(&self) -> usize {
        self.tables.leaves().len()
    }

    /// The ports of a node that lead to a switch with hosts.
    pub(crate) fn ports_towards(&self, node: usize, leaf: usize) -> &[u16] {
        if self.tables.routes[node].rows.is_empty() {
            &[]
        } else {
            self.tables.routes[node].ports_to(leaf as u32)
        }
    }

    /// Whether any path leads from one host to the other.
    pub fn reaches(&self, from: HostId, to: HostId) -> bool {
        let Some(link) = self.ports[self.topology.hosts()[from.index()].index()].first() else {
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
        let access = self.tables.access[to.index()];
        let leaf = self.tables.leaves().get(access.leaf as usize)?;
        let port = if *leaf == node {
            access.port
        } else {
            self.tables.routes[node.index()].port(access.leaf, flow, to, &self.choices[node.index()])?
        };
        Some(self.ports[node.index()][usize::from(port)])
    }

    /// How much of the traffic in `demands` (from, to, amount) each link carries on average, if every switch shares
    /// traffic equally among its shortest paths. By link.
    pub fn spread(&self, demands: impl IntoIterator<Item = (HostId, HostId, f64)>) -> Vec<f64> {
        let mut load = vec![0.0; self.topology.links().len()];
        let leaves = self.tables.leaves().len();
        // By destination leaf: what enters, and at which leaf.
        let mut entering: Vec<Vec<(u32, f64)>> = vec![Vec::new(); leaves];
        for (from, to, amount) in demands {
            let first = self.ports[self.topology.hosts()[from.index()].index()][0];
            load[first.index()] += amount;
            let (source, access) = (self.tables.access[from.index()].leaf, self.tables.access[to.index()]);
            if source == NO_LEAF || access.leaf == NO_LEAF {
                continue;
            }
            let last = self.tables.leaves()[access.leaf as usize];
            load[self.ports[last.index()][usize::from(access.port)].index()] += amount;
            if source != access.leaf {
                entering[access.leaf as usize].push((source, amount));
            }
        }
        for (leaf, entering) in entering.iter().enumerate().filter(|(_, entering)| !entering.is_empty()) {
            self.spread_to(leaf as u32, entering, &mut load);
        }
        load
    }

    /// Spreads what enters, each at a leaf, on its way to `leaf`, farthest switches first.
    fn spread_to(&self, leaf: u32, entering: &[(u32, f64)], load: &mut [f64]) {
        let backbone = &self.backbone;
        let mut distance = Vec::new();
        backbone.distances(self.tables.leaves()[leaf as usize], &mut distance);
        let number = |node: NodeId| backbone.number[node.index()] as usize;
        let mut amount = vec![0.0; backbone.switches.len()];
        for (source, entered) in entering {
            amount[number(self.tables.leaves()[*source as usize])] += entered;
        }
        let mut order: Vec<_> = (0..amount.len()).filter(|switch| distance[*switch] != u32::MAX).collect();
        order.sort_by_key(|switch| std::cmp::Reverse(distance[*switch]));
        for switch in order.into_iter().filter(|switch| distance[*switch] > 0) {
            if amount[switch] == 0.0 {
                continue;
            }
            let node = backbone.switches[switch].index();
            let ports = self.tables.routes[node].ports_to(leaf);
            for port in ports {
                let link = self.ports[node][usize::from(*port)];
                let share = amount[switch] / ports.len() as f64;
                load[link.index()] += share;
                amount[number(self.topology.link(link).to)] += share;
            }
        }
    }
}

/// How one switch of `topology` chooses under `routing`.
pub(crate) fn choice(
    routing: Routing,
    topology: &Topology,
    tables: &RoutingTables,
    node: NodeId,
    seed: u64,
) -> Choice {
    match routing {
        Routing::Ecmp => Choice::Ecmp { salt: Stream::new(seed, Purpose::EcmpSalt, node.0.into()).bits() },
        Routing::DModK => Choice::DModK { stride: stride(topology, tables, node) },
        Routing::Spray => Choice::Spray(Box::new(Stream::new(seed, Purpose::Spray, node.0.into()))),
    }
}

/// Product of the numbers of uplinks of one switch in each lower tier: the levels below have divided by it already.
/// Beyond the number of hosts it makes no difference, so it may saturate.
fn stride(topology: &Topology, tables: &RoutingTables, node: NodeId) -> u32 {
    let NodeKind::Switch { tier, .. } = topology.node(node).kind else { return 1 };
    tables.widest.range(..tier).fold(1, |stride: u32, (_, widest)| stride.saturating_mul(*widest))
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};

    use super::*;
    use crate::topology::{FatTree, KaryTree};

    fn fat_tree() -> Topology {
        let mut topology = Topology::default();
        FatTree { k: 4, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }.build(&mut topology, "");
        topology
    }

    /// The names of the switches a packet crosses.
    fn walk(topology: &Topology, routing: Routing, flow: u32, from: HostId, to: HostId) -> Vec<String> {
        let path = Paths::new(topology, routing, 1).path(FlowId(flow), from, to).expect("a path");
        path[1..].iter().map(|link| topology.node(topology.link(*link).from).name.clone()).collect()
    }

    #[test]
    fn paths_in_a_fat_tree_are_shortest() {
        let topology = fat_tree();
        let hops = |from, to| walk(&topology, Routing::Ecmp, 7, HostId(from), HostId(to)).len();
        assert_eq!([hops(0, 1), hops(0, 2), hops(0, 15)], [1, 3, 5]);
    }

    #[test]
    fn ecmp_keeps_a_flow_on_its_path_and_spreads_flows_over_all() {
        let topology = fat_tree();
        let path = |flow| walk(&topology, Routing::Ecmp, flow, HostId(0), HostId(15));
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
            .filter(|flow| walk(&topology, Routing::Ecmp, *flow, HostId(0), HostId(15))[1] == "pod0/agg0");
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
            let path = walk(&topology, Routing::DModK, 0, HostId(0), HostId(to));
            assert_eq!(path, walk(&topology, Routing::DModK, 9, HostId(0), HostId(to)), "whatever the flow");
            *load.entry(path[2].clone()).or_insert(0) += 1;
        }
        assert_eq!(load.len(), 16);
        assert!(load.values().all(|count| *count == 3), "{load:?}");
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
        assert_eq!(walk(&topology, Routing::DModK, 0, HostId(0), HostId(1)).len(), 6);
    }

    #[test]
    fn all_to_all_traffic_loads_every_link_of_a_fat_tree_in_proportion() {
        let topology = fat_tree();
        let hosts = 16_u32;
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (HostId(from), HostId(to))));
        let demands = pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, 1.0));
        let load = Paths::new(&topology, Routing::Ecmp, 1).spread(demands);
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
            let tables = RoutingTables::new(&topology, |link| {
                !name(link).contains("pod0/rack0/tor") || !name(link).contains(prefix)
            });
            let tor = topology.by_name()["pod0/rack0/tor"];
            tables.routes[tor.index()].ports_to(tables.access[15].leaf).len()
        };
        assert_eq!([cut("nothing"), cut("agg0"), cut("agg")], [2, 1, 0]);
    }
}
