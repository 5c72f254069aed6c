//! A demonstration on this machine: two real hosts, without and with a near-source loop.

use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::report::{Cell, page};
use narrows::results::{COMPARISON, Output, Results};
use narrows::twin::quantities;
use narrows_live::{Attached, Live, Options};
use serde_json::json;

use super::compare::{Show, folder_name, print_cells};
use super::live::foresee;
use super::runs::{show_doubts, write_run};
use crate::progress::{KEPT, catch_interrupts, goes_on, is_interrupted};
use crate::{Status, args, show};

const SCENARIO: &str = include_str!("demo_live.toml");

/// Names and overrides.
const VARIANTS: [(&str, &[&str]); 2] = [
    ("cubic", &[]),
    (
        "annulus(cubic)",
        &[
            "traffic.bulk.cc={ annulus = { end_to_end = { cubic = {} }, near_source = { dc_rtt = \"1 ms\" } } }",
            "switches.default.congestion_point={ qcn = { set_point = \"50 kB\" } }",
        ],
    ),
];

/// Shows the kernel's CUBIC in a deep buffer, alone and with a near-source loop.
pub(crate) fn demo_live(arguments: &args::Demo) -> Checked<Status> {
    let plan = |(_, overrides): (&str, &[&str])| {
        let mut document = Document::parse("demo-live.toml", SCENARIO, "")?;
        overrides.iter().try_for_each(|assignment| document.set(assignment))?;
        Ok(Arc::new(Plan::new(document)?))
    };
    let plans = VARIANTS.into_iter().map(plan).collect::<Checked<Vec<_>>>()?;
    let lives = plans.iter().map(|plan| Live::new(plan, Options::default())).collect::<Checked<Vec<_>>>()?;
    let foreseen = foresee(&lives[0], false)?;
    let (overwrite, own) = (arguments.out.is_none(), PathBuf::from("out/demo-live"));
    let title = &plans[0].scenario.name;
    let show =
        Show { title, out: arguments.out.clone().unwrap_or(own), overwrite, markdown: false, seeds: 1 };
    let output = Output::begin(&show.out, show.overwrite)?;
    catch_interrupts(KEPT);
    if !arguments.execution.json {
        say!("{}", show::headline(&plans[0], 1));
        say!("{foreseen}");
    }
    let (mut cells, mut queues, mut is_void) = (Vec::new(), Vec::new(), false);
    for ((name, _), live) in VARIANTS.iter().zip(lives) {
        let results = live.run(Attached::default(), &mut |_| goes_on())?;
        is_void |= results.real.as_ref().is_some_and(|real| real.lateness.is_void());
        queues.push(mean_queue(&results));
        let finished = write_run(&output, &results, &format!("{}/seed-1", folder_name(name)), true)?;
        show_doubts(&finished, Some(name), true);
        cells.push(Cell { name: (*name).to_owned(), runs: vec![finished.digest] });
    }
    output.write_text("", "report.html", &page(title, &cells))?;
    let order = VARIANTS.map(|(name, _)| folder_name(name));
    let order = json!({ "engine": narrows::ENGINE, "cells": order });
    output.write_text("", COMPARISON, &serde_json::to_string_pretty(&order).unwrap_or_default())?;
    output.finish()?;
    print_cells(&cells, &show, &arguments.execution);
    if let ([alone, near], false) = (&queues[..], arguments.execution.json) {
        say!(
            "mean queue: {alone:.0} kB under CUBIC alone, {near:.0} kB with the near-source loop; its set point is 50 kB"
        );
    }
    Ok(match is_void {
        _ if is_interrupted() => Status::Interrupted,
        true => Status::Void,
        false => Status::Done,
    })
}

fn mean_queue(results: &Results) -> f64 {
    let all = quantities(results);
    all.iter().find(|quantity| quantity.name == "mean queue").map_or(0.0, |quantity| quantity.value)
}
