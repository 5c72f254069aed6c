//! The network in virtual time.
mod engine;
mod host;
mod ideal;
mod ids;
mod link;
pub mod observe;
mod packet;
mod prefetch;
mod random;
mod record;
mod ring;
mod routing;
pub mod switch;
pub mod topology;
pub mod traffic;
pub mod workload;

pub use engine::{Execution, Failure, Network, Outcome, Progress, Simulation, Stop, is_link_rate};
pub use ideal::{IdealPath, ideal_fct};
pub use ids::{FlowId, GroupId, HostId, LinkId, NodeId};
pub use link::Outage;
pub use random::{Purpose, Stream};
pub use record::{DatagramRecord, DropCause, FlowRecord, PortCounters};
pub use routing::{Paths, Routing};
