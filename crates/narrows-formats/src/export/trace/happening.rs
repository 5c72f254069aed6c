use std::ops::Range;

use narrows_proto::cc::Inside;
use narrows_proto::cnm::Cnm;
use narrows_proto::stream::Repairing;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::{PacketKind, PacketRef, SenderRef, StopFrame};
use narrows_sim::{DropCause, FlowId, HostId, LinkId};

/// Something that happens in a run.
#[derive(Debug)]
pub(super) enum Happening {
    /// A packet begins to be sent.
    Departs(Box<Packet>),
    /// A packet was marked at a port.
    Marked(Box<Packet>),
    /// A packet was dropped at a port, or lost on a link.
    Dropped(Box<Packet>, DropCause),
    /// A sender has received an acknowledgment, a notification packet or a timer.
    Window(Box<Window>),
    /// So much waits at a port.
    Backlog(LinkId, u64),
    /// A link is paused until then, or no longer.
    Paused(LinkId, Time),
}

/// A packet, kept.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) link: LinkId,
    pub(super) kind: PacketKind,
    pub(super) flow: Option<FlowId>,
    pub(super) incarnation: u16,
    pub(super) to: Option<HostId>,
    pub(super) seq: u64,
    pub(super) size: u16,
    pub(super) priority: u8,
    pub(super) ect: bool,
    pub(super) l4s: bool,
    pub(super) marked: bool,
    pub(super) echoes_mark: bool,
    pub(super) ace: Option<u8>,
    pub(super) reduced: bool,
    pub(super) pushed: bool,
    pub(super) asks: bool,
    pub(super) last: bool,
    pub(super) again: bool,
    pub(super) tagged: bool,
    pub(super) over: bool,
    /// Window that an acknowledgment announces, in units of the receive buffer.
    pub(super) announces: Option<u16>,
    pub(super) sacks: Vec<Range<u64>>,
    pub(super) nak: Option<u64>,
    pub(super) cnm: Option<Cnm>,
    pub(super) stop: Option<StopFrame>,
    /// Outcome of its arrival at the port, if that is a switch's.
    pub(super) queued: Option<Queued>,
    /// It will be lost on the link.
    pub(super) lost: Option<DropCause>,
}

/// Outcome of a packet's arrival at a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) at: Time,
    pub(super) backlog: u64,
    /// It was marked there.
    pub(super) marked: bool,
}

impl Packet {
    pub(super) fn new(link: LinkId, packet: PacketRef<'_>) -> Self {
        Self {
            link,
            kind: packet.kind(),
            flow: packet.flow(),
            incarnation: packet.incarnation(),
            to: packet.to(),
            seq: packet.seq(),
            size: packet.size(),
            priority: packet.priority(),
            ect: packet.is_ect(),
            l4s: packet.is_l4s(),
            marked: packet.is_marked(),
            echoes_mark: packet.echoes_mark(),
            ace: packet.ace(),
            reduced: packet.reduced(),
            pushed: packet.is_pushed(),
            asks: packet.requests_ack(),
            last: packet.is_last(),
            again: packet.is_again(),
            tagged: packet.is_tagged(),
            over: packet.is_over(),
            announces: packet.announces(),
            sacks: packet.sacks().collect(),
            nak: packet.nak(),
            cnm: packet.cnm(),
            stop: packet.stop(),
            queued: None,
            lost: None,
        }
    }
}

/// The state of a sender.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) flow: FlowId,
    pub(super) incarnation: u16,
    pub(super) cwnd: Bytes,
    pub(super) pacing: Option<BitRate>,
    pub(super) inflight: Bytes,
    pub(super) srtt: Span,
    /// Smallest round-trip time, and mean deviation.
    pub(super) rtt_range: Option<(Span, Span)>,
    pub(super) repairing: Repairing,
    pub(super) timeouts: u64,
    pub(super) delivered: Bytes,
    /// Other state of its congestion control.
    pub(super) inside: Vec<(&'static str, Inside)>,
}

impl Window {
    pub(super) fn new(flow: FlowId, incarnation: u16, sender: SenderRef<'_>) -> Self {
        let limit = sender.limit();
        let mut inside = Vec::new();
        sender.inside(&mut |name, value| inside.push((name, value)));
        Self {
            flow,
            incarnation,
            cwnd: limit.cwnd,
            pacing: limit.pacing,
            inflight: sender.inflight(),
            srtt: sender.srtt(),
            rtt_range: sender.rtt_range(),
            repairing: sender.repairing(),
            timeouts: sender.stats().timeouts,
            delivered: sender.delivered(),
            inside,
        }
    }

    /// The number that its control keeps under this name; infinite if nothing bounds it.
    pub(super) fn inside(&self, name: &str) -> Option<f64> {
        self.inside.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.number())
    }
}
