//! The queue of a host in front of its network card: flows enqueue packets ahead of its link, each up to its limit.

use narrows_proto::stream::Holding;
use narrows_proto::units::Time;

use super::Host;
use super::sending::Sending;
use crate::observe::Observer;
use crate::packet::{Parcel, Trailers};
use crate::world::World;

impl Host {
    /// Flows enqueue what they may send.
    #[inline(never)]
    pub(super) fn enqueue_all<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        while self.take_turn::<true, true, O>(now, world) {}
    }

    /// Enqueues a packet of what sends from `slot`.
    pub(super) fn enqueue(&mut self, slot: u32, parcel: Parcel<'_>) {
        self.enqueued.add(slot);
        // While it waits, its time of arrival says whose it is.
        let packet = parcel.packet.arriving(Time::from_ps(slot.into()));
        self.senders.nic.push_ready(parcel.with(packet));
    }

    /// The flow whose turn it is has as much in the queue as it may, and leaves its place in the line.
    pub(super) fn holds_up<O>(&mut self, now: Time, slot: u32, world: &World<O>) -> bool {
        let Some(queues) = &world.shared.small_queues else { return false };
        let packets = self.enqueued.packets(slot);
        let Some(outgoing) = self.senders.outgoing.get_mut(slot) else { return false };
        if packets == 0 || self.senders.nic.is_in_burst() || outgoing.is_over() {
            return false;
        }
        let group = &world.shared.groups[outgoing.group as usize];
        let most = outgoing.source.handed(group).map_or(0, |last| queues.may_wait(&last));
        let is_full = u64::from(packets) > most;
        if is_full {
            // The window is looked at first: where it is full it is used up, whatever waits here.
            outgoing.source.hold(group, now, Holding { app_limited: false, validate_window: true });
            self.senders.nic.retire::<true>(&mut self.senders.outgoing);
            self.enqueued.hold_up(slot);
        }
        is_full
    }

    /// Sends the first packet of the queue, and lets its flow go on.
    pub(super) fn dequeue<O: Observer>(&mut self, now: Time, slots: &mut Trailers, world: &mut World<O>) {
        let Some(packet) = self.pop_ready(slots) else { return };
        self.senders.nic.send(now, Parcel { packet, trailers: slots }, world);
        // Acknowledgments have no time of arrival, and are nobody's.
        let Ok(slot) = u32::try_from(packet.at().as_ps()) else { return };
        if self.enqueued.leave(slot) {
            self.senders.activate(slot, world);
            self.enqueue_all(now, world);
        }
    }
}
