//! Where nodes are drawn: hosts below, switches above them by their distance to the nearest host, data centers side by
//! side, what joins them on top.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use narrows_sim::topology::datacenter_in;
use serde::Serialize;

use crate::results::Table;

/// A network as a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Fabric {
    /// Names of nodes.
    pub nodes: Vec<String>,
    /// Which of them are hosts.
    pub hosts: Vec<bool>,
    /// From left to right, 0 to 1.
    pub x: Vec<f64>,
    /// Rows from the bottom: hosts are in row 0.
    pub row: Vec<u32>,
    /// By link: where it begins, where it ends (as indices of nodes), bit/s.
    pub links: Vec<(u32, u32, u64)>,
    /// By link: sent bits as a fraction of what it could have carried in the whole run.
    pub utilization: Vec<f32>,
    /// By link: the most bytes that ever waited for it.
    pub deepest: Vec<u64>,
    /// By link: packets dropped.
    pub drops: Vec<u64>,
}

impl Fabric {
    /// The network whose links are in `ports`, after a run of `seconds`.
    pub(super) fn new(ports: &Table, seconds: f64) -> Self {
        let mut fabric = Self::default();
        let mut numbers = BTreeMap::new();
        let ends = [("from", "from_host"), ("to", "to_host")].map(|(end, host)| {
            let ((rows, names), hosts) = (ports.names(end), ports.flags(host));
            let mut node = |(name, host): (&u32, &bool)| {
                let name = &names[*name as usize];
                *numbers.entry(name.clone()).or_insert_with(|| {
                    fabric.nodes.push(name.clone());
                    fabric.hosts.push(*host);
                    fabric.nodes.len() as u32 - 1
                })
            };
            rows.iter().zip(hosts).map(&mut node).collect::<Vec<_>>()
        });
        let rates = ports.integers("rate_bps");
        let links = ends[0].iter().zip(&ends[1]).zip(rates);
        fabric.links = links.map(|((from, to), rate)| (*from, *to, *rate)).collect();
        let carried =
            |(bytes, rate): (&u64, &u64)| (*bytes as f64 * 8.0 / (*rate as f64 * seconds.max(1e-12))) as f32;
        fabric.utilization = ports.integers("bytes").iter().zip(rates).map(carried).collect();
        fabric.deepest = ports.integers("max_backlog_bytes").to_vec();
        fabric.drops = ports.integers("drops").to_vec();
        fabric.place();
        fabric
    }

    fn neighbors(&self) -> Vec<Vec<u32>> {
        let mut neighbors = vec![Vec::new(); self.nodes.len()];
        for (from, to, _) in &self.links {
            neighbors[*from as usize].push(*to);
        }
        neighbors
    }

    /// Finds rows and columns.
    fn place(&mut self) {
        let neighbors = self.neighbors();
        self.row = rows(&self.hosts, &neighbors);
        // Each data center has a share of the width by its leaves; nodes between them span all.
        let mut blocks: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        let mut joining = Vec::new();
        let several = {
            let mut names = self.nodes.iter().filter_map(|name| datacenter_in(name));
            let first = names.next();
            names.any(|name| Some(name) != first)
        };
        for (node, name) in self.nodes.iter().enumerate() {
            match datacenter_in(name) {
                None if several => joining.push(node),
                name => blocks.entry(name.filter(|_| several)).or_default().push(node),
            }
        }
        self.x = vec![0.5; self.nodes.len()];
        let width =
            |block: &Vec<usize>| block.iter().filter(|node| self.row[**node] == 0).count().max(1) as f64;
        let total: f64 = blocks.values().map(width).sum();
        let shares: Vec<_> = blocks.into_values().map(|block| (width(&block) / total, block)).collect();
        let mut left = 0.0;
        for (share, block) in shares {
            self.place_block(&block, left + 0.02 * share, 0.96 * share, &neighbors);
            left += share;
        }
        let top = self.row.iter().max().copied().unwrap_or(0);
        let count = joining.len() as f64;
        for (number, node) in joining.into_iter().enumerate() {
            self.x[node] = (number as f64 + 0.5) / count;
            self.row[node] = self.row[node].max(top + u32::from(self.row[node] < top));
        }
    }

    /// Spreads the nodes of a block over its width: hosts beside those of the same switch, each row in the order of what is
    /// below it.
    fn place_block(&mut self, block: &[usize], left: f64, width: f64, neighbors: &[Vec<u32>]) {
        let inside: BTreeSet<_> = block.iter().copied().collect();
        let rows = block.iter().map(|node| self.row[*node]).max().unwrap_or(0);
        let switches = block.iter().copied().filter(|node| !self.hosts[*node]);
        let places = chained(&switches.filter(|node| self.row[*node] == 1).collect::<Vec<_>>(), neighbors);
        let first_switch = |host: usize| {
            let own = neighbors[host].iter().filter_map(|other| places.get(&(*other as usize)).copied());
            own.min()
        };
        let mut below: Vec<_> = block.iter().copied().filter(|node| self.row[*node] == 0).collect();
        // Hosts of one switch stand together.
        below.sort_by_key(|host| (first_switch(*host), *host));
        spread(&mut self.x, &below, left, width);
        for row in 1..=rows {
            let mut nodes: Vec<_> = block.iter().copied().filter(|node| self.row[*node] == row).collect();
            let center = |node: &usize| {
                let lower = neighbors[*node].iter().map(|other| *other as usize);
                let lower: Vec<_> = lower
                    .filter(|other| self.row[*other] < row && inside.contains(other))
                    .map(|other| self.x[other])
                    .collect();
                crate::statistics::mean(&lower).unwrap_or(left + width / 2.0)
            };
            let centers: BTreeMap<_, _> = nodes.iter().map(|node| (*node, center(node))).collect();
            nodes.sort_by(|a, b| centers[a].total_cmp(&centers[b]).then(a.cmp(b)));
            let apart = nodes
                .windows(2)
                .all(|pair| centers[&pair[1]] - centers[&pair[0]] > 0.3 * width / nodes.len() as f64);
            if apart {
                nodes.iter().for_each(|node| self.x[*node] = centers[node]);
            } else {
                spread(&mut self.x, &nodes, left, width);
            }
        }
    }
}

