//! Changes by each cell of a comparison, in sentences: only what the seeds show.

use serde::Serialize;

use super::super::digest::Cell;
use super::super::shown::verdict;
use super::super::summary::{Summary, SummaryGroup, SummaryRow};
use crate::numbers::with_interval;
use crate::statistics::{Estimate, FEWEST};

/// Changes by a cell, beside the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name.
    pub name: String,
    /// The name of the first.
    pub base: String,
    /// Why nothing can be said, if it cannot.
    pub remark: Option<&'static str>,
    /// By group, `total` last.
    pub groups: Vec<GroupFinding>,
}

/// Changes for a traffic group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupFinding {
    /// Its name.
    pub name: String,
    /// In the order of the metrics.
    pub changes: Vec<Change>,
    /// Metrics of which no difference is shown.
    pub same: Vec<String>,
    /// Metrics that differ and cannot be compared: they are 0 in some seeds, so there is no interval of their ratio.
    pub open: Vec<String>,
}

/// A metric that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `slowdown p99 falls to 0.1466× [0.0444, 0.484]`.
    pub text: String,
    /// `better` or `worse`, where the metric has a good direction and the interval of the ratio excludes 1.
    pub verdict: Option<&'static str>,
}

impl GroupFinding {
    fn of(name: &str) -> Self {
        Self { name: name.into(), changes: Vec::new(), same: Vec::new(), open: Vec::new() }
    }

    /// All of it as one sentence.
    pub fn sentence(&self) -> String {
        let changes = self.changes.iter().map(|change| change.text.clone());
        changes.chain(self.rest()).collect::<Vec<_>>().join("; ")
    }

    /// The metrics that no change is shown of, in words.
    fn rest(&self) -> impl Iterator<Item = String> {
        let of = |metrics: &[String], what: &str| {
            (!metrics.is_empty()).then(|| format!("{what} {}", metrics.join(", ")))
        };
        let open = of(&self.open, "not compared, as some seeds have 0:");
        of(&self.same, "no difference shown in").into_iter().chain(open)
    }
}

/// The finding in a row of the summary.
enum Said {
    Change(Change),
    Same,
    Open,
    Nothing,
}

pub(super) fn findings(cells: &[Cell], Summary(groups): &Summary) -> Vec<Finding> {
    let finding = |index: usize| {
        let remark = remark(&cells[0], &cells[index]);
        let groups = groups.iter().filter(|_| remark.is_none()).map(|group| of_group(group, index));
        Finding {
            name: cells[index].name.clone(),
            base: cells[0].name.clone(),
            remark,
            groups: groups.filter(|group| !group.sentence().is_empty()).collect(),
        }
    };
    (1..cells.len()).map(finding).collect()
}

/// Why the seeds that both have say nothing.
fn remark(base: &Cell, cell: &Cell) -> Option<&'static str> {
    let common = cell.runs.iter().filter(|run| base.runs.iter().any(|other| other.seed == run.seed));
    match common.count() {
        0 => Some("no seed in common: no ratios"),
        1 => Some("one seed: no intervals"),
        few if few < FEWEST => Some("two seeds: no intervals"),
        _ => None,
    }
}

fn of_group(SummaryGroup { name, rows }: &SummaryGroup, cell: usize) -> GroupFinding {
    let mut found = GroupFinding::of(name);
    for row in rows {
        match said(row, cell) {
            Said::Change(change) => found.changes.push(change),
            // Seeds draw the same traffic in all cells.
            Said::Same if row.metric == "offered_fraction" => {}
            Said::Same => found.same.push(named(row, cell)),
            Said::Open => found.open.push(named(row, cell)),
            Said::Nothing => {}
        }
    }
    found
}

fn said(row: &SummaryRow, cell: usize) -> Said {
    let name = named(row, cell);
    let (base, own) = (row.values[0].as_ref(), row.values[cell].as_ref());
    if let Some(ratio) = row.ratios[cell].as_ref().filter(|ratio| ratio.interval.is_some()) {
        let Some(side) = ratio.beside(1.0) else { return Said::Same };
        let moves = if side.is_lt() { "fall" } else { "rise" };
        let one = if is_plural(&name) { "" } else { "s" };
        return Said::Change(Change {
            text: format!("{name} {moves}{one} to {}", with_interval(Some(ratio), "×")),
            verdict: row.lower_is_better.and_then(|lower| verdict(ratio, lower)),
        });
    }
    let (never, always) = (|found: &Estimate| found.range.1 == 0.0, |found: &Estimate| found.range.0 > 0.0);
    let apart = match (base, own) {
        (None, None) => return Said::Nothing,
        // The receivers of one control report marked bytes, those of the other do not.
        (Some(_), None) | (None, Some(_)) if row.metric == "marked_fraction" => return Said::Nothing,
        (Some(base), Some(own)) => (never(base) && always(own)) || (always(base) && never(own)),
        // To have nothing that a metric could be taken of, and to count none, is the same.
        (Some(one), None) | (None, Some(one)) => !never(one),
    };
    if !apart {
        let equal = base.zip(own).is_none_or(|(base, own)| base.range == own.range);
        return if equal { Said::Same } else { Said::Open };
    }
    let value = |found: Option<&Estimate>| found.map_or("none".into(), |_| with_interval(found, ""));
    Said::Change(Change { text: format!("{name} {} instead of {}", value(own), value(base)), verdict: None })
}

/// The quantity of a row, with the marks that it has in the first cell or this one.
fn named(row: &SummaryRow, cell: usize) -> String {
    quantity(row.label) + &row.uncertain[0].and(row.uncertain[cell]).text()
}

