//! Tables and lines for people.

mod events;
mod matrix;
pub mod plan;
mod twin;

pub use self::events::events;
pub use self::matrix::matrix;
pub use self::twin::twin;
use comfy_table::{CellAlignment, Table, presets};
use narrows::diagnostic::Code;
use narrows::fidelity::Fidelity;
use narrows::numbers::with_interval;
use narrows::plan::Plan;
use narrows::report::{Cell, Difference, Opening, Summary, sweep_warnings};
use narrows::repro::Reproduction;
use narrows::sweep::{DataSet, Manifest, Overview, OverviewRow, PointSummary, overview};
use narrows::visible::{markdown_cell, visible};
use narrows_proto::units::Span;
use serde_json::Value;

/// The first line: what is run.
pub fn headline(plan: &Plan, seeds: u32) -> String {
    let seed = plan.scenario.seed;
    let seeds = if seeds == 1 {
        format!("seed {seed}")
    } else {
        format!("seeds {seed} to {}", seed + u64::from(seeds - 1))
    };
    let measure = &plan.scenario.measure;
    let until = measure.until.map_or_else(String::new, |until| format!(" to {until}"));
    let measured = match (measure.from, until.as_str()) {
        (Span::ZERO, "") => String::new(),
        (from, until) => format!(", measured from {from}{until}"),
    };
    format!(
        "{} · {} · {} simulated{measured} · {seeds} · narrows {}",
        plan.scenario.name,
        plan.describe_network(),
        plan.scenario.stop.after,
        env!("CARGO_PKG_VERSION")
    )
}

/// Metrics of all cells side by side.
pub fn summary(cells: &[Cell], summary: &Summary, markdown: bool) -> String {
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
    for group in &summary.0 {
        for (number, row) in group.rows.iter().enumerate() {
            let name = if number == 0 || markdown { group.name.clone() } else { String::new() };
            let mut line = vec![name, row.label.to_owned()];
            for (index, value) in row.values.iter().enumerate() {
                line.push(with_interval(value.as_ref(), &row.uncertain[index].text()));
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
    if markdown {
        return format!("{table}\n");
    }
    indented(&table) + &below(&summary.legend())
}

/// Differences between the cells, and what they change.
pub fn opening(Opening { differences, findings, .. }: &Opening) -> String {
    let mut text = String::new();
    let value =
        |value: &Option<String>| value.as_deref().map_or("–".to_owned(), |text| visible(text).into_owned());
    for (number, Difference { path, values }) in differences.iter().enumerate() {
        let before = if number == 0 { "differs:" } else { "" };
        let values: Vec<_> = values.iter().map(value).collect();
        text.push_str(&format!("  {before:9}{} = {}\n", visible(path), values.join(" | ")));
    }
    for finding in findings {
        let [name, base] = [&finding.name, &finding.base].map(|name| visible(name));
        let remark = finding.remark.map_or_else(String::new, |remark| format!(" {remark}"));
        text.push_str(&format!("  {name} beside {base}:{remark}\n"));
        for group in &finding.groups {
            text.push_str(&format!("    {}: {}\n", group.name, group.sentence()));
        }
    }
    text
}

/// Doubts about numbers of points, which no plan could have been warned of, in a line each.
pub fn doubts(manifest: &Manifest, data: &DataSet) -> Vec<String> {
    let codes = [Code::NotSettled, Code::HeldUp].map(Code::name);
    let is_doubt = |warning: &str| codes.iter().any(|code| warning.starts_with(code));
    let doubts = data.warnings.iter().filter(|(_, warning)| is_doubt(warning));
    let lines = sweep_warnings(manifest, &doubts.cloned().collect::<Vec<_>>());
    lines.into_iter().map(|line| format!("⚠ {line}")).collect()
}

/// More points than this are not shown.
pub(crate) const POINTS: usize = 40;

/// A row for each traffic group of each point of a sweep, with the metrics that say most.
pub fn points(manifest: &Manifest, points: &[PointSummary]) -> String {
    let shown = &points[..points.len().min(POINTS)];
    let found = overview(shown, manifest.until.as_ref().map(|until| until.metric.as_str()));
    let Overview { metrics, rows } = &found;
    let mut table = plain();
    let axes = manifest.axes.iter().map(String::as_str);
    table.set_header(axes.chain(["seeds", "group"]).chain(metrics.iter().map(String::as_str)));
    let mut last = None;
    for OverviewRow { point, group, values, uncertain } in rows {
        let is_first = last.replace(point) != Some(point);
        let text = |value: &Value| {
            let none = || if value.is_null() { "–".to_owned() } else { value.to_string() };
            visible(&value.as_str().map_or_else(none, str::to_owned)).into_owned()
        };
        let point = &shown[*point];
        let names = point.values.iter().map(text).chain([point.seeds.to_string()]);
        let names = names.map(|name| if is_first { name } else { String::new() });
        let values = values.iter().zip(uncertain);
        let values = values.map(|(value, marks)| with_interval(value.as_ref(), &marks.text()));
        table.add_row(names.chain([group.clone()]).chain(values));
    }
    let seeds = manifest.axes.len();
    for (index, column) in table.column_iter_mut().enumerate() {
        let left = index < seeds || index == seeds + 1;
        column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
    }
    let mut text = indented(&table) + &below(&found.legend());
    if points.len() > POINTS {
        text.push_str(&format!("  … and {} points more\n", points.len() - POINTS));
    }
    text
}

/// Claims of a paper, figure by figure.
pub fn claims(reproduction: &Reproduction) -> String {
    let mut table = plain();
    for outcome in reproduction.figures.iter().filter(|outcome| !outcome.claims.is_empty()) {
        table.add_row([&outcome.figure.name, "reported", "measured", "class", "verdict"]);
        for judged in &outcome.claims {
            let verdict = judged.verdict.name().to_owned();
            let standing = judged.standing().map_or_else(String::new, |standing| format!(" ({standing})"));
            let class = judged.class_text() + &standing;
            let texts = [judged.reported_text(), judged.measured_text(), class, verdict];
            table.add_row(std::iter::once(format!("  {}", judged.claim.id)).chain(texts));
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let right = index == 1 || index == 2;
        column.set_cell_alignment(if right { CellAlignment::Right } else { CellAlignment::Left });
    }
    indented(&table)
}

/// Comparisons of Narrows with what is expected of it.
pub fn comparisons(fidelity: &Fidelity) -> String {
    let mut table = plain();
    table.add_row(["", "expected", "Narrows", "ratio", "band", "verdict"]);
    for outcome in &fidelity.outcomes {
        table.add_row([
            outcome.comparison.id.clone(),
            outcome.expected_text(),
            outcome.measured_text(),
            outcome.ratio_text(),
            outcome.band_text(),
            outcome.verdict.name().to_owned(),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let right = (1..=4).contains(&index);
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

/// Lines below a table.
fn below(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// Two blanks before each line, none behind.
fn indented(table: &Table) -> String {
    table
        .lines()
        .map(|line| format!("  {}\n", line.trim_end().strip_prefix(' ').unwrap_or(line.trim_end())))
        .collect()
}
