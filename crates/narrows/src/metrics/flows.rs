//! Metrics of what is sent: flows, remote procedure calls, datagrams.

use narrows_proto::units::Span;
use narrows_sim::DatagramRecord;

use super::sample::Sample;
use super::taken::{Over, Taken, fraction, metric, percentile, rate};
use crate::results::{FlowRow, Outline, RpcRow};
use crate::statistics::mean;

/// Flows up to this size are small (Alizadeh et al., pFabric, SIGCOMM 2013, §5.2), flows from the other on are large
/// (Alizadeh et al., DCTCP, SIGCOMM 2010, §2.2).
pub const SMALL: u64 = 100_000;
/// See [`SMALL`].
pub const LARGE: u64 = 1_000_000;

/// Metrics of a group of connections. `fct` is the time from the start of a flow to the arrival of its last byte, `injection`
/// that from its start until its last byte is sent for the first time.
pub(super) const FLOW_METRICS: [Taken<FlowSums>; 20] = [
    metric("flows", "", Over::Started, "Flows that count: those that started in the measured time.", |of| {
        Some(of.measured)
    }),
    metric(
        "unfinished",
        "",
        Over::Started,
        "How many of them had an end to reach and did not reach it before the run ended.",
        |of| Some(of.unfinished),
    ),
    metric(
        "offered_fraction",
        "",
        Over::MeasuredTime,
        "Payload of the flows that start in the measured time, as a fraction of what the load of the group asks for. Of groups with a load.",
        |of| of.asked.map(|asked| of.offered / asked),
    ),
    percentile(
        "p50_fct_us",
        "us",
        "Completion time: from the start of a flow to the arrival of its last byte. Median over the finished flows that count.",
        0.50,
        |of| &of.fct,
    ),
    percentile("p99_fct_us", "us", "Completion time, 99th percentile.", 0.99, |of| &of.fct),
    metric("mean_fct_us", "us", Over::Started, "Completion time, mean.", |of| mean(of.fct.values())),
    percentile(
        "p50_injection_us",
        "us",
        "Time from the start of a flow until its last byte is sent for the first time. Median; it may be known of flows that are unfinished.",
        0.50,
        |of| &of.injection,
    ),
    percentile("p99_injection_us", "us", "Time until the last byte is sent, 99th percentile.", 0.99, |of| {
        &of.injection
    }),
    metric("mean_injection_us", "us", Over::Started, "Time until the last byte is sent, mean.", |of| {
        mean(of.injection.values())
    }),
    percentile(
        "p50_slowdown",
        "",
        "Completion time divided by that on the empty network. Median.",
        0.50,
        |of| &of.slowdown,
    ),
    percentile("p95_slowdown", "", "Slowdown, 95th percentile.", 0.95, |of| &of.slowdown),
    percentile("p99_slowdown", "", "Slowdown, 99th percentile.", 0.99, |of| &of.slowdown),
    metric("mean_slowdown", "", Over::Started, "Slowdown, mean.", |of| mean(of.slowdown.values())),
    percentile(
        "small_p99_fct_us",
        "us",
        "Completion time of flows of up to 100 kB, 99th percentile.",
        0.99,
        |of| &of.small_fct,
    ),
    metric(
        "large_mean_fct_us",
        "us",
        Over::Started,
        "Completion time of flows of 1 MB and more, mean.",
        |of| mean(&of.large_fct),
    ),
    metric(
        "goodput_gbps",
        "Gbit/s",
        Over::MeasuredTime,
        "Payload that the senders learned to have arrived in the measured time, divided by its length; all flows, those that do not count as well.",
        |of| rate(of.delivered_measured, of.seconds),
    ),
    metric(
        "marked_fraction",
        "",
        Over::WholeRun,
        "Payload acknowledged with a congestion mark, as a fraction of delivered payload, of flows whose receivers report which bytes were marked (accurate ECN: DCTCP, GEMINI, RackCC). None of other flows: with classic ECN a sender learns that something was marked and not how much, DCQCN receives notification packets, and others are never marked.",
        |of| fraction(of.marked[0], of.marked[1]),
    ),
    metric(
        "retransmitted_fraction",
        "",
        Over::WholeRun,
        "Payload retransmitted, in relation to all delivered payload, over the whole run.",
        |of| fraction(of.retransmitted, of.delivered),
    ),
    metric("retransmissions", "", Over::WholeRun, "Segments retransmitted in the whole run.", |of| {
        Some(of.retransmissions)
    }),
    metric("timeouts", "", Over::WholeRun, "Times a retransmission timer ran out in the whole run.", |of| {
        Some(of.timeouts)
    }),
];

