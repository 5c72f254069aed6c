//! Runs plans.

mod steps;

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use narrows_proto::units::{Bytes, Time};
use narrows_sim::observe::Observer;
use narrows_sim::{Execution, OnProgress, Progress, Simulation, simulate};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

pub use self::steps::Steps;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::live::Watched;
use crate::mechanism;
use crate::numbers::grouped;
use crate::plan::rows::MOST_EVENTS;
use crate::plan::{Plan, available_memory};
use crate::recorded;
use crate::results::{Recorded, Results};

/// Options of execution. None of this changes results.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads of one run.
    pub threads: usize,
    /// Runs side by side.
    pub jobs: usize,
    /// Go on even if memory may not suffice.
    pub force: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, jobs: 1, force: false }
    }
}

/// Number of cores this process may use: by affinity, and by the quota of its control group.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A warning if one run has more threads than there are cores for.
pub fn too_many_threads(threads: usize) -> Option<Diagnostic> {
    if threads <= 1 {
        return None;
    }
    let cores = cores();
    let ones = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
    let message = format!("{threads} threads on {ones}: threads of one run wait for each other");
    let help = if cores == 1 { "1 thread is".into() } else { format!("{cores} threads are") };
    let warning = Diagnostic::warning(Code::ManyThreads, message).help(format!("{help} at least as fast"));
    (threads > cores).then_some(warning)
}

/// The options with as many runs side by side as there is memory for.
///
/// # Errors
/// With the estimate, if there is not enough for the largest run alone, and it is not forced.
pub fn fit_memory(plans: &[Arc<Plan>], options: Options) -> Checked<Options> {
    match available_memory() {
        Some(available) if !options.force => fit(plans, options, available),
        _ => Ok(options),
    }
}

fn fit(plans: &[Arc<Plan>], options: Options, available: Bytes) -> Checked<Options> {
    // All have their flows before the first is run; the largest ones may run side by side.
    let mut needs: Vec<_> =
        plans.iter().map(|plan| (plan.memory(options.threads), plan.memory_of_flows())).collect();
    needs.sort_unstable_by(|a, b| b.cmp(a));
    let needed = |jobs: usize| {
        let (running, waiting) = needs.split_at(jobs.min(needs.len()));
        let running = running.iter().map(|need| need.0);
        running.chain(waiting.iter().map(|need| need.1)).fold(Bytes::ZERO, Bytes::saturating_add)
    };
    let jobs = (1..=options.jobs.min(needs.len()).max(1)).rev().find(|jobs| needed(*jobs) <= available);
    if let Some(jobs) = jobs {
        return Ok(Options { jobs, ..options });
    }
    let message =
        format!("the run would need up to {:.1} of memory, {available:.1} are available", needed(1));
    let help = "shorten the run or its drain, lower the load, record less or less often, use fewer hosts, or go on with --force";
    Err(Diagnostic::error(Code::Memory, message).help(help).into())
}

/// Runs one plan. `progress` is called every now and then and may end the run early, as does a control that fails and is not
/// built in.
///
/// # Errors
/// If more is recorded than memory was estimated for, and the run is not forced.
pub fn run(plan: &Arc<Plan>, options: Options, mut progress: impl OnProgress) -> Checked<Results> {
    if !records(plan) {
        let Plan { network, traffic, scenario, stop, .. } = &**plan;
        let work = |progress: &mut dyn OnProgress| {
            simulate(network, traffic, scenario.seed, execution(options), *stop, progress)
        };
        let outcome = prepared(plan, &mut progress, work);
        return Ok(Results::new(Arc::clone(plan), outcome, Recorded::default()));
    }
    run_recorded(plan, options, most_events(options), &mut || None, &mut progress)
}

/// Something is recorded besides flows and counters.
pub(crate) fn records(plan: &Plan) -> bool {
    let record = &plan.record;
    let ports = record.queues.is_some() || record.links.is_some();
    ports || record.windows.is_some() || record.state.is_some() || recorded::is_any(plan)
}

/// Number of events a run may record.
fn most_events(options: Options) -> u64 {
    if options.force { u64::MAX } else { MOST_EVENTS }
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
    run_recorded(plan, options, most_events(options), &mut each, &mut progress)
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

fn too_many_events(plan: &Plan, most: u64) -> Diagnostic {
    let recorded = mechanism::all().find_map(|mechanism| mechanism.recorded_events(plan));
    let [events, fewer] = recorded.unwrap_or(["events", "record less"]);
    let most = grouped(most.cast_signed());
    let message = format!("the run was ended, as it recorded more than {most} {events}");
    let help = format!("{fewer}, shorten the run, or go on with --force");
    Diagnostic::error(Code::Memory, message).help(help)
}

/// Runs one plan on one thread under the eyes of `observer`, which comes back with the results. Nothing is recorded besides.
pub fn watch<O: Observer>(plan: &Arc<Plan>, observer: O, mut progress: impl OnProgress) -> (Results, O) {
    let mut observers = Some(observer);
    let only = || observers.take().expect("one thread has one observer");
    let Plan { network, traffic, scenario, stop, .. } = &**plan;
    let simulation = Simulation::new(network, traffic, scenario.seed, execution(Options::default()), only);
    let mut outcome = prepared(plan, &mut progress, |progress| simulation.run(*stop, progress));
    let observer = outcome.observers.pop().expect("it comes back");
    (Results::new(Arc::clone(plan), outcome, Recorded::default()), observer)
}

fn execution(options: Options) -> Execution {
    Execution { threads: options.threads, ..Execution::default() }
}

/// Does `work` inside of what the plan's makers have to prepare, until a control fails that is not built in.
fn prepared<T: Send>(
    plan: &Plan,
    progress: &mut dyn OnProgress,
    work: impl FnOnce(&mut dyn OnProgress) -> T + Send,
) -> T {
    let mut goes_on = |now| match plan.has_failed_control() {
        true => ControlFlow::Break(()),
        false => progress(now),
    };
    let mut work = Some(work);
    let mut done = None;
    around(&mut plan.makers(), &mut || done = work.take().map(|work| work(&mut goes_on)));
    done.expect("makers do the work they are given")
}

/// Does `work` inside of what each maker has to prepare.
fn around(makers: &mut (dyn Iterator<Item = &Arc<dyn Maker>> + Send), work: &mut (dyn FnMut() + Send)) {
    match makers.next() {
        None => work(),
        Some(maker) => maker.around(&mut || around(makers, work)),
    }
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
    fn as_many_runs_go_side_by_side_as_there_is_memory_for() {
        let plan = || Arc::new(Plan::new(templates::find("dumbbell").unwrap().document().unwrap()).unwrap());
        let plans = [plan(), plan(), plan(), plan()];
        let (one, waiting) = (plans[0].memory(1).get(), plans[0].memory_of_flows().get());
        let jobs = |available| {
            let options = Options { jobs: 8, ..Options::default() };
            fit(&plans, options, Bytes::new(available)).map(|options| options.jobs).ok()
        };
        assert_eq!(jobs(4 * one), Some(4));
        assert_eq!(jobs(3 * one + waiting), Some(3));
        assert_eq!(jobs(3 * one + waiting - 1), Some(2));
        assert_eq!(jobs(one + 3 * waiting), Some(1));
        assert_eq!(jobs(one + 3 * waiting - 1), None);
    }

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
