//! Queued ports and the neighbors at the other ends of their links: stops, isolation, what is counted for them.

use narrows_proto::units::Time;

use super::QueuedPorts;
use super::mechanisms::transmit;
use crate::ids::{FlowId, HostId};
use crate::mechanism::isolation::{FlowMessage, Outbox, Stage};
use crate::mechanism::{ISOLATED_CLASS, StopFrame, StopOrder};
use crate::observe::Observer;
use crate::packet::{Control, FIN, Fields, Kind, Packet, Parcel};
use crate::switch::common::Common;
use crate::switch::queue::Origin;
use crate::world::World;

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
        world.observer.paused(now, link, until);
        if let Some(isolation) = &mut mechanisms.isolation {
            isolation.on_stop(port.view(now, number, isolation.priority()), &mut world.observer);
        }
        self.carry_out(common, world);
        self.reconsider(now, number);
    }

    /// The neighbor at the other end of link number `from` says that a flow which goes there is congested, or no longer.
    #[inline(never)]
    pub(in crate::switch) fn on_flow_message<O: Observer>(
        &mut self,
        now: Time,
        from: u32,
        message: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let Some(isolation) = self.mechanisms.as_mut().and_then(|mechanisms| mechanisms.isolation.as_mut())
        else {
            return;
        };
        let Some(number) = isolation.port_back(from) else { return };
        let view = self.ports[number].view(now, number, isolation.priority());
        isolation.on_message(view, message.seq(), message.is(FIN), &mut world.observer);
        self.carry_out(common, world);
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
        if let Some(isolation) = &mut mechanisms.isolation {
            let view = self.ports[number].view(now, number, isolation.priority());
            let left = (from, size, class == ISOLATED_CLASS, counted);
            let go = isolation.on_left(view, left, &mut world.observer);
            notifies |= go && mechanisms.flow_control.stop_isolated(from, false);
            self.carry_out(common, world);
        }
        if notifies {
            self.order(now, from, common, world);
        }
    }

    /// The time has come to renew a stop, or to look at the isolation of a port.
    #[inline(never)]
    pub(super) fn on_timer<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(port) = number.checked_sub(mechanisms.inputs) else {
            if mechanisms.flow_control.is_due(now, number as u32) {
                self.order(now, number as u32, common, world);
            }
            return;
        };
        if let Some(isolation) = &mut mechanisms.isolation {
            isolation.on_timer(self.ports[port].view(now, port, isolation.priority()), &mut world.observer);
            self.carry_out(common, world);
        }
    }

    /// Does what isolation has left in its outbox.
    #[inline(always)]
    pub(super) fn carry_out<O>(&mut self, common: &mut Common, world: &World<O>) {
        let isolation = self.mechanisms.as_mut().and_then(|mechanisms| mechanisms.isolation.as_mut());
        if let Some(outbox) = isolation.and_then(Stage::take_outbox) {
            self.empty(outbox, common, world);
        }
    }

    #[inline(never)]
    fn empty<O>(&mut self, outbox: Outbox, common: &mut Common, world: &World<O>) {
        for (at, port) in outbox.looks {
            let inputs = self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.inputs);
            self.plan(at, self.ports.len() + inputs + port);
        }
        for message in outbox.messages {
            self.send_flow_message(&message, common, world);
        }
    }

    /// A message about a flow waits at the port that leads to a neighbor.
    fn send_flow_message<O>(&mut self, message: &FlowMessage, common: &mut Common, world: &World<O>) {
        let &FlowMessage { at, port, key, over } = message;
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(isolation) = &mechanisms.isolation else { return };
        let packet = Packet::new(Fields {
            seq: key,
            flow: FlowId(key as u32),
            to: neighbor(world),
            size: isolation.message_size(),
            incarnation: 0,
            kind: Kind::Control(Control::Isolate),
            priority: isolation.priority(),
            flags: if over { FIN } else { 0 },
            trailers: 0,
        });
        common.counters[port].isolation_messages += 1;
        mechanisms.control[port].messages.push(packet);
        self.ports[port].urgent = true;
        self.reconsider(at, port);
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
        let order = mechanisms.flow_control.order(now, from, neighbor(world));
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

/// The address of frames for a neighbor: no host has it, so that they are recognized where routes are looked up.
fn neighbor<O>(world: &World<O>) -> HostId {
    HostId(world.shared.access.len() as u32 - 1)
}
