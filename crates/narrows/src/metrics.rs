//! What a summary says, by name: `group.metric`.

use narrows_proto::units::{Span, Time};
use narrows_sim::topology::Link;
use narrows_sim::{DropCause, PortCounters};
use serde::Serialize;

use crate::plan::Segment;
use crate::results::{FlowRow, Outline, RpcRow};
use crate::statistics::{mean, percentile};

/// Stands for all traffic together.
pub const TOTAL: &str = "total";

/// Metrics of a group of connections. `fct` is the time from the start of a flow to the arrival of its last byte, `injection`
/// that from its start until its last byte is sent for the first time.
const FLOW_METRICS: [MetricInfo; 19] = [
    metric_info("flows", "", "Flows that count: those that started in the measured time."),
    metric_info(
        "unfinished",
        "",
        "How many of them had an end to reach and did not reach it before the run ended.",
    ),
    metric_info(
        "p50_fct_us",
        "us",
        "Completion time: from the start of a flow to the arrival of its last byte. Median over the finished flows that count.",
    ),
    metric_info("p99_fct_us", "us", "Completion time, 99th percentile."),
    metric_info("mean_fct_us", "us", "Completion time, mean."),
    metric_info(
        "p50_injection_us",
        "us",
        "Time from the start of a flow until its last byte is sent for the first time. Median; it may be known of flows that are unfinished.",
    ),
    metric_info("p99_injection_us", "us", "Time until the last byte is sent, 99th percentile."),
    metric_info("mean_injection_us", "us", "Time until the last byte is sent, mean."),
    metric_info("p50_slowdown", "", "Completion time divided by that on the empty network. Median."),
    metric_info("p95_slowdown", "", "Slowdown, 95th percentile."),
    metric_info("p99_slowdown", "", "Slowdown, 99th percentile."),
    metric_info("mean_slowdown", "", "Slowdown, mean."),
    metric_info("small_p99_fct_us", "us", "Completion time of flows of up to 100 kB, 99th percentile."),
    metric_info("large_mean_fct_us", "us", "Completion time of flows of 1 MB and more, mean."),
    metric_info(
        "goodput_gbps",
        "Gbit/s",
        "Payload that the senders learned to have arrived in the measured time, divided by its length; all flows, those that do not count as well.",
    ),
    metric_info(
        "marked_fraction",
        "",
        "Payload acknowledged with a congestion mark, as a fraction of all delivered payload, over the whole run.",
    ),
    metric_info(
        "retransmitted_fraction",
        "",
        "Payload sent again, in relation to all delivered payload, over the whole run.",
    ),
    metric_info("retransmissions", "", "Segments sent again in the whole run."),
    metric_info("timeouts", "", "Times a retransmission timer ran out in the whole run."),
];

/// Metrics of a group of remote procedure calls, besides those of their flows.
const RPC_METRICS: [MetricInfo; 9] = [
    metric_info("rpcs", "", "Remote procedure calls that count: those that began in the measured time."),
    metric_info("unfinished_rpcs", "", "How many of them did not end before the run did."),
    metric_info(
        "p50_rpc_us",
        "us",
        "Time of a call: until the last byte of its last response. Median over the finished calls that count.",
    ),
    metric_info("p99_rpc_us", "us", "Time of a call, 99th percentile."),
    metric_info("p999_rpc_us", "us", "Time of a call, 99.9th percentile."),
    metric_info("mean_rpc_us", "us", "Time of a call, mean."),
    metric_info(
        "p50_rpc_slowdown",
        "",
        "Time of a call divided by the least time on the empty network. Median.",
    ),
    metric_info("p99_rpc_slowdown", "", "Slowdown of calls, 99th percentile."),
    metric_info("mean_rpc_slowdown", "", "Slowdown of calls, mean."),
];

