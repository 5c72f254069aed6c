//! Weighted ECMP (WCMP): a flow keeps its path, and paths get flows in proportion to weights.
//!
//! ```text
//! table       a port stands in its group as often as its weight says
//! choice      the hash of the flow chooses among the entries, as ECMP does among ports
//! capacity    C(s) = Σ over next switches n of min(R(s,n), C(n)), without bound at the destination rack;
//!             R(s,n) is the rate of all links to n together
//! weight      of a port to n: its rate · min(1, C(n)/R(s,n)), divided by what all have in common
//! precision   if they sum to more than `entries`, they are scaled down to that, each to 1 at least
//! ```
//! Weights follow the capacity downstream, or are those of `weights`, by link (Zhou et al., EuroSys 2014). A group of ports has at most
//! `entries` entries, since tables of switches are short: the fewer, the less exact.
//!
//! Left out: the reduction of groups so that many fit one table. After a failure the ports that are left keep their weights; one that led
//! there on no shortest path before counts as 1.

use std::collections::BTreeMap;

use narrows_proto::cc::{OutOfRange, Ranges};

use crate::ids::{LinkId, NodeId};
use crate::routing::shortest::Shortest;
use crate::topology::Topology;

/// Documentation of its module.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("wcmp.rs")];

/// The most entries that a group of ports may have.
pub const MOST_ENTRIES: u32 = 16_384;

/// A hash of the flow chooses among ports in proportion to weights.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wcmp {
    /// Links with a weight; all others have 1. Weights follow the capacity downstream if left out.
    pub weights: Vec<LinkWeight>,
    /// The most entries that a group of ports has; 1024.
    pub entries: u32,
    /// The same by link; found by who knows patterns.
    #[serde(skip)]
    pub by_link: BTreeMap<LinkId, u32>,
}

/// The weight of links.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkWeight {
    /// Switches that they leave; `*` stands for any characters.
    pub from: String,
    /// Switches that they lead to.
    pub to: String,
    /// The weight of each of them.
    pub weight: u32,
}

impl Default for Wcmp {
    fn default() -> Self {
        Self { weights: Vec::new(), entries: 1_024, by_link: BTreeMap::new() }
    }
}

impl Wcmp {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let entries = self.entries;
        ranges.unless((2..=MOST_ENTRIES).contains(&entries), "entries", entries, "2 to 16384")
    }

    /// The weight of a link.
    fn of_link(&self, link: LinkId) -> u64 {
        self.by_link.get(&link).copied().unwrap_or(1).into()
    }
}

/// Weights of all ports in a network.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    settings: Wcmp,
    /// With a port as often as its weight says, while all links are up.
    weighted: Shortest,
}

impl Weights {
    pub(crate) fn new(settings: &Wcmp, topology: &Topology, plain: &Shortest) -> Self {
        let mut weighted = plain.clone();
        let leaves = plain.tables.leaves().len();
        for leaf in 0..leaves {
            let capacity = settings.weights.is_empty().then(|| capacity(topology, plain, leaf));
            for (node, routes) in weighted.tables.routes.iter_mut().enumerate() {
                let plain = &plain.tables.routes[node];
                if plain.is_empty() || plain.ports_to(leaf as u32).len() < 2 {
                    continue;
                }
                let (ports, down) = plain.choice_of(leaf);
                let weight = |port: &u16| {
                    let link = weighted.ports[node][usize::from(*port)];
                    capacity.as_ref().map_or_else(|| settings.of_link(link), |capacity| capacity[&link])
                };
                let weights: Vec<_> = ports.iter().map(weight).collect();
                routes.set_row(leaf, &repeated(ports, weights, settings.entries), down);
            }
        }
        Self { settings: settings.clone(), weighted }
    }

    /// Shortest paths with a port as often as its weight says.
    pub(crate) fn into_shortest(self) -> Shortest {
        self.weighted
    }

    /// Ports of a switch that lead to a leaf now, each as often as its weight says.
    pub(crate) fn repeat(&self, node: NodeId, leaf: usize, ports: &mut Vec<u16>) {
        if ports.len() < 2 {
            return;
        }
        let before = self.weighted.tables.routes[node.index()].ports_to(leaf as u32);
        let weight = |port: &u16| match self.settings.weights.as_slice() {
            [] => before.iter().filter(|other| *other == port).count().max(1) as u64,
            _ => self.settings.of_link(self.weighted.ports[node.index()][usize::from(*port)]),
        };
        let weights = ports.iter().map(weight).collect();
        *ports = repeated(ports, weights, self.settings.entries);
    }
}

