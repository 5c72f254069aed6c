//! Messages over RDMA as RoCEv2 carries them: packets leave at a rate, and what is lost is retransmitted, around any
//! [congestion control](crate::cc).
//!
//! No handshake · a flow begins at line rate unless its control says otherwise · the sender requests acknowledgments
//! (AckReq of the base transport header) · go-back-N, as network cards do it, selective repeat (IRN: Mittal et al.,
//! SIGCOMM 2018), or any order with selective acknowledgments (Ultra Ethernet) · one retransmission timeout · congestion notification packets (RoCEv2, Zhu et al., SIGCOMM 2015).
//!
//! Scoreboard, round-trip times, delivery rates and pacing are those of [`stream`](crate::stream); so are [`Segment`],
//! [`Poll`], [`Endpoint`] and [`Stats`].
//!
//! Beside these halves, for networks that deliver in any order: [choice of paths](paths) by an entropy value, and [credits] of
//! receivers. Each is a value of its own, which a host asks before it sends.
//!
//! Left out: READ and atomics (a message is a WRITE from sender to receiver), packet numbers (bytes are counted).

mod any_order;
pub mod credits;
mod gaps;
mod params;
pub mod paths;
mod receiver;
mod requests;
mod selective;
mod sender;
mod spread;
mod timeout;
mod wire;

#[cfg(test)]
mod tests;

pub use crate::stream::{Endpoint, Poll, Segment, Stats};
pub use credits::Credits;
pub use params::{CnpPer, Gap, Joins, Params, QueuePair, Recovery, Reordering};
pub use paths::{Outcome, PathChoice, Paths};
pub use receiver::{Receiver, Trimmed};
pub use selective::Selective;
pub use sender::Sender;
pub use wire::{AckFrame, Reply};
