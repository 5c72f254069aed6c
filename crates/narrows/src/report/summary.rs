//! Metrics of several runs side by side.

use serde::Serialize;

use super::digest::{Cell, Digest};
use crate::metrics::{Marks, TOTAL, estimate};
use crate::plan::CLOSE;
use crate::statistics::{Estimate, estimate_ratio};

/// A table of metrics: a row for each, a column for each cell.
#[derive(Clone, Debug, Serialize)]
pub struct Summary(pub Vec<SummaryGroup>);

/// The rows of one traffic group.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryGroup {
    /// Its name.
    pub name: String,
    /// Its metrics.
    pub rows: Vec<SummaryRow>,
}

/// One metric.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryRow {
    /// Its name, without that of the group.
    pub metric: String,
    /// In words.
    pub label: &'static str,
    /// By cell; none where there was nothing to take it of.
    pub values: Vec<Option<Estimate>>,
    /// By cell: why the value is less certain than its digits.
    pub uncertain: Vec<Marks>,
    /// By cell: the ratio to the first, of the seeds that both have.
    pub ratios: Vec<Option<Estimate>>,
    /// Which direction is good, if any.
    pub lower_is_better: Option<bool>,
}

impl Summary {
    /// The meaning of all marks in it, a line each.
    pub fn legend(&self) -> Vec<String> {
        let rows = self.0.iter().flat_map(|group| &group.rows);
        rows.flat_map(|row| &row.uncertain).copied().fold(Marks::default(), Marks::and).legend()
    }
}

/// When a row is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// For every group that has the metric, zero or not: what it did, without which nobody sees that it did nothing.
    Always,
    /// For every group with flows or calls that have an end, even if none of them reached it.
    WithEnds,
    /// If some run is far from 1.
    IfOff,
    /// If it happened in some cell. What never happened is listed under activity.
    IfAny,
    /// On pages that it is chosen for.
    IfChosen,
}

/// Label of a metric, its good direction, and when it is shown. Those that are not about the measured time, or what starts in it, say so.
/// Metrics without a label are in `run.json` only.
fn label(metric: &str) -> Option<(&'static str, Option<bool>, Shown)> {
    use Shown::{Always, IfAny, IfChosen, IfOff, WithEnds};
    Some(match metric {
        "flows" => ("flows measured", None, Always),
        "unfinished" => ("unfinished", Some(true), WithEnds),
        "offered_fraction" => ("offered, fraction of the load asked", None, IfOff),
        "p50_fct_us" => ("completion time p50, µs", Some(true), WithEnds),
        "p99_fct_us" => ("completion time p99, µs", Some(true), WithEnds),
        "p50_slowdown" => ("slowdown p50", Some(true), WithEnds),
        "p99_slowdown" => ("slowdown p99", Some(true), WithEnds),
        "small_p99_fct_us" => ("completion time p99 up to 100 kB, µs", Some(true), IfAny),
        "goodput_gbps" => ("goodput, Gb/s", Some(false), Always),
        "marked_fraction" => ("marked fraction, whole run", None, IfAny),
        "retransmitted_fraction" => ("retransmitted fraction, whole run", Some(true), IfAny),
        "timeouts" => ("timeouts, whole run", Some(true), IfAny),
        "rpcs" => ("RPCs measured", None, Always),
        "unfinished_rpcs" => ("unfinished RPCs", Some(true), WithEnds),
        "p50_rpc_us" => ("RPC time p50, µs", Some(true), WithEnds),
        "p99_rpc_us" => ("RPC time p99, µs", Some(true), WithEnds),
        "p999_rpc_us" => ("RPC time p99.9, µs", Some(true), IfAny),
        "mean_rpc_us" => ("RPC time mean, µs", Some(true), IfAny),
        "p99_rpc_slowdown" => ("RPC slowdown p99", Some(true), WithEnds),
        "collectives" => ("collectives measured", None, Always),
        "unfinished_collectives" => ("unfinished collectives", Some(true), IfAny),
        "mean_collective_us" => ("collective time mean, µs", Some(true), IfAny),
        "max_collective_us" => ("collective time max, µs", Some(true), IfAny),
        "bus_gbps" => ("bus bandwidth, Gb/s", Some(false), IfAny),
        "datagrams_sent" => ("datagrams sent, whole run", None, Always),
        "lost_fraction" => ("lost fraction, whole run", Some(true), IfAny),
        "marks" => ("ECN marks, whole run", None, IfAny),
        "drops" => ("drops, whole run", Some(true), IfAny),
        "pauses" => ("pauses, whole run", Some(true), IfAny),
        "max_queue_kb" => ("peak queue, kB, whole run", Some(true), IfAny),
        "p99_queue_kb" => ("recorded queue p99, kB, whole run", Some(true), IfAny),
        "jain" => ("Jain's index", Some(false), IfChosen),
        "mean_queue_us" => ("queueing delay mean, µs", Some(true), IfChosen),
        "max_utilization" => ("utilization, busiest link", None, IfChosen),
        "dc_lost_fraction" => ("DC lost fraction, whole run", Some(true), IfAny),
        "dc_marked_fraction" => ("DC marked fraction, whole run", None, IfAny),
        "dc_mean_utilization" => ("DC utilization, mean", None, IfAny),
        "dc_max_utilization" => ("DC utilization, busiest link", None, IfAny),
        "wan_lost_fraction" => ("WAN lost fraction, whole run", Some(true), IfAny),
        "wan_marked_fraction" => ("WAN marked fraction, whole run", None, IfAny),
        "wan_mean_utilization" => ("WAN utilization, mean", None, IfAny),
        "wan_max_utilization" => ("WAN utilization, busiest link", None, IfAny),
        _ => return None,
    })
}

