//! Experiments over grids of lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::{Experiment, Measure};
use super::ground::{Ground, is_name};
use super::measure::Reading;
use super::scope::{Grid, Scope};
use super::written::{self, Change, Many, Quick, Written};
use crate::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// A paper with more experiments is refused.
const MOST: usize = 10_000;
/// The most bytes of all changes of all experiments together.
const MOST_TEXT: usize = 64 << 20;

/// The most quantities and curves of all experiments together.
const MOST_MEASURED: usize = 200_000;
/// The most bytes of all scenarios together.
const MOST_SCENARIOS: usize = 256 << 20;

/// Experiments of a paper.
pub(super) struct Experiments {
    pub(super) all: Vec<Experiment>,
    /// Where changes of scenarios stand, by their texts.
    pub(super) places: BTreeMap<String, Place>,
    /// By experiment: the names of its scenario's files, and where it stands.
    pub(super) files: BTreeMap<String, (String, String)>,
    bytes: usize,
    measured: usize,
}

/// Scenarios that have been laid end to end: texts and the names of their files.
#[derive(Default)]
struct Scenarios {
    all: BTreeMap<Vec<String>, (Arc<str>, String)>,
    bytes: usize,
}

/// Parts that experiments are made of.
pub(super) struct Parts<'a> {
    pub(super) written: &'a Written,
    pub(super) ground: &'a Ground,
    pub(super) measures: &'a BTreeMap<String, Arc<Reading>>,
    /// Files of the folder by name.
    pub(super) scenarios: &'a BTreeMap<String, Arc<Source>>,
}

impl Experiments {
    /// All experiments, grid by grid.
    ///
    /// # Errors
    /// If a name is unknown, bad or there twice, or there are too many experiments.
    pub(super) fn of(parts: &Parts<'_>) -> Checked<Self> {
        let mut experiments =
            Self { all: Vec::new(), places: BTreeMap::new(), files: BTreeMap::new(), bytes: 0, measured: 0 };
        let mut scenarios = Scenarios::default();
        let mut names = BTreeSet::new();
        for (number, written) in parts.written.experiment.iter().enumerate() {
            let path = format!("experiment.{number}");
            let grid = Grid::of(&written.grid, &parts.written.lists, parts.ground, &path)?;
            let scenario = scenarios.of(&written.scenario, parts, &path)?;
            let only = written.quick.iter().flat_map(|quick| quick.only.keys());
            if let Some(unknown) = only.into_iter().find(|variable| !grid.has(variable)) {
                let error =
                    Diagnostic::error(Code::UnknownName, format!("\"{unknown}\" is no variable here"));
                let error = error.known(unknown, grid.variables());
                return Err(parts.ground.at(&format!("{path}.quick.only.{unknown}"), error));
            }
            let points = grid.points(&Scope::default(), experiments.all.len(), MOST);
            let points = points.map_err(|count| {
                let message = format!("{count} experiments, expected at most {MOST}");
                parts.ground.at(&path, Diagnostic::error(Code::OutOfRange, message))
            });
            for scope in points? {
                let experiment = experiments.one(written, &scope, &scenario, parts, &path)?;
                if !names.insert(experiment.name.to_lowercase()) {
                    let message =
                        format!("there are two experiments \"{}\", upper case aside", experiment.name);
                    let error = Diagnostic::error(Code::Duplicate, message);
                    return Err(parts.ground.at(&format!("{path}.name"), error));
                }
                experiments.files.insert(experiment.name.clone(), (scenario.1.clone(), path.clone()));
                experiments.all.push(experiment);
            }
        }
        Ok(experiments)
    }

    fn one(
        &mut self,
        written: &written::Experiment,
        scope: &Scope<'_>,
        scenario: &(Arc<str>, String),
        parts: &Parts<'_>,
        path: &str,
    ) -> Checked<Experiment> {
        let ground = parts.ground;
        let fill = |text: &str, key: &str| {
            scope.fill(text).map_err(|error| ground.at(&format!("{path}.{key}"), error))
        };
        let name = fill(&written.name, "name")?;
        let sound = name.split('.').count() == 2 && name.split('.').all(is_name);
        if !sound {
            let message = format!("an experiment \"{name}\", expected group.row of letters, digits, - and _");
            return Err(ground.at(&format!("{path}.name"), Diagnostic::error(Code::OutOfRange, message)));
        }
        let mut overrides = Vec::new();
        for set in &written.sets {
            let set = fill(set, "use")?;
            let Some(changes) = parts.written.sets.get(&set) else {
                let error = Diagnostic::error(Code::UnknownName, format!("no set is called \"{set}\""));
                let error = error.known(&set, parts.written.sets.keys().map(String::as_str));
                return Err(ground.at(&format!("{path}.use"), error));
            };
            self.fill_changes(changes, scope, ground, &mut overrides)?;
        }
        self.fill_changes(&written.set, scope, ground, &mut overrides)?;
        let mut quick = None;
        if let Some(short) = written.quick.as_ref().filter(|quick| quick.has(scope)) {
            let mut changes = Vec::new();
            self.fill_changes(&short.set, scope, ground, &mut changes)?;
            quick = Some(changes);
        }
        let measured = self.measured(&written.measure.0, parts);
        let (quantities, series, measure) =
            measured.map_err(|error| ground.at(&format!("{path}.measure"), error))?;
        Ok(Experiment {
            name,
            scenario: Arc::clone(&scenario.0),
            overrides,
            quick,
            quantities,
            series,
            measure,
        })
    }

