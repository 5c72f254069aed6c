//! Sweeps: a grid of settings, each point of it with several seeds.
//!
//! A [`Sweep`] is what was asked. Its points and seeds come to cells; a cell is known by the hash of all that decides what
//! comes out of it ([`Manifest`]), so the same cell is never run twice, in whichever sweep, process or machine. Results of a cell
//! are a folder in a [`Store`], there as a whole or not at all. A [`Campaign`] knows what is to be run next and when there is
//! enough; [`run`] does it on the cores of this machine, others may hand each [`Task`] to whom they like. When all cells are
//! there, [`assemble`] makes one data set of them.

mod applies;
mod campaign;
mod cells;
mod change;
mod complete;
mod dataset;
mod found;
mod leading;
mod local;
mod manifest;
mod measured;
mod merge;
mod overview;
mod shard;
mod spec;
mod stopping;
mod store;
mod task;
mod trouble;
mod worker;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value};

pub use campaign::{Campaign, Failure, Settings, Tally, Want};
pub use cells::Estimated;
pub use change::{Axis, Change, Step};
pub use complete::{Damaged, Health};
pub use dataset::{DataSet, assemble};
pub use found::{Absent, Found, stored_points};
#[cfg(test)]
pub(crate) use found::{MadeUp, made_up};
pub use local::{Event, Report, run};
pub use manifest::{KeptInput, Manifest, Point, Written};
pub use measured::{PointSummary, Row};
pub use merge::{Merged, merge};
pub use overview::{Overview, OverviewRow, overview};
pub(crate) use overview::{is_shown, usual_metrics};
pub use shard::Shard;
pub use stopping::Until;
pub use store::{Begun, Store};
pub use task::{Attached, CellFiles, Supplies, Task};
pub use trouble::Trouble;
pub use worker::{Ran, Worker};

use self::change::describe;
use crate::diagnostic::{Checked, Code, Diagnostic, Place};
use crate::document::Document;
use crate::plan::bad_name;

/// More cells than this are run only on demand: it is easy to request too many.
pub const USUAL_MOST: u64 = 10_000;
/// More cells than this are not run.
const MOST: u64 = 10_000_000;
/// Seeds that a point begins with if seeds are added until an interval is small enough.
const FIRST_SEEDS: u32 = 3;

/// A grid of settings, each point of it with several seeds.
#[derive(Debug)]
pub struct Sweep {
    /// Names the results.
    pub name: String,
    /// Its axes; the last varies fastest.
    pub axes: Vec<Axis>,
    /// Seeds of each point, counting up from the scenario's own; those to begin with if there is a rule.
    pub seeds: u32,
    /// When a point has enough seeds; none if it has as many as were requested.
    pub until: Option<Until>,
    /// Metrics of its page, in which `*` stands for any characters, and where they are written.
    metrics: Vec<(Place, String)>,
    base: Document,
    set: Vec<Change>,
    /// See [`Sweep::different`].
    different: OnceLock<Option<Vec<usize>>>,
}

impl Sweep {
    /// Reads `sweep.toml`.
    ///
    /// # Errors
    /// If it or its scenario cannot be read, or a key or a value makes no sense.
    pub fn read(path: &Path) -> Checked<Self> {
        Self::of(&Document::read(path)?, path)
    }

    /// The sweep that a document describes, which came from `path`.
    ///
    /// # Errors
    /// As [`Sweep::read`].
    pub fn of(document: &Document, path: &Path) -> Checked<Self> {
        spec::read(document, path)
    }

    /// A sweep of the scenario in `base`. Axes without a name of their own come in the order of the grid.
    ///
    /// # Errors
    /// If the grid makes no sense.
    pub fn from_json(
        name: &str,
        base: Document,
        set: &Map<String, Value>,
        grid: &Map<String, Value>,
        seeds: Option<u32>,
        until: Option<Until>,
    ) -> Checked<Self> {
        let set = set.iter().map(|(path, value)| Change::from_json(path, value)).collect::<Checked<_>>()?;
        let axes = grid.iter().map(|(name, steps)| Axis::from_json(name, steps)).collect::<Checked<_>>()?;
        Self::new(name, base, set, axes, seeds, until)
    }

