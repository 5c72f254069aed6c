//! A paper as a folder: `paper.toml`, `claims.toml` and scenarios. decisions/0025
//!
//! Written forms (`written.rs`, `forms.rs`) become a [`Paper`]: measures (`measure.rs`, `curves.rs`, `columns.rs`, `lookup.rs`),
//! experiments over grids (`experiments.rs`, `scope.rs`), claims (`claims.rs`), figures, sweeps and parameters (`figures.rs`).
//! `check.rs` finds names that nothing has. `files.rs` keeps to the folder; `new.rs` starts one.

mod bounded;
mod check;
mod claims;
mod columns;
mod curves;
mod experiments;
mod figures;
mod files;
pub(super) mod forms;
mod ground;
mod lookup;
mod measure;
mod new;
mod quantity;
mod scope;
mod until;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use self::check::Places;
use self::claims::Claims;
use self::experiments::{Experiments, Parts};
use self::figures::Drawing;
pub use self::files::Files;
use self::ground::{Ground, is_name};
pub(super) use self::measure::Reading;
pub use self::new::start;
use self::written::Written;
use super::{Claim, Paper, names, places};
use crate::diagnostic::{Checked, Code, Diagnostic, Place, Rejection, Source};
use crate::document::Document;
use crate::input_file::LARGEST_SCENARIO;
use crate::inputs::Inputs;

/// File of the claims, and file of everything else.
const CLAIMS: &str = "claims.toml";
const PAPER: &str = "paper.toml";
/// The most quantities of one measure, which may follow from each other.
const MOST_QUANTITIES: usize = 1_000;
/// The most seeds of a short form.
const MOST_QUICK_SEEDS: u32 = 10;

/// Further data of a paper that is a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Where changes of scenarios stand, by their texts.
    pub(super) places: BTreeMap<String, Place>,
    /// By experiment: the names of its scenario's files, and where it stands.
    experiments: BTreeMap<String, (String, String)>,
    /// Files that scenarios name are in it.
    folder: PathBuf,
    inputs: Inputs,
}

impl Origin {
    /// The scenario of an experiment, before it is changed.
    pub(super) fn document(&self, paper: &str, experiment: &str, text: &str) -> Checked<Document> {
        let own = || format!("{paper}/{experiment}.toml");
        let name = self.experiments.get(experiment).map_or_else(own, |(files, _)| files.clone());
        let source = Arc::new(Source { name, text: text.to_owned() });
        Document::of(source, self.folder.clone(), self.inputs.clone())
    }
}

impl Paper {
    /// Reads a paper of these files.
    ///
    /// # Errors
    /// If a file cannot be read, or something is wrong with it; where, and what would be accepted.
    pub fn of(files: &Files) -> Checked<Self> {
        let document = Document::of(files.read(PAPER, files::LARGEST)?, files.folder(), Inputs::default())?;
        let written: Written = document.read_into()?;
        let ground = Arc::new(Ground { document });
        check_head(&written, files, &ground)?;
        let scenarios = scenarios(&written, files, &ground)?;
        let measures = measures(&written, &ground)?;
        let parts = Parts { written: &written, ground: &ground, measures: &measures, scenarios: &scenarios };
        let mut experiments = Experiments::of(&parts)?;
        let mut drawing = Drawing::new(&written, &ground);
        let (figures, sweeps) = (drawing.figures()?, drawing.sweeps()?);
        let mut parameters = drawing.parameters(&mut experiments)?;
        let claimed = Document::of(files.read(CLAIMS, files::LARGEST)?, files.folder(), Inputs::default())?;
        let claimed = Ground { document: claimed };
        let claims = Claims::of(&claimed)?;
        refuse_control_characters(&claimed)?;
        for parameter in &mut parameters {
            let terms = claims.all.iter().flat_map(Claim::tests).flat_map(places::Place::into_terms);
            let of_it =
                |term: &places::Term| term.varied.as_ref().is_some_and(|(name, _)| *name == parameter.name);
            let tested: BTreeSet<_> = terms.filter(of_it).map(|term| term.quantity).collect();
            parameter.tested = tested.into_iter().filter(|each| !parameter.watched.contains(each)).collect();
        }
        let inputs = files.root().map_or_else(Inputs::default, |root| Inputs::within(root.to_owned()));
        let origin = Origin {
            places: experiments.places,
            experiments: experiments.files,
            folder: files.folder(),
            inputs,
        };
        let paper = Self {
            name: written.name.clone(),
            called: None,
            title: written.title.clone(),
            source: written.source.clone(),
            about: written.about.clone(),
            claims: claims.all,
            figures,
            experiments: experiments.all,
            sweeps,
            parameters,
            quick_seeds: written.quick_seeds,
            controls: written.controls.clone(),
            origin,
        };
        let (curves, claims) = (&drawing.curves, &claims.written);
        check::check(&paper, &Places { ground: &ground, curves, claimed: &claimed, claims })?;
        Ok(paper)
    }
}

