//! A host whose switch pauses it.

use narrows_proto::units::{Span, Time};

use super::{Stopped, read};
use crate::host::Senders;
use crate::mechanism::StopFrame;
use crate::mechanism::at_host::{At, AtHost, Site};
use crate::observe::Observer;
use crate::packet::{Control, Parcel};
use crate::record::PortCounters;
use crate::world::Log;

/// A host whose switch pauses it.
#[derive(Debug, Default)]
pub(crate) struct Paused {
    stopped: Stopped,
    /// Time for which it was paused, as far as it is over.
    before: Span,
}

impl AtHost for Paused {
    fn new(site: &Site<'_>) -> Option<Self> {
        site.switch?.pause.as_ref().map(|_| Self::default())
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        if control == Control::Pause {
            let StopFrame { link, lasts, .. } = read(parcel.packet);
            at.world.observer.paused(at.now, link, at.now + lasts);
            self.before += self.stopped.change(at.now, at.now + lasts);
            at.senders.nic.pause(at.now, lasts);
        }
    }

    fn finish(&mut self, now: Time, _: &Senders, counters: &mut PortCounters, _: &mut Log) {
        counters.paused += self.before + self.stopped.until_now(now);
    }
}
