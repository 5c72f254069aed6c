use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows::repro::{
    self, Found, Kept, Paper, Ran, Reproduction, Run, Stored, Study, find, papers, score, start,
};
use narrows::results::{Broken, Output, Results};
use narrows::visible::shown_path;
use narrows_formats::export::trace::{Format, Request, Tracing};
use serde_json::json;

use super::runs::{side_by_side, status};
use crate::progress::{RUNS_KEPT, catch_interrupts, is_interrupted};
use crate::{Status, args, show};

/// Repeats the experiments of a paper and judges its claims.
pub(crate) fn repro(arguments: &args::Repro) -> Checked<Status> {
    if let Some(args::ReproTask::New { folder }) = &arguments.task {
        start(folder)?;
        say!(
            "wrote {0}/; now: narrows repro {1} --quick",
            shown_path(folder),
            shown_path(&as_folder(folder))
        );
        return Ok(Status::Done);
    }
    let Some(name) = &arguments.paper else {
        list(arguments.execution.json);
        return Ok(Status::Done);
    };
    let paper = find(name)?;
    let paper = match &arguments.cc {
        Some(control) => Arc::new(paper.under(control)?),
        None => paper,
    };
    if let (Some(file), Some(out)) = (&arguments.measured, &arguments.out) {
        let reproduction = Stored::read(file)?.conclude(paper)?;
        return finish(&reproduction, Output::begin(out, arguments.overwrite)?, out, &[], arguments);
    }
    let request = repro::Request {
        figure: arguments.figure.as_deref(),
        quick: arguments.quick,
        seeds: arguments.seeds,
    };
    let mut study = Study::new(paper, &request)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out/repro").join(&study.paper.name));
    // The default folder is the command's own, so that it can be repeated.
    let output = Output::begin(&out, arguments.overwrite || arguments.out.is_none())?;
    catch_interrupts(RUNS_KEPT);
    let execution = &arguments.execution;
    if !execution.json {
        let (title, runs, version) = (&study.paper.title, study.runs.len(), env!("CARGO_PKG_VERSION"));
        let (name, seeds) = (&study.paper.name, study.seeds_text());
        say!("{name} · {title} · {runs} runs · {seeds} · narrows {version}");
    }
    let kept = Kept::beside(&output);
    let Some(ran) = run_study(&mut study, &kept, execution)? else {
        return Ok(Status::Interrupted);
    };
    kept.write(&study, &ran, &output)?;
    let (measured, broken): (Vec<_>, Vec<_>) = ran.into_iter().unzip();
    let broken = study.runs.iter().zip(broken);
    let broken: Vec<_> =
        broken.flat_map(|(run, all)| all.into_iter().map(|each| (run.name.clone(), each))).collect();
    let firsts = study.runs.iter().filter(|run| run.is_first());
    let plans: Vec<_> = firsts.map(|run| Arc::clone(&run.plan)).collect();
    let reproduction = study.conclude(measured);
    let ended = finish(&reproduction, output, &out, &broken, arguments)?;
    kept.remove();
    if let Some(folder) = &arguments.qlog {
        write_qlogs(&plans, folder, arguments.overwrite)?;
    }
    Ok(ended)
}

/// Outcomes of all runs, with more seeds as long as claims are undecided. None if Ctrl-C ended them.
fn run_study(study: &mut Study, kept: &Kept, execution: &args::Execution) -> Checked<Option<Vec<Ran>>> {
    let mut ran: Vec<Ran> = Vec::new();
    let mut work = Work::default();
    loop {
        let more = run_missing(study, ran.len(), kept, &mut work, execution)?;
        let done = ran.len() + more.iter().flatten().count();
        let Some(more) = more.into_iter().collect::<Option<Vec<_>>>().filter(|_| !is_interrupted()) else {
            let (runs, place) = (study.runs.len(), kept.folder().display());
            complain!("{done} of {runs} runs are kept in {place}: the same command resumes from there");
            return Ok(None);
        };
        ran.extend(more);
        if !study.extend(ran.iter().map(|(measured, _)| measured))? {
            if !execution.quiet {
                work.report();
            }
            return Ok(Some(ran));
        }
        if !execution.quiet {
            complain!("{} more runs, of claims that other seeds might change", study.runs.len() - ran.len());
        }
    }
}

/// Packet-hops of the runs of each group of experiments, and of alternatives.
#[derive(Default)]
struct Work(BTreeMap<String, u64>);

impl Work {
    /// Those with less than this part are summed up.
    const NAMED: f64 = 0.02;

    fn add(&mut self, run: &Run, packet_hops: u64) {
        let group = run.name.split('.').next().unwrap_or_default();
        let name = if run.alternative.is_some() { "alternatives of parameters" } else { group };
        *self.0.entry(name.into()).or_default() += packet_hops;
    }

    /// Shows which take how much; nothing if one takes all.
    fn report(self) {
        let total: u64 = self.0.values().sum();
        if self.0.len() < 2 || total == 0 {
            return;
        }
        let mut parts: Vec<_> =
            self.0.into_iter().map(|(name, hops)| (name, hops as f64 / total as f64)).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let named = parts.partition_point(|(_, part)| *part >= Self::NAMED);
        let others: f64 = parts.drain(named..).map(|(_, part)| part).sum();
        parts.extend((others > 0.0).then(|| ("others".into(), others)));
        let part = |(name, part): &(String, f64)| format!("{name} {:.0} %", part * 100.0);
        complain!("packet-hops: {}", parts.iter().map(part).collect::<Vec<_>>().join(", "));
    }
}

