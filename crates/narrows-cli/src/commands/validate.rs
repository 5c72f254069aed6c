use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::fidelity::{self, Comparison, Fidelity, PARTS, Request, Study};
use narrows::plan::Plan;
use narrows::results::{Output, Results};
use narrows::visible::shown_path;
use serde_json::json;

use super::runs::side_by_side;
use crate::progress::{RUNS_KEPT, catch_interrupts, is_interrupted};
use crate::{Status, args, show};

/// Compares Narrows with theory, standards and published measurements.
pub(crate) fn validate(arguments: &args::Validate) -> Checked<Status> {
    let args::Validate { names, quick, execution, .. } = arguments;
    if let Some(id) = &arguments.scenario {
        return scenario(id, *quick).map(|()| Status::Done);
    }
    if arguments.list {
        return list(names, *quick, execution.json).map(|()| Status::Done);
    }
    let study = Study::new(&Request { names, quick: *quick })?;
    let output = arguments.out.as_ref().map(|out| Output::begin(out, arguments.overwrite)).transpose()?;
    catch_interrupts(RUNS_KEPT);
    if !execution.json {
        let (comparisons, runs) = (study.comparisons.len(), study.runs.len());
        say!("{comparisons} comparisons · {runs} runs · narrows {}", env!("CARGO_PKG_VERSION"));
    }
    let named = study.runs.iter().map(|run| (Arc::clone(&run.plan), run.name.clone())).collect();
    let finish = |run: usize, results: Results| results.complete.then(|| study.measure(run, &results));
    let measured = side_by_side(named, execution, None, finish)?;
    let Some(measured) = measured.into_iter().collect::<Option<Vec<_>>>().filter(|_| !is_interrupted())
    else {
        return Ok(Status::Interrupted);
    };
    let fidelity = study.conclude(measured);
    if let Some((output, out)) = output.zip(arguments.out.as_ref()) {
        fidelity.write(&study, &output)?;
        output.finish()?;
        if !execution.json {
            say!("wrote {}/  (report.md, claims.json, scenarios/)", shown_path(out));
        }
    }
    if execution.json {
        say!("{}", serde_json::to_string_pretty(&fidelity.to_json()).unwrap_or_default());
    } else {
        say_part!("{}", show::comparisons(&fidelity));
        say!("{}", fidelity.tally_text());
    }
    Ok(status(&fidelity, arguments.strict))
}

/// A verdict that is not the known one is a change of Narrows, or a page that is too old.
fn status(fidelity: &Fidelity, strict: bool) -> Status {
    for outcome in fidelity.surprises() {
        let (id, known) = (&outcome.comparison.id, outcome.comparison.known());
        complain!("{id}: the verdict is {}, the known one is {}", outcome.verdict.name(), known.name());
    }
    let missed = strict && fidelity.tally().misses > 0;
    if missed || fidelity.surprises().next().is_some() { Status::Broken } else { Status::Done }
}

/// The scenario as it is run.
fn scenario(id: &str, quick: bool) -> Checked<()> {
    let ids = [id.to_owned()];
    let found = fidelity::find(&ids)?;
    let [comparison] = found[..] else {
        let message = format!("{} comparisons fit \"{id}\", expected one", found.len());
        return Err(Diagnostic::error(Code::Conflict, message).into());
    };
    if quick && comparison.quick.is_none() {
        let message = format!("\"{id}\" has no quick form");
        return Err(Diagnostic::error(Code::Conflict, message).help("leave out --quick").into());
    }
    let plan = Plan::new(comparison.document(quick)?)?;
    say!("# {}: {}", comparison.id, comparison.title);
    say_part!("{}", plan.text);
    Ok(())
}

fn list(names: &[String], quick: bool, as_json: bool) -> Checked<()> {
    let wanted = fidelity::find(names)?;
    let is_listed = |one: &&Comparison| {
        wanted.iter().any(|wanted| wanted.id == one.id) && (!quick || one.quick.is_some())
    };
    if as_json {
        let comparison = |one: &Comparison| json!({ "id": one.id, "title": one.title, "source": one.source, "unit": one.unit, "quick": one.quick.is_some() });
        let comparisons: Vec<_> = fidelity::all().filter(is_listed).map(comparison).collect();
        say!("{}", serde_json::to_string_pretty(&json!({ "comparisons": comparisons })).unwrap_or_default());
        return Ok(());
    }
    for part in PARTS.iter() {
        let comparisons: Vec<_> = part.comparisons.iter().filter(is_listed).collect();
        if !comparisons.is_empty() {
            say!("{}", part.title);
            say_part!("{}", show::list(comparisons.iter().map(|one| [one.id.clone(), one.title.clone()])));
        }
    }
    Ok(())
}
