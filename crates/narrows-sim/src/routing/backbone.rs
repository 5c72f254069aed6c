//! The switches and the links between them, where shortest paths are looked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::ids::{LinkId, NodeId};

/// The switches and the links between them, close together: finding routes is looking at all of them for every leaf.
#[derive(Clone, Debug)]
pub(crate) struct Backbone {
    pub(crate) switches: Vec<NodeId>,
    /// By node: its position in `switches`; not used for hosts.
    pub(super) number: Vec<u32>,
    /// By switch: where its hops begin; one more for the end.
    pub(super) first: Vec<usize>,
    pub(super) hops: Vec<Hop>,
}

/// A link from one switch to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// Position of the other switch.
    pub(super) to: u32,
    pub(super) link: LinkId,
    /// Port of the first switch.
    pub(super) port: u16,
    /// Packets may leave over it.
    pub(super) up: bool,
    /// Packets may come back over its other direction.
    pub(super) back_up: bool,
}

impl Backbone {
    /// The position of a switch.
    pub(crate) fn number(&self, node: NodeId) -> usize {
        self.number[node.index()] as usize
    }

    pub(super) fn hops(&self, switch: usize) -> &[Hop] {
        &self.hops[self.first[switch]..self.first[switch + 1]]
    }

    /// The ports of a switch over which packets come closer, by the distances of all switches.
    pub(super) fn towards(&self, switch: usize, distance: &[u32], towards: &mut Vec<u16>) {
        towards.clear();
        let here = distance[switch];
        if here != 0 && here != u32::MAX {
            let closer =
                self.hops(switch).iter().filter(|hop| hop.up && distance[hop.to as usize] == here - 1);
            towards.extend(closer.map(|hop| hop.port));
        }
    }

    /// Hops from every switch to `leaf`, by position; `u32::MAX` if there is no way.
    pub(crate) fn distances(&self, leaf: usize, distance: &mut Vec<u32>) {
        distance.clear();
        distance.resize(self.switches.len(), u32::MAX);
        distance[leaf] = 0;
        let mut queue = VecDeque::from([leaf]);
        while let Some(switch) = queue.pop_front() {
            let next = distance[switch] + 1;
            // Packets travel the other way, towards the leaf.
            for hop in self.hops(switch).iter().filter(|hop| hop.back_up) {
                let distance = &mut distance[hop.to as usize];
                if *distance == u32::MAX {
                    *distance = next;
                    queue.push_back(hop.to as usize);
                }
            }
        }
    }

    /// Lists of leaves whose links lead to the same switches, which includes that the same of them are up. If two of a list change
    /// places, all other switches stay as far from everything. Leaves are named by their place in `leaves`.
    pub(super) fn alike(&self, leaves: &[usize]) -> Vec<Vec<usize>> {
        let mut list_of = BTreeMap::new();
        let mut lists: Vec<Vec<usize>> = Vec::new();
        for (leaf, switch) in leaves.iter().enumerate() {
            let ends = self.hops(*switch).iter().map(|hop| (hop.to, hop.up, hop.back_up));
            let list = *list_of.entry(ends.collect::<BTreeSet<_>>()).or_insert(lists.len());
            if list == lists.len() {
                lists.push(Vec::new());
            }
            lists[list].push(leaf);
        }
        lists
    }
}
