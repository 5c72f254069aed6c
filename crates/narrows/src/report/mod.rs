//! One HTML page with tables, charts and a moving picture, without anything to load.

mod fabric;
mod flows;
mod over_time;
mod packed;
mod shown;
mod summary;
mod sweep;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

pub use flows::GroupTimes;
pub use over_time::OverTime;
pub use summary::{Summary, SummaryGroup, SummaryRow, summarize};
pub use sweep::{SweepOptions, sweep_page};

use crate::diagnostic::Checked;
use crate::metrics::{self, Metric};
use crate::numbers::grouped;
use crate::results::{Activity, Source, Stored, StoredCell, activity_infos, warnings_in};
use crate::statistics::FEWEST;

/// What remains of a run for comparisons and reports; a bounded amount, however long it was.
#[derive(Clone, Debug)]
pub struct Digest {
    /// The name of its scenario.
    pub scenario: String,
    /// One line about the network.
    pub network: String,
    /// Its seed.
    pub seed: u64,
    /// The version of Narrows that ran it.
    pub version: String,
    /// The scenario as it was run.
    pub text: String,
    /// What was suspicious, before the run and after it.
    pub warnings: Vec<String>,
    /// Its metrics.
    pub metrics: Vec<Metric>,
    /// What happened.
    pub activity: Vec<Activity>,
    /// Completion times by group.
    pub groups: Vec<GroupTimes>,
    /// What was recorded over time; none if it is not wanted.
    pub over_time: Option<OverTime>,
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

impl Digest {
    /// What remains of a run.
    ///
    /// # Errors
    /// If its tables cannot be read.
    pub fn of(source: &impl Source) -> Checked<Self> {
        let over_time = Some(OverTime::of(source, &source.summary())?);
        Ok(Self { over_time, ..Self::brief(source)? })
    }

    /// The same without what was recorded over time.
    ///
    /// # Errors
    /// If the table of flows cannot be read.
    pub fn brief(source: &impl Source) -> Checked<Self> {
        let summary = source.summary();
        let text = |key: &str| summary.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let entries = |key: &str| summary.get(key).and_then(Value::as_object).into_iter().flatten();
        Ok(Self {
            scenario: text("scenario"),
            network: text("network"),
            seed: summary.get("seed").and_then(Value::as_u64).unwrap_or_default(),
            version: text("narrows"),
            text: source.scenario().to_owned(),
            warnings: warnings_in(&summary).map(str::to_owned).collect(),
            metrics: entries("metrics")
                .map(|(name, value)| Metric { name: metrics::current_name(name), value: value.as_f64() })
                .collect(),
            activity: entries("activity")
                .map(|(what, times)| Activity {
                    what: Cow::Owned(what.clone()),
                    times: times.as_u64().unwrap_or_default(),
                })
                .collect(),
            groups: GroupTimes::of(source, &summary)?,
            over_time: None,
            complete: summary.get("complete").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// The value of a metric; none if there was nothing to take it of.
    pub fn metric(&self, name: &str) -> Option<f64> {
        metrics::value(&self.metrics, name)
    }
}

impl Cell {
    /// What happened in all its runs together.
    pub fn activity(&self) -> Vec<Activity> {
        let mut sums: Vec<Activity> = Vec::new();
        for activity in self.runs.iter().flat_map(|run| &run.activity) {
            match sums.iter_mut().find(|sum| sum.what == activity.what) {
                Some(sum) => sum.times += activity.times,
                None => sums.push(activity.clone()),
            }
        }
        sums
    }

    /// Completion times of each group over all runs: `cdf` has points of time in µs, fraction of flows that took at most so long,
    /// and the bounds of the time (95 % confidence; the time itself where there is no interval); `slowdown` has by size in
    /// bytes the estimates `p50` and `p99`.
    pub fn distributions(&self) -> Value {
        let runs: Vec<_> = self.runs.iter().map(|run| run.groups.as_slice()).collect();
        serde_json::to_value(flows::charts(&runs)).unwrap_or_default()
    }

    /// Reads the runs of a folder. Only the first keeps what was recorded over time.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn read(cell: &StoredCell) -> Checked<Self> {
        let mut runs: Vec<Digest> = Vec::new();
        for folder in &cell.runs {
            let stored = Stored::open(folder)?;
            runs.push(if runs.is_empty() { Digest::of(&stored)? } else { Digest::brief(&stored)? });
        }
        Ok(Self { name: cell.name.clone(), runs })
    }
}

/// What the page is made from.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    network: &'a str,
    version: &'a str,
    complete: bool,
    /// Some cell has enough seeds for intervals.
    intervals: bool,
    warnings: Vec<&'a str>,
    summary: Vec<shown::Group>,
    activity: Vec<ActivityRow<'a>>,
    cells: Vec<PageCell<'a>>,
}

#[derive(Serialize)]
struct ActivityRow<'a> {
    what: &'a str,
    /// What is counted.
    meaning: &'static str,
    /// By cell, all seeds together; a dash where it cannot happen.
    times: Vec<String>,
    happened: bool,
}

#[derive(Serialize)]
struct PageCell<'a> {
    name: &'a str,
    seeds: Vec<u64>,
    scenario: &'a str,
    groups: Vec<flows::GroupCharts>,
    over_time: Option<&'a OverTime>,
}

