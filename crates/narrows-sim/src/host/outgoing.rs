//! Flows that begin at a host.

use narrows_proto::stream::{Poll, Segment};
use narrows_proto::units::{Bytes, Time};

use super::agenda::{Agenda, Wake};
use super::new_flow::NewFlow;
use super::nic::{Place, Places};
use super::packets::{Way, segment_packet};
use super::slots::Slots;
use super::transport::{Done, Sending, Source};
use crate::ids::{FlowId, GroupId, HostId};
use crate::mechanism::flow::AtFlow;
use crate::packet::Packet;
use crate::record::FlowRecord;
use crate::world::GroupState;

/// The sending half of a flow.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) flow: FlowId,
    pub(crate) to: HostId,
    pub(crate) group: u32,
    pub(crate) incarnation: u64,
    pub(crate) source: Source,
    /// What mechanisms keep with it.
    pub(crate) at: AtFlow,
    pub(crate) start: Time,
    pub(crate) size: Bytes,
    /// Payload delivered when the measured time began, and when it ended.
    pub(crate) before_measured: Bytes,
    pub(crate) until_measured: Option<Bytes>,
    pub(crate) place: Place,
    /// The earliest entry of the agenda for it.
    pub(crate) armed: Time,
    /// The generator that waits for its end.
    pub(crate) generator: Option<u32>,
}

impl Outgoing {
    /// A flow that starts now.
    pub(crate) fn new(new: &NewFlow, to: HostId, group: GroupId, source: Source, start: Time) -> Self {
        let &NewFlow { flow, incarnation, size, generator } = new;
        Self {
            flow,
            to,
            group: group.0,
            incarnation,
            source,
            at: AtFlow::default(),
            start,
            size,
            before_measured: Bytes::ZERO,
            until_measured: None,
            place: Place::default(),
            armed: Time::NEVER,
            generator,
        }
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Time, group: &GroupState) -> Poll {
        self.source.poll(group, now)
    }

    /// The packet that carries `segment`.
    #[inline]
    pub(crate) fn packet(&self, segment: &Segment, group: &GroupState) -> Packet {
        let way = match &self.source {
            Source::QueuePair(pair) => pair.way(segment.seq, self.to),
            _ => Way { flow: self.flow, to: self.to, incarnation: self.incarnation as u16 },
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

    /// What arrives for this incarnation of its flow is for it, not for one that is complete.
    #[inline]
    pub(super) fn hears(&self, incarnation: u16) -> bool {
        // Bytes of a queue pair are never used twice.
        self.incarnation as u16 == incarnation || matches!(self.source, Source::QueuePair(_))
    }

    /// The measured time begins.
    pub(super) fn measure_from(&mut self) {
        self.before_measured = self.source.delivered();
        if let Source::QueuePair(pair) = &mut self.source {
            pair.measure_from();
        }
    }

    /// The measured time ends.
    pub(super) fn measure_until(&mut self) {
        self.until_measured = Some(self.source.delivered());
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

    pub(crate) fn record(&self) -> Option<FlowRecord> {
        let Done { delivered, stats, again } = self.source.done()?;
        Some(FlowRecord {
            flow: self.flow,
            incarnation: self.incarnation,
            size: self.size,
            start: self.start,
            again,
            end: None,
            delivered,
            delivered_measured: self.until_measured.unwrap_or(delivered).saturating_sub(self.before_measured),
            stats,
        })
    }
}

impl Places for Slots<Outgoing> {
    #[inline]
    fn place(&mut self, slot: u32) -> &mut Place {
        &mut self.get_mut(slot).expect("queues hold senders").place
    }
}
