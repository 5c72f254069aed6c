//! Credits of receivers (RCCC of Ultra Ethernet): a sender may send as much as its receiver has granted.
//!
//! Amounts are bytes on the wire since the connection began, in quanta of 256 B where they are requested and granted. W is 1.5 times the
//! product of link rate and round-trip time, a packet at least.
//! ```text
//! sender      credit is W at most
//!             begins with a credit of W that nobody granted; the first answer of the receiver voids   uet-htsim, uec.cpp
//!             the rest of it
//!             sends while credit > 0, so that it may fall below zero by one packet; retransmissions spend credit too
//!             each packet carries: target = pulled + (min(to send, window + packet, W) − credit)/sources, 0 at least for the second
//!                 before the first answer a packet at least in place of the difference, as long as there is a backlog
//!                 to send: backlog and retransmissions; window: that of a control besides; sources: those that wait in the same card
//!             nothing to carry it and no credit: a request alone (RTS), one for each round-trip time
//! receiver    one for all connections that end at a network card
//!             in turn, each with granted < target: granted += min(16 384 B, target − granted)
//!             nobody has: in turn, each with granted < target + W: granted += min(16 384 B, target + W − granted)   slow pulls
//!             next turn after that many bytes at the rate of its links · modifier · rate
//! fabric      optional; every 12 us, of t packets that arrived m trimmed before the last link,
//!             f the marked fraction of the others; rate between 0.01 and 1                             oversubscribed_cc.cpp
//!                 rate −= m/t;  g = (g + f)/2;  rate *= 1 − 0.5·(g − 0.3) if g > 0.3
//!                 neither: rate += 0.01 if any was marked; otherwise rate += 0.01·2^k, k of such intervals were before it in a row
//! ```
//! Grants are sums, so that the next one makes up for one that was lost.
//!
//! A [`Requester`] is the part of a sender, a [`Granter`] that of a receiving network card. Neither makes packets.
//!
//! Left out: the rule for a host bus with a backlog, because hosts here have no bus; limits of one pacer for each of several ports, whose
//! rates count together.
//!
//! Differs from uet-htsim: a request leaves alone also without a timeout, so that a lost grant does not end a connection that has nothing
//! in flight.
//!
//! A guess: an interval with marks that are too few to lower the rate ends a row of increases. Public versions of the source differ in this
//! rule.

mod fabric;
mod granter;
mod requester;
mod settings;

pub use fabric::Arrival;
pub use granter::{Granter, Pull};
pub use requester::{Demand, Requester};
pub use settings::{Credits, Oversubscribed};