/// Metrics of a group of remote procedure calls, besides those of their flows.
pub(super) const RPC_METRICS: [Taken<RpcSums>; 9] = [
    metric(
        "rpcs",
        "",
        Over::Started,
        "Remote procedure calls that count: those that began in the measured time.",
        |of| Some(of.measured),
    ),
    metric("unfinished_rpcs", "", Over::Started, "How many of them did not end before the run did.", |of| {
        Some(of.unfinished)
    }),
    percentile(
        "p50_rpc_us",
        "us",
        "Time of a call: until the last byte of its last response. Median over the finished calls that count.",
        0.50,
        |of| &of.time,
    ),
    percentile("p99_rpc_us", "us", "Time of a call, 99th percentile.", 0.99, |of| &of.time),
    percentile("p999_rpc_us", "us", "Time of a call, 99.9th percentile.", 0.999, |of| &of.time),
    metric("mean_rpc_us", "us", Over::Started, "Time of a call, mean.", |of| mean(of.time.values())),
    percentile(
        "p50_rpc_slowdown",
        "",
        "Time of a call divided by the least time on the empty network. Median.",
        0.50,
        |of| &of.slowdown,
    ),
    percentile("p99_rpc_slowdown", "", "Slowdown of calls, 99th percentile.", 0.99, |of| &of.slowdown),
    metric("mean_rpc_slowdown", "", Over::Started, "Slowdown of calls, mean.", |of| {
        mean(of.slowdown.values())
    }),
];

/// Metrics of a group of datagram sources.
pub(super) const DATAGRAM_METRICS: [Taken<DatagramSums>; 4] = [
    metric(
        "datagrams_sent",
        "",
        Over::WholeRun,
        "Datagrams that the sources made, those they had no room for included.",
        |of| Some(of.sent),
    ),
    metric("datagrams_received", "", Over::WholeRun, "Datagrams that arrived.", |of| Some(of.received)),
    metric("lost_fraction", "", Over::WholeRun, "Part of them that did not arrive.", |of| {
        (of.sent > 0.0).then(|| 1.0 - of.received / of.sent)
    }),
    metric(
        "goodput_gbps",
        "Gbit/s",
        Over::WholeRun,
        "Payload of datagrams that arrived, divided by the length of the run.",
        |of| rate(of.received_bytes, of.seconds),
    ),
];

/// Values that metrics of flows are taken of. Only measured flows count, and only finished ones have a completion time. The time of
/// injection is that from the start of a flow until its last byte began to leave; it may be known of flows that are
/// unfinished. Payload is in bytes, of all flows.
pub(super) struct FlowSums {
    measured: f64,
    unfinished: f64,
    offered: f64,
    asked: Option<f64>,
    fct: Sample,
    small_fct: Sample,
    large_fct: Vec<f64>,
    injection: Sample,
    slowdown: Sample,
    seconds: f64,
    delivered: f64,
    delivered_measured: f64,
    /// Marked and delivered payload of flows whose receivers report which bytes were marked.
    marked: [f64; 2],
    retransmitted: f64,
    retransmissions: f64,
    timeouts: f64,
}

