//! Runs of plans: from documents to plans, from plans to results on the disk and lines on the terminal.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use narrows::diagnostic::{Checked, Code, Diagnostic, Severity};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::report::{Cell, Digest, page_of_run, run_object, summarize};
use narrows::results::{Broken, Output, Results};
use narrows::run::{fit_memory, run_all, run_watched, too_many_threads};
use narrows::visible::shown_path;

use super::folders::files;
use crate::args::{Execution, Input};
use crate::progress::{Meter, goes_on, is_interrupted};
use crate::watch::Board;
use crate::{Status, fail, show};

/// Reads a scenario and applies overrides.
pub(super) fn document(path: &Path, input: &Input) -> Checked<Document> {
    let mut document = Document::read(path)?;
    apply(&mut document, input)?;
    Ok(document)
}

fn apply(document: &mut Document, input: &Input) -> Checked<()> {
    for assignment in &input.overrides {
        document.set(assignment)?;
    }
    if let Some(seed) = input.seed {
        document.set(&format!("seed={seed}"))?;
    }
    Ok(())
}

/// Outlines of plans for consecutive seeds, counting up from the document's own.
pub(super) fn plans(document: &Document, seeds: u32) -> Checked<Vec<Arc<Plan>>> {
    let first = Plan::outline(document.clone())?;
    let seed = first.scenario.seed;
    let Some(last) = seed.checked_add(u64::from(seeds) - 1) else {
        let message = format!("{seeds} seeds from {seed} on, the largest seed is {}", u64::MAX);
        return Err(Diagnostic::error(Code::OutOfRange, message).into());
    };
    let mut plans = vec![Arc::new(first)];
    for more in (seed..=last).skip(1) {
        let mut document = document.clone();
        document.set(&format!("seed={more}"))?;
        plans.push(Arc::new(Plan::outline(document)?));
    }
    Ok(plans)
}

pub(super) fn show_warnings(plan: &Plan) {
    for warning in plan.remarks().filter(|warning| warning.severity == Severity::Warning) {
        fail::show_one(warning);
    }
}

/// Draws all flows of plans of which there are outlines. Shows what is suspicious about the first of them that the outline did
/// not show.
pub(super) fn draw(outlines: Vec<Arc<Plan>>) -> Checked<Vec<Arc<Plan>>> {
    let Some(known) = outlines.first().map(|first| first.warnings.clone()) else { return Ok(outlines) };
    let plans = outlines.into_iter().map(Plan::drawn).collect::<Checked<Vec<_>>>()?;
    let is_known = |warning: &&Diagnostic| {
        known.iter().any(|known| (known.code, &known.place) == (warning.code, &warning.place))
    };
    plans[0].warnings.iter().filter(|warning| !is_known(warning)).for_each(fail::show_one);
    Ok(plans)
}

/// One run: what, under which name, and the subfolder its results go to.
pub(super) struct Job {
    pub(super) plan: Arc<Plan>,
    pub(super) name: String,
    pub(super) within: String,
    /// A page of several runs shows this one over time.
    pub(super) in_front: bool,
}

/// Digest of a finished job.
pub(super) struct Finished {
    pub(super) digest: Digest,
    /// Warnings about the results.
    doubts: Vec<Diagnostic>,
    pub(super) broken: Vec<Broken>,
}

/// Shows what is suspicious about what came out of a run, which may have a name. Traffic that was held up is shown of every seed, the
/// rest of the first.
pub(super) fn show_doubts(finished: &Finished, of: Option<&str>, is_first: bool) {
    let is_shown = |doubt: &&Diagnostic| is_first || doubt.code == Code::HeldUp;
    for doubt in finished.doubts.iter().filter(is_shown) {
        let named = |name: &str| {
            let help = doubt.help.as_ref().map_or_else(String::new, |help| format!("{help}\n"));
            doubt.clone().help(format!("{help}in {name}"))
        };
        fail::show_one(&of.map_or_else(|| doubt.clone(), named));
    }
}

