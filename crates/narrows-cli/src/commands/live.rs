//! Live runs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::plan::Plan;
use narrows::report::Cell;
use narrows::results::{Output, PROGRAMS, RealHosts, RealProgram, cannot_write};
use narrows::visible::shown_path;
use narrows_formats::export::trace::{Format, RealFrames};
use narrows_live::{Attached, Estimate, Frame, Live, OnFrame, Program};

use super::runs::{document, print_runs, show_doubts, show_warnings, status, write_run};
use crate::progress::{KEPT, catch_interrupts, goes_on};
use crate::watch::{self, Board, Pace, Screen};
use crate::{Status, args, show};

/// Runs one scenario with real hosts.
pub(crate) fn live(live: &args::Live) -> Checked<Status> {
    narrows_live::take_rights();
    let arguments = &live.hosts;
    if live.shell.is_some() && !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let message = "--shell needs a terminal";
        let help = "where there is none, --run \"HOST: COMMAND\" runs a program";
        return Err(Diagnostic::error(Code::NoTerminal, message).help(help).into());
    }
    if live.watch {
        watch::check()?;
    }
    let mut document = document(&arguments.scenario, &arguments.input)?;
    document.attach_kernel();
    let plan = Arc::new(Plan::new(document)?);
    let run = Live::new(&plan, live.options())?;
    let foreseen = foresee(&run, arguments.force)?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from("out").join(format!("{}-live", plan.scenario.name)));
    let output = Output::begin(&out, arguments.overwrite)?;
    catch_interrupts(KEPT);
    if !arguments.json {
        say!("{}", show::headline(&plan, 1));
        say_part!("{}", show::plan::groups(&plan));
        say!("{foreseen}");
    }
    show_warnings(&plan);
    let name =
        |(number, program): (usize, &Program)| format!("{number}-{}.txt", program.host.replace('/', "-"));
    let names: Vec<_> = (1..).zip(&live.run).map(name).collect();
    let outputs = names.iter().map(|name| output.create(PROGRAMS, name)).collect::<Checked<_>>()?;
    let board = live.watch.then(|| Board::new([(Arc::clone(&plan), "real hosts".to_owned())]));
    let screen = board.as_ref().map(|board| Screen::open(board, Pace::Clock)).transpose()?;
    let watched = board.as_ref().map(|board| board.begin(0, 1));
    let mut capture = live.pcapng.then(|| capture(&plan, &output, &out)).transpose()?;
    let mut keep = capture.as_mut().map(|capture| {
        |Frame { at, host, address, received, bytes }: Frame| capture.add(host, address, at, received, &bytes)
    });
    let frames = keep.as_mut().map(|keep| keep as OnFrame<'_>);
    let results = run.run(Attached { outputs, watched: watched.as_ref(), frames }, &mut |_| goes_on())?;
    capture.map_or(Ok(()), RealFrames::finish).map_err(|error| cannot_write(&out, &error))?;
    if let Some(board) = &board {
        board.finish(0);
    }
    let finished = write_run(&output, &results, "", true)?;
    output.finish()?;
    if let Some(screen) = screen {
        screen.close();
    }
    show_doubts(&finished, None, true);
    let name = &plan.scenario.name;
    print_runs(Cell { name: name.clone(), runs: vec![finished.digest] }, &out, arguments.json);
    if !arguments.json {
        results.real.iter().for_each(show_hosts);
        let ended = results.real.iter().flat_map(|real| &real.programs);
        for (name, RealProgram { host, command, end }) in names.iter().zip(ended) {
            let command = command.as_deref().unwrap_or_default();
            say!("  {host}: {command} · {end} · {}", shown_path(&out.join(PROGRAMS).join(name)));
        }
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

fn capture(plan: &Arc<Plan>, output: &Output, out: &Path) -> Checked<RealFrames> {
    let file = output.create("", Format::Pcapng.file_name())?;
    Ok(RealFrames::new(Arc::clone(plan), file).map_err(|error| cannot_write(out, &error))?)
}

/// Refuses what the machine is too slow for, unless it is forced. Says how much it has to do.
pub(super) fn foresee(run: &Live, force: bool) -> Checked<String> {
    let estimate = run.estimate()?;
    if !force {
        estimate.check()?;
    }
    let Estimate { packets, cost, .. } = estimate;
    let advice = estimate.advice().map(|scale| format!("; may be late, --scale {scale:.0} would not"));
    Ok(format!(
        "  {} real hosts · about {packets:.0} packets per second, each takes {cost} here: {:.0} % of a core{}",
        run.hosts(),
        100.0 * estimate.load(),
        advice.unwrap_or_default()
    ))
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
