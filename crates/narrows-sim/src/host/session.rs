//! Actions of a session at a host between two steps: it starts flows, and is the outside of external hosts.

use narrows_proto::units::{Span, Time};

use super::Host;
use super::agenda::Wake;
use super::external::WholePacket;
use crate::ids::FlowId;
use crate::observe::Observer;
use crate::packet::Parcel;
use crate::world::World;

impl Host {
    /// A flow from here has got a start, which lies ahead.
    pub(crate) fn schedule<O>(&mut self, flow: FlowId, world: &World<O>) {
        let key = |flow: FlowId| (world.shared.flows[flow.index()].start, flow);
        let later = self.starts[self.started..].partition_point(|other| key(*other) < key(flow));
        self.starts.insert(self.started + later, flow);
        self.find_next_start(world);
    }

    /// When the next of the packets on their way to it arrives.
    pub(crate) fn next_arrival<O>(&self, world: &World<O>) -> Time {
        world.wires.heads[self.wire]
    }

    /// Time for which its link will be busy with what its network card has.
    pub(crate) fn backlog(&self, now: Time) -> Span {
        self.senders.nic.backlog(now)
    }

    /// Becomes an external host.
    ///
    /// # Panics
    /// If something starts here.
    pub(crate) fn leave(&mut self) {
        assert!(self.outstanding() == 0, "something starts at an external host");
        self.outside = Some(Box::default());
        self.watched = true;
    }

    /// A packet from outside will be ready at `at`. Only external hosts get some.
    pub(crate) fn send_later(&mut self, at: Time, packet: WholePacket) {
        if let Some(outside) = &mut self.outside {
            outside.send_later(at, packet);
            self.senders.agenda.plan(at, Wake::Outside);
        }
    }

    /// The next packet from outside is ready.
    pub(super) fn take_from_outside(&mut self) {
        if let Some(whole) = self.outside.as_mut().and_then(|outside| outside.next_ready()) {
            self.senders.nic.push_ready(whole.parcel());
        }
    }

    /// A packet arrived at an external host. What is meant for the network card goes no further.
    #[cold]
    pub(super) fn hand_out<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        match parcel.packet.control().filter(|control| control.is_for_neighbor()) {
            Some(control) => self.on_control(now, control, parcel, world),
            None => self.outside.iter_mut().for_each(|outside| outside.receive(parcel)),
        }
    }

    /// Packets that have arrived for an external host since the last call.
    pub(crate) fn take_arrived(&mut self) -> Vec<WholePacket> {
        self.outside.as_mut().map(|outside| outside.take_arrived()).unwrap_or_default()
    }
}
