//! Counters of DualPI2.

use crate::record::{counters, max, sum};

counters! {
    #[derive(Eq)]
    /// Packets that left the two queues of a port.
    pub struct DualPi2Counters {
        /// From L, dropped or not.
        pub l4s: u64 = sum,
        /// Of those, marked.
        pub l4s_marks: u64 = sum,
        /// Of those, dropped for overload.
        pub l4s_drops: u64 = sum,
        /// From C, dropped or not.
        pub classic: u64 = sum,
        /// Of those, marked.
        pub classic_marks: u64 = sum,
        /// Of those, dropped.
        pub classic_drops: u64 = sum,
        /// The most bytes that ever waited in L.
        pub max_l4s: u64 = max,
    }
}
