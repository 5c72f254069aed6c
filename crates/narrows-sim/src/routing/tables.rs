//! Routing tables: which ports of each switch lead to which rack.

use std::collections::BTreeMap;

use crate::choice::{Choice, leader_of, member_of};
use crate::ids::{FlowId, HostId, NodeId};

/// Where a host is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Index of its switch among those that have hosts, or [`NO_LEAF`] if its neighbor is a host.
    pub(crate) leaf: u32,
    /// The switch's port that leads to it.
    pub(crate) port: u16,
}

pub(crate) const NO_LEAF: u32 = u32::MAX;

/// Fields of a packet by which a switch chooses its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashed {
    pub(crate) flow: FlowId,
    pub(crate) to: HostId,
    /// Zero if it has none.
    pub(crate) entropy: u16,
}

/// A row leads to a port, or to a group of ports if this bit is set.
const GROUP: u16 = 0x8000;
pub(super) const UNREACHABLE: u16 = u16::MAX;
/// The most switches with hosts. A switch chooses among different ports for each of them, at worst, and numbers these
/// choices with 15 bits; one number is for "unreachable".
pub const MOST_LEAVES: usize = (1 << 15) - 2;

/// With more groups than this for each row, and some, those that are not used any more are forgotten.
const MOST_GROUPS_PER_ROW: usize = 2;

/// The routing table of one switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    /// By leaf: a port, a group, or [`UNREACHABLE`].
    pub(super) rows: Vec<u16>,
    pub(super) groups: Vec<Group>,
    pub(super) members: Vec<u16>,
}

/// Ports among which there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Where they begin in `members`.
    pub(super) first: u32,
    /// Number of its ports.
    pub(super) len: u16,
    /// They are parallel links to one switch of a lower tier.
    pub(super) down: bool,
}

impl Group {
    pub(super) fn of<'a>(&self, members: &'a [u16]) -> &'a [u16] {
        &members[self.first as usize..][..usize::from(self.len)]
    }
}

impl Routes {
    /// It is that of a host.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The port to `leaf` for a packet; with [`Choice::ByPacket`] the first of all.
    #[inline(always)]
    pub(crate) fn port(&self, leaf: u32, packet: Hashed, choice: &Choice) -> Option<u16> {
        let row = self.rows[leaf as usize];
        if row < GROUP {
            return Some(row);
        }
        if row == UNREACHABLE {
            return None;
        }
        let group = self.groups[usize::from(row & !GROUP)];
        let len = u32::from(group.len);
        let member = match choice {
            Choice::Ecmp { salt } => member_of(packet.flow, *salt, len),
            Choice::EcmpOfPairs { salt, flows } => member_of(leader_of(packet.flow, flows), *salt, len),
            Choice::EcmpByEntropy { salt, flows } => {
                let salt = salt ^ u64::from(packet.entropy) << 32;
                member_of(leader_of(packet.flow, flows), salt, len)
            }
            // A switch below has n uplinks and chose number d/s mod n. Those to this switch are n/p apart, p in number, so
            // what of that choice is left is d/(s·n/p) mod p; the stride is s·n.
            Choice::DModK { stride } if group.down => packet.to.0 / (*stride / len).max(1) % len,
            Choice::DModK { stride } => packet.to.0 / *stride % len,
            Choice::ByPacket => 0,
        };
        Some(self.members[(group.first + member) as usize])
    }

    /// All ports that lead to `leaf`.
    pub(crate) fn ports_to(&self, leaf: u32) -> &[u16] {
        match self.rows[leaf as usize] {
            UNREACHABLE => &[],
            row if row < GROUP => std::slice::from_ref(&self.rows[leaf as usize]),
            row => self.groups[usize::from(row & !GROUP)].of(&self.members),
        }
    }

    pub(super) fn set(&mut self, leaf: usize, ports: &[u16]) {
        self.rows[leaf] = match ports {
            [] => UNREACHABLE,
            [port] => *port,
            _ => GROUP | self.group(ports),
        };
    }

    /// Sets a row; `down`: the ports are parallel links to one switch of a lower tier.
    pub(crate) fn set_row(&mut self, leaf: usize, ports: &[u16], down: bool) {
        // Groups that no row leads to any more.
        if self.groups.len() > MOST_GROUPS_PER_ROW * self.rows.len() + 64 {
            self.forget_unused();
        }
        self.set(leaf, ports);
        if let Some(group) = self.group_at(leaf) {
            self.groups[group].down = down;
        }
    }

    fn forget_unused(&mut self) {
        let rows = vec![UNREACHABLE; self.rows.len()];
        let before = std::mem::replace(self, Self { rows, ..Self::default() });
        for leaf in 0..before.rows.len() {
            let (ports, down) = before.choice_of(leaf);
            self.set_row(leaf, ports, down);
        }
    }

    /// The group that a row leads to, if there is a choice.
    fn group_at(&self, leaf: usize) -> Option<usize> {
        let row = self.rows[leaf];
        (row >= GROUP && row != UNREACHABLE).then(|| usize::from(row & !GROUP))
    }

    /// The ports that lead to a leaf, and whether they are parallel links to one switch of a lower tier.
    pub(crate) fn choice_of(&self, leaf: usize) -> (&[u16], bool) {
        (self.ports_to(leaf as u32), self.group_at(leaf).is_some_and(|group| self.groups[group].down))
    }

    fn group(&mut self, ports: &[u16]) -> u16 {
        let same = |group: &Group| group.of(&self.members) == ports;
        // The latest group is the most likely one.
        if let Some(back) = self.groups.iter().rev().position(same) {
            return (self.groups.len() - 1 - back) as u16;
        }
        let first = self.members.len() as u32;
        self.groups.push(Group { first, len: ports.len() as u16, down: false });
        self.members.extend_from_slice(ports);
        (self.groups.len() - 1) as u16
    }
}

/// The routing of a whole network.
#[derive(Clone, Debug)]
pub(crate) struct RoutingTables {
    /// By host.
    pub(crate) access: Vec<Access>,
    /// By node; empty for hosts.
    pub(crate) routes: Vec<Routes>,
    /// The switch of each leaf.
    pub(super) leaves: Vec<NodeId>,
    /// By node: its leaf, or [`NO_LEAF`].
    pub(super) leaf_of: Vec<u32>,
    /// By tier: the most ports any of its switches chooses among, parallel links downwards left out.
    pub(super) widest: BTreeMap<u32, u32>,
}

impl RoutingTables {
    /// The leaf index of a switch, if it has hosts.
    pub(crate) fn leaf_index(&self, node: NodeId) -> u32 {
        self.leaf_of[node.index()]
    }

    /// By host, and one more: an address without a host. Packets to it are not routed but dealt with where they arrive.
    pub(crate) fn access_and_neighbor(&self) -> Vec<Access> {
        let nowhere = Access { leaf: self.leaves.len() as u32, port: 0 };
        self.access.iter().copied().chain([nowhere]).collect()
    }

    /// The address of what is sent to a neighbor. No host has it.
    pub(crate) fn neighbor(&self) -> HostId {
        HostId(self.access.len() as u32)
    }

    /// The switches that have hosts.
    pub(crate) fn leaves(&self) -> &[NodeId] {
        &self.leaves
    }
}
