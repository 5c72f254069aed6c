//! Fair queueing by flow: queues of flows take turns, in which each may send as many bytes (deficit round robin).
//!
//! ```text
//! flow queue   the one that a hash of flow and destination names, with a salt of each port       RFC 8290 §3, §4.1
//! turn         a flow queue sends while it has credits left; each packet takes its size off       §3
//! credits      a quantum when it joins the turns, and one more each time they are spent
//! overflow     where a packet finds the packet memory full, packets of the flow queue that
//!              holds most give way: half of them, at most 64, from the head                       §4.1
//! ```
//! In a turn a flow queue may send up to a packet more than its credits, which it then lacks at the next. Over time all that have
//! something to send get the same number of bytes, whatever the size of their packets.
//!
//! Flows whose hashes agree share a flow queue: of 100 flows one has one of 1024 for itself with a probability of 91 % (§5.3). Memory is
//! bounded by the number of flow queues and the packet memory, not by the number of flows.
//!
//! Differs from Shreedhar & Varghese 1996, whose queue sends only what its deficit counter covers: that is the same but for
//! when the difference is charged.
//!
//! Differs from RFC 8290 §4.1: what is limited is the packet memory in bytes, not the number of packets.

mod flow_queues;
mod settings;
mod state;
mod store;
#[cfg(test)]
mod tests;

pub use self::flow_queues::FlowQueueCounters as DrrCounters;
pub use self::flow_queues::{BYTES_OF_FLOW_QUEUE, FlowQueueCounters};
pub(crate) use self::flow_queues::{FlowQueues, Popped};
pub use self::settings::{Drr, MOST_FLOW_QUEUES, check_flow_queues};
pub(crate) use self::state::{DrrQueues, Sets};

/// Documentation of its module.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("mod.rs")];
