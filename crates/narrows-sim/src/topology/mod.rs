//! Networks as lists of named nodes and directed links, and builders for the usual ones.

mod builders;
mod clos;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use narrows_proto::units::{BitRate, Span};

pub use builders::{CrossDc, Dumbbell, Fabric, FatTree, KaryTree, LeafSpine, ParkingLot, Star, Wan};
pub use clos::Clos;

use crate::ids::{HostId, LinkId, NodeId};
use crate::routing::shortest::Shortest;

/// A network.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    links: Vec<Link>,
    hosts: Vec<NodeId>,
    /// Names of data centers.
    datacenters: Vec<String>,
    /// Shortest paths while all links are up, if somebody has requested them since the network was changed.
    shortest: OnceLock<Arc<Shortest>>,
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its path, `dc0/rack3/host5`. Unique.
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
    /// The number of the data center it is in; none if it belongs to the WAN, or there are no data centers.
    datacenter: Option<u32>,
}

/// Kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host(HostId),
    /// Forwards.
    Switch {
        /// Class that its settings are filed under: `tor`, `spine`, `border`, …
        class: String,
        /// Switches between it and the nearest host; 0 at the top of a rack.
        tier: u32,
    },
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where packets enter.
    pub from: NodeId,
    /// Where they leave.
    pub to: NodeId,
    /// Rate at which they enter, and time that they are under way.
    pub wire: Wire,
}

/// Properties of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// Bits that enter per second.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: Span,
    /// Probability that a packet is lost on the way.
    pub error_rate: f64,
}

impl Wire {
    /// A link without errors.
    pub const fn new(rate: BitRate, delay: Span) -> Self {
        Self { rate, delay, error_rate: 0.0 }
    }
}

/// The data center that a name stands for where nobody says which nodes are in which: `dc0` of `dc0/rack3/host5`.
pub fn datacenter_in(name: &str) -> Option<&str> {
    let (first, _) = name.split_once('/')?;
    first.starts_with("dc").then_some(first)
}

