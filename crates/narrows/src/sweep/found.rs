//! A sweep read back for a report: what each point measured, which cells failed, and which are missing. It may be unfinished.

use std::path::Path;

use serde_json::Value;

use super::change::text;
use super::manifest::Manifest;
#[cfg(test)]
use super::manifest::Written;
use super::measured::{Metrics, PointSummary, Row, summarize};
use super::store::Store;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::numbers::{counted, number};
use crate::results::StoredCell;

/// The sweep in a folder.
#[derive(Debug)]
pub struct Found {
    /// The sweep as requested.
    pub manifest: Manifest,
    /// Points with a cell that is there.
    pub points: Vec<PointSummary>,
    /// Cells that are there, by point and seed: no more seeds than the data set has.
    pub cells: Vec<Row>,
    /// Cells that are wanted and not there.
    pub absent: Vec<Absent>,
    /// Warnings of the runs, each with the number of its point in the manifest.
    pub warnings: Vec<(usize, String)>,
    metrics: Metrics,
    /// By point of `points`: the number of its first cell.
    first: Vec<usize>,
}

/// Keys that name the form of a value: `k = { bytes = "30 kB" }`.
const FORMS: [&str; 4] = ["bytes", "constant", "fixed", "per"];

/// A cell that is wanted and not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Which one.
    pub cell: Row,
    /// Why it failed; none if it has not been run, or not to its end.
    pub reason: Option<String>,
}

impl Found {
    /// Reads the sweep in a folder; none if the folder holds no sweep.
    ///
    /// # Errors
    /// If `sweep.json` or a cell cannot be read, or no cell has been run.
    pub fn read(folder: &Path) -> Checked<Option<Self>> {
        let Some((manifest, store)) = open(folder)? else { return Ok(None) };
        let (cells, absent) = wanted(&manifest, &store)?;
        if cells.is_empty() && absent.iter().all(|absent| absent.reason.is_none()) {
            return Err(nothing(&manifest, folder).into());
        }
        let metrics = Metrics::read(&cells, &store)?;
        Ok(Some(Self::new(manifest, cells, absent, metrics)))
    }

    fn new(manifest: Manifest, cells: Vec<Row>, absent: Vec<Absent>, mut metrics: Metrics) -> Self {
        let points = summarize(&manifest, &cells, &metrics);
        let first = points.iter().scan(0, |next, point| {
            let first = *next;
            *next += point.seeds as usize;
            Some(first)
        });
        let (first, warnings) = (first.collect(), std::mem::take(&mut metrics.warnings));
        Self { manifest, points, cells, absent, warnings, metrics, first }
    }

    /// Seeds of a point of `points`, each with the value of a metric; those without a value are left out.
    pub fn samples(&self, point: usize, metric: &str) -> Vec<(u64, f64)> {
        let Some(number) = self.metrics.names.iter().position(|name| name == metric) else {
            return Vec::new();
        };
        let runs = self.first[point]..self.first[point] + self.points[point].seeds as usize;
        let sample = |run: usize| {
            let (_, value) = self.metrics.values[run].iter().find(|(other, _)| *other == number)?;
            Some((self.cells[run].seed, (*value)?))
        };
        runs.filter_map(sample).collect()
    }
}

/// The points of the sweep in a folder, each with the runs of its seeds that are there; none if the folder holds no sweep. Points
/// without any run are left out.
///
/// # Errors
/// If `sweep.json` or a cell cannot be read, or no cell is there.
pub fn stored_points(folder: &Path) -> Checked<Option<Vec<StoredCell>>> {
    let Some((manifest, store)) = open(folder)? else { return Ok(None) };
    let (cells, _) = wanted(&manifest, &store)?;
    if cells.is_empty() {
        return Err(nothing(&manifest, folder).into());
    }
    let point = |runs: &[Row]| StoredCell {
        name: manifest.short(runs[0].point),
        runs: runs.iter().map(|run| store.cell(&run.id)).collect(),
    };
    Ok(Some(cells.chunk_by(|a, b| a.point == b.point).map(point).collect()))
}

