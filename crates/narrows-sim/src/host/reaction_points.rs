//! The reaction points of a host: its limiters, and who uses them.

use std::collections::VecDeque;

use narrows_proto::stream::Segment;
use narrows_proto::units::{BitRate, Time};

use super::outgoing::Hold;
use crate::ids::{FlowId, HostId, NodeId};
use crate::mechanism::limiter::{Limiters, Reaction};
use crate::record::ReactionRecord;
use crate::world::NO_SLOT;

/// The reaction points of a host.
#[derive(Debug)]
pub(super) struct ReactionPoints {
    pub(super) node: NodeId,
    pub(super) line_rate: BitRate,
    pub(super) limiters: Limiters,
    /// By place of a limiter.
    pub(super) users: Vec<Users>,
    pub(super) record: ReactionRecord,
}

/// Who uses a limiter.
#[derive(Debug)]
pub(super) struct Users {
    /// The slot of the limiter itself.
    pub(super) slot: u32,
    /// The earliest entry of the agenda for the timer of its reaction point. Its packets have entries of their own, which
    /// come and go much faster.
    pub(super) timer: Time,
    /// Slots of flows that wait for room in its queue, longest first. Those of flows that have ended may be among them.
    pub(super) line: VecDeque<u32>,
}

/// Whether a limiter or a governed flow has another packet to send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    GoesOn,
    /// It has one of the same burst.
    InBurst,
    /// The agenda knows when it has.
    Over,
}

impl Turn {
    /// Of a flow that has just sent `segment` and may go on.
    pub(super) fn after(segment: &Segment) -> Self {
        if segment.goes_on { Self::InBurst } else { Self::GoesOn }
    }
}

impl Default for Users {
    fn default() -> Self {
        Self { slot: NO_SLOT, timer: Time::NEVER, line: VecDeque::new() }
    }
}

impl ReactionPoints {
    pub(super) fn new(config: &Reaction, line_rate: BitRate, node: NodeId, seed: u64) -> Self {
        let limiters = Limiters::new(config, seed, node.0);
        Self { node, line_rate, limiters, users: Vec::new(), record: ReactionRecord::default() }
    }

    /// The limiter that a new flow passes through, if there is one.
    pub(super) fn hold_of(&self, flow: FlowId, from: HostId, to: HostId, priority: u8) -> Hold {
        if self.limiters.is_empty() {
            return Hold::Nothing;
        }
        let key = self.limiters.scope().key(flow, from, to, priority);
        self.limiters.find(key).map_or(Hold::Nothing, Hold::Limiter)
    }
}
