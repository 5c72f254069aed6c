//! Whose turn it is at the link of a host: what is ready goes first, then flows.

use narrows_proto::stream::Poll;
use narrows_proto::units::Time;

use super::Host;
use super::nic::Places;
use super::senders::Senders;
use crate::mechanism::at_host::Turn;
use crate::mechanism::flow::Line;
use crate::observe::Observer;
use crate::packet::{Packet, Parcel, Trailers};
use crate::world::World;

impl Host {
    /// Sends one packet, if any flow has one to send. Without segmentation offload there are no bursts to look for.
    #[inline]
    pub(super) fn fill_link<const BURSTS: bool, O: Observer>(
        &mut self,
        now: Time,
        slots: &mut Trailers,
        world: &mut World<O>,
    ) {
        let in_burst = BURSTS && self.senders.nic.is_in_burst();
        let ready = if in_burst { None } else { self.pop_ready(slots) };
        if let Some(packet) = ready {
            self.senders.nic.send(now, Parcel { packet, trailers: slots }, world);
        } else {
            self.take_turn::<BURSTS, false, O>(now, world);
        }
    }

    /// The next packet that is ready and may be sent.
    #[inline(always)]
    pub(super) fn pop_ready(&mut self, slots: &mut Trailers) -> Option<Packet> {
        match &mut self.mechanisms {
            Some(mechanisms) if self.restrained => mechanisms.pop_ready(&mut self.senders, slots),
            _ => self.senders.nic.pop_ready(slots),
        }
    }

    /// Serves flows until one has sent a packet, into the queue of the host if it has one. Returns whether one has.
    #[inline(always)]
    pub(super) fn take_turn<const BURSTS: bool, const QUEUED: bool, O: Observer>(
        &mut self,
        now: Time,
        world: &mut World<O>,
    ) -> bool {
        while let Some(slot) = self.senders.nic.turn::<BURSTS>() {
            if self.is_crowded() {
                self.prefetch_waiting::<BURSTS>();
            }
            if self.restrained
                && self.ask(now, world, |mechanisms, at| mechanisms.gate(at, slot)) == Some(true)
            {
                continue;
            }
            if QUEUED && self.holds_up(now, slot, world) {
                continue;
            }
            let Senders { nic, outgoing: all, agenda } = &mut self.senders;
            if BURSTS && all.place(slot).owes() && nic.passes_on(world.shared.quantum, all) {
                continue;
            }
            let outgoing = all.get_mut(slot).expect("a sender leaves its queue before its slot");
            if outgoing.at.governs() && !outgoing.is_over() {
                if self.governed_turn::<BURSTS, QUEUED, O>(now, slot, world) {
                    return true;
                }
                continue;
            }
            let group = &world.shared.groups[outgoing.group as usize];
            match outgoing.poll(now, group) {
                Poll::Send(segment) => {
                    let packet = outgoing.packet(&segment, group);
                    outgoing.arm(outgoing.next_timer(), slot, agenda);
                    nic.charge::<BURSTS>(packet.size(), segment.goes_on, world.shared.quantum, all);
                    if group.requests {
                        self.send_request::<QUEUED, O>(now, slot, packet, world);
                    } else {
                        self.send::<QUEUED, O>(now, slot, packet, world);
                    }
                    return true;
                }
                Poll::At(at) => outgoing.arm(at, slot, agenda),
                Poll::Blocked if outgoing.is_over() => {
                    nic.retire::<BURSTS>(all);
                    all.remove(slot);
                    continue;
                }
                Poll::Blocked => {}
            }
            nic.retire::<BURSTS>(all);
        }
        false
    }

    /// The same where flows may send bursts.
    #[inline(never)]
    pub(super) fn fill_link_with_bursts<O: Observer>(
        &mut self,
        now: Time,
        slots: &mut Trailers,
        world: &mut World<O>,
    ) {
        if world.shared.small_queues.is_some() {
            self.dequeue(now, slots, world);
        } else {
            self.fill_link::<true, O>(now, slots, world);
        }
    }

    /// The turn of a flow that mechanisms govern. Returns whether a packet was sent.
    #[inline(always)]
    fn governed_turn<const BURSTS: bool, const QUEUED: bool, O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        world: &mut World<O>,
    ) -> bool {
        let turn = self.ask(now, world, |mechanisms, at| mechanisms.turn(at, slot));
        let turn = turn.unwrap_or(Turn::Nothing);
        let Senders { nic, outgoing, .. } = &mut self.senders;
        if let Turn::GoesOn(packet) | Turn::InBurst(packet) = turn {
            let in_burst = matches!(turn, Turn::InBurst(_));
            nic.charge::<BURSTS>(packet.size(), in_burst, world.shared.quantum, outgoing);
        } else {
            nic.retire::<BURSTS>(outgoing);
            // Those before it in the line may have ended, so that it was let in during its own turn.
            if outgoing.get_mut(slot).is_some_and(|outgoing| outgoing.at.line == Line::Admitted) {
                self.senders.activate(slot, world);
            }
        }
        let (Turn::GoesOn(packet) | Turn::InBurst(packet) | Turn::Last(packet)) = turn else { return false };
        self.send::<QUEUED, O>(now, slot, packet, world);
        true
    }

    /// Sends a packet of what sends from `slot`.
    #[inline]
    fn send<const QUEUED: bool, O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        packet: Packet,
        world: &mut World<O>,
    ) {
        let packet = self.as_sent(now, packet);
        self.pass_on::<QUEUED, O>(now, slot, Parcel::bare(packet), world);
    }

    /// Passes a packet on to the link, or to the queue of the host.
    #[inline(always)]
    pub(super) fn pass_on<const QUEUED: bool, O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        parcel: Parcel<'_>,
        world: &mut World<O>,
    ) {
        if QUEUED {
            self.enqueue(slot, parcel);
        } else {
            self.senders.nic.send(now, parcel, world);
        }
    }

    /// A packet of a flow as mechanisms let it leave.
    #[inline(always)]
    pub(super) fn as_sent(&mut self, now: Time, packet: Packet) -> Packet {
        match &mut self.mechanisms {
            Some(mechanisms) if self.restrained => mechanisms.on_sent(now, packet),
            _ => packet,
        }
    }
}
