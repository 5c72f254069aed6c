//! Counters of RackCC.

use crate::record::{counters, sum};

counters! {
    #[derive(Eq)]
    /// Counters of the switches of racks and their hosts for JumboFlows (RackCC).
    pub struct RackRecord {
        /// Subflows registered.
        pub registered: u64 = sum,
        /// Those that hosts took back.
        pub unregistered: u64 = sum,
        /// Those that were forgotten, because nothing was seen of them for too long or their client had another.
        pub expired: u64 = sum,
        /// Subflows counted again when they sent without being registered.
        pub late: u64 = sum,
        /// Times a subflow found no room in the table.
        pub refused: u64 = sum,
        /// Messages of switches about JumboFlows, and about queues.
        pub broadcasts: u64 = sum,
        /// See [`broadcasts`](Self::broadcasts).
        pub reports: u64 = sum,
        /// Messages of hosts about the rate they have room for.
        pub advertisements: u64 = sum,
        /// Subflows registered when the run ended.
        pub left: u64 = sum,
    }
}
