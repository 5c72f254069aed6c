//! Flows of traces that wait for others.

use narrows_sim::traffic::Dependent;

use super::Of::Run;
use super::{Counter, Counters};
use crate::results::Outline;

pub(super) static DEPENDENTS: Counters = Counters {
    present: "with flows that wait for others",
    is_in: |plan| !plan.traffic.dependents.is_empty(),
    counters: &[Counter::new(
        Run(never_started),
        "",
        "Flows of a trace that wait for others (`after`) which had not ended when the run did.",
    )
    .activity("flows that waited and never started")],
};

fn never_started(run: &Outline<'_>) -> u64 {
    let started =
        |dependent: &Dependent| run.flows.binary_search_by_key(&dependent.flow, |flow| flow.flow).is_ok();
    run.plan.traffic.dependents.iter().filter(|dependent| !started(dependent)).count() as u64
}
