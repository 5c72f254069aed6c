//! Tables and lines for people.

use comfy_table::{CellAlignment, Table, presets};
use narrows::numbers::{grouped, number, with_interval};
use narrows::plan::{Expected, Plan, PlannedGroup};
use narrows::report::{Cell, Summary, summarize};
use narrows::repro::Reproduction;
use narrows::results::Activity;
use narrows::sweep::{Manifest, PointSummary};
use narrows::visible::{markdown_cell, visible};
use narrows_proto::units::Bytes;
use serde_json::Value;

/// The first line: what is run.
pub fn headline(plan: &Plan, seeds: u32) -> String {
    let seed = plan.scenario.seed;
    let seeds = if seeds == 1 {
        format!("seed {seed}")
    } else {
        format!("seeds {seed} to {}", seed + u64::from(seeds - 1))
    };
    format!(
        "{} · {} · {} simulated · {seeds} · narrows {}",
        plan.scenario.name,
        plan.describe_network(),
        plan.scenario.stop.after,
        env!("CARGO_PKG_VERSION")
    )
}

/// One line for each traffic group.
pub fn groups(plan: &Plan) -> String {
    let mut table = plain();
    for group in &plan.groups {
        let mut cells = vec![group.name.clone(), group.control.clone(), group.pattern.to_owned()];
        cells.push(describe(group));
        table.add_row(cells);
    }
    indented(&table)
}

fn describe(group: &PlannedGroup) -> String {
    // What is drawn when the run begins is known as a mean only.
    let about = if group.expected.is_some_and(|expected| expected.is_random) { "about " } else { "" };
    let mut parts = Vec::new();
    if let Some(rpcs) = &group.rpcs {
        let expected = |expected: Expected| (expected.flows / f64::from(expected.per_arrival)).round() as i64;
        let rpcs = group.expected.map_or(rpcs.len() as i64, expected);
        parts.push(format!("{about}{} {}", grouped(rpcs), if rpcs == 1 { "RPC" } else { "RPCs" }));
    }
    let flows = group.expected_flows().round() as i64;
    parts.push(if flows == 1 { "1 flow".to_owned() } else { format!("{about}{} flows", grouped(flows)) });
    if let Some(sizes) = &group.sizes {
        let percent = if sizes.percent { ", read as percent" } else { "" };
        let mean = Bytes::from_f64(sizes.sizes.mean() + 0.5);
        parts.push(format!("sizes {}{percent}, mean {mean:.1}", sizes.name));
    }
    if let Some(load) = &group.load {
        let links = if load.links == 1 { "link".into() } else { format!("{} links", load.links) };
        parts.push(format!(
            "load {} of {links} ({}): {} {}/s",
            number(load.load),
            load.capacity,
            number(load.per_second.round()),
            if group.rpcs.is_some() { "RPCs" } else { "flows" }
        ));
    }
    parts.join(" · ")
}

/// Metrics of all cells side by side.
pub fn summary(cells: &[Cell], markdown: bool) -> String {
    let Summary(groups) = summarize(cells);
    let several = cells.len() > 1;
    let mut header = vec![String::new(), String::new()];
    let name =
        |cell: &Cell| if markdown { markdown_cell(&cell.name) } else { visible(&cell.name).into_owned() };
    for (index, cell) in cells.iter().enumerate() {
        header.push(name(cell));
        if several && index > 0 {
            header.push(format!("{} / {}", name(cell), name(&cells[0])));
        }
    }
    let mut table = if markdown { Table::new() } else { plain() };
    if markdown {
        table.load_style(presets::ASCII_MARKDOWN);
    }
    if several || markdown {
        table.set_header(header);
    }
    for group in &groups {
        for (number, row) in group.rows.iter().enumerate() {
            let name = if number == 0 || markdown { group.name.clone() } else { String::new() };
            let mut line = vec![name, row.label.to_owned()];
            for (index, value) in row.values.iter().enumerate() {
                line.push(with_interval(value.as_ref(), ""));
                if several && index > 0 {
                    line.push(with_interval(row.ratios[index].as_ref(), "×"));
                }
            }
            table.add_row(line);
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index < 2 { CellAlignment::Left } else { CellAlignment::Right });
    }
    if markdown { table.to_string() } else { indented(&table) }
}