/// By node its place in a row: nodes that links of the row join stand beside each other, beginning with an end of their chain.
fn chained(row: &[usize], neighbors: &[Vec<u32>]) -> BTreeMap<usize, usize> {
    let all: BTreeSet<_> = row.iter().copied().collect();
    let beside = |node: usize| {
        let found = neighbors[node].iter().map(|other| *other as usize).filter(|other| all.contains(other));
        found.collect::<BTreeSet<_>>()
    };
    let mut ends: Vec<_> = row.iter().map(|node| (beside(*node).len() > 1, *node)).collect();
    ends.sort_unstable();
    let mut places = BTreeMap::new();
    for (_, end) in ends {
        let mut next = vec![end];
        while let Some(node) = next.pop() {
            let place = places.len();
            if places.contains_key(&node) {
                continue;
            }
            places.insert(node, place);
            next.extend(beside(node).into_iter().rev());
        }
    }
    places
}

fn spread(x: &mut [f64], nodes: &[usize], left: f64, width: f64) {
    for (number, node) in nodes.iter().enumerate() {
        x[*node] = left + width * (number as f64 + 0.5) / nodes.len() as f64;
    }
}

/// Number of links between each node and its nearest host; hosts and what no host reaches are in row 0 and 1.
fn rows(hosts: &[bool], neighbors: &[Vec<u32>]) -> Vec<u32> {
    let mut rows: Vec<_> = hosts.iter().map(|host| if *host { 0 } else { u32::MAX }).collect();
    let mut next: VecDeque<_> = (0..hosts.len()).filter(|node| hosts[*node]).collect();
    while let Some(node) = next.pop_front() {
        for other in &neighbors[node] {
            let other = *other as usize;
            if rows[other] == u32::MAX {
                rows[other] = rows[node] + 1;
                next.push_back(other);
            }
        }
    }
    rows.into_iter().map(|row| if row == u32::MAX { 1 } else { row }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network of links in both directions; names that begin with `h` behind the last slash are hosts.
    fn fabric(links: &[(&str, &str)]) -> Fabric {
        let mut fabric = Fabric::default();
        let mut node = |name: &str| match fabric.nodes.iter().position(|other| other == name) {
            Some(node) => node as u32,
            None => {
                fabric.nodes.push(name.to_owned());
                fabric.hosts.push(name.rsplit('/').next().is_some_and(|name| name.starts_with('h')));
                fabric.nodes.len() as u32 - 1
            }
        };
        let ends: Vec<_> = links.iter().map(|(from, to)| (node(from), node(to))).collect();
        fabric.links = ends.into_iter().flat_map(|(from, to)| [(from, to, 1), (to, from, 1)]).collect();
        fabric.place();
        fabric
    }

    fn at(fabric: &Fabric, name: &str) -> (f64, u32) {
        let node = fabric.nodes.iter().position(|node| node == name).unwrap();
        (fabric.x[node], fabric.row[node])
    }

    #[test]
    fn hosts_are_below_their_switch_and_spines_above() {
        let fabric =
            fabric(&[("h0", "t0"), ("h1", "t1"), ("h2", "t0"), ("h3", "t1"), ("t0", "s"), ("t1", "s")]);
        assert_eq!(["h0", "t1", "s"].map(|name| at(&fabric, name).1), [0, 1, 2]);
        let x = |name| at(&fabric, name).0;
        assert!(
            x("h0") < x("h2") && x("h2") < x("h1") && x("h1") < x("h3"),
            "hosts of a switch stand together"
        );
        assert!((x("t0") - (x("h0") + x("h2")) / 2.0).abs() < 1e-9);
        assert!((x("s") - 0.5).abs() < 1e-9);
    }

    #[test]
    fn data_centers_stand_side_by_side_and_what_joins_them_on_top() {
        let fabric = fabric(&[("a/h", "a/t"), ("b/h", "b/t"), ("a/t", "core"), ("core", "b/t")]);
        assert!(at(&fabric, "a/t").0 < 0.5 && at(&fabric, "b/t").0 > 0.5);
        assert_eq!(at(&fabric, "core"), (0.5, 2));
    }

    #[test]
    fn switches_of_a_chain_stand_in_its_order() {
        let chain = [
            ("h0", "t0"),
            ("h3", "t3"),
            ("h1", "t1"),
            ("h2", "t2"),
            ("t0", "t1"),
            ("t1", "t2"),
            ("t2", "t3"),
        ];
        let fabric = fabric(&chain);
        let x = ["t0", "t1", "t2", "t3"].map(|name| at(&fabric, name).0);
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]), "{x:?}");
    }

    #[test]
    fn nodes_of_one_row_never_stand_on_each_other() {
        let fabric =
            fabric(&[("h0", "t0"), ("h1", "t1"), ("t0", "s0"), ("t0", "s1"), ("t1", "s0"), ("t1", "s1")]);
        assert!((at(&fabric, "s0").0 - at(&fabric, "s1").0).abs() > 0.2);
    }
}
