//! Changes of routes of the switches of one thread.

use narrows_proto::units::Time;

use crate::ids::NodeId;
use crate::network::Network;
use crate::routing::changes::{ChangingRoutes, NewRow};

/// Changes of routes to come, and who is notified of them.
#[derive(Debug)]
pub(super) struct Changes {
    changing: Box<ChangingRoutes>,
    /// By node of the network: its number in this thread, or an impossible one.
    number: Vec<u32>,
}

impl Changes {
    pub(super) fn new(changing: Box<ChangingRoutes>, network: &Network, members: &[NodeId]) -> Self {
        let mut number = vec![u32::MAX; network.topology.nodes().len()];
        (0..).zip(members).for_each(|(here, node)| number[node.index()] = here);
        Self { changing, number }
    }

    /// When routes change next.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.changing.due()
    }

    /// Makes the changes that are due. Calls `set` with the number of a node of this thread, the time, and a row that may be new.
    pub(super) fn step(&mut self, mut set: impl FnMut(usize, Time, &NewRow<'_>)) {
        let at = self.due();
        self.changing.step(|row| set(self.number[row.node.index()] as usize, at, &row));
    }
}
