//! Live runs.

use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows::report::Cell;
use narrows::results::{Output, RealHosts};

use super::{document, print_runs, show_doubts, show_warnings, status, write_run};
use crate::progress::{KEPT, catch_interrupts, goes_on};
use crate::{Status, args, show};

/// Runs one scenario with real hosts.
pub(crate) fn live(arguments: &args::Live) -> Checked<Status> {
    let document = document(&arguments.scenario, &arguments.input)?;
    let plan = Arc::new(Plan::new(document)?);
    let run = narrows_live::Live::new(&plan, arguments.options())?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from("out").join(format!("{}-live", plan.scenario.name)));
    let output = Output::begin(&out, arguments.overwrite)?;
    catch_interrupts(KEPT);
    if !arguments.json {
        say!("{}", show::headline(&plan, 1));
        say_part!("{}", show::plan::groups(&plan));
    }
    show_warnings(&plan);
    let results = run.run(&mut |_| goes_on())?;
    let finished = write_run(&output, &results, "", true)?;
    output.finish()?;
    show_doubts(&finished, None, true);
    let name = &plan.scenario.name;
    print_runs(Cell { name: name.clone(), runs: vec![finished.digest] }, &out, arguments.json);
    if !arguments.json {
        results.real.iter().for_each(show_hosts);
    }
    let broken: Vec<_> = finished.broken.into_iter().map(|broken| (name.clone(), broken)).collect();
    match status(&broken) {
        Status::Done | Status::Broken
            if results.real.as_ref().is_some_and(|real| real.lateness.is_void()) =>
        {
            Ok(Status::Void)
        }
        status => Ok(status),
    }
}

fn show_hosts(real: &RealHosts) {
    let lateness = &real.lateness;
    let verdict = if lateness.is_void() { "void" } else { "on time" };
    say!(
        "  {} · {} packets delivered, late by {} (median), {} (99 %), {} (max): {verdict}, the bound is {}",
        real.kernel,
        lateness.deliveries,
        lateness.median,
        lateness.p99,
        lateness.max,
        lateness.bound
    );
    for difference in &real.differences {
        say!("  unlike the scenario: {difference}");
    }
}
