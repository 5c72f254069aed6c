//! Reaction points: limiters of flows that congestion points have asked to slow down.

use super::Of::Mechanisms;
use super::{Counter, Counters};
use crate::plan::Plan;

pub(super) static REACTION: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[
        Counter::new(
        Mechanisms(|record| record.limiter.limiters),
        "",
        "Limiters that reaction points made for flows that were asked to slow down; near-source loops of Annulus count as well.",
    )
        .activity("limiters"),
        Counter::new(
            Mechanisms(|record| record.limiter.marked),
            "",
            "Packets marked in the queues of limiters (`reaction_points.mark`).",
        )
        .activity("ECN marks at limiters")
        .only(PRESENT, marks),
    ],
};

const PRESENT: &str = "networks whose limiters mark";

fn marks(plan: &Plan) -> bool {
    plan.network.reaction.as_ref().is_some_and(|reaction| reaction.mark.is_some())
}
