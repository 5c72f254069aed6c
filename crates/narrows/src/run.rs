//! Runs plans.

mod makers;
mod options;
mod steps;

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows_proto::units::Time;
use narrows_sim::observe::Observer;
use narrows_sim::{OnProgress, Progress, Simulation, simulate};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use self::makers::prepared;
pub use self::options::{Options, cores, fit_memory, too_many_threads};
pub use self::steps::Steps;
use crate::diagnostic::Checked;
use crate::live::Watched;
use crate::plan::Plan;
use crate::recorded;
use crate::results::{Recorded, Results};

/// Runs one plan. `progress` is called every now and then and may end the run early, as does a control that fails and is not
/// built in.
///
/// # Errors
/// If more is recorded than memory was estimated for, and the run is not forced.
pub fn run(plan: &Arc<Plan>, options: Options, mut progress: impl OnProgress) -> Checked<Results> {
    if !records(plan) {
        let Plan { network, traffic, scenario, stop, .. } = &**plan;
        let work = |progress: &mut dyn OnProgress| {
            simulate(network, traffic, scenario.seed, options.execution(), *stop, progress)
        };
        let outcome = prepared(plan, &mut progress, work);
        return Ok(Results::new(Arc::clone(plan), outcome, Recorded::default()));
    }
    run_recorded(plan, options, options.most_events(), &mut || None, &mut progress)
}

/// Something is recorded besides flows and counters.
pub(crate) fn records(plan: &Plan) -> bool {
    let record = &plan.record;
    let ports = record.queues.is_some() || record.links.is_some();
    ports || record.windows.is_some() || record.state.is_some() || recorded::is_any(plan)
}

/// The same for a run that is watched. The results are the same.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    plan: &Arc<Plan>,
    options: Options,
    watched: &Watched,
    mut progress: impl OnProgress,
) -> Checked<Results> {
    let mut observers = watched.observers();
    let mut each = || Some(observers.next().expect("a watched run has as many threads as it was made for"));
    run_recorded(plan, options, options.most_events(), &mut each, &mut progress)
}

/// Runs one plan with the observers of all that may be recorded, and of those who watch.
fn run_recorded(
    plan: &Arc<Plan>,
    options: Options,
    most_events: u64,
    live: &mut (dyn FnMut() -> Option<steps::Live> + Send),
    progress: &mut dyn OnProgress,
) -> Checked<Results> {
    let mut steps = Steps::within(plan, options, most_events, live);
    steps.advance(progress);
    steps.finish()
}

/// Runs one plan on one thread under the eyes of `observer`, which comes back with the results. Nothing is recorded besides.
pub fn watch<O: Observer>(plan: &Arc<Plan>, observer: O, mut progress: impl OnProgress) -> (Results, O) {
    let mut observers = Some(observer);
    let only = || observers.take().expect("one thread has one observer");
    let Plan { network, traffic, scenario, stop, .. } = &**plan;
    let simulation = Simulation::new(network, traffic, scenario.seed, Options::default().execution(), only);
    let mut outcome = prepared(plan, &mut progress, |progress| simulation.run(*stop, progress));
    let observer = outcome.observers.pop().expect("it comes back");
    (Results::new(Arc::clone(plan), outcome, Recorded::default()), observer)
}

/// Runs several plans, `options.jobs` side by side. `progress` receives the number of the plan; `finish` gets the results of
/// a plan as soon as they are there, so that they need not all be kept. What it makes of them comes back in the order of
/// the plans.
///
/// # Errors
/// As [`run`], of the first plan that fails.
pub fn run_all<T: Send>(
    plans: &[Arc<Plan>],
    options: Options,
    progress: impl Fn(usize, Progress) -> ControlFlow<()> + Send + Sync,
    finish: impl Fn(usize, Results) -> T + Send + Sync,
) -> Checked<Vec<T>> {
    let one = |number, plan: &_| {
        run(plan, options, |now| progress(number, now)).map(|results| finish(number, results))
    };
    side_by_side(plans, options, one).into_iter().collect()
}

/// Calls `work` for each plan, `options.jobs` of them side by side. What it makes of them comes back in the order of the plans.
pub fn side_by_side<T: Send>(
    plans: &[Arc<Plan>],
    options: Options,
    work: impl Fn(usize, &Arc<Plan>) -> T + Send + Sync,
) -> Vec<T> {
    let work_one = |(number, plan)| work(number, plan);
    if options.jobs.min(plans.len()) <= 1 {
        return plans.iter().enumerate().map(work_one).collect();
    }
    let work = || plans.par_iter().enumerate().with_max_len(1).map(work_one).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(options.jobs.max(1)).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Progress of a run, from 0 to 1. How long flows that have started will take to end is not known beforehand.
pub fn fraction_done(plan: &Plan, now: Time) -> f64 {
    const DRAINING: f64 = 0.99;
    let after = plan.scenario.stop.after.as_secs_f64();
    let done = now.as_secs_f64() / after.max(f64::MIN_POSITIVE);
    if plan.stop.when_drained { done.min(DRAINING) } else { done.min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates;

    #[test]
    fn a_run_that_records_more_events_than_it_may_is_ended_and_says_so() {
        let mut document = templates::find("isolation").unwrap().document().unwrap();
        document.set("record={ isolation = {} }").unwrap();
        document.set("expect=[]").unwrap();
        let plan = Arc::new(Plan::new(document).unwrap());
        let recorded = |most| {
            let progress = &mut |_| ControlFlow::Continue(());
            run_recorded(&plan, Options::default(), most, &mut || None, progress)
        };
        let events = recorded(u64::MAX).unwrap().recorded.isolation.unwrap().len() as u64;
        assert_eq!(recorded(events).unwrap().recorded.isolation.unwrap().len() as u64, events);
        let refused = recorded(events - 1).err().unwrap().to_string();
        assert!(refused.contains("record.isolation.of"), "{refused}");
    }
}
