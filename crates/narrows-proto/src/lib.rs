//! End-host logic as plain values: what a NIC, a kernel or a simulator would agree on.
//!
//! A flow is a [`stream::Sender`] and a [`stream::Receiver`] that exchange [`stream::Segment`]s and
//! [`stream::AckFrame`]s. The sender queries its [`cc::Cc`] how much may be in flight. Nothing here reads a clock or does
//! I/O; `now` is an argument.
//!
//! One segment's way through this crate:
//!
//! 1. The link is free: [`Sender::poll_transmit`](stream::Sender::poll_transmit) compares what is in flight with the
//!    [`cc::Limit`], notes the segment on its scoreboard and returns it.
//! 2. It arrives: [`Receiver::on_segment`](stream::Receiver::on_segment) moves its edge and returns an acknowledgment,
//!    now or when the delay is over.
//! 3. That arrives: [`Sender::on_ack`](stream::Sender::on_ack) takes delivered segments off the scoreboard, measures
//!    round trip and delivery rate, looks for losses, and gives the controller one digested [`cc::Ack`].
//! 4. The controller changes its limit, and 1. begins again.
//!
//! ```
//! use narrows_proto::cc::Config;
//! use narrows_proto::stream::{Endpoint, Params, Poll, Receiver, Sender};
//! use narrows_proto::units::{BitRate, Bytes, Time};
//!
//! // How many segments leave before the first acknowledgment?
//! let params = Params { handshake: false, ..Params::default() };
//! let cc = Config::Reno(Default::default());
//! let host = Endpoint { link: BitRate::from_gbps(10), seed: 1 };
//! let mut sender = Sender::new(&params, &cc, host, Bytes::new(1_000_000));
//! let mut sent = 0;
//! while let Poll::Send(_) = sender.poll_transmit(&params, Time::ZERO) {
//!     sent += 1;
//! }
//! assert_eq!(sent, 10);
//! ```

pub mod annulus;
pub mod cc;
pub mod cnm;
pub mod datagram;
pub mod docs;
mod range_set;
pub mod rdma;
pub mod reaction;
pub mod split_mix;
pub mod stream;
pub mod telemetry;
pub mod units;
