//! The summary as a page shows it: texts, rounded as on the terminal.

use serde::Serialize;

use super::summary::{Summary, SummaryGroup, SummaryRow};
use crate::numbers::{number, spread};
use crate::statistics::Estimate;

/// The rows of a traffic group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Group {
    name: String,
    rows: Vec<Row>,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Row {
    label: &'static str,
    /// By cell.
    values: Vec<Option<Value>>,
    /// By cell: the ratio to the first.
    ratios: Vec<Option<Value>>,
}

/// A number and what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Value {
    text: String,
    /// Its interval or its range, with a blank before; empty if there is nothing to say.
    spread: String,
    /// Which of two is better, where the interval of a ratio excludes 1: `better`, `worse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
}

pub(super) fn groups(Summary(groups): &Summary) -> Vec<Group> {
    let group = |SummaryGroup { name, rows }: &SummaryGroup| Group {
        name: name.clone(),
        rows: rows.iter().map(row).collect(),
    };
    groups.iter().map(group).collect()
}

fn row(SummaryRow { label, values, uncertain, ratios, lower_is_better, .. }: &SummaryRow) -> Row {
    let value = |estimate: &Estimate, unit: &str, verdict| Value {
        text: format!("{}{unit}", number(estimate.mean)),
        spread: spread(estimate),
        verdict,
    };
    let values = values.iter().zip(uncertain);
    let values = values.map(|(found, marks)| Some(value(found.as_ref()?, &marks.text(), None)));
    let ratios = ratios.iter().map(|ratio| {
        let ratio = ratio.as_ref()?;
        Some(value(ratio, "×", lower_is_better.and_then(|lower| verdict(ratio, lower))))
    });
    Row { label, values: values.collect(), ratios: ratios.collect() }
}

/// Which of two is better, if the interval of their ratio excludes 1.
pub(super) fn verdict(ratio: &Estimate, lower_is_better: bool) -> Option<&'static str> {
    let is_lower = ratio.beside(1.0)?.is_lt();
    Some(if is_lower == lower_is_better { "better" } else { "worse" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Marks;
    use crate::numbers::with_interval;
    use crate::statistics::estimate;

    #[test]
    fn a_page_has_the_digits_of_the_terminal() {
        for values in [&[11.93, 12.35, 12.81][..], &[0.0, 3.0, 0.0], &[47_588.0], &[1.5e-7, 2.5e-7, 4e-7]] {
            let found = estimate(values);
            let value = SummaryRow {
                metric: "drops".into(),
                label: "drops",
                values: vec![found],
                uncertain: vec![Marks::default()],
                ratios: vec![found],
                lower_is_better: None,
            };
            let Row { values, ratios, .. } = row(&value);
            let shown =
                |value: &[Option<Value>]| value[0].as_ref().map(|value| value.text.clone() + &value.spread);
            assert_eq!(shown(&values), Some(with_interval(found.as_ref(), "")));
            assert_eq!(shown(&ratios), Some(with_interval(found.as_ref(), "×")));
        }
    }

    #[test]
    fn a_ratio_is_judged_only_if_its_interval_excludes_one() {
        let judged = |values: &[f64], lower| verdict(&estimate(values).unwrap(), lower);
        assert_eq!(judged(&[0.5, 0.55, 0.6], true), Some("better"));
        assert_eq!(judged(&[0.5, 0.55, 0.6], false), Some("worse"));
        assert_eq!(judged(&[1.5, 1.6, 1.7], true), Some("worse"));
        assert_eq!(judged(&[0.5, 1.0, 2.0], true), None);
        assert_eq!(judged(&[0.5, 0.5], true), None, "two seeds have no interval");
    }
}
