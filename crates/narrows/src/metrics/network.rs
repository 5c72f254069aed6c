//! Metrics of the network, its segments and recorded queues.

use std::collections::BTreeMap;
use std::ops::Range;

use narrows_proto::units::{Span, Time};
use narrows_sim::observe::PortRow;
use narrows_sim::{LinkId, PortCounters};

use super::taken::{Over, Taken, fraction, metric, within};
use crate::bounds::Bounds;
use crate::plan::Segment;
use crate::results::{Outline, Queues};
use crate::statistics::{mean, percentile};

/// Metrics of the network, after those that are counters.
pub(super) const NETWORK_METRICS: [Taken<NetworkSums>; 3] = [
    metric("max_queue_kb", "kB", Over::WholeRun, "Peak queue: the most that waited at any port.", |of| {
        Some(of.max_backlog / 1e3)
    }),
    metric(
        "packet_hops",
        "",
        Over::WholeRun,
        "Arrivals of packets at nodes: the work of the simulator.",
        |of| Some(of.packet_hops),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "max_utilization",
            "",
            Over::MeasuredTime,
            "Utilization of the busiest directed link of the network.",
            |of| of.max_utilization,
        ),
    ),
];

/// Metrics of each segment of a network of several data centers, after the name of the [`Segment`] and `_`: `dc_drops`,
/// `wan_max_utilization`. A port belongs to the segment of the link it leads onto, and so does what is lost on that link.
/// Drops and marks are those of the whole run, like `drops` and `marks`; utilization is that of the measured time.
pub(super) const SEGMENT_METRICS: [Taken<SegmentSums>; 5] = [
    metric(
        "drops",
        "",
        Over::WholeRun,
        "Packets dropped at ports of the segment and lost on its links, in the whole run.",
        |of| Some(of.drops),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "lost_fraction",
            "",
            Over::WholeRun,
            "Packets dropped or lost in the segment, as a fraction of the packets that arrived at its ports, those of hosts included.",
            |of| fraction(of.drops, of.arrived),
        ),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "marked_fraction",
            "",
            Over::WholeRun,
            "Packets marked in the segment, as a fraction of the packets that arrived at its ports.",
            |of| fraction(of.marks, of.arrived),
        ),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "mean_utilization",
            "",
            Over::MeasuredTime,
            "Utilization: bits sent in the measured time, framing included, as a fraction of the capacity of a directed link. Mean over the links of the segment.",
            |of| mean(&of.utilizations),
        ),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "max_utilization",
            "",
            Over::MeasuredTime,
            "Utilization of the busiest directed link of the segment.",
            |of| of.utilizations.iter().copied().reduce(f64::max),
        ),
    ),
];

/// Metrics of recorded queues.
pub(super) const QUEUE_METRICS: [Taken<QueueSums>; 2] = [
    metric(
        "p99_queue_kb",
        "kB",
        Over::WholeRun,
        "99th percentile of the peak queue over the recorded intervals, those without waiting packets included.",
        |of| percentile(&of.deepest, 0.99).map(|bytes| bytes as f64 / 1e3),
    ),
    metric(
        "mean_queue_us",
        "us",
        Over::MeasuredTime,
        "Mean queueing delay of a byte, at the recorded port where it is longest: bytes that waited, summed over time, divided by bytes sent (Little's law), in recorded intervals.",
        |of| of.longest_delay.map(|seconds| seconds * 1e6),
    ),
];

/// Values that metrics of the network are taken of, besides counters.
pub(super) struct NetworkSums {
    max_backlog: f64,
    packet_hops: f64,
    max_utilization: Option<f64>,
}

impl NetworkSums {
    pub(super) fn of(outline: &Outline<'_>) -> Self {
        Self {
            max_backlog: outline.ports.iter().map(|port| port.max_backlog).max().unwrap_or(0) as f64,
            packet_hops: outline.packet_hops as f64,
            max_utilization: utilizations(outline, |_| true).into_iter().reduce(f64::max),
        }
    }
}

/// Values that metrics of a segment are taken of. A packet counts at every port it comes to, those of hosts included.
pub(super) struct SegmentSums {
    arrived: f64,
    drops: f64,
    marks: f64,
    utilizations: Vec<f64>,
}

