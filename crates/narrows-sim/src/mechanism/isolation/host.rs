//! A host whose switch names flows to isolate, and stops the class of isolated flows.
//!
//! The card takes flows in turn, so flows to different destinations never wait for each other here; they have, in effect, a
//! queue for each destination. A destination that the switch has named is one the switch can stop by itself.

use narrows_proto::units::{Span, Time};

use crate::host::Senders;
use crate::ids::HostId;
use crate::mechanism::at_host::{At, AtHost, Site};
use crate::mechanism::pfc::{self, Watch};
use crate::mechanism::{SIDE_CLASS, StopFrame};
use crate::observe::Observer;
use crate::packet::{Control, FIN, Packet, Parcel};
use crate::record::PortCounters;
use crate::world::Log;

/// Flows of a host that its switch isolates.
#[derive(Debug)]
pub(crate) struct IsolatedFlows {
    /// Their class is stopped, before `until`.
    stopped: bool,
    until: Time,
    /// When it was last taken again after a stop.
    calm_since: Time,
    /// Destinations that are isolated.
    named: Vec<Named>,
    /// Time that a destination stays isolated after it was named and its class was last stopped.
    life: Span,
    /// Slots of flows that wait for the class of isolated flows.
    parked: Vec<u32>,
    watch: Watch,
    counters: PortCounters,
}

/// A destination that is isolated.
#[derive(Clone, Copy, Debug)]
struct Named {
    to: HostId,
    priority: u8,
    at: Time,
}

/// The bit of isolated flows among stopped classes.
const ISOLATED: u16 = 1 << SIDE_CLASS;

impl AtHost for IsolatedFlows {
    const RESTRAINS: bool = true;

    fn new(site: &Site<'_>) -> Option<Self> {
        let switch = site.switch?;
        let config = switch.isolation.as_ref().filter(|_| switch.pfc.is_some())?;
        Some(Self {
            stopped: false,
            until: Time::ZERO,
            calm_since: Time::ZERO,
            named: Vec::new(),
            life: config.idle_life,
            parked: Vec::new(),
            watch: Watch::default(),
            counters: PortCounters::default(),
        })
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        match control {
            Control::Isolate => self.on_message(at.now, parcel.packet),
            Control::Pfc => {
                let StopFrame { classes, lasts, .. } = pfc::read(parcel.packet);
                let stopped = classes & ISOLATED != 0;
                let until = if stopped { at.now + lasts } else { at.now };
                if stopped {
                    at.senders.plan(until);
                }
                self.stop(at, stopped, until);
            }
            _ => {}
        }
    }

    /// The class is stopped no longer, if nobody has renewed it.
    fn on_timer<O: Observer>(&mut self, at: &mut At<'_, O>) {
        if self.stopped && self.until <= at.now {
            self.stop(at, false, at.now);
        }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: Packet) -> Packet {
        if self.isolates(now, packet.to(), packet.priority()) { packet.aside() } else { packet }
    }

    #[inline]
    fn gates(&self) -> bool {
        self.stopped
    }

    fn gate<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32, to: HostId) -> bool {
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return false };
        let priority = at.world.shared.groups[outgoing.group as usize].priority;
        if !self.stopped || !self.isolates(at.now, to, priority) {
            return false;
        }
        let known = outgoing.place.parked;
        at.senders.nic.retire::<true>(&mut at.senders.outgoing);
        if let Some(outgoing) = at.senders.outgoing.get_mut(slot) {
            outgoing.place.parked = true;
        }
        if !known {
            self.parked.push(slot);
        }
        true
    }

    fn finish(&mut self, now: Time, _: &Senders, counters: &mut PortCounters, _: &mut Log) {
        let parked = !self.parked.is_empty();
        self.watch.finish(now, bit(self.stopped), |_| parked, &mut self.counters);
        counters.add(&self.counters);
    }
}

/// The bit of isolated flows if they are stopped.
fn bit(stopped: bool) -> u16 {
    if stopped { ISOLATED } else { 0 }
}

impl IsolatedFlows {
    /// Whether flows of this priority to this destination are isolated.
    #[inline]
    fn isolates(&mut self, now: Time, to: HostId, priority: u8) -> bool {
        if self.named.is_empty() {
            return false;
        }
        if !self.stopped {
            let (calm, life) = (self.calm_since, self.life);
            self.named.retain(|named| now <= named.at.max(calm) + life);
        }
        self.named.iter().any(|named| named.to == to && named.priority == priority)
    }

    /// The switch names a flow whose destination is to be isolated, or no longer.
    #[cold]
    fn on_message(&mut self, now: Time, message: Packet) {
        let (to, priority) = (HostId((message.seq() >> 32) as u32), message.priority());
        self.named.retain(|named| (named.to, named.priority) != (to, priority));
        if !message.is(FIN) {
            self.named.push(Named { to, priority, at: now });
        }
    }

    fn stop<O>(&mut self, at: &mut At<'_, O>, stopped: bool, until: Time) {
        let before = std::mem::replace(&mut self.stopped, stopped);
        let parked = !self.parked.is_empty();
        self.watch.change(at.now, bit(before), bit(stopped), |_| parked, &mut self.counters);
        self.until = until;
        if before && !stopped {
            self.calm_since = at.now;
            for slot in std::mem::take(&mut self.parked) {
                // The flow may have ended since, and another may have its slot.
                let parked = at.senders.outgoing.get_mut(slot).filter(|outgoing| outgoing.place.parked);
                let Some(outgoing) = parked else { continue };
                outgoing.place.parked = false;
                if !outgoing.is_over() {
                    at.senders.activate(slot, at.world);
                }
            }
        }
    }
}
