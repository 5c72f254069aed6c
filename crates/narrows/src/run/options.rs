//! Options of execution, and what the machine has for them.

use std::sync::Arc;

use narrows_proto::units::Bytes;
use narrows_sim::Execution;

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::plan::rows::MOST_EVENTS;
use crate::plan::{Plan, available_memory};

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

impl Options {
    /// Options of the engine.
    pub(super) fn execution(self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }

    /// Number of events a run may record.
    pub(super) fn most_events(self) -> u64 {
        if self.force { u64::MAX } else { MOST_EVENTS }
    }
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
}
