use comfy_table::CellAlignment;
use narrows::report::{Matrix, MatrixCell};
use narrows::visible::visible;

use super::{below, indented, plain};

/// A block for each metric of a matrix, with its rows and columns.
pub fn matrix(matrix: &Matrix) -> String {
    let mut table = plain();
    let name = |name: &String| visible(name).into_owned();
    table.set_header(std::iter::once(String::new()).chain(matrix.columns.iter().map(name)));
    for (place, quantity) in matrix.quantities.iter().enumerate() {
        table.add_row([name(&quantity.label)]);
        for (row, cells) in matrix.rows.iter().zip(&matrix.cells) {
            let value = |cell: &Option<MatrixCell>| {
                let value = cell.as_ref().and_then(|cell| cell.values[place].as_ref());
                value.map_or_else(|| "–".to_owned(), |(_, text)| text.clone())
            };
            table.add_row(std::iter::once(format!("  {}", visible(row))).chain(cells.iter().map(value)));
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    indented(&table) + &below(&matrix.legend)
}

#[cfg(test)]
mod tests {
    use narrows::report::Quantity;

    use super::*;

    #[test]
    fn each_metric_has_a_row_for_each_name_and_a_dash_where_nothing_is_known() {
        let cell = |value: f64, drops: Option<f64>| {
            let written = |value: f64| (value, value.to_string());
            Some(MatrixCell { values: vec![Some(written(value)), drops.map(written)], id: String::new() })
        };
        let quantity = |label: &str| Quantity {
            label: label.into(),
            meaning: String::new(),
            log: false,
            range: Some((0.0, 1.0)),
        };
        let shown = matrix(&Matrix {
            axes: ["control".into(), "queue".into()],
            rows: vec!["CUBIC".into(), "BBR".into()],
            columns: vec!["CoDel".into(), "PIE".into()],
            quantities: vec![quantity("delay, µs"), quantity("drops")],
            cells: vec![vec![cell(7.5, Some(31.0)), cell(12.0, None)], vec![cell(140.0, Some(0.0)), None]],
            legend: vec!["~: few values".into()],
        });
        let expected = [
            "             CoDel  PIE",
            "  delay, µs",
            "    CUBIC      7.5   12",
            "    BBR        140    –",
            "  drops",
            "    CUBIC       31    –",
            "    BBR          0    –",
            "  ~: few values",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    }
}
