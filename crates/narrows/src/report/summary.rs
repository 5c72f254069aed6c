//! Metrics of several runs side by side.

use serde::Serialize;

use super::Cell;
use crate::statistics::{Estimate, estimate, estimate_ratio};

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
    /// By cell.
    pub values: Vec<Option<Estimate>>,
    /// By cell: the ratio to the first.
    pub ratios: Vec<Option<Estimate>>,
    /// Which direction is good, if any.
    pub lower_is_better: Option<bool>,
}

/// How a metric reads, and which direction is good. Metrics without a label are in `run.json` only.
fn label(metric: &str) -> Option<(&'static str, Option<bool>)> {
    Some(match metric {
        "flows" => ("flows measured", None),
        "unfinished" => ("unfinished", Some(true)),
        "p50_fct_us" => ("completion time p50, µs", Some(true)),
        "p99_fct_us" => ("completion time p99, µs", Some(true)),
        "p50_slowdown" => ("slowdown p50", Some(true)),
        "p99_slowdown" => ("slowdown p99", Some(true)),
        "small_p99_fct_us" => ("completion time p99 up to 100 kB, µs", Some(true)),
        "goodput_gbps" => ("goodput, Gb/s", Some(false)),
        "marked_fraction" => ("marked, fraction of bytes", None),
        "retransmitted_fraction" => ("sent again, fraction of bytes", Some(true)),
        "timeouts" => ("timeouts", Some(true)),
        "rpcs" => ("RPCs measured", None),
        "unfinished_rpcs" => ("unfinished RPCs", Some(true)),
        "p50_rpc_us" => ("RPC time p50, µs", Some(true)),
        "p99_rpc_us" => ("RPC time p99, µs", Some(true)),
        "p999_rpc_us" => ("RPC time p99.9, µs", Some(true)),
        "mean_rpc_us" => ("RPC time mean, µs", Some(true)),
        "p99_rpc_slowdown" => ("RPC slowdown p99", Some(true)),
        "datagrams_sent" => ("datagrams sent", None),
        "lost_fraction" => ("lost, fraction of datagrams", Some(true)),
        "marks" => ("ECN marks", None),
        "drops" => ("drops", Some(true)),
        "max_queue_kb" => ("deepest queue, kB", Some(true)),
        "p99_queue_kb" => ("deepest recorded queue p99, kB", Some(true)),
        "dc_lost_fraction" => ("DC loss, fraction of packets", Some(true)),
        "dc_marked_fraction" => ("DC marked, fraction of packets", None),
        "dc_mean_utilisation" => ("DC utilisation, mean", None),
        "dc_max_utilisation" => ("DC utilisation, busiest link", None),
        "wan_lost_fraction" => ("WAN loss, fraction of packets", Some(true)),
        "wan_marked_fraction" => ("WAN marked, fraction of packets", None),
        "wan_mean_utilisation" => ("WAN utilisation, mean", None),
        "wan_max_utilisation" => ("WAN utilisation, busiest link", None),
        _ => return None,
    })
}

/// Metrics of the whole network that the groups' own rows do not show.
fn shown_in_total(metric: &str) -> bool {
    let segment = metric.starts_with("dc_") || metric.starts_with("wan_");
    let more = ["marks", "drops", "timeouts", "max_queue_kb", "p99_queue_kb"];
    segment || ["unfinished", "unfinished_rpcs"].contains(&metric) || more.contains(&metric)
}

/// Puts the metrics of all cells side by side.
pub fn summarize(cells: &[Cell]) -> Summary {
    let mut groups: Vec<SummaryGroup> = Vec::new();
    let first = cells.first().and_then(|cell| cell.runs.first());
    for metric in first.iter().flat_map(|run| &run.metrics) {
        let Some((group, name)) = metric.name.split_once('.') else { continue };
        let Some((label, lower_is_better)) = label(name) else { continue };
        if group == crate::metrics::TOTAL && !shown_in_total(name) {
            continue;
        }
        let samples = |cell: &Cell| -> Vec<f64> {
            cell.runs.iter().filter_map(|run| run.metric(&metric.name)).collect()
        };
        let baseline = cells.first().map(samples).unwrap_or_default();
        let values: Vec<_> = cells.iter().map(|cell| estimate(&samples(cell))).collect();
        // What never happened is listed under activity.
        if values.iter().flatten().all(|value| value.mean == 0.0) {
            continue;
        }
        let row = SummaryRow {
            metric: name.to_owned(),
            label,
            values,
            ratios: cells.iter().map(|cell| estimate_ratio(&samples(cell), &baseline)).collect(),
            lower_is_better,
        };
        match groups.last_mut() {
            Some(last) if last.name == group => last.rows.push(row),
            _ => groups.push(SummaryGroup { name: group.to_owned(), rows: vec![row] }),
        }
    }
    Summary(groups)
}
