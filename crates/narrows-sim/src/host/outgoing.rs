//! Flows that begin at a host.

use narrows_proto::stream::{Poll, Segment};
use narrows_proto::units::{Bytes, Time};

use super::agenda::{Agenda, Wake};
use super::nic::{Place, Places};
use super::packets::{Way, segment_packet};
use super::slots::Slots;
use super::transport::{Done, Sending, Source};
use crate::ids::{FlowId, HostId};
use crate::packet::Packet;
use crate::record::FlowRecord;
use crate::world::GroupState;

/// The sending half of a flow.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) flow: FlowId,
    pub(super) to: HostId,
    pub(super) group: u32,
    pub(super) turn: u64,
    pub(super) source: Source,
    /// What may hold it back besides its own control.
    pub(super) hold: Hold,
    /// What feeds it, if it is a subflow of a JumboFlow.
    pub(super) subflow: Option<Subflow>,
    /// Where it stands in the line of what may hold it back.
    pub(super) line: Line,
    pub(super) start: Time,
    pub(super) size: Bytes,
    /// Payload delivered when the measured time began, and when it ended.
    pub(super) before_measured: Bytes,
    pub(super) until_measured: Option<Bytes>,
    pub(super) place: Place,
    /// The earliest entry of the agenda for it.
    pub(super) armed: Time,
    /// The generator that waits for its end.
    pub(super) generator: Option<u32>,
}

/// What a flow keeps as a subflow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subflow {
    /// Place of its JumboFlow.
    pub(super) jumboflow: u32,
    pub(super) destination: u32,
    /// Sum of the versions it has heard.
    pub(super) heard: u32,
    /// Its switch and its destination have been told that it begins, or will see.
    pub(super) registered: bool,
}

/// What may hold a flow back. With the place of it at its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hold {
    #[default]
    Nothing,
    /// Its packets pass through the queue of a limiter.
    Limiter(u32),
    /// A near-source loop.
    Gate(u32),
}

/// A flow and the line for room in the queue of its limiter, or for the next packet of its near-source loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Line {
    #[default]
    Outside,
    Waiting,
    /// It may hand over packets before all who wait.
    Admitted,
}

impl Outgoing {
    #[inline]
    pub(super) fn poll(&mut self, now: Time, group: &GroupState) -> Poll {
        self.source.poll(group, now)
    }

    /// The packet that carries `segment`.
    #[inline]
    pub(super) fn packet(&self, segment: &Segment, group: &GroupState) -> Packet {
        let way = match &self.source {
            Source::QueuePair(pair) => pair.way(segment.seq, self.to),
            _ => Way { flow: self.flow, to: self.to, turn: self.turn as u16 },
        };
        segment_packet(segment, way, group)
    }

    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        self.source.next_timer()
    }

    #[inline]
    pub(super) fn arm(&mut self, at: Time, slot: u32, agenda: &mut Agenda) {
        if at < self.armed {
            self.armed = at;
            agenda.plan(at, Wake::Sender(slot));
        }
    }

    /// What arrives for this turn of its flow is for it, not for one that is complete.
    #[inline]
    pub(super) fn hears(&self, turn: u16) -> bool {
        // Bytes of a queue pair are never used twice.
        self.turn as u16 == turn || matches!(self.source, Source::QueuePair(_))
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
    pub(super) fn is_over(&self) -> bool {
        matches!(self.source, Source::Over)
    }

    /// Not the flow alone says when it sends.
    #[inline]
    pub(super) fn is_governed(&self) -> bool {
        self.hold != Hold::Nothing || self.subflow.is_some()
    }

    /// Records of all flows that it carries.
    pub(super) fn records(&self) -> impl Iterator<Item = FlowRecord> {
        let messages = if let Source::QueuePair(pair) = &self.source { Some(pair.records()) } else { None };
        self.record().into_iter().chain(messages.into_iter().flatten())
    }

    pub(super) fn record(&self) -> Option<FlowRecord> {
        let Done { delivered, stats, again } = self.source.done()?;
        Some(FlowRecord {
            flow: self.flow,
            turn: self.turn,
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
