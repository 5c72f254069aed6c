//! Tables and lines for people.

use comfy_table::{CellAlignment, Table, presets};
use narrows::plan::{Plan, PlannedGroup};
use narrows::report::{Cell, Summary, summarize};
use narrows::results::Activity;
use narrows::statistics::Estimate;
use narrows_proto::units::Bytes;

/// A number with four significant digits.
pub(crate) fn number(value: f64) -> String {
    digits(value, 4)
}

/// A number with so many significant digits; all of them before the point, and none for zeros behind it.
fn digits(value: f64, significant: i32) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if !(1e-3..1e15).contains(&size) {
        format!("{value:.*e}", significant as usize - 2)
    } else if size >= 1000.0 || value.fract() == 0.0 {
        grouped(value.round() as i64)
    } else {
        let places = (significant - 1 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.places$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

/// Digits in groups of three.
pub(crate) fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

fn with_interval(estimate: Option<&Estimate>, unit: &str) -> String {
    match estimate {
        None => "–".into(),
        Some(Estimate { mean, interval: Some((low, high)), .. }) if low < high => {
            format!("{}{unit} [{}, {}]", number(*mean), digits(*low, 3), digits(*high, 3))
        }
        Some(Estimate { mean, .. }) => format!("{}{unit}", number(*mean)),
    }
}

/// The first line: what is run.
pub(crate) fn headline(plan: &Plan, seeds: u32) -> String {
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
pub(crate) fn groups(plan: &Plan) -> String {
    let mut table = plain();
    for group in &plan.groups {
        let mut cells = vec![group.name.clone(), group.control.clone(), group.pattern.to_owned()];
        cells.push(describe(group));
        table.add_row(cells);
    }
    indented(&table)
}

fn describe(group: &PlannedGroup) -> String {
    let mut parts = Vec::new();
    if group.flows.len() == 1 {
        parts.push("1 flow".to_owned());
    } else {
        parts.push(format!("{} flows", grouped(group.flows.len() as i64)));
    }
    if let Some(sizes) = &group.sizes {
        let percent = if sizes.percent { ", read as percent" } else { "" };
        let mean = Bytes::from_f64(sizes.sizes.mean() + 0.5);
        parts.push(format!("sizes {}{percent}, mean {mean:.1}", sizes.name));
    }
    if let Some(load) = &group.load {
        let links = if load.links == 1 { "link".into() } else { format!("{} links", load.links) };
        parts.push(format!(
            "load {} of {links} ({}): {} flows/s",
            load.load,
            load.capacity,
            number(load.per_second.round())
        ));
    }
    parts.join(" · ")
}

/// Metrics of all cells side by side.
pub(crate) fn summary(cells: &[Cell], markdown: bool) -> String {
    let Summary(groups) = summarize(cells);
    let several = cells.len() > 1;
    let mut header = vec![String::new(), String::new()];
    for (index, cell) in cells.iter().enumerate() {
        header.push(cell.name.clone());
        if several && index > 0 {
            header.push(format!("{} / {}", cell.name, cells[0].name));
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
    let count = sums.first().map_or(0, Vec::len);
    let never = (0..count).filter(|index| sums.iter().all(|sums| sums[*index].times == 0));
    let never: Vec<_> = never.map(|index| sums[0][index].what).collect();
    if !never.is_empty() {
        text.push_str(&format!("  never happened: {}\n", never.join(", ")));
    }
    text
}

/// How many flows did not finish: `0 of 3 200`, by cell.
pub(crate) fn unfinished(cells: &[Cell]) -> String {
    let metric =
        |cell: &Cell, name: &str| -> f64 { cell.runs.iter().filter_map(|run| run.metric(name)).sum() };
    let each = |cell: &Cell| {
        let (left, all) = (metric(cell, "total.unfinished"), metric(cell, "total.flows"));
        format!("{} of {}", grouped(left as i64), grouped(all as i64))
    };
    let each: Vec<_> = cells.iter().map(each).collect();
    format!("  unfinished flows: {}\n", each.join(" · "))
}

/// A table of names and what they are.
pub(crate) fn list(rows: impl IntoIterator<Item = [String; 2]>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown =
            [0.0, 1.0, 0.001_234_56, 12.345_6, 999.96, 1_234_567.8, -20_000.0, 1.5e-7, 2e18].map(number);
        assert_eq!(
            shown,
            ["0", "1", "0.001235", "12.35", "1000", "1 234 568", "-20 000", "1.50e-7", "2.00e18"]
        );
    }
}
