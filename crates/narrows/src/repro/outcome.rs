//! Outcome of a study, and its texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::scoreboard::{Score, Tally};
use super::stored::Stored;
use super::{Axis, Claim, Expected, Figure, Origin, Paper, Parameter, Reference, Style, Verdict, seeds};
use crate::numbers::{number, with_interval};
use crate::statistics::Estimate;

/// A paper repeated.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: Arc<Paper>,
    /// Seeds of each experiment, from 1 on; none if as many were run as verdicts needed.
    pub seeds: Option<u32>,
    /// The short form.
    pub quick: bool,
    /// Only this figure.
    pub figure: Option<String>,
    /// Figures and tables.
    pub figures: Vec<FigureOutcome>,
    /// Parameters the paper left open.
    pub parameters: Vec<ParameterOutcome>,
    /// Claims the quick form leaves out.
    pub left_out: usize,
    /// Warnings about the scenarios.
    pub warnings: Vec<String>,
    /// Complete scenarios of all experiments, by name.
    pub scenarios: Vec<(String, String)>,
    /// Errors of the page.
    pub errors: Vec<String>,
    /// Measurements, as they are stored.
    pub stored: Stored,
    /// The version of Narrows that measured it.
    pub narrows: String,
}

/// A figure or a table.
#[derive(Clone, Debug)]
pub struct FigureOutcome {
    /// It.
    pub figure: Figure,
    /// Its claims.
    pub claims: Vec<Judged>,
    /// Values measured for the cells of its tables, by quantity.
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
    /// Parameters that were chosen by its number.
    pub fitted: Vec<String>,
    /// Test of its explanation.
    pub tested: Option<Tested>,
    /// Its note, with what was measured.
    pub note: Option<String>,
}

/// Result of another set-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// Values measured there.
    pub measured: Vec<String>,
    /// Other claims, what was measured for them there, and whether that is what they expect and they were not used to find it.
    pub predicted: Vec<(Claim, String, bool)>,
    /// It gives what the claim expects, and what another one does.
    pub holds: bool,
}

/// Something the paper left open, and how much it matters.
#[derive(Clone, Debug)]
pub struct ParameterOutcome {
    /// It.
    pub parameter: Parameter,
    /// Its values, the chosen one first. Empty if it was not varied.
    pub rows: Vec<ParameterRow>,
}

/// One value of a parameter.
#[derive(Clone, Debug)]
pub struct ParameterRow {
    /// It, with its unit.
    pub value: String,
    /// The watched quantities.
    pub found: Vec<Watched>,
}

/// A quantity with one value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// It.
    pub estimate: Option<Estimate>,
    /// Its ratio to what it is with the chosen value, seed by seed. None of the chosen value itself, and where too few seeds have one.
    pub ratio: Option<Estimate>,
}

impl ParameterRow {
    /// One of its quantities as a multiple of the same with the chosen value.
    fn times(&self, base: &Self, column: usize) -> Option<f64> {
        let Watched { estimate, ratio } = self.found[column];
        let of_means = || Some(estimate?.mean / base.found[column].estimate?.mean);
        ratio.map(|ratio| ratio.mean).or_else(of_means)
    }

    /// Its quantities in words: with the chosen value `12.3 [11, 14]`, with another `15.1 · 1.23× [1.2, 1.26]`.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.found.iter().map(|Watched { estimate, ratio }| match (estimate, ratio) {
            (Some(estimate), Some(ratio)) => {
                format!("{} · {}", number(estimate.mean), with_interval(Some(ratio), "×"))
            }
            _ => with_interval(estimate.as_ref(), ""),
        })
    }
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
    pub(super) color: usize,
    pub(super) origin: Origin,
}

impl Reproduction {
    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &Judged> {
        self.figures.iter().flat_map(|figure| &figure.claims)
    }

    /// Counts the verdicts on what the paper says.
    pub fn tally(&self) -> Tally {
        Tally::of(self.claims().filter(|judged| judged.claim.counts()).map(|judged| judged.verdict))
    }

