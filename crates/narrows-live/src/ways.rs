//! Which flow a packet of a real host belongs to: known by the hosts and ports of its connection.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use narrows_sim::{FlowId, HostId};

use crate::frames::Ports;

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) flow: FlowId,
    /// From the destination of the flow to its source.
    pub(crate) back: bool,
}

/// From which host to which, and the ports.
type Key = (HostId, HostId, Ports);

/// Connections that belong to flows of the scenario, entered before they send anything.
#[derive(Debug, Default)]
pub(crate) struct Ways(Mutex<HashMap<Key, Way>>);

impl Ways {
    /// A connection carries a flow.
    pub(crate) fn enter(&self, from: HostId, to: HostId, ports: Ports, flow: FlowId) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((from, to, ports), Way { flow, back: false });
        known.insert((to, from, ports.back()), Way { flow, back: true });
    }

    pub(crate) fn find(&self, from: HostId, to: HostId, ports: Ports) -> Option<Way> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&(from, to, ports)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_of_a_connection_belong_to_its_flow() {
        let (ways, ports) = (Ways::default(), Ports { from: 40_000, to: 5_000 });
        ways.enter(HostId(3), HostId(1), ports, FlowId(9));
        let found = |from, to, ports| ways.find(HostId(from), HostId(to), ports);
        assert_eq!(found(3, 1, ports), Some(Way { flow: FlowId(9), back: false }));
        assert_eq!(found(1, 3, ports.back()), Some(Way { flow: FlowId(9), back: true }));
        assert_eq!(found(1, 3, ports), None);
    }
}
