//! The files of a reproduction: the page, the Markdown, the JSON, the scenarios.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::{Expected, FigureOutcome, Judged, ParameterOutcome, Reproduction, Table};
use crate::diagnostic::Checked;
use crate::numbers::{number, with_interval};
use crate::report::fill_page;
use crate::results::Output;

/// How verdicts are reached, for whoever reads the page.
const VERDICTS: &str = "Verdicts are computed. match: the measured mean is within 10 % (class exact) or 30 % (class size) of \
    the reported value, or as near as the claim itself asks, or on the stated side of a bound (class bound), or the stated relation holds (class order). shape: it is not, but measured means of the table's \
    column come in the order of the reported ones, wherever these differ by more than the tolerance. miss: neither, or \
    there was nothing to measure. In brackets: 95 % confidence interval over seeds (Student's t). It does not enter the \
    verdict; it tells how far other seeds might move the mean. Relations are measured as ratios, seed by seed.";

impl Reproduction {
    /// Writes all files.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, output: &Output) -> Checked<()> {
        let claims = serde_json::to_string_pretty(&self.to_json()).unwrap_or_default() + "\n";
        output.write_text("", "claims.json", &claims)?;
        output.write_text("", "report.md", &self.markdown())?;
        output.write_text("", "report.html", &self.page())?;
        for (name, text) in &self.scenarios {
            let head = format!("# {}: {name}, as it was run by {}\n", self.paper.name, self.command());
            output.write_text("scenarios", &format!("{name}.toml"), &(head + text))?;
        }
        Ok(())
    }

    /// All claims, as `claims.json` holds them. What is infinite is `"inf"`; a relation is reported as text and measured as
    /// a ratio. `details` has what else is known of each claim.
    pub fn to_json(&self) -> Value {
        let claim = |judged: &Judged| {
            let Judged { claim, measured, verdict } = judged;
            let reported = match &claim.expected {
                Expected::Value { reported, .. } => json_number(*reported),
                _ => json!(judged.reported_text()),
            };
            json!({
                "id": claim.id,
                "source": claim.source,
                "statement": claim.statement,
                "reported": reported,
                "measured": measured.map(|estimate| json_number(estimate.mean)),
                "ci": measured.and_then(|estimate| estimate.interval),
                "class": claim.class,
                "verdict": verdict,
            })
        };
        let details = |judged: &Judged| {
            let claim = &judged.claim;
            let unit = match &claim.expected {
                Expected::Value { unit, .. } | Expected::Bound { unit, .. } => unit,
                _ => "×",
            };
            let details = json!({
                "figure": claim.figure,
                "quantity": judged.quantity_text(),
                "unit": unit,
                "samples": judged.measured.map_or(0, |estimate| estimate.samples),
                "explanation": judged.explanation(),
            });
            (claim.id.clone(), details)
        };
        json!({
            "paper": self.paper.name,
            "title": self.paper.title,
            "narrows": env!("CARGO_PKG_VERSION"),
            "command": self.command(),
            "quick": self.quick,
            "figure": self.figure,
            "seeds": self.seeds,
            "verdicts": self.tally(),
            "left_out": self.left_out,
            "claims": self.claims().map(claim).collect::<Vec<_>>(),
            "details": self.claims().map(details).collect::<serde_json::Map<_, _>>(),
        })
    }

    /// The whole as Markdown.
    pub fn markdown(&self) -> String {
        let paper = self.paper;
        let mut text = format!("# {}\n\n{}\n\n{}\n\n", paper.title, paper.source, paper.about);
        let _ = write!(
            text,
            "This page is written by `{}` (narrows {}, {}).\n\n**{}.**{} {VERDICTS}\n",
            self.command(),
            env!("CARGO_PKG_VERSION"),
            self.seeds_text(),
            self.tally(),
            self.left_out_text(),
        );
        for outcome in &self.figures {
            let figure = &outcome.figure;
            let _ = write!(text, "\n## {}: {}\n\n{}\n", figure.name, figure.title, figure.shows);
            if outcome.claims.is_empty() {
                if outcome.charts.iter().all(|chart| chart.curves.is_empty()) {
                    text += "\nLeft out by the quick form.\n";
                }
                continue;
            }
            for table in &figure.tables {
                text += &markdown_of_table(table, outcome);
            }
            let row = |judged: &Judged| {
                let claim = &judged.claim;
                let verdict = format!("**{}**", judged.verdict.name());
                let (reported, measured) = (judged.reported_text(), judged.measured_text());
                [
                    claim.statement.clone(),
                    claim.source.clone(),
                    reported,
                    measured,
                    judged.class_text(),
                    verdict,
                ]
            };
            let head = ["claim", "source", "reported", "measured", "class", "verdict"];
            text += &table(&head, outcome.claims.iter().map(row));
            for judged in &outcome.claims {
                if let Some(why) = judged.explanation() {
                    let Judged { claim, verdict, .. } = judged;
                    let _ = write!(text, "\n- {} ({}): {why}", claim.statement, verdict.name());
                }
            }
            if outcome.claims.iter().any(|judged| judged.explanation().is_some()) {
                text.push('\n');
            }
        }
        text += &self.markdown_of_parameters();
        if !self.warnings.is_empty() {
            text += "\n## Warnings of the scenarios\n\n";
            self.warnings.iter().for_each(|warning| text += &format!("- {warning}\n"));
        }
        text
    }

    fn markdown_of_parameters(&self) -> String {
        if self.parameters.is_empty() {
            return String::new();
        }
        let mut text = "\n## What the paper leaves open\n".to_owned();
        let row = |outcome: &ParameterOutcome| {
            let parameter = &outcome.parameter;
            [parameter.name, parameter.value, parameter.why].map(str::to_owned)
        };
        text += &table(&["parameter", "value", "why"], self.parameters.iter().map(row));
        let varied: Vec<_> = self.parameters.iter().filter(|outcome| !outcome.rows.is_empty()).collect();
        if !varied.is_empty() {
            text += "\n## How much it matters\n\nThe chosen value stands first; all rows are of the same seeds.\n";
        }
        for ParameterOutcome { parameter, rows } in varied {
            let head = std::iter::once(parameter.name).chain(parameter.watched.iter().map(String::as_str));
            let head: Vec<_> = head.collect();
            let line = |(value, found): &(String, Vec<_>)| {
                let found = found.iter().map(|estimate: &Option<_>| with_interval(estimate.as_ref(), ""));
                std::iter::once(value.clone()).chain(found).collect::<Vec<_>>()
            };
            text += &table(&head, rows.iter().map(line));
        }
        text
    }

    /// The whole as a page without anything to load.
    pub fn page(&self) -> String {
        let paper = self.paper;
        let data = json!({
            "title": paper.title,
            "source": paper.source,
            "about": paper.about,
            "caption": format!("{} · {} · narrows {}", self.command(), self.seeds_text(), env!("CARGO_PKG_VERSION")),
            "tally": self.tally(),
            "left_out": self.left_out_text(),
            "verdicts": VERDICTS,
            "figures": self.figures.iter().map(figure_data).collect::<Vec<_>>(),
            "parameters": self.parameters.iter().map(parameter_data).collect::<Vec<_>>(),
            "warnings": self.warnings,
        });
        fill_page(&format!("{}, repeated", paper.title), include_str!("../../assets/repro.js"), &data)
    }

    fn left_out_text(&self) -> String {
        match self.left_out {
            0 => String::new(),
            1 => " The quick form leaves out 1 claim.".into(),
            count => format!(" The quick form leaves out {count} claims."),
        }
    }
}