/// Simulates each experiment as chosen once more, and writes what its flows do.
fn write_qlogs(plans: &[Arc<Plan>], folder: &Path, overwrite: bool) -> Checked<()> {
    let request = Request { overwrite, ..Request::all(Format::Qlog) };
    for plan in plans {
        let tracing = Tracing::of_plan(Arc::clone(plan), &request, folder.join(&plan.scenario.name))?;
        let go_on = |_| if is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        if tracing.run(go_on)?.is_none() {
            return Ok(());
        }
    }
    say!("wrote {}/  (qlog)", shown_path(folder));
    Ok(())
}

/// Writes a reproduction and says what came out.
fn finish(
    reproduction: &Reproduction,
    output: Output,
    out: &Path,
    broken: &[(String, Broken)],
    arguments: &args::Repro,
) -> Checked<Status> {
    reproduction.write(&output)?;
    output.finish()?;
    if arguments.execution.json {
        say!("{}", serde_json::to_string_pretty(&reproduction.to_json()).unwrap_or_default());
    } else {
        print(reproduction);
        let others =
            if arguments.measured.is_none() { ["report.html, ", ", runs.txt, scenarios/"] } else { ["", ""] };
        let [page, scenarios] = others;
        say!("wrote {}/  ({page}report.md, claims.json, measured.json{scenarios})", shown_path(out));
    }
    match status(broken) {
        Status::Done if arguments.strict && reproduction.tally().misses > 0 => Ok(Status::Broken),
        status => Ok(status),
    }
}

/// As a name of a folder and not of a paper: with a separator.
fn as_folder(path: &Path) -> PathBuf {
    if path.components().count() > 1 { path.to_owned() } else { Path::new(".").join(path) }
}

/// Outcomes of the runs from this number on: of those that were run before, and of those that are run now. None of those that Ctrl-C
/// left out.
fn run_missing(
    study: &Study,
    from: usize,
    kept: &Kept,
    work: &mut Work,
    execution: &args::Execution,
) -> Checked<Vec<Option<Ran>>> {
    let mut damaged = 0;
    let mut find = |run: usize| match kept.find(study, run) {
        Found::Ran(ran) => Some(ran),
        Found::Nothing => None,
        Found::Damaged => {
            damaged += 1;
            None
        }
    };
    let mut all: Vec<_> = (from..study.runs.len()).map(&mut find).collect();
    let missing: Vec<usize> = (from..study.runs.len()).filter(|run| all[run - from].is_none()).collect();
    if damaged > 0 {
        complain!("{damaged} of the runs that were kept are damaged: they are run again");
    }
    if !execution.quiet && !all.is_empty() {
        match all.len() - missing.len() {
            0 => {}
            before if missing.is_empty() => complain!("all runs were done before ({before})"),
            before => complain!("{before} of {} runs were done before and are not run again", all.len()),
        }
    }
    if missing.is_empty() {
        return Ok(all);
    }
    let named = missing.iter().map(|run| (Arc::clone(&study.runs[*run].plan), study.runs[*run].name.clone()));
    let cannot_keep = Once::new();
    let finish = |number: usize, results: Results| {
        let run = missing[number];
        if !results.complete {
            return None;
        }
        // Expectations are about the scenarios as chosen.
        let as_chosen = study.runs[run].alternative.is_none();
        let broken = if as_chosen { results.broken_expectations() } else { Vec::new() };
        let ran = (study.measure(run, &results), broken);
        if let Err(rejection) = kept.keep(study, run, &ran) {
            // The run counts all the same.
            cannot_keep
                .call_once(|| complain!("finished runs will be lost if this one is ended: {rejection}"));
        }
        Some((ran, results.packet_hops))
    };
    let finished = side_by_side(named.collect(), execution, None, finish)?;
    for (run, finished) in missing.iter().zip(finished) {
        let Some((ran, packet_hops)) = finished else { continue };
        work.add(&study.runs[*run], packet_hops);
        all[run - from] = Some(ran);
    }
    Ok(all)
}

fn print(reproduction: &Reproduction) {
    say_part!("{}", show::claims(reproduction));
    match reproduction.left_out {
        0 => say!("{}", reproduction.score()),
        count => say!("{}; {count} left out by --quick", reproduction.score()),
    }
    for error in &reproduction.errors {
        complain!("error of the page: {error}");
    }
}

fn list(as_json: bool) {
    if as_json {
        let paper = |paper: Paper| {
            let (claims, figures) = (paper.claims.len(), paper.figures.len());
            let score = score(&paper.name);
            json!({ "name": paper.name, "title": paper.title, "claims": claims, "figures": figures, "score": score })
        };
        let papers: Vec<_> = papers().map(paper).collect();
        say!("{}", serde_json::to_string_pretty(&json!({ "papers": papers })).unwrap_or_default());
        return;
    }
    say!("papers that can be repeated: narrows repro NAME");
    let row = |paper: Paper| {
        let (claims, figures) = (paper.claims.len(), paper.figures.len());
        let score = score(&paper.name).map_or_else(|| format!("{claims} claims"), |score| score.to_string());
        [paper.name, format!("{} · {figures} figures and tables · {score}", paper.title)]
    };
    say_part!("{}", show::list(papers().map(row)));
}
