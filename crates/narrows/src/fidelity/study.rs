//! From comparisons to a list of runs, and from what they measured to verdicts.

use std::sync::Arc;

use super::settings::Settings;
use super::{Comparison, Expected, find, theory};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::plan::Plan;
use crate::repro::Verdict;
use crate::results::Results;

/// Selection of comparisons, and their form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Only these; see [`find`].
    pub names: &'a [String],
    /// Only those that have a quick form, in that form.
    pub quick: bool,
}

/// Comparisons, and the runs they need.
#[derive(Debug)]
pub struct Study {
    /// All runs.
    pub runs: Vec<Run>,
    /// The comparisons.
    pub comparisons: Vec<&'static Comparison>,
    quick: bool,
    /// Every comparison of the long form is there.
    whole: bool,
    left_out: usize,
}

/// One run. Comparisons share it if their scenarios are the same.
#[derive(Debug)]
pub struct Run {
    /// Its name in messages: that of the first comparison it is for.
    pub name: String,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Numbers of the comparisons it is for.
    comparisons: Vec<usize>,
}

/// Outcome of a comparison.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The comparison.
    pub comparison: &'static Comparison,
    /// Value that the source reports or the formula gives.
    pub expected: f64,
    /// Measured value; none if there was nothing to take it of.
    pub measured: Option<f64>,
    /// Whether it is in the band.
    pub verdict: Verdict,
}

impl Outcome {
    /// The measured value as a multiple of the expected one.
    pub fn ratio(&self) -> Option<f64> {
        self.measured.filter(|_| self.expected != 0.0).map(|measured| measured / self.expected)
    }

    /// The verdict is the one that is known.
    pub fn is_as_known(&self) -> bool {
        self.verdict == self.comparison.known()
    }
}

/// Outcomes of all comparisons.
#[derive(Clone, Debug)]
pub struct Fidelity {
    /// In the order of comparisons.
    pub outcomes: Vec<Outcome>,
    /// It is the quick form.
    pub quick: bool,
    /// Nothing was left out.
    pub whole: bool,
    /// Comparisons that have no quick form.
    pub left_out: usize,
    /// Warnings about scenarios.
    pub warnings: Vec<String>,
}

impl Study {
    /// Finds out what to run.
    ///
    /// # Errors
    /// If a name is not known, or nothing has a quick form.
    pub fn new(request: &Request<'_>) -> Checked<Self> {
        let wanted = find(request.names)?;
        let asked = wanted.len();
        let comparisons: Vec<_> =
            wanted.into_iter().filter(|one| !request.quick || one.quick.is_some()).collect();
        let left_out = asked - comparisons.len();
        if comparisons.is_empty() {
            let message = "the quick form leaves out all of these comparisons";
            return Err(Diagnostic::error(Code::Conflict, message).help("leave out --quick").into());
        }
        let whole = request.names.is_empty() && !request.quick;
        let mut study = Self { runs: Vec::new(), comparisons, quick: request.quick, whole, left_out };
        for number in 0..study.comparisons.len() {
            study.add(number)?;
        }
        Ok(study)
    }

    fn add(&mut self, number: usize) -> Checked<()> {
        let comparison = self.comparisons[number];
        let plan = Plan::new(comparison.document(self.quick)?)?;
        match self.runs.iter_mut().find(|run| run.plan.text == plan.text) {
            Some(run) => run.comparisons.push(number),
            None => self.runs.push(Run {
                name: comparison.id.clone(),
                plan: Arc::new(plan),
                comparisons: vec![number],
            }),
        }
        Ok(())
    }

    /// Takes from the results of a run what it was for: numbers of comparisons and what was measured for them.
    pub fn measure(&self, run: usize, results: &Results) -> Vec<Outcome> {
        let outcome = |number: &usize| {
            let comparison = self.comparisons[*number];
            let settings = Settings::new(&results.plan, comparison.port.as_deref());
            let expected = expected(comparison, &settings);
            let value = comparison.measure.of(results, &settings);
            let measured = value.map(|value| settings.in_unit(value, &comparison.unit));
            let measured = measured.filter(|measured| !measured.is_nan());
            Outcome { comparison, expected, measured, verdict: comparison.judge(expected, measured) }
        };
        self.runs[run].comparisons.iter().map(outcome).collect()
    }

    /// Puts together what all runs measured.
    pub fn conclude(&self, measured: Vec<Vec<Outcome>>) -> Fidelity {
        let mut outcomes: Vec<_> = measured.into_iter().flatten().collect();
        let place = |outcome: &Outcome| {
            self.comparisons.iter().position(|comparison| comparison.id == outcome.comparison.id)
        };
        outcomes.sort_by_key(place);
        let warnings = self
            .runs
            .iter()
            .flat_map(|run| run.plan.warning_texts().into_iter().map(|text| format!("{}: {text}", run.name)));
        Fidelity {
            outcomes,
            quick: self.quick,
            whole: self.whole,
            left_out: self.left_out,
            warnings: warnings.collect(),
        }
    }
}

/// Value that a comparison expects in its scenario.
fn expected(comparison: &Comparison, settings: &Settings<'_>) -> f64 {
    match &comparison.expected {
        Expected::Reported(value) => *value,
        Expected::Theory(name) => settings.in_unit((theory::find(name).of)(settings), &comparison.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::all;

    #[test]
    fn every_scenario_checks_without_warnings_and_every_formula_finds_its_settings() {
        for quick in [false, true] {
            for comparison in all().filter(|comparison| !quick || comparison.quick.is_some()) {
                let id = &comparison.id;
                let plan = Plan::new(comparison.document(quick).unwrap());
                let plan = plan.unwrap_or_else(|rejection| panic!("{id}: {rejection}"));
                let warnings = plan.warning_texts();
                // More is offered than a link carries where queues are to answer that.
                let overload = ["rdma.qcn", "rdma.bcn"].contains(&id.as_str());
                let is_overload = |text: &String| text.contains("open-loop traffic offers 800 %");
                assert!(warnings.iter().all(|text| overload && is_overload(text)), "{id}: {warnings:?}");
                let expected = expected(comparison, &Settings::new(&plan, comparison.port.as_deref()));
                let (least, most) = comparison.band.ends(expected);
                let holds = (least..=most).contains(&expected) && least < most;
                assert!(holds, "{id}: expected {expected}, band from {least} to {most}");
            }
        }
    }

    #[test]
    fn comparisons_of_one_scenario_share_its_run() {
        let names = ["dctcp.hops-first", "dctcp.hops-second"].map(str::to_owned);
        let study = Study::new(&Request { names: &names, quick: false }).unwrap();
        assert_eq!((study.runs.len(), study.comparisons.len()), (1, 2));
    }

    #[test]
    fn a_verdict_is_known_or_it_is_not() {
        let comparison = all().find(|comparison| comparison.miss.is_none()).unwrap();
        let outcome = |verdict| Outcome { comparison, expected: 2.0, measured: Some(3.0), verdict };
        assert!(outcome(Verdict::Match).is_as_known() && !outcome(Verdict::Miss).is_as_known());
        assert_eq!(outcome(Verdict::Match).ratio(), Some(1.5));
    }
}
