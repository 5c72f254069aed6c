//! What a summary says, by name: `group.metric`.

use std::sync::LazyLock;

use narrows_proto::units::Span;
use narrows_sim::observe::PortRow;
use narrows_sim::topology::Link;
use narrows_sim::traffic::Transport;
use narrows_sim::{DatagramRecord, PortCounters};
use serde::Serialize;

use crate::counters::{self, Counter};
use crate::plan::{Plan, Segment};
use crate::results::{FlowRow, Outline, Queues, RpcRow};
use crate::statistics::{mean, percentile};

/// Stands for all traffic together.
pub const TOTAL: &str = "total";

/// Metrics of a group of connections. `fct` is the time from the start of a flow to the arrival of its last byte, `injection`
/// that from its start until its last byte is sent for the first time.
const FLOW_METRICS: [Taken<FlowSums>; 19] = [
    metric("flows", "", "Flows that count: those that started in the measured time.", |of| Some(of.measured)),
    metric(
        "unfinished",
        "",
        "How many of them had an end to reach and did not reach it before the run ended.",
        |of| Some(of.unfinished),
    ),
    metric(
        "p50_fct_us",
        "us",
        "Completion time: from the start of a flow to the arrival of its last byte. Median over the finished flows that count.",
        |of| percentile(&of.fct, 0.50),
    ),
    metric("p99_fct_us", "us", "Completion time, 99th percentile.", |of| percentile(&of.fct, 0.99)),
    metric("mean_fct_us", "us", "Completion time, mean.", |of| mean(&of.fct)),
    metric(
        "p50_injection_us",
        "us",
        "Time from the start of a flow until its last byte is sent for the first time. Median; it may be known of flows that are unfinished.",
        |of| percentile(&of.injection, 0.50),
    ),
    metric("p99_injection_us", "us", "Time until the last byte is sent, 99th percentile.", |of| {
        percentile(&of.injection, 0.99)
    }),
    metric("mean_injection_us", "us", "Time until the last byte is sent, mean.", |of| mean(&of.injection)),
    metric("p50_slowdown", "", "Completion time divided by that on the empty network. Median.", |of| {
        percentile(&of.slowdown, 0.50)
    }),
    metric("p95_slowdown", "", "Slowdown, 95th percentile.", |of| percentile(&of.slowdown, 0.95)),
    metric("p99_slowdown", "", "Slowdown, 99th percentile.", |of| percentile(&of.slowdown, 0.99)),
    metric("mean_slowdown", "", "Slowdown, mean.", |of| mean(&of.slowdown)),
    metric("small_p99_fct_us", "us", "Completion time of flows of up to 100 kB, 99th percentile.", |of| {
        percentile(&of.small_fct, 0.99)
    }),
    metric("large_mean_fct_us", "us", "Completion time of flows of 1 MB and more, mean.", |of| {
        mean(&of.large_fct)
    }),
    metric(
        "goodput_gbps",
        "Gbit/s",
        "Payload that the senders learned to have arrived in the measured time, divided by its length; all flows, those that do not count as well.",
        |of| rate(of.delivered_measured, of.seconds),
    ),
    metric(
        "marked_fraction",
        "",
        "Payload acknowledged with a congestion mark, as a fraction of all delivered payload, over the whole run.",
        |of| fraction(of.marked, of.delivered),
    ),
    metric(
        "retransmitted_fraction",
        "",
        "Payload sent again, in relation to all delivered payload, over the whole run.",
        |of| fraction(of.retransmitted, of.delivered),
    ),
    metric("retransmissions", "", "Segments sent again in the whole run.", |of| Some(of.retransmissions)),
    metric("timeouts", "", "Times a retransmission timer ran out in the whole run.", |of| Some(of.timeouts)),
];

