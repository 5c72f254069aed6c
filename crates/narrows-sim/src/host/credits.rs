//! Credits of receivers: requests that arrive here are granted in turn, and grants that arrive let flows from here go on.

use narrows_proto::rdma::credits::Pull;
use narrows_proto::units::Time;

use super::Host;
use super::packets::grant_packet;
use super::sending::Sending;
use crate::observe::Observer;
use crate::packet::{Packet, Parcel};
use crate::world::World;

impl Host {
    /// The next turn of a grant may have come.
    pub(super) fn wake_grants<O>(&mut self, now: Time, world: &World<O>) {
        let Some(grants) = &mut self.grants else { return };
        if let Some(Pull { sink, granted, .. }) = grants.turn(now)
            && let Some(incoming) = self.incoming.get_mut(sink)
        {
            let group = &world.shared.groups[incoming.group as usize];
            self.senders.nic.push_ready(Parcel::bare(grant_packet(granted, incoming.back(), group)));
        }
        grants.arm(now, &mut self.senders.agenda);
    }

    /// A grant arrived.
    pub(super) fn on_grant<O: Observer>(&mut self, packet: Packet, world: &mut World<O>) {
        let slot = world.flows.senders[packet.flow().index()];
        let outgoing = self.senders.outgoing.get_mut(slot);
        if let Some(outgoing) = outgoing.filter(|outgoing| outgoing.accepts(packet.incarnation())) {
            outgoing.source.on_grant(packet.seq());
            self.senders.attend(slot, world);
        }
    }
}
