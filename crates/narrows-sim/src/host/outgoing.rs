//! Flows that begin at a host.

use narrows_proto::stream::{Poll, Segment};
use narrows_proto::units::Time;

use super::agenda::{Agenda, Wake};
use super::new_flow::{NewFlow, Started};
use super::nic::{Place, Places};
use super::packets::{Way, segment_packet};
use super::sending::Sending;
use super::slots::Slots;
use super::transport::Source;
use crate::ids::{GroupId, HostId};
use crate::mechanism::flow::AtFlow;
use crate::observe::{Observer, Reviewed};
use crate::packet::Packet;
use crate::record::FlowRecord;
use crate::world::GroupState;

/// The sending half of a flow.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) of: Started,
    pub(crate) to: HostId,
    pub(crate) group: u32,
    pub(crate) source: Source,
    /// State of mechanisms for it.
    pub(crate) at: AtFlow,
    pub(crate) place: Place,
    /// The earliest entry of the agenda for it.
    pub(crate) armed: Time,
}

impl Outgoing {
    /// A flow that starts now.
    pub(crate) fn new(new: &NewFlow, to: HostId, group: GroupId, source: Source) -> Self {
        Self {
            of: Started::new(new),
            to,
            group: group.0,
            source,
            at: AtFlow::default(),
            place: Place::default(),
            armed: Time::NEVER,
        }
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Time, group: &GroupState) -> Poll {
        self.source.poll(group, now)
    }

    /// The packet that carries `segment`.
    #[inline(always)]
    pub(crate) fn packet(&self, segment: &Segment, group: &GroupState) -> Packet {
        let way = match &self.source {
            Source::QueuePair(pair) => pair.way(segment.seq, self.to),
            _ => Way { flow: self.of.flow, to: self.to, incarnation: self.of.incarnation as u16 },
        };
        segment_packet(segment, way, group)
    }

    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        self.source.next_timer()
    }

    #[inline]
    pub(crate) fn arm(&mut self, at: Time, slot: u32, agenda: &mut Agenda) {
        if at < self.armed {
            self.armed = at;
            agenda.plan(at, Wake::Sender(slot));
        }
    }

    /// Arrivals for this incarnation of its flow are for it, not for one that is complete.
    #[inline]
    pub(super) fn accepts(&self, incarnation: u16) -> bool {
        // Bytes of a queue pair are never used twice.
        self.of.incarnation as u16 == incarnation || matches!(self.source, Source::QueuePair(_))
    }

    /// The measured time begins.
    pub(super) fn measure_from(&mut self) {
        self.of.measure_from(self.source.delivered());
        if let Source::QueuePair(pair) = &mut self.source {
            pair.measure_from();
        }
    }

    /// The measured time ends.
    pub(super) fn measure_until(&mut self) {
        self.of.measure_until(self.source.delivered());
        if let Source::QueuePair(pair) = &mut self.source {
            pair.measure_until();
        }
    }

    /// Its flow is complete; only a queue of the network card still holds it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.source, Source::Over)
    }

    /// Records of all flows that it carries.
    pub(crate) fn records(&self) -> impl Iterator<Item = FlowRecord> {
        let messages = if let Source::QueuePair(pair) = &self.source { Some(pair.records()) } else { None };
        self.record().into_iter().chain(messages.into_iter().flatten())
    }

    /// Shows the observer its flows, and what sends them.
    pub(super) fn review(&self, observer: &mut impl Observer) {
        self.records().for_each(|record| observer.review(Reviewed::Flow(&record)));
        if let Some(sender) = self.source.as_seen() {
            observer.review(Reviewed::Sender(self.of.flow, sender));
        }
    }

    pub(crate) fn record(&self) -> Option<FlowRecord> {
        Some(self.of.record(self.source.done()?))
    }
}

impl Places for Slots<Outgoing> {
    #[inline]
    fn place(&mut self, slot: u32) -> &mut Place {
        &mut self.get_mut(slot).expect("queues hold senders").place
    }
}

#[cfg(test)]
mod tests {
    use super::super::reception::Incoming;
    use super::*;

    #[test]
    fn the_two_halves_of_a_flow_take_less_than_a_kilobyte() {
        let halves = [size_of::<Option<Outgoing>>(), size_of::<Option<Incoming>>()];
        assert!(halves.iter().sum::<usize>() <= 840, "{halves:?}");
    }
}
