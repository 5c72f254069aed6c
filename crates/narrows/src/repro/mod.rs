//! Papers repeated: what they report beside what is measured here, with verdicts that are computed.
//!
//! A [`Paper`] is data: claims (`repro/<paper>/claims.toml`), experiments (scenarios and what is measured in them), figures,
//! and the parameters the paper left open. A [`Study`] is the list of runs that one call needs, a [`Reproduction`] is what
//! came out, with its page, its Markdown and its JSON. Running is left to [`crate::run::run_all`].
//!
//! Quantities are named `group.row.column`. An experiment is called `group.row` and measures columns, so that one measure can serve
//! all rows of a table. The names of columns end with their units (`source_gbps`). Which experiments a figure needs follows from the
//! quantities its claims, tables and curves name.
//!
//! A paper is a folder (`folder/`, docs/guide/reproduce-a-figure.md). To add one to the program: a folder
//! `crates/narrows/repro/<paper>/` and a line in `BUILT_IN`. A `Model` that the folder names measures what no reducer does.
//! `check.rs` reports what is wrong with it.

/// Name of a paper that is part of the program, and its files by name.
macro_rules! files {
    ($paper:literal $($file:literal)+) => {
        ($paper, &[$(($file, include_str!(concat!("../../repro/", $paper, "/", $file)))),+])
    };
}

mod again;
mod bbr3_cases;
mod bcn;
#[cfg(test)]
mod check;
mod claim;
mod claims;
mod controls;
mod extend;
mod folder;
mod gemini;
mod judge;
mod kept;
pub(crate) mod markdown;
mod measured;
mod name;
mod needed;
mod observed;
mod outcome;
mod places;
mod rackcc;
mod scoreboard;
mod seeds;
mod stored;
mod study;
mod summary;
mod sweep;
#[cfg(test)]
mod tiny;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, is_separator};
use std::sync::Arc;

pub use claim::{Claim, Class, Expected, Verdict};
pub use folder::{Files, start};
pub use kept::{Found, Kept, Ran};
pub use measured::Measured;
pub use outcome::{FigureOutcome, Judged, ParameterOutcome, ParameterRow, Reproduction, Tested, Watched};
pub use places::{Explanation, Place, Term};
pub use scoreboard::{Score, Tally, score};
pub use stored::Stored;
pub use study::{Request, Run, Study};
pub use sweep::{OverSweep, Sweep};

use self::name::{experiment_of, parts};
use crate::bounds::Bounds;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::plan::Plan;
use crate::results::Results;
use crate::visible::visible;

/// A paper that is part of the program: its name, and its files by name.
type BuiltIn = (&'static str, &'static [(&'static str, &'static str)]);

/// All papers that are part of the program.
const BUILT_IN: [BuiltIn; 8] = [
    files!("annulus" "paper.toml" "claims.toml" "motivation.toml" "testbed.toml" "border.toml"),
    files!("bbr3-cases" "paper.toml" "claims.toml" "path.toml"),
    files!("bcn" "paper.toml" "claims.toml" "workload1.toml" "udp.toml"),
    files!("dvl" "paper.toml" "claims.toml" "networks.toml" "victim.toml"),
    files!("gemini" "paper.toml" "claims.toml" "network.toml" "dcn.toml" "wan.toml" "convergence.toml"
        "fairness.toml" "workload.toml"),
    files!("rackcc" "paper.toml" "claims.toml" "racks.toml" "one-path.toml" "shared-link.toml" "max-min.toml"
        "incast.toml" "churn.toml" "wan.toml"),
    files!("themis" "paper.toml" "claims.toml" "network.toml"),
    files!("uno" "paper.toml" "claims.toml" "incast.toml" "inter.toml" "intra.toml" "pair.toml"
        "mix.toml"),
];

/// Names of all papers that are part of the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// All papers that are part of the program.
pub fn papers() -> impl Iterator<Item = Paper> {
    BUILT_IN.iter().map(|(name, files)| folder::built_in(name, files))
}