/// Metrics of a group of remote procedure calls, besides those of their flows.
const RPC_METRICS: [Taken<RpcSums>; 9] = [
    metric("rpcs", "", "Remote procedure calls that count: those that began in the measured time.", |of| {
        Some(of.measured)
    }),
    metric("unfinished_rpcs", "", "How many of them did not end before the run did.", |of| {
        Some(of.unfinished)
    }),
    metric(
        "p50_rpc_us",
        "us",
        "Time of a call: until the last byte of its last response. Median over the finished calls that count.",
        |of| percentile(&of.time, 0.50),
    ),
    metric("p99_rpc_us", "us", "Time of a call, 99th percentile.", |of| percentile(&of.time, 0.99)),
    metric("p999_rpc_us", "us", "Time of a call, 99.9th percentile.", |of| percentile(&of.time, 0.999)),
    metric("mean_rpc_us", "us", "Time of a call, mean.", |of| mean(&of.time)),
    metric(
        "p50_rpc_slowdown",
        "",
        "Time of a call divided by the least time on the empty network. Median.",
        |of| percentile(&of.slowdown, 0.50),
    ),
    metric("p99_rpc_slowdown", "", "Slowdown of calls, 99th percentile.", |of| {
        percentile(&of.slowdown, 0.99)
    }),
    metric("mean_rpc_slowdown", "", "Slowdown of calls, mean.", |of| mean(&of.slowdown)),
];

/// Metrics of a group of datagram sources.
const DATAGRAM_METRICS: [Taken<DatagramSums>; 4] = [
    metric(
        "datagrams_sent",
        "",
        "Datagrams that the sources made, those they had no room for included.",
        |of| Some(of.sent),
    ),
    metric("datagrams_received", "", "Datagrams that arrived.", |of| Some(of.received)),
    metric("lost_fraction", "", "Part of them that did not arrive.", |of| {
        (of.sent > 0.0).then(|| 1.0 - of.received / of.sent)
    }),
    metric(
        "goodput_gbps",
        "Gbit/s",
        "Payload of datagrams that arrived, divided by the length of the run.",
        |of| rate(of.received_bytes, of.seconds),
    ),
];

/// Metrics of the network, after those that are counters.
const NETWORK_METRICS: [Taken<NetworkSums>; 2] = [
    metric("max_queue_kb", "kB", "The most that ever waited at a port.", |of| Some(of.max_backlog / 1e3)),
    metric("packet_hops", "", "Packets that arrived at some node: what the simulator had to do.", |of| {
        Some(of.packet_hops)
    }),
];

/// Metrics of each segment of a network of several data centers, after the name of the [`Segment`] and `_`: `dc_drops`,
/// `wan_max_utilisation`. A port belongs to the segment of the link it leads onto, and so does what is lost on that link.
/// Drops and marks are those of the whole run, like `drops` and `marks`; utilisation is that of the measured time.
const SEGMENT_METRICS: [Taken<SegmentSums>; 5] = [
    metric(
        "drops",
        "",
        "Packets dropped at ports of the segment and lost on its links, in the whole run.",
        |of| Some(of.drops),
    ),
    metric(
        "lost_fraction",
        "",
        "The same, as a fraction of the packets that came to its ports, those of hosts included.",
        |of| fraction(of.drops, of.arrived),
    ),
    metric("marked_fraction", "", "Packets marked, as a fraction of the same.", |of| {
        fraction(of.marks, of.arrived)
    }),
    metric(
        "mean_utilisation",
        "",
        "Bits sent in the measured time, framing included, as a fraction of what a directed link carries. Mean over the links of the segment.",
        |of| mean(&of.utilisations),
    ),
    metric("max_utilisation", "", "The same of the busiest directed link.", |of| {
        of.utilisations.iter().copied().reduce(f64::max)
    }),
];

/// Metrics of recorded queues.
const QUEUE_METRICS: [Taken<QueueSums>; 1] = [metric(
    "p99_queue_kb",
    "kB",
    "Of each recorded interval the deepest queue, of those the 99th percentile. Intervals without waiting packets count.",
    |of| percentile(&of.deepest, 0.99).map(|bytes| bytes as f64 / 1e3),
)];

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