    /// A sweep of the scenario in `base`, with changes for all points.
    ///
    /// # Errors
    /// If an axis has no steps, two have the same name, or numbers are out of range.
    pub fn new(
        name: &str,
        base: Document,
        set: Vec<Change>,
        axes: Vec<Axis>,
        seeds: Option<u32>,
        until: Option<Until>,
    ) -> Checked<Self> {
        let wrong = |message: String| Err(Diagnostic::error(Code::OutOfRange, message).into());
        if let Some(problem) = bad_name(name) {
            return wrong(format!("the name \"{name}\" {problem}"));
        }
        let mut names = BTreeSet::new();
        for axis in &axes {
            axis.check()?;
            if !names.insert(axis.name.as_str()) {
                let message = format!("two axes are called \"{}\"", axis.name);
                return Err(Diagnostic::error(Code::Duplicate, message).into());
            }
        }
        let seeds = seeds.unwrap_or(if until.is_some() { FIRST_SEEDS } else { 1 });
        if seeds == 0 {
            return wrong("seeds = 0, expected at least 1".into());
        }
        if let Some(until) = &until {
            until.check(seeds)?;
        }
        let (name, metrics, different) = (name.to_owned(), Vec::new(), OnceLock::new());
        Ok(Self { name, axes, seeds, until, metrics, base, set, different })
    }

    /// Changes one value of all points, after all others have been changed: `path=value`.
    ///
    /// # Errors
    /// If it is not of this form.
    pub fn set(&mut self, assignment: &str) -> Checked<()> {
        // A scenario that refuses it now would refuse it later.
        self.base.clone().set(assignment)?;
        self.set.push(Change::of_text(assignment));
        self.different = OnceLock::new();
        Ok(())
    }

    /// Gives each point another number of seeds, or another number to begin with.
    ///
    /// # Errors
    /// If that makes no sense.
    pub fn set_seeds(&mut self, seeds: u32) -> Checked<()> {
        self.until.as_ref().map_or(Ok(()), |until| until.check(seeds))?;
        self.seeds = seeds;
        Ok(())
    }

    /// Points of the grid: its combinations, but for those that differ only in settings of a control that they do not have.
    pub fn points(&self) -> u64 {
        self.different().map_or_else(|| self.combinations(), |different| different.len() as u64)
    }

    /// The combination of steps that makes the point of this number.
    fn combination(&self, point: usize) -> usize {
        self.different().map_or(point, |different| different[point])
    }

    /// Combinations of the steps of its axes.
    fn combinations(&self) -> u64 {
        self.axes.iter().map(|axis| axis.steps.len() as u64).fold(1, u64::saturating_mul)
    }

    /// Seeds that a point may come to.
    pub fn most_seeds(&self) -> u32 {
        self.until.as_ref().map_or(self.seeds, |until| until.most.max(self.seeds))
    }

    /// Refuses grids that are larger than usual, unless they are wanted, and those that are too large for anything.
    ///
    /// # Errors
    /// With the number of cells and how it comes about.
    pub fn check_size(&self, wanted: bool) -> Checked<()> {
        let cells = self.combinations().saturating_mul(u64::from(self.most_seeds()));
        let limit = if wanted { MOST } else { USUAL_MOST };
        if cells <= limit {
            return Ok(());
        }
        let axis = |axis: &Axis| format!("{} ({})", axis.name, axis.steps.len());
        let factors: Vec<_> = self.axes.iter().map(axis).collect();
        let seeds = match self.until {
            Some(_) => format!("up to {} seeds", self.most_seeds()),
            None => format!("{} seeds", self.seeds),
        };
        let factors = if factors.is_empty() { String::new() } else { factors.join(" × ") + " × " };
        let message = format!("the sweep has {cells} cells: {factors}{seeds}");
        let help = if wanted {
            format!("at most {limit} are possible")
        } else {
            format!("more than {limit} are run with --yes (in Python: yes=True)")
        };
        Err(Diagnostic::error(Code::ManyCells, message).help(help).into())
    }

    /// Which step of each axis makes the point of this number.
    pub fn steps(&self, point: usize) -> Vec<usize> {
        self.steps_of(self.combination(point))
    }

    fn steps_of(&self, combination: usize) -> Vec<usize> {
        let mut rest = combination;
        let mut steps: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let step = rest % axis.steps.len();
                rest /= axis.steps.len();
                step
            })
            .collect();
        steps.reverse();
        steps
    }

    /// The scenario of a point, with its own seed.
    ///
    /// # Errors
    /// If a change cannot be applied. Whether the scenario makes sense is reported by whoever reads the document.
    pub fn document(&self, point: usize) -> Checked<Document> {
        Ok(self.make(self.combination(point))?.document)
    }

    /// Input of its scenarios besides their text: files of those cells that have been requested, and what was attached to the
    /// scenario.
    pub fn supplies(&self) -> Supplies {
        let files = self.base.inputs().into_iter().map(|content| (content.hash().to_owned(), content));
        Supplies { files: files.collect(), makers: self.base.makers().clone() }
    }

    /// Name of a point in messages: `traffic.dc.load = 0.2, control = dctcp`.
    pub fn describe(&self, point: usize) -> String {
        let combination = self.combination(point);
        let is_void =
            self.make(combination).map_or_else(|_| vec![false; self.axes.len()], |made| made.is_void);
        let values = self.values(combination, &is_void);
        describe(self.axes.iter().map(|axis| axis.name.as_str()), &values)
    }
}
