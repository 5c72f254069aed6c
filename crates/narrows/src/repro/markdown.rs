//! A reproduction as Markdown.

use std::fmt::Write;

use super::outcome::{DrawnChart, DrawnCurve};
use super::summary::Summary;
use super::{FigureOutcome, Judged, ParameterOutcome, ParameterRow, Points, Reproduction, Table};
use crate::numbers::number;

/// Rules of verdicts, for readers of the page.
pub(super) const VERDICTS: &str = "Verdicts are computed. match: the measured value is within 10 % (class exact) or 30 % (class size) of \
    the reported one, from both sides, or as near as the claim itself asks, or on the stated side of a bound or between two (class \
    bound), or the larger one is (class order). calibrated: so it is, but a parameter was chosen by this number, which cannot confirm it. \
    shape: it is not, but measured values of the table's column come in the order of the reported ones, wherever these differ by more \
    than the tolerance. explained: it is not, but it is in another set-up, which predicts another reported number as well. open: it is, \
    but the interval reaches beyond twice the band, or over the bound: other seeds might say otherwise. miss: none of these, or there was nothing \
    to measure. Measured is the geometric mean over seeds (arithmetic if a seed has 0); relations are measured as \
    ratios, seed by seed. In brackets: 95 % confidence interval (Student's t of logarithms). In parentheses, with fewer than three \
    seeds or a seed that has 0: the smallest and the largest value, or why there is no interval. Unless a number is asked for, \
    experiments have three seeds, and those with an undecided claim five, then ten: one whose interval has values that hold and values \
    that do not, or, without an interval, the range of its values; or of which only one or two seeds gave a value. So have those by which \
    a miss may be explained, if what was measured there leaves that undecided.";

/// Meaning of the rows of a parameter's table.
pub(super) const ROWS: &str = "The chosen value stands first. Other rows have what was measured, and its ratio to the first row, seed by seed: \
    seeds often differ by more than a parameter changes. All rows are of the same seeds.";

impl Reproduction {
    /// The whole as Markdown.
    pub fn markdown(&self) -> String {
        let paper = &self.paper;
        let mut text = format!("# {}\n\n{}\n\n{}\n\n", paper.title, paper.source, paper.about);
        let _ = writeln!(
            text,
            "**{}.**{} Written by `{}` (narrows {}, {}); [how verdicts are reached](#verdicts).",
            self.score(),
            self.left_out_text(),
            self.command(),
            self.narrows,
            self.seeds_text(),
        );
        text += &self.summary().map_or_else(String::new, |summary| markdown_of_summary(&summary));
        if !self.errors.is_empty() {
            text += "\n## Errors of this page\n\n";
            self.errors.iter().for_each(|error| text += &format!("- {error}\n"));
        }
        for outcome in &self.figures {
            let figure = &outcome.figure;
            let _ = write!(text, "\n## {}: {}\n\n{}\n", figure.name, figure.title, figure.shows);
            for table in &figure.tables {
                text += &markdown_of_table(table, outcome);
            }
            for (chart, drawn) in figure.charts.iter().zip(&outcome.charts) {
                if chart.curves.iter().any(|curve| matches!(curve.points, Points::Sweep(_))) {
                    text += &markdown_of_chart(drawn);
                }
            }
            if outcome.claims.is_empty() && outcome.charts.iter().all(|chart| chart.curves.is_empty()) {
                text += "\nLeft out by the quick form.\n";
            }
            for (heading, claims) in outcome.parts() {
                text += &format!("\n**{heading}.**\n{}", markdown_of_claims(&claims));
            }
        }
        text += &self.markdown_of_parameters();
        if !self.warnings.is_empty() {
            text += "\n## Warnings of the scenarios\n\n";
            self.grouped_warnings().iter().for_each(|warning| text += &format!("- {warning}\n"));
        }
        text + &format!("\n## Verdicts\n\n{VERDICTS}\n")
    }

    /// Warnings that several experiments have, once: `text: name, name`.
    pub(super) fn grouped_warnings(&self) -> Vec<String> {
        let split = self.warnings.iter().map(|warning| {
            let (name, text) = warning.split_once(": ").unwrap_or(("", warning));
            (text, name)
        });
        together(split).into_iter().map(|(text, names)| format!("{text}: {}", names.join(", "))).collect()
    }

    fn markdown_of_parameters(&self) -> String {
        if self.parameters.is_empty() {
            return String::new();
        }
        let mut text = "\n## What the paper leaves open\n".to_owned();
        let row = |outcome: &ParameterOutcome| {
            let parameter = &outcome.parameter;
            let [name, value, why] = [&parameter.name, &parameter.value, &parameter.why].map(String::clone);
            [name, value, why, parameter.fitted.join(", ")]
        };
        let head = ["parameter", "value", "why", "chosen by the numbers of"];
        text += &table(&head, self.parameters.iter().map(row));
        let varied: Vec<_> = self.parameters.iter().filter(|outcome| !outcome.rows.is_empty()).collect();
        if !varied.is_empty() {
            text += &format!("\n## How much it matters\n\n{ROWS}\n");
        }
        for ParameterOutcome { parameter, rows } in varied {
            let head =
                std::iter::once(parameter.name.as_str()).chain(parameter.watched.iter().map(String::as_str));
            let head: Vec<_> = head.collect();
            let line = |row: &ParameterRow| {
                std::iter::once(row.value.clone()).chain(row.texts()).collect::<Vec<_>>()
            };
            text += &table(&head, rows.iter().map(line));
        }
        text
    }
}

