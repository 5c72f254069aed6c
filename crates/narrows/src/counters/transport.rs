//! Counters of senders: losses, recoveries, timeouts, marks.

use super::Of::Senders;
use super::{Counter, Counters};

pub(super) static TRANSPORT: Counters = Counters {
    present: "always",
    is_in: |_| true,
    counters: &[
        Counter::new(Senders(|sender| sender.retransmissions), "", "Segments retransmitted.")
            .activity("retransmissions")
            .column("retransmissions"),
        Counter::new(Senders(|sender| sender.retransmitted.get()), "B", "Payload retransmitted.")
            .column("retransmitted_bytes"),
        Counter::new(
            Senders(|sender| sender.recoveries),
            "",
            "Recoveries from losses that were detected without a timeout.",
        )
        .activity("fast recoveries")
        .column("recoveries"),
        Counter::new(
            Senders(|sender| sender.probes),
            "",
            "Segments sent to find out whether the end of a flow was lost (RFC 8985).",
        )
        .activity("tail loss probes")
        .column("probes"),
        Counter::new(Senders(|sender| sender.timeouts), "", "Retransmission timeouts.")
            .activity("timeouts")
            .column("timeouts"),
        Counter::new(
            Senders(|sender| sender.spurious),
            "",
            "Recoveries and timeouts that proved spurious: the segments were only delayed.",
        )
        .activity("spurious recoveries")
        .column("spurious"),
        Counter::new(
            Senders(|sender| sender.marked.get()),
            "B",
            "Payload that was acknowledged with a congestion mark; of controls with classic ECN, one segment for each reduction because of marks.",
        )
        .column("marked_bytes"),
    ],
};
