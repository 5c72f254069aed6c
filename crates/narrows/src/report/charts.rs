use std::cmp::Reverse;
use std::collections::BTreeMap;

use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::observe::{PortRow, WindowRow};
use narrows_sim::{FlowId, LinkId};
use serde::Serialize;

use crate::results::{FlowRow, Results};
use crate::statistics::percentile;

/// Points for the charts of one run; a bounded number, however long it was.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Charts {
    /// Completion times of each group of connections.
    pub groups: Vec<GroupCharts>,
    /// kB that waited over ms, at the deepest ports.
    pub queues: Vec<Series>,
    /// Gb/s over ms.
    pub rates: Vec<Series>,
    /// kB of congestion window over ms.
    pub windows: Vec<Series>,
}

/// Completion times of a group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupCharts {
    /// Its name.
    pub name: String,
    /// Its congestion control.
    pub control: String,
    /// Completion time in µs, fraction of flows that took at most that long.
    pub fct_cdf: Vec<(f64, f64)>,
    /// Slowdown by size.
    pub slowdown: Vec<SlowdownBin>,
}

/// Flows of similar size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowdownBin {
    /// The largest of them, in bytes.
    pub size: u64,
    /// How many.
    pub flows: usize,
    /// Median slowdown.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// A curve over time.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// What it is of.
    pub name: String,
    /// Milliseconds and values.
    pub points: Vec<(f64, f64)>,
}

/// Points of a curve at the most.
const POINTS: usize = 600;
/// Curves of one chart at the most.
const CURVES: usize = 6;

impl Charts {
    /// The charts of a run.
    pub fn of(results: &Results) -> Self {
        let groups = (0..results.plan.groups.len()).filter_map(|group| GroupCharts::of(results, group));
        Self {
            groups: groups.collect(),
            queues: results.queues.as_ref().map(|rows| queues(results, rows)).unwrap_or_default(),
            rates: results.windows.as_ref().map(|rows| flows(results, rows, rates)).unwrap_or_default(),
            windows: results.windows.as_ref().map(|rows| flows(results, rows, windows)).unwrap_or_default(),
        }
    }
}

impl GroupCharts {
    fn of(results: &Results, group: usize) -> Option<Self> {
        let mut flows: Vec<_> = results
            .flows_of(group)
            .filter(|flow| flow.measured && !flow.is_endless() && flow.end.is_some())
            .collect();
        if flows.is_empty() {
            return None;
        }
        flows.sort_by_key(|flow| flow.size);
        let planned = &results.plan.groups[group];
        Some(Self {
            name: planned.name.clone(),
            control: planned.control.clone(),
            fct_cdf: cdf(&flows),
            slowdown: slowdown(&flows),
        })
    }
}

