//! Changes of routes of the switches of one thread.

use narrows_proto::units::Time;

use super::shard::Node;
use crate::ids::NodeId;
use crate::network::Network;
use crate::routing::changes::ChangingRoutes;

/// Changes of routes to come, and who is told of them.
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

    /// Hands the changes before `until` to the switches. All they were given the last time lie in their past.
    pub(super) fn hand_over(&mut self, until: Time, nodes: &mut [Node]) {
        if self.changing.due() >= until {
            return;
        }
        let Self { changing, number } = self;
        for node in nodes.iter_mut() {
            if let Node::Switch(switch) = node {
                switch.edit_all_routes();
            }
        }
        while changing.due() < until {
            let at = changing.due();
            changing.step(|row| {
                let node = nodes.get_mut(number[row.node.index()] as usize);
                if let Some(Node::Switch(switch)) = node {
                    switch.edit_route(at, &row);
                }
            });
        }
    }
}
