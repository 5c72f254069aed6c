//! Isolation of congested flows: Dynamic Virtual Lanes (Gonzalez-Naharro et al., NEAT 2019), basic and enhanced, and the form
//! that became IEEE 802.1Qcz.
//!
//! - A queue that reaches a threshold names flows as congested. Their packets join a queue of their own, one for each port.
//! - If that grows, what comes in over a link is counted as the congested queue of that link.
//! - If that grows, the neighbor is notified of the flow and isolates it too, and the class of isolated flows is stopped there, not the
//!   others.
//! - Tokens (`order.rs`) keep packets in order.
//!
//! Differs from the slides: packets are stored once, so the congested queue at the side of the input is a count of what came
//! over its link, and not a place where packets wait a second time.

mod host;
mod lane;
mod naming;
mod observer;
mod order;
mod record;
mod settings;
mod stage;
#[cfg(test)]
mod tests;

pub(crate) use self::host::IsolatedFlows;
pub use self::observer::{IsolationObserver, IsolationRow};
pub use self::record::IsolationCounters;
pub use self::settings::{
    Isolation, IsolationChange, IsolationEvent, JointStop, Marked, Naming, Order, Scheme,
};
pub(crate) use self::stage::Stage;

/// Documentation of its modules.
pub const DOCS: &[&str] = &[
    narrows_proto::module_docs!("mod.rs"),
    narrows_proto::module_docs!("naming.rs"),
    narrows_proto::module_docs!("order.rs"),
];