/// Metrics of a group of datagram sources.
const DATAGRAM_METRICS: [MetricInfo; 4] = [
    metric_info(
        "datagrams_sent",
        "",
        "Datagrams that the sources made, those they had no room for included.",
    ),
    metric_info("datagrams_received", "", "Datagrams that arrived."),
    metric_info("lost_fraction", "", "Part of them that did not arrive."),
    metric_info(
        "goodput_gbps",
        "Gbit/s",
        "Payload of datagrams that arrived, divided by the length of the run.",
    ),
];

/// Metrics of the network.
const NETWORK_METRICS: [MetricInfo; 6] = [
    metric_info("marks", "", "Packets that queues marked."),
    metric_info("messages", "", "Messages of congestion points to sources."),
    metric_info("pauses", "", "PAUSE frames that stop a neighbour, and stops of classes."),
    metric_info("drops", "", "Packets dropped anywhere, for any reason."),
    metric_info("max_queue_kb", "kB", "The most that ever waited at a port."),
    metric_info("packet_hops", "", "Packets that arrived at some node: what the simulator had to do."),
];

/// Metrics of each segment of a network of several data centers, after the name of the [`Segment`] and `_`: `dc_drops`,
/// `wan_max_utilisation`. A port belongs to the segment of the link it leads onto, and so does what is lost on that link.
/// Drops and marks are those of the whole run, like `drops` and `marks`; utilisation is that of the measured time.
const SEGMENT_METRICS: [MetricInfo; 5] = [
    metric_info(
        "drops",
        "",
        "Packets dropped at ports of the segment and lost on its links, in the whole run.",
    ),
    metric_info(
        "lost_fraction",
        "",
        "The same, as a fraction of the packets that came to its ports, those of hosts included.",
    ),
    metric_info("marked_fraction", "", "Packets marked, as a fraction of the same."),
    metric_info(
        "mean_utilisation",
        "",
        "Bits sent in the measured time, framing included, as a fraction of what a directed link carries. Mean over the links of the segment.",
    ),
    metric_info("max_utilisation", "", "The same of the busiest directed link."),
];

const QUEUE_METRIC: MetricInfo = metric_info(
    "p99_queue_kb",
    "kB",
    "Of each recorded interval the deepest queue, of those the 99th percentile. Intervals without waiting packets count.",
);

/// What a metric means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MetricInfo {
    /// Its name, after that of the group.
    pub name: &'static str,
    /// The unit; empty for counts and fractions.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

const fn metric_info(name: &'static str, unit: &'static str, meaning: &'static str) -> MetricInfo {
    MetricInfo { name, unit, meaning }
}

/// Metrics that belong together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MetricSet {
    /// What stands before their names: `GROUP.`, `total.`, `total.dc_` or `total.wan_`.
    pub before: &'static str,
    /// Which groups or networks have them.
    pub present: &'static str,
    /// The metrics, in order.
    pub metrics: &'static [MetricInfo],
}

/// All metrics that a summary may have.
pub const METRICS: &[MetricSet] = &[
    MetricSet { before: "GROUP. or total.", present: "groups of flows", metrics: &FLOW_METRICS },
    MetricSet {
        before: "GROUP. or total.",
        present: "groups of remote procedure calls",
        metrics: &RPC_METRICS,
    },
    MetricSet { before: "GROUP.", present: "groups of datagram sources", metrics: &DATAGRAM_METRICS },
    MetricSet { before: "total.", present: "always", metrics: &NETWORK_METRICS },
    MetricSet { before: "total.", present: "with record.queues", metrics: &[QUEUE_METRIC] },
    MetricSet {
        before: "total.dc_ or total.wan_",
        present: "networks of several data centers",
        metrics: &SEGMENT_METRICS,
    },
];

/// Flows up to this size are small (Alizadeh et al., pFabric, SIGCOMM 2013, §5.2), flows from the other on are large
/// (Alizadeh et al., DCTCP, SIGCOMM 2010, §2.2).
pub const SMALL: u64 = 100_000;
/// See [`SMALL`].
pub const LARGE: u64 = 1_000_000;

