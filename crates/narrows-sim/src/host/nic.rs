use narrows_proto::units::{Span, Time};

use crate::ids::LinkId;
use crate::link::Egress;
use crate::observe::{Observer, PacketRef};
use crate::packet::{Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::world::World;

const PRIORITIES: usize = 8;

/// The network card: sends acknowledgements first, then takes flows of the highest priority in turn.
///
/// Flows do not queue packets here. When the link is free the card asks the next flow for one, so a flow's window and
/// pacing are looked at when the packet leaves. Flows share the link byte by byte (deficit round robin, Shreedhar &
/// Varghese 1996).
#[derive(Debug)]
pub(crate) struct Nic {
    egress: Egress,
    /// When the link is free, or may be used again.
    pub(crate) busy_until: Time,
    /// Before the last PAUSE frame: when the link would have been free.
    free_at: Time,
    paused_until: Time,
    /// Packets that are ready to go.
    ready: Ring<Packet>,
    /// Slots of senders that may have something to send, by priority.
    active: [Queue; PRIORITIES],
    /// A bit for each queue of `active` that is not empty and whose priority the switch has not stopped.
    occupied: u8,
    /// The same for priorities that it has stopped.
    held: u8,
    /// A bit for each priority that it has stopped.
    stopped: u8,
}

/// A queue of slots. Each slot keeps the number of the next.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    first: u32,
    last: u32,
}

/// What the card keeps in the slot of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// It stands in a queue.
    pub(crate) queued: bool,
    /// A mechanism has taken it out of its queue.
    pub(crate) parked: bool,
    /// Who comes after it, unless it is the last.
    next: u32,
    /// Bytes it may still send in this turn.
    deficit: i32,
}

/// Where the card finds the places of senders.
pub(crate) trait Places {
    fn place(&mut self, slot: u32) -> &mut Place;
}

impl Nic {
    pub(crate) fn new(egress: Egress) -> Self {
        Self {
            egress,
            busy_until: Time::ZERO,
            free_at: Time::ZERO,
            paused_until: Time::ZERO,
            ready: Ring::default(),
            active: Default::default(),
            occupied: 0,
            held: 0,
            stopped: 0,
        }
    }

    /// The link it sends over.
    pub(crate) fn link(&self) -> LinkId {
        self.egress.link
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.occupied != 0 || !self.ready.is_empty()
    }

    #[inline]
    pub(crate) fn push_ready(&mut self, parcel: Parcel<'_>) {
        self.ready.push_with(parcel);
    }

    #[inline]
    pub(crate) fn pop_ready(&mut self, trailers: &mut Trailers) -> Option<Packet> {
        if self.ready.is_empty() { None } else { Some(self.ready.pop(trailers)) }
    }

    /// Puts a sender that does not stand in a queue at the end of one.
    #[inline]
    pub(crate) fn activate(&mut self, priority: u8, slot: u32, places: &mut impl Places) {
        let queue = &mut self.active[usize::from(priority)];
        let bit = 1 << priority;
        if (self.occupied | self.held) & bit == 0 {
            queue.first = slot;
            self.occupied |= bit & !self.stopped;
            self.held |= bit & self.stopped;
        } else {
            places.place(queue.last).next = slot;
        }
        queue.last = slot;
        places.place(slot).queued = true;
    }

    /// A bit for each priority that a sender stands in the queue of.
    pub(crate) fn occupied(&self) -> u8 {
        self.occupied | self.held
    }

    /// The switch has stopped these priorities, and no others.
    pub(crate) fn stop(&mut self, priorities: u8) {
        let occupied = self.occupied();
        self.stopped = priorities;
        (self.occupied, self.held) = (occupied & !priorities, occupied & priorities);
    }

    /// The sender whose turn it is.
    #[inline]
    pub(crate) fn turn(&self) -> Option<u32> {
        let highest = 7_u32.checked_sub(self.occupied.leading_zeros())?;
        Some(self.active[highest as usize].first)
    }

    /// The sender whose turn it is has sent a packet of `size`. When it has sent its share, the next has its turn.
    #[inline]
    pub(crate) fn charge(&mut self, size: u16, quantum: i32, places: &mut impl Places) {
        let highest = 7 - self.occupied.leading_zeros();
        let queue = &mut self.active[highest as usize];
        let place = places.place(queue.first);
        place.deficit -= i32::from(size);
        if place.deficit > 0 {
            return;
        }
        place.deficit += quantum;
        if queue.first != queue.last {
            let (slot, next) = (queue.first, place.next);
            places.place(queue.last).next = slot;
            *queue = Queue { first: next, last: slot };
        }
    }

    /// The sender whose turn it is leaves its queue.
    #[inline]
    pub(crate) fn retire(&mut self, places: &mut impl Places) {
        let highest = 7 - self.occupied.leading_zeros();
        let queue = &mut self.active[highest as usize];
        let place = std::mem::take(places.place(queue.first));
        if queue.first == queue.last {
            self.occupied &= !(1 << highest);
        } else {
            queue.first = place.next;
        }
    }

    /// A PAUSE frame arrived: nothing is sent for this time. What is being sent is not cut off.
    pub(crate) fn pause(&mut self, now: Time, pause: Span) {
        // Of a link that is paused already it is known when it would have been free.
        if self.paused_until <= now {
            self.free_at = self.busy_until;
        }
        self.paused_until = now + pause;
        self.busy_until = self.free_at.max(self.paused_until);
    }

    /// When a packet that is sent now has left.
    #[inline]
    pub(crate) fn sent_at(&self, now: Time, packet: Packet) -> Time {
        now + self.egress.wire_time.of(packet.size())
    }

    /// Sends a packet. The link must be free.
    #[inline]
    pub(crate) fn send<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        debug_assert!(self.busy_until <= now);
        self.busy_until = self.sent_at(now, packet);
        world.observer.sent(now, self.egress.link, packet.size());
        world.observer.departs(now, self.egress.link, PacketRef::new(parcel));
        world.carry(self.egress.to, parcel.with(packet.arriving(self.busy_until + self.egress.delay)));
    }
}
