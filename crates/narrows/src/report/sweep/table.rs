//! The points of a sweep as a table: a row for each traffic group of each point, with the digits of the terminal.

use serde::Serialize;

use super::axes::Axes;
use super::chosen::{Chosen, spoken};
use crate::metrics::{Marks, TOTAL};
use crate::numbers::{number, spread};
use crate::sweep::Found;

/// The table.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Table {
    heads: Vec<String>,
    rows: Vec<Row>,
    /// The meaning of marks behind values.
    legend: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    /// The first of its point.
    is_first: bool,
    /// Values on the axes, the number of seeds, the group.
    texts: Vec<String>,
    /// By metric: a value, and its interval or its range.
    values: Vec<Option<(String, String)>>,
}

pub(super) fn table(found: &Found, axes: &Axes, chosen: &[Chosen]) -> Table {
    let mut groups: Vec<&str> = Vec::new();
    for group in chosen.iter().flat_map(|metric| &metric.groups) {
        if !groups.contains(&group.as_str()) {
            groups.push(group);
        }
    }
    // What the network did stands beside the only group.
    let alone = groups.iter().filter(|group| **group != TOTAL).count() == 1;
    if alone {
        groups.retain(|group| *group != TOTAL);
    }
    groups.sort_by_key(|group| *group == TOTAL);
    let (mut rows, mut all_marks) = (Vec::new(), Marks::default());
    for (number, point) in found.points.iter().enumerate() {
        let mut is_first = true;
        for group in &groups {
            let value = |metric: &Chosen| {
                let has = |group: &str| metric.groups.iter().any(|other| other == group);
                let of = if has(group) { group } else { Some(TOTAL).filter(|total| alone && has(total))? };
                let estimate = point.metric(&metric.of(of))?;
                let marks = point.marks(&metric.of(of));
                all_marks = all_marks.and(marks);
                Some((self::number(estimate.mean) + &marks.text(), spread(estimate)))
            };
            let values: Vec<_> = chosen.iter().map(value).collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let of_axis = |(axis, value): (&super::axes::Axis, &Option<usize>)| {
                value.map_or_else(|| "–".to_owned(), |value| axis.values[value].clone())
            };
            let texts = axes.axes.iter().zip(&axes.places[number]).map(of_axis);
            let texts = texts.chain([point.seeds.to_string(), spoken(group).to_owned()]).collect();
            rows.push(Row { is_first, texts, values });
            is_first = false;
        }
    }
    let names = axes.axes.iter().map(|axis| axis.short.clone());
    let labels = chosen.iter().map(|metric| metric.label.clone());
    Table {
        heads: names.chain(["seeds".to_owned(), "group".to_owned()]).chain(labels).collect(),
        rows,
        legend: all_marks.legend(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::chosen::choose;
    use super::*;
    use crate::numbers::with_interval;
    use crate::sweep::made_up;

    fn rows(metrics: &[(&'static str, Vec<f64>)]) -> Vec<(String, Vec<Option<String>>)> {
        let found = made_up(&["a.k"], &[(vec![json!(1)], metrics.to_vec())]);
        let chosen = choose(&found.points, None, &[]).unwrap();
        let made = table(&found, &Axes::of(&found), &chosen);
        let value = |value: Option<(String, String)>| value.map(|(text, spread)| text + &spread);
        made.rows
            .into_iter()
            .map(|row| (row.texts.join(" "), row.values.into_iter().map(value).collect()))
            .collect()
    }

    #[test]
    fn values_read_as_on_the_terminal() {
        let values = vec![12.0, 15.5, 11.0];
        let found = rows(&[("web.p99_slowdown", values.clone())]);
        let expected = with_interval(crate::statistics::estimate(&values).as_ref(), "");
        assert_eq!(found, [("1 3 web".to_owned(), vec![Some(expected)])]);
    }

    #[test]
    fn groups_have_rows_and_the_network_one_of_its_own_unless_a_group_is_alone() {
        let one =
            [("web.goodput_gbps", vec![1.0]), ("total.goodput_gbps", vec![1.0]), ("total.drops", vec![3.0])];
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(rows(&one), [("1 1 web".to_owned(), vec![some("1"), some("3")])]);
        let both = [one.to_vec(), vec![("dc.goodput_gbps", vec![2.0])]].concat();
        let expected = [
            ("1 1 web".to_owned(), vec![some("1"), None]),
            ("1 1 dc".to_owned(), vec![some("2"), None]),
            ("1 1 all traffic".to_owned(), vec![None, some("3")]),
        ];
        assert_eq!(rows(&both), expected);
    }
}
