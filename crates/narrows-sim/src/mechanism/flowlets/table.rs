//! The table of flowlets of a switch.

use std::sync::Arc;

use narrows_proto::units::{Span, Time};

use super::settings::BYTES_OF_ENTRY;
use crate::choice::{leader_of, member_of};
use crate::ids::FlowId;
use crate::mechanism::at_routing::{Fork, RoutingSite};
use crate::record::{counters, sum};

counters! {
    /// Flowlets that began at a port.
    #[derive(Eq)]
    pub struct FlowletCounters {
        /// Flowlets that began.
        pub flowlets: u64 = sum,
        /// Those of them whose flow had another port before.
        pub moves: u64 = sum,
    }
}

/// No port.
const NONE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When its last packet came.
    last: Time,
    port: u16,
}

const _: () = assert!(size_of::<Entry>() as u64 == BYTES_OF_ENTRY);

/// The flowlets of a switch, by a hash of flow and destination rack.
#[derive(Debug)]
pub(crate) struct FlowletTable {
    entries: Box<[Entry]>,
    gap: Span,
    aging: Span,
    salt: u64,
    /// By flow: the one in whose place it stands. None if each stands for itself.
    first_of_pairs: Option<Arc<[FlowId]>>,
    /// By port.
    counters: Vec<FlowletCounters>,
}

impl FlowletTable {
    /// With so many entries, this gap and aging.
    pub(crate) fn new((entries, gap, aging): (u32, Span, Span), salt: u64, site: &RoutingSite) -> Self {
        Self {
            entries: vec![Entry { last: Time::ZERO, port: NONE }; entries as usize].into(),
            gap,
            aging,
            salt,
            first_of_pairs: site.first_of_pairs.clone(),
            counters: vec![FlowletCounters::default(); site.ports],
        }
    }

    /// The port of a packet. `begin` chooses one if it begins a flowlet, and knows the port of the last one of its flow, if it has one
    /// that still leads there.
    #[inline]
    pub(crate) fn choose(&mut self, fork: &Fork<'_>, begin: impl FnOnce(Option<u16>) -> u16) -> u16 {
        let &Fork { now, ports, .. } = fork;
        if let [port] = ports {
            return *port;
        }
        let place = self.place(fork.flow, fork.leaf);
        let entry = &mut self.entries[place];
        let idle = now.saturating_since(entry.last);
        entry.last = now;
        let before = (idle <= self.aging && ports.contains(&entry.port)).then_some(entry.port);
        if let Some(port) = before.filter(|_| idle <= self.gap) {
            return port;
        }
        let port = begin(before);
        entry.port = port;
        let counters = &mut self.counters[usize::from(port)];
        counters.flowlets += 1;
        counters.moves += u64::from(before.is_some_and(|before| before != port));
        port
    }

    pub(crate) fn counters(&self, port: usize) -> FlowletCounters {
        self.counters[port]
    }

    /// The entry of a flow to a leaf.
    #[inline]
    fn place(&self, flow: FlowId, leaf: u32) -> usize {
        let flow = self.first_of_pairs.as_deref().map_or(flow, |first| leader_of(flow, first));
        member_of(flow, self.salt ^ u64::from(leaf) << 32, self.entries.len() as u32) as usize
    }
}
