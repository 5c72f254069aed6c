use narrows_proto::units::Time;

use crate::packet::{Packet, Trailers};
use crate::ring::Ring;

const PRIORITIES: usize = 8;

/// A queue for each priority; the highest goes first.
#[derive(Debug, Default)]
pub(super) struct ScheduledQueue {
    /// When the packet on the wire has been sent.
    pub(super) busy_until: Time,
    queues: [Ring<Packet>; PRIORITIES],
    backlogs: [u64; PRIORITIES],
    /// A bit for each queue that is not empty.
    occupied: u8,
}

impl ScheduledQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// A packet that arrives now can be sent at once.
    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now && self.is_empty()
    }

    /// Bytes that wait with this priority.
    pub(super) fn backlog(&self, priority: u8) -> u64 {
        self.backlogs[usize::from(priority)]
    }

    /// Bytes that wait.
    pub(super) fn total(&self) -> u64 {
        self.backlogs.iter().sum()
    }

    pub(super) fn push(&mut self, packet: Packet, trailers: &Trailers) {
        let priority = usize::from(packet.priority);
        self.queues[priority].push_with(packet, trailers);
        self.backlogs[priority] += u64::from(packet.size);
        self.occupied |= 1 << priority;
    }

    /// The packet to send next, which must exist.
    pub(super) fn pop(&mut self, trailers: &mut Trailers) -> Packet {
        let priority = 7 - self.occupied.leading_zeros() as usize;
        let packet = self.queues[priority].pop(trailers);
        self.backlogs[priority] -= u64::from(packet.size);
        if self.queues[priority].is_empty() {
            self.occupied &= !(1 << priority);
        }
        packet
    }
}