/// A label without its unit: `goodput` of `goodput, Gb/s`, `drops (whole run)` of `drops, whole run`.
fn quantity(label: &str) -> String {
    let mut parts = label.split(", ").filter(|part| !["µs", "Gb/s", "kB"].contains(part));
    let name = parts.next().unwrap_or_default().to_owned();
    match parts.collect::<Vec<_>>().join(", ") {
        which if which.is_empty() => name,
        which => format!("{name} ({which})"),
    }
}

/// `ECN marks`, `flows measured`; not `DC lost fraction`.
fn is_plural(name: &str) -> bool {
    name.split(' ').any(|word| word.ends_with('s') && !word.ends_with("ss") && word != "bus")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Marks, Metric};
    use crate::report::digest::Digest;
    use crate::report::pauses::Pauses;
    use crate::report::summary::summarize;

    /// A cell whose run of each seed has these values of one metric.
    fn cell(name: &str, metric: &str, values: &[Option<f64>]) -> Cell {
        let run = |(seed, value): (usize, &Option<f64>)| Digest {
            scenario: "made".into(),
            network: String::new(),
            seed: seed as u64,
            version: String::new(),
            text: String::new(),
            warnings: Vec::new(),
            metrics: vec![Metric { name: format!("web.{metric}"), value: *value }],
            marks: Vec::new(),
            activity: Vec::new(),
            groups: Vec::new(),
            pauses: Pauses::default(),
            collectives: Vec::new(),
            over_time: None,
            complete: true,
        };
        Cell { name: name.into(), runs: values.iter().enumerate().map(run).collect() }
    }

    /// The finding about a metric that is `base` in the first cell and `own` in the second.
    fn sentence<const N: usize>(metric: &str, base: [f64; N], own: [f64; N]) -> String {
        let cells = [cell("a", metric, &base.map(Some)), cell("b", metric, &own.map(Some))];
        let found = findings(&cells, &summarize(&cells));
        found[0].remark.map_or_else(|| found[0].groups[0].sentence(), str::to_owned)
    }

    #[test]
    fn a_ratio_whose_interval_excludes_one_falls_or_rises() {
        assert_eq!(
            sentence("goodput_gbps", [10.0, 20.0, 40.0], [5.0, 10.5, 19.0]),
            "goodput falls to 0.4996× [0.441, 0.566]"
        );
        assert_eq!(sentence("goodput_gbps", [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), "goodput rises to 2×");
    }

    #[test]
    fn a_percentile_that_is_uncertain_in_one_cell_is_marked_where_it_is_compared() {
        let mut cells =
            [cell("a", "p99_slowdown", &[Some(4.0); 3]), cell("b", "p99_slowdown", &[Some(2.0); 3])];
        cells[1].runs[2].marks =
            vec![("web.p99_slowdown".into(), Marks { unfinished: true, few: false, split: false })];
        cells.iter_mut().flat_map(|cell| &mut cell.runs).for_each(|run| {
            run.metrics.push(Metric { name: "web.p50_fct_us".into(), value: Some(1.0) });
        });
        let found = findings(&cells, &summarize(&cells));
        let sentence = found[0].groups[0].sentence();
        assert_eq!(sentence, "slowdown p99† falls to 0.5×; no difference shown in completion time p50");
    }

    #[test]
    fn a_marked_fraction_that_only_one_control_has_is_not_compared() {
        let cells = [cell("a", "marked_fraction", &[Some(0.1); 3]), cell("b", "marked_fraction", &[None; 3])];
        assert_eq!(findings(&cells, &summarize(&cells))[0].groups, []);
    }

    #[test]
    fn several_things_fall_and_one_falls() {
        assert_eq!(sentence("flows", [4.0; 3], [2.0; 3]), "flows measured fall to 0.5×");
        assert!(!is_plural("DC lost fraction (whole run)") && is_plural("unfinished RPCs"));
        assert!(!is_plural("bus bandwidth"));
    }

    #[test]
    fn a_ratio_whose_interval_holds_one_shows_no_difference() {
        let shown = sentence("goodput_gbps", [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]);
        assert_eq!(shown, "no difference shown in goodput");
    }

    #[test]
    fn what_never_happens_in_one_cell_has_a_sentence_without_a_ratio() {
        assert_eq!(sentence("timeouts", [4.0; 3], [0.0; 3]), "timeouts (whole run) 0 instead of 4");
        assert_eq!(
            sentence("timeouts", [0.0; 3], [1.0, 2.0, 4.0]),
            "timeouts (whole run) 2 [0.357, 11.2] instead of 0"
        );
        let sometimes = sentence("timeouts", [0.0, 0.0, 1.0], [0.0; 3]);
        assert_eq!(sometimes, "not compared, as some seeds have 0: timeouts (whole run)");
    }

    #[test]
    fn nothing_is_claimed_of_fewer_than_three_common_seeds() {
        assert_eq!(sentence("timeouts", [4.0], [0.0]), "one seed: no intervals");
        assert_eq!(sentence("timeouts", [4.0; 2], [0.0; 2]), "two seeds: no intervals");
    }

    #[test]
    fn what_could_not_be_taken_in_one_cell_is_none() {
        let cells = [cell("a", "goodput_gbps", &[Some(2.0); 3]), cell("b", "goodput_gbps", &[None; 3])];
        let found = findings(&cells, &summarize(&cells));
        assert_eq!(found[0].groups[0].sentence(), "goodput none instead of 2");
    }

    #[test]
    fn units_are_left_out_of_sentences() {
        let labels = ["goodput, Gb/s", "peak queue, kB, whole run", "DC utilization, mean", "unfinished"];
        let expected = ["goodput", "peak queue (whole run)", "DC utilization (mean)", "unfinished"];
        assert_eq!(labels.map(quantity), expected);
    }
}
