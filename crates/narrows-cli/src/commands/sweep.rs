use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::sweep::{
    self, Campaign, Damaged, Health, Manifest, Merged, PointSummary, Report, Settings, Shard, Store, Sweep,
};
use narrows_proto::units::Bytes;
use serde_json::{Map, Value, json};

use super::files;
use crate::progress::{CELLS_KEPT, Cells, catch_interrupts, goes_on};
use crate::{Status, args, fail, show};

/// More different warnings than this are counted, not shown.
const WARNINGS: usize = 5;
/// More cells that failed than this are counted, not listed.
const FAILURES: usize = 20;

/// Runs the cells of a sweep that are not there yet, and makes one data set of all.
pub(crate) fn sweep(arguments: &args::Sweep) -> Checked<Status> {
    let mut sweep = Sweep::read(&arguments.sweep)?;
    for assignment in &arguments.overrides {
        sweep.set(assignment)?;
    }
    if let Some(seeds) = arguments.seeds {
        sweep.set_seeds(seeds)?;
    }
    sweep.check_size(arguments.yes)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&sweep.name));
    sweep.resume(&out)?;
    let manifest = Arc::new(sweep.manifest()?);
    let execution = &arguments.execution;
    if !execution.json {
        say!("{}", headline(&manifest));
    }
    if arguments.dry_run {
        return dry_run(&sweep, &manifest, &out, execution);
    }
    let store = Store::open(&out, &manifest)?;
    catch_interrupts(CELLS_KEPT);
    let options = execution.options(usize::MAX);
    let settings = Settings {
        jobs: options.jobs,
        threads: options.threads,
        retries: arguments.retries,
        shard: arguments.shard,
        force: options.force,
    };
    let campaign = Campaign::new(Arc::new(sweep), &manifest, &store, settings)?;
    show_warnings(&campaign, &manifest);
    campaign.found().iter().for_each(fail::show_one);
    let cells = Cells::new(campaign.tally(), execution.quiet || execution.json);
    let report = sweep::run(campaign, &store, settings, &|event| {
        cells.tell(event);
        goes_on()
    })?;
    cells.finish();
    list_failures(&report, &manifest);
    if let Some(rejection) = report.stopped {
        complain!("{}", so_far(&report.tally));
        return Err(rejection);
    }
    let status = match &report {
        Report { interrupted: true, .. } => Status::Interrupted,
        Report { failures, .. } if !failures.is_empty() => Status::Broken,
        _ => Status::Done,
    };
    if !execution.quiet {
        complain!("{}", so_far(&report.tally));
    }
    if status != Status::Done || arguments.shard.is_some() {
        return Ok(unfinished(status, &report, &manifest, arguments.shard, &out, execution));
    }
    let points = sweep::assemble(&manifest, &store)?;
    print(&manifest, &points, &out, execution.json, &report);
    Ok(status)
}

/// Puts folders of shards together.
pub(crate) fn merge(arguments: &args::Merge) -> Checked<Status> {
    let merged = sweep::merge(&arguments.folders, &arguments.out)?;
    merged.warnings().iter().for_each(fail::show_one);
    let Merged { manifest, points, damaged, .. } = merged;
    if arguments.json {
        let mut output = to_json(&manifest, &points, &arguments.out);
        output["damaged"] = ids(&damaged);
        say!("{}", pretty(&output));
    } else {
        say!("{}", headline(&manifest));
        say_part!("{}", show::points(&manifest, &points));
        say!("wrote {}/  ({})", arguments.out.display(), files(&arguments.out));
    }
    Ok(Status::Done)
}

fn headline(manifest: &Manifest) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let points = count(manifest.points.len(), "point");
    let seeds = match &manifest.until {
        None => count(manifest.seeds as usize, "seed"),
        Some(until) => format!(
            "{} to {} seeds, until {} is known to ±{} %",
            manifest.seeds,
            until.most,
            until.metric,
            narrows::numbers::number(until.half_width * 100.0)
        ),
    };
    format!("{} · {points} × {seeds} · narrows {}", manifest.name, manifest.engine)
}

