//! What was recorded of RackCC.

use std::borrow::Cow;

use narrows_proto::units::Span;
use narrows_sim::mechanism::rackcc::{AdvertisedRow, JumboFlowRow};

use super::described::{Described, nodes};
use crate::plan::Plan;

pub(super) fn jumboflows() -> Described<JumboFlowRow> {
    let table = Described::<JumboFlowRow>::new(
        "jumboflows",
        "One row per JumboFlow and interval: what the switch of its source rack reported first in it.",
        "with `record.racks`",
        |run| run.recorded.racks.as_ref().map(|(rows, _)| Cow::Borrowed(&**rows)),
    );
    table
        .ps("at_ps", "When the switch reported it.", |row, _| row.at.as_ps())
        .name("node", "The switch of the source rack.", nodes, |row, _| row.node.0)
        .name("to", "The switch of the destination rack.", racks_by_number, |row, _| row.rack)
        .count("number", "Which of the JumboFlows between these racks.", |row, _| row.number.into())
        .real("alpha", "", "The moving average of the fraction of marked bytes.", |row, _| row.report.alpha)
        .count("joined", "Subflows that have joined since the message before.", |row, _| {
            row.report.joined.into()
        })
        .count("subflows", "Registered subflows.", |row, _| row.report.subflows.into())
        .bps("throughput_bps", "Average throughput of all of them, on the wire.", |row, _| {
            row.report.throughput.as_bps()
        })
        .bytes("marked_bytes", "Bytes reported as marked since the JumboFlow began.", |row, _| {
            row.report.marked
        })
        .ps("rtt_ps", "Smoothed round-trip time from the switch; 0 before the first sample.", |row, _| {
            row.report.rtt.as_ps()
        })
        .maybe_ps(
            "base_rtt_ps",
            "The smallest round-trip time so far; missing before the first sample.",
            |row, _| finite(row.report.base_rtt),
        )
        .flag("quiet", "The JumboFlow has not met congestion for long, or never has.", |row, _| {
            row.report.quiet
        })
}

pub(super) fn advertised() -> Described<AdvertisedRow> {
    let table = Described::<AdvertisedRow>::new(
        "advertised",
        "One row per destination and interval: the rate that it advertised first in it.",
        "with `record.racks`",
        |run| run.recorded.racks.as_ref().map(|(_, rows)| Cow::Borrowed(&**rows)),
    );
    table
        .ps("at_ps", "When the host advertised it.", |row, _| row.at.as_ps())
        .name("node", "The destination.", nodes, |row, _| row.node.0)
        .bps("rate_bps", "The rate at which each source may send.", |row, _| row.rate.as_bps())
        .bytes("queue_bytes", "What had waited for the destination, as its switch said last.", |row, _| {
            row.queue
        })
}

/// Names of switches with hosts, in the order that their racks are numbered in.
fn racks_by_number(plan: &Plan) -> Vec<String> {
    let topology = &plan.network.topology;
    topology.racks().into_iter().map(|node| topology.node(node).name.clone()).collect()
}

fn finite(span: Span) -> Option<u64> {
    (span < Span::MAX).then_some(span.as_ps())
}
