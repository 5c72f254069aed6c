//! Flows of a host that wait for others.

use narrows_proto::units::Time;

/// A flow that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Its number among those of the run.
    pub(super) number: u32,
    /// So much more has to happen.
    pub(super) missing: u32,
    pub(super) until: Time,
    /// It has started, or never will.
    pub(super) over: bool,
}
