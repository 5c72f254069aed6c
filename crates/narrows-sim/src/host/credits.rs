//! Credits of receivers: requests that arrive here are granted in turn, and grants that arrive let flows from here go on.

use narrows_proto::rdma::credits::{Arrival, Granter, Pull};
use narrows_proto::units::{BitRate, Time};

use super::Host;
use super::agenda::{Agenda, Wake};
use super::packets::grant_packet;
use super::sending::Sending;
use crate::observe::Observer;
use crate::packet::{Packet, Parcel};
use crate::world::{GroupState, World};

/// Grants of a host to those who send to it. It exists from the first request on.
#[derive(Debug)]
pub(super) struct Grants {
    granter: Granter,
    /// When the agenda wakes it.
    armed: Time,
}

impl Grants {
    /// A packet of a group with credits arrived for what receives in `slot`.
    pub(super) fn on_arrival(
        grants: &mut Option<Box<Self>>,
        (now, slot): (Time, u32),
        parcel: Parcel<'_>,
        arrival: Arrival,
        group: &GroupState,
        rate: BitRate,
    ) {
        let Some(credits) = &group.rdma().credits else { return };
        let grants = grants.get_or_insert_with(|| {
            Box::new(Self { granter: Granter::new(credits, rate), armed: Time::NEVER })
        });
        grants.granter.on_arrival(now, arrival);
        if let Some(request) = parcel.slots().first() {
            grants.granter.request(slot, request.words()[0]);
        }
    }

    /// Notes in the agenda when the next turn is.
    pub(super) fn arm(&mut self, now: Time, agenda: &mut Agenda) {
        let next = self.granter.next_turn().max(now);
        if next < self.armed {
            self.armed = next;
            agenda.plan(next, Wake::Grant);
        }
    }

    /// What received in `slot` is over.
    pub(super) fn close(&mut self, slot: u32) {
        self.granter.close(slot);
    }

    pub(super) fn granted(&self, slot: u32) -> u64 {
        self.granter.granted(slot)
    }
}

impl Host {
    /// The next turn of a grant may have come.
    pub(super) fn wake_grants<O>(&mut self, now: Time, world: &World<O>) {
        let Some(grants) = &mut self.grants else { return };
        if grants.armed > now {
            return;
        }
        grants.armed = Time::NEVER;
        if let Some(Pull { sink, granted, .. }) = grants.granter.turn(now)
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