/// Each port as often as its weight says, at most so many entries in all if that is possible.
fn repeated(ports: &[u16], mut weights: Vec<u64>, entries: u32) -> Vec<u16> {
    let common = weights.iter().fold(0, |common, weight| greatest_common_divisor(common, *weight)).max(1);
    weights.iter_mut().for_each(|weight| *weight = (*weight / common).max(1));
    let entries = entries.min(MOST_ENTRIES);
    let sum = weights.iter().fold(0_u64, |sum, weight| sum.saturating_add(*weight));
    if sum > u64::from(entries) {
        let scaled = |weight: u64| {
            let twice = u128::from(weight) * 2 * u128::from(entries) / u128::from(sum);
            (twice.div_ceil(2) as u64).max(1)
        };
        weights.iter_mut().for_each(|weight| *weight = scaled(*weight));
    }
    let times = |(port, weight): (&u16, &u64)| std::iter::repeat_n(*port, *weight as usize);
    ports.iter().zip(&weights).flat_map(times).collect()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// By link on a shortest path to a leaf: the part of its rate that the links behind it can carry, in bit/s.
fn capacity(topology: &Topology, shortest: &Shortest, leaf: usize) -> BTreeMap<LinkId, u64> {
    let backbone = &shortest.backbone;
    let mut distance = Vec::new();
    backbone.distances(backbone.number(shortest.tables.leaves()[leaf]), &mut distance);
    let mut order: Vec<_> = (0..distance.len()).filter(|switch| distance[*switch] != u32::MAX).collect();
    order.sort_by_key(|switch| distance[*switch]);
    let mut downstream = vec![u64::MAX; distance.len()];
    let mut of_link = BTreeMap::new();
    for switch in order.into_iter().filter(|switch| distance[*switch] > 0) {
        let node = backbone.switches[switch];
        let mut rates = BTreeMap::<usize, u64>::new();
        let links = || {
            let ports = shortest.tables.routes[node.index()].ports_to(leaf as u32).iter();
            ports.map(|port| topology.link(shortest.ports[node.index()][usize::from(*port)]))
        };
        let rate = |link: &crate::topology::Link| link.wire.rate.as_bps();
        for link in links() {
            let sum = rates.entry(backbone.number(link.to)).or_default();
            *sum = sum.saturating_add(rate(link));
        }
        downstream[switch] =
            rates.iter().fold(0, |sum: u64, (next, rate)| sum.saturating_add(*rate.min(&downstream[*next])));
        let ports = shortest.tables.routes[node.index()].ports_to(leaf as u32);
        for (port, link) in ports.iter().zip(links()) {
            let next = backbone.number(link.to);
            let all = rates[&next];
            let part =
                u128::from(rate(link)) * u128::from(all.min(downstream[next])) / u128::from(all.max(1));
            of_link.insert(shortest.ports[node.index()][usize::from(*port)], part as u64);
        }
    }
    of_link
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};

    use super::*;
    use crate::choice::{Choice, member_of};
    use crate::ids::{FlowId, HostId};
    use crate::routing::Hashed;
    use crate::topology::Wire;

    /// Two racks, and for each spine the rates of the links to it and from it in Gb/s.
    fn racks(spines: &[(&[u64], &[u64])]) -> Topology {
        let mut topology = Topology::default();
        let wire = |gbps: u64| Wire::new(BitRate::from_gbps(gbps), Span::from_us(1));
        let tors = ["left", "right"].map(|name| topology.add_switch(name, "tor", 0));
        for tor in tors {
            let host = topology.add_host(format!("host{}", tor.0));
            topology.connect(host, tor, wire(1_000));
        }
        for (number, (to, from)) in spines.iter().enumerate() {
            let spine = topology.add_switch(format!("spine{number}"), "spine", 1);
            to.iter().for_each(|gbps| _ = topology.connect(tors[0], spine, wire(*gbps)));
            from.iter().for_each(|gbps| _ = topology.connect(spine, tors[1], wire(*gbps)));
        }
        topology
    }

    /// Entries of each port of the left rack's switch in its group towards the right rack.
    fn weights(settings: &Wcmp, topology: &Topology) -> Vec<usize> {
        let shortest = Weights::new(settings, topology, topology.shortest()).into_shortest();
        counted(shortest.tables.routes[0].ports_to(1))
    }

    fn counted(ports: &[u16]) -> Vec<usize> {
        let mut counts = BTreeMap::<u16, usize>::new();
        ports.iter().for_each(|port| *counts.entry(*port).or_default() += 1);
        counts.into_values().collect()
    }

    #[test]
    fn weights_follow_rates() {
        assert_eq!(
            weights(&Wcmp::default(), &racks(&[(&[40], &[40]), (&[100], &[100]), (&[10], &[10])])),
            [4, 10, 1]
        );
    }

    #[test]
    fn weights_follow_what_the_links_behind_can_carry() {
        // Of two parallel links behind the first spine one is missing: its two links up share what is left.
        assert_eq!(
            weights(&Wcmp::default(), &racks(&[(&[40, 40], &[40]), (&[40, 40], &[40, 40])])),
            [1, 1, 2, 2]
        );
    }

    #[test]
    fn equal_capacities_have_one_entry_each() {
        assert_eq!(weights(&Wcmp::default(), &racks(&[(&[40], &[40]), (&[40], &[40])])), [1, 1]);
    }

    #[test]
    fn what_does_not_fit_the_table_is_scaled_down() {
        let settings = Wcmp { entries: 8, ..Wcmp::default() };
        assert_eq!(weights(&settings, &racks(&[(&[97], &[97]), (&[31], &[31]), (&[1], &[1])])), [6, 2, 1]);
    }

    #[test]
    fn weights_of_links_hold_where_they_are_written() {
        let topology = racks(&[(&[40], &[40]), (&[40], &[40])]);
        let weight = LinkWeight { from: "left".into(), to: "spine1".into(), weight: 6 };
        let link = (0..topology.links().len()).map(LinkId::from);
        let link =
            link.into_iter().find(|link| topology.link_name(*link) == "left -> spine1").expect("a link");
        let settings = Wcmp { weights: vec![weight], by_link: [(link, 6)].into(), ..Wcmp::default() };
        assert_eq!(weights(&settings, &topology), [1, 6]);
    }

    #[test]
    fn a_hundred_thousand_flows_are_shared_within_two_percent_of_the_weights() {
        let topology = racks(&[(&[10], &[10]), (&[25], &[25]), (&[40], &[40]), (&[100], &[100])]);
        let shortest = Weights::new(&Wcmp::default(), &topology, topology.shortest()).into_shortest();
        let choice = Choice::Ecmp { salt: 7 };
        let mut flows = BTreeMap::<u16, u32>::new();
        for flow in 0..100_000 {
            let port = shortest.tables.routes[0]
                .port(1, Hashed { flow: FlowId(flow), to: HostId(1), entropy: 0 }, &choice)
                .expect("a path");
            *flows.entry(port).or_default() += 1;
        }
        for (count, gbps) in flows.values().zip([10.0, 25.0, 40.0, 100.0]) {
            let expected = 100_000.0 * gbps / 175.0;
            assert!((f64::from(*count) / expected - 1.0).abs() < 0.02, "{flows:?}, {expected} expected");
        }
    }

    #[test]
    fn what_is_left_after_a_failure_keeps_its_weights() {
        let topology = racks(&[(&[40], &[40]), (&[100], &[100]), (&[10], &[10])]);
        let weights = Weights::new(&Wcmp::default(), &topology, topology.shortest());
        let mut ports = topology.shortest().tables.routes[0].ports_to(1)[..2].to_vec();
        weights.repeat(NodeId(0), 1, &mut ports);
        assert_eq!(counted(&ports), [2, 5], "4 to 10");
    }

    /// Of so many flows how many take each of `n2` ports of a switch of the second tier that all came over the first of `n1` ports.
    fn second_tier(flows: u32, (n1, n2): (u32, u32), salts: [u64; 2]) -> Vec<u32> {
        let mut counts = vec![0; n2 as usize];
        let first = (0..).map(FlowId).filter(|flow| member_of(*flow, salts[0], n1) == 0);
        first.take(flows as usize).for_each(|flow| counts[member_of(flow, salts[1], n2) as usize] += 1);
        counts
    }

    #[test]
    fn with_equal_salts_the_second_tier_uses_one_port_of_eight_and_with_others_all_alike() {
        let used = second_tier(10_000, (8, 8), [5, 5]).into_iter().filter(|flows| *flows > 0).count();
        assert_eq!(used, 1);
        let counts = second_tier(10_000, (8, 8), [5, 6]);
        // Five standard deviations of 10^4 draws with probability 1/8: 5·√(10^4·7/64).
        assert!(counts.iter().all(|count| count.abs_diff(1_250) < 166), "{counts:?}");
    }
}
