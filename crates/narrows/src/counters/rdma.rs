//! Counters that only RDMA has: notification packets.

use narrows_sim::traffic::Transport;

use super::Of::Senders;
use super::{Counter, Counters};
use crate::plan::Plan;

pub(super) static RDMA: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[Counter::new(
        Senders(|sender| sender.cnps),
        "",
        "Congestion notification packets that senders over RDMA received.",
    )
    .activity("CNPs")
    .column("cnps")
    .only("scenarios with RDMA traffic", has_rdma)],
};

fn has_rdma(plan: &Plan) -> bool {
    plan.traffic.groups.iter().any(|group| matches!(group.transport, Transport::Rdma { .. }))
}
