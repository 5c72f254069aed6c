//! Pieces that several algorithms share: composed, never inherited.

mod aggregation;
mod ewma;
mod hystart;
mod hystart_linux;
mod marked_fraction;
mod pacing;
mod rate_window;
mod recent_min;
mod reno_window;
mod rest;
mod segment_window;
mod windowed_max;

/// The slow start threshold stays at this many segments at least (RFC 5681 §3.1 Eq. 4). At one segment, congestion avoidance would begin
/// where every segment waits for a delayed acknowledgment.
pub const MIN_THRESHOLD: u64 = 2;

pub use crate::split_mix::SplitMix;
pub use aggregation::Aggregation;
pub use ewma::Ewma;
pub use hystart::{HyStart, HyStartParams};
pub use hystart_linux::{LinuxHyStart, LinuxHyStartParams};
pub use marked_fraction::MarkedFraction;
pub use pacing::WindowPacing;
pub use rate_window::{RateWindow, up_to_packets};
pub use recent_min::RecentMin;
pub use reno_window::RenoWindow;
pub use rest::Rest;
pub use segment_window::SegmentWindow;
pub use windowed_max::WindowedMax;
