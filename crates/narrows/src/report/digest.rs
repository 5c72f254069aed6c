//! Digests of finished runs: of one, and of one scenario with several seeds.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::collectives::{self, Collective};
use super::flows::{self, GroupTimes};
use super::over_time::OverTime;
use super::pauses::Pauses;
use crate::diagnostic::Checked;
use crate::metrics::{self, Marks, Metric};
use crate::results::{Activity, Source, Stored, StoredCell, warnings_in};

/// Digest of a run for comparisons and reports; bounded, however long the run was.
#[derive(Clone, Debug)]
pub struct Digest {
    /// The name of its scenario.
    pub scenario: String,
    /// One line about the network.
    pub network: String,
    /// Its seed.
    pub seed: u64,
    /// The version of Narrows that ran it.
    pub version: String,
    /// The scenario as it was run.
    pub text: String,
    /// Warnings before the run and after it.
    pub warnings: Vec<String>,
    /// Its metrics.
    pub metrics: Vec<Metric>,
    /// Marks of those that are less certain than their digits.
    pub marks: Vec<(String, Marks)>,
    /// Events and how often they happened.
    pub activity: Vec<Activity>,
    /// Completion times by group.
    pub groups: Vec<GroupTimes>,
    /// Ports that were paused.
    pub pauses: Pauses,
    /// Iterations of collectives.
    pub collectives: Vec<Collective>,
    /// Records over time, which copies share; none if they are not wanted.
    pub over_time: Option<Arc<OverTime>>,
    /// It was not interrupted.
    pub complete: bool,
}

/// Runs of one scenario with several seeds.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name in tables.
    pub name: String,
    /// One for each seed.
    pub runs: Vec<Digest>,
}

impl Digest {
    /// Digest of a run.
    ///
    /// # Errors
    /// If its tables cannot be read.
    pub fn of(source: &impl Source) -> Checked<Self> {
        let over_time = Some(Arc::new(OverTime::of(source, &source.summary())?));
        Ok(Self { over_time, ..Self::brief(source)? })
    }

    /// The same without what was recorded over time.
    ///
    /// # Errors
    /// If the table of flows cannot be read.
    pub fn brief(source: &impl Source) -> Checked<Self> {
        let summary = source.summary();
        let text = |key: &str| summary.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let entries = |key: &str| summary.get(key).and_then(Value::as_object).into_iter().flatten();
        Ok(Self {
            scenario: text("scenario"),
            network: text("network"),
            seed: summary.get("seed").and_then(Value::as_u64).unwrap_or_default(),
            version: text("narrows"),
            text: source.scenario().to_owned(),
            warnings: warnings_in(&summary).collect(),
            metrics: entries("metrics")
                .map(|(name, value)| Metric { name: metrics::current_name(name), value: value.as_f64() })
                .collect(),
            marks: Marks::read(&summary).collect(),
            activity: entries("activity")
                .map(|(what, times)| Activity {
                    what: Cow::Owned(what.clone()),
                    times: times.as_u64().unwrap_or_default(),
                })
                .collect(),
            groups: GroupTimes::of(source, &summary)?,
            pauses: Pauses::of(source, summary.get("ended_ps").and_then(Value::as_u64).unwrap_or_default())?,
            collectives: collectives::of(source)?,
            over_time: None,
            complete: summary.get("complete").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// The same without what was recorded over time.
    #[must_use]
    pub fn without_records(&self) -> Self {
        Self { over_time: None, ..self.clone() }
    }

    /// The value of a metric; none if there was nothing to take it of.
    pub fn metric(&self, name: &str) -> Option<f64> {
        metrics::value(&self.metrics, name)
    }

    fn marks(&self, name: &str) -> Marks {
        self.marks.iter().find(|(marked, _)| marked == name).map_or_else(Marks::default, |(_, marks)| *marks)
    }
}

impl Cell {
    /// One of its runs has this metric, whether there was something to take it of or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.runs.iter().any(|run| run.metrics.iter().any(|metric| metric.name == name))
    }

    /// Marks of a metric in any of its runs.
    pub(super) fn marks(&self, name: &str) -> Marks {
        self.runs.iter().map(|run| run.marks(name)).fold(Marks::default(), Marks::and)
    }

    /// Events of all its runs together.
    pub fn activity(&self) -> Vec<Activity> {
        let mut sums: Vec<Activity> = Vec::new();
        for activity in self.runs.iter().flat_map(|run| &run.activity) {
            match sums.iter_mut().find(|sum| sum.what == activity.what) {
                Some(sum) => sum.times += activity.times,
                None => sums.push(activity.clone()),
            }
        }
        sums
    }

    /// Completion times of each group over all runs: `cdf` has points of time in µs, fraction of flows that took at most so long,
    /// and the bounds of the time (95 % confidence; the time itself where there is no interval); `slowdown` has by size in
    /// bytes the estimates `p50` and `p99`.
    pub fn distributions(&self) -> Value {
        let runs: Vec<_> = self.runs.iter().map(|run| run.groups.as_slice()).collect();
        serde_json::to_value(flows::charts(&runs)).unwrap_or_default()
    }

    /// Reads the runs of a folder. Only the first keeps what was recorded over time.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn read(cell: &StoredCell) -> Checked<Self> {
        let mut runs: Vec<Digest> = Vec::new();
        for folder in &cell.runs {
            let stored = Stored::open(folder)?;
            runs.push(if runs.is_empty() { Digest::of(&stored)? } else { Digest::brief(&stored)? });
        }
        Ok(Self { name: cell.name.clone(), runs })
    }
}
