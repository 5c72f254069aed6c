//! Runs, which go on in slices.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use narrows::diagnostic::Severity;
use narrows::live::{Control, Monitor, Watched};
use narrows::plan::Plan;
use narrows::run::{Options, Steps, fraction_done};
use narrows_proto::units::Time;
use narrows_sim::Progress;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::check::{Written, fit};
use crate::question::{Answered, Question, Refused};
use crate::results::Kept;
use crate::{diagnostics, live};

/// Runs under way, by their handles.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: BTreeMap<u32, Run>,
    next: u32,
}

#[derive(Debug)]
struct Run {
    plan: Arc<Plan>,
    steps: Steps,
    watch: Option<(Watched, Monitor)>,
    reached: Progress,
}

impl Runs {
    fn begin(&mut self, plan: Arc<Plan>, is_watched: bool, force: bool) -> u32 {
        let watch = is_watched.then(|| {
            // Runs of a page wait for nobody: it does not call while they are paused.
            (Watched::new(&plan, 1, &Arc::new(Control::default())), Monitor::new(&plan))
        });
        let options = Options { force, ..Options::default() };
        let steps = Steps::new(&plan, options, watch.as_ref().map(|(watched, _)| watched));
        let reached = Progress { now: Time::ZERO, packet_hops: 0 };
        self.next += 1;
        self.runs.insert(self.next, Run { plan, steps, watch, reached });
        self.next
    }

    fn get(&mut self, handle: u32) -> Result<&mut Run, Refused> {
        self.runs.get_mut(&handle).ok_or_else(|| missing(handle))
    }

    fn take(&mut self, handle: u32) -> Result<Run, Refused> {
        self.runs.remove(&handle).ok_or_else(|| missing(handle))
    }
}

fn missing(handle: u32) -> Refused {
    Refused::Question(format!("no run has the handle {handle}"))
}

impl Run {
    /// Goes on for about so many packet-hops; true at the end.
    fn advance(&mut self, hops: u64) -> bool {
        let until = self.reached.packet_hops.saturating_add(hops);
        let Self { steps, watch, reached, .. } = self;
        let mut is_asked = false;
        let mut progress = |now: Progress| {
            *reached = now;
            if now.packet_hops < until {
                return ControlFlow::Continue(());
            }
            // A look is taken at the end of a window, so the slice goes on to the next report of progress.
            match watch {
                Some((watched, _)) if !is_asked => {
                    is_asked = true;
                    watched.live.ask();
                    ControlFlow::Continue(())
                }
                _ => ControlFlow::Break(()),
            }
        };
        steps.advance(&mut progress)
    }

    fn state(&self, is_done: bool) -> Value {
        json!({
            "done": is_done,
            "fraction": if is_done { 1.0 } else { fraction_done(&self.plan, self.reached.now) },
            "now_ps": self.reached.now.as_ps(),
            "packet_hops": self.reached.packet_hops,
            "live": self.watch.as_ref().map(|(_, monitor)| live::view(monitor)),
        })
    }
}

/// A request of one run.
#[derive(Debug, Deserialize)]
struct OfRun {
    handle: u32,
}

#[derive(Debug, Deserialize)]
struct Slice {
    handle: u32,
    hops: f64,
    elapsed_ms: f64,
}

#[derive(Debug, Deserialize)]
struct Start {
    #[serde(flatten)]
    written: Written,
    live: bool,
    /// Go on even if memory may not suffice.
    #[serde(default)]
    force: bool,
}

impl Runs {
    pub(crate) fn start(&mut self, question: &Question) -> Answered {
        let Start { written, live, force } = question.read()?;
        let outline = Arc::new(written.plan(&question.parts)?);
        if !force {
            fit(&outline)?;
        }
        let plan = outline.drawn()?;
        let warnings = plan.remarks().filter(|told| told.severity == Severity::Warning).map(diagnostics::one);
        let value = json!({
            "name": plan.scenario.name,
            "network": plan.describe_network(),
            "seed": plan.scenario.seed,
            "simulated": plan.scenario.stop.after.to_string(),
            "end_ps": plan.stop.at.as_ps(),
            "warnings": warnings.collect::<Vec<_>>(),
            "handle": self.begin(plan.clone(), live, force),
        });
        Ok(value.into())
    }

    pub(crate) fn advance(&mut self, question: &Question) -> Answered {
        let Slice { handle, hops, elapsed_ms } = question.read()?;
        let run = self.get(handle)?;
        let is_done = run.advance(hops.max(1.0) as u64);
        if let Some((watched, monitor)) = &mut run.watch {
            let elapsed = Duration::try_from_secs_f64(elapsed_ms / 1e3).unwrap_or_default();
            monitor.take(watched.live.look(), elapsed);
        }
        Ok(run.state(is_done).into())
    }

    pub(crate) fn cancel(&mut self, question: &Question) -> Answered {
        let OfRun { handle } = question.read()?;
        let run = self.get(handle)?;
        let is_done = run.steps.advance(&mut |_| ControlFlow::Break(()));
        Ok(run.state(is_done).into())
    }

    pub(crate) fn drop_run(&mut self, question: &Question) -> Answered {
        let OfRun { handle } = question.read()?;
        self.take(handle)?;
        Ok(Value::Null.into())
    }

    pub(crate) fn finish(&mut self, question: &Question, kept: &mut Kept) -> Answered {
        let OfRun { handle } = question.read()?;
        let results = self.take(handle)?.steps.finish()?;
        Ok(kept.of_run(&results)?.into())
    }
}
