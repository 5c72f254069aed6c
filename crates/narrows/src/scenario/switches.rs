use narrows_proto::units::Span;
use narrows_sim::mechanism::isolation::Isolation;
use narrows_sim::mechanism::rackcc::RackAgent;
use narrows_sim::switch::{Buffer, CongestionPoint, Marking, Pause, Pfc, PortKind, SwitchConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the switches of one class.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Packet memory.
    pub buffer: Buffer,
    /// How queues signal congestion.
    #[serde(default)]
    pub marking: Marking,
    /// How queues notify the sources of their packets.
    #[serde(default)]
    pub congestion_point: CongestionPoint,
    /// When neighbors are paused (IEEE 802.3 PAUSE).
    pub pause: Option<Pause>,
    /// How classes of packets are stopped at neighbors (priority-based flow control, IEEE 802.1Qbb).
    pub pfc: Option<Pfc>,
    /// How congested flows are isolated; needs `pfc`.
    pub isolation: Option<Isolation>,
    /// Packets of controls that read telemetry (`hpcc`) learn, as they begin to be sent, the rate of the port, the time, what it
    /// has sent and what waits there.
    #[serde(default)]
    pub telemetry: bool,
    /// The state of JumboFlows that switches with hosts keep, for traffic under `rackcc`.
    pub rack_agent: Option<RackAgent>,
    /// Time from the last bit of a packet until it joins a queue.
    #[serde(default)]
    pub latency: Span,
}

/// Kind of ports. Both kinds give the same results where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortChoice {
    /// Scheduled ports if traffic has more than one priority or switches signal or write telemetry, plain ones otherwise.
    #[default]
    Auto,
    /// First in, first out; the fastest.
    Plain,
    /// A queue for each priority, the highest first.
    Scheduled,
}

impl Switch {
    /// As the simulation wants it.
    pub fn config(&self, ports: PortKind) -> SwitchConfig {
        SwitchConfig {
            buffer: self.buffer.clone(),
            marking: self.marking.clone(),
            latency: self.latency,
            ports,
            congestion_point: self.congestion_point.clone(),
            pause: self.pause.clone(),
            pfc: self.pfc.clone(),
            isolation: self.isolation.clone(),
            telemetry: self.telemetry,
            rackcc: self.rack_agent.clone(),
        }
    }
}