/// The distribution of completion times, denser towards its upper end.
fn cdf(flows: &[&FlowRow]) -> Vec<(f64, f64)> {
    let mut times: Vec<_> =
        flows.iter().filter_map(|flow| flow.fct()).map(|fct| fct.as_ps() as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    let body = (0..=200).map(|step| f64::from(step) / 200.0);
    let tail = (1..=90).map(|step| 0.99 + f64::from(step) / 9000.0);
    let mut points: Vec<_> = body.chain(tail).map(|p| (percentile(&times, p).unwrap_or(0.0), p)).collect();
    points.sort_by(|a, b| a.1.total_cmp(&b.1));
    // The chart needs increasing times; of equal ones the highest fraction counts.
    points.dedup_by(|later, kept| {
        let equal = later.0 == kept.0;
        kept.1 = if equal { later.1 } else { kept.1 };
        equal
    });
    points
}

/// Slowdown by size, each bin a tenth of the flows, which are sorted by size. Flows of one size share a bin.
fn slowdown(flows: &[&FlowRow]) -> Vec<SlowdownBin> {
    let tenth = flows.len().div_ceil(10);
    let mut bins: Vec<SlowdownBin> = Vec::new();
    let mut rest = flows;
    while let Some(last) = rest.get(tenth.min(rest.len()).wrapping_sub(1)) {
        let (bin, others) = rest.split_at(rest.partition_point(|flow| flow.size <= last.size));
        let mut slowdowns: Vec<_> = bin.iter().filter_map(|flow| flow.slowdown()).collect();
        slowdowns.sort_by(f64::total_cmp);
        let at = |p| percentile(&slowdowns, p).unwrap_or(1.0);
        bins.push(SlowdownBin { size: last.size.get(), flows: bin.len(), p50: at(0.5), p99: at(0.99) });
        rest = others;
    }
    bins
}

/// The deepest recorded ports: for each slice of time the most that waited.
fn queues(results: &Results, rows: &[PortRow]) -> Vec<Series> {
    let topology = &results.plan.network.topology;
    let mut deepest = vec![0; topology.links().len()];
    for row in rows {
        deepest[row.link.index()] = row.max_backlog.max(deepest[row.link.index()]);
    }
    let mut links: Vec<_> = (0..deepest.len()).filter(|link| deepest[*link] > 0).collect();
    links.sort_by_key(|link| (Reverse(deepest[*link]), *link));
    links.truncate(CURVES);
    let slices = Slices::new(results);
    let series = |link: &usize| {
        let mut most = vec![0.0_f64; slices.count];
        for row in rows.iter().filter(|row| row.link.index() == *link) {
            let slice = slices.of(row.start);
            most[slice] = most[slice].max(row.max_backlog as f64 / 1e3);
        }
        Series { name: topology.link_name(LinkId::from(*link)), points: slices.points(&most) }
    };
    links.iter().map(series).collect()
}

/// Equal slices of the run.
struct Slices {
    length: Span,
    count: usize,
}

impl Slices {
    fn new(results: &Results) -> Self {
        let length = Span::from_ps(results.ended.as_ps() / POINTS as u64 + 1);
        Self { length, count: (results.ended.as_ps() / length.as_ps()) as usize + 1 }
    }

    fn of(&self, at: Time) -> usize {
        ((at.as_ps() / self.length.as_ps()) as usize).min(self.count - 1)
    }

    fn points(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let at = |slice: usize| self.length.as_secs_f64() * 1e3 * slice as f64;
        values.iter().enumerate().map(|(slice, value)| (at(slice), *value)).collect()
    }
}

/// Curves of those recorded flows of each group that delivered the most.
fn flows(
    results: &Results,
    rows: &[WindowRow],
    curve: impl Fn(&[&WindowRow], &Slices) -> Vec<(f64, f64)>,
) -> Vec<Series> {
    let slices = Slices::new(results);
    let mut delivered: BTreeMap<FlowId, Bytes> = BTreeMap::new();
    for row in rows {
        let most = delivered.entry(row.flow).or_default();
        *most = row.delivered.max(*most);
    }
    let mut recorded: Vec<FlowId> = delivered.keys().copied().collect();
    recorded.sort_by_key(|flow| Reverse(delivered[flow]));
    let groups = results.plan.groups.len();
    let mut series = Vec::new();
    for group in &results.plan.groups {
        let of_group = recorded.iter().filter(|flow| group.flows.contains(&flow.index()));
        for flow in of_group.take((CURVES / groups.max(1)).max(1)) {
            let rows: Vec<_> = rows.iter().filter(|row| row.flow == *flow).collect();
            series.push(Series {
                name: format!("{} flow {}", group.name, flow.0),
                points: curve(&rows, &slices),
            });
        }
    }
    series
}

/// The last window in each slice.
fn windows(rows: &[&WindowRow], slices: &Slices) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for slice in rows.chunk_by(|a, b| slices.of(a.at) == slices.of(b.at)) {
        let row = slice[slice.len() - 1];
        points.push((row.at.as_secs_f64() * 1e3, row.cwnd.as_f64() / 1e3));
    }
    points
}

/// What was delivered from slice to slice, per time.
fn rates(rows: &[&WindowRow], slices: &Slices) -> Vec<(f64, f64)> {
    let ends: Vec<_> = rows
        .chunk_by(|a, b| slices.of(a.at) == slices.of(b.at))
        .map(|slice| slice[slice.len() - 1])
        .collect();
    let rate = |pair: &[&WindowRow]| {
        let seconds = pair[1].at.saturating_since(pair[0].at).as_secs_f64();
        let bits = pair[1].delivered.saturating_sub(pair[0].delivered).as_f64() * 8.0;
        (pair[1].at.as_secs_f64() * 1e3, if seconds > 0.0 { bits / seconds / 1e9 } else { 0.0 })
    };
    ends.windows(2).map(rate).collect()
}
