//! Papers repeated: what they report beside what is measured here, with verdicts that are computed.
//!
//! A [`Paper`] is data: claims (`repro/<paper>/claims.toml`), experiments (scenarios and what is measured in them), figures,
//! and the parameters the paper left open. A [`Study`] is the list of runs that one call needs, a [`Reproduction`] is what
//! came out, with its page, its Markdown and its JSON. Running is left to [`crate::run::run_all`].
//!
//! Quantities are named `group.row.column`. An experiment is called `group.row` and measures columns, so that one function
//! can serve all rows of a table. The names of columns end with their units (`source_gbps`). Which experiments a figure needs follows from the quantities its claims, tables and curves
//! name.
//!
//! To add a paper: a module here with a constant `PAPER`, a folder `crates/narrows/repro/<paper>/` with its claims and
//! scenarios, and a line in [`PAPERS`]. `check.rs` reports what is wrong with it.

mod again;
mod annulus;
mod bcn;
#[cfg(test)]
mod check;
mod claims;
mod dvl;
mod gemini;
mod judge;
mod kept;
pub(crate) mod markdown;
mod outcome;
mod places;
mod rackcc;
mod scoreboard;
mod stored;
mod study;
#[cfg(test)]
mod tiny;
mod write;

use std::collections::BTreeMap;

pub use claims::{Claim, Class, Expected, Verdict};
pub use kept::{Found, Kept, Ran};
pub use outcome::{FigureOutcome, Judged, ParameterOutcome, Reproduction, Tested};
pub use places::{Explanation, Place};
pub use scoreboard::{Score, Tally, score};
pub use stored::Stored;
pub use study::{Request, Run, Study};

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::metrics;
use crate::results::Results;

/// All papers.
pub const PAPERS: &[&Paper] = &[&annulus::PAPER, &bcn::PAPER, &dvl::PAPER, &gemini::PAPER, &rackcc::PAPER];

/// The paper of this name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Checked<&'static Paper> {
    let names = PAPERS.iter().map(|paper| paper.name);
    let unknown = || {
        let error = Diagnostic::error(Code::UnknownName, format!("no paper is called \"{name}\""));
        error.known(name, names).into()
    };
    PAPERS.iter().copied().find(|paper| paper.name == name).ok_or_else(unknown)
}

/// A paper, and how its experiments are repeated.
#[derive(Debug)]
pub struct Paper {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Who wrote it, where, when.
    pub source: &'static str,
    /// What was repeated and how, in a few sentences.
    pub about: &'static str,
    /// The text of `claims.toml`.
    pub claims: &'static str,
    /// Its figures and tables, in the order they are shown.
    pub figures: fn() -> Vec<Figure>,
    /// What is run.
    pub experiments: fn() -> Vec<Experiment>,
    /// What the paper left open, and what was chosen.
    pub parameters: fn() -> Vec<Parameter>,
}

impl Paper {
    /// How many claims and figures it has.
    pub fn size(&self) -> (usize, usize) {
        (claims::read(self.name, self.claims).len(), (self.figures)().len())
    }
}

/// A scenario and what is measured in it.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `group.row`.
    pub name: String,
    /// The scenario, as TOML. Its name and seed are replaced.
    pub scenario: &'static str,
    /// Changes of it, `path=value`.
    pub overrides: Vec<String>,
    /// More changes for the quick form; without them the quick form leaves the experiment out.
    pub quick: Option<Vec<String>>,
    /// The columns it measures.
    pub quantities: &'static [&'static str],
    /// The curves it records.
    pub series: &'static [&'static str],
    /// Measures all of them.
    pub measure: fn(&Results) -> Measured,
}

/// What one run came to.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    quantities: BTreeMap<&'static str, Option<f64>>,
    series: BTreeMap<&'static str, Vec<(f64, f64)>>,
}

impl Measured {
    /// Notes a quantity; none if there was nothing to take it of.
    pub fn quantity(&mut self, column: &'static str, value: impl Into<Option<f64>>) {
        self.quantities.insert(column, value.into().filter(|value| !value.is_nan()));
    }

    /// Notes a curve, in the order of x. Of very many points those stay that a reader could see.
    pub fn series(&mut self, name: &'static str, points: impl IntoIterator<Item = (f64, f64)>) {
        self.series.insert(name, thinned(points.into_iter().collect()));
    }
}

/// Of each of some hundred groups of neighbors the lowest and the highest.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const GROUPS: usize = 600;
    if points.len() <= 2 * GROUPS {
        return points;
    }
    let extremes = |group: &[(f64, f64)]| {
        let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
        let low = (0..group.len()).min_by(by_height).unwrap_or(0);
        let high = (0..group.len()).max_by(by_height).unwrap_or(0);
        [group[low.min(high)], group[low.max(high)]]
    };
    let mut kept: Vec<_> = points.chunks(points.len().div_ceil(GROUPS)).flat_map(extremes).collect();
    kept.dedup();
    kept
}

