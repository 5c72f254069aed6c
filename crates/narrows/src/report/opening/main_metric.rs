//! The metric of each group that is drawn where no curve over sizes can be.

use serde::Serialize;

use super::super::summary::{Summary, SummaryGroup, SummaryRow};
use crate::metrics::TOTAL;
use crate::numbers::with_interval;
use crate::statistics::Estimate;

/// A metric of a group, by cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct MainMetric {
    group: String,
    label: &'static str,
    values: Vec<Option<Mark>>,
}

/// A value and its interval or range.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Mark {
    mean: f64,
    ends: (f64, f64),
    text: String,
}

/// Which metric stands for a group: the first of these that it has.
const MAIN: [&str; 3] = ["p99_rpc_slowdown", "p99_slowdown", "goodput_gbps"];

pub(super) fn main_metrics(Summary(groups): &Summary) -> Vec<MainMetric> {
    let groups = groups.iter().filter(|group| group.name != TOTAL);
    groups.filter_map(|group| Some(main_metric(group, main_row(group)?))).collect()
}

fn main_row(group: &SummaryGroup) -> Option<&SummaryRow> {
    let rows = group.rows.iter().filter(|row| row.values.iter().any(Option::is_some));
    let place = |row: &SummaryRow| MAIN.iter().position(|metric| *metric == row.metric);
    rows.filter_map(|row| Some((place(row)?, row))).min_by_key(|(place, _)| *place).map(|(_, row)| row)
}

fn main_metric(group: &SummaryGroup, row: &SummaryRow) -> MainMetric {
    let mark = |found: &Estimate| Mark {
        mean: found.mean,
        ends: found.interval.unwrap_or(found.range),
        text: with_interval(Some(found), ""),
    };
    let values = row.values.iter().map(|value| value.as_ref().map(mark)).collect();
    MainMetric { group: group.name.clone(), label: row.label, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Marks;
    use crate::statistics::estimate;

    fn row(metric: &str, label: &'static str, values: &[f64]) -> SummaryRow {
        let metric = metric.to_owned();
        SummaryRow {
            metric,
            label,
            values: vec![estimate(values)],
            uncertain: vec![Marks::default()],
            ratios: vec![None],
            lower_is_better: None,
        }
    }

    #[test]
    fn a_group_is_shown_by_its_slowdown_if_it_has_one_and_else_by_its_goodput() {
        let group = |name: &str, rows: Vec<SummaryRow>| SummaryGroup { name: name.into(), rows };
        let goodput = || row("goodput_gbps", "goodput, Gb/s", &[1.0, 2.0]);
        let slowdown = |values| row("p99_slowdown", "slowdown p99", values);
        let groups = vec![
            group("sized", vec![goodput(), slowdown(&[3.0])]),
            group("unfinished", vec![slowdown(&[]), goodput()]),
            group(TOTAL, vec![row("drops", "drops", &[4.0])]),
        ];
        let found = main_metrics(&Summary(groups));
        let shown: Vec<_> = found.iter().map(|main| (main.group.as_str(), main.label)).collect();
        assert_eq!(shown, [("sized", "slowdown p99"), ("unfinished", "goodput, Gb/s")]);
        let mark = found[1].values[0].as_ref().unwrap();
        assert_eq!((mark.ends, mark.text.as_str()), ((1.0, 2.0), "1.414 (1 to 2)"));
    }
}
