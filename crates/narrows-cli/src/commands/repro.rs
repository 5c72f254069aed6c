use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::repro::{Measured, PAPERS, Paper, Reproduction, Request, Study, find};
use narrows::results::{Output, Results};
use narrows::visible::shown_path;
use serde_json::json;

use super::{side_by_side, status};
use crate::progress::{LOST, catch_interrupts, is_interrupted};
use crate::{Status, args, show};

/// Repeats the experiments of a paper and judges its claims.
pub(crate) fn repro(arguments: &args::Repro) -> Checked<Status> {
    let Some(name) = &arguments.paper else {
        list(arguments.execution.json);
        return Ok(Status::Done);
    };
    let request =
        Request { figure: arguments.figure.as_deref(), quick: arguments.quick, seeds: arguments.seeds };
    let study = Study::new(find(name)?, &request)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out/repro").join(name));
    // The default folder is the command's own, so that it can be repeated.
    let output = Output::begin(&out, arguments.overwrite || arguments.out.is_none())?;
    catch_interrupts(LOST);
    let execution = &arguments.execution;
    if !execution.json {
        let seeds = if study.seeds == 1 { "1 seed".into() } else { format!("{} seeds", study.seeds) };
        let (title, runs, version) = (study.paper.title, study.runs.len(), env!("CARGO_PKG_VERSION"));
        say!("{name} · {title} · {runs} runs · {seeds} · narrows {version}");
    }
    let named = study.runs.iter().map(|run| (Arc::clone(&run.plan), run.name.clone())).collect();
    let finish = |run: usize, results: Results| {
        if !results.complete {
            return (Measured::default(), Vec::new());
        }
        // Expectations are about the scenarios as chosen.
        let as_chosen = study.runs[run].alternative.is_none();
        let broken = if as_chosen { results.broken_expectations() } else { Vec::new() };
        (study.measure(run, &results), broken)
    };
    let finished = side_by_side(named, execution, None, finish)?;
    if is_interrupted() {
        return Ok(Status::Interrupted);
    }
    let (measured, broken): (Vec<_>, Vec<_>) = finished.into_iter().unzip();
    let broken = study.runs.iter().zip(broken);
    let broken: Vec<_> =
        broken.flat_map(|(run, all)| all.into_iter().map(|each| (run.name.clone(), each))).collect();
    let reproduction = study.conclude(measured);
    reproduction.write(&output)?;
    output.finish()?;
    if execution.json {
        say!("{}", serde_json::to_string_pretty(&reproduction.to_json()).unwrap_or_default());
    } else {
        print(&reproduction);
        say!("wrote {}/  (report.html, report.md, claims.json, scenarios/)", shown_path(&out));
    }
    match status(&broken) {
        Status::Done if arguments.strict && reproduction.tally().misses > 0 => Ok(Status::Broken),
        status => Ok(status),
    }
}

fn print(reproduction: &Reproduction) {
    say_part!("{}", show::claims(reproduction));
    match reproduction.left_out {
        0 => say!("{}", reproduction.tally()),
        count => say!("{} · {count} left out by --quick", reproduction.tally()),
    }
}

fn list(as_json: bool) {
    if as_json {
        let paper = |paper: &&Paper| {
            let (claims, figures) = paper.size();
            json!({ "name": paper.name, "title": paper.title, "claims": claims, "figures": figures })
        };
        let papers: Vec<_> = PAPERS.iter().map(paper).collect();
        say!("{}", serde_json::to_string_pretty(&json!({ "papers": papers })).unwrap_or_default());
        return;
    }
    say!("papers that can be repeated: narrows repro NAME");
    let row = |paper: &&Paper| {
        let (claims, figures) = paper.size();
        [paper.name.to_owned(), format!("{} · {claims} claims, {figures} figures and tables", paper.title)]
    };
    say_part!("{}", show::list(PAPERS.iter().map(row)));
}