/// A figure or a table of the paper.
#[derive(Clone, Debug)]
pub struct Figure {
    /// As the claims name it: `Figure 3`, `Table 1`.
    pub name: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What it showed in the paper, in words.
    pub shows: &'static str,
    /// Tables drawn from its claims.
    pub tables: Vec<Table>,
    /// Charts drawn from what was measured.
    pub charts: Vec<Chart>,
}

/// Claims as a table: the cell of a row and a column is the claim about `group.row.column`.
#[derive(Clone, Debug)]
pub struct Table {
    /// The first part of its quantities.
    pub group: &'static str,
    /// Keys and labels.
    pub rows: &'static [(&'static str, &'static str)],
    /// Keys and labels, with units.
    pub columns: &'static [(&'static str, &'static str)],
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// How curves are drawn.
    pub style: Style,
    /// What is drawn.
    pub curves: Vec<Curve>,
    /// Lines to compare with.
    pub references: Vec<Reference>,
}

/// An axis.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Axis {
    /// What, in which unit.
    pub label: &'static str,
    /// Logarithmic.
    pub log: bool,
}

/// How curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
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
    /// What it is of.
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
    /// What a theory says they are.
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
        /// What it means.
        label: String,
        /// Where.
        at: f64,
    },
    /// At an x.
    Vertical {
        /// What it means.
        label: String,
        /// Where.
        at: f64,
    },
}

/// Something the paper left open.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// What was chosen, with its unit.
    pub value: &'static str,
    /// Why.
    pub why: &'static str,
    /// What else was tried.
    pub alternatives: Vec<Alternative>,
    /// The quantities it might change. Their experiments are repeated with each alternative.
    pub watched: Vec<String>,
    /// Claims by whose numbers it was chosen: these numbers cannot confirm it.
    pub fitted: Vec<String>,
}

/// Another choice of a parameter.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The value, with its unit.
    pub value: &'static str,
    /// What it changes in a scenario, `path=value`.
    pub overrides: Vec<String>,
}

impl Alternative {
    fn new(value: &'static str, overrides: &[&str]) -> Self {
        Self { value, overrides: owned(overrides) }
    }
}

impl Parameter {
    /// One that was varied, and what that might change.
    fn varied(
        name: &'static str,
        value: &'static str,
        why: &'static str,
        alternatives: Vec<Alternative>,
        watched: &[&str],
    ) -> Self {
        Self { name, value, why, alternatives, watched: owned(watched), fitted: Vec::new() }
    }

    /// One of which nothing else was tried.
    fn fixed(name: &'static str, value: &'static str, why: &'static str) -> Self {
        Self { name, value, why, alternatives: Vec::new(), watched: Vec::new(), fitted: Vec::new() }
    }

    /// The same, chosen by the numbers of these claims.
    fn fitted(self, claims: &[&str]) -> Self {
        Self { fitted: owned(claims), ..self }
    }
}

/// The override that puts a traffic group under a control.
fn cc(group: &str, control: &str) -> String {
    format!("traffic.{group}.cc={control}")
}

/// A metric of the summary, such as `total.drops`.
fn metric(results: &Results, name: &str) -> Option<f64> {
    metrics::value(&results.metrics, name)
}

/// Texts of overrides or quantities.
fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The number of the link from one node of the scenario to another.
fn link(results: &Results, (from, to): (&str, &str)) -> usize {
    results.plan.link(from, to).expect("the scenario has the link").index()
}

/// `group.row` of `group.row.column`.
fn experiment_of(quantity: &str) -> &str {
    quantity.rsplit_once('.').map_or("", |(experiment, _)| experiment)
}

/// (group, row, column) of a quantity.
fn parts(quantity: &str) -> Option<(&str, &str, &str)> {
    let mut parts = quantity.split('.');
    let all = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_extremes_and_its_order() {
        let mut points: Vec<_> = (0..100_000).map(|x| (f64::from(x), f64::from(x % 7))).collect();
        points[50_123].1 = 1e6;
        points[70_001].1 = -1e6;
        let thin = thinned(points.clone());
        assert!(thin.len() <= 1200 && thin.contains(&points[50_123]) && thin.contains(&points[70_001]));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thinned(points[..1000].to_vec()), points[..1000]);
    }

    #[test]
    fn quantities_have_three_parts() {
        assert_eq!(parts("w1.none.tps"), Some(("w1", "none", "tps")));
        assert_eq!([parts("w1.none"), parts("a.b.c.d")], [None, None]);
        assert_eq!(experiment_of("w1.none.tps"), "w1.none");
    }

    #[test]
    fn what_is_not_a_number_was_not_measured() {
        let mut measured = Measured::default();
        measured.quantity("a", f64::NAN);
        measured.quantity("b", 1.0);
        measured.quantity("c", None);
        assert_eq!(measured.quantities.into_values().collect::<Vec<_>>(), [None, Some(1.0), None]);
    }
}
