//! Notifications between the switch of a rack and its hosts, as packets.

use narrows_proto::cc::rackcc::JumboReport;
use narrows_proto::units::{BitRate, Span};

use super::RackAgent;
use crate::ids::{FlowId, HostId};
use crate::packet::{Control, FIN, Fields, Kind, Packet, Parcel, Trailers, wire_size};

/// A message to a host with a report on the JumboFlow with this number.
pub(super) fn report_packet(
    number: u32,
    report: &JumboReport,
    to: HostId,
    agent: &RackAgent,
) -> (Packet, Trailers) {
    let counts = u64::from(report.subflows) | u64::from(report.joined) << 32;
    let first = [report.alpha.to_bits(), report.yielded.to_bits(), report.throughput.as_bps(), report.marked];
    let second = [counts, report.rtt.as_ps(), report.base_rtt.as_ps(), report.recent_rtt.as_ps()];
    let packet = Packet::new(Fields {
        flow: FlowId(number),
        incarnation: report.quiet.into(),
        trailers: 2,
        ..fields(Kind::Control(Control::JumboFlow), to, agent)
    });
    (packet, [Packet::of_words(first), Packet::of_words(second)])
}

/// The number of the JumboFlow that a message is about, and what it says.
pub(super) fn received_report(Parcel { packet, trailers }: Parcel<'_>) -> (u32, JumboReport) {
    let ([alpha, yielded, throughput, marked], [counts, rtt, base_rtt, recent_rtt]) =
        (trailers[0].words(), trailers[1].words());
    let report = JumboReport {
        alpha: f64::from_bits(alpha),
        joined: (counts >> 32) as u32,
        subflows: counts as u32,
        throughput: BitRate::from_bps(throughput),
        yielded: f64::from_bits(yielded),
        marked,
        rtt: Span::from_ps(rtt),
        base_rtt: Span::from_ps(base_rtt),
        recent_rtt: Span::from_ps(recent_rtt),
        quiet: packet.incarnation() != 0,
    };
    (packet.flow().0, report)
}

/// A host notifies its switch, and the destination, that a subflow begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) flow: FlowId,
    pub(super) incarnation: u16,
    /// The destination.
    pub(super) to: HostId,
    pub(super) joins: bool,
    /// Which of the JumboFlows to that rack.
    pub(super) jumboflow: u32,
}

impl Membership {
    pub(super) fn packet(self, agent: &RackAgent) -> Packet {
        let Self { flow, incarnation, to, joins, jumboflow } = self;
        let (seq, flags) = (jumboflow.into(), if joins { 0 } else { FIN });
        Packet::new(Fields {
            seq,
            flow,
            incarnation,
            flags,
            ..fields(Kind::Control(Control::Membership), to, agent)
        })
    }

    pub(super) fn read(packet: Packet) -> Self {
        Self {
            flow: packet.flow(),
            incarnation: packet.incarnation(),
            to: packet.to(),
            joins: !packet.is(FIN),
            jumboflow: packet.seq() as u32,
        }
    }
}

/// A message about the access link of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// A host advertises the rate at which each source may send to it.
    Rate(HostId, BitRate),
    /// A switch notifies a host of what waits for it.
    Queue(u64),
}

impl Access {
    pub(super) fn packet(self, to: HostId, agent: &RackAgent) -> Packet {
        let (seq, from, incarnation) = match self {
            Self::Rate(from, rate) => (rate.as_bps(), from.0, 0),
            Self::Queue(bytes) => (bytes, 0, 1),
        };
        Packet::new(Fields {
            seq,
            flow: FlowId(from),
            incarnation,
            ..fields(Kind::Control(Control::Access), to, agent)
        })
    }

    pub(super) fn read(packet: Packet) -> Self {
        match packet.incarnation() {
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
        size: wire_size(agent.message_size),
        incarnation: 0,
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
    fn what_a_switch_reports_survives_the_trip() {
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
        let (packet, trailers) = report_packet(9, &sent, HostId(3), &RackAgent::default());
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
            let sent = Membership { flow: FlowId(5), incarnation: 6, to: HostId(7), joins, jumboflow: 3 };
            assert_eq!(Membership::read(sent.packet(&agent)), sent);
        }
        for sent in [Access::Rate(HostId(9), BitRate::from_mbps(3)), Access::Queue(12_345)] {
            assert_eq!(Access::read(sent.packet(HostId(1), &agent)), sent);
        }
    }
}
