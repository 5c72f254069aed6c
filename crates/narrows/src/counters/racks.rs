//! JumboFlows (RackCC).

use super::Of::Mechanisms;
use super::{Counter, Mechanism};

pub(super) const RACKS: Mechanism = Mechanism {
    present: "networks with rack agents",
    is_in: |plan| plan.network.switches.iter().flatten().any(|switch| switch.rackcc.is_some()),
    counters: &[
        Counter::new(
            Mechanisms(|record| record.rackcc.registered),
            "",
            "Subflows that hosts registered at the switch of their rack (RackCC).",
        )
        .activity("subflows registered"),
        Counter::new(
            Mechanisms(|record| record.rackcc.expired),
            "",
            "Subflows that the switch forgot, because nothing was seen of them for too long or their client had another.",
        )
        .activity("subflows expired"),
        Counter::new(
            Mechanisms(|record| record.rackcc.late),
            "",
            "Subflows counted again because they sent without being registered.",
        )
        .activity("subflows counted late"),
        Counter::new(
            Mechanisms(|record| record.rackcc.refused),
            "",
            "Times a subflow found no room in the table of the switch.",
        )
        .activity("subflows refused: table full"),
    ],
};
