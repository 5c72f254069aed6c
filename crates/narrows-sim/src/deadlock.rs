//! Links that may wait for each other in a circle when switches pause their neighbors.

use crate::ids::LinkId;
use crate::routing::paths::Paths;
use crate::topology::{Link, Topology};

/// State of a link in the search for circles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    /// On the way that is being followed.
    Open,
    /// No circle leads through it.
    Done,
}

/// Links of which each leads to the next, and the last to the first, among those that are `stuck`, if there are any.
pub fn circle_of(topology: &Topology, stuck: impl Fn(LinkId) -> bool) -> Option<Vec<LinkId>> {
    let ports = topology.ports();
    let next = |(number, link): (usize, &Link)| {
        if !stuck(LinkId::from(number)) {
            return Vec::new();
        }
        ports[link.to.index()].iter().filter(|next| stuck(**next)).map(|next| next.index()).collect()
    };
    let waits_for: Vec<_> = topology.links().iter().enumerate().map(next).collect();
    first_circle(&waits_for)
}

fn first_circle(waits_for: &[Vec<usize>]) -> Option<Vec<LinkId>> {
    let mut seen = vec![Seen::No; waits_for.len()];
    (0..waits_for.len())
        .find_map(|start| if seen[start] == Seen::No { follow(start, waits_for, &mut seen) } else { None })
}

impl Paths<'_> {
    /// Links of which each may have to wait for the next, and the last for the first, if there are any. `pauses` says
    /// whether the node a link leads to may pause it.
    ///
    /// A link waits for another if packets cross them one after the other (Dally & Seitz, IEEE Trans. Computers 1987).
    pub fn circle(&self, pauses: impl Fn(LinkId) -> bool) -> Option<Vec<LinkId>> {
        first_circle(&self.waits_for(pauses))
    }

    /// By link: the links it may wait for.
    fn waits_for(&self, pauses: impl Fn(LinkId) -> bool) -> Vec<Vec<usize>> {
        let topology = self.topology();
        let ports = topology.ports();
        // By link: a bit for each port of the node it leads to.
        let mut needed: Vec<Vec<u64>> = vec![Vec::new(); topology.links().len()];
        for leaf in 0..self.leaves() {
            for node in 0..ports.len() {
                for port in self.ports_towards(node, leaf) {
                    let link = ports[node][usize::from(*port)];
                    let next = topology.link(link).to.index();
                    for port in self.ports_towards(next, leaf) {
                        let bits = &mut needed[link.index()];
                        bits.resize(ports[next].len().div_ceil(64), 0);
                        bits[usize::from(*port) / 64] |= 1 << (port % 64);
                    }
                }
            }
        }
        let list = |(link, bits): (usize, &Vec<u64>)| {
            if !pauses(LinkId::from(link)) {
                return Vec::new();
            }
            let ports = &ports[topology.links()[link].to.index()];
            let set = ports
                .iter()
                .enumerate()
                .filter(|(port, _)| bits.get(port / 64).is_some_and(|bits| bits & 1 << (port % 64) != 0));
            set.map(|(_, link)| link.index()).collect()
        };
        needed.iter().enumerate().map(list).collect()
    }
}

/// Follows links from `start` until one comes up again.
fn follow(start: usize, waits_for: &[Vec<usize>], seen: &mut [Seen]) -> Option<Vec<LinkId>> {
    // Each link of the way, and how many of those it waits for have been looked at.
    let mut way = vec![(start, 0)];
    seen[start] = Seen::Open;
    while let Some((link, looked_at)) = way.last_mut() {
        let Some(next) = waits_for[*link].get(*looked_at).copied() else {
            seen[*link] = Seen::Done;
            way.pop();
            continue;
        };
        *looked_at += 1;
        match seen[next] {
            Seen::Done => {}
            Seen::No => {
                seen[next] = Seen::Open;
                way.push((next, 0));
            }
            Seen::Open => {
                let links = way.iter().map(|(link, _)| *link).skip_while(|link| *link != next);
                return Some(links.map(LinkId::from).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};

    use super::*;
    use crate::routing::{Routing, Salt};
    use crate::topology::{FatTree, Topology, Wire};

    #[test]
    fn a_ring_has_a_circle_and_a_tree_has_none() {
        let wire = Wire::new(BitRate::from_gbps(10), Span::from_us(1));
        let mut ring = Topology::default();
        let switches: Vec<_> = (0..5).map(|n| ring.add_switch(format!("s{n}"), "ring", 0)).collect();
        for (number, switch) in switches.iter().enumerate() {
            let host = ring.add_host(format!("h{number}"));
            ring.connect(host, *switch, wire);
        }
        for (number, switch) in switches.iter().enumerate() {
            ring.connect(*switch, switches[(number + 1) % 5], wire);
        }
        let circle = Paths::new(&ring, &Routing::Ecmp, &Salt::PerSwitch, 1).circle(|_| true).expect("a ring");
        assert_eq!(circle.len(), 5);
        for (link, next) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            assert_eq!(ring.link(*link).to, ring.link(*next).from);
        }
        assert_eq!(
            Paths::new(&ring, &Routing::Ecmp, &Salt::PerSwitch, 1)
                .circle(|link| link != circle[0] && link.0 % 2 == circle[0].0 % 2),
            None
        );

        let mut tree = Topology::default();
        FatTree { k: 4, rate: wire.rate, delay: wire.delay }.build(&mut tree, "");
        assert_eq!(Paths::new(&tree, &Routing::Ecmp, &Salt::PerSwitch, 1).circle(|_| true), None);
    }
}