    /// Counts the verdicts on what the project expects.
    pub fn own_tally(&self) -> Tally {
        let own = self.claims().filter(|Judged { claim, .. }| claim.own && claim.not_counted.is_none());
        Tally::of(own.map(|judged| judged.verdict))
    }

    /// Number of claims that are not counted.
    pub fn not_counted(&self) -> usize {
        self.claims().filter(|judged| judged.claim.not_counted.is_some()).count()
    }

    /// All counts.
    pub fn score(&self) -> Score {
        Score { verdicts: self.tally(), own_verdicts: self.own_tally(), not_counted: self.not_counted() }
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
        if let Some(seeds) = self.seeds.filter(|_| self.seeds != seeds::usual(&self.paper, self.quick)) {
            command += &format!(" --seeds {seeds}");
        }
        command
    }

    /// Its seeds, in words.
    pub(super) fn seeds_text(&self) -> String {
        seeds::text(self.seeds)
    }
}

impl FigureOutcome {
    /// Its claims in the parts they are shown in, each with a heading that says how many there are and how they came out.
    pub(super) fn parts(&self) -> Vec<(String, Vec<&Judged>)> {
        let mut parts = Vec::new();
        for (of, standing) in [
            ("of the paper", None),
            ("of the project itself", Some("own")),
            ("not counted", Some("not counted")),
        ] {
            let claims: Vec<_> = self.claims.iter().filter(|judged| judged.standing() == standing).collect();
            if !claims.is_empty() {
                parts.push((Tally::of(claims.iter().map(|judged| judged.verdict)).text(of), claims));
            }
        }
        parts
    }
}

impl Judged {
    /// Value the paper reports: `30 Tps`, `78 × 10⁻⁵`, `2.5×`, `≥ 3 ms`, `> 1×`.
    pub fn reported_text(&self) -> String {
        let unit = &self.claim.unit;
        match self.claim.expected {
            Expected::Value { reported, .. } => with_unit(reported, unit),
            Expected::Bound { least: Some(least), most: Some(most) } => {
                format!("{} to {}", number(least), with_unit(most, unit))
            }
            Expected::Bound { least: Some(least), .. } => format!("≥ {}", with_unit(least, unit)),
            Expected::Bound { most, .. } => {
                most.map_or_else(String::new, |most| format!("≤ {}", with_unit(most, unit)))
            }
            Expected::More => "> 1×".into(),
            Expected::Less => "< 1×".into(),
        }
    }

    /// Value measured, in the unit of what is reported, with its confidence interval: `30.02 [29.9, 30.1]`, or with the
    /// smallest and the largest value: `30.02 (29.9 to 30.1)`, or with the reason why there is neither.
    pub fn measured_text(&self) -> String {
        let unit = if self.claim.is_relation() { "×" } else { "" };
        let text = with_interval(self.measured.as_ref(), unit);
        let Some(Estimate { interval, range, samples, .. }) = self.measured else { return text };
        match (samples, interval) {
            (1, _) => format!("{text} (one seed)"),
            (_, Some((low, high))) if low == high => format!("{text} (all seeds alike)"),
            (_, None) if range.0 == range.1 && self.claim.is_relation() => {
                format!("{text} (of means: a seed has 0)")
            }
            (_, None) if range.0 == range.1 => format!("{text} (all seeds alike)"),
            _ => text,
        }
    }

    /// Required accuracy: `exact`, `exact, within 1 %`.
    pub fn class_text(&self) -> String {
        let Claim { class, unit, .. } = &self.claim;
        match &self.claim.expected {
            Expected::Value { tolerance, own_tolerance: true, .. } => {
                format!("{}, within {}", class.name(), with_unit(*tolerance, unit))
            }
            _ => class.name().to_owned(),
        }
    }

