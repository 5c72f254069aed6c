//! Counters of isolation.

use crate::record::{counters, max, sum};

counters! {
    #[derive(Eq)]
    /// Events at the congested queue of a port.
    pub struct IsolationCounters {
        /// Number of times that the port got one, and that it went again.
        pub allocated: u64 = sum,
        /// See [`allocated`](Self::allocated).
        pub freed: u64 = sum,
        /// Flows that were isolated, and how often one could not be for want of room in the table.
        pub flows: u64 = sum,
        /// See [`flows`](Self::flows).
        pub refused: u64 = sum,
        /// Messages to the neighbor about flows that are to be isolated, or no longer.
        pub messages: u64 = sum,
        /// The most bytes of isolated flows that ever waited.
        pub max_backlog: u64 = max,
    }
}
