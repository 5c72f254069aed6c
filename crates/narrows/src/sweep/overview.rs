//! Findings of a sweep, in a few columns: a row for each traffic group of each point, so that a group that starves is seen
//! beside those that do not.

use std::collections::BTreeSet;

use super::PointSummary;
use crate::metrics::{Marks, Over, TOTAL, infos_of};
use crate::scenario::matches;
use crate::statistics::Estimate;

/// Metrics that say most about a group, the most telling first. Goodput and unfinished flows are always shown: without them
/// nobody sees that a group got nothing. The others are shown where there is something to show.
const USUAL: [(&str, bool); 5] = [
    ("p99_slowdown", false),
    ("p99_rpc_slowdown", false),
    ("goodput_gbps", true),
    ("unfinished", true),
    ("drops", false),
];

/// Whether a metric, with its group, has the form of `pattern`, in which `*` stands for any characters. Without a group that is
/// this metric of all groups.
pub(crate) fn is_shown(pattern: &str, metric: &str) -> bool {
    let of_all = || metric.split_once('.').is_some_and(|(_, name)| matches(pattern, name));
    if pattern.contains('.') { matches(pattern, metric) } else { of_all() }
}

/// A table of the points of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Names of its metrics, without those of groups.
    pub metrics: Vec<String>,
    /// Its rows: those of a point together, all traffic last if there are several groups.
    pub rows: Vec<OverviewRow>,
}

/// A traffic group of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct OverviewRow {
    /// Which of the points.
    pub point: usize,
    /// The group.
    pub group: String,
    /// By metric; none if the group does not have it, or there was nothing to take it of.
    pub values: Vec<Option<Estimate>>,
    /// By metric: why the value is less certain than its digits.
    pub uncertain: Vec<Marks>,
}

impl Overview {
    /// Which metrics are about the whole run, and the meaning of all marks, a line each.
    pub fn legend(&self) -> Vec<String> {
        let of_run = |name: &&String| infos_of(name).next().is_some_and(|info| info.over == Over::WholeRun);
        let of_run: Vec<_> = self.metrics.iter().filter(of_run).map(String::as_str).collect();
        let of_run = (!of_run.is_empty()).then(|| format!("of the whole run: {}", of_run.join(", ")));
        let marks = self.rows.iter().flat_map(|row| &row.uncertain).copied();
        of_run.into_iter().chain(marks.fold(Marks::default(), Marks::and).legend()).collect()
    }
}

/// Metrics that say most about these points, without names of groups; that of the rule in front, if there is one.
pub(crate) fn usual_metrics(points: &[PointSummary], rule: Option<&str>) -> Vec<String> {
    let all = || points.iter().flat_map(|point| &point.metrics);
    let split = |(full, found): &'_ (String, Option<Estimate>)| {
        full.split_once('.')
            .map(|(_, metric)| (metric.to_owned(), found.is_some_and(|found| found.mean != 0.0)))
    };
    let known: BTreeSet<(String, bool)> = all().filter_map(split).collect();
    let has = |name: &str, happened: bool| known.contains(&(name.to_owned(), happened));
    let is_usual = |name: &str, always: bool| has(name, true) || always && has(name, false);
    let rule = rule.and_then(|rule| Some(rule.split_once('.')?.1));
    let usual = USUAL.iter().filter(|(name, always)| is_usual(name, *always)).map(|(name, _)| *name);
    rule.into_iter().chain(usual.filter(|name| Some(*name) != rule)).map(str::to_owned).collect()
}

