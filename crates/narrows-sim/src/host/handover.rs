//! What has arrived at a real host and has not reached its software yet: packets that wait for an interrupt, and messages that software
//! reads later.

use std::collections::VecDeque;

use narrows_proto::units::{Span, Time};

use super::Host;
use super::agenda::Wake;
use crate::mechanism::hosts::{Interrupts, Lateness};
use crate::observe::Observer;
use crate::packet::{Control, NO_TRAILERS, Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::world::World;

/// What waits at a host that takes a while to notice.
#[derive(Debug)]
pub(super) struct Handover {
    pub(super) interrupts: Option<Interrupts>,
    software_delay: Span,
    /// For the interrupt, in order of arrival.
    waiting: Ring<Packet>,
    frames: u32,
    /// When the interrupt is due, if something waits.
    due: Time,
    /// For software, in order; each has the time at which it is read.
    messages: VecDeque<Packet>,
}

impl Handover {
    pub(super) fn new(lateness: Lateness) -> Self {
        let Lateness { interrupts, software_delay } = lateness;
        Self {
            interrupts,
            software_delay,
            waiting: Ring::default(),
            frames: 0,
            due: Time::NEVER,
            messages: VecDeque::new(),
        }
    }

    /// The next packet of the interrupt.
    fn take(&mut self, slots: &mut Trailers) -> Option<Packet> {
        if self.waiting.is_empty() {
            (self.frames, self.due) = (0, Time::NEVER);
            return None;
        }
        Some(self.waiting.pop(slots))
    }
}

impl Host {
    /// Keeps a packet that has just arrived until the interrupt. Returns false if it does not wait: frames of the neighbor are for
    /// the network card.
    pub(super) fn waits_for_interrupt<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel<'_>,
        world: &mut World<O>,
    ) -> bool {
        let Some(handover) = &mut self.handover else { return false };
        let Some(Interrupts { after, frames }) = handover.interrupts else { return false };
        if parcel.packet.control().is_some_and(Control::is_for_neighbor) {
            return false;
        }
        handover.waiting.push_with(parcel);
        handover.frames += 1;
        if frames.is_some_and(|frames| handover.frames >= frames) {
            self.interrupt(now, world);
        } else if handover.frames == 1 {
            handover.due = now + after;
            self.senders.agenda.plan(handover.due, Wake::Interrupt);
        }
        true
    }

    /// An interrupt may be due.
    pub(super) fn wake_for_interrupt<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        // What it was planned for may have been handed over early.
        if self.handover.as_ref().is_some_and(|handover| handover.due == now) {
            self.interrupt(now, world);
        }
    }

    /// Hands over all that has arrived.
    fn interrupt<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let mut slots = NO_TRAILERS;
        while let Some(packet) = self.handover.as_mut().and_then(|handover| handover.take(&mut slots)) {
            self.hand_over(now, Parcel { packet, trailers: &slots }, world);
        }
    }

    /// Keeps a message until software reads it. Returns false if it is read now.
    pub(super) fn is_read_later<O>(&mut self, now: Time, packet: Packet, world: &World<O>) -> bool {
        let Some(handover) = &mut self.handover else { return false };
        let group = || &world.shared.groups[world.shared.flows[packet.flow().index()].group.index()];
        let by_software = match packet.control() {
            Some(Control::Cnp) => true,
            // Reaction points stand in the network card.
            Some(Control::Cnm) => group().near_source.is_some(),
            _ => false,
        };
        if !by_software || handover.software_delay == Span::ZERO {
            return false;
        }
        let at = now + handover.software_delay;
        handover.messages.push_back(packet.arriving(at));
        self.senders.agenda.plan(at, Wake::Message);
        true
    }

    /// Software reads the message that is due.
    pub(super) fn read_message<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let Some(packet) = self.handover.as_mut().and_then(|handover| handover.messages.pop_front()) else {
            return;
        };
        debug_assert_eq!(packet.at(), now);
        if let Some(control) = packet.control() {
            self.read_control(now, control, Parcel::bare(packet), world);
        }
    }
}
