//! Execution of a run, its end, and reports on the way.

use std::ops::ControlFlow;

use narrows_proto::units::Time;

/// Settings of the execution of a run. None of them changes its results.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// Threads that share the nodes.
    pub threads: usize,
    /// Windows are made this much shorter than they may be, for tests of the engine.
    pub window_divisor: u64,
}

impl Default for Execution {
    fn default() -> Self {
        Self { threads: 1, window_divisor: 1 }
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// At this time at the latest; what happens at this very moment still counts.
    pub at: Time,
    /// As soon as every flow is complete and no generator will start another.
    pub when_drained: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets that arrived at some node so far, in all threads.
    pub packet_hops: u64,
}

/// Function that is called with the progress of a run, and may end it early.
pub trait OnProgress: FnMut(Progress) -> ControlFlow<()> + Send {}

impl<F: FnMut(Progress) -> ControlFlow<()> + Send> OnProgress for F {}
