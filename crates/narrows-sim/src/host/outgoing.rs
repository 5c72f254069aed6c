//! Flows that begin at a host.

use narrows_proto::datagram;
use narrows_proto::rdma;
use narrows_proto::stream::{Poll, Segment, Sender};
use narrows_proto::units::{Bytes, Span, Time};

use super::agenda::{Agenda, Wake};
use super::nic::{Place, Places};
use super::packets::{Way, segment_packet};
use super::racks::Subflow;
use super::slots::Slots;
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

#[derive(Debug)]
// Senders are many and sources of datagrams few: a sender is not worth a pointer to follow.
#[allow(clippy::large_enum_variant)]
pub(super) enum Source {
    Stream(Sender),
    Rdma(rdma::Sender),
    Datagram(datagram::Source),
    /// The limiter at this place.
    Limiter(u32),
    /// The flow is complete.
    Over,
}

// What RDMA needs makes no slot larger.
const _: () = assert!(size_of::<rdma::Sender>() <= size_of::<Sender>());

impl Outgoing {
    #[inline]
    pub(super) fn poll(&mut self, now: Time, group: &GroupState) -> Poll {
        match &mut self.source {
            Source::Stream(sender) => sender.poll_transmit(&group.stream().params, now),
            Source::Rdma(sender) => sender.poll_transmit(&group.rdma().params, now),
            Source::Datagram(source) => source.poll_transmit(now),
            Source::Limiter(_) | Source::Over => Poll::Blocked,
        }
    }

    /// The packet that carries `segment`.
    #[inline]
    pub(super) fn packet(&self, segment: &Segment, group: &GroupState) -> Packet {
        segment_packet(segment, Way { flow: self.flow, to: self.to, turn: self.turn as u16 }, group)
    }

    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        match &self.source {
            Source::Stream(sender) => sender.next_timer(),
            Source::Rdma(sender) => sender.next_timer(),
            _ => Time::NEVER,
        }
    }

    #[inline]
    pub(super) fn arm(&mut self, at: Time, slot: u32, agenda: &mut Agenda) {
        if at < self.armed {
            self.armed = at;
            agenda.plan(at, Wake::Sender(slot));
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

    /// It is one, and not over yet.
    pub(super) fn is_flow(&self) -> bool {
        matches!(self.source, Source::Stream(_) | Source::Rdma(_) | Source::Datagram(_))
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub(super) fn srtt(&self) -> Span {
        match &self.source {
            Source::Stream(sender) => sender.srtt(),
            Source::Rdma(sender) => sender.srtt(),
            Source::Datagram(_) | Source::Limiter(_) | Source::Over => Span::ZERO,
        }
    }

    pub(super) fn delivered(&self) -> Bytes {
        match &self.source {
            Source::Stream(sender) => sender.delivered(),
            Source::Rdma(sender) => sender.delivered(),
            _ => Bytes::ZERO,
        }
    }

    pub(super) fn record(&self) -> Option<FlowRecord> {
        let (delivered, stats, again) = match &self.source {
            Source::Stream(sender) => (sender.delivered(), sender.stats(), sender.is_again()),
            Source::Rdma(sender) => (sender.delivered(), sender.stats(), false),
            _ => return None,
        };
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
