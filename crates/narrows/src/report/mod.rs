//! One HTML page with tables, charts and a moving picture, without anything to load.

mod collectives;
mod digest;
mod fabric;
mod flows;
mod objects;
mod opening;
mod over_time;
mod packed;
mod pauses;
mod shown;
mod summary;
mod sweep;
mod warnings;

use serde::Serialize;
use serde_json::Value;

pub use collectives::Collective;
pub use digest::{Cell, Digest};
pub use flows::GroupTimes;
pub use objects::{comparison_object, run_object};
pub use opening::{Change, Difference, Finding, GroupFinding, Opening};
pub use over_time::OverTime;
pub(crate) use over_time::flow_name;
pub use pauses::{PausedPort, Pauses, Root};
pub use summary::{Summary, SummaryGroup, SummaryRow, summarize};
pub use sweep::{Matrix, MatrixCell, Quantity, SweepOptions, sweep_matrix, sweep_page, sweep_warnings};

use self::warnings::of_a_kind;
use crate::numbers::grouped;
use crate::results::{Activity, activity_infos};
use crate::statistics::FEWEST;

/// Data that the page is drawn from.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    network: &'a str,
    version: &'a str,
    complete: bool,
    /// Some cell has enough seeds for intervals.
    intervals: bool,
    warnings: Vec<String>,
    /// Of comparisons.
    opening: Option<Opening>,
    summary: Vec<shown::Group>,
    /// The meaning of marks in the summary.
    legend: Vec<String>,
    activity: Vec<ActivityRow<'a>>,
    cells: Vec<PageCell<'a>>,
}

#[derive(Serialize)]
struct ActivityRow<'a> {
    what: &'a str,
    /// The event that is counted.
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
    /// Of the first run.
    pauses: &'a Pauses,
    /// Of the first run.
    collectives: &'a [Collective],
    over_time: Option<&'a OverTime>,
}

/// The page for one scenario (one cell) or a comparison (several). The moving picture and curves over time show the first seed.
///
/// # Panics
/// If there is no cell or a cell without a run.
pub fn page(title: &str, cells: &[Cell]) -> String {
    fill_page(title, &SCRIPTS, &data(title, cells))
}

/// Data that [`page`] is drawn from, for [`module`].
///
/// # Panics
/// As [`page`].
pub fn page_data(title: &str, cells: &[Cell]) -> Value {
    serde_json::to_value(data(title, cells)).unwrap_or_default()
}

/// A summary as a page shows it: texts, rounded and with intervals as on the terminal.
pub fn shown_summary(summary: &Summary) -> Value {
    serde_json::to_value(shown::groups(summary)).unwrap_or_default()
}

/// The scripts of a page as a module for another page. What it exports draws the page: from its data, into an element that it
/// empties.
pub fn module() -> String {
    let parts = [UPLOT_JS, "export default (data, report) => {\n", "report.replaceChildren();\n", PAGE_JS];
    parts.into_iter().chain(SCRIPTS).chain(["};\n"]).collect()
}

/// The styles of a page.
pub fn styles() -> String {
    [UPLOT_CSS, CSS].concat()
}

fn data<'a>(title: &'a str, cells: &'a [Cell]) -> Page<'a> {
    let first = &cells[0].runs[0];
    let runs = || cells.iter().flat_map(|cell| &cell.runs);
    let summary = summarize(cells);
    Page {
        title,
        network: &first.network,
        version: &first.version,
        complete: runs().all(|run| run.complete),
        intervals: cells.iter().any(|cell| cell.runs.len() >= FEWEST),
        warnings: warnings(cells),
        opening: (cells.len() > 1).then(|| Opening::of(cells, &summary)),
        summary: shown::groups(&summary),
        legend: summary.legend(),
        activity: activity_rows(cells),
        cells: cells.iter().map(PageCell::new).collect(),
    }
}

/// Warnings of all runs, those of some cells with their names.
fn warnings(cells: &[Cell]) -> Vec<String> {
    let runs =
        cells.iter().enumerate().flat_map(|(number, cell)| cell.runs.iter().map(move |run| (number, run)));
    let kinds = of_a_kind(
        runs.flat_map(|(number, run)| run.warnings.iter().map(move |text| (number, text.as_str()))),
    );
    kinds.iter().map(|kind| kind.text(cells.len(), "cells", |cell| cells[*cell].name.clone())).collect()
}

const UPLOT_JS: &str = include_str!("../../assets/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../../assets/uPlot.min.css");
const PAGE_JS: &str = include_str!("../../assets/page.js");
const CSS: &str = include_str!("../../assets/report.css");

/// Scripts that draw it.
const SCRIPTS: [&str; 5] = [
    include_str!("../../assets/fabric.js"),
    include_str!("../../assets/both.js"),
    include_str!("../../assets/network.js"),
    include_str!("../../assets/opening.js"),
    include_str!("../../assets/report.js"),
];

impl<'a> PageCell<'a> {
    fn new(cell: &'a Cell) -> Self {
        let groups: Vec<_> = cell.runs.iter().map(|run| &run.groups[..]).collect();
        Self {
            name: &cell.name,
            seeds: cell.runs.iter().map(|run| run.seed).collect(),
            scenario: &cell.runs[0].text,
            groups: flows::charts(&groups),
            pauses: &cell.runs[0].pauses,
            collectives: &cell.runs[0].collectives,
            over_time: cell.runs[0].over_time.as_deref(),
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
    let (title, scripts) = (escape(title), scripts.concat());
    let mut page = Vec::new();
    // What is put in is not looked at again: nothing in it is taken for a place.
    for (number, part) in include_str!("../../assets/report.html").split("{{").enumerate() {
        let (place, text) =
            if number == 0 { ("", part) } else { part.split_once("}}").unwrap_or(("", part)) };
        page.push(match place {
            "title" => &title,
            "uplot_css" => UPLOT_CSS,
            "css" => CSS,
            "data" => &data,
            "uplot_js" => UPLOT_JS,
            "page_js" => PAGE_JS,
            "js" => &scripts,
            _ => "",
        });
        page.push(text);
    }
    page.concat()
}

/// The page for a single run.
pub fn page_of_run(digest: &Digest) -> String {
    let cell = Cell { name: digest.scenario.clone(), runs: vec![digest.clone()] };
    page(&digest.scenario, &[cell])
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