/// JSON has no infinity.
fn json_number(value: f64) -> Value {
    if value.is_infinite() { json!(if value > 0.0 { "inf" } else { "-inf" }) } else { json!(value) }
}

fn figure_data(outcome: &FigureOutcome) -> Value {
    let FigureOutcome { figure, claims, charts, .. } = outcome;
    let claim_data = |judged: &Judged| {
        json!({
            "id": judged.claim.id,
            "statement": judged.claim.statement,
            "source": judged.claim.source,
            "quantity": judged.quantity_text(),
            "relation": judged.claim.is_relation(),
            "reported": judged.reported_text(),
            "measured": judged.measured_text(),
            "class": judged.class_text(),
            "verdict": judged.verdict,
            "explanation": judged.explanation(),
        })
    };
    json!({
        "name": figure.name,
        "title": figure.title,
        "shows": figure.shows,
        "tables": figure.tables.iter().map(|table| table_data(table, outcome)).collect::<Vec<_>>(),
        "charts": charts,
        "claims": claims.iter().map(claim_data).collect::<Vec<_>>(),
    })
}

fn table_data(table: &Table, outcome: &FigureOutcome) -> Value {
    let claims = &outcome.claims;
    let values = claims.iter().filter(|judged| matches!(judged.claim.expected, Expected::Value { .. }));
    let by_quantity: BTreeMap<&str, &Judged> =
        values.map(|judged| (judged.claim.quantity.as_str(), judged)).collect();
    let cell = |row: &str, column: &str| {
        let quantity = format!("{}.{row}.{column}", table.group);
        let Some(judged) = by_quantity.get(quantity.as_str()) else {
            let measured = outcome.cells.get(&quantity)?;
            return Some(json!({ "measured": with_interval(Some(measured), "") }));
        };
        let Expected::Value { reported, .. } = &judged.claim.expected else { return None };
        Some(json!({
            "reported": number(*reported),
            "measured": judged.measured_text(),
            "verdict": judged.verdict,
        }))
    };
    let row = |(key, label): &(&str, &str)| {
        let cells: Vec<_> = table.columns.iter().map(|(column, _)| cell(key, column)).collect();
        json!({ "label": label, "cells": cells })
    };
    let columns: Vec<_> = table.columns.iter().map(|(_, label)| label).collect();
    json!({ "columns": columns, "rows": table.rows.iter().map(row).collect::<Vec<_>>() })
}

