//! The usual networks. Names are paths: `rack3/host5`, `rack3/tor`, `spine0`.

use narrows_proto::units::{BitRate, Span};

use super::{Clos, NodeId, Topology, Wire, add_hosts};

/// Senders on one side, receivers on the other, one bottleneck between two switches.
///
/// Hosts `left/host0…`, `right/host0…`; switches `left/switch`, `right/switch` (class `switch`).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts on each side.
    pub hosts: u32,
    /// Rate of the host links.
    pub host_rate: BitRate,
    /// Rate of the bottleneck.
    pub bottleneck_rate: BitRate,
    /// Propagation delay of a host link.
    pub host_delay: Span,
    /// Propagation delay of the bottleneck.
    pub bottleneck_delay: Span,
}

/// Hosts around one switch.
///
/// Hosts `host0…`; switch `switch` (class `switch`).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// Hosts.
    pub hosts: u32,
    /// Rate of every link.
    pub rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Span,
}

/// A chain of bottlenecks: one flow crosses all of them, others one each.
///
/// Switches `switch0…` in a row (class `switch`), one more than there are bottlenecks; hosts `end/host0` at the first and
/// `end/host1` at the last switch; hosts `hop0/from`, `hop0/to` … at both ends of each bottleneck.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Bottlenecks.
    pub bottlenecks: u32,
    /// Rate of the host links.
    pub host_rate: BitRate,
    /// Rate of the bottlenecks.
    pub bottleneck_rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Span,
}

/// Racks whose top-of-rack switches all connect to all spines.
///
/// Hosts `rack0/host0…`; switches `rack0/tor` (class `tor`), `spine0…` (class `spine`).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Racks, each with one leaf switch.
    pub racks: u32,
    /// Hosts in each rack.
    pub hosts_per_rack: u32,
    /// Spine switches. With none the racks connect to the border routers directly, which is possible only inside a data
    /// center (`cross_dc`): what goes from rack to rack goes over a border router.
    pub spines: u32,
    /// Parallel links between each leaf and each spine. They fail together.
    #[serde(default = "one")]
    pub links_per_spine: u32,
    /// Rate of the host links.
    pub host_rate: BitRate,
    /// Rate of each link between leaf and spine.
    pub uplink_rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Span,
}

/// A three-level fat tree of k-port switches (Al-Fares et al., SIGCOMM 2008): k³/4 hosts, full bisection.
///
/// Hosts `pod0/rack0/host0…`; switches `pod0/rack0/tor` (class `tor`), `pod0/agg0` (class `agg`), `core0…` (class `core`).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of every switch; even.
    pub k: u32,
    /// Rate of every link.
    pub rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Span,
}

/// A k-ary n-tree (Petrini & Vanneschi, IPPS 1997): k^n hosts, n levels of k^(n−1) switches.
///
/// Hosts `host0…`; switches `level0/switch0…` from the hosts upwards (class `tor` at level 0, `core` at the top, `agg` between).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KaryTree {
    /// k: links up and links down of each switch.
    pub k: u32,
    /// n: levels of switches.
    pub levels: u32,
    /// Rate of every link.
    pub rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Span,
}

/// Several data centers, each with border routers, joined by WAN links.
///
/// Every name of the fabric gets the prefix `dc0/`, `dc1/`, …; border routers are `dc0/border0…` (class `border`). The
/// top-level switches of a fabric connect to all its border routers. The links between border routers are the WAN.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossDc {
    /// Data centers.
    pub datacenters: u32,
    /// The network inside each.
    pub fabric: Fabric,
    /// Networks inside the first data centers, one by one, where they differ from `fabric`.
    #[serde(default)]
    pub fabrics: Vec<Fabric>,
    /// The links between them.
    pub wan: Wan,
}

/// A network inside a data center.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fabric {
    /// See [`Star`].
    Star(Star),
    /// See [`LeafSpine`].
    LeafSpine(LeafSpine),
    /// See [`FatTree`].
    FatTree(FatTree),
    /// See [`KaryTree`].
    KaryTree(KaryTree),
    /// See [`Clos`].
    Clos(Clos),
}

