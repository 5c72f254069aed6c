use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::{Checked, Diagnostic};
use narrows::plan::available_memory;
use narrows::sweep::{
    self, Campaign, Damaged, DataSet, Manifest, Merged, PointSummary, Report, Settings, Shard, Store, Sweep,
    Want,
};
use narrows::visible::shown_path;
use serde_json::{Map, Value, json};

use super::report::wrote_sweep;
use crate::progress::{CELLS_KEPT, Cells, catch_interrupts, goes_on};
use crate::{Status, args, fail, show};

/// More different warnings than this are counted, not shown.
const WARNINGS: usize = 5;
/// More cells that would be run than this are counted, not listed.
const CELLS_SHOWN: usize = 10;
/// More cells that failed than this are counted, not listed.
const FAILURES: usize = 20;

/// Runs the cells of a sweep that are not there yet, and makes one data set of all.
pub(crate) fn sweep(arguments: &args::Sweep) -> Checked<Status> {
    carry_out(Sweep::read(&arguments.sweep)?, arguments, print)
}

/// The same of a sweep that has been read. Shows what came out if it has been done.
pub(super) fn carry_out(
    mut sweep: Sweep,
    arguments: &args::Sweep,
    show: impl FnOnce(&Manifest, &DataSet, &Path, bool, &Report) -> Checked<()>,
) -> Checked<Status> {
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
    let options = execution.options(usize::MAX);
    let settings = Settings {
        jobs: options.jobs,
        threads: options.threads,
        retries: arguments.retries,
        shard: arguments.shard,
        force: options.force,
    };
    let sweep = Arc::new(sweep);
    if arguments.dry_run {
        let campaign = Campaign::new(sweep, &manifest, &Store::look(&out, &manifest)?, settings)?;
        return dry_run(&campaign, &manifest, &out, execution);
    }
    let store = Store::open(&out, &manifest)?;
    catch_interrupts(CELLS_KEPT);
    let campaign = Campaign::new(sweep, &manifest, &store, settings)?;
    show_warnings(&campaign);
    let cells = Cells::new(campaign.tally(), execution.quiet || execution.json);
    let report = sweep::run(campaign, &store, settings, &|event| {
        cells.report(event);
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
    let data = sweep::assemble(&manifest, &store)?;
    show(&manifest, &data, &out, execution.json, &report)?;
    Ok(status)
}

/// Puts folders of shards together.
pub(crate) fn merge(arguments: &args::Merge) -> Checked<Status> {
    let merged = sweep::merge(&arguments.folders, &arguments.out)?;
    merged.warnings().iter().for_each(fail::show_one);
    let Merged { manifest, data, damaged, .. } = merged;
    if arguments.json {
        let mut output = to_json(&manifest, &data.points, &arguments.out);
        output["damaged"] = ids(&damaged);
        say!("{}", pretty(&output));
    } else {
        say!("{}", headline(&manifest));
        say_part!("{}", show::points(&manifest, &data.points));
        show::doubts(&manifest, &data).iter().for_each(|line| complain!("{line}"));
        wrote_sweep(&arguments.out);
    }
    Ok(Status::Done)
}

fn headline(manifest: &Manifest) -> String {
    format!("{} · {} · narrows {}", manifest.name, manifest.size(), manifest.engine)
}

/// Tells what would be run and what would be said of it, and writes nothing.
fn dry_run(
    campaign: &Campaign,
    manifest: &Manifest,
    out: &Path,
    execution: &args::Execution,
) -> Checked<Status> {
    show_warnings(campaign);
    campaign.check_memory(available_memory())?;
    let sweep = campaign.sweep();
    let tally = campaign.tally();
    let (memory, hops) = (campaign.largest(), tally.cost);
    if execution.json {
        let axes: Map<_, _> = sweep
            .axes
            .iter()
            .map(|axis| (axis.name.clone(), axis.steps.iter().map(|step| step.value.clone()).collect()))
            .collect();
        let cell = |want: &Want| {
            let Want { point, seed, id, cost, memory } = want;
            json!({ "point": point, "seed": seed, "cell": id, "packet_hops": cost, "memory_bytes": memory.get() })
        };
        let warning = |warning: Diagnostic| json!({ "code": warning.code.name(), "message": warning.message, "help": warning.help });
        let output = json!({
            "name": manifest.name, "out": out, "engine": manifest.engine, "axes": axes,
            "points": manifest.points.len(), "cells": tally.cells, "there": tally.found,
            "damaged": ids(campaign.damaged()),
            "memory_bytes": memory.get(), "packet_hops": hops,
            "warnings": campaign.found().into_iter().chain(campaign.warnings()).map(warning).collect::<Vec<_>>(),
            "order": campaign.waiting().map(cell).collect::<Vec<_>>(),
        });
        say!("{}", pretty(&output));
        return Ok(Status::Done);
    }
    for axis in &sweep.axes {
        let steps: Vec<_> = axis.steps.iter().map(sweep::Step::text).collect();
        say!("  {}: {}", axis.name, steps.join(", "));
    }
    let asked = manifest.points.len() as u64 * u64::from(manifest.seeds);
    // A shard has fewer for another reason, and points of a rule that are done have more.
    let same = match asked.checked_sub(tally.cells) {
        Some(same) if same > 0 && !campaign.is_shard() => format!(" ({same} of {asked} are the same)"),
        _ => String::new(),
    };
    let damaged = match campaign.damaged().len() {
        0 => String::new(),
        damaged => format!(", {damaged} are damaged"),
    };
    say!("{} cells{same}, {} are there in {}{damaged}", tally.cells, tally.found, shown_path(out));
    let left = tally.cells - tally.found;
    if left == 0 {
        say!("nothing is left to run");
        return Ok(Status::Done);
    }
    say!("{left} would be run, the costliest first:");
    let row = |want: &Want| {
        let hops = format!("{} M packet-hops", narrows::numbers::number(want.cost / 1e6));
        [
            format!("{}, seed {}", manifest.describe(want.point), want.seed),
            format!("{hops}, {:.1}", want.memory),
        ]
    };
    say_part!("{}", show::list(campaign.waiting().take(CELLS_SHOWN).map(row)));
    if left > CELLS_SHOWN as u64 {
        say!("  and {} more; --json lists all", left - CELLS_SHOWN as u64);
    }
    say!(
        "a cell needs up to {memory:.1} of memory; all together about {} M packet-hops",
        narrows::numbers::number(hops / 1e6)
    );
    Ok(Status::Done)
}

fn show_warnings(campaign: &Campaign) {
    campaign.found().iter().for_each(fail::show_one);
    let warnings = campaign.warnings();
    warnings.iter().take(WARNINGS).for_each(fail::show_one);
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
            say!("shard {index}/{of} is done: its cells are in {}/cells", shown_path(out));
            say!("when all are: narrows merge {} ... --out DIR", shown_path(out));
        }
        _ => say!("there is no data set yet: restart the sweep to run what is missing"),
    }
    status
}

pub(super) fn print(
    manifest: &Manifest,
    data: &DataSet,
    out: &Path,
    as_json: bool,
    report: &Report,
) -> Checked<()> {
    if as_json {
        let mut output = to_json(manifest, &data.points, out);
        let tally = &report.tally;
        output["cells"] = json!(tally.cells);
        output["there"] = json!(tally.found);
        output["run"] = json!(tally.done);
        output["damaged"] = ids(&report.damaged);
        output["complete"] = json!(true);
        say!("{}", pretty(&output));
        return Ok(());
    }
    say_part!("{}", show::points(manifest, &data.points));
    show::doubts(manifest, data).iter().for_each(|line| complain!("{line}"));
    wrote_sweep(out);
    Ok(())
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
