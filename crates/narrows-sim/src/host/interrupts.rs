//! When a real host notices what has arrived: interrupts, and messages that software reads later.

use narrows_proto::units::{Span, Time};

use super::Host;
use super::agenda::Wake;
use crate::mechanism::hosts::Interrupts;
use crate::observe::Observer;
use crate::packet::{Control, NO_TRAILERS, Packet, Parcel};
use crate::world::World;

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
