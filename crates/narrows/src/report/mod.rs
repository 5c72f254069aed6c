//! One HTML page with tables and charts, without anything to load.

mod charts;

use serde::Serialize;

pub use charts::Charts;

use crate::results::{Activity, Results};
use crate::statistics::{Estimate, estimate, estimate_ratio};

/// What remains of a run for comparisons and reports.
#[derive(Clone, Debug)]
pub struct Digest {
    /// Its seed.
    pub seed: u64,
    /// Its metrics.
    pub metrics: Vec<crate::metrics::Metric>,
    /// What happened.
    pub activity: Vec<Activity>,
    /// Points for charts.
    pub charts: Charts,
    /// It was not interrupted.
    pub complete: bool,
}

/// Runs of one scenario with several seeds.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name in tables.
    pub name: String,
    /// One for each seed.
    pub runs: Vec<Digest>,
}

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

impl Digest {
    /// What remains of `results`.
    pub fn of(results: &Results) -> Self {
        Self {
            seed: results.plan.scenario.seed,
            metrics: results.metrics.clone(),
            activity: results.activity.clone(),
            charts: Charts::of(results),
            complete: results.complete,
        }
    }

    /// The value of a metric; none if there was nothing to take it of.
    pub fn metric(&self, name: &str) -> Option<f64> {
        crate::metrics::value(&self.metrics, name)
    }
}

impl Cell {
    /// What happened in all its runs together.
    ///
    /// # Panics
    /// If it has none.
    pub fn activity(&self) -> Vec<Activity> {
        let mut sums = self.runs[0].activity.clone();
        for run in &self.runs[1..] {
            for (sum, activity) in sums.iter_mut().zip(&run.activity) {
                sum.times += activity.times;
            }
        }
        sums
    }
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

/// What the page is made from.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    network: &'a str,
    seeds: String,
    version: &'static str,
    warnings: &'a [String],
    complete: bool,
    intervals: bool,
    chart_seed: u64,
    summary: Summary,
    activity: Vec<ActivityRow>,
    cells: Vec<PageCell<'a>>,
}

#[derive(Serialize)]
struct ActivityRow {
    what: &'static str,
    /// By cell, all seeds together.
    times: Vec<u64>,
}

#[derive(Serialize)]
struct PageCell<'a> {
    name: &'a str,
    charts: &'a Charts,
}

/// The page for one scenario (one cell) or a comparison (several). Charts show the first seed.
///
/// # Panics
/// If there is no cell or a cell without a run.
pub fn page(title: &str, network: &str, warnings: &[String], cells: &[Cell]) -> String {
    let runs = &cells[0].runs;
    let (first, last) = (runs[0].seed, runs[runs.len() - 1].seed);
    let seeds = if runs.len() == 1 { format!("seed {first}") } else { format!("seeds {first} to {last}") };
    let activities: Vec<_> = cells.iter().map(Cell::activity).collect();
    let page = Page {
        title,
        network,
        seeds,
        version: env!("CARGO_PKG_VERSION"),
        warnings,
        complete: cells.iter().all(|cell| cell.runs.iter().all(|run| run.complete)),
        intervals: runs.len() > 1,
        chart_seed: first,
        summary: summarize(cells),
        activity: (0..activities[0].len())
            .map(|index| ActivityRow {
                what: activities[0][index].what,
                times: activities.iter().map(|activities| activities[index].times).collect(),
            })
            .collect(),
        cells: cells.iter().map(|cell| PageCell { name: &cell.name, charts: &cell.runs[0].charts }).collect(),
    };
    fill_page(title, include_str!("../../assets/report.js"), &page)
}

/// A page with a title, data, and the script that draws it.
pub(crate) fn fill_page(title: &str, script: &str, data: &impl Serialize) -> String {
    // Inside a script element a tag could end it. In JSON, this character stands in strings only.
    let data = serde_json::to_string(data).unwrap_or_default().replace('<', "\\u003c");
    // The data comes last: nothing in it is taken for a marker.
    include_str!("../../assets/report.html")
        .replace("{{title}}", &escape(title))
        .replace("{{uplot_css}}", include_str!("../../assets/uPlot.min.css"))
        .replace("{{css}}", include_str!("../../assets/report.css"))
        .replace("{{uplot_js}}", include_str!("../../assets/uPlot.iife.min.js"))
        .replace("{{page_js}}", include_str!("../../assets/page.js"))
        .replace("{{js}}", script)
        .replacen("{{data}}", &data, 1)
}

/// The page for a single run.
pub fn page_of_run(results: &Results, digest: Digest) -> String {
    let plan = &results.plan;
    let warnings = plan.warning_texts();
    let cell = Cell { name: plan.scenario.name.clone(), runs: vec![digest] };
    page(&plan.scenario.name, &plan.describe_network(), &warnings, &[cell])
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
