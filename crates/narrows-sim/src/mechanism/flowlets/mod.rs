//! Flowlets (LetFlow): a flow that has paused for longer than paths differ may take another path without reordering.
//!
//! ```text
//! entry     the one that a hash of flow and destination rack names, with a salt of each switch:
//!           when its last packet came, and the port that took
//! flowlet   ends when no packet of the entry has come for longer than the gap
//! choice    the next packet begins a flowlet, on a port at random; all that follow take the same
//! aging    an entry without packets for this long is forgotten
//! ```
//! Congestion moves flowlets by itself: on a slow path packets and acknowledgments come with more gaps, so flows leave it more often than
//! a fast one (Vanini et al., NSDI 2017).
//!
//! If the gap exceeds the difference of the delays of two paths, queues included, no packet overtakes another: the last one of a flowlet
//! has arrived before the first one of the next can. The default, 100 us, and the 2 ms of aging are those of the code of
//! ConWeave's authors; 500 us are usual in papers.
//!
//! Flows that share an entry of the table share flowlets, and pause together. Switches keep no list of flows, so the table is bounded.
//!
//! Differs from switches that age entries with a bit that a timer clears, so that a gap is between one and two periods: here it is exact.
//!
//! Differs from LetFlow: an entry whose port leads there no longer, after a failure or for another destination of the same entry, is
//! taken as a new one.

mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use self::settings::{BYTES_OF_ENTRY, Flowlets, MOST_ENTRIES, check_table};
pub use self::table::FlowletCounters;
pub(crate) use self::table::FlowletTable;
use super::at_routing::{AtRouting, Fork, RoutingSite};
use crate::random::{Purpose, Stream};
use crate::record::PortCounters;

/// Documentation of its module.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("mod.rs")];

/// Flowlets at a switch.
#[derive(Debug)]
pub(crate) struct FlowletSwitching {
    table: FlowletTable,
    random: Stream,
}

impl FlowletSwitching {
    pub(crate) fn new(settings: &Flowlets, site: &RoutingSite) -> Self {
        let mut random = Stream::new(site.seed, Purpose::Flowlets, site.node.0.into());
        let &Flowlets { gap, table, aging } = settings;
        Self { table: FlowletTable::new((table, gap, aging), random.bits(), site), random }
    }
}

impl AtRouting for FlowletSwitching {
    fn choose(&mut self, fork: &Fork<'_>, _: impl FnMut(u16) -> u64) -> u16 {
        let random = &mut self.random;
        self.table.choose(fork, |_| fork.ports[random.below(fork.ports.len() as u64) as usize])
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.flowlets = self.table.counters(port);
    }
}