/// What a group sends, as far as it decides which metrics it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flows,
    Rpcs,
    Datagrams,
}

impl Kind {
    pub(crate) fn of(datagrams: bool, rpcs: bool) -> Self {
        match (datagrams, rpcs) {
            (true, _) => Self::Datagrams,
            (_, true) => Self::Rpcs,
            _ => Self::Flows,
        }
    }

    fn metrics(self) -> impl Iterator<Item = &'static str> {
        let (first, more): (&[MetricInfo], &[MetricInfo]) = match self {
            Self::Flows => (&FLOW_METRICS, &[]),
            Self::Rpcs => (&FLOW_METRICS, &RPC_METRICS),
            Self::Datagrams => (&DATAGRAM_METRICS, &[]),
        };
        first.iter().chain(more).map(|info| info.name)
    }
}

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// `group.metric`.
    pub name: String,
    /// Its value; none if there is nothing to take it of.
    pub value: Option<f64>,
}

/// The value of a metric; none if there was nothing to take it of.
pub(crate) fn value(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.name == name)?.value
}

/// Names of all metrics of a scenario with these groups.
pub(crate) fn names<'a>(
    groups: impl Iterator<Item = (&'a str, Kind)>,
    queues: bool,
    segments: bool,
) -> Vec<String> {
    let (mut names, mut all) = (Vec::new(), Kind::Flows);
    for (group, kind) in groups {
        names.extend(kind.metrics().map(|metric| format!("{group}.{metric}")));
        all = if kind == Kind::Rpcs { kind } else { all };
    }
    let total =
        all.metrics().chain(NETWORK_METRICS.map(|info| info.name)).chain(queues.then_some(QUEUE_METRIC.name));
    names.extend(total.map(|metric| format!("{TOTAL}.{metric}")));
    if segments {
        let of = |segment: Segment| SEGMENT_METRICS.map(|info| segment_metric(segment, info.name));
        names.extend(Segment::ALL.into_iter().flat_map(of).map(|metric| format!("{TOTAL}.{metric}")));
    }
    names
}

/// All metrics of a run.
pub(crate) fn compute(outline: &Outline<'_>) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut all = Kind::Flows;
    for (number, group) in outline.plan.groups.iter().enumerate() {
        let kind = outline.kind(number);
        let mut values = Vec::new();
        if kind == Kind::Datagrams {
            values.extend(datagram_metrics(outline, number));
        } else {
            let flows: Vec<_> = outline.flows.iter().filter(|flow| flow.group as usize == number).collect();
            values.extend(flow_metrics(&flows, outline.measured_for()));
        }
        if kind == Kind::Rpcs {
            let rpcs: Vec<_> = outline.rpcs.iter().filter(|rpc| rpc.group as usize == number).collect();
            values.extend(rpc_metrics(&rpcs));
            all = kind;
        }
        metrics.extend(kind.metrics().zip(values).map(|(name, value)| metric(&group.name, name, value)));
    }
    let mut values = flow_metrics(&outline.flows.iter().collect::<Vec<_>>(), outline.measured_for()).to_vec();
    if all == Kind::Rpcs {
        values.extend(rpc_metrics(&outline.rpcs.iter().collect::<Vec<_>>()));
    }
    metrics.extend(all.metrics().zip(values).map(|(name, value)| metric(TOTAL, name, value)));
    let network = NETWORK_METRICS.iter().zip(network_metrics(outline));
    metrics.extend(network.map(|(info, value)| metric(TOTAL, info.name, Some(value))));
    if let Some(queues) = &outline.queues {
        metrics.push(metric(TOTAL, QUEUE_METRIC.name, deepest_queue(queues)));
    }
    if let Some(segments) = &outline.plan.segments {
        for segment in Segment::ALL {
            let values = SEGMENT_METRICS.iter().zip(segment_metrics(outline, segment, segments));
            metrics.extend(
                values.map(|(info, value)| metric(TOTAL, &segment_metric(segment, info.name), value)),
            );
        }
    }
    metrics
}

