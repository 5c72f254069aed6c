//! Grants of a host to those who send to it.

use narrows_proto::rdma::credits::{Arrival, Granter, Pull};
use narrows_proto::units::{BitRate, Time};

use super::agenda::{Agenda, Wake};
use crate::packet::Parcel;
use crate::world::GroupState;

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

    /// The turn that has come, if one has.
    pub(super) fn turn(&mut self, now: Time) -> Option<Pull> {
        if self.armed > now {
            return None;
        }
        self.armed = Time::NEVER;
        self.granter.turn(now)
    }

    /// Reception in `slot` is over.
    pub(super) fn close(&mut self, slot: u32) {
        self.granter.close(slot);
    }

    /// Bytes granted to the sender of this slot.
    pub(super) fn granted(&self, slot: u32) -> u64 {
        self.granter.granted(slot)
    }
}
