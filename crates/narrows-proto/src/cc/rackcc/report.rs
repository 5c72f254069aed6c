//! Congestion control that all connections between two racks share (RackCC: Zhuo et al., HotNets 2016).
//!
//! The connections from one rack to another are the *subflows* of a *JumboFlow*. The switch of the source rack keeps its state
//! ([`jumbo`](super::jumbo)) and reports it to its hosts ([`JumboReport`]). Each host derives what its subflows may send ([`subflow`](super::subflow)). The
//! destination host advertises what its access link has room for ([`receiver`](super::receiver)). A subflow sends at the lower of the two rates.

use crate::module_docs;
use crate::units::{BitRate, Span};

/// Documentation of its modules.
pub const DOCS: [&str; 4] = [
    module_docs!("report.rs"),
    module_docs!("jumbo.rs"),
    module_docs!("subflow.rs"),
    module_docs!("receiver.rs"),
];

/// Report to a subflow from the switch of its rack or from its destination.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// Of the JumboFlow that it belongs to, if it was the switch.
    pub report: Option<&'a JumboReport>,
    /// The rate that the destination advertises.
    pub destination: BitRate,
}

/// Report of the switch of the source rack on a JumboFlow (RackCC Table 1).
///
/// Differs from RackCC Table 1: counts go on from one message to the next (`marked`, `yielded`), so that a message that is lost
/// takes nothing with it; and the switch reports round-trip times, which it measures at the packets that pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JumboReport {
    /// The moving average of the fraction of marked bytes.
    pub alpha: f64,
    /// M: subflows that have joined since the message before.
    pub joined: u32,
    /// N: registered subflows, those that have just joined included.
    pub subflows: u32,
    /// T: average throughput of all of them on the wire.
    pub throughput: BitRate,
    /// Sum of ln((N + M)/N) over all who have joined since the JumboFlow began. A subflow that knows of a part of it backs
    /// off by exp(-rest).
    pub yielded: f64,
    /// Bytes reported as marked since the JumboFlow began.
    pub marked: u64,
    /// Smoothed round-trip time from the switch; zero before the first sample.
    pub rtt: Span,
    /// The smallest round-trip time so far; [`Span::MAX`] before the first sample.
    pub base_rtt: Span,
    /// The smallest round-trip time of the last complete round; [`Span::MAX`] without a sample.
    pub recent_rtt: Span,
    /// The JumboFlow has not met congestion for long, or never has: it may be that nothing but its subflows limits it, so that T
    /// says little of the path.
    pub quiet: bool,
}

impl JumboReport {
    /// Of a path on which nothing but a link of this rate limits anybody, such as one inside a rack.
    pub fn unlimited(rate: BitRate) -> Self {
        Self {
            alpha: 0.0,
            joined: 0,
            subflows: 1,
            throughput: rate,
            yielded: 0.0,
            marked: 0,
            rtt: Span::ZERO,
            base_rtt: Span::MAX,
            recent_rtt: Span::MAX,
            quiet: false,
        }
    }

    /// T/N: what each subflow has, and what a new one begins with (RackCC §3.3).
    pub fn share(&self) -> BitRate {
        BitRate::from_bps(self.throughput.as_bps() / u64::from(self.subflows.max(1)))
    }
}