/// The links between data centers: each pair of data centers is joined, border router i to border router i.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wan {
    /// Rate of each WAN link.
    pub rate: BitRate,
    /// Propagation delay of each WAN link, one way.
    pub delay: Span,
    /// Probability that a packet is lost on a WAN link.
    #[serde(default)]
    pub error_rate: f64,
    /// Border routers in each data center.
    #[serde(default = "one")]
    pub borders: u32,
    /// Rate of the links between fabric and border routers; that of the WAN links if left out.
    #[serde(default)]
    pub border_rate: Option<BitRate>,
    /// Propagation delay of those links; that of the fabric's links if left out.
    #[serde(default)]
    pub border_delay: Option<Span>,
}

fn one() -> u32 {
    1
}

impl Dumbbell {
    /// Adds this network, with `prefix` before every name.
    pub fn build(&self, topology: &mut Topology, prefix: &str) {
        let host_wire = Wire::new(self.host_rate, self.host_delay);
        let sides = ["left", "right"].map(|side| {
            let switch = topology.add_switch(format!("{prefix}{side}/switch"), "switch", 0);
            add_hosts(topology, self.hosts, &format!("{prefix}{side}/"), switch, host_wire);
            switch
        });
        topology.connect(sides[0], sides[1], Wire::new(self.bottleneck_rate, self.bottleneck_delay));
    }
}

impl Star {
    /// Adds this network, with `prefix` before every name. Returns the switches borders connect to.
    pub fn build(&self, topology: &mut Topology, prefix: &str) -> Vec<NodeId> {
        let switch = topology.add_switch(format!("{prefix}switch"), "switch", 0);
        add_hosts(topology, self.hosts, prefix, switch, Wire::new(self.rate, self.delay));
        vec![switch]
    }
}

impl ParkingLot {
    /// Adds this network, with `prefix` before every name.
    pub fn build(&self, topology: &mut Topology, prefix: &str) {
        let host_wire = Wire::new(self.host_rate, self.delay);
        let switches: Vec<_> = (0..=self.bottlenecks)
            .map(|number| topology.add_switch(format!("{prefix}switch{number}"), "switch", 0))
            .collect();
        let attach = |topology: &mut Topology, name: String, switch| {
            let host = topology.add_host(name);
            topology.connect(host, switch, host_wire);
        };
        attach(topology, format!("{prefix}end/host0"), switches[0]);
        attach(topology, format!("{prefix}end/host1"), switches[switches.len() - 1]);
        for (hop, pair) in switches.windows(2).enumerate() {
            topology.connect(pair[0], pair[1], Wire::new(self.bottleneck_rate, self.delay));
            attach(topology, format!("{prefix}hop{hop}/from"), pair[0]);
            attach(topology, format!("{prefix}hop{hop}/to"), pair[1]);
        }
    }
}

impl LeafSpine {
    /// Adds this network, with `prefix` before every name. Returns the switches borders connect to.
    pub fn build(&self, topology: &mut Topology, prefix: &str) -> Vec<NodeId> {
        let uplink = Wire::new(self.uplink_rate, self.delay);
        let leaves: Vec<_> = (0..self.racks)
            .map(|rack| {
                let tor = topology.add_switch(format!("{prefix}rack{rack}/tor"), "tor", 0);
                let rack = format!("{prefix}rack{rack}/");
                add_hosts(topology, self.hosts_per_rack, &rack, tor, Wire::new(self.host_rate, self.delay));
                tor
            })
            .collect();
        let spines: Vec<_> = (0..self.spines)
            .map(|spine| topology.add_switch(format!("{prefix}spine{spine}"), "spine", 1))
            .collect();
        for leaf in &leaves {
            // One link to every spine before the second to any: D-mod-K takes the ports of a leaf in turn.
            for _ in 0..self.links_per_spine {
                for spine in &spines {
                    topology.connect(*leaf, *spine, uplink);
                }
            }
        }
        if spines.is_empty() { leaves } else { spines }
    }
}

