//! A sweep along two axes of names as a matrix: a row for each value of one, a column for each of the other, in each cell all metrics.

use serde::Serialize;

use super::axes::{Axes, fits};
use super::chosen::{Chosen, spoken};
use super::figures::WIDE;
use crate::metrics::{Marks, TOTAL};
use crate::numbers::number;
use crate::sweep::Found;

/// A matrix of points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The axes that make rows and columns.
    pub axes: [String; 2],
    /// Values of the first.
    pub rows: Vec<String>,
    /// Values of the second.
    pub columns: Vec<String>,
    /// Metrics, each of one group.
    pub quantities: Vec<Quantity>,
    /// By row and column; none where no run is there.
    pub cells: Vec<Vec<Option<MatrixCell>>>,
    /// The meaning of marks behind values.
    pub legend: Vec<String>,
}

/// A metric of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// The group and the metric in words; all traffic is not named.
    pub label: String,
    /// The metric.
    pub meaning: String,
    /// Colors follow the logarithm.
    pub log: bool,
    /// The least and the most of all cells; none without any value.
    pub range: Option<(f64, f64)>,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixCell {
    /// By metric: the value, and as it is written.
    pub values: Vec<Option<(f64, String)>>,
    /// The folder of its first run.
    pub id: String,
}

impl Matrix {
    /// The matrix of a sweep; none unless two axes vary, both have names, and some metric is shown.
    pub(super) fn of(found: &Found, axes: &Axes, chosen: &[Chosen]) -> Option<Self> {
        let varied: Vec<_> = (0..axes.axes.len()).filter(|axis| axes.axes[*axis].varies()).collect();
        let [rows, columns] = varied[..] else { return None };
        let has_names = |axis: usize| axes.axes[axis].places.is_none();
        let metrics: Vec<_> =
            chosen.iter().flat_map(|of| of.groups.iter().map(move |group| (of, group))).collect();
        if !has_names(rows) || !has_names(columns) || metrics.is_empty() {
            return None;
        }
        let mut marks = Marks::default();
        let mut cell = |row: usize, column: usize| {
            // Axes that do not vary have their only value everywhere, or none.
            let mut pair = vec![Some(0); axes.axes.len()];
            (pair[rows], pair[columns]) = (Some(row), Some(column));
            let point = &found.points[axes.places.iter().position(|place| fits(place, &pair))?];
            let mut value = |(metric, group): &(&Chosen, &String)| {
                let name = metric.of(group);
                let mean = point.metric(&name)?.mean;
                marks = marks.and(point.marks(&name));
                Some((mean, number(mean) + &point.marks(&name).text()))
            };
            let id = found.cells.iter().find(|cell| cell.point == point.point)?.id.clone();
            Some(MatrixCell { values: metrics.iter().map(&mut value).collect(), id })
        };
        let all = |axis: usize| 0..axes.axes[axis].values.len();
        let cells: Vec<Vec<_>> =
            all(rows).map(|row| all(columns).map(|column| cell(row, column)).collect()).collect();
        let quantity = |(place, (metric, group)): (usize, &(&Chosen, &String))| {
            let values =
                || cells.iter().flatten().flatten().filter_map(|cell| Some(cell.values[place].as_ref()?.0));
            let range = values().reduce(f64::min).zip(values().reduce(f64::max));
            let named = if *group == TOTAL { String::new() } else { format!("{}: ", spoken(group)) };
            Quantity {
                label: named + &metric.label,
                meaning: metric.meaning.clone(),
                log: range.is_some_and(|(low, high)| low > 0.0 && high > WIDE * low),
                range,
            }
        };
        Some(Self {
            axes: [rows, columns].map(|axis| axes.axes[axis].short.clone()),
            rows: axes.axes[rows].values.clone(),
            columns: axes.axes[columns].values.clone(),
            quantities: metrics.iter().enumerate().map(quantity).collect(),
            legend: marks.legend(),
            cells,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::chosen::choose;
    use super::*;
    use crate::sweep::made_up;

    fn matrix(names: &[&str], points: &[(&[Value], f64)]) -> Option<Matrix> {
        let point = |(values, value): &(&[Value], f64)| {
            (values.to_vec(), vec![("web.p99_slowdown", vec![*value]), ("total.drops", vec![value * 2.0])])
        };
        let found = made_up(names, &points.iter().map(point).collect::<Vec<_>>());
        let chosen = choose(&found.points, None, &["p99_slowdown".into(), "drops".into()]).unwrap();
        Matrix::of(&found, &Axes::of(&found), &chosen)
    }

    fn values(matrix: &Matrix, place: usize) -> Vec<Vec<Option<f64>>> {
        let value = |cell: &Option<MatrixCell>| Some(cell.as_ref()?.values[place].as_ref()?.0);
        matrix.cells.iter().map(|row| row.iter().map(value).collect()).collect()
    }

    #[test]
    fn the_value_of_each_pair_of_names_is_in_its_row_and_column() {
        let [reno, cubic, pie, codel] = ["reno", "cubic", "pie", "codel"].map(|name| json!(name));
        let pairs = [
            (&[reno.clone(), pie.clone()][..], 1.0),
            (&[reno, codel.clone()][..], 2.0),
            (&[cubic.clone(), pie][..], 3.0),
            (&[cubic, codel][..], 100.0),
        ];
        let found = matrix(&["control", "switches.default.queue"], &pairs).unwrap();
        assert_eq!(found.axes, ["control", "queue"]);
        assert_eq!(
            (&found.rows[..], &found.columns[..]),
            (&["reno".into(), "cubic".into()][..], &["pie".into(), "codel".into()][..])
        );
        assert_eq!(values(&found, 0), [[Some(1.0), Some(2.0)], [Some(3.0), Some(100.0)]]);
        assert_eq!(values(&found, 1), [[Some(2.0), Some(4.0)], [Some(6.0), Some(200.0)]]);
        let labels: Vec<_> =
            found.quantities.iter().map(|of| (of.label.as_str(), of.log, of.range)).collect();
        let expected =
            [("web: slowdown p99", true, Some((1.0, 100.0))), ("drops, whole run", true, Some((2.0, 200.0)))];
        assert_eq!(labels, expected);
        assert_eq!(found.cells[1][0].as_ref().unwrap().id, "2-1");
    }

    #[test]
    fn a_pair_without_a_run_has_no_cell() {
        let found =
            matrix(&["a", "b"], &[(&[json!("x"), json!("y")], 1.0), (&[json!("z"), json!("w")], 2.0)]);
        assert_eq!(values(&found.unwrap(), 0), [[Some(1.0), None], [None, Some(2.0)]]);
    }

    #[test]
    fn axes_with_a_scale_make_no_matrix() {
        assert_eq!(
            matrix(&["a", "b"], &[(&[json!("x"), json!(1)], 1.0), (&[json!("z"), json!(2)], 2.0)]),
            None
        );
        assert_eq!(matrix(&["a"], &[(&[json!("x")], 1.0), (&[json!("z")], 2.0)]), None);
    }
}
