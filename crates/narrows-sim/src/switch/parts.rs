//! Parts that a switch is made from.

use std::collections::VecDeque;

use narrows_proto::units::Bytes;

use super::common::Common;
use super::fifo::FifoPorts;
use super::queued::{ControlQueue, Mechanisms, QueuedPorts};
use super::{MOST_PORTS, PortKind, Ports, Switch, SwitchConfig};
use crate::ids::{HostId, NodeId};
use crate::link::Egress;
use crate::mechanism::at_ports::PortsSite;
use crate::mechanism::buffer::Memory;
use crate::mechanism::congestion_point::{CongestionPoints, Reached};
use crate::mechanism::marking::Marker;
use crate::mechanism::pfc::Watch;
use crate::mechanism::registry::{PortMechanisms, QueueMechanisms, SwitchMechanisms, each_at_ports};
use crate::mechanism::telemetry::Meter;
use crate::mechanism::{FlowControl, InputLink, pause, pfc};
use crate::network::Network;
use crate::path::NO_LINE;
use crate::random::Stream;
use crate::record::PortCounters;
use crate::routing::edits::Edits;
use crate::routing::{Choice, PacketRule, Routes};

/// Parts that a switch is made from.
pub(crate) struct SwitchParts<'a> {
    pub(crate) first_wire: usize,
    pub(crate) wires: usize,
    pub(crate) impaired: bool,
    /// Its index among switches with hosts; any other number if it has none.
    pub(crate) leaf: u32,
    pub(crate) routes: Routes,
    pub(crate) choice: Choice,
    /// The rule that chooses for each packet, if there is one.
    pub(crate) by_packet: Option<Box<PacketRule>>,
    pub(crate) egresses: Vec<Egress>,
    /// The thread it belongs to.
    pub(crate) shard: u32,
    pub(crate) random: Stream,
    /// Size of a typical packet, for RED's idle time.
    pub(crate) typical_packet: u16,
    pub(crate) signals: Option<SignalParts<'a>>,
    /// Mechanisms of the whole switch.
    pub(crate) mechanisms: Option<Box<SwitchMechanisms>>,
}

/// Parts that the mechanisms at the ports of a switch are made from: congestion points, telemetry, marking at dequeue, limiters at
/// the edge, and what neighbors stop.
pub(crate) struct SignalParts<'a> {
    pub(crate) network: &'a Network,
    /// Number of its first congestion point.
    pub(crate) first_point: u16,
    /// Hosts that messages of its congestion points reach.
    pub(crate) reach: Reached,
    pub(crate) random: Stream,
    /// The links that lead to it, in the order of its wires.
    pub(crate) inputs: Vec<InputLink>,
    /// The address of what is sent to a neighbor.
    pub(crate) neighbor: HostId,
    pub(crate) node: NodeId,
    /// Of the run.
    pub(crate) seed: u64,
    /// It pauses its neighbors or stops classes of packets there, or they do at it.
    pub(crate) neighbors: bool,
    /// The same, by class.
    pub(crate) lossless: bool,
    /// By port, if it has telemetry: what writes it.
    pub(crate) meters: Vec<Meter>,
}

impl SignalParts<'_> {
    fn mechanisms(self, config: &SwitchConfig, ports: usize, largest: Bytes) -> Mechanisms {
        let Self { network, first_point, reach, random, inputs, neighbor, node, seed, .. } = self;
        let (neighbors, lossless, meters) = (self.neighbors, self.lossless, self.meters);
        let flow_control = match (&config.pfc, &config.pause) {
            (Some(pfc), _) => {
                let side = config.has_side_class();
                FlowControl::Pfc(pfc::Account::new(pfc, &config.buffer, side, &inputs, largest))
            }
            (None, Some(pause)) => FlowControl::Pause(pause::Account::new(pause, &inputs)),
            (None, None) => FlowControl::Off,
        };
        let site = PortsSite { network, config, ports, inputs: &inputs, largest, neighbor, node, seed };
        let at_ports = PortMechanisms::new(&site);
        let mut listed = false;
        each_at_ports!(ref at_ports, _mechanism => listed = true);
        Mechanisms {
            neighbors,
            points: CongestionPoints::new(&config.congestion_point, ports, first_point, reach, random),
            flow_control,
            replaces: at_ports.replaces(),
            at_ports,
            listed,
            queues: QueueMechanisms::boxed(&site),
            meters,
            watches: if lossless { vec![Watch::default(); ports] } else { Vec::new() },
            control: vec![ControlQueue::default(); ports],
            backs: inputs.iter().map(|input| input.back).collect(),
            neighbor,
            message: None,
            returns: VecDeque::new(),
        }
    }
}

impl Switch {
    pub(crate) fn new(config: &SwitchConfig, parts: SwitchParts<'_>) -> Self {
        let count = parts.egresses.len();
        assert!(count.max(parts.wires) <= MOST_PORTS, "a switch has at most {MOST_PORTS} ports");
        let packet_time = |egress: &Egress| (egress.rate, egress.wire_time.of(parts.typical_packet));
        let common = Common {
            memory: Memory::new(&config.buffer, count),
            marker: Marker::new(
                &config.marking,
                parts.egresses.iter().map(packet_time),
                Bytes::new(parts.typical_packet.into()),
                parts.random,
            ),
            counters: vec![PortCounters::default(); count],
            links: parts.egresses.iter().map(|egress| egress.link).collect(),
        };
        let own = |egress: &Egress| u32::from(egress.to.shard) == parts.shard;
        let wire = |egress: &Egress| if own(egress) { egress.to.wire } else { u32::MAX };
        let leads_to = parts.egresses.iter().map(wire).collect();
        // Only queued ports send over lines.
        let has_lines = parts.egresses.iter().any(|egress| egress.line != NO_LINE);
        let lossless = parts.signals.as_ref().is_some_and(|signals| signals.lossless);
        let routes_late = config.pause.is_some()
            || lossless
            || config.asks_at_ports()
            || parts.mechanisms.is_some()
            || parts.by_packet.is_some();
        Self {
            first_wire: parts.first_wire as u32,
            wires: parts.wires as u32,
            leaf: parts.leaf,
            impaired: parts.impaired,
            routes_late,
            leads_to,
            routes: parts.routes,
            choice: parts.choice,
            by_packet: parts.by_packet,
            ports: match if has_lines { PortKind::Scheduled } else { config.ports } {
                PortKind::Plain => {
                    assert!(parts.signals.is_none(), "plain ports have no mechanisms");
                    Ports::Fifo(FifoPorts::new(&parts.egresses))
                }
                PortKind::Scheduled => {
                    let largest = Bytes::new(parts.typical_packet.into());
                    let mechanisms = parts.signals.map(|signals| signals.mechanisms(config, count, largest));
                    Ports::Queued(QueuedPorts::new(&parts.egresses, mechanisms))
                }
            },
            common,
            edits: Edits::default(),
            no_route: Box::default(),
            mechanisms: parts.mechanisms,
        }
    }
}
