//! Parts that the mechanisms of nodes are made from.

use narrows_proto::units::Bytes;

use super::build::Layout;
use crate::ids::{LinkId, NodeId};
use crate::mechanism::InputLink;
use crate::mechanism::at_routing::RoutingSite;
use crate::mechanism::at_switch::{EdgeHost, SwitchSite};
use crate::mechanism::limiter::{Reaction, ReactionPlace};
use crate::mechanism::telemetry::Meter;
use crate::random::{Purpose, Stream};
use crate::switch::{SignalParts, SwitchConfig};
use crate::topology::Topology;

impl Layout<'_> {
    /// A switch as its mechanisms see it.
    pub(super) fn switch_site<'b>(&'b self, node: NodeId, config: &'b SwitchConfig) -> SwitchSite<'b> {
        let host = |link: &LinkId| {
            let wire = self.network.topology.link(*link);
            let host = self.network.topology.as_host(wire.from)?;
            Some(EdgeHost { host, port: self.port_back(*link) as u16, rate: wire.wire.rate })
        };
        SwitchSite {
            network: self.network,
            config,
            node,
            leaf: self.tables.leaf_index(node),
            leaves: self.tables.leaves().len(),
            ports: self.ports[node.index()].len(),
            hosts: self.inputs[node.index()].iter().map(host).collect(),
            seed: self.seed,
        }
    }

    /// A switch as rules see it that choose for each packet.
    pub(super) fn routing_site(&self, node: NodeId) -> RoutingSite {
        RoutingSite {
            node,
            ports: self.ports[node.index()].len(),
            leaves: self.tables.leaves().len(),
            first_of_pairs: self.first_of_pairs.clone(),
            seed: self.seed,
        }
    }

    /// The port of the node a link leads to that leads back over it.
    pub(super) fn port_back(&self, link: LinkId) -> usize {
        let ports = &self.ports[self.network.topology.link(link).to.index()];
        let back = ports.iter().position(|port| *port == Topology::reverse(link));
        back.expect("links have two directions")
    }

    /// Reaction points are at the switches of hosts, and this is one.
    fn limits(&self, node: NodeId) -> bool {
        let at_edge = |reaction: &Reaction| reaction.place == ReactionPlace::EdgeSwitch;
        self.network.reaction.as_ref().is_some_and(at_edge)
            && self.tables.leaf_index(node) != crate::routing::NO_LEAF
    }

    /// Parts that a switch needs to signal and to be paused, if it does.
    pub(super) fn signals(&self, node: NodeId) -> Option<SignalParts<'_>> {
        let topology = &self.network.topology;
        let settings = |node: NodeId| self.network.switches[node.index()].as_ref();
        let pauses = |node: NodeId| settings(node).is_some_and(|switch| switch.pause.is_some());
        let stops = |node: NodeId| settings(node).is_some_and(|switch| switch.pfc.is_some());
        let lossless =
            stops(node) || self.inputs[node.index()].iter().any(|link| stops(topology.link(*link).from));
        let inputs = &self.inputs[node.index()];
        let neighbors = lossless
            || pauses(node)
            || inputs.iter().any(|link| pauses(topology.link(*link).from))
            || settings(node).is_some_and(SwitchConfig::asks_at_ports);
        let signals = settings(node).is_some_and(SwitchConfig::has_congestion_points)
            || settings(node).is_some_and(|switch| switch.telemetry || switch.marking.at_dequeue())
            || settings(node).is_some_and(|switch| switch.queue_keepers().next().is_some())
            || self.ports[node.index()].iter().any(|link| self.network.paths.contains_key(link))
            || self.limits(node)
            || neighbors;
        if !signals {
            return None;
        }
        Some(SignalParts {
            network: self.network,
            first_point: self.first_points[node.index()],
            reach: settings(node)
                .and_then(|switch| switch.congestion_point.message())
                .map(|message| message.reach.hosts(topology, self.ports, node))
                .unwrap_or_default(),
            random: Stream::new(self.seed, Purpose::Sampling, node.0.into()),
            inputs: inputs.iter().map(|link| self.input(*link)).collect(),
            neighbor: self.tables.neighbor(),
            node,
            seed: self.seed,
            neighbors,
            lossless,
            meters: self.meters(node),
        })
    }
}

impl Layout<'_> {
    /// A link that leads to a switch that stops its neighbors, or that they stop.
    pub(super) fn input(&self, link: LinkId) -> InputLink {
        InputLink {
            link,
            back: self.port_back(link),
            rate: self.network.topology.link(link).wire.rate,
            headroom: self.network.headroom(link, Bytes::new(self.typical_packet.into())),
            from_host: self.network.topology.as_host(self.network.topology.link(link).from).is_some(),
        }
    }

    /// Meters, which write telemetry at the ports of a switch, if it does.
    pub(super) fn meters(&self, node: NodeId) -> Vec<Meter> {
        let writes = self.network.switches[node.index()].as_ref().is_some_and(|switch| switch.telemetry);
        let meter = |link: &LinkId| {
            Meter::new(*link, self.network.topology.link(*link).wire.rate, &self.reported_rates)
        };
        if writes { self.ports[node.index()].iter().map(meter).collect() } else { Vec::new() }
    }
}