/// What happened in each cell, and what in none.
pub(crate) fn activity(cells: &[Cell]) -> String {
    let mut text = String::new();
    let sums: Vec<_> = cells.iter().map(Cell::activity).collect();
    for (cell, sums) in cells.iter().zip(&sums) {
        let happened = sums.iter().filter(|activity| activity.times > 0);
        let happened: Vec<_> =
            happened.map(|Activity { what, times }| format!("{what} {}", grouped(*times as i64))).collect();
        let name = if cells.len() > 1 { format!("  active, {}: ", cell.name) } else { "  active: ".into() };
        let happened = if happened.is_empty() { "nothing on the list".into() } else { happened.join(" · ") };
        text.push_str(&format!("{name}{happened}\n"));
    }
    let happened = |what: &str| sums.iter().flatten().any(|sum| sum.what == what && sum.times > 0);
    let mut never: Vec<&str> = Vec::new();
    for sum in sums.iter().flatten().filter(|sum| !happened(&sum.what)) {
        if !never.contains(&sum.what.as_ref()) {
            never.push(&sum.what);
        }
    }
    if !never.is_empty() {
        text.push_str(&format!("  never happened: {}\n", never.join(", ")));
    }
    text
}

/// How many flows did not finish, and how many remote procedure calls if there are any: `0 of 3 200`, by cell.
pub(crate) fn unfinished(cells: &[Cell]) -> String {
    let sum = |cell: &Cell, name: &str| -> Option<f64> { cell.runs.iter().map(|run| run.metric(name)).sum() };
    let line = |what: &str, left: &str, all: &str| {
        let each = |cell: &Cell| {
            let (left, all) = sum(cell, left).zip(sum(cell, all))?;
            Some(format!("{} of {}", grouped(left as i64), grouped(all as i64)))
        };
        let each: Vec<_> = cells.iter().map(|cell| each(cell).unwrap_or_else(|| "none".into())).collect();
        format!("  unfinished {what}: {}\n", each.join(" · "))
    };
    let mut text = line("flows", "total.unfinished", "total.flows");
    if cells.iter().any(|cell| sum(cell, "total.rpcs").is_some()) {
        text.push_str(&line("RPCs", "total.unfinished_rpcs", "total.rpcs"));
    }
    text
}

/// More points than this are not printed.
const POINTS: usize = 40;

/// A row for each point of a sweep, with some of its metrics: that of its rule, and those of all traffic that say most.
pub fn points(manifest: &Manifest, points: &[PointSummary]) -> String {
    const COLUMNS: usize = 4;
    let usual =
        ["total.p99_slowdown", "total.p50_fct_us", "total.goodput_gbps", "total.drops", "total.unfinished"];
    let rule = manifest.until.iter().map(|until| until.metric.as_str());
    let says = |name: &str| {
        points.iter().filter_map(|point| point.metric(name)).any(|estimate| estimate.mean != 0.0)
    };
    let mut names: Vec<&str> = rule.collect();
    for name in usual {
        if names.len() < COLUMNS && !names.contains(&name) && says(name) {
            names.push(name);
        }
    }
    let mut table = plain();
    let header = manifest.axes.iter().map(String::as_str).chain(["seeds"]).chain(names.iter().copied());
    table.set_header(header);
    for point in points.iter().take(POINTS) {
        let text = |value: &Value| {
            visible(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)).into_owned()
        };
        let values = point.values.iter().map(text);
        let metrics = names.iter().map(|name| with_interval(point.metric(name), ""));
        table.add_row(values.chain([point.seeds.to_string()]).chain(metrics));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let left = index < manifest.axes.len();
        column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
    }
    let mut text = indented(&table);
    if points.len() > POINTS {
        text.push_str(&format!("  … and {} points more\n", points.len() - POINTS));
    }
    text
}

/// Claims of a paper, figure by figure.
pub fn claims(reproduction: &Reproduction) -> String {
    let mut table = plain();
    for outcome in reproduction.figures.iter().filter(|outcome| !outcome.claims.is_empty()) {
        table.add_row([outcome.figure.name, "reported", "measured", "class", "verdict"]);
        for judged in &outcome.claims {
            let verdict = judged.verdict.name().to_owned();
            let texts = [judged.reported_text(), judged.measured_text(), judged.class_text(), verdict];
            table.add_row(std::iter::once(format!("  {}", judged.claim.id)).chain(texts));
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let right = index == 1 || index == 2;
        column.set_cell_alignment(if right { CellAlignment::Right } else { CellAlignment::Left });
    }
    indented(&table)
}

/// A table of names and what they are.
pub(crate) fn list<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = plain();
    for row in rows {
        table.add_row(row);
    }
    indented(&table)
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// Two blanks before each line, none behind.
fn indented(table: &Table) -> String {
    table
        .lines()
        .map(|line| format!("  {}\n", line.trim_end().strip_prefix(' ').unwrap_or(line.trim_end())))
        .collect()
}
