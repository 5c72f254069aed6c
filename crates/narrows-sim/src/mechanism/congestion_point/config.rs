//! Settings of congestion points.

use super::bcn::Bcn;
use super::message::Message;
use super::qcn::Qcn;

/// Messages of the queues of a switch to the sources of their packets.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CongestionPoint {
    /// None.
    #[default]
    Off,
    /// Backward congestion notification: slow down, speed up, stop.
    Bcn(Bcn),
    /// Quantised congestion notification (IEEE 802.1Qau): slow down.
    Qcn(Qcn),
}

impl CongestionPoint {
    /// Its messages, unless it has none.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Off => None,
            Self::Bcn(bcn) => Some(&bcn.message),
            Self::Qcn(qcn) => Some(&qcn.message),
        }
    }
}

/// The most congestion points that can be told apart: ports of all switches that have some.
pub const MOST_CONGESTION_POINTS: usize = u16::MAX as usize;
