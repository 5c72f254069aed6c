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
const FLOW_METRICS: [&str; 19] = [
    "flows",
    "unfinished",
    "p50_fct_us",
    "p99_fct_us",
    "mean_fct_us",
    "p50_injection_us",
    "p99_injection_us",
    "mean_injection_us",
    "p50_slowdown",
    "p95_slowdown",
    "p99_slowdown",
    "mean_slowdown",
    "small_p99_fct_us",
    "large_mean_fct_us",
    "goodput_gbps",
    "marked_fraction",
    "retransmitted_fraction",
    "retransmissions",
    "timeouts",
];

/// Metrics of a group of remote procedure calls, besides those of their flows.
const RPC_METRICS: [&str; 9] = [
    "rpcs",
    "unfinished_rpcs",
    "p50_rpc_us",
    "p99_rpc_us",
    "p999_rpc_us",
    "mean_rpc_us",
    "p50_rpc_slowdown",
    "p99_rpc_slowdown",
    "mean_rpc_slowdown",
];

/// Metrics of a group of datagram sources.
const DATAGRAM_METRICS: [&str; 4] = ["datagrams_sent", "datagrams_received", "lost_fraction", "goodput_gbps"];

/// Metrics of the network.
const NETWORK_METRICS: [&str; 6] = ["marks", "messages", "pauses", "drops", "max_queue_kb", "packet_hops"];

/// Metrics of each segment of a network of several data centers, after the name of the [`Segment`] and `_`: `dc_drops`,
/// `wan_max_utilisation`. A port belongs to the segment of the link it leads onto, and so does what is lost on that link.
/// Drops and marks are those of the whole run, like `drops` and `marks`; utilisation is that of the measured time.
const SEGMENT_METRICS: [&str; 5] =
    ["drops", "lost_fraction", "marked_fraction", "mean_utilisation", "max_utilisation"];

/// The 99th percentile over intervals of the deepest recorded queue.
const QUEUE_METRIC: &str = "p99_queue_kb";

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
        let (first, more): (&[_], &[_]) = match self {
            Self::Flows => (&FLOW_METRICS, &[]),
            Self::Rpcs => (&FLOW_METRICS, &RPC_METRICS),
            Self::Datagrams => (&DATAGRAM_METRICS, &[]),
        };
        first.iter().chain(more).copied()
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
    let total = all.metrics().chain(NETWORK_METRICS).chain(queues.then_some(QUEUE_METRIC));
    names.extend(total.map(|metric| format!("{TOTAL}.{metric}")));
    if segments {
        let of = |segment: Segment| SEGMENT_METRICS.map(|metric| segment_metric(segment, metric));
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
    metrics.extend(network.map(|(name, value)| metric(TOTAL, name, Some(value))));
    if let Some(queues) = &outline.queues {
        metrics.push(metric(TOTAL, QUEUE_METRIC, deepest_queue(queues)));
    }
    if let Some(segments) = &outline.plan.segments {
        for segment in Segment::ALL {
            let values = SEGMENT_METRICS.iter().zip(segment_metrics(outline, segment, segments));
            metrics.extend(values.map(|(name, value)| metric(TOTAL, &segment_metric(segment, name), value)));
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