/// The paper of files that are part of the program.
///
/// # Panics
/// If something is wrong with them.
pub(super) fn built_in(name: &str, files: &[(&str, &str)]) -> Paper {
    let files = Files::of_texts(name, files.iter().copied());
    Paper::of(&files).unwrap_or_else(|rejection| panic!("{rejection}"))
}

fn check_head(written: &Written, files: &Files, ground: &Ground) -> Checked<()> {
    if written.version != 1 {
        let message = format!("version = {}, this narrows reads papers of version 1", written.version);
        return Err(ground.at("version", Diagnostic::error(Code::Version, message)));
    }
    if !(1..=MOST_QUICK_SEEDS).contains(&written.quick_seeds) {
        let message = format!("quick_seeds = {}, expected 1 to {MOST_QUICK_SEEDS}", written.quick_seeds);
        return Err(ground.at("quick_seeds", Diagnostic::error(Code::OutOfRange, message)));
    }
    if !is_name(&written.name) {
        let message = format!("the name \"{}\", expected 1 to 64 letters, digits, - and _", written.name);
        return Err(ground.at("name", Diagnostic::error(Code::OutOfRange, message)));
    }
    if files.root().is_some() && names().any(|name| name.eq_ignore_ascii_case(&written.name)) {
        let message = format!("\"{}\" is the name of a paper that is part of Narrows", written.name);
        return Err(
            ground.at("name", Diagnostic::error(Code::Duplicate, message).help("choose another name"))
        );
    }
    if written.experiment.is_empty() {
        let error =
            Diagnostic::error(Code::NoTraffic, "a paper without an [[experiment]] has nothing to run");
        return Err(ground.at("experiment", error));
    }
    refuse_control_characters(ground)
}

/// Texts are printed: an escape sequence of a terminal has no place in them.
fn refuse_control_characters(ground: &Ground) -> Checked<()> {
    fn find(value: &Value, path: &str) -> Option<(String, char)> {
        let inside = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match value {
            Value::String(text) => {
                let strange = text.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
                strange.map(|strange| (path.to_owned(), strange))
            }
            Value::Array(all) => {
                all.iter().enumerate().find_map(|(number, value)| find(value, &inside(&number.to_string())))
            }
            Value::Object(all) => all.iter().find_map(|(key, value)| find(value, &inside(key))),
            _ => None,
        }
    }
    let all: Value = ground.document.read_into()?;
    match find(&all, "") {
        None => Ok(()),
        Some((path, strange)) => {
            let message = format!("the control character U+{:04X} in a text", u32::from(strange));
            Err(ground.at(&path, Diagnostic::error(Code::OutOfRange, message)))
        }
    }
}

/// Every scenario that an experiment names, read once.
fn scenarios(written: &Written, files: &Files, ground: &Ground) -> Checked<BTreeMap<String, Arc<Source>>> {
    let mut scenarios = BTreeMap::new();
    for (number, experiment) in written.experiment.iter().enumerate() {
        for file in &experiment.scenario.0 {
            if scenarios.contains_key(file) {
                continue;
            }
            let read = files::check_name(file).map_err(Rejection::from);
            let read = read.and_then(|()| files.read(file, LARGEST_SCENARIO));
            let at = |mut rejection: Rejection| {
                let place = ground.document.place(&format!("experiment.{number}.scenario"));
                rejection
                    .0
                    .iter_mut()
                    .filter(|error| error.place.is_none())
                    .for_each(|error| error.place.clone_from(&place));
                rejection
            };
            scenarios.insert(file.clone(), read.map_err(at)?);
        }
    }
    Ok(scenarios)
}

fn measures(written: &Written, ground: &Arc<Ground>) -> Checked<BTreeMap<String, Arc<Reading>>> {
    let used: BTreeSet<&str> =
        written.experiment.iter().flat_map(|experiment| &experiment.measure.0).map(String::as_str).collect();
    let mut measures = BTreeMap::new();
    for (name, measure) in &written.measure {
        let path = format!("measure.{name}");
        let count = measure.quantities.len() + measure.series.len();
        if count > MOST_QUANTITIES {
            let message = format!("{count} quantities and series, expected at most {MOST_QUANTITIES}");
            return Err(ground.at(&path, Diagnostic::error(Code::OutOfRange, message)));
        }
        if !used.contains(name.as_str()) {
            let error = Diagnostic::error(Code::Conflict, format!("no experiment measures \"{name}\""));
            return Err(ground.at(&path, error));
        }
        measures.insert(name.clone(), Arc::new(Reading::of(measure, path, ground)?));
    }
    Ok(measures)
}

#[cfg(test)]
mod tests;