/// A metric and how it is taken of the sums `S`.
struct Taken<S> {
    info: MetricInfo,
    of: fn(&S) -> Option<f64>,
}

const fn metric<S>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: fn(&S) -> Option<f64>,
) -> Taken<S> {
    Taken { info: MetricInfo { name, unit, meaning }, of }
}

/// What metrics mean, without how they are taken.
fn infos<S>(metrics: &'static [Taken<S>]) -> impl Iterator<Item = MetricInfo> {
    metrics.iter().map(|metric| metric.info)
}

/// Metrics of the network.
fn network() -> impl Iterator<Item = MetricInfo> {
    let counted =
        |(name, counter): (_, &Counter)| MetricInfo { name, unit: counter.unit, meaning: counter.meaning };
    counters::metrics().map(counted).chain(infos(&NETWORK_METRICS))
}

/// Metrics that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct MetricSet {
    /// What stands before their names: `GROUP.`, `total.`, `total.dc_` or `total.wan_`.
    pub before: &'static str,
    /// Which groups or networks have them.
    pub present: &'static str,
    /// The metrics, in order.
    pub metrics: Vec<MetricInfo>,
}

/// All metrics that a summary may have.
pub static METRICS: LazyLock<[MetricSet; 6]> = LazyLock::new(|| {
    let set = |before, present, metrics| MetricSet { before, present, metrics };
    [
        set("GROUP. or total.", "groups of flows", infos(&FLOW_METRICS).collect()),
        set("GROUP. or total.", "groups of remote procedure calls", infos(&RPC_METRICS).collect()),
        set("GROUP.", "groups of datagram sources", infos(&DATAGRAM_METRICS).collect()),
        set("total.", "always", network().collect()),
        set("total.", "with record.queues", infos(&QUEUE_METRICS).collect()),
        set("total.dc_ or total.wan_", "networks of several data centers", infos(&SEGMENT_METRICS).collect()),
    ]
});

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

    /// What a group of a plan sends.
    fn of_group(plan: &Plan, group: usize) -> Self {
        let datagrams = matches!(plan.traffic.groups[group].transport, Transport::Datagram { .. });
        Self::of(datagrams, plan.groups[group].rpcs.is_some())
    }

    fn metrics(self) -> impl Iterator<Item = &'static str> {
        let flows = infos(&FLOW_METRICS).filter(move |_| self != Self::Datagrams);
        let rpcs = infos(&RPC_METRICS).filter(move |_| self == Self::Rpcs);
        let datagrams = infos(&DATAGRAM_METRICS).filter(move |_| self == Self::Datagrams);
        flows.chain(rpcs).chain(datagrams).map(|info| info.name)
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
    let of_network = network().chain(infos(&QUEUE_METRICS).filter(|_| queues));
    let total = all.metrics().chain(of_network.map(|info| info.name));
    names.extend(total.map(|metric| format!("{TOTAL}.{metric}")));
    for segment in Segment::ALL.into_iter().filter(|_| segments) {
        let of_segment = infos(&SEGMENT_METRICS).map(|info| format!("{}{}", of_segment(segment), info.name));
        names.extend(of_segment);
    }
    names
}

