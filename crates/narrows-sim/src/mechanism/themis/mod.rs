//! Themis: switches at the border of a data center react to congestion before the other end of a long path can.
//!
//! ```text
//! notify   a data packet of a source in this data center leaves the switch with a mark: the mark is cleared, and the switch sends the
//!          source a CNP (proactive notification point)
//! hold     a CNP passes on its way to a source elsewhere: data packets of its flow that arrive later are held for a while, in order
//!          (temporary reaction point)
//! ```
//! Hosts run DCQCN as it is. A switch notifies a flow again when `gap` has passed since its last CNP left, `delay` after the packet. The CNP
//! goes back over the link that the packet came over.
//!
//! A held packet passes a loop of the switch several times: a pass takes the time to send it at `loop_rate`, and `loop_delay`. Flows begin
//! with one pass; each time more CNPs than a threshold were counted there is one pass more, and the threshold rises by one. After each
//! `release` without a CNP there are half as many passes, until there are none.
//!
//! Of the paper (ICNP 2025) only the abstract and the code of the authors were at hand. There the notification point is compiled in, the
//! reaction point is not.
//!
//! Differs from Themis: what is cleared is the mark, and later switches may mark the packet again; the code sets both bits to 0 and marks
//! packets whatever they say.
//! Differs from Themis: held packets take no part of the packet memory, and the loop has room for all of them.
//! Differs from Themis: the CNP takes the way back of its packet, not one that is looked up.

mod hold;
mod notify;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use self::hold::Holds;
pub(crate) use self::notify::Notifier;
pub use self::settings::{BYTES_OF_ENTRY, Hold, Themis, ThemisCounters, ThemisRecord};
use crate::ids::NodeId;
use crate::network::Network;
use crate::switch::{Reach, Reached};

/// Documentation of its modules.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("mod.rs")];

/// Hosts in the data center of a switch.
fn near(network: &Network, switch: NodeId) -> Reached {
    Reach::Dc.hosts(&network.topology, &[], switch)
}
