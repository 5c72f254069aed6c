use std::ops::Add;

use narrows_proto::units::{Span, Time};

use crate::ids::LinkId;
use crate::link::Egress;
use crate::observe::{Observer, PacketRef};
use crate::packet::{Packet, Parcel, Trailers};
use crate::path::NO_LINE;
use crate::ring::Ring;
use crate::world::World;

const PRIORITIES: usize = 8;

/// The network card: sends acknowledgments first, then takes flows of the highest priority in turn.
///
/// When the link is free the card asks the next flow for a packet, so a flow's window and pacing are looked at when the packet leaves, and
/// nothing of it waits here; unless the host has a queue (`small_queues.rs`), whose packets are among those that are ready. Flows share the
/// link byte by byte (deficit round robin, Shreedhar & Varghese 1996).
///
/// A burst of a sender with segmentation offload leaves whole: nothing goes between its packets, unless the switch stops them. It is
/// charged whole, so that its flow is passed over until the others have had as much (`credit` of `sch_fq` in Linux). Without a queue a
/// flow never has more here than the rest of one burst.
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
    /// The bit of the priority whose first sender is in the middle of a burst, if one is.
    burst: u8,
}

/// A queue of slots. Each slot keeps the number of the next.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    /// The turn of the first is over. One that is alone owes nothing to anybody.
    #[inline]
    fn pass_on(&mut self, quantum: i32, places: &mut impl Places) {
        let place = places.place(self.first);
        place.deficit += quantum;
        if self.first == self.last {
            place.deficit = place.deficit.max(0);
        } else {
            let (slot, next) = (self.first, place.next);
            places.place(self.last).next = slot;
            *self = Self { first: next, last: slot };
        }
    }
}

/// State of the card in the slot of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// It stands in a queue.
    pub(crate) queued: bool,
    /// A mechanism has taken it out of its queue.
    pub(crate) parked: bool,
    /// It joins at the head the first time.
    pub(crate) joins_at_head: bool,
    /// Who comes after it, unless it is the last.
    next: u32,
    /// Bytes it may still send in this turn. Below zero it has sent too much.
    deficit: i32,
}

impl Place {
    /// It has sent more than its share.
    #[inline]
    pub(super) fn owes(&self) -> bool {
        self.deficit < 0
    }

    /// In no queue.
    pub(super) fn new(joins_at_head: bool) -> Self {
        Self { joins_at_head, ..Self::default() }
    }
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
            burst: 0,
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

    /// Puts a sender that does not stand in a queue at the end of one, or at its head if it is new and joins there.
    #[inline]
    pub(crate) fn activate(&mut self, priority: u8, slot: u32, places: &mut impl Places) {
        let queue = &mut self.active[usize::from(priority)];
        let bit = 1 << priority;
        if (self.occupied | self.held) & bit == 0 {
            queue.first = slot;
            self.occupied |= bit & !self.stopped;
            self.held |= bit & self.stopped;
        } else if places.place(slot).joins_at_head {
            *places.place(slot) = Place { queued: true, next: queue.first, ..Place::default() };
            queue.first = slot;
            return;
        } else {
            places.place(queue.last).next = slot;
        }
        queue.last = slot;
        let place = places.place(slot);
        (place.queued, place.joins_at_head) = (true, false);
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

    /// It is in the middle of a burst that may go on.
    #[inline]
    pub(super) fn is_in_burst(&self) -> bool {
        self.occupied & self.burst != 0
    }

    /// The priority that is served: that of the burst under way, the highest otherwise.
    #[inline]
    fn served<const BURSTS: bool>(&self) -> Option<u32> {
        let bits = if BURSTS && self.is_in_burst() { self.burst } else { self.occupied };
        7_u32.checked_sub(bits.leading_zeros())
    }

    /// The sender whose turn it is.
    #[inline]
    pub(super) fn turn<const BURSTS: bool>(&self) -> Option<u32> {
        Some(self.active[self.served::<BURSTS>()? as usize].first)
    }

    /// The sender whose turn comes after the next one, if it waits already.
    pub(super) fn turn_after_next<const BURSTS: bool>(&self, places: &mut impl Places) -> Option<u32> {
        let Queue { first, last } = self.active[self.served::<BURSTS>()? as usize];
        let next = if first == last { return None } else { places.place(first).next };
        if next == last { None } else { Some(places.place(next).next) }
    }

    /// The queue of the sender whose turn it is, and the bit of its priority.
    #[inline]
    fn serve<const BURSTS: bool>(&mut self) -> (&mut Queue, u8) {
        let served = self.served::<BURSTS>().expect("somebody has the turn");
        (&mut self.active[served as usize], 1 << served)
    }

    /// The sender whose turn it is has sent a packet of `size`. When it has sent its share, the next has its turn; not in the middle
    /// of a burst that `goes_on`.
    #[inline]
    pub(super) fn charge<const BURSTS: bool>(
        &mut self,
        size: u16,
        goes_on: bool,
        quantum: i32,
        places: &mut impl Places,
    ) {
        debug_assert!(BURSTS || !goes_on);
        let (queue, bit) = self.serve::<BURSTS>();
        let place = places.place(queue.first);
        place.deficit -= i32::from(size);
        let stays = BURSTS && goes_on || place.deficit > 0;
        if !stays {
            queue.pass_on(quantum, places);
        }
        if BURSTS {
            self.burst = if goes_on { bit } else { 0 };
        }
    }

    /// The sender whose turn it is has sent more than its share and begins nothing new, if there are others. Returns whether there
    /// are.
    #[cold]
    pub(super) fn passes_on(&mut self, quantum: i32, places: &mut impl Places) -> bool {
        let in_burst = self.is_in_burst();
        let (queue, _) = self.serve::<true>();
        if in_burst || queue.first == queue.last {
            return false;
        }
        queue.pass_on(quantum, places);
        true
    }

    /// The sender whose turn it is leaves its queue.
    #[inline]
    pub(crate) fn retire<const BURSTS: bool>(&mut self, places: &mut impl Places) {
        let (queue, bit) = self.serve::<BURSTS>();
        let place = places.place(queue.first);
        let next = place.next;
        // What it has sent beyond its share it owes the others when it comes back.
        *place = Place { deficit: place.deficit.min(0), ..Place::default() };
        if queue.first == queue.last {
            self.occupied &= !bit;
        } else {
            queue.first = next;
        }
        if BURSTS {
            self.burst = 0;
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

    /// Time for which the link will be busy with the packet on it and those that are ready.
    pub(crate) fn backlog(&self, now: Time) -> Span {
        let ready = self.ready.iter().map(|packet| self.egress.wire_time.of(packet.size()));
        ready.fold(self.busy_until.max(now) - now, Add::add)
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
        if self.egress.line != NO_LINE {
            self.busy_until = world.send_over(self.egress.line, now, parcel.packet, parcel.trailers);
            return;
        }
        self.busy_until = self.sent_at(now, packet);
        world.observer.sent(now, self.egress.link, packet.size());
        world.observer.departs(now, self.egress.link, PacketRef::new(parcel));
        world.carry(self.egress.to, parcel.with(packet.arriving(self.busy_until + self.egress.delay)));
    }
}