    /// Whose claim it is, if it is not one of the paper that is counted.
    pub fn standing(&self) -> Option<&'static str> {
        let Claim { own, not_counted, .. } = &self.claim;
        not_counted.as_ref().map(|_| "not counted").or(own.then_some("own"))
    }

    /// Measured quantity or ratio: `w1.none.tps`, `w1.bcn.tps / w1.red.tps`.
    pub(super) fn quantity_text(&self) -> String {
        self.claim.quantities().collect::<Vec<_>>().join(" / ")
    }

    /// Why it has its verdict; none if it holds.
    pub fn explanation(&self) -> Option<String> {
        let note = self.note.clone();
        let told = note.clone().filter(|note| note != "unexplained");
        let with = |text: String| {
            Some([Some(text), told.clone()].into_iter().flatten().collect::<Vec<_>>().join(" "))
        };
        match self.verdict {
            Verdict::Match => None,
            Verdict::Calibrated => with(format!("chosen by it: {}.", self.fitted.join("; "))),
            Verdict::Open => told.or_else(|| {
                Some(
                    "The interval reaches beyond twice the band, or over the bound: more seeds are needed."
                        .into(),
                )
            }),
            Verdict::Explained => with(self.explained_text()),
            Verdict::Shape | Verdict::Miss if self.tested.is_some() => {
                with(format!("The explanation fails. {}", self.explained_text()))
            }
            Verdict::Shape | Verdict::Miss => note.or_else(|| Some("unexplained".into())),
        }
    }

    fn explained_text(&self) -> String {
        let (Some(explained), Some(tested)) = (&self.claim.explained, &self.tested) else {
            return String::new();
        };
        let Tested { measured, predicted, .. } = tested;
        let told = predicted.iter().map(|(claim, found, holds)| {
            let holds = if *holds { "as reported" } else { "not as reported" };
            format!("{} ({}): {found}, {holds}", claim.statement, claim.id)
        });
        format!(
            "{} There it is {}. That was found by {}, and predicts: {}.",
            explained.under,
            measured.join(", "),
            explained.found.join(", "),
            told.collect::<Vec<_>>().join("; "),
        )
    }
}

impl ParameterOutcome {
    /// Errors of a table that says nothing: a value that changes none of the watched quantities, bit by bit; a ratio to what is
    /// chosen whose interval is over more than a factor of ten and contains the ratios of all rows.
    pub(super) fn errors(&self) -> Vec<String> {
        /// Upper over lower end of an interval that may say nothing.
        const WIDE: f64 = 10.0;
        let name = &self.parameter.name;
        let Some((base, others)) = self.rows.split_first() else { return Vec::new() };
        let mut errors = Vec::new();
        for ParameterRow { value, found } in others {
            if found.iter().zip(&base.found).all(|(found, base)| found.estimate == base.estimate) {
                errors.push(format!("{name}, {value}: changes none of the quantities beside it"));
            }
            for (column, quantity) in self.parameter.watched.iter().enumerate() {
                let interval = found[column].ratio.and_then(|ratio| ratio.interval);
                let Some((low, high)) = interval.filter(|(low, high)| *high > WIDE * low) else { continue };
                if self
                    .rows
                    .iter()
                    .filter_map(|row| row.times(base, column))
                    .all(|r| (low..=high).contains(&r))
                {
                    errors.push(format!("{name}, {value}: the interval of {quantity} excludes no row"));
                }
            }
        }
        errors
    }
}

