//! Metrics of cells one by one, and estimates over the seeds of each point.

use std::collections::HashMap;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::manifest::Manifest;
use super::store::{Store, summary};
use crate::diagnostic::Checked;
use crate::metrics::{Marks, estimate};
use crate::results::warnings_in;
use crate::statistics::Estimate;

/// The metrics of a point, over its seeds.
#[derive(Clone, Debug)]
pub struct PointSummary {
    /// The number of the point.
    pub point: usize,
    /// Its value on each axis.
    pub values: Vec<Value>,
    /// Number of its seeds.
    pub seeds: u32,
    /// Its metrics, in the order of `run.json`; none where there was nothing to take one of.
    pub metrics: Vec<(String, Option<Estimate>)>,
    /// Marks of those that are less certain than their digits in any of its runs.
    pub marks: Vec<(String, Marks)>,
}

impl PointSummary {
    /// A metric over all seeds.
    pub fn metric(&self, name: &str) -> Option<&Estimate> {
        self.metrics.iter().find(|(other, _)| other == name)?.1.as_ref()
    }

    /// Why a metric is less certain than its digits.
    pub fn marks(&self, name: &str) -> Marks {
        let own = self.marks.iter().filter(|(marked, _)| marked == name);
        own.fold(Marks::default(), |all, (_, marks)| all.and(*marks))
    }
}

/// A cell: which point and seed it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the point.
    pub point: usize,
    /// The seed.
    pub seed: u64,
    /// The name of its folder.
    pub id: String,
}

/// Metrics of all cells.
#[derive(Debug)]
pub(super) struct Metrics {
    pub(super) names: Vec<String>,
    /// By cell: the number of each of its metrics, and its value.
    pub(super) values: Vec<Vec<(usize, Option<f64>)>>,
    /// By cell: the marks of those that have some.
    pub(super) marks: Vec<Vec<(String, Marks)>>,
    /// Warnings of the runs, each with the number of its point.
    pub(super) warnings: Vec<(usize, String)>,
}

impl Metrics {
    pub(super) fn read(rows: &[Row], store: &Store) -> Checked<Self> {
        let read = |row: &Row| -> Checked<_> {
            let run = summary(&store.cell(&row.id))?;
            let metrics = run.get("metrics").and_then(Value::as_object).into_iter().flatten();
            let metrics: Vec<_> = metrics.map(|(name, value)| (name.clone(), value.as_f64())).collect();
            let marks = Marks::read(&run).collect::<Vec<_>>();
            Ok((metrics, marks, warnings_in(&run).map(|warning| (row.point, warning)).collect::<Vec<_>>()))
        };
        let all: Vec<_> = rows.par_iter().map(read).collect::<Checked<_>>()?;
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut found =
            Self { names: Vec::new(), values: Vec::new(), marks: Vec::new(), warnings: Vec::new() };
        for (metrics, marks, warnings) in all {
            let number = |(name, value): (String, Option<f64>)| {
                let number = *numbers.entry(name).or_insert_with_key(|name| {
                    found.names.push(name.clone());
                    found.names.len() - 1
                });
                (number, value)
            };
            found.values.push(metrics.into_iter().map(number).collect());
            found.marks.push(marks);
            found.warnings.extend(warnings);
        }
        Ok(found)
    }
}

/// Estimates over the seeds of each point.
pub(super) fn summarize(manifest: &Manifest, rows: &[Row], metrics: &Metrics) -> Vec<PointSummary> {
    let mut first = 0;
    let point = |chunk: &[Row]| {
        let runs = &metrics.values[first..first + chunk.len()];
        let mut marks = metrics.marks[first..first + chunk.len()].concat();
        first += chunk.len();
        // A metric that only other points have is none of this one.
        let own: Vec<usize> = runs.first().into_iter().flatten().map(|(number, _)| *number).collect();
        let mut over_seeds = |number: usize| {
            let name = &metrics.names[number];
            let of = runs.iter().flatten().filter(|(other, _)| *other == number);
            let samples: Vec<_> = of.filter_map(|(_, value)| *value).collect();
            let of_seeds = Marks::default().over(&samples);
            marks.extend((of_seeds != Marks::default()).then(|| (name.clone(), of_seeds)));
            (name.clone(), estimate(name, &samples))
        };
        let own: Vec<_> = own.into_iter().map(&mut over_seeds).collect();
        PointSummary {
            point: chunk[0].point,
            values: manifest.points[chunk[0].point].values.clone(),
            seeds: chunk.len() as u32,
            metrics: own,
            marks,
        }
    };
    rows.chunk_by(|a, b| a.point == b.point).map(point).collect()
}