/// Tells what would be run.
fn dry_run(sweep: &Sweep, manifest: &Manifest, out: &Path, execution: &args::Execution) -> Checked<Status> {
    sweep.changed_inputs().iter().for_each(fail::show_one);
    let points: Vec<usize> = (0..manifest.points.len()).collect();
    let estimates = sweep.estimate(manifest, &points, usize::from(execution.threads))?;
    let asked = manifest.points.iter().flat_map(|point| point.cells.iter().take(manifest.seeds as usize));
    let mut ids: Vec<&String> = asked.collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    let health: Vec<_> = ids.iter().map(|id| Store::health_in(out, id)).collect();
    let there = health.iter().filter(|health| health.is_sound()).count();
    let damaged = health.iter().filter(|health| matches!(health, Health::Damaged(_))).count();
    let memory = estimates.iter().map(|estimate| estimate.memory).max().unwrap_or(Bytes::ZERO);
    let hops = estimates.iter().map(|estimate| estimate.cost).sum::<f64>() * f64::from(manifest.seeds);
    if execution.json {
        let axes: Map<_, _> = sweep
            .axes
            .iter()
            .map(|axis| (axis.name.clone(), axis.steps.iter().map(|step| step.value.clone()).collect()))
            .collect();
        let output = json!({
            "name": manifest.name, "out": out, "engine": manifest.engine, "axes": axes,
            "points": manifest.points.len(), "cells": ids.len(), "there": there, "damaged": damaged,
            "memory_bytes": memory.get(), "packet_hops": hops,
        });
        say!("{}", pretty(&output));
        return Ok(Status::Done);
    }
    for axis in &sweep.axes {
        let steps: Vec<_> = axis.steps.iter().map(sweep::Step::text).collect();
        say!("  {}: {}", axis.name, steps.join(", "));
    }
    let same =
        if all > ids.len() { format!(" ({} of {all} are the same)", all - ids.len()) } else { String::new() };
    let damaged = if damaged > 0 { format!(", {damaged} are damaged") } else { String::new() };
    say!("{} cells{same}, {there} are there in {}{damaged}", ids.len(), out.display());
    say!(
        "a cell needs up to {memory:.1} of memory; all together about {} M packet-hops",
        narrows::numbers::number(hops / 1e6)
    );
    Ok(Status::Done)
}

fn show_warnings(campaign: &Campaign, manifest: &Manifest) {
    let warnings = campaign.warnings();
    for (point, warning) in warnings.iter().take(WARNINGS) {
        let mut warning = warning.clone();
        if !manifest.axes.is_empty() {
            let at = format!("at the point {}", manifest.describe(*point));
            warning.help = Some(warning.help.map_or(at.clone(), |help| format!("{help}\n{at}")));
        }
        // Its place is in a text that nobody wrote.
        fail::show_one(&warning.at(None));
    }
    if warnings.len() > WARNINGS {
        complain!("and {} more warnings; run.json of each cell has them", warnings.len() - WARNINGS);
    }
}

fn list_failures(report: &Report, manifest: &Manifest) {
    for failure in report.failures.iter().take(FAILURES) {
        let (point, seed) = (manifest.describe(failure.want.point), failure.want.seed);
        complain!("failed: {point}, seed {seed}: {}", failure.reason);
    }
    if report.failures.len() > FAILURES {
        complain!("and {} more cells failed", report.failures.len() - FAILURES);
    }
}

fn so_far(tally: &sweep::Tally) -> String {
    let failed = if tally.failed > 0 { format!(", {} failed", tally.failed) } else { String::new() };
    format!("{} cells: {} were there, {} run{failed}", tally.cells, tally.found, tally.done)
}

/// Tells what is left to do.
fn unfinished(
    status: Status,
    report: &Report,
    manifest: &Manifest,
    shard: Option<Shard>,
    out: &Path,
    execution: &args::Execution,
) -> Status {
    if execution.json {
        let failed = report.failures.iter().map(|failure| {
            let want = &failure.want;
            json!({ "point": want.point, "seed": want.seed, "cell": want.id, "reason": failure.reason })
        });
        let failed: Vec<_> = failed.collect();
        let tally = &report.tally;
        let output = json!({
            "name": manifest.name, "out": out, "engine": manifest.engine, "cells": tally.cells,
            "there": tally.found, "run": tally.done, "damaged": ids(&report.damaged), "failed": failed, "complete": false,
        });
        say!("{}", pretty(&output));
        return status;
    }
    match (status, shard) {
        (Status::Done, Some(Shard { index, of })) => {
            say!("shard {index}/{of} is done: its cells are in {}/cells", out.display());
            say!("when all are: narrows merge {} ... --out DIR", out.display());
        }
        _ => say!("there is no data set yet: start the sweep again to run what is missing"),
    }
    status
}

fn print(manifest: &Manifest, points: &[PointSummary], out: &Path, as_json: bool, report: &Report) {
    if as_json {
        let mut output = to_json(manifest, points, out);
        let tally = &report.tally;
        output["cells"] = json!(tally.cells);
        output["there"] = json!(tally.found);
        output["run"] = json!(tally.done);
        output["damaged"] = ids(&report.damaged);
        output["complete"] = json!(true);
        say!("{}", pretty(&output));
        return;
    }
    say_part!("{}", show::points(manifest, points));
    say!("wrote {}/  ({})", out.display(), files(out));
}

fn ids(cells: &[Damaged]) -> Value {
    cells.iter().map(|cell| cell.id.as_str()).collect()
}

fn to_json(manifest: &Manifest, points: &[PointSummary], out: &Path) -> Value {
    let point = |point: &PointSummary| {
        let values: Map<_, _> = manifest.axes.iter().cloned().zip(point.values.iter().cloned()).collect();
        let metrics: Map<_, _> =
            point.metrics.iter().map(|(name, estimate)| (name.clone(), json!(estimate))).collect();
        json!({ "point": point.point, "values": values, "seeds": point.seeds, "metrics": metrics })
    };
    let points: Vec<_> = points.iter().map(point).collect();
    json!({ "name": manifest.name, "out": out, "engine": manifest.engine, "points": points })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