fn open(folder: &Path) -> Checked<Option<(Manifest, Store)>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let Some(manifest) = Store::manifest(folder)? else { return Ok(None) };
    let store = Store::at(folder);
    store.verify(manifest.points.iter().flat_map(|point| &point.cells));
    Ok(Some((manifest, store)))
}

fn nothing(manifest: &Manifest, folder: &Path) -> Diagnostic {
    let message = format!("no cell of the sweep \"{}\" is in {}", manifest.name, folder.display());
    Diagnostic::error(Code::MissingCells, message).help("run narrows sweep first")
}

/// The cells that are there and those that are not: of each point the seeds that are enough, or where that is not known yet those
/// that it begins with and what is there of further ones.
fn wanted(manifest: &Manifest, store: &Store) -> Checked<(Vec<Row>, Vec<Absent>)> {
    let (mut there, mut absent) = (Vec::new(), Vec::new());
    for (number, point) in manifest.points.iter().enumerate() {
        let decided = manifest.decide(number, store)?;
        let further = decided.is_none() && manifest.until.is_some();
        let wanted = decided.unwrap_or(manifest.seeds) as usize;
        for (place, (seed, id)) in (point.first_seed..).zip(&point.cells).enumerate() {
            let cell = || Row { point: number, seed, id: id.clone() };
            if place >= wanted && !further {
                break;
            }
            if store.has(id) {
                there.push(cell());
            } else if place < wanted {
                absent.push(Absent { cell: cell(), reason: store.failure(id) });
            }
        }
    }
    Ok((there, absent))
}

impl Manifest {
    /// Names of its axes in few words: the last keys of those that are paths, where these are different. A key that only names the form of
    /// a value says nothing without the one before it.
    pub fn short_axes(&self) -> Vec<String> {
        let last = |axis: &str| {
            let mut keys = axis.rsplit('.').filter(|key| !FORMS.contains(key));
            keys.next().unwrap_or(axis).to_owned()
        };
        let is_clear = |key: &str| self.axes.iter().filter(|axis| last(axis) == key).count() == 1;
        let short = |axis: &String| Some(last(axis)).filter(|key| is_clear(key));
        self.axes.iter().map(|axis| short(axis).unwrap_or_else(|| axis.clone())).collect()
    }

    /// `12 points × 5 seeds`.
    pub fn size(&self) -> String {
        let points = counted(self.points.len(), "point");
        match &self.until {
            None => format!("{points} × {}", counted(self.seeds as usize, "seed")),
            Some(until) => {
                let width = number(until.half_width * 100.0);
                let (seeds, most, metric) = (self.seeds, until.most, &until.metric);
                format!("{points} × {seeds} to {most} seeds, until {metric} is known to ±{width} %")
            }
        }
    }

    /// A point in few words: `load = 0.2, control = dctcp`.
    pub fn short(&self, point: usize) -> String {
        let part = |(axis, value): (String, &Value)| format!("{axis} = {}", text(value));
        let values = self.short_axes().into_iter().zip(&self.points[point].values);
        let parts: Vec<_> = values.filter(|(_, value)| !value.is_null()).map(part).collect();
        if parts.is_empty() { self.name.clone() } else { parts.join(", ") }
    }
}

/// Values of a point on the axes, and by metric the value of each seed from 1 on.
#[cfg(test)]
pub(crate) type MadeUp<'a> = (Vec<Value>, Vec<(&'a str, Vec<f64>)>);

