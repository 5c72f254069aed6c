//! A network and how it works: settings only.

use std::collections::{BTreeMap, BTreeSet};

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::ids::{LinkId, NodeId};
use crate::link::Outage;
use crate::mechanism::hosts::Hosts;
use crate::mechanism::limiter::Reaction;
use crate::path::{Path, Timing};
use crate::routing::{Routing, Salt};
use crate::switch::SwitchConfig;
use crate::topology::Topology;

/// A network and how it works.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Nodes and links.
    pub topology: Topology,
    /// By node; none for hosts.
    pub switches: Vec<Option<SwitchConfig>>,
    /// Choice of switches among shortest paths.
    pub routing: Routing,
    /// Salts of the hash by which they choose, where they do so for each flow.
    pub salt: Salt,
    /// Links that fail.
    pub failures: Vec<Failure>,
    /// Directions of links that have more than a rate and a delay. The switches they leave have scheduled ports.
    pub paths: BTreeMap<LinkId, Path>,
    /// Reaction points, if there are any.
    pub reaction: Option<Reaction>,
    /// Deviations of hosts from ideal machines.
    pub hosts: Hosts,
}

impl Network {
    /// Rates of the ports that write telemetry, each once, in order. At most
    /// [`MOST_RATES`](narrows_proto::telemetry::MOST_RATES) can be told apart.
    pub fn reported_rates(&self) -> Vec<BitRate> {
        let writes =
            |node: NodeId| self.switches[node.index()].as_ref().is_some_and(|switch| switch.telemetry);
        let links = self.topology.links().iter().filter(|link| writes(link.from));
        let rates: BTreeSet<_> = links.map(|link| link.wire.rate).collect();
        rates.into_iter().collect()
    }

    /// The least time from the first bit of a packet of `size` on a link until it can affect the node it leads to.
    pub(crate) fn least_crossing(&self, link: LinkId, size: Bytes) -> Span {
        let wire = &self.topology.link(link).wire;
        let path = self.paths.get(&link);
        let time = path.map_or_else(|| wire.rate.time_to_send(size), |path| path.least_time(wire, size));
        self.least_delay(link) + time
    }

    /// The shortest propagation delay of a link, and the latency of the node it leads to.
    pub(crate) fn least_delay(&self, link: LinkId) -> Span {
        let wire = &self.topology.link(link).wire;
        self.paths.get(&link).map_or(wire.delay, |path| path.least_delay(wire)) + self.latency_behind(link)
    }

    /// Latency of the node that a link leads to.
    fn latency_behind(&self, link: LinkId) -> Span {
        let to = self.topology.link(link).to;
        self.switches[to.index()].as_ref().map_or(Span::ZERO, |switch| switch.latency)
    }

    /// Times of packets over an idle link.
    pub(crate) fn timing(&self, link: LinkId) -> Timing {
        let wire = &self.topology.link(link).wire;
        let none = Path::default();
        let path = self.paths.get(&link).unwrap_or(&none);
        Timing::new(path, wire.rate.wire_time(), wire.delay, self.latency_behind(link))
    }

    /// Bits that a link can carry from one time to another.
    pub fn capacity(&self, link: LinkId, from: Time, until: Time) -> f64 {
        match self.paths.get(&link).and_then(|path| path.rate.as_ref()) {
            None => self.topology.link(link).wire.rate.as_f64() * (until - from).as_secs_f64(),
            Some(rate) => rate.bits_between(from, until),
        }
    }

    /// Bytes that may be on their way over a link at once, but for rare cases.
    pub fn most_in_flight(&self, link: LinkId) -> Bytes {
        let wire = &self.topology.link(link).wire;
        self.paths.get(&link).map_or_else(|| wire.rate * wire.delay, |path| path.most_in_flight(wire))
    }

    /// A rate that a link never exceeds.
    pub fn highest_rate(&self, link: LinkId) -> BitRate {
        let wire = &self.topology.link(link).wire;
        self.paths.get(&link).map_or(wire.rate, |path| path.highest_rate(wire))
    }

    /// Headroom for each lossless class of a link that leads to a switch with priority-based flow control; none otherwise.
    /// `largest` is the largest packet.
    pub fn headroom(&self, link: LinkId, largest: Bytes) -> Bytes {
        let settings = self.switches[self.topology.link(link).to.index()].as_ref();
        let Some(pfc) = settings.and_then(|switch| switch.pfc.as_ref()) else { return Bytes::ZERO };
        pfc.headroom.unwrap_or_else(|| self.needed_headroom(link, largest))
    }

    /// The most that may still arrive over a link after the switch it leads to has stopped it, with PAUSE or by class; none if it
    /// never does. With priority-based flow control [`headroom`](Self::headroom) has to hold it. `largest` is the largest packet.
    pub fn needed_headroom(&self, link: LinkId, largest: Bytes) -> Bytes {
        let other = self.topology.link(Topology::reverse(link)).wire.rate;
        let link = self.topology.link(link);
        let settings = |node: NodeId| self.switches[node.index()].as_ref();
        let latency = |node: NodeId| settings(node).map_or(Span::ZERO, |switch| switch.latency);
        let [forth, back] = [link.to, link.from].map(|end| link.wire.delay + latency(end));
        let rate = link.wire.rate;
        // Where the other direction is slower, the frame and the packet it waits for take longer than they do on this one.
        let back = |frame: Bytes| {
            let sent = frame.saturating_add(largest);
            back + other.time_to_send(sent).saturating_sub(rate.time_to_send(sent))
        };
        match settings(link.to) {
            Some(SwitchConfig { pfc: Some(pfc), .. }) => {
                pfc.needed_headroom(rate, forth, back(pfc.frame), largest)
            }
            Some(SwitchConfig { pause: Some(pause), .. }) => {
                pause.headroom(rate, forth, back(pause.frame), largest)
            }
            _ => Bytes::ZERO,
        }
    }
}

/// A link that fails in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Either direction.
    pub link: LinkId,
    /// When it is down.
    pub outage: Outage,
    /// Time until switches have noticed that it went down or came up, and changed their routes.
    pub reroute_after: Span,
}