fn parameter_data(outcome: &ParameterOutcome) -> Value {
    let ParameterOutcome { parameter, rows } = outcome;
    let row = |(value, found): &(String, Vec<_>)| {
        let found: Vec<_> =
            found.iter().map(|estimate: &Option<_>| with_interval(estimate.as_ref(), "")).collect();
        json!({ "value": value, "found": found })
    };
    json!({
        "name": parameter.name,
        "value": parameter.value,
        "why": parameter.why,
        "watched": parameter.watched,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// The paper's table with what was measured in its cells, and what is reported in parentheses.
fn markdown_of_table(of_paper: &Table, outcome: &FigureOutcome) -> String {
    let reported = |quantity: &str| {
        outcome.claims.iter().find_map(|judged| match judged.claim.expected {
            Expected::Value { reported, .. } if judged.claim.quantity == quantity => Some(reported),
            _ => None,
        })
    };
    let cell = |row: &str, column: &str| {
        let quantity = format!("{}.{row}.{column}", of_paper.group);
        let measured = outcome.cells.get(&quantity).map_or("–".into(), |estimate| number(estimate.mean));
        match reported(&quantity) {
            Some(reported) => format!("{measured} ({})", number(reported)),
            None => measured,
        }
    };
    let head = std::iter::once("").chain(of_paper.columns.iter().map(|(_, label)| *label));
    let row = |(key, label): &(&str, &str)| {
        let cells = of_paper.columns.iter().map(|(column, _)| cell(key, column));
        std::iter::once((*label).to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let text = table(&head.collect::<Vec<_>>(), of_paper.rows.iter().map(row));
    format!("{text}\nMeasured (reported).\n")
}

/// A table in Markdown, with a blank line before.
fn table<R: IntoIterator<Item = String>>(head: &[&str], rows: impl Iterator<Item = R>) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<_> = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = format!("\n{}", line(&mut head.iter().map(|cell| (*cell).to_owned())));
    text += &line(&mut head.iter().map(|_| "---".to_owned()));
    rows.for_each(|row| text += &line(&mut row.into_iter()));
    text
}