fn metric(group: &str, name: &str, value: Option<f64>) -> Metric {
    Metric { name: format!("{group}.{name}"), value }
}

/// In the order of [`FLOW_METRICS`]. Only measured flows count, and only finished ones have a completion time. The time of
/// injection is that from the start of a flow until its last byte began to leave; it may be known of flows that are
/// unfinished.
fn flow_metrics(flows: &[&FlowRow], measured_for: Span) -> [Option<f64>; FLOW_METRICS.len()] {
    let measured: Vec<_> = flows.iter().filter(|flow| flow.measured).collect();
    let ends = measured.iter().filter(|flow| !flow.is_endless());
    let unfinished = ends.clone().filter(|flow| flow.end.is_none()).count();
    let us = |flow: &FlowRow| flow.fct().map(|fct| fct.as_ps() as f64 / 1e6);
    let fct = sorted(ends.clone().filter_map(|flow| us(flow)));
    let injection = ends.clone().filter_map(|flow| Some(flow.injection()?.as_ps() as f64 / 1e6));
    let injection = sorted(injection);
    let slowdown = sorted(ends.clone().filter_map(|flow| flow.slowdown()));
    let small = sorted(ends.clone().filter(|flow| flow.size.get() <= SMALL).filter_map(|flow| us(flow)));
    let large: Vec<_> = ends.filter(|flow| flow.size.get() >= LARGE).filter_map(|flow| us(flow)).collect();
    let sum = |value: fn(&FlowRow) -> u64| flows.iter().map(|flow| value(flow) as f64).sum::<f64>();
    let delivered = sum(|flow| flow.delivered.get());
    let fraction = |part: f64| (delivered > 0.0).then(|| part / delivered);
    let seconds = measured_for.as_secs_f64();
    let goodput = sum(|flow| flow.delivered_measured.get()) * 8e-9 / seconds;
    [
        Some(measured.len() as f64),
        Some(unfinished as f64),
        percentile(&fct, 0.50),
        percentile(&fct, 0.99),
        mean(&fct),
        percentile(&injection, 0.50),
        percentile(&injection, 0.99),
        mean(&injection),
        percentile(&slowdown, 0.50),
        percentile(&slowdown, 0.95),
        percentile(&slowdown, 0.99),
        mean(&slowdown),
        percentile(&small, 0.99),
        mean(&large),
        (seconds > 0.0).then_some(goodput),
        fraction(sum(|flow| flow.stats.marked.get())),
        fraction(sum(|flow| flow.stats.retransmitted.get())),
        Some(sum(|flow| flow.stats.retransmissions)),
        Some(sum(|flow| flow.stats.timeouts)),
    ]
}