/// All metrics of a run.
pub(crate) fn compute(outline: &Outline<'_>) -> Vec<Metric> {
    let mut metrics = Metrics(Vec::new());
    let mut any_rpcs = false;
    for (number, group) in outline.plan.groups.iter().enumerate() {
        let before = format!("{}.", group.name);
        let kind = Kind::of_group(outline.plan, number);
        if kind == Kind::Datagrams {
            metrics.take(&before, &DATAGRAM_METRICS, &DatagramSums::of(outline, number));
        } else {
            let flows: Vec<_> = outline.flows.iter().filter(|flow| flow.group as usize == number).collect();
            metrics.take(&before, &FLOW_METRICS, &FlowSums::of(&flows, outline.measured_for()));
        }
        if kind == Kind::Rpcs {
            let rpcs: Vec<_> = outline.rpcs.iter().filter(|rpc| rpc.group as usize == number).collect();
            metrics.take(&before, &RPC_METRICS, &RpcSums::of(&rpcs));
            any_rpcs = true;
        }
    }
    let before = format!("{TOTAL}.");
    let flows: Vec<_> = outline.flows.iter().collect();
    metrics.take(&before, &FLOW_METRICS, &FlowSums::of(&flows, outline.measured_for()));
    if any_rpcs {
        metrics.take(&before, &RPC_METRICS, &RpcSums::of(&outline.rpcs.iter().collect::<Vec<_>>()));
    }
    let counted = |(name, counter): (_, &Counter)| Metric {
        name: format!("{before}{name}"),
        value: Some(counter.total(outline) as f64),
    };
    metrics.0.extend(counters::metrics().map(counted));
    metrics.take(&before, &NETWORK_METRICS, &NetworkSums::of(outline));
    if let Some(queues) = &outline.queues {
        metrics.take(&before, &QUEUE_METRICS, &QueueSums::of(queues));
    }
    if let Some(segments) = &outline.plan.segments {
        for segment in Segment::ALL {
            let sums = SegmentSums::of(outline, segment, segments);
            metrics.take(&of_segment(segment), &SEGMENT_METRICS, &sums);
        }
    }
    metrics.0
}

/// What stands before the metrics of a segment.
fn of_segment(segment: Segment) -> String {
    format!("{TOTAL}.{}_", segment.name())
}

/// Metrics, one after the other.
struct Metrics(Vec<Metric>);

impl Metrics {
    fn take<S>(&mut self, before: &str, metrics: &[Taken<S>], sums: &S) {
        let take = |Taken { info, of }: &Taken<S>| Metric {
            name: format!("{before}{}", info.name),
            value: of(sums),
        };
        self.0.extend(metrics.iter().map(take));
    }
}

/// What metrics of flows are taken of. Only measured flows count, and only finished ones have a completion time. The time of
/// injection is that from the start of a flow until its last byte began to leave; it may be known of flows that are
/// unfinished. Payload is in bytes, of all flows.
struct FlowSums {
    measured: f64,
    unfinished: f64,
    fct: Vec<f64>,
    small_fct: Vec<f64>,
    large_fct: Vec<f64>,
    injection: Vec<f64>,
    slowdown: Vec<f64>,
    seconds: f64,
    delivered: f64,
    delivered_measured: f64,
    marked: f64,
    retransmitted: f64,
    retransmissions: f64,
    timeouts: f64,
}

impl FlowSums {
    fn of(flows: &[&FlowRow], measured_for: Span) -> Self {
        let measured: Vec<_> = flows.iter().filter(|flow| flow.measured).collect();
        let ends = || measured.iter().filter(|flow| !flow.is_endless());
        let us = |flow: &FlowRow| flow.fct().map(|fct| fct.as_ps() as f64 / 1e6);
        let injection = ends().filter_map(|flow| Some(flow.injection()?.as_ps() as f64 / 1e6));
        let sum = |value: fn(&FlowRow) -> u64| flows.iter().map(|flow| value(flow) as f64).sum::<f64>();
        Self {
            measured: measured.len() as f64,
            unfinished: ends().filter(|flow| flow.end.is_none()).count() as f64,
            fct: sorted(ends().filter_map(|flow| us(flow))),
            small_fct: sorted(ends().filter(|flow| flow.size.get() <= SMALL).filter_map(|flow| us(flow))),
            large_fct: ends().filter(|flow| flow.size.get() >= LARGE).filter_map(|flow| us(flow)).collect(),
            injection: sorted(injection),
            slowdown: sorted(ends().filter_map(|flow| flow.slowdown())),
            seconds: measured_for.as_secs_f64(),
            delivered: sum(|flow| flow.delivered.get()),
            delivered_measured: sum(|flow| flow.delivered_measured.get()),
            marked: sum(|flow| flow.stats.marked.get()),
            retransmitted: sum(|flow| flow.stats.retransmitted.get()),
            retransmissions: sum(|flow| flow.stats.retransmissions),
            timeouts: sum(|flow| flow.stats.timeouts),
        }
    }
}