impl FatTree {
    /// Adds this network, with `prefix` before every name. Returns the switches borders connect to.
    pub fn build(&self, topology: &mut Topology, prefix: &str) -> Vec<NodeId> {
        let half = self.k / 2;
        let wire = Wire::new(self.rate, self.delay);
        let pods: Vec<(Vec<_>, Vec<_>)> = (0..self.k)
            .map(|pod| {
                let racks = (0..half).map(|rack| {
                    let rack = format!("{prefix}pod{pod}/rack{rack}/");
                    let tor = topology.add_switch(format!("{rack}tor"), "tor", 0);
                    add_hosts(topology, half, &rack, tor, wire);
                    tor
                });
                let racks = racks.collect();
                let aggs =
                    (0..half).map(|agg| topology.add_switch(format!("{prefix}pod{pod}/agg{agg}"), "agg", 1));
                (racks, aggs.collect())
            })
            .collect();
        let cores: Vec<_> = (0..half * half)
            .map(|core| topology.add_switch(format!("{prefix}core{core}"), "core", 2))
            .collect();
        for (tors, aggs) in pods {
            for tor in tors {
                for agg in &aggs {
                    topology.connect(tor, *agg, wire);
                }
            }
            for (agg, cores) in aggs.iter().zip(cores.chunks(half as usize)) {
                for core in cores {
                    topology.connect(*agg, *core, wire);
                }
            }
        }
        cores
    }
}

impl KaryTree {
    /// Adds this network, with `prefix` before every name. Returns the switches borders connect to.
    ///
    /// A switch of level l is a word of n − 1 digits base k. It connects to the switches of level l + 1 whose words
    /// differ from its own in digit l at most, and at level 0 to the hosts whose number without the last digit it is.
    pub fn build(&self, topology: &mut Topology, prefix: &str) -> Vec<NodeId> {
        let wire = Wire::new(self.rate, self.delay);
        let per_level = self.k.pow(self.levels - 1);
        let class = |level| match level {
            0 => "tor",
            _ if level + 1 == self.levels => "core",
            _ => "agg",
        };
        let levels: Vec<Vec<_>> = (0..self.levels)
            .map(|level| {
                let name = |number| format!("{prefix}level{level}/switch{number}");
                (0..per_level).map(|number| topology.add_switch(name(number), class(level), level)).collect()
            })
            .collect();
        for number in 0..per_level * self.k {
            let host = topology.add_host(format!("{prefix}host{number}"));
            topology.connect(host, levels[0][(number / self.k) as usize], wire);
        }
        for level in 0..self.levels - 1 {
            let place = self.k.pow(level); // value of the digit in which neighbors may differ
            for number in 0..per_level {
                let without = number - number / place % self.k * place;
                for digit in 0..self.k {
                    let lower = levels[level as usize][number as usize];
                    let upper = levels[level as usize + 1][(without + digit * place) as usize];
                    topology.connect(lower, upper, wire);
                }
            }
        }
        levels.into_iter().next_back().unwrap_or_default()
    }
}

impl Fabric {
    /// Adds this network, with `prefix` before every name. Returns the switches borders connect to.
    pub fn build(&self, topology: &mut Topology, prefix: &str) -> Vec<NodeId> {
        match self {
            Self::Star(star) => star.build(topology, prefix),
            Self::LeafSpine(leaf_spine) => leaf_spine.build(topology, prefix),
            Self::FatTree(fat_tree) => fat_tree.build(topology, prefix),
            Self::KaryTree(tree) => tree.build(topology, prefix),
            Self::Clos(clos) => clos.build(topology, prefix),
        }
    }

    /// Propagation delay of its links.
    pub fn delay(&self) -> Span {
        match self {
            Self::Star(Star { delay, .. })
            | Self::LeafSpine(LeafSpine { delay, .. })
            | Self::FatTree(FatTree { delay, .. })
            | Self::KaryTree(KaryTree { delay, .. })
            | Self::Clos(Clos { delay, .. }) => *delay,
        }
    }

