//! Counters of reaction points.

use crate::record::{counters, sum};

counters! {
    #[derive(Eq)]
    /// Counters of reaction points.
    pub struct ReactionRecord {
        /// Messages of congestion points that arrived.
        pub received: u64 = sum,
        /// Messages that asked a flow without a limiter to speed up.
        pub ignored: u64 = sum,
        /// Limiters made.
        pub limiters: u64 = sum,
        /// Packets that passed through a limiter.
        pub limited: u64 = sum,
        /// Packets marked because too much waited in their limiter.
        pub marked: u64 = sum,
    }
}