/// In the order of [`RPC_METRICS`]. Only measured calls count, and only finished ones have a time.
fn rpc_metrics(rpcs: &[&RpcRow]) -> [Option<f64>; RPC_METRICS.len()] {
    let measured = || rpcs.iter().filter(|rpc| rpc.measured);
    let unfinished = measured().filter(|rpc| rpc.end.is_none()).count();
    let us = sorted(measured().filter_map(|rpc| Some(rpc.time()?.as_ps() as f64 / 1e6)));
    let slowdown = sorted(measured().filter_map(|rpc| rpc.slowdown()));
    [
        Some(measured().count() as f64),
        Some(unfinished as f64),
        percentile(&us, 0.50),
        percentile(&us, 0.99),
        percentile(&us, 0.999),
        mean(&us),
        percentile(&slowdown, 0.50),
        percentile(&slowdown, 0.99),
        mean(&slowdown),
    ]
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// In the order of [`DATAGRAM_METRICS`].
fn datagram_metrics(outline: &Outline<'_>, group: usize) -> [Option<f64>; DATAGRAM_METRICS.len()] {
    let of_group = &outline.plan.groups[group].flows;
    let sources = outline.datagrams.iter().filter(|source| of_group.contains(&source.flow.index()));
    let sum = |value: fn(&narrows_sim::DatagramRecord) -> u64| sources.clone().map(value).sum::<u64>() as f64;
    let (sent, received) =
        (sum(|source| source.sent + source.dropped_at_source), sum(|source| source.received));
    let seconds = outline.ended.as_secs_f64();
    let goodput = sum(|source| source.received_bytes.get()) * 8e-9 / seconds;
    [
        Some(sent),
        Some(received),
        (sent > 0.0).then(|| 1.0 - received / sent),
        (seconds > 0.0).then_some(goodput),
    ]
}

/// In the order of [`NETWORK_METRICS`].
fn network_metrics(outline: &Outline<'_>) -> [f64; NETWORK_METRICS.len()] {
    let marks: u64 = outline.ports.iter().map(|port| port.marks).sum();
    let drops: u64 = DropCause::ALL.iter().map(|cause| outline.drops(*cause)).sum();
    let deepest = outline.ports.iter().map(|port| port.max_backlog).max().unwrap_or(0);
    let messages: u64 = outline.ports.iter().map(PortCounters::messages).sum();
    let pauses: u64 = outline.ports.iter().map(|port| port.pauses).sum();
    [
        marks as f64,
        messages as f64,
        pauses as f64,
        drops as f64,
        deepest as f64 / 1e3,
        outline.packet_hops as f64,
    ]
}

fn segment_metric(segment: Segment, metric: &str) -> String {
    format!("{}_{metric}", segment.name())
}

/// In the order of [`SEGMENT_METRICS`]. A packet counts at every port it comes to, those of hosts included. Utilisation is
/// bits sent, framing included, in relation to what a directed link carries in the measured time: on average over all
/// of them, and of the busiest.
fn segment_metrics(
    outline: &Outline<'_>,
    segment: Segment,
    segments: &[Segment],
) -> [Option<f64>; SEGMENT_METRICS.len()] {
    let links = outline.plan.network.topology.links();
    let members = || {
        let all = outline.ports.iter().zip(links).zip(segments);
        all.filter(|(_, of)| **of == segment).map(|(member, _)| member)
    };
    let sum = |value: fn(&PortCounters) -> u64| members().map(|(port, _)| value(port)).sum::<u64>() as f64;
    let (arrived, drops) = (sum(PortCounters::handled), sum(PortCounters::dropped));
    let fraction = |part: f64| (arrived > 0.0).then(|| part / arrived);
    let seconds = outline.measured_for().as_secs_f64();
    let utilisation = |(port, link): (&PortCounters, &Link)| {
        port.measured_bytes as f64 * 8.0 / (link.wire.rate.as_f64() * seconds)
    };
    let utilisations: Vec<_> = members().filter(|_| seconds > 0.0).map(utilisation).collect();
    [
        Some(drops),
        fraction(drops),
        fraction(sum(|port| port.marks)),
        mean(&utilisations),
        utilisations.iter().copied().reduce(f64::max),
    ]
}

/// In kB: of each interval the deepest queue, of those the 99th percentile, intervals without waiting packets included.
fn deepest_queue(queues: &Queues<'_>) -> Option<f64> {
    let mut deepest: Vec<u64> = queues.rows.chunk_by(|a, b| a.start == b.start).map(deepest_row).collect();
    let intervals = queues.ended.as_ps().div_ceil(queues.interval.as_ps().max(1)) as usize;
    deepest.resize(intervals.max(deepest.len()), 0);
    deepest.sort_unstable();
    percentile(&deepest, 0.99).map(|bytes| bytes as f64 / 1e3)
}

fn deepest_row(rows: &[narrows_sim::observe::PortRow]) -> u64 {
    rows.iter().map(|row| row.max_backlog).max().unwrap_or(0)
}

/// Recorded queues, in order of time.
pub(crate) struct Queues<'a> {
    pub(crate) rows: &'a [narrows_sim::observe::PortRow],
    pub(crate) interval: Span,
    pub(crate) ended: Time,
}
