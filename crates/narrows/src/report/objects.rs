//! Results of runs and comparisons, for programs.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Cell, Digest, Opening, Summary, summarize};

/// Runs of one scenario: `narrows run --json`. `out` is the folder of the results, if they are in one.
pub fn run_object(cell: &Cell, out: Option<&Path>) -> Value {
    let run = |run: &Digest| {
        let metrics = run.metrics.iter().map(|metric| (metric.name.clone(), json!(metric.value)));
        json!({
            "seed": run.seed, "complete": run.complete, "metrics": metrics.collect::<Map<_, _>>(), "activity": run.activity,
            "paused": run.pauses, "collectives": run.collectives,
        })
    };
    let runs: Vec<_> = cell.runs.iter().map(run).collect();
    let summary = summarize(std::slice::from_ref(cell));
    json!({ "scenario": cell.name, "out": out, "runs": runs, "summary": summary })
}

/// A comparison: `narrows compare --json`. `out` is the folder of the results, if they are in one.
pub fn comparison_object(title: &str, cells: &[Cell], summary: &Summary, out: Option<&Path>) -> Value {
    let names: Vec<_> = cells.iter().map(|cell| &cell.name).collect();
    let Opening { differences, findings, .. } = Opening::of(cells, summary);
    json!({
        "title": title, "out": out, "cells": names, "differs": differences, "findings": findings, "summary": summary,
    })
}
