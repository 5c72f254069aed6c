//! Cells: a point and a seed, known by the hash of everything that decides what comes out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use narrows_proto::units::Bytes;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::applies::{LeftOut, Made};
use super::change::Change;
use super::manifest::{KeptInput, Manifest, Point, Written};
use super::task::{Attached, Task, id};
use super::{Store, Sweep, is_shown};
use crate::ENGINE;
use crate::diagnostic::{Checked, Code, Diagnostic, Place, Rejection};
use crate::document::Document;
use crate::inputs::{Input, input_in};
use crate::plan::{Plan, collect_inputs};
use crate::scenario::Scenario;

impl Manifest {
    /// Number of seeds that are enough for a point; none if that is not known yet, as cells are missing in the folder of the sweep.
    ///
    /// # Errors
    /// If a cell cannot be read.
    pub(super) fn decide(&self, point: usize, store: &Store) -> Checked<Option<u32>> {
        let cells = &self.points[point].cells;
        let there = cells.iter().take_while(|id| store.has(id));
        let Some(until) = &self.until else {
            return Ok((there.count() >= self.seeds as usize).then_some(self.seeds));
        };
        // Looked at one by one, so that seeds beyond those that are enough need not be read.
        let mut values = Vec::new();
        for id in there {
            values.push(store.metric(id, &until.metric)?);
            if let Some(enough) = until.enough(self.seeds, &values) {
                return Ok(Some(enough));
            }
        }
        Ok(None)
    }
}

/// Estimated needs of a cell of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimated {
    /// Packet-hops to be expected; see [`Plan::cost`].
    pub cost: f64,
    /// Memory, at most.
    pub memory: Bytes,
    /// Warnings about its scenario.
    pub warnings: Vec<Diagnostic>,
}

/// The scenario of a point, read, with names of its files that do not depend on where they are.
struct Resolved {
    scenario: Scenario,
    inputs: Vec<KeptInput>,
}

impl Resolved {
    /// Reads the scenario of a document.
    fn new(mut document: Document) -> Checked<Self> {
        let mut scenario = Scenario::from_document(&mut document)?;
        let kept = |Input { file, name, content }: Input| KeptInput {
            file,
            kept: Attached { name, hash: content.hash().to_owned() },
        };
        let inputs = collect_inputs(&mut scenario, &document)?.into_iter().map(kept).collect();
        // The code of controls from outside decides as well.
        for params in scenario.traffic.iter_mut().filter_map(|group| group.cc.as_mut()?.custom_mut()) {
            params.code = document.makers().get(&params.name).map(|maker| maker.version());
        }
        Ok(Self { scenario, inputs })
    }

    /// The cell with this seed.
    fn task(&mut self, seed: u64) -> Task {
        self.scenario.seed = seed;
        let scenario = self.scenario.to_toml();
        let files: Vec<_> = self.inputs.iter().map(|input| input.kept.clone()).collect();
        let id = id(ENGINE, &scenario, &files);
        Task { id, engine: ENGINE.to_owned(), seed, scenario, files }
    }
}

impl Sweep {
    /// Goes on with what is in a folder, if that has this sweep: a file of its scenario that is gone is taken from there.
    ///
    /// # Errors
    /// If something else is in its place.
    pub fn resume(&self, folder: &Path) -> Checked<()> {
        let before = Store::manifest(folder)?.filter(|before| before.name == self.name);
        let before = before.map(|before| before.inputs).unwrap_or_default();
        for KeptInput { file, kept: Attached { name, hash } } in &before {
            self.base.expect_input(file, hash, input_in(folder, hash, name));
        }
        Ok(())
    }

    /// Warnings of files that have changed since the sweep began that is gone on with. They are known when [`Sweep::manifest`] has read
    /// them.
    pub fn changed_inputs(&self) -> Vec<Diagnostic> {
        self.base.changed_inputs()
    }

