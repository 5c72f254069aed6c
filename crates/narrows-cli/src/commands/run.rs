use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows::report::{Cell, page};
use narrows::results::Output;
use narrows::run::fit_memory;

use super::runs::{Job, document, draw, execute, plans, print_runs, show_doubts, show_warnings, status};
use crate::progress::{KEPT, catch_interrupts};
use crate::watch::{self, Board, Pace, Screen};
use crate::{Status, args, show};

/// Runs one scenario, with one seed or several.
pub(crate) fn run(arguments: &args::Run) -> Checked<Status> {
    if arguments.watch {
        watch::check()?;
    }
    let document = document(&arguments.scenario, &arguments.input)?;
    let mut plans = plans(&document, arguments.seeds)?;
    if arguments.watch {
        // Who watches sees groups and flows from the start.
        fit_memory(&plans, arguments.execution.options(plans.len()))?;
        plans = draw(plans)?;
    }
    let plan = &plans[0];
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&plan.scenario.name));
    let output = Output::begin(&out, arguments.overwrite)?;
    catch_interrupts(KEPT);
    if !arguments.execution.json {
        say!("{}", show::headline(plan, arguments.seeds));
        say_part!("{}", show::plan::groups(plan));
    }
    show_warnings(plan);
    let several = plans.len() > 1;
    let job = |plan: &Arc<Plan>| {
        let name = format!("seed {}", plan.scenario.seed);
        let within = if several { format!("seed-{}", plan.scenario.seed) } else { String::new() };
        Job { plan: Arc::clone(plan), name, within, in_front: plan.scenario.seed == plans[0].scenario.seed }
    };
    let jobs: Vec<_> = plans.iter().map(job).collect();
    let board =
        arguments.watch.then(|| Board::new(jobs.iter().map(|job| (Arc::clone(&job.plan), job.name.clone()))));
    let screen = board.as_ref().map(|board| Screen::open(board, Pace::Limit(arguments.pace))).transpose()?;
    let finished = execute(&jobs, &arguments.execution, &output, board.as_deref())?;
    let mut broken = Vec::new();
    let mut runs = Vec::new();
    for (job, finished) in jobs.iter().zip(finished) {
        show_doubts(&finished, None, runs.is_empty());
        broken.extend(finished.broken.into_iter().map(|broken| (job.name.clone(), broken)));
        runs.push(finished.digest);
    }
    let cell = Cell { name: plan.scenario.name.clone(), runs };
    if several {
        output.write_text("", "report.html", &page(&cell.name, std::slice::from_ref(&cell)))?;
    }
    output.finish()?;
    if let Some(screen) = screen {
        screen.close();
    }
    print_runs(cell, &out, arguments.execution.json);
    Ok(status(&broken))
}
