//! What is measured in the experiments of RackCC.

use narrows_proto::units::BitRate;

use super::model::{LastRound, Model, REPORTED};
use crate::repro::{Measured, metric};
use crate::results::{FlowRow, Results};
use crate::statistics::mean;

pub(super) const MODEL: &[&str] = &["l1", "l2", "l3", "s300", "s1000", "s10000", "n32", "n128", "n512"];
pub(super) const START: &[&str] = &[
    "speedup",
    "median_speedup",
    "model",
    "alone_us",
    "shared_us",
    "alone_p99_us",
    "shared_p99_us",
    "alone_gbps",
    "shared_gbps",
];
pub(super) const COOPERATION: &[&str] = &[
    "speedup",
    "alone_us",
    "shared_us",
    "alone_variation",
    "shared_variation",
    "alone_timeouts",
    "shared_timeouts",
];
pub(super) const SHARED_LINK: &[&str] =
    &["ratio", "alone_variation", "shared_variation", "variation_ratio", "alone_gbps", "shared_gbps"];
pub(super) const MAX_MIN: &[&str] = &["two_gbps", "six_gbps", "ten_gbps"];
pub(super) const MAX_MIN_SERIES: &[&str] = &["two", "six", "ten"];
pub(super) const INCAST: &[&str] = &["speedup", "alone_us", "shared_us", "alone_resent", "shared_resent"];
pub(super) const CHURN: &[&str] =
    &["speedup", "p99_speedup", "alone_us", "shared_us", "alone_p99_us", "shared_p99_us"];
pub(super) const WAN: &[&str] =
    &["short_ms", "short_p99_ms", "long_gbps", "near_us", "near_p99_us", "uplink_queue_kb"];

/// The model of §4.1 alone: nothing of the run is used.
pub(super) fn model(_results: &Results) -> Measured {
    let mut measured = Measured::default();
    for (column, latency) in [("l1", 1.0), ("l2", 2.0), ("l3", 3.0)] {
        measured.quantity(column, Model { latency, ..REPORTED }.speedup());
    }
    for (column, size) in [("s300", 300e3), ("s1000", 1e6), ("s10000", 1e7)] {
        measured.quantity(column, Model { size, ..REPORTED }.speedup());
    }
    for (column, subflows) in [("n32", 32), ("n128", 128), ("n512", 512)] {
        measured.quantity(column, Model { subflows, ..REPORTED }.speedup());
    }
    measured
}

/// a/b, if there are both.
fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?).filter(|ratio| ratio.is_finite())
}

fn of_group<'a>(results: &'a Results, name: &'a str) -> impl Iterator<Item = &'a FlowRow> {
    let group = results.plan.groups.iter().position(|group| group.name == name);
    results.flows.iter().filter(move |flow| Some(flow.group as usize) == group && flow.measured)
}

/// New connections beside long ones.
pub(super) fn start(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let [alone, shared] =
        ["alone_short", "shared_short"].map(|group| metric(results, &format!("{group}.mean_fct_us")));
    measured.quantity("alone_us", alone);
    measured.quantity("shared_us", shared);
    measured.quantity("speedup", ratio(alone, shared));
    let median = |group: &str| metric(results, &format!("{group}.p50_fct_us"));
    measured.quantity("median_speedup", ratio(median("alone_short"), median("shared_short")));
    measured.quantity("alone_p99_us", metric(results, "alone_short.p99_fct_us"));
    measured.quantity("shared_p99_us", metric(results, "shared_short.p99_fct_us"));
    measured.quantity("alone_gbps", metric(results, "alone_long.goodput_gbps"));
    measured.quantity("shared_gbps", metric(results, "shared_long.goodput_gbps"));
    measured.quantity("model", expected(results));
    measured
}

/// What the model says of the same question: both connections begin with a handshake of a round trip, during which RackCC learns its
/// share of all that the link carries.
fn expected(results: &Results) -> Option<f64> {
    let flow = of_group(results, "shared_short").next()?;
    let long = results.plan.groups.iter().find(|group| group.name == "shared_long")?.flows.len();
    let path = results.plan.network.topology.links();
    let slowest = path.iter().map(|link| link.wire.rate).min().unwrap_or(BitRate::ZERO);
    let delay = path.iter().map(|link| link.wire.delay.as_secs_f64()).fold(0.0, f64::max);
    // Four links there and four back, and half of a buffer that is full to the marking threshold, which holds half a round trip.
    let rtt = 8.0 * delay * 1.25;
    let model = Model {
        size: flow.size.as_f64(),
        rtt,
        mean_throughput: slowest.as_f64(),
        subflows: long as u32,
        latency: 0.0,
        last_round: LastRound::OwnRate,
        ..REPORTED
    };
    let throughput = model.mean_throughput;
    Some((rtt + model.tcp(throughput)) / (rtt + model.rackcc(throughput)))
}