impl SegmentSums {
    pub(super) fn of(outline: &Outline<'_>, segment: Segment, segments: &[Segment]) -> Self {
        let is_member = |link: usize| segments[link] == segment;
        let members = || outline.ports.iter().enumerate().filter(|(link, _)| is_member(*link));
        let sum =
            |value: fn(&PortCounters) -> u64| members().map(|(_, port)| value(port)).sum::<u64>() as f64;
        Self {
            arrived: sum(PortCounters::handled),
            drops: sum(PortCounters::dropped),
            marks: sum(|port| port.marks),
            utilizations: utilizations(outline, is_member),
        }
    }
}

/// Bits of the largest packet, framing included.
const LARGEST_PACKET: f64 = 8.0 * (u16::MAX as f64 + 64.0);

/// Of some directed links: bits sent in the measured time, framing included, in relation to what the link carries in it. A packet counts
/// where it begins; a link that is never idle, whose last packet reaches beyond the end, is used as a whole.
fn utilizations(outline: &Outline<'_>, is_member: impl Fn(usize) -> bool) -> Vec<f64> {
    let (from, lasted) = (outline.plan.measured.start, outline.measured_for());
    if lasted == Span::ZERO {
        return Vec::new();
    }
    let members = outline.ports.iter().enumerate().filter(|(link, _)| is_member(*link));
    let utilization = |(link, port): (usize, &PortCounters)| {
        let capacity = outline.plan.network.capacity(LinkId::from(link), from, from + lasted);
        let sent = port.measured_bytes as f64 * 8.0;
        debug_assert!(
            sent <= capacity + LARGEST_PACKET,
            "link {link} carries {capacity} bits, {sent} were sent"
        );
        // A link may change so that it carries nothing in the measured time.
        (capacity > 0.0).then(|| (sent / capacity).min(1.0))
    };
    members.filter_map(utilization).collect()
}

/// Values that metrics of recorded queues are taken of.
pub(super) struct QueueSums {
    /// Of each interval the peak queue, the shallowest first, intervals without waiting packets included.
    deepest: Vec<u64>,
    /// In seconds; none if nothing was sent.
    longest_delay: Option<f64>,
}

impl QueueSums {
    /// Of queues, and of the measured time.
    pub(super) fn of(queues: &Queues<'_>, measured: &Range<Time>) -> Self {
        let deepest_row = |rows: &[PortRow]| rows.iter().map(|row| row.max_backlog).max().unwrap_or(0);
        let mut deepest: Vec<u64> =
            queues.rows.chunk_by(|a, b| a.start == b.start).map(deepest_row).collect();
        let intervals = queues.ended.as_ps().div_ceil(queues.interval.as_ps().max(1)) as usize;
        deepest.resize(intervals.max(deepest.len()), 0);
        deepest.sort_unstable();
        Self { deepest, longest_delay: longest_delay(queues, measured) }
    }
}

fn longest_delay(queues: &Queues<'_>, measured: &Range<Time>) -> Option<f64> {
    // By port: byte-seconds that waited, and bytes sent.
    let mut ports: BTreeMap<LinkId, (f64, u64)> = BTreeMap::new();
    for row in queues.rows.iter().filter(|row| measured.contains(&row.start)) {
        let lasted = queues.interval.min(queues.ended.saturating_since(row.start));
        let (waited, sent) = ports.entry(row.link).or_default();
        *waited += row.mean_backlog * lasted.as_secs_f64();
        *sent += row.bytes;
    }
    let delays = ports.into_values().filter(|(_, sent)| *sent > 0);
    delays.map(|(waited, sent)| waited / sent as f64).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_delay_of_a_byte_is_what_waited_over_what_was_sent_at_the_port_where_it_is_longest() {
        let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
        let row = |start: u64, link: usize, mean_backlog: f64, bytes: u64| PortRow {
            start: ms(start),
            link: LinkId::from(link),
            mean_backlog,
            bytes,
            ..PortRow::default()
        };
        // Before the measured time much waits; the last interval is cut by the end of the run.
        let rows = [
            row(0, 0, 1e6, 1000),
            row(10, 0, 4000.0, 1000),
            row(10, 1, 100.0, 500),
            row(20, 0, 2000.0, 1000),
        ];
        let queues = Queues { rows: &rows, interval: Span::from_ms(10), ended: ms(25) };
        let found = longest_delay(&queues, &(ms(10)..ms(100))).unwrap();
        assert!((found - (4000.0 * 0.010 + 2000.0 * 0.005) / 2000.0).abs() < 1e-12, "{found}");
        assert_eq!(longest_delay(&queues, &(ms(50)..ms(100))), None);
    }
}
