//! What the switch of a rack and its hosts tell each other about JumboFlows (RackCC).

mod host;
mod known;
mod switch;

use narrows_proto::rack::{JumboReport, jumbo, receiver};
use narrows_proto::units::{BitRate, Bytes, Span};

use crate::ids::{FlowId, HostId};
use crate::packet::{Control, Fields, Kind, Packet, Parcel, Trailers};

pub(crate) use self::known::Racks;
pub(crate) use self::switch::RackState;

/// What keeps the state of JumboFlows at the switch of a rack (RackCC: Zhuo et al., HotNets 2016).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RackAgent {
    /// Period, gains and memory.
    pub jumboflow: jumbo::Params,
    /// JumboFlows to each other rack (RackCC §3, §5); 1. Number n leaves the rack over uplink number n, and a new subflow joins
    /// the one with the lowest alpha.
    pub jumboflows: u32,
    /// Subflows of the rack that can be registered; 65 536. Those beyond are counted, but have no share.
    pub table: u32,
    /// A subflow of which nothing was seen for so long is taken to have ended; 10 ms.
    pub expiry: Span,
    /// Size on the wire of each message; 84 B, a frame of 64 B.
    pub message_size: Bytes,
    /// Their priority, 0 to 7; 7.
    pub message_priority: u8,
    /// Packets of subflows are marked at ports that lead to hosts of the rack as well; RackCC §3.1 says they are not.
    pub mark_last_hop: bool,
    /// How hosts of the rack find the rate they advertise. The switch tells them of their queues as often as that.
    pub receivers: receiver::Params,
}

impl Default for RackAgent {
    fn default() -> Self {
        Self {
            jumboflow: jumbo::Params::default(),
            jumboflows: 1,
            table: 1 << 16,
            expiry: Span::from_ms(10),
            message_size: Bytes::new(84),
            message_priority: 7,
            mark_last_hop: false,
            receivers: receiver::Params::default(),
        }
    }
}

/// What a flow keeps as a subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subflow {
    /// Place of its JumboFlow.
    jumboflow: u32,
    destination: u32,
    /// Sum of the versions it has received.
    received: u32,
    /// Its switch and its destination know that it begins, or will see.
    registered: bool,
}

/// A message that reports `told` of the JumboFlow with this number, to a host.
pub(crate) fn broadcast(
    number: u32,
    told: &JumboReport,
    to: HostId,
    agent: &RackAgent,
) -> (Packet, Trailers) {
    let counts = u64::from(told.subflows) | u64::from(told.joined) << 32;
    let first = [told.alpha.to_bits(), told.yielded.to_bits(), told.throughput.as_bps(), told.marked];
    let second = [counts, told.rtt.as_ps(), told.base_rtt.as_ps(), told.recent_rtt.as_ps()];
    let packet = Packet::new(Fields {
        flow: FlowId(number),
        turn: told.quiet.into(),
        trailers: 2,
        ..fields(Kind::Control(Control::JumboFlow), to, agent)
    });
    (packet, [Packet::of_words(first), Packet::of_words(second)])
}

/// The number of the JumboFlow that a message is about, and what it says.
fn received_report(Parcel { packet, trailers }: Parcel<'_>) -> (u32, JumboReport) {
    let ([alpha, yielded, throughput, marked], [counts, rtt, base_rtt, recent_rtt]) =
        (trailers[0].words(), trailers[1].words());
    let told = JumboReport {
        alpha: f64::from_bits(alpha),
        joined: (counts >> 32) as u32,
        subflows: counts as u32,
        throughput: BitRate::from_bps(throughput),
        yielded: f64::from_bits(yielded),
        marked,
        rtt: Span::from_ps(rtt),
        base_rtt: Span::from_ps(base_rtt),
        recent_rtt: Span::from_ps(recent_rtt),
        quiet: packet.turn() != 0,
    };
    (packet.flow().0, told)
}

/// A host tells its switch, and the destination, that a subflow begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) flow: FlowId,
    pub(crate) turn: u16,
    /// The destination.
    pub(crate) to: HostId,
    pub(crate) joins: bool,
    /// Which of the JumboFlows to that rack.
    pub(crate) jumboflow: u32,
}

impl Membership {
    pub(crate) fn packet(self, agent: &RackAgent) -> Packet {
        let seq = u64::from(self.joins) | u64::from(self.jumboflow) << 1;
        let Self { flow, turn, to, .. } = self;
        Packet::new(Fields { seq, flow, turn, ..fields(Kind::Control(Control::Membership), to, agent) })
    }

    pub(crate) fn read(packet: Packet) -> Self {
        Self {
            flow: packet.flow(),
            turn: packet.turn(),
            to: packet.to(),
            joins: packet.seq() & 1 == 1,
            jumboflow: (packet.seq() >> 1) as u32,
        }
    }
}

/// What concerns the access link of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A host advertises the rate at which each source may send to it.
    Rate(HostId, BitRate),
    /// A switch tells a host what waits for it.
    Queue(u64),
}

impl Access {
    pub(crate) fn packet(self, to: HostId, agent: &RackAgent) -> Packet {
        let (seq, from, turn) = match self {
            Self::Rate(from, rate) => (rate.as_bps(), from.0, 0),
            Self::Queue(bytes) => (bytes, 0, 1),
        };
        Packet::new(Fields {
            seq,
            flow: FlowId(from),
            turn,
            ..fields(Kind::Control(Control::Access), to, agent)
        })
    }

    pub(crate) fn read(packet: Packet) -> Self {
        match packet.turn() {
            0 => Self::Rate(HostId(packet.flow().0), BitRate::from_bps(packet.seq())),
            _ => Self::Queue(packet.seq()),
        }
    }
}

fn fields(kind: Kind, to: HostId, agent: &RackAgent) -> Fields {
    Fields {
        seq: 0,
        flow: FlowId(0),
        to,
        size: crate::packet::wire_size(agent.message_size),
        turn: 0,
        kind,
        priority: agent.message_priority,
        flags: 0,
        trailers: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_switch_tells_survives_the_trip() {
        let sent = JumboReport {
            alpha: 0.123,
            joined: 7,
            subflows: u32::MAX,
            throughput: BitRate::from_gbps(400),
            yielded: -3.5,
            marked: u64::MAX,
            rtt: Span::from_us(60),
            base_rtt: Span::MAX,
            recent_rtt: Span::from_ms(300),
            quiet: true,
        };
        let (packet, trailers) = broadcast(9, &sent, HostId(3), &RackAgent::default());
        assert_eq!(received_report(Parcel { packet, trailers: &trailers }), (9, sent));
        assert_eq!(
            (packet.kind(), packet.to(), packet.trailers()),
            (Kind::Control(Control::JumboFlow), HostId(3), 2)
        );
    }

    #[test]
    fn other_messages_survive_the_trip() {
        let agent = RackAgent::default();
        for joins in [false, true] {
            let sent = Membership { flow: FlowId(5), turn: 6, to: HostId(7), joins, jumboflow: 3 };
            assert_eq!(Membership::read(sent.packet(&agent)), sent);
        }
        for sent in [Access::Rate(HostId(9), BitRate::from_mbps(3)), Access::Queue(12_345)] {
            assert_eq!(Access::read(sent.packet(HostId(1), &agent)), sent);
        }
    }
}
