//! Twins, judged.

use comfy_table::{CellAlignment, Table, presets};
use narrows::numbers::with_interval;
use narrows::twin::Row;
use narrows::visible::{markdown_cell, visible};

use super::{indented, plain};

/// Quantities of a twin and their judgment.
pub fn twin(rows: &[Row], markdown: bool) -> String {
    let mut table = if markdown { Table::new() } else { plain() };
    if markdown {
        table.load_style(presets::ASCII_MARKDOWN);
    }
    table.set_header(["", "live", "simulated", "simulated / live", "band", ""]);
    for row in rows {
        let [least, most] = row.band;
        let unit = if row.unit.is_empty() { String::new() } else { format!(", {}", row.unit) };
        let name = if markdown { markdown_cell(&row.name) } else { visible(&row.name).into_owned() };
        table.add_row([
            name + &unit,
            with_interval(row.live.as_ref(), ""),
            with_interval(row.simulated.as_ref(), ""),
            with_interval(row.ratio.as_ref(), "×"),
            format!("{least:.2} to {most:.2}"),
            row.verdict.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if markdown { format!("{table}\n") } else { indented(&table) }
}
