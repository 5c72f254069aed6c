//! Polarization: switches that hash alike leave ports unused.

use std::collections::BTreeSet;

use super::paths::Paths;
use crate::choice::Choice;
use crate::ids::NodeId;

/// Two switches that hash with the same salt, one after the other on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polarization {
    /// The switch that chooses first.
    pub first: NodeId,
    /// The switch that sees only flows for which that one has chosen the same.
    pub second: NodeId,
    /// The number of its ports that such flows use, at most.
    pub used: usize,
    /// The number of its ports that lead to their destination.
    pub of: usize,
}

impl Paths<'_> {
    /// Switches of which one leaves ports unused because another hashes alike, if there are any.
    pub fn polarization(&self) -> Option<Polarization> {
        let links = self.topology().links().iter();
        let between = links.filter(|link| [link.from, link.to].iter().all(|node| self.salt(*node).is_some()));
        let pairs: BTreeSet<_> = between.map(|link| (link.from, link.to)).collect();
        pairs.into_iter().filter(|(first, second)| self.salt(*first) == self.salt(*second)).find_map(
            |(first, second)| (0..self.leaves()).find_map(|leaf| self.polarized(first, second, leaf)),
        )
    }

    /// The salt of a switch that hashes flows.
    fn salt(&self, node: NodeId) -> Option<u64> {
        let is_switch = self.topology().as_host(node).is_none();
        match self.choice_of(node) {
            Choice::Ecmp { salt } if is_switch => Some(*salt),
            _ => None,
        }
    }

    /// Ports that stay unused at the second of two switches with the same salt, of those that lead to a leaf.
    fn polarized(&self, first: NodeId, second: NodeId, leaf: usize) -> Option<Polarization> {
        let [from, to] = [first, second].map(|node| self.ports_towards(node.index(), leaf));
        if from.len() < 2 || to.len() < 2 {
            return None;
        }
        let leads = |port: &u16| self.topology().link(self.link_of(first, *port)).to == second;
        let mut used = BTreeSet::<u16>::new();
        // A member takes a part of all hashes, as a member of the other group does; the hash itself counts, not its remainder.
        for member in (0..from.len()).filter(|member| leads(&from[*member])) {
            let begin = member * to.len() / from.len();
            let end = ((member + 1) * to.len()).div_ceil(from.len());
            used.extend(&to[begin..end]);
        }
        let of = to.iter().collect::<BTreeSet<_>>().len();
        let used = used.len();
        ((1..of).contains(&used)).then_some(Polarization { first, second, used, of })
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};

    use super::*;
    use crate::routing::{Routing, Salt};
    use crate::topology::{FatTree, LeafSpine, Topology};

    fn fat_tree() -> Topology {
        let mut topology = Topology::default();
        FatTree { k: 8, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }.build(&mut topology, "");
        topology
    }

    fn polarization(topology: &Topology, salt: &Salt) -> Option<[usize; 2]> {
        let found = Paths::new(topology, &Routing::Ecmp, salt, 1).polarization()?;
        Some([found.used, found.of])
    }

    #[test]
    fn equal_salts_in_two_tiers_leave_one_port_of_four() {
        assert_eq!(polarization(&fat_tree(), &Salt::Same), Some([1, 4]));
    }

    #[test]
    fn salts_that_differ_from_tier_to_tier_leave_none_unused() {
        assert_eq!(polarization(&fat_tree(), &Salt::PerSwitch), None);
        let by_class = |tor, agg| Salt::ByClass([("tor".into(), tor), ("agg".into(), agg)].into());
        assert_eq!(polarization(&fat_tree(), &by_class(1, 2)), None);
        assert_eq!(polarization(&fat_tree(), &by_class(1, 1)), Some([1, 4]));
    }

    #[test]
    fn where_only_one_switch_of_a_path_chooses_equal_salts_do_no_harm() {
        let mut topology = Topology::default();
        let (host_rate, uplink_rate, delay) =
            (BitRate::from_gbps(1), BitRate::from_gbps(4), Span::from_us(1));
        LeafSpine {
            racks: 4,
            hosts_per_rack: 2,
            spines: 4,
            links_per_spine: 1,
            host_rate,
            uplink_rate,
            delay,
        }
        .build(&mut topology, "");
        assert_eq!(polarization(&topology, &Salt::Same), None);
    }
}
