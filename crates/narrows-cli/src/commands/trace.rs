use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::results::{Stored, find};
use narrows::visible::shown_path;
use narrows_formats::export::trace::{Format, Request, Tracing};
use narrows_proto::units::Time;

use crate::progress::{LOST, Meter, catch_interrupts};
use crate::{Status, args};

/// Simulates a stored run again and writes what happened.
pub(crate) fn trace(arguments: &args::Trace) -> Checked<Status> {
    let stored = one_run(&arguments.results)?;
    let request = Request {
        format: match &arguments.format {
            args::TraceFormat { pcapng: true, .. } => Format::Pcapng,
            args::TraceFormat { qlog: true, .. } => Format::Qlog,
            args::TraceFormat { .. } => Format::Perfetto,
        },
        flows: arguments.flows.clone(),
        ports: arguments.ports.clone(),
        from: arguments.from.map_or(Time::ZERO, |from| Time::ZERO + from),
        until: arguments.until.map_or(Time::NEVER, |until| Time::ZERO + until),
        limit: arguments.limit,
        out: arguments.out.clone(),
        overwrite: arguments.overwrite,
        files: arguments.files.clone(),
    };
    let tracing = Tracing::prepare(&stored, &request)?;
    catch_interrupts(LOST);
    let name = format!("seed {}", stored.seed());
    let meter = Meter::new(vec![(tracing.plan().clone(), name)], arguments.quiet);
    let written = tracing.run(|now| meter.report(0, now));
    meter.finish(0);
    let Some(written) = written? else { return Ok(Status::Interrupted) };
    say!("wrote {}  ({})", shown_path(&written.path), written.what);
    Ok(Status::Done)
}

/// The results of the one run in a folder.
pub(super) fn one_run(folder: &std::path::Path) -> Checked<Stored> {
    let cells = find(folder)?;
    let runs: Vec<_> = cells.into_iter().flat_map(|cell| cell.runs).collect();
    match runs.as_slice() {
        [run] => Stored::open(run),
        runs => {
            let message = format!("{} holds {} runs, expected one", folder.display(), runs.len());
            let first = runs.first().map(|run| format!("name one of them, such as {}", run.display()));
            Err(Diagnostic::error(Code::NoResults, message).help(first.unwrap_or_default()).into())
        }
    }
}
