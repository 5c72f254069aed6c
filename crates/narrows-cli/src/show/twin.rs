//! Twins, judged.

use comfy_table::CellAlignment;
use narrows::numbers::with_interval;
use narrows::twin::Row;

use super::{indented, plain};

/// Quantities of a twin and their judgment.
pub fn twin(rows: &[Row]) -> String {
    let mut table = plain();
    table.set_header(["", "live", "simulated", "ratio", "band", ""]);
    for row in rows {
        let band = 1.0 + row.kind.band();
        table.add_row([
            row.name.clone(),
            with_interval(row.live.as_ref(), row.unit),
            with_interval(row.simulated.as_ref(), row.unit),
            with_interval(row.ratio.as_ref(), "×"),
            format!("{:.2} to {band:.2}", 1.0 / band),
            row.verdict.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    indented(&table)
}
