//! What a switch has that looks at packets before their routes are looked up.

use crate::mechanism::limiter::EdgeLimiters;
use crate::mechanism::rackcc::RackState;
use crate::world::{Arrival, Log, World};

/// Mechanisms that look at packets before their routes are looked up.
#[derive(Debug)]
pub(super) struct Early {
    pub(super) edge: Option<Box<EdgeLimiters>>,
    pub(super) rack: Option<Box<RackState>>,
}

impl Early {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.edge.is_some() || self.rack.is_some()
    }

    /// Asks for what is kept of the flows that these packets are of.
    #[inline(never)]
    pub(super) fn prefetch<O>(&self, list: &[Arrival], world: &World<O>) {
        let Some(rack) = &self.rack else { return };
        // Where it is, and then what is there.
        list.iter().for_each(|arrival| rack.prefetch_place(arrival.packet, world));
        list.iter().for_each(|arrival| rack.prefetch_entry(arrival.packet, world));
    }

    /// Adds what happened to the log.
    pub(super) fn record(&self, log: &mut Log) {
        if let Some(rack) = &self.rack {
            log.rack.add(&rack.record());
        }
        if let Some(edge) = &self.edge {
            log.reaction.add(&edge.record());
        }
    }
}
