//! Pieces that several algorithms share: composed, never inherited.

mod ewma;
mod hystart;
mod reno_window;

pub use ewma::Ewma;
pub use hystart::{HyStart, HyStartParams};
pub use reno_window::RenoWindow;