/// What metrics of remote procedure calls are taken of. Only measured calls count, and only finished ones have a time.
struct RpcSums {
    measured: f64,
    unfinished: f64,
    time: Vec<f64>,
    slowdown: Vec<f64>,
}

impl RpcSums {
    fn of(rpcs: &[&RpcRow]) -> Self {
        let measured = || rpcs.iter().filter(|rpc| rpc.measured);
        Self {
            measured: measured().count() as f64,
            unfinished: measured().filter(|rpc| rpc.end.is_none()).count() as f64,
            time: sorted(measured().filter_map(|rpc| Some(rpc.time()?.as_ps() as f64 / 1e6))),
            slowdown: sorted(measured().filter_map(|rpc| rpc.slowdown())),
        }
    }
}

/// What metrics of datagrams are taken of.
struct DatagramSums {
    sent: f64,
    received: f64,
    received_bytes: f64,
    seconds: f64,
}

impl DatagramSums {
    fn of(outline: &Outline<'_>, group: usize) -> Self {
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

/// What metrics of the network are taken of, besides counters.
struct NetworkSums {
    max_backlog: f64,
    packet_hops: f64,
}

impl NetworkSums {
    fn of(outline: &Outline<'_>) -> Self {
        Self {
            max_backlog: outline.ports.iter().map(|port| port.max_backlog).max().unwrap_or(0) as f64,
            packet_hops: outline.packet_hops as f64,
        }
    }
}

/// What metrics of a segment are taken of. A packet counts at every port it comes to, those of hosts included. Utilisation is
/// bits sent, framing included, in relation to what a directed link carries in the measured time.
struct SegmentSums {
    arrived: f64,
    drops: f64,
    marks: f64,
    utilisations: Vec<f64>,
}

impl SegmentSums {
    fn of(outline: &Outline<'_>, segment: Segment, segments: &[Segment]) -> Self {
        let links = outline.plan.network.topology.links();
        let members = || {
            let all = outline.ports.iter().zip(links).zip(segments);
            all.filter(|(_, of)| **of == segment).map(|(member, _)| member)
        };
        let sum =
            |value: fn(&PortCounters) -> u64| members().map(|(port, _)| value(port)).sum::<u64>() as f64;
        let seconds = outline.measured_for().as_secs_f64();
        let utilisation = |(port, link): (&PortCounters, &Link)| {
            port.measured_bytes as f64 * 8.0 / (link.wire.rate.as_f64() * seconds)
        };
        Self {
            arrived: sum(PortCounters::handled),
            drops: sum(PortCounters::dropped),
            marks: sum(|port| port.marks),
            utilisations: members().filter(|_| seconds > 0.0).map(utilisation).collect(),
        }
    }
}

/// Of each interval the deepest queue, the shallowest first, intervals without waiting packets included.
struct QueueSums {
    deepest: Vec<u64>,
}

impl QueueSums {
    fn of(queues: &Queues<'_>) -> Self {
        let deepest_row = |rows: &[PortRow]| rows.iter().map(|row| row.max_backlog).max().unwrap_or(0);
        let mut deepest: Vec<u64> =
            queues.rows.chunk_by(|a, b| a.start == b.start).map(deepest_row).collect();
        let intervals = queues.ended.as_ps().div_ceil(queues.interval.as_ps().max(1)) as usize;
        deepest.resize(intervals.max(deepest.len()), 0);
        deepest.sort_unstable();
        Self { deepest }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// None of nothing.
fn fraction(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Of bytes, in Gbit/s; none in no time.
fn rate(bytes: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| bytes * 8e-9 / seconds)
}
