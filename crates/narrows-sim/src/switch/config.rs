//! Settings of a switch.

use narrows_proto::units::Span;

use super::{Buffer, CongestionPoint, Isolation, Marking, Pause, Pfc};
use crate::mechanism::rackcc::RackAgent;

/// Settings of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Its packet memory.
    pub buffer: Buffer,
    /// How its queues signal congestion.
    pub marking: Marking,
    /// Time from the last bit of a packet until it joins a queue.
    pub latency: Span,
    /// How its ports work.
    pub ports: PortKind,
    /// How its queues talk to the sources of their packets. Needs scheduled ports.
    pub congestion_point: CongestionPoint,
    /// When it pauses its neighbors. Needs scheduled ports at all of them.
    pub pause: Option<Pause>,
    /// How it stops classes of packets at its neighbors. Needs scheduled ports at all of them.
    pub pfc: Option<Pfc>,
    /// How it isolates congested flows. Needs `pfc`.
    pub isolation: Option<Isolation>,
    /// It writes telemetry into packets that want it, when it begins to send them (HPCC: Li et al., SIGCOMM 2019, §4.1). Needs
    /// scheduled ports.
    pub telemetry: bool,
    /// It keeps the state of the JumboFlows of its rack (RackCC).
    pub rack: Option<RackAgent>,
}

impl SwitchConfig {
    /// With this packet memory, plain ports, and everything else off.
    pub fn new(buffer: Buffer) -> Self {
        Self {
            buffer,
            marking: Marking::Off,
            latency: Span::ZERO,
            ports: PortKind::Plain,
            congestion_point: CongestionPoint::Off,
            pause: None,
            pfc: None,
            isolation: None,
            telemetry: false,
            rack: None,
        }
    }

    /// Its queues talk to the sources of their packets.
    pub fn has_congestion_points(&self) -> bool {
        !matches!(self.congestion_point, CongestionPoint::Off)
    }
}

/// Kinds of ports. Both give the same results where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortKind {
    /// First in, first out: knows the departure of a packet when it arrives.
    #[default]
    Plain,
    /// A queue for each priority, the highest first.
    Scheduled,
}
