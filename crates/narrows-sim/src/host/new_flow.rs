//! A flow that starts, and the part of its record that its transport does not count.

use narrows_proto::units::{Bytes, Time};

use super::sending::Done;
use crate::ids::FlowId;
use crate::record::FlowRecord;

/// Who started a flow and waits for its end, by number at the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Starter {
    Generator(u32),
    Rank(u32),
}

/// A flow about to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFlow {
    pub(crate) flow: FlowId,
    pub(crate) incarnation: u64,
    pub(crate) size: Bytes,
    /// When it was to start; its completion time counts from then.
    pub(crate) start: Time,
    pub(crate) starter: Option<Starter>,
}

/// A flow that has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) flow: FlowId,
    pub(crate) incarnation: u64,
    size: Bytes,
    /// Who waits for its end.
    pub(super) starter: Option<Starter>,
    start: Time,
    /// Payload delivered when the measured time began, and when it ended, or [`Bytes::MAX`] as long as it has not.
    before_measured: Bytes,
    until_measured: Bytes,
}

impl Started {
    pub(super) fn new(new: &NewFlow) -> Self {
        let &NewFlow { flow, incarnation, size, start, starter } = new;
        Self {
            flow,
            incarnation,
            size,
            starter,
            start,
            before_measured: Bytes::ZERO,
            until_measured: Bytes::MAX,
        }
    }

    pub(super) fn size(&self) -> Bytes {
        self.size
    }

    /// The measured time begins.
    pub(super) fn measure_from(&mut self, delivered: Bytes) {
        self.before_measured = delivered;
    }

    /// The measured time ends.
    pub(super) fn measure_until(&mut self, delivered: Bytes) {
        self.until_measured = delivered;
    }

    pub(super) fn record(&self, done: Done) -> FlowRecord {
        let Done { delivered, stats, again } = done;
        FlowRecord {
            flow: self.flow,
            incarnation: self.incarnation,
            size: self.size,
            start: self.start,
            again,
            end: None,
            delivered,
            delivered_measured: self.until_measured.min(delivered).saturating_sub(self.before_measured),
            stats,
        }
    }
}
