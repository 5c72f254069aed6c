use std::collections::BTreeMap;

use narrows_proto::units::{BitRate, Span};
use narrows_sim::topology::{
    Clos, CrossDc, Dumbbell, FatTree, KaryTree, LeafSpine, ParkingLot, Star, datacenter_in,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::Names;

/// A network: one of the usual ones, or nodes and links one by one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// Senders and receivers around one bottleneck.
    Dumbbell(Dumbbell),
    /// Hosts around one switch.
    Star(Star),
    /// A chain of bottlenecks.
    ParkingLot(ParkingLot),
    /// Racks and spines.
    LeafSpine(LeafSpine),
    /// A three-level fat tree of k-port switches.
    FatTree(FatTree),
    /// A k-ary n-tree.
    KaryTree(KaryTree),
    /// Three tiers of switches: racks, pods, cores; rates and numbers of each are free.
    Clos(Clos),
    /// Several data centers joined by a WAN.
    CrossDc(CrossDc),
    /// Nodes and links one by one.
    Explicit(Explicit),
}

/// Nodes and links one by one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explicit {
    /// Names of hosts. Everything before the last `/` is the place a host is in.
    pub hosts: Vec<String>,
    /// Switches.
    #[serde(default)]
    pub switches: Vec<ExplicitSwitch>,
    /// Links.
    pub links: Vec<ExplicitLink>,
    /// The nodes of each data center, by its name; `*` stands for any characters. A link whose ends are in the same data center is
    /// inside it, all other links are WAN. If left out, names of nodes decide: if the part before the first `/` begins with `dc`, it is
    /// the name of the data center.
    pub datacenters: Option<BTreeMap<String, Names>>,
}

impl Explicit {
    /// The data centers that follow from names of nodes, as they may be listed; none if these names cannot be written as patterns.
    pub(crate) fn datacenters_in_names(&self) -> Option<BTreeMap<String, Names>> {
        let switches = self.switches.iter().map(|switch| &switch.name);
        let names = || self.hosts.iter().chain(switches.clone());
        let listed = |name: &str| (name.to_owned(), Names::One(format!("{name}/*")));
        let listed = || names().filter_map(|name| datacenter_in(name)).map(listed).collect();
        (!names().any(|name| name.contains('*'))).then(listed)
    }
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitSwitch {
    /// Its name.
    pub name: String,
    /// Class whose settings it has.
    #[serde(default = "switch")]
    pub class: String,
    /// Switches between it and the nearest host; D-mod-K needs it.
    #[serde(default)]
    pub tier: u32,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitLink {
    /// The two nodes it joins.
    pub between: (String, String),
    /// Its rate, from the first of the two nodes to the second.
    pub rate: BitRate,
    /// Its rate in the other direction; `rate` if left out.
    pub reverse_rate: Option<BitRate>,
    /// Its propagation delay.
    pub delay: Span,
    /// Probability that a packet is lost on it.
    #[serde(default)]
    pub error_rate: f64,
}

fn switch() -> String {
    "switch".into()
}