    /// Every point and the ids of its cells.
    ///
    /// # Errors
    /// If the scenario of a point cannot be read, or a file that it names. Whether it makes sense is told by
    /// [`Sweep::estimate`].
    pub fn manifest(&self) -> Checked<Manifest> {
        let point = |number: usize| self.point(number).map_err(|rejection| self.about(number, rejection));
        let points: Vec<_> = (0..self.points() as usize).into_par_iter().map(point).collect();
        let (points, of_points): (Vec<_>, Vec<_>) = all(points)?.into_iter().unzip();
        let mut inputs: Vec<KeptInput> = Vec::new();
        for input in of_points.into_iter().flatten() {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        Ok(Manifest {
            name: self.name.clone(),
            engine: ENGINE.to_owned(),
            axes: self.axes.iter().map(|axis| axis.name.clone()).collect(),
            seeds: self.seeds,
            until: self.until.clone(),
            inputs,
            written: self.written(),
            points,
        })
    }

    fn written(&self) -> Written {
        let mut texts = self.base.written_texts();
        let scenario = texts.next().unwrap_or_default().to_owned();
        let set = texts.chain(self.set.iter().map(Change::text)).map(str::to_owned).collect();
        Written { scenario, set, metrics: self.metrics.iter().map(|(_, metric)| metric.clone()).collect() }
    }

    /// A point, and the files that its scenario names.
    fn point(&self, number: usize) -> Checked<(Point, Vec<KeptInput>)> {
        let combination = self.combination(number);
        let Made { document, is_void, .. } = self.make(combination)?;
        let mut resolved = Resolved::new(document)?;
        let first_seed = resolved.scenario.seed;
        let Some(last) = first_seed.checked_add(u64::from(self.most_seeds()) - 1) else {
            let message =
                format!("{} seeds from {first_seed} on, the largest seed is {}", self.most_seeds(), u64::MAX);
            return Err(Diagnostic::error(Code::OutOfRange, message).into());
        };
        let point = Point {
            values: self.values(combination, &is_void),
            first_seed,
            cells: (first_seed..=last).map(|seed| resolved.task(seed).id).collect(),
        };
        Ok((point, resolved.inputs))
    }

    /// The cell of a point with this seed, to be run anywhere.
    ///
    /// # Errors
    /// As [`Sweep::manifest`].
    pub fn task(&self, point: usize, seed: u64) -> Checked<Task> {
        let document = self.document(point);
        let resolved = document.and_then(Resolved::new);
        Ok(resolved.map_err(|rejection| self.about(point, rejection))?.task(seed))
    }

    /// Plans these points with their first seed: what they cost on so many threads, and whether they make sense.
    ///
    /// # Errors
    /// With what is wrong at any of them.
    pub fn estimate(&self, manifest: &Manifest, points: &[usize], threads: usize) -> Checked<Vec<Estimated>> {
        let known = Mutex::new(BTreeSet::new());
        let estimate = |number: &usize| {
            let estimate = self.make(self.combination(*number)).and_then(|made| {
                let Made { document, left_out, .. } = made;
                let task = Resolved::new(document.clone())?.task(manifest.points[*number].first_seed);
                let plan = task.outline(&self.supplies())?;
                if self.until.is_some() || !self.metrics.is_empty() {
                    let metrics = plan.metric_names();
                    self.check_metric(&metrics)?;
                    known.lock().unwrap_or_else(PoisonError::into_inner).extend(metrics);
                }
                // The scenario of a task leaves nothing out.
                let notes = plan.cut_flows(&document);
                let left_out = left_out.iter().map(LeftOut::warning);
                let warnings = plan.warnings.iter().cloned().chain(notes).chain(left_out).collect();
                Ok(Estimated { cost: plan.cost(), memory: plan.memory(threads), warnings })
            });
            // A mistake is shown where it was made, in the scenario or the sweep, not in the text that was made of both.
            estimate.map_err(|rejection| match self.document(*number).and_then(Plan::outline) {
                Err(original) => self.about(*number, original),
                Ok(_) => self.about(*number, rejection),
            })
        };
        let estimated = all(points.into_par_iter().map(estimate).collect())?;
        // A point may have what others lack.
        if points.len() == manifest.points.len() {
            self.check_shown(&known.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        }
        Ok(estimated)
    }

    /// Some point has each metric that the page is to show.
    fn check_shown(&self, known: &BTreeSet<String>) -> Checked<()> {
        let nowhere = |(_, metric): &&(Place, String)| !known.iter().any(|name| is_shown(metric, name));
        let unknown = self.metrics.iter().filter(nowhere);
        let unknown: Vec<_> =
            unknown.map(|(place, metric)| no_metric(metric, known).at(place.clone())).collect();
        if unknown.is_empty() { Ok(()) } else { Err(Rejection(unknown)) }
    }

    fn check_metric(&self, known: &[String]) -> Checked<()> {
        let Some(until) = &self.until else { return Ok(()) };
        if known.contains(&until.metric) {
            return Ok(());
        }
        Err(no_metric(&until.metric, known).into())
    }

    /// The same mistakes, with the point that they are about.
    fn about(&self, point: usize, Rejection(mut mistakes): Rejection) -> Rejection {
        if !self.axes.is_empty() {
            for mistake in &mut mistakes {
                let point = format!("at the point {}", self.describe(point));
                mistake.help = Some(match mistake.help.take() {
                    Some(help) => format!("{help}\n{point}"),
                    None => point,
                });
            }
        }
        Rejection(mistakes)
    }
}

fn no_metric<'a>(name: &str, known: impl IntoIterator<Item = &'a String>) -> Diagnostic {
    let error = Diagnostic::error(Code::UnknownName, format!("no metric is called \"{name}\""));
    error.known(name, known.into_iter().map(String::as_str))
}

/// All of them, or every mistake once: points have much in common.
fn all<T>(results: Vec<Checked<T>>) -> Checked<Vec<T>> {
    let mut mistakes: Vec<Diagnostic> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut good = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(Rejection(more)) => {
                let new = |mistake: &Diagnostic| {
                    let span = mistake.place.as_ref().map(|place| place.span.start);
                    seen.insert((mistake.message.clone(), span))
                };
                mistakes.extend(more.into_iter().filter(new));
            }
        }
    }
    mistakes.truncate(crate::document::MOST_MISTAKES);
    if mistakes.is_empty() { Ok(good) } else { Err(Rejection(mistakes)) }
}