/// Makes the table, with the metric of the rule by which the sweep stops in front, if there is one. Metrics of the network are
/// in the rows of all traffic; with a single group there are none of these, and its rows have them.
pub fn overview(points: &[PointSummary], rule: Option<&str>) -> Overview {
    let names =
        || points.iter().flat_map(|point| &point.metrics).filter_map(|(name, _)| name.split_once('.'));
    let mut groups: Vec<&str> = Vec::new();
    for (group, _) in names() {
        if group != TOTAL && !groups.contains(&group) {
            groups.push(group);
        }
    }
    let alone = groups.len() == 1;
    if !alone {
        groups.push(TOTAL);
    }
    let metrics = usual_metrics(points, rule);
    let row = |(number, point, group): (usize, &PointSummary, &str)| {
        let own = |metric: &String| point.metric(&format!("{group}.{metric}"));
        let of_network = |metric: &String| point.metric(&format!("{TOTAL}.{metric}")).filter(|_| alone);
        let values =
            metrics.iter().map(|metric| own(metric).or_else(|| of_network(metric)).copied()).collect();
        let uncertain = metrics.iter().map(|metric| point.marks(&format!("{group}.{metric}"))).collect();
        OverviewRow { point: number, group: group.to_owned(), values, uncertain }
    };
    let is_there = |point: &PointSummary, group: &str| {
        point.metrics.iter().any(|(name, _)| name.split_once('.').is_some_and(|(own, _)| own == group))
    };
    let rows = points.iter().enumerate().flat_map(|(number, point)| {
        let groups = groups.iter().filter(move |group| is_there(point, group));
        groups.map(move |group| (number, point, *group))
    });
    Overview { rows: rows.map(row).collect(), metrics }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::estimate;

    fn point(number: usize, metrics: &[(&str, &[f64])]) -> PointSummary {
        let metric = |(name, values): &(&str, &[f64])| ((*name).to_owned(), estimate(values));
        PointSummary {
            point: number,
            values: Vec::new(),
            seeds: 3,
            metrics: metrics.iter().map(metric).collect(),
            marks: Vec::new(),
        }
    }

    fn shape(overview: &Overview) -> Vec<(usize, &str, Vec<Option<f64>>)> {
        let value = |value: &Option<Estimate>| value.map(|found| found.mean);
        let row = |row: &OverviewRow| row.values.iter().map(value).collect();
        overview.rows.iter().map(|each| (each.point, each.group.as_str(), row(each))).collect()
    }

    #[test]
    fn a_group_that_got_nothing_has_its_row_beside_the_others() {
        let all = [
            ("dc.p99_slowdown", &[4.0][..]),
            ("dc.goodput_gbps", &[90.0]),
            ("dc.unfinished", &[0.0]),
            ("wan.p99_slowdown", &[]),
            ("wan.goodput_gbps", &[0.0]),
            ("wan.unfinished", &[6.0]),
            ("total.p99_slowdown", &[4.0]),
            ("total.goodput_gbps", &[90.0]),
            ("total.unfinished", &[6.0]),
            ("total.drops", &[0.0]),
        ];
        let found = overview(&[point(0, &all)], None);
        assert_eq!(found.metrics, ["p99_slowdown", "goodput_gbps", "unfinished"]);
        let expected = [
            (0, "dc", vec![Some(4.0), Some(90.0), Some(0.0)]),
            (0, "wan", vec![None, Some(0.0), Some(6.0)]),
            (0, "total", vec![Some(4.0), Some(90.0), Some(6.0)]),
        ];
        assert_eq!(shape(&found), expected);
    }

    #[test]
    fn a_group_alone_has_what_the_network_did_in_its_row_and_the_metric_of_the_rule_in_front() {
        let all = [("web.goodput_gbps", &[9.0][..]), ("web.p50_fct_us", &[80.0]), ("total.drops", &[3.0])];
        let found = overview(&[point(0, &all), point(1, &all)], Some("web.p50_fct_us"));
        assert_eq!(found.metrics, ["p50_fct_us", "goodput_gbps", "drops"]);
        let values = || vec![Some(80.0), Some(9.0), Some(3.0)];
        assert_eq!(shape(&found), [(0, "web", values()), (1, "web", values())]);
    }

    #[test]
    fn a_point_without_a_group_has_no_row_of_it() {
        let one = point(0, &[("a.goodput_gbps", &[1.0]), ("total.goodput_gbps", &[1.0])]);
        let both =
            [("a.goodput_gbps", &[1.0][..]), ("b.goodput_gbps", &[2.0]), ("total.goodput_gbps", &[3.0])];
        let found = overview(&[one, point(1, &both)], None);
        let rows: Vec<_> = found.rows.iter().map(|row| (row.point, row.group.as_str())).collect();
        assert_eq!(rows, [(0, "a"), (0, "total"), (1, "a"), (1, "b"), (1, "total")]);
    }
}