    /// Levels of switches.
    fn tiers(&self) -> u32 {
        match self {
            Self::Star(_) => 1,
            Self::LeafSpine(LeafSpine { spines: 0, .. }) => 1,
            Self::LeafSpine(_) => 2,
            Self::FatTree(_) | Self::Clos(_) => 3,
            Self::KaryTree(tree) => tree.levels,
        }
    }
}

impl CrossDc {
    /// The network inside a data center.
    pub fn fabric_of(&self, datacenter: u32) -> &Fabric {
        self.fabrics.get(datacenter as usize).unwrap_or(&self.fabric)
    }

    /// Adds this network, with `prefix` before every name.
    pub fn build(&self, topology: &mut Topology, prefix: &str) {
        let wan = &self.wan;
        let across = Wire { error_rate: wan.error_rate, ..Wire::new(wan.rate, wan.delay) };
        let borders: Vec<Vec<_>> = (0..self.datacenters)
            .map(|dc| {
                let first = topology.nodes().len();
                let name = format!("dc{dc}");
                let prefix = format!("{prefix}{name}/");
                let fabric = self.fabric_of(dc);
                let top = fabric.build(topology, &prefix);
                let tier = fabric.tiers();
                let delay = wan.border_delay.unwrap_or(fabric.delay());
                let to_border = Wire::new(wan.border_rate.unwrap_or(wan.rate), delay);
                let routers = (0..wan.borders).map(|router| {
                    let border = topology.add_switch(format!("{prefix}border{router}"), "border", tier);
                    for switch in &top {
                        topology.connect(*switch, border, to_border);
                    }
                    border
                });
                let routers = routers.collect();
                let inside = first..topology.nodes().len();
                topology.place(inside.map(NodeId::from), &name);
                routers
            })
            .collect();
        for (dc, routers) in borders.iter().enumerate() {
            for others in &borders[dc + 1..] {
                for (router, other) in routers.iter().zip(others) {
                    topology.connect(*router, *other, across);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::NodeKind;

    const RATE: BitRate = BitRate::from_gbps(10);
    const DELAY: Span = Span::from_us(1);

    fn counts(topology: &Topology) -> (usize, usize, usize) {
        (topology.hosts().len(), topology.nodes().len() - topology.hosts().len(), topology.links().len() / 2)
    }

    fn built(build: impl FnOnce(&mut Topology)) -> Topology {
        let mut topology = Topology::default();
        build(&mut topology);
        assert_eq!(topology.by_name().len(), topology.nodes().len(), "every name is unique");
        topology
    }

    #[test]
    fn a_fat_tree_has_full_bisection() {
        let topology = built(|t| drop(FatTree { k: 8, rate: RATE, delay: DELAY }.build(t, "")));
        assert_eq!(counts(&topology), (128, 80, 128 * 3));
        let ports = topology.ports();
        let switches = topology
            .nodes()
            .iter()
            .zip(&ports)
            .filter(|(node, _)| node.kind != NodeKind::Host(crate::HostId(0)));
        assert!(
            switches
                .filter(|(node, _)| matches!(node.kind, NodeKind::Switch { .. }))
                .all(|(_, ports)| ports.len() == 8)
        );
    }

    #[test]
    fn a_k_ary_n_tree_has_n_levels_of_equal_width() {
        let topology = built(|t| drop(KaryTree { k: 4, levels: 3, rate: RATE, delay: DELAY }.build(t, "")));
        assert_eq!(counts(&topology), (64, 48, 64 * 3));
    }

    #[test]
    fn a_leaf_spine_joins_every_leaf_to_every_spine() {
        for links_per_spine in [1, 3] {
            let fabric = LeafSpine {
                racks: 4,
                hosts_per_rack: 16,
                spines: 2,
                links_per_spine,
                host_rate: RATE,
                uplink_rate: RATE,
                delay: DELAY,
            };
            let topology = built(|t| drop(fabric.build(t, "")));
            assert_eq!(counts(&topology), (64, 6, 64 + 8 * links_per_spine as usize));
            let names: Vec<_> =
                (0..topology.links().len()).map(|link| topology.link_name(link.into())).collect();
            for (leaf, spine) in [(0, 0), (3, 1)] {
                let up = format!("rack{leaf}/tor -> spine{spine}");
                assert_eq!(names.iter().filter(|name| **name == up).count(), links_per_spine as usize);
            }
        }
    }

    fn wan(borders: u32) -> Wan {
        let delay = Span::from_ms(5);
        Wan { rate: RATE, delay, error_rate: 0.0, borders, border_rate: None, border_delay: None }
    }

    #[test]
    fn every_node_of_several_data_centers_is_in_the_one_of_its_name() {
        let fabric = Fabric::Star(Star { hosts: 2, rate: RATE, delay: DELAY });
        let wan = Wan {
            rate: RATE,
            delay: DELAY,
            error_rate: 0.0,
            borders: 2,
            border_rate: None,
            border_delay: None,
        };
        let mut topology = Topology::default();
        CrossDc { datacenters: 3, fabric, fabrics: Vec::new(), wan }.build(&mut topology, "");
        for (number, node) in topology.nodes().iter().enumerate() {
            let datacenter = topology.datacenter(NodeId::from(number));
            assert_eq!(datacenter, crate::topology::datacenter_in(&node.name), "{}", node.name);
        }
    }

    #[test]
    fn data_centers_are_joined_pairwise() {
        let fabric = Fabric::Star(Star { hosts: 3, rate: RATE, delay: DELAY });
        let wan = wan(2);
        let topology = built(|t| CrossDc { datacenters: 3, fabric, fabrics: vec![], wan }.build(t, ""));
        // Per data center 3 host links and 2 to the borders; 3 pairs with 2 WAN links each.
        assert_eq!(counts(&topology), (9, 9, 3 * 5 + 3 * 2));
        assert!(topology.by_name().contains_key("dc2/border1"));
    }

    #[test]
    fn a_data_center_may_have_a_fabric_of_its_own() {
        let star = Fabric::Star(Star { hosts: 3, rate: RATE, delay: DELAY });
        let tree = Fabric::KaryTree(KaryTree { k: 2, levels: 2, rate: RATE, delay: DELAY });
        let wan = wan(1);
        let cross = CrossDc { datacenters: 2, fabric: star, fabrics: vec![tree], wan };
        let topology = built(|t| cross.build(t, ""));
        // dc0: 4 hosts, 4 switches, 4 + 4 links and 2 to the border; dc1: 3 hosts, 1 switch, 3 links and 1; the WAN link.
        assert_eq!(counts(&topology), (7, 4 + 1 + 2, 10 + 4 + 1));
    }

    #[test]
    fn racks_without_spines_connect_to_the_border_router() {
        let (host_rate, uplink_rate) = (RATE, RATE);
        let racks = LeafSpine {
            racks: 2,
            hosts_per_rack: 3,
            spines: 0,
            links_per_spine: 1,
            host_rate,
            uplink_rate,
            delay: DELAY,
        };
        let wan = wan(1);
        let fabric = Fabric::LeafSpine(racks);
        let topology = built(|t| CrossDc { datacenters: 2, fabric, fabrics: vec![], wan }.build(t, ""));
        // Per data center 6 host links and 2 to the border; the WAN link.
        assert_eq!(counts(&topology), (12, 6, 2 * (6 + 2) + 1));
        let border = &topology.node(topology.by_name()["dc1/border0"]).kind;
        assert_eq!(*border, NodeKind::Switch { class: "border".into(), tier: 1 });
    }

    #[test]
    fn a_parking_lot_has_a_pair_of_hosts_at_each_bottleneck() {
        let lot = ParkingLot { bottlenecks: 3, host_rate: RATE, bottleneck_rate: RATE, delay: DELAY };
        assert_eq!(counts(&built(|t| lot.build(t, ""))), (8, 4, 3 + 8));
    }
}
