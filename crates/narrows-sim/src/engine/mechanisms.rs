//! What the mechanisms of nodes are made from.

use narrows_proto::units::{Bytes, Span};

use crate::ids::{HostId, LinkId, NodeId};
use crate::mechanism::InputLink;
use crate::mechanism::limiter::EdgeHost;
use crate::mechanism::limiter::{Reaction, ReactionPlace};
use crate::mechanism::rackcc::RackAgent;
use crate::mechanism::rackcc::RackParts;
use crate::mechanism::telemetry::Meter;
use crate::random::{Purpose, Stream};
use crate::switch::{SignalParts, SwitchConfig};
use crate::topology::Topology;

/// Returns what each thread owns, and by host the thread it belongs to and its number there.
use super::build::Layout;

impl Layout<'_> {
    /// The reaction points of a switch, if it has hosts and there are some at edge switches.
    pub(super) fn edge(&self, node: NodeId) -> Option<(Reaction, NodeId, u64, Vec<Option<EdgeHost>>)> {
        let reaction = self.network.reaction.clone()?;
        let host = |link: &LinkId| {
            let wire = self.network.topology.link(*link);
            self.network.topology.as_host(wire.from)?;
            let port = self.port_back(*link);
            Some(EdgeHost { port: port as u16, rate: wire.wire.rate })
        };
        let hosts: Vec<_> = self.inputs[node.index()].iter().map(host).collect();
        let at_edge = reaction.place == ReactionPlace::EdgeSwitch && hosts.iter().any(Option::is_some);
        at_edge.then_some((reaction, node, self.seed, hosts))
    }

    /// What the switch at the end of a host's link keeps of JumboFlows, how many racks there are, and which host it is.
    pub(super) fn rack_of(&self, link: LinkId) -> Option<(RackAgent, usize, HostId)> {
        let link = self.network.topology.link(link);
        let switch = self.network.switches[link.to.index()].as_ref()?;
        Some((switch.rack.clone()?, self.tables.leaves().len(), self.network.topology.as_host(link.from)?))
    }

    /// What a switch with hosts keeps of JumboFlows.
    pub(super) fn rack(&self, node: NodeId) -> Option<RackParts> {
        let agent = self.network.switches[node.index()].as_ref()?.rack.clone()?;
        let host = |link: &LinkId| self.network.topology.as_host(self.network.topology.link(*link).from);
        let hosts: Vec<_> = self.inputs[node.index()].iter().map(host).collect();
        let from_host: Vec<_> = hosts.iter().map(Option::is_some).collect();
        let mut hosts: Vec<_> = hosts.into_iter().flatten().collect();
        hosts.sort_unstable();
        if hosts.is_empty() {
            return None;
        }
        let mut random = Stream::new(self.seed, Purpose::Rack, node.0.into());
        let phase = Span::from_ps(random.below(agent.jumboflow.period.as_ps()));
        Some(RackParts { agent, node, racks: self.tables.leaves().len(), from_host, hosts, phase })
    }

    /// The port of the node a link leads to that leads back over it.
    pub(super) fn port_back(&self, link: LinkId) -> usize {
        let ports = &self.ports[self.network.topology.link(link).to.index()];
        let back = ports.iter().position(|port| *port == Topology::reverse(link));
        back.expect("links have two directions")
    }

    /// What a switch needs to signal and to be paused, if it does.
    pub(super) fn signals(&self, node: NodeId) -> Option<SignalParts> {
        let topology = &self.network.topology;
        let settings = |node: NodeId| self.network.switches[node.index()].as_ref();
        let pauses = |node: NodeId| settings(node).is_some_and(|switch| switch.pause.is_some());
        let stops = |node: NodeId| settings(node).is_some_and(|switch| switch.pfc.is_some());
        let lossless =
            stops(node) || self.inputs[node.index()].iter().any(|link| stops(topology.link(*link).from));
        let inputs = &self.inputs[node.index()];
        let neighbors =
            lossless || pauses(node) || inputs.iter().any(|link| pauses(topology.link(*link).from));
        let signals = settings(node).is_some_and(SwitchConfig::has_congestion_points)
            || settings(node).is_some_and(|switch| switch.telemetry || switch.marking.at_dequeue())
            || self.edge(node).is_some()
            || neighbors;
        if !signals {
            return None;
        }
        Some(SignalParts {
            first_point: self.first_points[node.index()],
            reach: settings(node)
                .and_then(|switch| switch.congestion_point.message())
                .and_then(|message| message.reach.hosts(topology, &self.ports, node)),
            random: Stream::new(self.seed, Purpose::Sampling, node.0.into()),
            inputs: inputs.iter().map(|link| self.input(*link)).collect(),
            neighbors,
            lossless,
            meters: self.meters(node),
        })
    }
}

impl Layout<'_> {
    /// If the switch that `link` of a host leads to stops classes: how long destinations stay isolated.
    pub(super) fn classes(&self, link: LinkId) -> Option<Span> {
        let switch = self.network.switches[self.network.topology.link(link).to.index()].as_ref()?;
        switch.pfc.as_ref()?;
        Some(switch.isolation.as_ref().map_or(Span::ZERO, |isolation| isolation.idle_life))
    }

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

    /// What writes telemetry at the ports of a switch, if it does.
    pub(super) fn meters(&self, node: NodeId) -> Vec<Meter> {
        let writes = self.network.switches[node.index()].as_ref().is_some_and(|switch| switch.telemetry);
        let meter =
            |link: &LinkId| Meter::new(*link, self.network.topology.link(*link).wire.rate, &self.told_rates);
        if writes { self.ports[node.index()].iter().map(meter).collect() } else { Vec::new() }
    }
}