/// Label of the goodput of datagrams.
const DATAGRAM_GOODPUT: &str = "goodput, Gb/s, whole run";

/// Label of a metric and its good direction; none if only `run.json` has it.
pub(super) fn words(metric: &str) -> Option<(&'static str, Option<bool>)> {
    label(metric).map(|(words, lower_is_better, _)| (words, lower_is_better))
}

/// Metrics of the whole network that the groups' own rows do not show.
fn shown_in_total(metric: &str) -> bool {
    let segment = metric.starts_with("dc_") || metric.starts_with("wan_");
    let more = ["marks", "drops", "pauses", "timeouts", "max_queue_kb", "p99_queue_kb"];
    segment || ["unfinished", "unfinished_rpcs"].contains(&metric) || more.contains(&metric)
}

/// Whether some run had flows, or calls, that end: one did, or one should have.
fn has_ends(cells: &[Cell], group: &str, metric: &str) -> bool {
    let [unfinished, finished] =
        if metric.contains("rpc") { ["unfinished_rpcs", "p50_rpc_us"] } else { ["unfinished", "p50_fct_us"] };
    let mut runs = cells.iter().flat_map(|cell| &cell.runs);
    runs.any(|run| {
        let metric = |name: &str| run.metric(&format!("{group}.{name}"));
        metric(finished).is_some() || metric(unfinished).is_some_and(|count| count > 0.0)
    })
}

/// Names of all metrics of all cells: those of a group together, `total` last.
fn names(cells: &[Cell]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    let runs = cells.iter().filter_map(|cell| cell.runs.first());
    for (group, metric) in runs.flat_map(|run| &run.metrics).filter_map(|metric| metric.name.split_once('.'))
    {
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, metrics)) if metrics.contains(&metric) => {}
            Some((_, metrics)) => metrics.push(metric),
            None => groups.push((group, vec![metric])),
        }
    }
    groups.sort_by_key(|(group, _)| *group == TOTAL);
    groups
}

/// Puts the metrics of all cells side by side.
pub fn summarize(cells: &[Cell]) -> Summary {
    let group = |(name, metrics): (&str, Vec<&str>)| {
        let rows: Vec<_> = metrics.into_iter().filter_map(|metric| row(cells, name, metric)).collect();
        (!rows.is_empty()).then(|| SummaryGroup { name: name.to_owned(), rows })
    };
    Summary(names(cells).into_iter().filter_map(group).collect())
}

/// A metric of a group; none if it is not shown.
fn row(cells: &[Cell], group: &str, metric: &str) -> Option<SummaryRow> {
    let (mut label, lower_is_better, shown) = label(metric)?;
    if metric == "goodput_gbps" && cells.iter().any(|cell| cell.has(&format!("{group}.datagrams_sent"))) {
        label = DATAGRAM_GOODPUT;
    }
    let name = format!("{group}.{metric}");
    let samples = |cell: &Cell| -> Vec<_> { cell.runs.iter().filter_map(|run| run.metric(&name)).collect() };
    let estimated = |cell: &Cell| estimate(metric, &samples(cell));
    let values: Vec<_> = cells.iter().map(estimated).collect();
    let happened = values.iter().flatten().any(|value| value.mean != 0.0);
    let is_shown = match shown {
        Shown::IfChosen => false,
        _ if group == TOTAL => shown_in_total(metric) && happened,
        Shown::Always => true,
        Shown::WithEnds => has_ends(cells, group, metric),
        Shown::IfAny => happened,
        Shown::IfOff => {
            let is_off = |value: f64| (value - 1.0).abs() > CLOSE;
            values.iter().flatten().any(|value| is_off(value.range.0) || is_off(value.range.1))
        }
    };
    let ratio = |cell: &Cell| {
        let base = |seed: u64| cells[0].runs.iter().find(|run| run.seed == seed)?.metric(&name);
        let pair = |run: &Digest| Some((run.metric(&name)?, base(run.seed)?));
        estimate_ratio(&cell.runs.iter().filter_map(pair).collect::<Vec<_>>())
    };
    is_shown.then(|| SummaryRow {
        metric: metric.to_owned(),
        label,
        values,
        uncertain: cells.iter().map(|cell| cell.marks(&name).over(&samples(cell))).collect(),
        ratios: cells.iter().map(ratio).collect(),
        lower_is_better,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{METRICS, MetricInfo, MetricSet, Over};

    #[test]
    fn labels_say_of_the_whole_run_what_is_about_the_whole_run() {
        let of_set = |set: &'static MetricSet| {
            let segments: &[&str] = if set.before.contains("dc_") { &["dc_", "wan_"] } else { &[""] };
            let label_of = move |info: &MetricInfo| {
                let datagrams = set.present.contains("datagram") && info.name == "goodput_gbps";
                let labels = segments.iter().filter_map(|segment| words(&format!("{segment}{}", info.name)));
                let own = labels.map(|(label, _)| if datagrams { DATAGRAM_GOODPUT } else { label });
                own.map(|label| (label, info.over)).collect::<Vec<_>>()
            };
            set.metrics.iter().flat_map(label_of).collect::<Vec<_>>()
        };
        let labels: Vec<_> = METRICS.iter().flat_map(of_set).collect();
        assert!(labels.len() > 25, "{labels:?}");
        for (label, over) in labels {
            assert_eq!(label.ends_with(", whole run"), over == Over::WholeRun, "{label}");
        }
    }
}
