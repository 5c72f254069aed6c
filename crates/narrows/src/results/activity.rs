use serde::Serialize;

use super::{Activity, Outline};
use crate::counters;

/// An event that can be counted in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ActivityInfo {
    /// Its name.
    pub name: &'static str,
    /// Meaning of the count.
    pub meaning: &'static str,
    /// Which runs count it.
    pub present: &'static str,
}

/// Everything that can be counted, in the order in which [`Results::activity`](super::Results::activity) has it.
pub fn activity_infos() -> impl Iterator<Item = ActivityInfo> {
    counters::activities().map(|(name, counter, mechanism)| ActivityInfo {
        name,
        meaning: counter.meaning,
        present: mechanism.present,
    })
}

/// Everything that can happen, in a fixed order, whether it did or not; of some mechanisms only in networks that have them.
pub(crate) fn activity(run: &Outline<'_>) -> Vec<Activity> {
    let counted = counters::activities_in(run.plan);
    counted.map(|(name, counter)| Activity { what: name.into(), times: counter.total(run) }).collect()
}