/// Runs all jobs and writes their results. Whoever watches does so on the board.
pub(super) fn execute(
    jobs: &[Job],
    execution: &Execution,
    output: &Output,
    board: Option<&Board>,
) -> Checked<Vec<Finished>> {
    let named = jobs.iter().map(|job| (Arc::clone(&job.plan), job.name.clone())).collect();
    let finish = |number: usize, results: Results| {
        let Job { within, in_front, .. } = &jobs[number];
        write_run(output, &results, within, *in_front)
    };
    side_by_side(named, execution, board, finish)?.into_iter().collect()
}

/// Writes the results of a run and its page. Records over time are kept only of a run in front.
pub(super) fn write_run(
    output: &Output,
    results: &Results,
    within: &str,
    in_front: bool,
) -> Checked<Finished> {
    // Writing takes about as long as the digest, beside which it is done.
    let mut digest = std::thread::scope(|scope| {
        let digest = scope.spawn(|| Digest::of(results));
        output.write(results, within)?;
        digest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    output.write_text(within, "report.html", &page_of_run(&digest))?;
    if !in_front {
        digest.over_time = None;
    }
    let doubts = results.doubts().cloned().collect();
    Ok(Finished { digest, broken: results.broken_expectations(), doubts })
}

/// Prints what came of the runs of one scenario, whose results are in `out`.
pub(super) fn print_runs(cell: Cell, out: &Path, json: bool) {
    let cells = [cell];
    if json {
        let output = run_object(&cells[0], Some(out));
        say!("{}", serde_json::to_string_pretty(&output).unwrap_or_default());
    } else {
        say_part!("{}", show::summary(&cells, &summarize(&cells), false));
        say_part!("{}", show::events(&cells));
        say!("wrote {}/  ({})", shown_path(out), files(out));
    }
}

/// Runs plans, each with a name, shows how far they are, and reports how fast they were.
pub(super) fn side_by_side<T: Send>(
    named: Vec<(Arc<Plan>, String)>,
    execution: &Execution,
    board: Option<&Board>,
    finish: impl Fn(usize, Results) -> T + Send + Sync,
) -> Checked<Vec<T>> {
    let options = execution.options(named.len());
    too_many_threads(options.threads).iter().for_each(fail::show_one);
    let (plans, names): (Vec<_>, Vec<_>) = named.into_iter().unzip();
    let options = fit_memory(&plans, options)?;
    let plans = draw(plans)?;
    let named = plans.iter().cloned().zip(names).collect();
    let began = Instant::now();
    let hops = AtomicU64::new(0);
    let meter = Meter::new(named, execution.quiet || execution.json || board.is_some());
    let finish = |number: usize, results: Results| {
        meter.finish(number);
        hops.fetch_add(results.packet_hops, Ordering::Relaxed);
        finish(number, results)
    };
    let finished = match board {
        None => run_all(&plans, options, |number, progress| meter.report(number, progress), finish)?,
        Some(board) => {
            let watch = |number, plan: &_| {
                let watched = board.begin(number, options.threads);
                let results = run_watched(plan, options, &watched, |_| goes_on());
                board.finish(number);
                results.map(|results| finish(number, results))
            };
            narrows::run::side_by_side(&plans, options, watch).into_iter().collect::<Checked<_>>()?
        }
    };
    if !execution.quiet {
        let hops = hops.into_inner() as f64 / 1e6;
        let seconds = began.elapsed().as_secs_f64();
        let runs = if plans.len() == 1 { "1 run".into() } else { format!("{} runs", plans.len()) };
        let speed = hops / seconds.max(1e-3);
        complain!("{runs}, {hops:.1} M packet-hops in {seconds:.1} s: {speed:.1} M packet-hops/s");
    }
    Ok(finished)
}

/// Prints broken expectations. How the command ended follows from them.
pub(super) fn status(broken: &[(String, Broken)]) -> Status {
    for (name, broken) in broken {
        let found = broken.found.map_or("nothing to take it of".into(), narrows::numbers::number);
        let bound = match (broken.expect.below, broken.expect.above) {
            (Some(below), Some(above)) => format!("above {above} and below {below}"),
            (Some(below), None) => format!("below {below}"),
            (None, Some(above)) => format!("above {above}"),
            (None, None) => String::new(),
        };
        complain!("expectation broken in {name}: {} is {found}, expected {bound}", broken.expect.metric);
    }
    match broken {
        _ if is_interrupted() => Status::Interrupted,
        [] => Status::Done,
        _ => Status::Broken,
    }
}
