//! Counters of reordering, where packets of a flow may take different paths.

use super::Of::Senders;
use super::{Counter, Counters};
use crate::plan::Plan;

const PRESENT: &str = "networks whose switches choose paths for packets or flowlets";

pub(super) static REORDERING: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Senders(|sender| sender.reordered),
            "",
            "Segments of streams that arrived after one sent later, as acknowledgments show; without those that were retransmitted meanwhile.",
        )
        .activity("segments reordered")
        .column("reordered")
        .only(PRESENT, is_in),
        Counter::most(
            Senders(|sender| sender.reordering.get()),
            "B",
            "The largest distance of such a segment from the highest byte that had arrived before.",
        )
        .column("reorder_distance_bytes")
        .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.routing.is_by_packet()
}
