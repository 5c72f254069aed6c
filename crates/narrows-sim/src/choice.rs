//! Choice of a switch among equal paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::FlowId;
use crate::random::mix;
use crate::traffic::{FlowSpec, Traffic};

/// Choice of one switch.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    Ecmp {
        salt: u64,
    },
    /// The same; messages of a queue pair, or of one rank to another, take the path of the one that `flows` names in their place.
    EcmpOfPairs {
        salt: u64,
        flows: Arc<[FlowId]>,
    },
    /// The same where packets of some flows have entropy, which is hashed with the flow.
    EcmpByEntropy {
        salt: u64,
        flows: Arc<[FlowId]>,
    },
    DModK {
        stride: u32,
    },
    /// Who chooses for each packet does so himself; the first port stands for all.
    ByPacket,
}

/// Which of `len` ports the hash of a flow chooses.
#[inline(always)]
pub(crate) fn member_of(flow: FlowId, salt: u64, len: u32) -> u32 {
    let hash = mix(u64::from(flow.0) ^ salt);
    (((hash >> 32) * u64::from(len)) >> 32) as u32
}

/// The flow whose path this one takes.
#[inline(always)]
pub(crate) fn leader_of(flow: FlowId, first_of_pairs: &[FlowId]) -> FlowId {
    first_of_pairs.get(flow.index()).copied().unwrap_or(flow)
}

impl Choice {
    /// Messages of a queue pair take the same path.
    pub(crate) fn of_pairs(self, flows: Option<&Arc<[FlowId]>>) -> Self {
        match (self, flows) {
            (Self::Ecmp { salt }, Some(flows)) => Self::EcmpOfPairs { salt, flows: Arc::clone(flows) },
            (choice, _) => choice,
        }
    }

    /// If packets of some flows have entropy, it is hashed.
    pub(crate) fn by_entropy_if(self, some: bool) -> Self {
        match self {
            choice if !some => choice,
            Self::Ecmp { salt } => Self::EcmpByEntropy { salt, flows: Arc::default() },
            Self::EcmpOfPairs { salt, flows } => Self::EcmpByEntropy { salt, flows },
            choice => choice,
        }
    }
}

/// By flow: the first one of its queue pair, or of its ranks, or itself. None if there are no queue pairs and ranks.
pub(crate) fn first_of_pairs(traffic: &Traffic) -> Option<Arc<[FlowId]>> {
    let mut pairs: Vec<_> = traffic.groups.iter().map(|group| group.transport.has_queue_pairs()).collect();
    // Messages of one rank to another share a connection.
    for lanes in traffic.ranks.iter().flat_map(|rank| &rank.outgoing) {
        pairs[traffic.flows[lanes.first.index()].group.index()] = true;
    }
    if !pairs.contains(&true) {
        return None;
    }
    let mut first = BTreeMap::new();
    let of = |(number, flow): (usize, &FlowSpec)| {
        let this = FlowId::from(number);
        let shares = pairs[flow.group.index()];
        if shares { *first.entry((flow.group, flow.from, flow.to)).or_insert(this) } else { this }
    };
    Some(traffic.flows.iter().enumerate().map(of).collect())
}
