//! Settings.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Bytes;

use crate::mechanism::settings::SwitchSettings;

/// The most flow queues of a queue of a port.
pub const MOST_FLOW_QUEUES: u32 = 65_536;

/// Deficit round robin (RFC 8290 §3), in each queue of a port.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Drr {
    /// Bytes that a flow queue may send in a turn; 1514 B (RFC 8290 §5.2.4).
    pub quantum: Bytes,
    /// Flow queues; 1024 (RFC 8290 §5.2.5).
    pub flows: u32,
}

impl Default for Drr {
    fn default() -> Self {
        Self { quantum: Bytes::new(1_514), flows: 1_024 }
    }
}

impl SwitchSettings for Drr {
    const KEEPS_QUEUES: bool = true;
}

impl Drr {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        check_flow_queues(self.quantum, self.flows, ranges)
    }
}

/// Whether a quantum and a number of flow queues are in their ranges.
///
/// # Errors
/// The first that is not.
pub fn check_flow_queues(quantum: Bytes, flows: u32, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    // A turn without a packet costs time and changes nothing.
    let quanta = Bytes::new(64)..=Bytes::new(10_000_000);
    ranges.unless(quanta.contains(&quantum), "quantum", quantum, "64 B to 10 MB")?;
    ranges.unless((1..=MOST_FLOW_QUEUES).contains(&flows), "flows", flows, "1 to 65536")
}