/// A number and its unit. A power of ten is a factor.
fn with_unit(value: f64, unit: &str) -> String {
    let between = if unit == "×" {
        ""
    } else if unit.starts_with("10") {
        " × "
    } else {
        " "
    };
    format!("{}{between}{unit}", number(value)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::claims;
    use super::*;
    use crate::statistics::{estimate, estimate_ratio};

    fn varied(rows: &[&[f64]]) -> Vec<String> {
        let (name, watched) = ("buffer".into(), vec!["w.a.x".into()]);
        let parameter = Parameter { name, watched, ..Parameter::default() };
        let row = |values: &&[f64]| {
            let pairs: Vec<_> = values.iter().copied().zip(rows[0].iter().copied()).collect();
            let found = Watched { estimate: estimate(values), ratio: estimate_ratio(&pairs) };
            ParameterRow { value: format!("{} kB", values[0]), found: vec![found] }
        };
        ParameterOutcome { parameter, rows: rows.iter().map(row).collect() }.errors()
    }

    #[test]
    fn a_value_that_changes_nothing_is_an_error_of_the_page() {
        let rows: [&[f64]; 3] = [&[10.0, 11.0, 12.0], &[10.0, 11.0, 12.0], &[10.0, 11.0, 12.5]];
        assert_eq!(varied(&rows), ["buffer, 10 kB: changes none of the quantities beside it"]);
    }

    #[test]
    fn a_ratio_that_excludes_nothing_is_an_error_of_the_page() {
        let rows: [&[f64]; 2] = [&[10.0, 11.0, 12.0], &[1.0, 10.0, 100.0]];
        assert_eq!(varied(&rows), ["buffer, 1 kB: the interval of w.a.x excludes no row"]);
        let together: [&[f64]; 2] = [&[1.0, 10.0, 100.0], &[2.0, 21.0, 199.0]];
        assert!(varied(&together).is_empty(), "seeds differ, but each doubles");
        let apart: [&[f64]; 2] = [&[1e9, 1.1e9, 1.2e9], &[0.1, 1.0, 10.0]];
        assert!(varied(&apart).is_empty(), "it is less, whatever the seed");
        let third: [&[f64]; 3] = [&[10.0, 11.0, 12.0], &[1.0, 10.0, 100.0], &[3e4, 3e4, 3e4]];
        assert!(varied(&third).is_empty(), "another row lies outside");
    }

    #[test]
    fn what_a_parameter_changes_is_a_ratio_of_the_same_seeds() {
        let pairs = [(20.0, 10.0), (41.0, 20.0), (119.0, 60.0)];
        let found = Watched { estimate: estimate(&pairs.map(|pair| pair.0)), ratio: estimate_ratio(&pairs) };
        let chosen = Watched { estimate: estimate(&pairs.map(|pair| pair.1)), ratio: None };
        let row = ParameterRow { value: "60 kB".into(), found: vec![found, chosen] };
        let texts: Vec<_> = row.texts().collect();
        assert_eq!(texts, ["46.04 · 2.011× [1.93, 2.1]", "22.89 [2.43, 216]"]);
    }

    #[test]
    fn what_has_no_interval_says_why() {
        let judged = |claim: &str, values: &[f64]| {
            let head = "id = \"a\"\nfigure = \"1\"\nsource = \"p\"\nstatement = \"s\"\nquantity = \"w.a.x\"";
            let claim = claims::read("test", &format!("[[claim]]\n{head}\n{claim}")).remove(0);
            let measured = estimate(values);
            Judged { claim, measured, verdict: Verdict::Match, fitted: Vec::new(), tested: None, note: None }
        };
        let value = "class = \"exact\"\nunit = \"s\"\nreported = 2.0";
        let found =
            [&[2.0][..], &[2.0; 3], &[1.0, 3.0], &[]].map(|values| judged(value, values).measured_text());
        assert_eq!(found, ["2 (one seed)", "2 (all seeds alike)", "1.732 (1 to 3)", "–"]);
        let ratio = judged("class = \"order\"\nabove = \"w.b.x\"", &[f64::INFINITY]);
        let of_means =
            Judged { measured: ratio.measured.map(|found| Estimate { samples: 3, ..found }), ..ratio };
        assert_eq!(of_means.measured_text(), "∞× (of means: a seed has 0)");
    }

    #[test]
    fn units_stand_behind_numbers() {
        assert_eq!([with_unit(2.5, "×"), with_unit(0.985, "")], ["2.5×", "0.985"]);
    }

    #[test]
    fn a_power_of_ten_is_a_factor_and_other_units_are_not() {
        assert_eq!([with_unit(78.0, "10⁻⁵"), with_unit(0.5, "Tps")], ["78 × 10⁻⁵", "0.5 Tps"]);
    }
}
