//! Properties of single links beyond a rate and a delay: what changes over time, and what is lost, held up or put out of order there.
//!
//! A packet meets them in this order:
//! ```text
//! policer        whether it may join the queue
//! queue          as everywhere; the port is a queued one
//! ECN            with which codepoint it leaves
//! shaper, rate   how long it is being sent
//! loss           whether it arrives
//! delay, jitter  how long it is on its way
//! slots          with which others it arrives
//! ```
//! All behind the queue is decided when the packet begins to be sent, by the end that sends (`Line`). The far end puts what arrives into
//! order, and discards acknowledgments that newer ones of their slot make needless.
//! Links without a [`Path`] have no `Line`, and neither they nor plain ports look for one.

mod bucket;
mod delay;
mod jitter;
mod line;
mod loss;
mod mangling;
mod opportunities;
mod policer;
mod rate;
mod shaper;
mod slots;
mod steps;
mod thinning;
mod timing;

use std::sync::Arc;

use narrows_proto::units::{BitRate, Bytes, Span, WireTime};

pub use self::jitter::{Added, Jitter, Late};
pub(crate) use self::line::{Crossing, Line, LineParts, NO_LINE};
pub use self::loss::GilbertElliott;
pub use self::mangling::Mangling;
pub use self::opportunities::Opportunities;
pub use self::policer::{Excess, Policer};
pub use self::rate::Rate;
pub use self::shaper::{Peak, Shaper};
pub use self::slots::{Gap, Keep, Slots};
pub use self::steps::Steps;
pub(crate) use self::thinning::Thinning;
pub(crate) use self::timing::Timing;
use crate::topology::Wire;

/// Documentation of its modules.
pub const DOCS: &[&str] = &[
    narrows_proto::module_docs!("mod.rs"),
    narrows_proto::module_docs!("rate.rs"),
    narrows_proto::module_docs!("opportunities.rs"),
    narrows_proto::module_docs!("delay.rs"),
    narrows_proto::module_docs!("policer.rs"),
    narrows_proto::module_docs!("shaper.rs"),
    narrows_proto::module_docs!("loss.rs"),
    narrows_proto::module_docs!("mangling.rs"),
    narrows_proto::module_docs!("jitter.rs"),
    narrows_proto::module_docs!("slots.rs"),
];

/// Behavior of one direction of a link beyond its [`Wire`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Its rate, if that changes; that of the wire otherwise.
    pub rate: Option<Rate>,
    /// Its propagation delay, if that changes.
    pub delay: Option<Arc<Steps<Span>>>,
    /// The probability that a packet is lost, if that changes.
    pub loss: Option<Arc<Steps<f64>>>,
    /// Losses in bursts.
    pub bursts: Option<GilbertElliott>,
    /// Policer in front of the queue. Hosts have none.
    pub policer: Option<Policer>,
    /// Change of codepoints (ECN).
    pub ecn: Option<Mangling>,
    /// When packets may begin to be sent.
    pub shaper: Option<Shaper>,
    /// Delays that differ from packet to packet.
    pub jitter: Option<Jitter>,
    /// Slots in which packets arrive.
    pub slots: Option<Slots>,
}

impl Path {
    /// The shortest propagation delay over this wire.
    pub(crate) fn least_delay(&self, wire: &Wire) -> Span {
        self.delay.as_ref().and_then(|delay| delay.values().min()).unwrap_or(wire.delay)
    }

    /// Newer acknowledgments make older ones needless.
    pub(crate) fn thins(&self) -> bool {
        self.slots.as_ref().is_some_and(|slots| slots.keep == Keep::LastAck)
    }

    /// The least time that `size` bytes take to be sent over this wire.
    pub(crate) fn least_time(&self, wire: &Wire, size: Bytes) -> Span {
        match &self.rate {
            None => wire.rate.time_to_send(size),
            Some(Rate::Steps(steps)) => steps.values().max().unwrap_or(wire.rate).time_to_send(size),
            Some(Rate::Opportunities(_)) => Span::ZERO,
        }
    }

    /// Bytes that may be on their way at once, but for rare cases, over this wire.
    pub(crate) fn most_in_flight(&self, wire: &Wire) -> Bytes {
        let longest = self.delay.as_ref().and_then(|delay| delay.values().max()).unwrap_or(wire.delay);
        let held_up = self.jitter.as_ref().map_or(Span::ZERO, Jitter::mostly);
        let waits = self.slots.as_ref().map_or(Span::ZERO, |slots| slots.gap.mostly());
        let rate = match &self.rate {
            // A trace of bursts: no more than a few times its mean for as long as that.
            Some(Rate::Opportunities(all)) => BitRate::per(all.per_period(), all.period()).scaled(4.0),
            _ => self.highest_rate(wire),
        };
        rate * (longest + held_up + waits)
    }

    /// Memory that its steps take.
    pub fn bytes(&self) -> u64 {
        let rates = match &self.rate {
            None => 0,
            Some(Rate::Steps(steps)) => steps.bytes(),
            Some(Rate::Opportunities(all)) => all.bytes(),
        };
        let delays = self.delay.as_ref().map_or(0, |delay| delay.bytes());
        rates + delays + self.loss.as_ref().map_or(0, |loss| loss.bytes())
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
