//! Pieces that several algorithms share: composed, never inherited.

mod ewma;
mod hystart;
mod pacing;
mod recent_min;
mod reno_window;
mod segment_window;
mod split_mix;
mod windowed_max;

pub use ewma::Ewma;
pub use hystart::{HyStart, HyStartParams};
pub use pacing::WindowPacing;
pub use recent_min::RecentMin;
pub use reno_window::RenoWindow;
pub use segment_window::SegmentWindow;
pub use split_mix::SplitMix;
pub use windowed_max::WindowedMax;
