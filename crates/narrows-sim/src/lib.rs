//! The network in virtual time: links, switches and hosts, advanced window by window.
//!
//! A [`Network`] and its [`Traffic`](traffic::Traffic) become a [`Simulation`], which runs to an [`Outcome`].
//!
//! One packet's way through this crate:
//!
//! 1. Its host's link is free. The network card asks the flow whose turn it is; the flow's sender
//!    ([`narrows_proto::stream::Sender`]) hands out a segment. The packet is appended to the ring of the link, with the
//!    time at which its last bit will have arrived; the node at the far end is entered in the calendar.
//! 2. In the window that holds this time the switch takes all packets that arrive before the window ends off its links,
//!    sorts them by time, and passes each through its stages: route, marking, admission to the packet memory, queue.
//!    A plain port knows the departure at once and appends the packet to the next link; a scheduled port keeps it until
//!    its turn comes.
//! 3. The last link leads to a host. The flow's receiver returns an acknowledgment, which travels the same way back
//!    and opens the sender's window: 1. begins again.
//!
//! ```
//! use std::ops::ControlFlow;
//! use narrows_proto::cc::Config;
//! use narrows_proto::stream::Params;
//! use narrows_proto::units::{BitRate, Bytes, Span, Time};
//! use narrows_sim::switch::{Buffer, Sharing, SwitchConfig};
//! use narrows_sim::topology::{NodeKind, Star, Topology};
//! use narrows_sim::traffic::{FlowSpec, Group, Traffic, Transport};
//! use narrows_sim::{Execution, GroupId, HostId, Hosts, Network, Routing, Simulation, Stop};
//!
//! // How long do 10 kB take across one switch?
//! let mut topology = Topology::default();
//! Star { hosts: 2, rate: BitRate::from_gbps(10), delay: Span::from_us(1) }.build(&mut topology, "");
//! let buffer = Buffer { size: Bytes::new(1_000_000), sharing: Sharing::Complete };
//! let switch = SwitchConfig::new(buffer);
//! let switches = topology.nodes().iter().map(|node| match node.kind {
//!     NodeKind::Host(_) => None,
//!     NodeKind::Switch { .. } => Some(switch.clone()),
//! });
//! let switches = switches.collect();
//! let network = Network { topology, switches, routing: Routing::Ecmp, failures: vec![], reaction: None, hosts: Hosts::Ideal, ..Network::default() };
//! let transport = Transport::Stream { params: Params { handshake: false, ..Params::default() }, cc: Config::Reno(Default::default()) };
//! let traffic = Traffic {
//!     groups: vec![Group { name: "one".into(), transport, priority: 0, near_source: None }],
//!     flows: vec![FlowSpec { from: HostId(0), to: HostId(1), group: GroupId(0), start: Time::ZERO, size: Bytes::new(10_000) }],
//!     ..Traffic::default()
//! };
//! let simulation = Simulation::new(&network, &traffic, 1, Execution::default(), || ());
//! let outcome = simulation.run(Stop { at: Time::ZERO + Span::from_secs(1), when_drained: true }, |_| ControlFlow::Continue(()));
//! assert_eq!(outcome.flows[0].end.unwrap().to_string(), "11.7344 us");
//! ```
mod choice;
mod deadlock;
pub mod docs;
mod engine;
#[doc(hidden)]
pub mod floor;
mod followers;
mod host;
mod ideal;
mod ids;
mod link;
pub mod mechanism;
mod network;
pub mod observe;
mod packet;
pub mod path;
mod prefetch;
mod random;
mod ranks;
mod record;
mod ring;
mod routing;
pub mod switch;
pub mod topology;
pub mod traffic;
pub mod workload;
mod world;

pub use deadlock::circle_of;
pub use engine::{
    Closed, Delivered, Delivery, Execution, External, Injected, OnProgress, Outcome, PlainSession, Progress,
    ReceivedPacket, RecordedSession, Session, Simulation, Stop, is_link_rate, simulate,
};
pub use host::{Client, Codepoint};
pub use ideal::{IdealPath, ideal_fct};
pub use ids::{FlowId, GroupId, HostId, LinkId, NodeId};
pub use link::Outage;
pub use mechanism::hosts::{Bounded, Exponential, Hosts, Interrupts, Processing, RealHosts};
pub use mechanism::limiter::{LimiterScope, Reaction, ReactionPlace, ReactionRecord};
pub use mechanism::small_queues::SmallQueues;
pub use mechanism::start_delays::StartEvery;
pub use network::{Failure, Network};
pub use random::{Purpose, Stream};
pub use record::{DatagramRecord, DropCause, FlowRecord, PortCounters, Sampled};
pub use routing::paths::Paths;
pub use routing::{MOST_LEAVES, Polarization, Routing, Salt};
