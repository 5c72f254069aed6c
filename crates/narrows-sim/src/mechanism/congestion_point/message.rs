//! Messages of congestion points, and whom they reach.

use narrows_proto::units::Bytes;

use crate::ids::{HostId, LinkId, NodeId};
use crate::topology::Topology;

/// Messages of congestion points as frames.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Message {
    /// Bytes on the wire, framing included: a 64 B frame, preamble and gap. 118 B and more if a message quotes 64 B of the
    /// sampled frame.
    pub size: Bytes,
    /// 0 to 7. The highest by default, so that messages wait for nothing but the packet on the wire.
    pub priority: u8,
    /// Which sources can be notified (Annulus: CNMs are frames of layer 2, addressed to the source of the sampled frame, and a
    /// router has changed that address, so that a routed network delivers them near the source only).
    pub reach: Reach,
}

impl Default for Message {
    fn default() -> Self {
        Self { size: Bytes::new(84), priority: 7, reach: Reach::default() }
    }
}

/// Which sources the messages of a switch reach. A sample of any other source counts, but nobody is notified.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All.
    #[default]
    Everywhere,
    /// Hosts in the data center of the switch.
    Dc,
    /// Hosts that are at most one switch away: of a top-of-rack switch its own, of an aggregation switch those of the racks
    /// below.
    TorAgg,
    /// Hosts attached to the switch itself.
    Tor,
}

/// Hosts that messages of a switch reach: by default all.
#[derive(Clone, Debug, Default)]
pub struct Reached(Option<Vec<bool>>);

impl Reached {
    /// They reach this host.
    pub fn has(&self, host: HostId) -> bool {
        self.0.as_ref().is_none_or(|reached| reached[host.index()])
    }
}

impl Reach {
    /// Hosts that the messages of `switch` reach. `ports` are those of the topology.
    pub fn hosts(self, topology: &Topology, ports: &[Vec<LinkId>], switch: NodeId) -> Reached {
        let hosts = topology.hosts().iter();
        let place = |node: NodeId| topology.datacenter(node);
        Reached(match self {
            Self::Everywhere => None,
            Self::Dc => Some(hosts.map(|host| place(*host) == place(switch)).collect()),
            Self::TorAgg | Self::Tor => {
                let neighbors = |node: NodeId| ports[node.index()].iter().map(|link| topology.link(*link).to);
                let mut near = vec![false; topology.hosts().len()];
                let mut add = |node: NodeId| {
                    if let Some(host) = topology.as_host(node) {
                        near[host.index()] = true;
                    }
                };
                for node in neighbors(switch) {
                    add(node);
                    if self == Self::TorAgg && topology.as_host(node).is_none() {
                        neighbors(node).for_each(&mut add);
                    }
                }
                Some(near)
            }
        })
    }
}
