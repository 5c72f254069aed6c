//! A stored run, simulated again under the eyes of an observer.
//!
//! A run stores nothing per packet. It is deterministic, so what was not recorded can be had later: [`Tracing::prepare`] takes
//! scenario and seed of a results folder, [`Tracing::run`] simulates them, writes what was requested as it goes, and keeps it only
//! if the flows come out as they are stored.

mod happening;
mod pcapng;
mod perfetto;
mod qlog;
mod request;
mod selection;
mod sink;
mod watcher;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::{Column, Contents, Results, Staged, Stored, Table, Values, cannot_write};
use narrows_proto::units::Time;
use narrows_sim::{Progress, Stop};

pub use self::pcapng::RealFrames;
pub use self::request::{Format, Request};
use self::selection::Selection;
use self::sink::Sink;
use self::watcher::{End, Watcher};
use super::Written;

/// The version of the engine. Another one may simulate differently.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A run that is about to be traced.
#[derive(Debug)]
pub struct Tracing<'a> {
    /// Results that the run has to give again.
    stored: Option<&'a Stored>,
    plan: Arc<Plan>,
    selection: Selection,
    format: Format,
    limit: u64,
    target: PathBuf,
    staged: Staged,
}

impl<'a> Tracing<'a> {
    /// Reads the scenario of a results folder, finds what is selected, and begins the output.
    ///
    /// # Errors
    /// If the folder is of another version, the scenario cannot be read, nothing is selected, or the output cannot be begun.
    pub fn prepare(stored: &'a Stored, request: &Request) -> Checked<Self> {
        if stored.version() != VERSION {
            let message = format!("the results are of narrows {}, this is {VERSION}", stored.version());
            let help = format!("run it again: narrows run {}/scenario.toml", stored.folder.display());
            return Err(Diagnostic::error(Code::OtherVersion, message).help(help).into());
        }
        let plan = Arc::new(plan(stored, request)?);
        let target = request.out.clone().unwrap_or_else(|| stored.folder.join(request.format.file_name()));
        Ok(Self { stored: Some(stored), ..Self::of_plan(plan, request, target)? })
    }

    /// Finds what is selected of a run that was not stored, and begins the output.
    ///
    /// # Errors
    /// If nothing is selected, or the output cannot be begun.
    pub fn of_plan(plan: Arc<Plan>, request: &Request, target: PathBuf) -> Checked<Self> {
        let selection = Selection::new(&plan, request)?;
        let staged = match request.format {
            Format::Qlog => Staged::folder(&target, request.overwrite, Contents::Qlog)?,
            _ => Staged::file(&target, request.overwrite)?,
        };
        let (format, limit) = (request.format, request.limit);
        Ok(Self { stored: None, plan, selection, format, limit, target, staged })
    }

    /// Plan of the simulation.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Simulates and writes. `progress` may end it early; then nothing is left behind.
    ///
    /// # Errors
    /// If more happens than the limit allows, nothing happens, the flows are others than those stored, or something cannot be
    /// written.
    pub fn run(
        self,
        mut progress: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Checked<Option<Written>> {
        let Self { stored, plan, selection, format, limit, target, staged } = self;
        let failed = |error: std::io::Error| cannot_write(&target, &error);
        let sink: Box<dyn Sink> = match format {
            Format::Pcapng => {
                let handle = staged.handle().map_err(failed)?;
                Box::new(pcapng::Pcapng::new(Arc::clone(&plan), handle).map_err(failed)?)
            }
            Format::Qlog => Box::new(qlog::Qlog::new(Arc::clone(&plan), &staged.path())),
            Format::Perfetto => {
                let handle = staged.handle().map_err(failed)?;
                Box::new(perfetto::Perfetto::new(Arc::clone(&plan), &selection, handle).map_err(failed)?)
            }
        };
        let stopped = Arc::new(AtomicBool::new(false));
        let watcher = Watcher::new(&plan, selection, limit, sink, Arc::clone(&stopped));
        let mut interrupted = false;
        let (results, watcher) = narrows::run::watch(&plan, watcher, |now| {
            interrupted |= progress(now).is_break();
            if interrupted || stopped.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        let sink = match watcher.finish(results.ended) {
            _ if interrupted => return Ok(None),
            End::Failed(error) => return Err(failed(error).into()),
            End::TooMuch => return Err(too_much(limit).into()),
            End::Nothing => return Err(nothing(format).into()),
            End::Done(sink) => sink,
        };
        stored.map_or(Ok(()), |stored| check_same(stored, &results))?;
        let what = sink.finish(&results).map_err(failed)?;
        staged.finish()?;
        Ok(Some(Written { path: target, what }))
    }
}

/// The plan of a stored run. An interrupted run ends where it was interrupted.
fn plan(stored: &Stored, request: &Request) -> Checked<Plan> {
    let name = stored.folder.join("scenario.toml");
    let files: &Path = request.files.as_deref().unwrap_or(&stored.folder);
    let mut document = Document::parse(&name.display().to_string(), stored.scenario.as_str(), files)?;
    document.set(&format!("seed={}", stored.seed()))?;
    let mut plan = Plan::new(document)?;
    if let (false, Some(ended)) = (stored.is_complete(), stored.number("ended_ps")) {
        plan.stop = Stop { at: Time::from_ps(ended), ..plan.stop };
    }
    Ok(plan)
}

fn check_same(stored: &Stored, results: &Results) -> Checked<()> {
    let same_table =
        |name: &'static str| -> Checked<bool> { Ok(same(stored.table(name, None)?, results.table(name))) };
    let same_end = stored.number("ended_ps") == Some(results.ended.as_ps());
    if same_end && same_table("flows")? && same_table("datagrams")? {
        return Ok(());
    }
    let message = format!("simulated again, {} comes out differently", stored.folder.display());
    let help = "the scenario, a file it names or the program has changed since; run it again";
    Err(Diagnostic::error(Code::NotTheSame, message).help(help).into())
}

/// Whether two tables hold the same, however names are numbered.
fn same(one: Option<Table>, other: Option<Table>) -> bool {
    let same_values = |a: &Column, b: &Column| match (&a.values, &b.values) {
        (Values::Names(a, of_a), Values::Names(b, of_b)) => {
            let name = |names: &[String], index: &u32| names.get(*index as usize).cloned();
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| name(of_a, a) == name(of_b, b))
        }
        (a, b) => a == b,
    };
    match (one, other) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let columns = a.columns.iter().zip(&b.columns);
            a.columns.len() == b.columns.len() && { columns }
                .all(|(a, b)| a.name == b.name && same_values(a, b))
        }
        _ => false,
    }
}

fn too_much(limit: u64) -> Diagnostic {
    let message = format!("there are more than {limit} records to write");
    let help = "narrow the selection with --flow, --port, --from or --until, or raise --limit";
    Diagnostic::error(Code::TraceLimit, message).help(help)
}

fn nothing(format: Format) -> Diagnostic {
    let what = if format == Format::Qlog { "sender does anything" } else { "packet is sent" };
    let message = format!("no {what} that is selected");
    let help = "widen the selection: --flow, --port, --from, --until; narrows check --nodes lists ports";
    Diagnostic::error(Code::NothingTraced, message).help(help)
}
