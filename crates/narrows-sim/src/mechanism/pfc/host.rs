//! A host whose switch stops classes of packets.

use narrows_proto::units::Time;

use super::{Watch, read};
use crate::host::Senders;
use crate::mechanism::StopFrame;
use crate::mechanism::at_host::{At, AtHost, Site};
use crate::mechanism::pause::Stopped;
use crate::observe::Observer;
use crate::packet::{Control, Packet, Parcel};
use crate::record::PortCounters;
use crate::ring::Ring;
use crate::world::Log;

/// State of a host whose switch stops classes.
#[derive(Debug, Default)]
pub(crate) struct StoppedClasses {
    /// A bit for each priority that is stopped.
    stopped: u8,
    /// Packets that were ready when their class was stopped.
    held: Ring<Packet>,
    watch: Watch,
    stop: Stopped,
    counters: PortCounters,
}

impl AtHost for StoppedClasses {
    const RESTRAINS: bool = true;

    fn new(site: &Site<'_>) -> Option<Self> {
        site.switch?.pfc.as_ref().map(|_| Self::default())
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        if control == Control::Pfc {
            let StopFrame { link, classes, lasts } = read(parcel.packet);
            let until = if classes == 0 { at.now } else { at.now + lasts };
            at.world.observer.paused(at.now, link, until);
            if classes != 0 {
                at.senders.plan(until);
            }
            self.stop(at.now, classes as u8, until, at.senders);
        }
    }

    /// Classes are stopped no longer, if nobody has renewed it.
    fn on_timer<O: Observer>(&mut self, at: &mut At<'_, O>) {
        if self.stopped != 0 && self.stop.until() <= at.now {
            self.stop(at.now, 0, at.now, at.senders);
        }
    }

    fn holds(&mut self, parcel: Parcel<'_>) -> bool {
        let held = self.stopped & 1 << parcel.packet.priority() != 0;
        if held {
            self.held.push_with(parcel);
        }
        held
    }

    fn finish(&mut self, now: Time, senders: &Senders, counters: &mut PortCounters, _: &mut Log) {
        let waiting = senders.nic.occupied();
        let waits = |class: usize| u16::from(waiting) & 1 << class != 0;
        self.counters.paused += self.stop.until_now(now);
        self.watch.finish(now, self.stopped.into(), waits, &mut self.counters);
        counters.add(&self.counters);
    }
}

impl StoppedClasses {
    fn stop(&mut self, now: Time, stopped: u8, until: Time, senders: &mut Senders) {
        let before = std::mem::replace(&mut self.stopped, stopped);
        let waiting = senders.nic.occupied();
        let waits = |class: usize| u16::from(waiting) & 1 << class != 0;
        self.watch.change(now, before.into(), stopped.into(), waits, &mut self.counters);
        self.counters.paused += self.stop.change(now, until);
        senders.nic.stop(stopped);
        if before & !stopped != 0 {
            senders.return_held(&mut self.held);
        }
    }
}
