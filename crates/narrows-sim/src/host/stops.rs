//! A host whose switch stops classes of packets, pauses its link, or names flows to isolate.

use super::classes::Named;
use narrows_proto::units::Time;

use super::Host;
use super::agenda::Wake;
use crate::ids::{HostId, LinkId};
use crate::mechanism::{ISOLATED_CLASS, StopFrame};
use crate::observe::Observer;
use crate::packet::{Control, Packet};
use crate::record::PortCounters;
use crate::world::World;

impl Host {
    /// A PAUSE frame or one of priority-based flow control arrived.
    #[cold]
    pub(super) fn on_stop<O: Observer>(&mut self, now: Time, frame: Packet, world: &mut World<O>) {
        let Some(StopFrame { link, classes, lasts }) = StopFrame::read(frame) else { return };
        let until = if classes == 0 { now } else { now + lasts };
        world.observer.paused(now, link, until);
        if frame.control() == Some(Control::Pause) {
            return self.nic.pause(now, lasts);
        }
        if classes != 0 {
            self.agenda.plan(until, Wake::Open);
        }
        self.stop_classes(now, classes, until, world);
    }

    /// Classes are stopped no longer, if nobody has renewed it.
    pub(super) fn open_classes<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        if self.classes.as_ref().is_some_and(|classes| classes.stopped != 0 && classes.until <= now) {
            self.stop_classes(now, 0, now, world);
        }
    }

    fn stop_classes<O: Observer>(&mut self, now: Time, mask: u16, until: Time, world: &mut World<O>) {
        let Some(classes) = &mut self.classes else { return };
        let before = std::mem::replace(&mut classes.stopped, mask);
        let (waiting, parked) = (self.nic.occupied(), !classes.parked.is_empty());
        let waits = |class: usize| if class == ISOLATED_CLASS { parked } else { waiting & 1 << class != 0 };
        classes.watch.change(now, before, mask, waits, &mut classes.counters);
        classes.until = until;
        self.nic.stop(mask as u8);
        if before & !mask & 0xff != 0 {
            classes.let_go(&mut self.nic);
        }
        if before & !mask & 1 << ISOLATED_CLASS != 0 {
            classes.calm_since = now;
            for slot in std::mem::take(&mut classes.parked) {
                self.unpark(slot, world);
            }
        }
    }

    fn unpark<O>(&mut self, slot: u32, world: &World<O>) {
        // The flow may have ended since, and another may have its slot.
        let Some(outgoing) = self.outgoing.get_mut(slot).filter(|outgoing| outgoing.place.parked) else {
            return;
        };
        outgoing.place.parked = false;
        if !outgoing.place.queued && !outgoing.is_over() {
            let priority = world.shared.groups[outgoing.group as usize].priority;
            self.nic.activate(priority, slot, &mut self.outgoing);
        }
    }

    /// The switch names a flow whose destination is to be isolated, or no longer.
    #[cold]
    pub(super) fn on_isolate(&mut self, now: Time, message: Packet) {
        let Some(classes) = &mut self.classes else { return };
        let (to, priority) = (HostId((message.seq() >> 32) as u32), message.priority());
        classes.named.retain(|named| (named.to, named.priority) != (to, priority));
        if message.turn() == 0 {
            classes.named.push(Named { to, priority, at: now });
        }
    }

    /// Whether the flow whose turn it is has to wait for the class of isolated flows. Then it leaves its queue.
    #[inline(never)]
    pub(super) fn is_parked<O>(&mut self, now: Time, slot: u32, world: &World<O>) -> bool {
        if !self.classes.as_ref().is_some_and(|classes| classes.isolated_is_stopped()) {
            return false;
        }
        let Some(to) = self.next_destination(slot) else { return false };
        let (Some(classes), Some(flow)) = (&mut self.classes, self.outgoing.get_mut(slot)) else {
            return false;
        };
        if !classes.isolates(now, to, world.shared.groups[flow.group as usize].priority) {
            return false;
        }
        let known = flow.place.parked;
        self.nic.retire(&mut self.outgoing);
        if let Some(flow) = self.outgoing.get_mut(slot) {
            flow.place.parked = true;
        }
        if !known {
            classes.parked.push(slot);
        }
        true
    }

    /// The link to the switch, and how long its classes were stopped.
    pub(super) fn stopped_classes(&mut self, now: Time) -> Option<(LinkId, PortCounters)> {
        let classes = self.classes.as_mut()?;
        let (waiting, parked) = (self.nic.occupied(), !classes.parked.is_empty());
        let waits = |class: usize| if class == ISOLATED_CLASS { parked } else { waiting & 1 << class != 0 };
        classes.watch.finish(now, classes.stopped, waits, &mut classes.counters);
        Some((classes.link, classes.counters))
    }
}
