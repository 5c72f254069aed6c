//! A host whose switch pauses it.

use narrows_proto::units::Time;

use super::read;
use crate::host::Senders;
use crate::mechanism::StopFrame;
use crate::mechanism::at_host::{At, AtHost, Site};
use crate::observe::Observer;
use crate::packet::{Control, Parcel};
use crate::record::PortCounters;
use crate::world::Log;

/// A host whose switch pauses it.
#[derive(Debug)]
pub(crate) struct Paused;

impl AtHost for Paused {
    fn new(site: &Site<'_>) -> Option<Self> {
        site.switch?.pause.as_ref().map(|_| Self)
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        if control == Control::Pause {
            let StopFrame { link, lasts, .. } = read(parcel.packet);
            at.world.observer.paused(at.now, link, at.now + lasts);
            at.senders.nic.pause(at.now, lasts);
        }
    }

    fn finish(&mut self, _: Time, _: &Senders, _: &mut PortCounters, _: &mut Log) {}
}