impl Topology {
    /// Adds a host. Its name must be new.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        self.shortest.take();
        let node = NodeId::from(self.nodes.len());
        let kind = NodeKind::Host(HostId::from(self.hosts.len()));
        self.nodes.push(Node { name: name.into(), kind, datacenter: None });
        self.hosts.push(node);
        node
    }

    /// Adds a switch. Its name must be new.
    pub fn add_switch(&mut self, name: impl Into<String>, class: &str, tier: u32) -> NodeId {
        self.shortest.take();
        let node = NodeId::from(self.nodes.len());
        let kind = NodeKind::Switch { class: class.into(), tier };
        self.nodes.push(Node { name: name.into(), kind, datacenter: None });
        node
    }

    /// Joins two nodes by a link that is the same in both directions. The direction from `a` to `b` has an even [`LinkId`], its
    /// reverse the next.
    pub fn connect(&mut self, a: NodeId, b: NodeId, wire: Wire) -> LinkId {
        self.connect_by(a, b, wire, wire)
    }

    /// The same with a link whose directions differ: `wire` from `a` to `b`, `back` from `b` to `a`.
    pub fn connect_by(&mut self, a: NodeId, b: NodeId, wire: Wire, back: Wire) -> LinkId {
        self.shortest.take();
        let link = LinkId::from(self.links.len());
        self.links.push(Link { from: a, to: b, wire });
        self.links.push(Link { from: b, to: a, wire: back });
        link
    }

    /// Puts nodes into the data center of this name.
    pub fn place(&mut self, nodes: impl IntoIterator<Item = NodeId>, datacenter: &str) {
        let known = self.datacenters.iter().position(|name| name == datacenter);
        let number = known.unwrap_or_else(|| {
            self.datacenters.push(datacenter.to_owned());
            self.datacenters.len() - 1
        });
        for node in nodes {
            self.nodes[node.index()].datacenter = Some(number as u32);
        }
    }

    /// The name of the data center that a node is in; none if it belongs to the WAN, or there are no data centers.
    pub fn datacenter(&self, node: NodeId) -> Option<&str> {
        self.node(node).datacenter.map(|number| self.datacenters[number as usize].as_str())
    }

    /// All nodes, indexed by [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All directed links, indexed by [`LinkId`].
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The nodes that are hosts, indexed by [`HostId`].
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// The tier of a switch; none for hosts.
    pub fn tier(&self, node: NodeId) -> Option<u32> {
        match self.node(node).kind {
            NodeKind::Host(_) => None,
            NodeKind::Switch { tier, .. } => Some(tier),
        }
    }

    /// By host: the rate of its link.
    ///
    /// # Panics
    /// If a host has no link.
    pub fn host_rates(&self) -> Vec<BitRate> {
        let ports = self.ports();
        self.hosts.iter().map(|host| self.link(ports[host.index()][0]).wire.rate).collect()
    }

    /// Switches with hosts, in the order of their first host: the racks.
    pub fn racks(&self) -> Vec<NodeId> {
        let ports = self.ports();
        let mut racks = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        for host in &self.hosts {
            let Some(link) = ports[host.index()].first() else { continue };
            let switch = self.link(*link).to;
            if self.as_host(switch).is_none() && !std::mem::replace(&mut seen[switch.index()], true) {
                racks.push(switch);
            }
        }
        racks
    }

    /// The links that lead to each node, by [`NodeId`], in order.
    pub fn inputs(&self) -> Vec<Vec<LinkId>> {
        let mut inputs = vec![Vec::new(); self.nodes.len()];
        for (number, link) in self.links.iter().enumerate() {
            inputs[link.to.index()].push(LinkId::from(number));
        }
        inputs
    }

    /// The node with this index.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// The directed link with this index.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// The host's number, if the node is one.
    pub fn as_host(&self, node: NodeId) -> Option<HostId> {
        match self.node(node).kind {
            NodeKind::Host(host) => Some(host),
            NodeKind::Switch { .. } => None,
        }
    }

    /// Name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.node(self.hosts[host.index()]).name
    }

    /// `from → to`, for tables. Parallel links have equal names.
    pub fn link_name(&self, link: LinkId) -> String {
        let Link { from, to, .. } = self.link(link);
        format!("{} -> {}", self.node(*from).name, self.node(*to).name)
    }

    /// The other direction of the same link.
    pub fn reverse(link: LinkId) -> LinkId {
        LinkId(link.0 ^ 1)
    }

    /// The first of the two directions of the same link, which stands for both.
    pub fn first_direction(link: LinkId) -> LinkId {
        link.min(Self::reverse(link))
    }

    /// Links by the node they leave: the ports of each node, in order.
    pub fn ports(&self) -> Vec<Vec<LinkId>> {
        let mut ports = vec![Vec::new(); self.nodes.len()];
        for (number, link) in self.links.iter().enumerate() {
            ports[link.from.index()].push(LinkId::from(number));
        }
        ports
    }

    /// Shortest paths while all links are up; `find` finds them if nobody has.
    pub(crate) fn kept_shortest(&self, find: impl FnOnce() -> Shortest) -> &Arc<Shortest> {
        self.shortest.get_or_init(|| Arc::new(find()))
    }

    /// Nodes by name.
    pub fn by_name(&self) -> BTreeMap<&str, NodeId> {
        self.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), NodeId::from(index))).collect()
    }
}

/// Hosts around a switch, `host0` and up behind a prefix.
fn add_hosts(topology: &mut Topology, hosts: u32, prefix: &str, switch: NodeId, wire: Wire) {
    for number in 0..hosts {
        let host = topology.add_host(format!("{prefix}host{number}"));
        topology.connect(host, switch, wire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_in_the_data_center_they_were_put_into() {
        let mut topology = Topology::default();
        let nodes = ["a", "b", "c"].map(|name| topology.add_switch(name, "switch", 0));
        topology.place([nodes[0], nodes[2]], "east");
        assert_eq!(nodes.map(|node| topology.datacenter(node)), [Some("east"), None, Some("east")]);
    }

    #[test]
    fn names_may_stand_for_data_centers() {
        let names = ["dc3/rack0/host1", "rack0/host1", "dc", "host0"];
        assert_eq!(names.map(datacenter_in), [Some("dc3"), None, None, None]);
    }
}
