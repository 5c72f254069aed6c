//! The files of a reproduction: the page, the JSON, the scenarios. The Markdown is in `markdown.rs`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::markdown::{ROWS, VERDICTS};
use super::{FigureOutcome, Judged, ParameterOutcome, ParameterRow, Reproduction, Table};
use crate::diagnostic::Checked;
use crate::numbers::{number, with_interval};
use crate::report::fill_page;
use crate::results::Output;
use crate::statistics::Estimate;

impl Reproduction {
    /// Writes all files; of values that were measured before, those that need nothing else.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, output: &Output) -> Checked<()> {
        let claims = serde_json::to_string_pretty(&self.to_json()).unwrap_or_default() + "\n";
        output.write_text("", "claims.json", &claims)?;
        output.write_text("", "report.md", &self.markdown())?;
        output.write_text("", "measured.json", &self.stored.text())?;
        if self.scenarios.is_empty() {
            return Ok(());
        }
        output.write_text("", "report.html", &self.page())?;
        for (name, text) in &self.scenarios {
            let head = format!("# {}: {name}, as it was run by {}\n", self.paper.name, self.command());
            output.write_text("scenarios", &format!("{name}.toml"), &(head + text))?;
        }
        Ok(())
    }

    /// All claims, as `claims.json` holds them. Infinite values are `"inf"`; a relation is reported as text and measured as
    /// a ratio. `details` has what else is known of each claim.
    pub fn to_json(&self) -> Value {
        let claim = |judged: &Judged| {
            let Judged { claim, measured, verdict, .. } = judged;
            let reported = claim.reported().map_or_else(|| json!(judged.reported_text()), json_number);
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
            let details = json!({
                "figure": claim.figure,
                "quantity": judged.quantity_text(),
                "unit": claim.unit,
                "own": claim.own,
                "not_counted": claim.not_counted,
                "chosen_by_it": judged.fitted,
                "samples": judged.measured.map_or(0, |estimate| estimate.samples),
                "range": judged.measured.map(|Estimate { range: (least, most), .. }| [least, most].map(json_number)),
                "explanation": judged.explanation(),
            });
            (claim.id.clone(), details)
        };
        json!({
            "paper": self.paper.name,
            "title": self.paper.title,
            "narrows": self.narrows,
            "command": self.command(),
            "quick": self.quick,
            "figure": self.figure,
            "seeds": self.seeds,
            "verdicts": self.tally(),
            "own_verdicts": self.own_tally(),
            "not_counted": self.not_counted(),
            "errors": self.errors,
            "left_out": self.left_out,
            "claims": self.claims().map(claim).collect::<Vec<_>>(),
            "details": self.claims().map(details).collect::<serde_json::Map<_, _>>(),
        })
    }

    /// The whole as a page without anything to load.
    pub fn page(&self) -> String {
        let paper = &self.paper;
        let data = json!({
            "title": paper.title,
            "source": paper.source,
            "about": paper.about,
            "caption": format!("{} · {} · narrows {}", self.command(), self.seeds_text(), self.narrows),
            "tally": self.tally(),
            "tallies": self.score().to_string(),
            "errors": self.errors,
            "left_out": self.left_out_text(),
            "summary": self.summary(),
            "verdicts": VERDICTS,
            "figures": self.figures_json(),
            "parameters": self.parameters.iter().map(parameter_data).collect::<Vec<_>>(),
            "rows": ROWS,
            "warnings": self.grouped_warnings(),
        });
        fill_page(&format!("{}, repeated", paper.title), &[include_str!("../../assets/repro.js")], &data)
    }

    /// Figures and tables with their claims and the points of their charts, as the page draws them.
    pub fn figures_json(&self) -> Value {
        self.figures.iter().map(figure_data).collect()
    }

    pub(super) fn left_out_text(&self) -> String {
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
    let FigureOutcome { figure, charts, .. } = outcome;
    let claim_data = |judged: &&Judged| {
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
            "not_counted": judged.claim.not_counted,
            "explanation": judged.explanation(),
        })
    };
    let part = |(heading, claims): (String, Vec<&Judged>)| json!({ "heading": heading, "claims": claims.iter().map(claim_data).collect::<Vec<_>>() });
    json!({
        "name": figure.name,
        "title": figure.title,
        "shows": figure.shows,
        "tables": figure.tables.iter().map(|table| table_data(table, outcome)).collect::<Vec<_>>(),
        "charts": charts,
        "parts": outcome.parts().into_iter().map(part).collect::<Vec<_>>(),
    })
}

fn table_data(table: &Table, outcome: &FigureOutcome) -> Value {
    let claims = &outcome.claims;
    let values = claims.iter().filter(|judged| judged.claim.reported().is_some());
    let by_quantity: BTreeMap<&str, &Judged> =
        values.map(|judged| (judged.claim.quantity.as_str(), judged)).collect();
    let cell = |row: &str, column: &str| {
        let quantity = format!("{}.{row}.{column}", table.group);
        let Some(judged) = by_quantity.get(quantity.as_str()) else {
            let measured = outcome.cells.get(&quantity)?;
            return Some(json!({ "measured": with_interval(Some(measured), "") }));
        };
        Some(json!({
            "reported": number(judged.claim.reported()?),
            "measured": judged.measured_text(),
            "verdict": judged.verdict,
        }))
    };
    let row = |(key, label): &(String, String)| {
        let cells: Vec<_> = table.columns.iter().map(|(column, _)| cell(key, column)).collect();
        json!({ "label": label, "cells": cells })
    };
    let columns: Vec<_> = table.columns.iter().map(|(_, label)| label).collect();
    json!({ "columns": columns, "rows": table.rows.iter().map(row).collect::<Vec<_>>() })
}

fn parameter_data(outcome: &ParameterOutcome) -> Value {
    let ParameterOutcome { parameter, rows } = outcome;
    let row = |row: &ParameterRow| json!({ "value": row.value, "found": row.texts().collect::<Vec<_>>() });
    json!({
        "name": parameter.name,
        "value": parameter.value,
        "why": parameter.why,
        "fitted": parameter.fitted,
        "watched": parameter.watched,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
