use std::collections::VecDeque;

use narrows_proto::units::Time;

use crate::engine::World;
use crate::link::Egress;
use crate::observe::Observer;
use crate::packet::{Packet, Trailers};
use crate::record::PortCounters;
use crate::ring::Ring;

const PRIORITIES: usize = 8;

/// The network card: sends acknowledgements first, then takes flows of the highest priority in turn.
///
/// Flows do not queue packets here. When the link is free the card asks the next flow for one, so a flow's window and
/// pacing are looked at when the packet leaves. Flows share the link byte by byte (deficit round robin, Shreedhar &
/// Varghese 1996).
#[derive(Debug)]
pub(super) struct Nic {
    egress: Egress,
    pub(super) busy_until: Time,
    /// Packets that are ready to go.
    ready: Ring<Packet>,
    /// Slots of senders that may have something to send, by priority.
    active: [VecDeque<u32>; PRIORITIES],
    /// A bit for each list of `active` that is not empty.
    occupied: u8,
    pub(super) counters: PortCounters,
}

impl Nic {
    pub(super) fn new(egress: Egress) -> Self {
        Self {
            egress,
            busy_until: Time::ZERO,
            ready: Ring::default(),
            active: Default::default(),
            occupied: 0,
            counters: PortCounters::default(),
        }
    }

    pub(super) fn link(&self) -> crate::ids::LinkId {
        self.egress.link
    }

    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.occupied != 0 || !self.ready.is_empty()
    }

    #[inline]
    pub(super) fn push_ready(&mut self, packet: Packet, trailers: &Trailers) {
        self.ready.push_with(packet, trailers);
    }

    #[inline]
    pub(super) fn pop_ready(&mut self, trailers: &mut Trailers) -> Option<Packet> {
        if self.ready.is_empty() { None } else { Some(self.ready.pop(trailers)) }
    }

    #[inline]
    pub(super) fn activate(&mut self, priority: u8, slot: u32) {
        self.active[usize::from(priority)].push_back(slot);
        self.occupied |= 1 << priority;
    }

    /// The sender whose turn it is.
    #[inline]
    pub(super) fn turn(&self) -> Option<u32> {
        let highest = 7_u32.checked_sub(self.occupied.leading_zeros())?;
        self.active[highest as usize].front().copied()
    }

    /// The sender whose turn it is goes to the end of its list, or off it.
    #[inline]
    pub(super) fn end_turn(&mut self, stays: bool) {
        let highest = 7 - self.occupied.leading_zeros();
        let list = &mut self.active[highest as usize];
        let Some(slot) = list.pop_front() else { return };
        if stays {
            list.push_back(slot);
        } else if list.is_empty() {
            self.occupied &= !(1 << highest);
        }
    }

    /// Sends a packet. The link must be free.
    #[inline]
    pub(super) fn send<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        debug_assert!(self.busy_until <= now);
        self.busy_until = now + self.egress.wire_time.of(packet.size);
        self.counters.packets += 1;
        self.counters.bytes += u64::from(packet.size);
        world.observer.sent(now, self.egress.link, packet.size);
        world.carry(&self.egress, self.busy_until, packet);
    }
}