    /// Quantities and curves of one or several measures.
    fn measured(
        &mut self,
        names: &[String],
        parts: &Parts<'_>,
    ) -> Result<(Vec<String>, Vec<String>, Measure), Diagnostic> {
        let (mut quantities, mut series, mut readings) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let reading = parts.measures.get(name).ok_or_else(|| {
                let message = format!("nothing measured is called \"{name}\"");
                let error = Diagnostic::error(Code::UnknownName, message);
                error.known(name, parts.measures.keys().map(String::as_str))
            })?;
            let (more, curves) = reading.names();
            let twice = more.iter().find(|each| quantities.contains(*each));
            if let Some(twice) = twice.or_else(|| curves.iter().find(|each| series.contains(*each))) {
                let message = format!("\"{name}\" measures \"{twice}\", and so does a measure before it");
                return Err(Diagnostic::error(Code::Duplicate, message));
            }
            quantities.extend(more);
            series.extend(curves);
            readings.push(Arc::clone(reading));
        }
        self.measured += quantities.len() + series.len();
        if self.measured > MOST_MEASURED {
            let message = format!("all experiments measure more than {MOST_MEASURED} quantities and series");
            return Err(Diagnostic::error(Code::OutOfRange, message));
        }
        if readings.is_empty() {
            return Err(Diagnostic::error(Code::Conflict, "an experiment has a measure"));
        }
        Ok((quantities, series, Measure(readings)))
    }

    /// Changes with what their placeholders stand for, behind `filled`.
    pub(super) fn fill_changes(
        &mut self,
        changes: &[Change],
        scope: &Scope<'_>,
        ground: &Ground,
        filled: &mut Vec<String>,
    ) -> Checked<()> {
        for change in changes {
            let place = ground.place(&change.span());
            let text = scope.fill(change.get_ref()).map_err(|error| error.at(place.clone()))?;
            self.bytes += text.len();
            if self.bytes > MOST_TEXT {
                let message = format!("all changes of all experiments are more than {} MB", MOST_TEXT >> 20);
                return Err(Diagnostic::error(Code::OutOfRange, message).at(place).into());
            }
            self.places.entry(text.clone()).or_insert(place);
            filled.push(text);
        }
        Ok(())
    }
}

impl Quick {
    /// Whether the short form has this point of a grid.
    fn has(&self, point: &Scope<'_>) -> bool {
        self.only.iter().all(|(variable, keys)| {
            point.entry(variable).is_some_and(|entry| keys.iter().any(|key| key.key == entry.key))
        })
    }
}

impl Scenarios {
    /// The text of a scenario and the names of its files.
    fn of(&mut self, files: &Many<String>, parts: &Parts<'_>, path: &str) -> Checked<(Arc<str>, String)> {
        if let Some(known) = self.all.get(&files.0) {
            return Ok(known.clone());
        }
        // They have been read before.
        let sources: Vec<_> = files.0.iter().filter_map(|file| parts.scenarios.get(file)).collect();
        self.bytes += sources.iter().map(|source| source.text.len() + 1).sum::<usize>();
        let wrong = if sources.is_empty() {
            Some(Diagnostic::error(Code::Conflict, "an experiment has a scenario"))
        } else if self.bytes > MOST_SCENARIOS {
            let message = format!("all scenarios are more than {} MB", MOST_SCENARIOS >> 20);
            Some(Diagnostic::error(Code::OutOfRange, message))
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(parts.ground.at(&format!("{path}.scenario"), wrong));
        }
        let mut text = String::new();
        for source in &sources {
            text += &source.text;
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
        let scenario: (Arc<str>, String) = (text.into(), names.join(" + "));
        self.all.insert(files.0.clone(), scenario.clone());
        Ok(scenario)
    }
}
