//! Credits of receivers: flows from here request some and go on when it is granted, and requests that arrive are granted in turn.

use narrows_proto::rdma::credits::Pull;
use narrows_proto::units::Time;

use super::Host;
use super::packets::grant_packet;
use super::sending::Sending;
use crate::observe::Observer;
use crate::packet::{Packet, Parcel};
use crate::world::World;

impl Host {
    /// Sends a packet of a flow that brings a request for credit along.
    #[inline(never)]
    pub(super) fn send_request<const QUEUED: bool, O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        packet: Packet,
        world: &mut World<O>,
    ) {
        let sources = self.senders.outgoing.len();
        let Some(outgoing) = self.senders.outgoing.get_mut(slot) else { return };
        let group = &world.shared.groups[outgoing.group as usize];
        let request = outgoing.source.request(group, sources).unwrap_or_default();
        let packet = self.as_sent(now, packet).with_trailers(1);
        let slots = [Packet::of_words([request, 0, 0, 0]), Packet::default()];
        self.pass_on::<QUEUED, O>(now, slot, Parcel { packet, trailers: &slots }, world);
    }

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