/// A sweep that was never run, for tests.
#[cfg(test)]
pub(crate) fn made_up(axes: &[&str], points: &[MadeUp<'_>]) -> Found {
    let seeds = points.iter().flat_map(|(_, metrics)| metrics.iter().map(|(_, values)| values.len()));
    let seeds = seeds.max().unwrap_or(0);
    let id = |point: usize, seed: usize| format!("{point}-{seed}");
    let point = |(number, (values, _)): (usize, &(Vec<Value>, _))| super::Point {
        values: values.clone(),
        first_seed: 1,
        cells: (1..=seeds).map(|seed| id(number, seed)).collect(),
    };
    let manifest = Manifest {
        name: "made-up".into(),
        engine: "0".into(),
        axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
        seeds: seeds as u32,
        until: None,
        inputs: Vec::new(),
        written: Written::default(),
        points: points.iter().enumerate().map(point).collect(),
    };
    let mut metrics =
        Metrics { names: Vec::new(), values: Vec::new(), marks: Vec::new(), warnings: Vec::new() };
    let mut cells = Vec::new();
    for (number, (_, of_point)) in points.iter().enumerate() {
        for seed in 1..=seeds {
            let mut run = Vec::new();
            for (name, values) in of_point {
                let known = metrics.names.iter().position(|other| other == name);
                let metric = known.unwrap_or_else(|| {
                    metrics.names.push((*name).to_owned());
                    metrics.names.len() - 1
                });
                run.push((metric, values.get(seed - 1).copied()));
            }
            metrics.values.push(run);
            metrics.marks.push(Vec::new());
            cells.push(Row { point: number, seed: seed as u64, id: id(number, seed) });
        }
    }
    Found::new(manifest, cells, Vec::new(), metrics)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use serde_json::{Map, json};

    use super::*;
    use crate::sweep::{Campaign, Settings, Supplies, Sweep};
    use crate::templates;

    #[test]
    fn an_axis_has_the_name_of_its_setting_where_no_other_has_it() {
        let names = |axes: &[&str]| made_up(axes, &[]).manifest.short_axes();
        let pfc = "switches.default.pfc";
        assert_eq!(names(&[&format!("{pfc}.xoff.fixed"), "control"]), ["xoff", "control"]);
        assert_eq!(names(&["switches.tor.marking.step.k.bytes"]), ["k"]);
        let both = ["traffic.a.pattern.poisson.load", "traffic.b.pattern.poisson.load"];
        assert_eq!(names(&both), both);
    }

    #[test]
    fn a_failed_cell_keeps_its_reason_until_it_has_been_run() {
        let place = tempfile::tempdir().unwrap();
        let grid = Map::from_iter([("stop.after".to_owned(), json!(["4 ms", "8 ms"]))]);
        let base = templates::find("incast").unwrap().document().unwrap();
        let sweep = Arc::new(Sweep::from_json("two", base, &Map::new(), &grid, None, None).unwrap());
        let manifest = Arc::new(sweep.manifest().unwrap());
        let store = Store::open(place.path(), &manifest).unwrap();
        let mut campaign = Campaign::new(Arc::clone(&sweep), &manifest, &store, Settings::default()).unwrap();
        assert!(Found::read(place.path()).unwrap_err().to_string().contains("no cell of the sweep"));
        let want = campaign.next(None).unwrap();
        campaign.failed(&want.id, "backlog 7 of 5", false, &store).unwrap();
        let found = Found::read(place.path()).unwrap().unwrap();
        let reasons: Vec<_> = found.absent.iter().map(|absent| absent.reason.as_deref()).collect();
        assert_eq!(reasons, [None, Some("backlog 7 of 5")], "the longer one is run first");
        assert!(found.points.is_empty());
        let begun = store.begin(&want.id).unwrap();
        let goes_on = |_| ControlFlow::Continue(());
        let task = sweep.task(want.point, want.seed).unwrap();
        assert!(task.run_into(&Supplies::default(), 1, begun.path(), goes_on).unwrap());
        begun.finish().unwrap();
        let found = Found::read(place.path()).unwrap().unwrap();
        assert_eq!((found.cells.len(), found.absent.len(), found.absent[0].reason.as_ref()), (1, 1, None));
        assert!(!place.path().join("failed").exists(), "nothing is left over");
    }

    #[test]
    fn samples_are_those_of_one_point_by_seed() {
        let point = |k: u32, values: &[f64]| (vec![json!(k)], vec![("web.m", values.to_vec())]);
        let found = made_up(&["k"], &[point(1, &[5.0, 6.0]), point(2, &[7.0])]);
        assert_eq!(found.samples(0, "web.m"), [(1, 5.0), (2, 6.0)]);
        assert_eq!(found.samples(1, "web.m"), [(1, 7.0)]);
        assert!(found.samples(0, "web.n").is_empty());
    }
}
