//! Base round-trip time and bandwidth of a pair of hosts, as HPCC's simulations compute them from a topology before they start.

use std::collections::BTreeMap;

use narrows_proto::units::{BitRate, Bytes, Span};

use super::Network;

/// A graph of nodes by number, in which hosts do not forward.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    neighbors: Vec<Vec<(usize, Wire)>>,
    forwards: Vec<bool>,
}

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wire {
    /// Its rate.
    pub rate: BitRate,
    /// Its propagation delay.
    pub delay: Span,
}

/// A shortest path from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Propagation one way, in nanoseconds.
    pub delay_ns: u64,
    /// Sending one packet's payload over each link, each rounded down to nanoseconds.
    pub sending_ns: u64,
    /// The slowest link.
    pub bottleneck: BitRate,
}

/// Values that the windows of a network are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// The longest base round-trip time between two hosts.
    pub rtt: Span,
    /// The largest product of base round-trip time and bandwidth of a pair.
    pub bdp: Bytes,
    /// The largest bandwidth of a pair.
    pub rate: BitRate,
}

impl Pair {
    /// There and back, with one packet to send.
    pub fn base_rtt_ns(self) -> u64 {
        self.delay_ns.saturating_mul(2).saturating_add(self.sending_ns)
    }
}

impl Graph {
    /// Adds a node and returns its number.
    pub fn add(&mut self, forwards: bool) -> usize {
        self.neighbors.push(Vec::new());
        self.forwards.push(forwards);
        self.forwards.len() - 1
    }

    /// Joins two nodes in both directions.
    pub fn join(&mut self, a: usize, b: usize, wire: Wire) {
        self.neighbors[a].push((b, wire));
        self.neighbors[b].push((a, wire));
    }

    /// From a host to all nodes it reaches: along the path that is found first, in the order of links.
    ///
    /// HPCC's own order among equal paths is that of addresses in memory; where equal paths differ in delay or rate, its
    /// results differ from run to run.
    pub fn pairs(&self, host: usize, payload: Bytes) -> BTreeMap<usize, Pair> {
        let mut found = BTreeMap::new();
        found.insert(host, Pair { delay_ns: 0, sending_ns: 0, bottleneck: BitRate::from_bps(u64::MAX) });
        let mut queue = std::collections::VecDeque::from([host]);
        while let Some(node) = queue.pop_front() {
            let here = found[&node];
            for &(next, wire) in &self.neighbors[node] {
                if found.contains_key(&next) {
                    continue;
                }
                let sending =
                    u128::from(payload.get()) * 8_000_000_000 / u128::from(wire.rate.as_bps().max(1));
                let pair = Pair {
                    delay_ns: here.delay_ns.saturating_add(wire.delay.as_ps() / 1000),
                    sending_ns: here.sending_ns.saturating_add(u64::try_from(sending).unwrap_or(u64::MAX)),
                    bottleneck: here.bottleneck.min(wire.rate),
                };
                found.insert(next, pair);
                if self.forwards[next] {
                    queue.push_back(next);
                }
            }
        }
        found.remove(&host);
        found
    }

    /// Values that windows are computed from, if no flow is faster than `most`. None if that takes too long to find out.
    pub fn longest(&self, payload: Bytes, most: BitRate) -> Option<Longest> {
        const MOST_STEPS: usize = 200_000_000;
        let hosts = (0..self.forwards.len()).filter(|node| !self.forwards[*node]);
        // Hosts on the same switch over the same kind of link see the same distances.
        let mut kinds: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for host in hosts {
            let mut links = self.neighbors[host].clone();
            links.sort_unstable();
            kinds.entry(links).or_default().push(host);
        }
        let links: usize = self.neighbors.iter().map(Vec::len).sum();
        if kinds.len().saturating_mul(links + self.forwards.len()) > MOST_STEPS {
            return None;
        }
        let (mut rtt, mut bdp, mut rate) = (0, 0, BitRate::ZERO);
        for host in kinds.values().map(|hosts| hosts[0]) {
            for (node, pair) in self.pairs(host, payload) {
                if !self.forwards[node] {
                    let bottleneck = pair.bottleneck.min(most);
                    rtt = rtt.max(pair.base_rtt_ns());
                    let product = u128::from(pair.base_rtt_ns()) * u128::from(bottleneck.as_bps());
                    bdp = bdp.max(u64::try_from(product / 8_000_000_000).unwrap_or(u64::MAX));
                    rate = rate.max(bottleneck);
                }
            }
        }
        Some(Longest { rtt: Span::from_ps(rtt.saturating_mul(1000)), bdp: Bytes::new(bdp), rate })
    }
}

/// The graph of a topology.
pub(super) fn graph(network: &Network) -> Graph {
    let mut graph = Graph::default();
    let mut numbers = BTreeMap::new();
    for link in &network.links {
        let mut number = |id: u32| *numbers.entry(id).or_insert_with(|| graph.add(network.is_switch(id)));
        let (a, b) = (number(link.ends.0), number(link.ends.1));
        graph.join(a, b, Wire { rate: link.rate, delay: link.delay });
    }
    graph
}
