//! Arrivals at a host, and who takes them.

use narrows_proto::units::Time;

use super::Host;
use super::sending::Sending;
use crate::mechanism::at_host::AtHost;
use crate::mechanism::registry::each;
use crate::observe::Observer;
use crate::packet::{Control, Kind, Packet, Parcel, Trailers};
use crate::world::World;

impl Host {
    #[inline]
    pub(super) fn take_arrival<O: Observer>(
        &mut self,
        now: Time,
        slots: &mut Trailers,
        world: &mut World<O>,
    ) {
        if self.is_crowded() {
            self.prefetch_next(world);
        }
        let ring = &mut world.wires.wires[self.wire].ring;
        let packet = ring.pop(slots);
        let parcel = Parcel { packet, trailers: slots };
        world.wires.heads[self.wire] = ring.front_at();
        world.hops += 1;
        if self.watched {
            if self.impaired && !world.survives(self.wire, parcel) {
                return;
            }
            if let Some(mechanisms) = &mut self.mechanisms {
                mechanisms.on_arrival(packet.size());
            }
            if self.outside.is_some() {
                return self.hand_out(now, parcel, world);
            }
            if self.waits_for_interrupt(now, parcel, world) {
                return;
            }
        }
        self.hand_over(now, parcel, world);
    }

    /// The stack gets a packet.
    #[inline(always)]
    pub(super) fn hand_over<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        match packet.kind() {
            Kind::Data | Kind::Syn => self.on_segment(now, parcel, world),
            Kind::Ack => self.on_ack(now, parcel, world),
            kind => self.take_other(now, kind, parcel, world),
        }
    }

    /// A packet arrived that is neither data nor an acknowledgment of a connection.
    #[inline(never)]
    fn take_other<O: Observer>(&mut self, now: Time, kind: Kind, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        match kind {
            Kind::Data | Kind::Syn | Kind::Ack => unreachable!("the caller has taken these"),
            Kind::SynAck => self.on_syn_ack(now, parcel, world),
            Kind::Datagram => self.on_datagram(now, packet, world),
            Kind::Trimmed => self.on_trimmed(now, parcel, world),
            Kind::Control(control) => self.on_control(now, control, parcel, world),
            Kind::Limited => {
                self.take_limited(now, parcel.with(packet.untagged(world.shared.tag_size)), world);
            }
        }
    }

    /// A message or frame arrived.
    pub(super) fn on_control<O: Observer>(
        &mut self,
        now: Time,
        control: Control,
        parcel: Parcel<'_>,
        world: &mut World<O>,
    ) {
        if !self.is_read_later(now, parcel.packet, world) {
            self.read_control(now, control, parcel, world);
        }
    }

    /// Reads a message or frame.
    pub(super) fn read_control<O: Observer>(
        &mut self,
        now: Time,
        control: Control,
        parcel: Parcel<'_>,
        world: &mut World<O>,
    ) {
        match control {
            Control::Cnp => self.on_cnp(now, parcel.packet, world),
            Control::Grant => self.on_grant(parcel.packet, world),
            _ => {
                self.ask(
                    now,
                    world,
                    |all, at| each!(all, mechanism => mechanism.on_control(at, control, parcel)),
                );
            }
        }
    }

    /// The answer to a SYN arrived.
    fn on_syn_ack<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_syn_ack(at, parcel)));
        self.on_ack(now, Parcel::bare(parcel.packet.with_trailers(0)), world);
    }

    /// A packet from a limiter, without its tag.
    fn take_limited<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        match parcel.packet.kind() {
            Kind::Datagram => self.on_datagram(now, parcel.packet, world),
            _ => self.on_segment(now, parcel, world),
        }
    }

    /// A congestion notification packet arrived.
    fn on_cnp<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let slot = world.flows.senders[packet.flow().index()];
        let Some(outgoing) =
            self.senders.outgoing.get_mut(slot).filter(|outgoing| outgoing.accepts(packet.incarnation()))
        else {
            return; // it was complete already
        };
        if outgoing.source.on_cnp(now) {
            if let Some(seen) = outgoing.source.as_seen() {
                world.observer.window(now, outgoing.of.flow, seen);
            }
            self.senders.attend(slot, world);
        }
    }
}
