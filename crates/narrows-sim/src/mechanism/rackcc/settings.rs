//! Settings, and what is shown of it.

use narrows_proto::cc::rackcc::{JumboReport, jumbo, receiver};
use narrows_proto::units::{BitRate, Bytes, Span};

use crate::ids::NodeId;
use crate::mechanism::settings::SwitchSettings;

/// Agent that keeps the state of JumboFlows at the switch of a rack (RackCC: Zhuo et al., HotNets 2016).
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
    /// Rule for the rate that hosts of the rack advertise. At its interval the switch notifies them of their queues.
    pub receivers: receiver::Params,
}

impl SwitchSettings for RackAgent {
    fn control_size(&self) -> Option<Bytes> {
        Some(self.message_size)
    }
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

/// Notifications between hosts and switches of racks.
#[derive(Clone, Copy, Debug)]
pub enum RackEvent {
    /// A switch has reported to its hosts on JumboFlow number `number` to the rack of switch number `rack` among those with hosts.
    JumboFlow {
        /// The switch.
        node: NodeId,
        /// The rack.
        rack: u32,
        /// Which of the JumboFlows to it.
        number: u32,
        /// The report.
        report: JumboReport,
    },
    /// A host has advertised a rate, knowing that `queue` bytes had waited for it.
    Advertised {
        /// The host.
        node: NodeId,
        /// The rate.
        rate: BitRate,
        /// Bytes that had waited.
        queue: u64,
    },
}