/// The paper of this name, or in this folder: a name with a separator is a folder, such as `./my-paper`.
///
/// # Errors
/// If there is none, or something is wrong with what the folder has.
pub fn find(name: &str) -> Checked<Arc<Paper>> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    if name.contains(is_separator) || built_in.is_none() && Path::new(name).is_dir() {
        let paper = Paper::of(&Files::folder_at(Path::new(name))?)?;
        return Ok(Arc::new(Paper { called: Some(visible(name).into_owned()), ..paper }));
    }
    let unknown = || {
        let error = Diagnostic::error(Code::UnknownName, format!("no paper is called \"{name}\""));
        error.known(name, names()).into()
    };
    built_in.map(|(name, files)| Arc::new(folder::built_in(name, files))).ok_or_else(unknown)
}

/// Measure of a built-in paper that no reducer can express.
#[derive(Debug)]
struct Model {
    /// `paper.model`.
    name: &'static str,
    /// None of them can be negative, and nothing bounds them from above.
    quantities: &'static [&'static str],
    series: &'static [&'static str],
    measure: fn(&Results) -> Measured,
}

/// Models that papers name.
const MODELS: &[&[Model]] = &[bbr3_cases::MODELS, bcn::MODELS, rackcc::MODELS];

/// Curves that models have, by name.
type ModelCurve = (&'static str, fn() -> Vec<(f64, f64)>);
const CURVES: &[&[ModelCurve]] = &[gemini::CURVES, rackcc::CURVES];

/// A paper, and how its experiments are repeated.
#[derive(Clone, Debug, Default)]
pub struct Paper {
    /// Its name on pages and in files.
    pub name: String,
    /// Name in commands, if not its own: its folder.
    called: Option<String>,
    /// Its title.
    pub title: String,
    /// Who wrote it, where, when.
    pub source: String,
    /// Scope and method of the reproduction, in a few sentences.
    pub about: String,
    /// Its claims in numbers.
    pub claims: Vec<Claim>,
    /// Its figures and tables, in the order they are shown.
    pub figures: Vec<Figure>,
    /// Its experiments.
    pub experiments: Vec<Experiment>,
    /// Quantities that follow from several of them.
    pub sweeps: Vec<Sweep>,
    /// Parameters the paper left open, and the values chosen.
    pub parameters: Vec<Parameter>,
    /// Seeds of its short form.
    pub quick_seeds: u32,
    /// Where its scenarios have the control that others may stand in for.
    controls: Option<String>,
    /// Where it comes from.
    origin: folder::Origin,
}

impl Paper {
    /// Name in commands: its own, or its folder.
    pub fn called(&self) -> &str {
        self.called.as_deref().unwrap_or(&self.name)
    }
}

/// A scenario and what is measured in it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `group.row`.
    pub name: String,
    /// The scenario, as TOML. Its name and seed are replaced.
    pub scenario: Arc<str>,
    /// Changes of it, `path=value`.
    pub overrides: Vec<String>,
    /// More changes for the quick form; without them the quick form leaves the experiment out.
    pub quick: Option<Vec<String>>,
    /// The columns it measures.
    pub quantities: Vec<String>,
    /// The curves it records.
    pub series: Vec<String>,
    /// Measures all of them.
    pub measure: Measure,
}

/// Takes quantities and curves of the results of a run, one measure of the folder after the other.
#[derive(Clone, Debug)]
pub struct Measure(Vec<Arc<folder::Reading>>);

impl Measure {
    /// The least and the most that the quantity of a column can be; none if nothing here measures it.
    fn bounds(&self, column: &str) -> Option<Bounds> {
        self.0.iter().find_map(|reading| reading.bounds(column))
    }

    /// A model measures the column: it knows the inside of one control.
    fn is_of_model(&self, column: &str) -> bool {
        self.0.iter().any(|reading| reading.is_of_model(column))
    }