fn markdown_of_summary(summary: &Summary) -> String {
    let answers = summary.answers.iter().map(|(question, answer)| format!("- **{question}**: {answer}\n"));
    let head: Vec<_> = ["", "claims"].into_iter().chain(summary.verdicts.iter().copied()).collect();
    let row = |(name, claims, counts): &(String, usize, Vec<usize>)| {
        let count = |count: &usize| if *count == 0 { "–".to_owned() } else { count.to_string() };
        [name.clone(), claims.to_string()].into_iter().chain(counts.iter().map(count)).collect::<Vec<_>>()
    };
    format!("\n{}{}", answers.collect::<String>(), table(&head, summary.figures.iter().map(row)))
}

/// Claims as a table, and below it why those that do not hold do not.
fn markdown_of_claims(claims: &[&Judged]) -> String {
    let row = |judged: &&Judged| {
        let Judged { claim, verdict, .. } = judged;
        let verdict = format!("**{}**", verdict.name());
        let (reported, measured) = (judged.reported_text(), judged.measured_text());
        [claim.statement.clone(), claim.source.clone(), reported, measured, judged.class_text(), verdict]
    };
    let head = ["claim", "source", "reported", "measured", "class", "verdict"];
    let mut text = table(&head, claims.iter().map(row));
    let why = |judged: &&Judged| {
        let uncounted = judged.claim.not_counted.as_ref().map(|because| format!("not counted: {because}."));
        [uncounted, judged.explanation()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let explained = claims.iter().map(|judged| (why(judged), judged));
    for (why, claims) in together(explained.filter(|(why, _)| !why.is_empty())) {
        let claims: Vec<_> = claims
            .iter()
            .map(|Judged { claim, verdict, .. }| format!("{} ({})", claim.statement, verdict.name()))
            .collect();
        let _ = write!(text, "\n- {}: {why}", claims.join("; "));
    }
    if text.ends_with('\n') { text } else { text + "\n" }
}

/// Groups of the same key, in the order of the first of each.
fn together<K: PartialEq, T>(all: impl Iterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, each) in all {
        match groups.iter_mut().find(|(of, _)| *of == key) {
            Some((_, group)) => group.push(each),
            None => groups.push((key, vec![each])),
        }
    }
    groups
}

/// The paper's table with what was measured in its cells, and what is reported in parentheses.
fn markdown_of_table(of_paper: &Table, outcome: &FigureOutcome) -> String {
    let reported = |quantity: &str| {
        let claims = outcome.claims.iter().map(|judged| &judged.claim);
        claims.filter(|claim| claim.quantity == quantity).find_map(|claim| claim.reported())
    };
    let cell = |row: &str, column: &str| {
        let quantity = format!("{}.{row}.{column}", of_paper.group);
        let measured = outcome.cells.get(&quantity).map_or("–".into(), |estimate| number(estimate.mean));
        match reported(&quantity) {
            Some(reported) => format!("{measured} ({})", number(reported)),
            None => measured,
        }
    };
    let head = std::iter::once("").chain(of_paper.columns.iter().map(|(_, label)| label.as_str()));
    let row = |(key, label): &(String, String)| {
        let cells = of_paper.columns.iter().map(|(column, _)| cell(key, column));
        std::iter::once(label.clone()).chain(cells).collect::<Vec<_>>()
    };
    let text = table(&head.collect::<Vec<_>>(), of_paper.rows.iter().map(row));
    let any = of_paper.quantities().iter().any(|quantity| reported(quantity).is_some());
    format!("{text}\nMeasured{}.\n", if any { " (reported)" } else { "" })
}

/// A chart of swept quantities as a table: a row for each x, a column for each curve.
fn markdown_of_chart(chart: &DrawnChart) -> String {
    let mut places: Vec<f64> =
        chart.curves.iter().flat_map(|curve| &curve.points).map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.is_empty() {
        return String::new();
    }
    let head =
        std::iter::once(chart.x.label.as_str()).chain(chart.curves.iter().map(|curve| curve.label.as_str()));
    let row = |x: &f64| {
        let at = |curve: &DrawnCurve| {
            let point = curve.points.iter().find(|point| point.0 == *x);
            point.map_or("–".to_owned(), |point| number(point.1))
        };
        std::iter::once(number(*x)).chain(chart.curves.iter().map(at)).collect::<Vec<_>>()
    };
    let unit = if chart.y.label.is_empty() { String::new() } else { format!(" ({})", chart.y.label) };
    format!("\n{}{unit}:\n{}", chart.title, table(&head.collect::<Vec<_>>(), places.iter().map(row)))
}

/// A table in Markdown, with a blank line before.
pub(crate) fn table<R: IntoIterator<Item = String>>(head: &[&str], rows: impl Iterator<Item = R>) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<_> = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = format!("\n{}", line(&mut head.iter().map(|cell| (*cell).to_owned())));
    text += &line(&mut head.iter().map(|_| "---".to_owned()));
    rows.for_each(|row| text += &line(&mut row.into_iter()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_several_have_is_written_once_where_it_comes_first() {
        let all = [("queue", "a"), ("drops", "b"), ("queue", "c")];
        assert_eq!(together(all.into_iter()), [("queue", vec!["a", "c"]), ("drops", vec!["b"])]);
    }
}