/// The page for one scenario (one cell) or a comparison (several). The moving picture and curves over time show the first seed.
///
/// # Panics
/// If there is no cell or a cell without a run.
pub fn page(title: &str, cells: &[Cell]) -> String {
    let first = &cells[0].runs[0];
    let runs = || cells.iter().flat_map(|cell| &cell.runs);
    let mut warnings: Vec<&str> = Vec::new();
    for warning in runs().flat_map(|run| &run.warnings) {
        if !warnings.contains(&warning.as_str()) {
            warnings.push(warning);
        }
    }
    let page = Page {
        title,
        network: &first.network,
        version: &first.version,
        complete: runs().all(|run| run.complete),
        intervals: cells.iter().any(|cell| cell.runs.len() >= FEWEST),
        warnings,
        summary: shown::groups(&summarize(cells)),
        activity: activity_rows(cells),
        cells: cells.iter().map(PageCell::new).collect(),
    };
    fill_page(title, &[include_str!("../../assets/fabric.js"), include_str!("../../assets/report.js")], &page)
}

impl<'a> PageCell<'a> {
    fn new(cell: &'a Cell) -> Self {
        let groups: Vec<_> = cell.runs.iter().map(|run| &run.groups[..]).collect();
        Self {
            name: &cell.name,
            seeds: cell.runs.iter().map(|run| run.seed).collect(),
            scenario: &cell.runs[0].text,
            groups: flows::charts(&groups),
            over_time: cell.runs[0].over_time.as_ref(),
        }
    }
}

/// A row for everything that can happen in one of the cells.
fn activity_rows(cells: &[Cell]) -> Vec<ActivityRow<'_>> {
    let mut names: Vec<&str> = Vec::new();
    for activity in cells.iter().flat_map(|cell| &cell.runs[0].activity) {
        if !names.contains(&activity.what.as_ref()) {
            names.push(&activity.what);
        }
    }
    let sums: Vec<_> = cells.iter().map(Cell::activity).collect();
    let times = |what: &str, sums: &[Activity]| sums.iter().find(|sum| sum.what == what).map(|sum| sum.times);
    let meaning =
        |what: &str| activity_infos().find(|info| info.name == what).map_or("", |info| info.meaning);
    let row = |what| {
        let times: Vec<_> = sums.iter().map(|sums| times(what, sums)).collect();
        ActivityRow {
            what,
            meaning: meaning(what),
            happened: times.iter().flatten().any(|times| *times > 0),
            times: times
                .iter()
                .map(|times| times.map_or("–".into(), |times| grouped(times as i64)))
                .collect(),
        }
    };
    names.into_iter().map(row).collect()
}

/// A page with a title, data, and the scripts that draw it.
pub(crate) fn fill_page(title: &str, scripts: &[&str], data: &impl Serialize) -> String {
    // Inside a script element a tag could end it. In JSON, this character stands in strings only.
    let data = serde_json::to_string(data).unwrap_or_default().replace('<', "\\u003c");
    // The data comes last: nothing in it is taken for a marker.
    include_str!("../../assets/report.html")
        .replace("{{title}}", &escape(title))
        .replace("{{uplot_css}}", include_str!("../../assets/uPlot.min.css"))
        .replace("{{css}}", include_str!("../../assets/report.css"))
        .replace("{{uplot_js}}", include_str!("../../assets/uPlot.iife.min.js"))
        .replace("{{page_js}}", include_str!("../../assets/page.js"))
        .replace("{{js}}", &scripts.concat())
        .replacen("{{data}}", &data, 1)
}

/// The page for a single run.
pub fn page_of_run(digest: &Digest) -> String {
    let cell = Cell { name: digest.scenario.clone(), runs: vec![digest.clone()] };
    page(&digest.scenario, &[cell])
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
