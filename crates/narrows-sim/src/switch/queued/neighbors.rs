//! Queued ports and the neighbors at the other ends of their links: stops, messages of mechanisms, what is counted for them.

use narrows_proto::units::Time;

use super::QueuedPorts;
use super::mechanisms::{Mechanisms, transmit};
use crate::mechanism::at_ports::{AtPorts as _, Left, Message, Outbox, Return};
use crate::mechanism::registry::each_at_ports;
use crate::mechanism::{StopFrame, StopOrder};
use crate::observe::Observer;
use crate::packet::{Packet, Parcel};
use crate::switch::common::Common;
use crate::switch::queue::Origin;
use crate::world::{OWN, World};

impl QueuedPorts {
    /// A frame of the neighbor arrived: it takes none of these classes for a time, and takes all others.
    #[inline(never)]
    pub(in crate::switch) fn on_stop<O: Observer>(
        &mut self,
        stop: &StopFrame,
        now: Time,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let StopFrame { link, classes, lasts } = *stop;
        let number = common.links.binary_search(&link).expect("a neighbor stops the link that leads to it");
        let until = if classes == 0 { now } else { now + lasts };
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let port = &mut self.ports[number];
        let before = port.stops(now);
        if let Some(watch) = mechanisms.watches.get_mut(number) {
            let waits = |class| port.backlog(class) > 0;
            watch.change(now, before, classes, waits, &mut common.counters[number]);
        }
        (port.stopped, port.stopped_until) = (classes, until);
        common.counters[number].paused += port.times.change(now, until);
        world.observer.paused(now, link, until);
        let view = port.view(now, number);
        each_at_ports!(mechanisms.at_ports, mechanism => mechanism.on_stop(view, &mut world.observer));
        self.carry_out();
        self.reconsider(now, number);
    }

    /// The neighbor at the other end of link number `from` has sent a message.
    #[inline(never)]
    pub(in crate::switch) fn on_message<O: Observer>(
        &mut self,
        now: Time,
        from: u32,
        message: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(&number) = mechanisms.backs.get(from as usize) else { return };
        let view = self.ports[number].view(now, number);
        each_at_ports!(mechanisms.at_ports, mechanism => mechanism.on_message(view, message, &mut world.observer));
        self.carry_out();
    }

    /// A packet waits no longer.
    #[inline]
    pub(super) fn on_left<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        Origin { from, class, counted }: Origin,
        size: u64,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let mut notifies = mechanisms.flow_control.release(from, class, size);
        let left = Left { from, class, counted, size };
        let port = &self.ports[number];
        let go = mechanisms.at_ports.on_left(|| port.view(now, number), &left, &mut world.observer);
        notifies |= go && mechanisms.flow_control.stop_side(from, false);
        self.carry_out();
        if notifies {
            self.order(now, from, common, world);
        }
    }

    /// The time has come to renew a stop, or to ask the mechanisms of a port.
    #[inline(never)]
    pub(super) fn on_timer<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(port) = number.checked_sub(mechanisms.backs.len()) else {
            if mechanisms.flow_control.is_due(now, number as u32) {
                self.order(now, number as u32, common, world);
            }
            return;
        };
        let Some(at) = self.ports.get(port) else { return self.go_back(now, common, world) };
        let view = at.view(now, port);
        each_at_ports!(mechanisms.at_ports, mechanism => mechanism.on_timer(view, &mut world.observer));
        self.carry_out();
    }

    /// The first packet that is to go back the way of another joins the port that leads there.
    fn go_back<O: Observer>(&mut self, now: Time, common: &mut Common, world: &mut World<O>) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(Return { at, from, packet }) = mechanisms.returns.pop_front() else { return };
        debug_assert!(at == now, "what goes back goes in the order in which it was made");
        let port = mechanisms.backs[from as usize];
        self.join_with_mechanisms::<true, O>(now, port, Parcel::bare(packet), OWN, common, world);
    }

    /// Does what mechanisms have left in their outboxes.
    #[inline(always)]
    pub(super) fn carry_out(&mut self) {
        let take = |all: &mut Mechanisms| if all.listed { all.at_ports.take_outbox() } else { None };
        while let Some(outbox) = self.mechanisms.as_deref_mut().and_then(take) {
            self.empty(outbox);
        }
    }

    #[inline(never)]
    fn empty(&mut self, outbox: Outbox) {
        let inputs = self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.backs.len());
        for (at, port) in outbox.looks {
            self.plan(at, self.ports.len() + inputs + port);
        }
        for due in outbox.returns {
            let Some(mechanisms) = &mut self.mechanisms else { return };
            mechanisms.returns.push_back(due);
            self.plan(due.at, self.ports.len() * 2 + inputs);
        }
        for Message { at, port, packet } in outbox.messages {
            let Some(mechanisms) = &mut self.mechanisms else { return };
            mechanisms.control[port].messages.push(packet);
            self.ports[port].urgent = true;
            self.reconsider(at, port);
        }
    }

    /// Tells the neighbor at the other end of link number `from` what it may send.
    #[inline(never)]
    pub(super) fn order<O: Observer>(
        &mut self,
        now: Time,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let order = mechanisms.flow_control.order(now, from, mechanisms.neighbor);
        let Some(StopOrder { port, frame, renew_at }) = order else { return };
        let number = port as usize;
        let (port, control) = (&mut self.ports[number], &mut mechanisms.control[number]);
        let at_once = port.busy_until <= now;
        // A free port sends it at once.
        control.frame = (!at_once).then_some(frame);
        port.urgent = !control.is_empty();
        if at_once {
            transmit(now, port, mechanisms.meters.get_mut(number), Parcel::bare(frame), world);
        }
        if renew_at < Time::NEVER {
            common.counters[number].pauses += 1;
            self.plan(renew_at, self.ports.len() + from as usize);
        }
        self.reconsider(now, number);
    }
}
