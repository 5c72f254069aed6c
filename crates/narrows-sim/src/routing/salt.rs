//! Salts of the hashes by which switches choose among equal paths.

use std::collections::BTreeMap;

use crate::ids::NodeId;
use crate::random::{Purpose, Stream, mix};
use crate::topology::{NodeKind, Topology};

/// Salts of the hash by which switches choose among equal paths.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Salt {
    /// Every switch has one of its own, drawn from the seed.
    #[default]
    PerSwitch,
    /// All switches have the same, drawn from the seed. Those behind others see only flows whose hashes agree, and use few of their
    /// ports for them (polarization).
    Same,
    /// Switches of these classes (`tor`, `spine`, …) have these salts, and all others one of their own.
    ByClass(BTreeMap<String, u64>),
}

/// The stream of the salt that all switches have; those of single switches have the number of their node.
const OF_ALL: u64 = 1 << 32;

impl Salt {
    /// Every switch has one of its own.
    pub fn is_per_switch(&self) -> bool {
        *self == Self::PerSwitch
    }

    /// The salt of one switch.
    pub(crate) fn of(&self, topology: &Topology, node: NodeId, seed: u64) -> u64 {
        let drawn = |index| Stream::new(seed, Purpose::EcmpSalt, index).bits();
        let explicit = |salts: &BTreeMap<String, u64>| match &topology.node(node).kind {
            NodeKind::Switch { class, .. } => salts.get(class).copied(),
            NodeKind::Host(_) => None,
        };
        match self {
            Self::PerSwitch => drawn(node.0.into()),
            Self::Same => drawn(OF_ALL),
            // Salts that differ little make hashes that differ much.
            Self::ByClass(salts) => explicit(salts).map_or_else(|| drawn(node.0.into()), mix),
        }
    }
}
