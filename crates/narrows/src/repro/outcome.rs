//! What came out of a study, and how it reads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::{Axis, Claim, Expected, Figure, Origin, Paper, Parameter, Reference, Side, Style, Verdict};
use crate::numbers::{number, with_interval};
use crate::statistics::Estimate;

/// A paper repeated.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: Arc<Paper>,
    /// Seeds of each experiment, from 1 on.
    pub seeds: u32,
    /// The short form.
    pub quick: bool,
    /// Only this figure.
    pub figure: Option<String>,
    /// Figures and tables.
    pub figures: Vec<FigureOutcome>,
    /// What the paper left open.
    pub parameters: Vec<ParameterOutcome>,
    /// Claims the quick form leaves out.
    pub left_out: usize,
    /// What is suspicious about the scenarios.
    pub warnings: Vec<String>,
    /// Complete scenarios of all experiments, by name.
    pub scenarios: Vec<(String, String)>,
    pub(super) usual_seeds: bool,
}

/// A figure or a table.
#[derive(Clone, Debug)]
pub struct FigureOutcome {
    /// It.
    pub figure: Figure,
    /// Its claims.
    pub claims: Vec<Judged>,
    /// What was measured for the cells of its tables, by quantity.
    pub(super) cells: BTreeMap<String, Estimate>,
    pub(super) charts: Vec<DrawnChart>,
}

/// A claim and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// Its quantity over seeds; of a relation, the ratio. None if there was nothing to take it of.
    pub measured: Option<Estimate>,
    /// Whether it holds.
    pub verdict: Verdict,
}

/// Something the paper left open, and how much it matters.
#[derive(Clone, Debug)]
pub struct ParameterOutcome {
    /// It.
    pub parameter: Parameter,
    /// Its values, the chosen one first, with the watched quantities. Empty if it was not varied.
    pub rows: Vec<(String, Vec<Option<Estimate>>)>,
}

/// A chart with its points.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnChart {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) style: Style,
    pub(super) curves: Vec<DrawnCurve>,
    pub(super) references: Vec<Reference>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnCurve {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) colour: usize,
    pub(super) origin: Origin,
}

/// How many claims got which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Matches.
    #[serde(rename = "match")]
    pub matches: usize,
    /// Shapes.
    #[serde(rename = "shape")]
    pub shapes: usize,
    /// Misses.
    #[serde(rename = "miss")]
    pub misses: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matches, shapes, misses } = self;
        let all = matches + shapes + misses;
        let claims = if all == 1 { "claim" } else { "claims" };
        write!(f, "{all} {claims}: {matches} match · {shapes} shape · {misses} miss")
    }
}

impl Reproduction {
    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &Judged> {
        self.figures.iter().flat_map(|figure| &figure.claims)
    }

    /// Counts the verdicts.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for judged in self.claims() {
            match judged.verdict {
                Verdict::Match => tally.matches += 1,
                Verdict::Shape => tally.shapes += 1,
                Verdict::Miss => tally.misses += 1,
            }
        }
        tally
    }

    /// The command that gives the same again.
    pub fn command(&self) -> String {
        let mut command = format!("narrows repro {}", self.paper.called());
        if let Some(figure) = &self.figure {
            command += &format!(" --figure \"{figure}\"");
        }
        if self.quick {
            command += " --quick";
        }
        if !self.usual_seeds {
            command += &format!(" --seeds {}", self.seeds);
        }
        command
    }

    /// `seed 1` or `seeds 1 to 5`.
    pub(super) fn seeds_text(&self) -> String {
        if self.seeds == 1 { "seed 1".into() } else { format!("seeds 1 to {}", self.seeds) }
    }
}

impl Judged {
    /// What the paper reports: `30 Tps`, `78 × 10⁻⁵`, `> 5×`.
    pub fn reported_text(&self) -> String {
        match &self.claim.expected {
            Expected::Value { reported, unit, .. } => with_unit(*reported, unit),
            Expected::Bound { bound, side: Side::AtLeast, unit } => format!("≥ {}", with_unit(*bound, unit)),
            Expected::Bound { bound, side: Side::AtMost, unit } => format!("≤ {}", with_unit(*bound, unit)),
            Expected::Above { factor, .. } => format!("> {}×", number(*factor)),
            Expected::Below { factor, .. } => format!("< {}×", number(*factor)),
        }
    }

    /// What was measured, in the unit of what is reported, with its confidence interval: `30.02 [29.9, 30.1]`, or with the
    /// smallest and the largest value: `30.02 (29.9 to 30.1)`.
    pub fn measured_text(&self) -> String {
        let unit = if self.claim.is_relation() { "×" } else { "" };
        with_interval(self.measured.as_ref(), unit)
    }

    /// How near it should be: `exact`, `exact, within 1 %`.
    pub fn class_text(&self) -> String {
        let class = self.claim.class.name();
        match &self.claim.expected {
            Expected::Value { tolerance, unit, own_tolerance: true, .. } => {
                format!("{class}, within {}", with_unit(*tolerance, unit))
            }
            _ => class.to_owned(),
        }
    }

    /// What was measured: `w1.none.tps`, `w1.bcn.tps / w1.red.tps`.
    pub(super) fn quantity_text(&self) -> String {
        self.claim.quantities().collect::<Vec<_>>().join(" / ")
    }

    /// Why it does not hold; none if it does.
    pub fn explanation(&self) -> Option<&str> {
        let note = self.claim.note.as_deref().unwrap_or("not explained yet");
        (self.verdict != Verdict::Match).then_some(note)
    }
}

/// A number and its unit. A power of ten is a factor.
fn with_unit(value: f64, unit: &str) -> String {
    let times = if unit.starts_with("10") { "× " } else { "" };
    format!("{} {times}{unit}", number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_ten_is_a_factor_and_other_units_are_not() {
        assert_eq!([with_unit(78.0, "10⁻⁵"), with_unit(0.5, "Tps")], ["78 × 10⁻⁵", "0.5 Tps"]);
    }
}
