//! Reaction points: limiters of flows that congestion points have asked to slow down.

use super::Of::Mechanisms;
use super::{Counter, Counters};

pub(super) static REACTION: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[Counter::new(
        Mechanisms(|record| record.limiter.limiters),
        "",
        "Limiters that reaction points made for flows that were asked to slow down; near-source loops of Annulus count as well.",
    )
    .activity("limiters")],
};
