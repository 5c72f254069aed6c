//! Sockets in a simulated network, in virtual time: the same code that runs over UDP runs over a scenario of Narrows, without root, and the
//! same way every time.
//!
//! A [`Net`] is the network of a scenario with the flows that the scenario simulates. Some of its hosts are given to programs, which bind
//! [`Socket`]s there. Time stands still until [`Net::advance`] goes on to the next arrival or timer. On this stand
//!
//! - [`Machine`] and [`Net::step`], for protocols that do no input and output of their own; with the feature `quinn-proto`, `QuicEndpoint`
//!   is one;
//! - [`Executor`], which runs futures; with the feature `quinn` it is a `quinn::Runtime`, and [`Socket`] a `quinn::AsyncUdpSocket`.
//!
//! ```
//! use narrows_net::{Codepoint, Net, Span, Time};
//!
//! let scenario = r#"
//!     version = 2
//!     name = "ping"
//!     stop = { after = "1 s" }
//!     topology.star = { hosts = 4, rate = "100 Mb/s", delay = "5 ms" }
//!     switches.default.buffer.size = "1 MB"
//!     [[traffic]]
//!     name = "beside"
//!     pattern.long_lived = { from = ["host2"], to = ["host3"] }
//!     cc.cubic = {}
//! "#;
//! let net = Net::from_text(scenario, &["host0", "host1"])?;
//! let (client, server) = (net.bind("host0", 0)?, net.bind("host1", 7)?);
//! client.send_to(b"ping", server.address(), Codepoint::Ect0)?;
//! assert!(net.advance(net.end())?);
//! let ping = server.receive().expect("it has arrived");
//! assert_eq!((&ping.payload[..], ping.from), (&b"ping"[..], client.address()));
//! // Time has stopped there: twice 5 ms, and the time to send it twice.
//! assert!(net.now() == ping.at && ping.at > Time::ZERO + Span::from_ms(10));
//! # Ok::<(), narrows_net::Error>(())
//! ```
//!
//! A run leaves behind what any run does: [`Net::finish`] returns flows, counters and tables of the scenario. Datagrams of sockets
//! count at ports and links like all packets, and in [`Net::counters`].
//!
//! The network knows sizes, not bytes: payloads are kept beside it, and forgotten when their packet is dropped. There is no loopback, no
//! fragmentation and no ICMP; all datagrams have the priority of the scenario's first traffic group.
mod datagram;
mod error;
mod executor;
mod machine;
mod net;
#[cfg(feature = "quinn-proto")]
mod quic;
#[cfg(feature = "quinn")]
mod runtime;
mod socket;
mod state;
mod timer;

pub use narrows::results::Results;
pub use narrows_proto::units::{Span, Time};
pub use narrows_sim::Codepoint;

pub use self::datagram::{Counters, Datagram, Transmit};
pub use self::error::Error;
pub use self::executor::{Executor, Task};
pub use self::machine::Machine;
pub use self::net::Net;
#[cfg(feature = "quinn-proto")]
pub use self::quic::QuicEndpoint;
pub use self::socket::Socket;
pub use self::timer::Timer;
