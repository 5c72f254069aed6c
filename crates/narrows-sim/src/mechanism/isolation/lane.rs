//! State of one port, and of one link that leads to the switch.

use narrows_proto::units::Time;

use super::IsolationCounters;
use super::naming::Census;
use super::order::{OrderTokens, Side};
use crate::ids::LinkId;
use crate::packet::Packet;

/// Instead of a link: the neighbor was never notified.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A flow and its destination, so that acknowledgments are not their data.
pub(super) fn key(packet: Packet) -> u64 {
    u64::from(packet.flow().0) | u64::from(packet.to().0) << 32
}

/// Flows that are isolated at a port.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) keys: Vec<u64>,
    pub(super) entries: Vec<Entry>,
}

/// A flow that is isolated at a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// A neighbor downstream has named it, and has not taken that back.
    pub(super) downstream: bool,
    /// Number of times that the neighbor it comes from was notified, since it last came isolated.
    pub(super) notified: u8,
    /// When it was notified last.
    pub(super) notified_at: Time,
    /// The link it comes over, once it was notified.
    pub(super) from: u32,
}

/// The congested queue of a port, which exists while flows are in its table.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) tokens: OrderTokens,
    pub(super) table: Table,
    /// Who waits in the two queues, if flows are named by that.
    pub(super) census: Option<Box<Census>>,
    /// Bytes that isolated flows may send before the others.
    pub(super) credit: f64,
    /// When it will be looked whether the queue is still needed, if that is planned.
    pub(super) look_at: Option<Time>,
    /// The port has been congested since the queue was allocated.
    pub(super) was_congested: bool,
    /// When the queue was last empty and became so, for the life of its flows.
    pub(super) empty_since: Time,
    pub(super) counters: IsolationCounters,
}

/// Input to congested queues over one link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Input {
    pub(super) link: LinkId,
    /// The port that leads back over it.
    pub(super) back: usize,
    /// The node at its other end takes messages.
    pub(super) listens: bool,
    pub(super) allocated: bool,
    pub(super) stored: u64,
    /// The part of `stored` that came isolated, so that a stop of that class stops more of it.
    pub(super) isolated: u64,
    pub(super) full: bool,
}

impl Lane {
    pub(super) fn has_downstream(&self) -> bool {
        self.table.entries.iter().any(|entry| entry.downstream)
    }

    /// A packet begins to wait.
    #[inline]
    pub(super) fn count(&mut self, packet: Packet) {
        if let Some(census) = &mut self.census {
            census.join(key(packet), packet.size().into());
        }
    }

    /// A packet waits no longer.
    #[inline]
    pub(super) fn count_off(&mut self, packet: Packet) {
        if let Some(census) = &mut self.census {
            census.leave(key(packet), packet.size().into());
        }
    }

    /// A packet left a queue. Returns whether the congested queue is gone with that.
    pub(super) fn leave(&mut self, side: Side) -> bool {
        let over = self.tokens.leave(side);
        if over {
            self.free();
        }
        over
    }

    pub(super) fn free(&mut self) {
        self.counters.freed += 1;
        self.credit = 0.0;
        self.was_congested = false;
    }
}
