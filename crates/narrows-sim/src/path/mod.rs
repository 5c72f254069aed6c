//! Properties of single links beyond a rate and a delay: what changes over time, and what is lost, held up or put out of order there.
//!
//! A packet meets them in this order:
//! ```text
//! queue          as everywhere; the port is a queued one
//! rate           how long the packet is being sent
//! loss           whether it arrives
//! delay          how long it is on its way
//! ```
//! All of it is decided when the packet begins to be sent, by the end that sends (`Line`). The far end puts what arrives into order.
//! Links without a [`Path`] have no `Line`, and neither they nor plain ports look for one.

mod delay;
mod line;
mod opportunities;
mod rate;
mod steps;
mod timing;

use std::sync::Arc;

use narrows_proto::units::{BitRate, Bytes, Span, WireTime};

pub(crate) use self::line::{Crossing, Line, LineParts, NO_LINE};
pub use self::opportunities::Opportunities;
pub use self::rate::Rate;
pub use self::steps::Steps;
pub(crate) use self::timing::Timing;
use crate::topology::Wire;

/// What one direction of a link does beyond its [`Wire`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Its rate, if that changes; that of the wire otherwise.
    pub rate: Option<Rate>,
    /// Its propagation delay, if that changes.
    pub delay: Option<Arc<Steps<Span>>>,
    /// The probability that a packet is lost, if that changes.
    pub loss: Option<Arc<Steps<f64>>>,
}

impl Path {
    /// The shortest propagation delay over this wire.
    pub(crate) fn least_delay(&self, wire: &Wire) -> Span {
        self.delay.as_ref().and_then(|delay| delay.values().min()).unwrap_or(wire.delay)
    }

    /// The least time that `size` bytes take to be sent over this wire.
    pub(crate) fn least_time(&self, wire: &Wire, size: Bytes) -> Span {
        match &self.rate {
            None => wire.rate.time_to_send(size),
            Some(Rate::Steps(steps)) => steps.values().max().unwrap_or(wire.rate).time_to_send(size),
            Some(Rate::Opportunities(_)) => Span::ZERO,
        }
    }

    /// A rate that it never exceeds.
    pub(crate) fn highest_rate(&self, wire: &Wire) -> BitRate {
        match &self.rate {
            None => wire.rate,
            Some(Rate::Steps(steps)) => steps.values().max().unwrap_or(wire.rate),
            Some(Rate::Opportunities(_)) => WireTime::MAX_RATE,
        }
    }
}