    /// Change with what is measured.
    fn hashes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|reading| reading.hash())
    }

    fn of(&self, results: &Results) -> Measured {
        let mut measured = Measured::default();
        self.0.iter().for_each(|reading| measured.extend(reading.measure(results)));
        measured
    }

    /// Whether a run of this plan has all that is measured.
    fn check(&self, plan: &Plan) -> Checked<()> {
        self.0.iter().try_for_each(|reading| reading.check(plan))
    }
}

/// A figure or a table of the paper.
#[derive(Clone, Debug)]
pub struct Figure {
    /// As the claims name it: `Figure 3`, `Table 1`.
    pub name: String,
    /// Its subject.
    pub title: String,
    /// Its result in the paper, in words.
    pub shows: String,
    /// Tables drawn from its claims.
    pub tables: Vec<Table>,
    /// Charts drawn from what was measured.
    pub charts: Vec<Chart>,
}

/// Claims as a table: the cell of a row and a column is the claim about `group.row.column`.
#[derive(Clone, Debug)]
pub struct Table {
    /// The first part of its quantities.
    pub group: String,
    /// Keys and labels.
    pub rows: Vec<(String, String)>,
    /// Keys and labels, with units.
    pub columns: Vec<(String, String)>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its subject.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Style of its curves.
    pub style: Style,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// Lines to compare with.
    pub references: Vec<Reference>,
}

/// An axis.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Logarithmic.
    pub log: bool,
}

/// Style of curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Points joined by lines.
    Lines,
    /// Points.
    Points,
    /// Each value holds until the next.
    Steps,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// Where its points come from.
    pub points: Points,
}

/// Where the points of a curve come from.
#[derive(Clone, Debug)]
pub enum Points {
    /// The series `group.row.name` of the first seed.
    Series(String),
    /// A quantity at each x, its central value over seeds. Where claims report these quantities, the paper's points are drawn too.
    Sweep(Vec<(f64, String)>),
    /// Values that a theory gives.
    Theory(Vec<(f64, f64)>),
}

/// Where a curve comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Origin {
    Measured,
    Paper,
    Theory,
}

/// A line across a chart.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// At a height.
    Horizontal {
        /// Its meaning.
        label: String,
        /// Where.
        at: f64,
    },
    /// At an x.
    Vertical {
        /// Its meaning.
        label: String,
        /// Where.
        at: f64,
    },
}

/// Something the paper left open.
#[derive(Clone, Debug, Default)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Value chosen, with its unit.
    pub value: String,
    /// Why.
    pub why: String,
    /// Ids of the claims whose numbers chose it.
    pub fitted: Vec<String>,
    /// Other values tried.
    pub alternatives: Vec<Alternative>,
    /// The quantities it might change. Their experiments are repeated with each alternative.
    pub watched: Vec<String>,
    /// Quantities that explanations and notes of claims take from its alternatives. Their experiments are repeated as well.
    pub tested: Vec<String>,
}

impl Parameter {
    /// The experiments that are repeated with each alternative.
    pub(crate) fn repeated(&self) -> BTreeSet<&str> {
        self.measured().map(|quantity| experiment_of(quantity)).collect()
    }

    /// The quantities that are needed of each alternative.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &String> {
        self.watched.iter().chain(&self.tested)
    }
}

/// Another choice of a parameter.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The value, with its unit.
    pub value: String,
    /// Changes of a scenario, `path=value`.
    pub overrides: Vec<String>,
}

/// Key to find a figure by its name: letters and digits, in lower case.
fn find_key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_parts() {
        assert_eq!(parts("w1.none.tps"), Some(("w1", "none", "tps")));
        assert_eq!([parts("w1.none"), parts("a.b.c.d")], [None, None]);
        assert_eq!(experiment_of("w1.none.tps"), "w1.none");
    }
}
