//! Which thread has which node.

use std::collections::BTreeMap;

use narrows_proto::units::Span;

use crate::ids::NodeId;
use crate::network::Network;
use crate::routing::RoutingTables;
use crate::topology::{Link, Topology};

/// Links that take so many times as long as a window are better cut than others: threads that are so far apart meet as much less often.
const LONG: u64 = 16;
/// A thread has at most so many hundredths of its share of the hosts, or sites are cut.
const MOST_OF_SHARE: usize = 120;

/// Shares the nodes out: each site to threads of its own, if they get about equally much; then each tier of switches of a site in equal
/// contiguous parts, hosts with their switch, so that racks and pods stay together.
pub(super) fn places(network: &Network, tables: &RoutingTables, threads: usize, window: Span) -> Vec<u32> {
    let topology = &network.topology;
    let mut places = vec![0; topology.nodes().len()];
    // Hosts stay with their switch.
    let is_long = |link: &Link| {
        let between_switches = [link.from, link.to].iter().all(|node| topology.as_host(*node).is_none());
        between_switches && link.wire.delay >= window.saturating_mul(LONG)
    };
    let sites = if threads == 1 { Vec::new() } else { sites(topology, is_long) };
    let is_host = |node: &&usize| topology.as_host(NodeId::from(**node)).is_some();
    let hosts: Vec<_> = sites.iter().map(|site| site.iter().filter(is_host).count()).collect();
    let shares = shares(&hosts, threads);
    match shares {
        Some(shares) => {
            for (site, share) in sites.iter().zip(shares) {
                spread(topology, tables, site, share, &mut places);
            }
        }
        None => {
            let all: Vec<_> = (0..places.len()).collect();
            spread(topology, tables, &all, (0, threads), &mut places);
        }
    }
    places
}

/// The first thread of each site and the number of its threads, if no thread gets much more than its share.
fn shares(hosts: &[usize], threads: usize) -> Option<Vec<(usize, usize)>> {
    let all: usize = hosts.iter().sum();
    if hosts.len() < 2 || all == 0 {
        return None;
    }
    let mut load = vec![0; threads];
    let mut before = 0;
    let mut share = |of_site: &usize| {
        // In units of a thread's share, rounded.
        let first = (before * threads + all / 2) / all;
        let middle = (2 * before + of_site) * threads / (2 * all);
        before += of_site;
        let next = (before * threads + all / 2) / all;
        let (first, count) = if first < next { (first, next - first) } else { (middle, 1) };
        load[first..first + count].iter_mut().for_each(|load| *load += of_site.div_ceil(count));
        (first, count)
    };
    let shares = hosts.iter().map(&mut share).collect();
    let most = load.iter().max()? * threads * 100;
    (most <= all * MOST_OF_SHARE).then_some(shares)
}

/// Nodes that are not separated by long links, each site in order. Sites without hosts belong to one they are joined with.
fn sites(topology: &Topology, is_long: impl Fn(&Link) -> bool) -> Vec<Vec<usize>> {
    let nodes = topology.nodes().len();
    let mut sets: Vec<_> = (0..nodes).collect();
    let ends = |sets: &mut [usize], link: &Link| [link.from, link.to].map(|node| root(sets, node.index()));
    for link in topology.links().iter().filter(|link| !is_long(link)) {
        let [from, to] = ends(&mut sets, link);
        sets[from] = to;
    }
    let mut has_hosts = vec![false; nodes];
    topology.hosts().iter().for_each(|host| has_hosts[root(&mut sets, host.index())] = true);
    for link in topology.links() {
        let [from, to] = ends(&mut sets, link);
        if !has_hosts[from] {
            sets[from] = to;
        }
    }
    let mut sites = BTreeMap::<_, Vec<_>>::new();
    (0..nodes).for_each(|node| sites.entry(root(&mut sets, node)).or_default().push(node));
    let mut sites: Vec<_> = sites.into_values().collect();
    sites.sort_unstable();
    sites
}

/// The node that stands for the set of `node`, each of which names another of its set.
fn root(sets: &mut [usize], mut node: usize) -> usize {
    while sets[node] != node {
        sets[node] = sets[sets[node]];
        node = sets[node];
    }
    node
}

/// Shares the nodes of a site out to so many threads from the first on.
fn spread(
    topology: &Topology,
    tables: &RoutingTables,
    site: &[usize],
    (first, threads): (usize, usize),
    places: &mut [u32],
) {
    let tier = |node: usize| topology.tier(NodeId::from(node));
    let tiers = site.iter().filter_map(|node| tier(*node)).max().map_or(0, |highest| highest + 1);
    for of_tier in 0..tiers {
        let members: Vec<_> = site.iter().filter(|node| tier(**node) == Some(of_tier)).collect();
        for (index, node) in members.iter().enumerate() {
            places[**node] = (first + index * threads / members.len()) as u32;
        }
    }
    let hosts: Vec<_> = site.iter().filter_map(|node| topology.as_host(NodeId::from(*node))).collect();
    for (index, host) in hosts.iter().enumerate() {
        let leaf = tables.access[host.index()].leaf;
        let switch = tables.leaves().get(leaf as usize);
        let own = (first + index * threads / hosts.len()) as u32;
        places[topology.hosts()[host.index()].index()] = switch.map_or(own, |switch| places[switch.index()]);
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;

    use super::*;
    use crate::topology::Wire;

    #[test]
    fn sites_get_threads_of_their_own_if_they_get_about_equally_much() {
        assert_eq!(shares(&[64, 64], 2), Some(vec![(0, 1), (1, 1)]));
        assert_eq!(shares(&[64, 60], 2), Some(vec![(0, 1), (1, 1)]));
        assert_eq!(shares(&[64, 64], 4), Some(vec![(0, 2), (2, 2)]));
        assert_eq!(shares(&[60, 20], 4), Some(vec![(0, 3), (3, 1)]));
        assert_eq!(shares(&[30, 10, 10, 10], 2), Some(vec![(0, 1), (1, 1), (1, 1), (1, 1)]));
        for (hosts, threads) in [(&[60, 20][..], 2), (&[64, 64], 3), (&[64], 2), (&[], 2), (&[0, 0], 2)] {
            assert_eq!(shares(hosts, threads), None, "{hosts:?} on {threads} threads");
        }
    }

    #[test]
    fn long_links_separate_sites_and_what_has_no_hosts_belongs_to_a_neighbor() {
        let mut topology = Topology::default();
        let wire = |us| Wire::new(BitRate::from_gbps(10), Span::from_us(us));
        // Two switches with a host each, joined by way of a third in the middle, and a fourth near the second.
        let switches =
            [0; 4].map(|_| topology.add_switch(format!("s{}", topology.nodes().len()), "switch", 0));
        let hosts = ["a", "b"].map(|name| topology.add_host(name));
        topology.connect(hosts[0], switches[0], wire(1));
        topology.connect(hosts[1], switches[1], wire(1));
        topology.connect(switches[0], switches[2], wire(500));
        topology.connect(switches[2], switches[1], wire(500));
        topology.connect(switches[1], switches[3], wire(1));
        let sites = sites(&topology, |link| link.wire.delay > Span::from_us(100));
        assert_eq!(sites, [vec![0, 2, 4], vec![1, 3, 5]]);
    }
}
