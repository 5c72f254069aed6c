//! Nodes and links: their names, the tree they make, and switches for hosts that have several links.

use std::collections::{BTreeMap, BTreeSet};

use narrows_proto::units::{BitRate, Span};

use super::super::{Note, scenario};
use super::{Config, Network};

pub(super) fn node(id: u32) -> String {
    format!("node{id}")
}

pub(super) fn nic(id: u32) -> String {
    format!("nic{id}")
}

/// Links, and switches for hosts that have several.
pub(super) struct Links {
    pub(super) links: Vec<scenario::Link>,
    /// All nodes that links join.
    pub(super) nodes: BTreeSet<u32>,
    /// Hosts with a switch of their own.
    pub(super) nics: BTreeSet<u32>,
}

impl Links {
    /// Name of the node at the end of a link, or of the switch in its place.
    pub(super) fn end(&self, id: u32) -> String {
        if self.nics.contains(&id) { nic(id) } else { node(id) }
    }
}

/// The links of a topology, and those to the switches of hosts that have several.
pub(super) fn links(
    network: &Network,
    config: &Config,
    hosts: &BTreeMap<u32, usize>,
    notes: &mut Vec<Note>,
) -> Links {
    let nics: BTreeSet<u32> = hosts.iter().filter(|(_, links)| **links > 1).map(|(id, _)| *id).collect();
    let nodes = network.links.iter().flat_map(|link| [link.ends.0, link.ends.1]).collect();
    let mut all = Links { links: Vec::new(), nodes, nics };
    // By host with several links: their rates together, and half of the shortest delay.
    let mut own: BTreeMap<u32, (BitRate, Span)> = BTreeMap::new();
    for link in &network.links {
        for id in [link.ends.0, link.ends.1].into_iter().filter(|id| all.nics.contains(id)) {
            let (rate, delay) = own.entry(id).or_insert((BitRate::ZERO, Span::MAX));
            let sum = rate.as_bps().saturating_add(link.rate.as_bps());
            *rate = BitRate::from_bps(sum).min(narrows_proto::units::WireTime::MAX_RATE);
            *delay = (*delay).min(link.delay / 2);
        }
    }
    let mut pairs = BTreeSet::new();
    let mut parallel = 0;
    for link in &network.links {
        let (a, b) = link.ends;
        parallel += usize::from(!pairs.insert((a.min(b), a.max(b))));
        let moved = |id| own.get(&id).map_or(Span::ZERO, |(_, delay)| *delay);
        let delay = link.delay.saturating_sub(moved(a)).saturating_sub(moved(b));
        let error_rate = if link.error_rate > 0.0 { link.error_rate } else { config.error_rate };
        let between = (all.end(a), all.end(b));
        all.links.push(scenario::Link { between, rate: link.rate, delay, error_rate });
    }
    for (id, (rate, delay)) in &own {
        let between = (node(*id), nic(*id));
        all.links.push(scenario::Link { between, rate: *rate, delay: *delay, error_rate: 0.0 });
    }
    if parallel > 0 {
        let why = format!(
            "{parallel} join nodes that are joined already: all carry traffic, ns-3 routes over the last one"
        );
        notes.push(Note::new("parallel links", why));
    }
    if !own.is_empty() {
        let why = format!(
            "{} hosts get a switch of class nic, because hosts have one link here; it takes half of the shortest delay from each \
             of their links, so paths are as long as they were",
            own.len()
        );
        notes.push(Note::new("hosts with several links", why));
    }
    all
}

/// Where nodes are in the tree of switches.
pub(super) struct Tiers(BTreeMap<u32, u32>);

impl Tiers {
    /// Switches between each switch and the nearest host.
    pub(super) fn new(network: &Network) -> Self {
        let mut neighbors: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for link in &network.links {
            neighbors.entry(link.ends.0).or_default().push(link.ends.1);
            neighbors.entry(link.ends.1).or_default().push(link.ends.0);
        }
        let mut tiers = BTreeMap::new();
        let mut at: Vec<u32> = network.hosts().into_keys().collect();
        for tier in 0..32 {
            let next: BTreeSet<u32> =
                at.iter().flat_map(|id| neighbors.get(id).into_iter().flatten().copied()).collect();
            at = next.into_iter().filter(|id| network.is_switch(*id) && !tiers.contains_key(id)).collect();
            tiers.extend(at.iter().map(|id| (*id, tier)));
        }
        Self(tiers)
    }

    pub(super) fn of(&self, id: u32) -> u32 {
        self.0.get(&id).copied().unwrap_or(0)
    }

    pub(super) fn class(&self, network: &Network, id: u32) -> &'static str {
        match self.0.get(&id) {
            _ if network.nvswitches.contains(&id) => "nvswitch",
            Some(0) => "tor",
            Some(1) => "agg",
            _ => "core",
        }
    }
}
