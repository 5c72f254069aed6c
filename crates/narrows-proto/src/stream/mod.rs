//! A byte stream like TCP's: handshake, acknowledgments, loss recovery, ECN, pacing, around any
//! [congestion control](crate::cc).
//!
//! Handshake with exponential back-off · delayed acknowledgments (RFC 5681 §4.2), with the CE state machine of
//! RFC 8257 §3.2 · SACK (RFC 2018) and DSACK (RFC 2883) · RACK-TLP loss detection (RFC 8985) · retransmission timeout
//! (RFC 6298) · proportional rate reduction (RFC 9937) · detection of needless retransmissions (RFC 3708)
//! and timeouts (RFC 3522), which are taken back (RFC 4015) · ECN echo (RFC 3168, RFC 8257, RFC 9768) · segmentation offload and receive offload · delivery-rate samples with application limits (draft-cheng-iccrg-delivery-rate-estimation-02).
//!
//! A [`Connection`] may carry one flow after another ([`Sender::again`]): each begins with what the last one knew of the path.
//!
//! Left out: applications that read slowly (the receiver takes everything at once), urgent data, closing (a flow
//! ends with its last byte), sequence numbers that wrap (they have 64 bits). A connection carries one flow at a time.

mod accurate_ecn;
mod ack_state;
mod ack_timeout;
mod arrivals;
#[cfg(test)]
pub(crate) mod bottleneck;
pub(crate) mod delivery;
mod merging;
mod metrics;
pub(crate) mod pacer;
mod params;
mod peak_deviation;
mod probe_timeout;
mod profile;
mod prr;
mod rack_tlp;
mod receive_buffer;
mod receive_offload;
mod receiver;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
mod segmentation;
mod sender;
pub(crate) mod sent;
mod wire;

#[cfg(test)]
mod tests;

pub use accurate_ecn::{AccurateEcn, CeCount};
pub use ack_state::AckState;
pub use ack_timeout::AckTimeout;
pub use merging::Merging;
pub use metrics::{HostMetrics, Remembered};
pub use params::Params;
pub use probe_timeout::ProbeTimeout;
pub use profile::Profile;
pub use receive_buffer::{BufferGrowth, ReceiveBuffer};
pub use receive_offload::ReceiveOffload;
pub use receiver::Receiver;
pub use segmentation::{Handed, Segmentation, SocketBuffers};
pub use sender::{Connection, Endpoint, Held, Holding, Poll, Repairing, Sender, Stats};
pub use wire::{AckFrame, SackBlocks, Segment};
