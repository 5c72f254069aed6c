//! Connections that are kept from one flow to the next.

use narrows_sim::traffic::{Group, Transport};

use super::Of::Run;
use super::{Counter, Counters};

pub(super) static CONNECTIONS: Counters = Counters {
    present: "with kept connections",
    is_in: |plan| plan.traffic.groups.iter().any(keeps_connections),
    counters: &[Counter::new(
        Run(|run| run.flows.iter().filter(|flow| flow.again).count() as u64),
        "",
        "Flows that began on a connection that had carried others (`keep_connections`).",
    )
    .activity("flows on kept connections")],
};

fn keeps_connections(group: &Group) -> bool {
    matches!(&group.transport, Transport::Stream { params, .. } if params.keep_connections)
}
