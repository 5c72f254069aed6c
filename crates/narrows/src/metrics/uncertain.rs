//! Percentiles and means that are less certain than their digits: some flows have not ended, or few have.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::sample::Doubt;
use crate::diagnostic::{Code, Diagnostic};
use crate::numbers::{grouped, number};
use crate::statistics::fall_apart;

/// A percentile or mean that is less certain than its digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertain {
    /// `group.metric`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Number of values that it was taken of.
    pub of: usize,
    /// The number that a percentile needs, if that is more.
    pub needs: Option<usize>,
    /// Flows or calls that have no value as they did not end.
    pub missing: usize,
    /// If that is much more: the percentile if those were larger than all others, infinite if they could be any; the least that the mean
    /// would be.
    pub could_be: Option<f64>,
}

/// Reasons not to trust a percentile or mean to its digits, as marks behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Flows that did not end could make it larger.
    pub unfinished: bool,
    /// It is one of few values.
    pub few: bool,
    /// Seeds fall into two groups far apart.
    pub split: bool,
}

impl Uncertain {
    pub(super) fn new(name: String, value: f64, doubt: Doubt) -> Self {
        let Doubt { of, needs, missing, could_be } = doubt;
        Self { name, value, of, needs, missing, could_be }
    }

    /// Its marks.
    pub fn marks(&self) -> Marks {
        Marks { unfinished: self.could_be.is_some(), few: self.needs.is_some(), split: false }
    }

    /// As `run.json` holds it, below its name.
    pub(crate) fn to_json(&self) -> Value {
        let could_be = self.could_be.map(|could_be| json!(Some(could_be).filter(|value| value.is_finite())));
        let mut value = json!({ "of": self.of });
        if let Some(needs) = self.needs {
            value["needs"] = json!(needs);
        }
        if let Some(could_be) = could_be {
            value["unfinished"] = json!(self.missing);
            value["could_be"] = could_be;
        }
        value
    }
}

impl Marks {
    /// Of each metric in a `run.json` that has some.
    pub(crate) fn read(summary: &Value) -> impl Iterator<Item = (String, Self)> {
        let all = summary.get("uncertain").and_then(Value::as_object).into_iter().flatten();
        let has = |value: &Value, key| value.get(key).is_some();
        all.map(move |(name, value)| {
            (
                name.clone(),
                Self { unfinished: has(value, "could_be"), few: has(value, "needs"), split: false },
            )
        })
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            unfinished: self.unfinished || other.unfinished,
            few: self.few || other.few,
            split: self.split || other.split,
        }
    }

    /// Those of one metric over these seeds: besides these marks whether the seeds fall apart.
    #[must_use]
    pub(crate) fn over(self, samples: &[f64]) -> Self {
        Self { split: fall_apart(samples), ..self }
    }

    /// Behind a number.
    pub fn text(self) -> String {
        let marks = [("†", self.unfinished), ("‡", self.few), ("§", self.split)];
        marks.into_iter().filter(|(_, has)| *has).map(|(mark, _)| mark).collect()
    }

    /// The meaning of each of these marks, a line each.
    pub fn legend(self) -> Vec<String> {
        let unfinished = self.unfinished.then(|| {
            format!(
                "† leaves out unfinished flows, with which it could be larger ({})",
                Code::UnfinishedLeftOut.name()
            )
        });
        let few = self
            .few
            .then(|| format!("‡ of fewer flows than this percentile needs ({})", Code::FewValues.name()));
        let split = self.split.then(|| {
            let code = Code::SeedsApart.name();
            format!("§ seeds fall into two groups far apart, and the interval describes neither ({code})")
        });
        unfinished.into_iter().chain(few).chain(split).collect()
    }
}

impl From<Doubt> for Marks {
    fn from(Doubt { needs, could_be, .. }: Doubt) -> Self {
        Self { unfinished: could_be.is_some(), few: needs.is_some(), split: false }
    }
}

impl Serialize for Marks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = [("unfinished", self.unfinished), ("few", self.few), ("split", self.split)];
        serializer.collect_seq(names.into_iter().filter(|(_, has)| *has).map(|(name, _)| name))
    }
}

