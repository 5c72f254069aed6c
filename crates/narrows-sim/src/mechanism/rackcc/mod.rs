//! JumboFlows (RackCC): the switch of a rack keeps the state of all connections to another rack, and reports it to its hosts.

mod host;
mod known;
mod observer;
mod record;
mod settings;
mod switch;
mod table;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use self::known::Racks;
pub use self::observer::{AdvertisedRow, JumboFlowRow, RackObserver};
pub use self::record::RackRecord;
pub use self::settings::{RackAgent, RackEvent};
pub(crate) use self::table::RackState;

/// State of a flow as a subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subflow {
    /// Place of its JumboFlow.
    jumboflow: u32,
    destination: u32,
    /// Sum of the versions it has received.
    received: u32,
    /// Its switch and its destination know that it begins, or will see.
    registered: bool,
}

/// Documentation of its module.
pub const DOCS: &str = narrows_proto::module_docs!("mod.rs");