/// Five servers to five others: the last flow counts.
pub(super) fn cooperation(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let times = |group: &str| -> Vec<f64> {
        of_group(results, group).filter_map(FlowRow::fct).map(|fct| fct.as_secs_f64() * 1e6).collect()
    };
    let [alone, shared] = ["alone", "shared"].map(times);
    let last = |times: &[f64]| times.iter().copied().reduce(f64::max);
    measured.quantity("alone_us", last(&alone));
    measured.quantity("shared_us", last(&shared));
    measured.quantity("speedup", ratio(last(&alone), last(&shared)));
    measured.quantity("alone_variation", variation(&alone));
    measured.quantity("shared_variation", variation(&shared));
    let timeouts = |group: &str| of_group(results, group).map(|flow| flow.stats.timeouts).sum::<u64>() as f64;
    measured.quantity("alone_timeouts", timeouts("alone"));
    measured.quantity("shared_timeouts", timeouts("shared"));
    measured
}

/// Standard deviation over mean.
fn variation(values: &[f64]) -> Option<f64> {
    let middle = mean(values)?;
    let squares: Vec<_> = values.iter().map(|value| (value - middle).powi(2)).collect();
    Some(mean(&squares)?.sqrt() / middle)
}

/// As many of one kind as of the other at one link.
pub(super) fn shared_link(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let shares = |group: &str| -> Vec<f64> {
        let group = results.plan.groups.iter().position(|each| each.name == group);
        let flows = results.flows.iter().filter(|flow| Some(flow.group as usize) == group);
        flows.map(|flow| flow.delivered_measured.as_f64()).collect()
    };
    let [alone, shared] = ["alone", "shared"].map(shares);
    measured.quantity("ratio", ratio(Some(shared.iter().sum()), Some(alone.iter().sum())));
    measured.quantity("alone_variation", variation(&alone));
    measured.quantity("shared_variation", variation(&shared));
    measured.quantity("variation_ratio", ratio(variation(&shared), variation(&alone)));
    measured.quantity("alone_gbps", metric(results, "alone.goodput_gbps"));
    measured.quantity("shared_gbps", metric(results, "shared.goodput_gbps"));
    measured
}

/// Rates on the wire, as the text counts them.
pub(super) fn max_min(results: &Results) -> Measured {
    let mut measured = Measured::default();
    for (number, (column, group)) in
        [("two_gbps", "two"), ("six_gbps", "six"), ("ten_gbps", "ten")].into_iter().enumerate()
    {
        let transport = &results.plan.traffic.groups[number].transport;
        let packet =
            transport.packet_size(transport.full_payload()).as_f64() / transport.full_payload().as_f64();
        measured
            .quantity(column, metric(results, &format!("{group}.goodput_gbps")).map(|rate| rate * packet));
        let node = format!("rack1/host{number}");
        let topology = &results.plan.network.topology;
        let rows = results.recorded.racks.iter().flat_map(|(_, advertised)| advertised);
        let rows = rows.filter(|row| topology.node(row.node).name == node);
        measured.series(group, rows.map(|row| (row.at.as_secs_f64() * 1e3, row.rate.as_f64() / 1e9)));
    }
    measured
}

/// Answers of many at once: an answer is complete with the last of them.
pub(super) fn incast(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let complete = |group: &str| {
        let mut last: std::collections::BTreeMap<_, f64> = std::collections::BTreeMap::new();
        for flow in of_group(results, group) {
            let time = flow.fct().map_or(f64::INFINITY, |fct| fct.as_secs_f64() * 1e6);
            let longest = last.entry(flow.start).or_default();
            *longest = longest.max(time);
        }
        mean(&last.into_values().collect::<Vec<_>>())
    };
    let [alone, shared] = ["alone", "shared"].map(complete);
    measured.quantity("alone_us", alone);
    measured.quantity("shared_us", shared);
    measured.quantity("speedup", ratio(alone, shared));
    let resent =
        |group: &str| metric(results, &format!("{group}.retransmitted_fraction")).map(|part| 100.0 * part);
    measured.quantity("alone_resent", resent("alone"));
    measured.quantity("shared_resent", resent("shared"));
    measured
}

/// Short flows that come and go.
pub(super) fn churn(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let of = |group: &str, name: &str| metric(results, &format!("{group}.{name}"));
    for (speedup, [alone, shared], name) in [
        ("speedup", ["alone_us", "shared_us"], "mean_fct_us"),
        ("p99_speedup", ["alone_p99_us", "shared_p99_us"], "p99_fct_us"),
    ] {
        measured.quantity(alone, of("alone", name));
        measured.quantity(shared, of("shared", name));
        measured.quantity(speedup, ratio(of("alone", name), of("shared", name)));
    }
    measured
}

/// Two data centers.
pub(super) fn wan(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let ms = |name: &str| metric(results, name).map(|us| us / 1e3);
    measured.quantity("short_ms", ms("short.mean_fct_us"));
    measured.quantity("short_p99_ms", ms("short.p99_fct_us"));
    measured.quantity("long_gbps", metric(results, "long.goodput_gbps"));
    measured.quantity("near_us", metric(results, "near.mean_fct_us"));
    measured.quantity("near_p99_us", metric(results, "near.p99_fct_us"));
    let link = super::super::link(results, ("dc0/rack0/tor", "dc0/border0"));
    measured.quantity("uplink_queue_kb", results.ports[link].max_backlog as f64 / 1e3);
    measured
}