/// Percentiles of a group that say most about it, the most telling first.
const TELLING: [&str; 4] = ["p99_rpc_slowdown", "p99_slowdown", "p99_fct_us", "p50_fct_us"];

/// Warnings about these percentiles: one for each group of which something has not ended. Those of few values have their mark.
pub(crate) fn warnings<'a>(
    groups: impl Iterator<Item = &'a str>,
    uncertain: &[Uncertain],
) -> Vec<Diagnostic> {
    let of_group = |group: &str| -> Vec<(&str, &Uncertain)> {
        let own = |found: &'_ Uncertain| found.name.split_once('.').is_some_and(|(name, _)| name == group);
        let own = uncertain.iter().filter(|found| own(found));
        own.filter_map(|found| Some((found.name.split_once('.')?.1, found))).collect()
    };
    groups.filter_map(|group| unfinished(group, &of_group(group))).collect()
}

fn unfinished(group: &str, found: &[(&str, &Uncertain)]) -> Option<Diagnostic> {
    let rising = || found.iter().filter(|(_, found)| found.could_be.is_some());
    let place = |metric: &str| TELLING.iter().position(|telling| *telling == metric).unwrap_or(TELLING.len());
    let (metric, found) = rising().min_by_key(|(metric, _)| place(metric))?;
    let (leave_out, could) =
        if metric.contains("mean") { ("means", "would be at least") } else { ("percentiles", "could be") };
    let could_be = found.could_be.filter(|could_be| could_be.is_finite());
    let could_be = could_be.map_or("anything above".into(), number);
    let what = if metric.contains("_rpc") { "RPCs" } else { "flows" };
    let message = format!(
        "{} of {} {what} of traffic \"{group}\" have not ended, and its {leave_out} leave them out: {metric} is {}, and {could} {could_be}",
        grouped(found.missing as i64),
        grouped((found.of + found.missing) as i64),
        number(found.value),
    );
    let help = "let them finish with stop.drain, or leave late ones out with measure.until";
    Some(Diagnostic::warning(Code::UnfinishedLeftOut, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncertain(name: &str, of: usize, needs: Option<usize>, could_be: Option<f64>) -> Uncertain {
        Uncertain { name: name.into(), value: 31.125, of, needs, missing: 12, could_be }
    }

    fn said(found: &[Uncertain]) -> Vec<String> {
        warnings(["web", "dc"].into_iter(), found).into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn each_group_with_unfinished_flows_says_what_its_most_telling_percentile_could_be() {
        let found = [
            uncertain("web.p99_fct_us", 988, None, Some(99.0)),
            uncertain("web.p99_slowdown", 988, None, Some(45.25)),
            uncertain("total.p99_slowdown", 988, None, Some(45.25)),
            uncertain("dc.p99_fct_us", 988, None, Some(f64::INFINITY)),
        ];
        let expected = [
            "12 of 1 000 flows of traffic \"web\" have not ended, and its percentiles leave them out: p99_slowdown is 31.12, and could be 45.25",
            "12 of 1 000 flows of traffic \"dc\" have not ended, and its percentiles leave them out: p99_fct_us is 31.12, and could be anything above",
        ];
        assert_eq!(said(&found), expected);
    }

    #[test]
    fn few_flows_have_a_mark_and_no_warning() {
        let found = uncertain("web.p95_slowdown", 150, Some(200), None);
        assert_eq!((found.marks().text(), said(&[found])), ("‡".into(), vec![]));
    }

    #[test]
    fn marks_are_read_from_what_was_written() {
        let found =
            [uncertain("a.x", 9, Some(20), Some(f64::INFINITY)), uncertain("a.y", 30, None, Some(40.0))];
        let written: serde_json::Map<_, _> =
            found.iter().map(|found| (found.name.clone(), found.to_json())).collect();
        let read: Vec<_> = Marks::read(&json!({ "uncertain": written })).collect();
        assert_eq!(read, found.map(|found| (found.name.clone(), found.marks())));
        assert_eq!(Marks::read(&json!({})).count(), 0, "older results have none");
        assert_eq!([read[0].1.text(), read[1].1.text()], ["†‡", "†"]);
    }
}
