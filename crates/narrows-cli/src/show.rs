//! Tables and lines for people.

use comfy_table::{CellAlignment, Table, presets};
use narrows::fidelity::Fidelity;
use narrows::numbers::{grouped, number, with_interval};
use narrows::plan::{Expected, Facts, LoadOf, Oversubscription, Plan, PlannedGroup, PlannedPairing};
use narrows::report::{Cell, Summary, summarize};
use narrows::repro::Reproduction;
use narrows::results::Activity;
use narrows::sweep::{Manifest, Overview, OverviewRow, PointSummary, overview};
use narrows::visible::{markdown_cell, visible};
use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes, Span};
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
    for (group, of) in plan.groups.iter().zip(&plan.traffic.groups) {
        let mut cells = vec![group.name.clone(), group.control.clone(), group.pattern.to_owned()];
        let settings = of.transport.control().and_then(of_switches);
        cells.push([describe(group)].into_iter().chain(settings).collect::<Vec<_>>().join(" · "));
        table.add_row(cells);
    }
    indented(&table)
}

/// What a control assumes of the switches, where that may come from them.
fn of_switches(control: &Config) -> Option<String> {
    let Config::Gemini(settings) = control else { return None };
    let k = settings.marking_threshold?.bytes()?;
    let capacity = settings.capacity.map_or_else(String::new, |capacity| format!(" at {capacity}"));
    Some(format!("K = {k}{capacity}"))
}

/// What decides how congestion control fares: round trips, queues, oversubscription.
pub fn facts(facts: &Facts) -> String {
    let mut text = String::new();
    if !facts.groups.is_empty() {
        let mut table = plain();
        table.set_header(["", "base RTT", "bottleneck", "BDP", "in packets"]);
        for group in &facts.groups {
            let packets = group.bdp_bytes.map(|bdp| number((bdp as f64 / group.packet_bytes as f64).round()));
            table.add_row([
                group.name.clone(),
                range(group.base_rtt_ps.map(|rtt| format!("{:.1}", Span::from_ps(rtt)))),
                range(group.bottleneck_bps.map(|rate| BitRate::from_bps(rate).to_string())),
                range(group.bdp_bytes.map(|bdp| format!("{:.1}", Bytes::new(bdp)))),
                range(packets),
            ]);
        }
        text += &indented(&table);
    }
    if !facts.ports.is_empty() {
        let mut table = plain();
        table.set_header(["", "ports", "a queue holds", "in packets", "in BDPs", "K", "as time"]);
        for port in &facts.ports {
            let rate = BitRate::from_bps(port.rate_bps);
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
            table.add_row([
                port.class.clone(),
                format!("{} × {rate}", grouped(port.count as i64)),
                format!("{:.1}", Bytes::new(port.buffer_bytes)),
                number(port.buffer_packets.round()),
                or_none(port.buffer_bdp.map(|bdp| number((bdp * 100.0).round() / 100.0))),
                or_none(port.k_bytes.map(|k| format!("{:.1}", Bytes::new(k)))),
                or_none(port.k_ps.map(|k| format!("{:.1}", Span::from_ps(k)))),
            ]);
        }
        text += &indented(&table);
    }
    let ratio =
        |of: &Oversubscription| format!("{} {}:1", of.class, number((of.ratio * 100.0).round() / 100.0));
    let ratios: Vec<_> = facts.oversubscription.iter().map(ratio).collect();
    if !ratios.is_empty() {
        text += &format!("  oversubscription {}\n", ratios.join(" · "));
    }
    text
}

/// `a to b`, or only one of them if they look the same.
fn range([from, to]: [String; 2]) -> String {
    if from == to { from } else { format!("{from} to {to}") }
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
    // Of one flow between two hosts there is nothing to say.
    if let Some(pairing) = group.pairing.filter(|how| *how == PlannedPairing::Random || flows > 1) {
        parts.push(pairing.to_string());
    }
    if let Some(sizes) = &group.sizes {
        let percent = if sizes.percent { ", read as percent" } else { "" };
        let listed =
            sizes.listed.map_or_else(String::new, |listed| format!(", {} listed", grouped(listed as i64)));
        let mean = Bytes::from_f64(sizes.sizes.mean() + 0.5);
        parts.push(format!("sizes {}{percent}{listed}, mean {mean:.1}", sizes.name));
    }
    if let Some(load) = &group.load {
        let links = if load.links == 1 { "link".into() } else { format!("{} links", load.links) };
        let what = match load.counts {
            LoadOf::Wire => "wire load",
            LoadOf::Payload => "payload load",
            LoadOf::Utilization => "utilization",
        };
        parts.push(format!(
            "{what} {} of {links} ({}): {} {}/s",
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

/// More points than this are not shown.
pub(crate) const POINTS: usize = 40;

/// A row for each traffic group of each point of a sweep, with the metrics that say most.
pub fn points(manifest: &Manifest, points: &[PointSummary]) -> String {
    let shown = &points[..points.len().min(POINTS)];
    let Overview { metrics, rows } =
        overview(shown, manifest.until.as_ref().map(|until| until.metric.as_str()));
    let mut table = plain();
    let axes = manifest.axes.iter().map(String::as_str);
    table.set_header(axes.chain(["seeds", "group"]).chain(metrics.iter().map(String::as_str)));
    let mut last = None;
    for OverviewRow { point, group, values } in &rows {
        let is_first = last.replace(point) != Some(point);
        let text = |value: &Value| {
            let none = || if value.is_null() { "–".to_owned() } else { value.to_string() };
            visible(&value.as_str().map_or_else(none, str::to_owned)).into_owned()
        };
        let point = &shown[*point];
        let names = point.values.iter().map(text).chain([point.seeds.to_string()]);
        let names = names.map(|name| if is_first { name } else { String::new() });
        let values = values.iter().map(|value| with_interval(value.as_ref(), ""));
        table.add_row(names.chain([group.clone()]).chain(values));
    }
    let seeds = manifest.axes.len();
    for (index, column) in table.column_iter_mut().enumerate() {
        let left = index < seeds || index == seeds + 1;
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

/// Two blanks before each line, none behind.
fn indented(table: &Table) -> String {
    table
        .lines()
        .map(|line| format!("  {}\n", line.trim_end().strip_prefix(' ').unwrap_or(line.trim_end())))
        .collect()
}