impl FlowSums {
    /// Of flows in a run that was measured for this long, of which those of some groups have accurate ECN, and so much payload was asked
    /// for.
    pub(super) fn of(
        flows: &[&FlowRow],
        measured_for: Span,
        has_accurate_ecn: &[bool],
        asked: Option<f64>,
    ) -> Self {
        let measured: Vec<_> = flows.iter().filter(|flow| flow.measured).collect();
        let ends = || measured.iter().filter(|flow| !flow.is_endless());
        let us = |flow: &FlowRow| flow.fct().map(|fct| fct.as_ps() as f64 / 1e6);
        let injected = |flow: &FlowRow| Some(flow.injection()?.as_ps() as f64 / 1e6);
        let small = || ends().filter(|flow| flow.size.get() <= SMALL);
        let sum = |value: fn(&FlowRow) -> u64| flows.iter().map(|flow| value(flow) as f64).sum::<f64>();
        let reported = |value: fn(&FlowRow) -> u64| {
            let own = flows.iter().filter(|flow| has_accurate_ecn[flow.group as usize]);
            own.map(|flow| value(flow) as f64).sum::<f64>()
        };
        Self {
            measured: measured.len() as f64,
            unfinished: ends().filter(|flow| flow.end.is_none()).count() as f64,
            offered: ends().map(|flow| flow.size.get() as f64).sum(),
            asked,
            fct: Sample::of(ends().map(|flow| us(flow))),
            small_fct: Sample::of(small().map(|flow| us(flow))),
            large_fct: ends().filter(|flow| flow.size.get() >= LARGE).filter_map(|flow| us(flow)).collect(),
            injection: Sample::of(ends().map(|flow| injected(flow))),
            slowdown: Sample::of(ends().map(|flow| flow.slowdown())),
            seconds: measured_for.as_secs_f64(),
            delivered: sum(|flow| flow.delivered.get()),
            delivered_measured: sum(|flow| flow.delivered_measured.get()),
            marked: [reported(|flow| flow.stats.marked.get()), reported(|flow| flow.delivered.get())],
            retransmitted: sum(|flow| flow.stats.retransmitted.get()),
            retransmissions: sum(|flow| flow.stats.retransmissions),
            timeouts: sum(|flow| flow.stats.timeouts),
        }
    }
}

/// Values that metrics of remote procedure calls are taken of. Only measured calls count, and only finished ones have a time.
pub(super) struct RpcSums {
    measured: f64,
    unfinished: f64,
    time: Sample,
    slowdown: Sample,
}

impl RpcSums {
    pub(super) fn of(rpcs: &[&RpcRow]) -> Self {
        let measured = || rpcs.iter().filter(|rpc| rpc.measured);
        Self {
            measured: measured().count() as f64,
            unfinished: measured().filter(|rpc| rpc.end.is_none()).count() as f64,
            time: Sample::of(measured().map(|rpc| Some(rpc.time()?.as_ps() as f64 / 1e6))),
            slowdown: Sample::of(measured().map(|rpc| rpc.slowdown())),
        }
    }
}

/// Values that metrics of datagrams are taken of.
pub(super) struct DatagramSums {
    sent: f64,
    received: f64,
    received_bytes: f64,
    seconds: f64,
}

impl DatagramSums {
    pub(super) fn of(outline: &Outline<'_>, group: usize) -> Self {
        let of_group = &outline.plan.groups[group].flows;
        let sources = outline.datagrams.iter().filter(|source| of_group.contains(&source.flow.index()));
        let sum = |value: fn(&DatagramRecord) -> u64| sources.clone().map(value).sum::<u64>() as f64;
        Self {
            sent: sum(|source| source.sent + source.dropped_at_source),
            received: sum(|source| source.received),
            received_bytes: sum(|source| source.received_bytes.get()),
            seconds: outline.ended.as_secs_f64(),
        }
    }
}
