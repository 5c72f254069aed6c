//! Interface of mechanisms that choose among equal paths packet by packet.

use std::sync::Arc;

use narrows_proto::units::Time;

use crate::ids::{FlowId, NodeId};
use crate::record::PortCounters;

/// A switch as these mechanisms see it.
pub(crate) struct RoutingSite {
    pub(crate) node: NodeId,
    pub(crate) ports: usize,
    /// Number of switches with hosts in the network.
    pub(crate) leaves: usize,
    /// By flow: the one whose path it takes, as messages of a queue pair do. None if each takes its own.
    pub(crate) first_of_pairs: Option<Arc<[FlowId]>>,
    /// Of the run.
    pub(crate) seed: u64,
}

/// A packet that may leave over any of `ports`, of which there is at least one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork<'a> {
    pub(crate) now: Time,
    pub(crate) flow: FlowId,
    /// The switch with hosts that it goes to, by its index.
    pub(crate) leaf: u32,
    pub(crate) ports: &'a [u16],
}

/// A rule that chooses for each packet.
pub(crate) trait AtRouting {
    /// The port on which a packet leaves, one of those of the fork. `queue` says how long the queue of a port is: twice the bytes that
    /// wait, and one more while a packet is being sent.
    fn choose(&mut self, fork: &Fork<'_>, queue: impl FnMut(u16) -> u64) -> u16;

    /// Enters what it has counted into the counters of a port.
    #[expect(unused_variables)]
    fn report(&self, port: usize, counters: &mut PortCounters) {}
}
