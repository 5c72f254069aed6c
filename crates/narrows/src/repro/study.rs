//! From a paper to a list of runs, and from what they measured to a reproduction.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::judge::judge;
use super::needed::{Available, needed};
use super::observed::{Observed, Samples, over_sweep};
use super::outcome::{
    DrawnChart, DrawnCurve, FigureOutcome, ParameterOutcome, ParameterRow, Reproduction, Watched,
};
use super::stored::Stored;
use super::{
    Alternative, Chart, Claim, Curve, Experiment, Figure, Measured, Origin, Paper, Parameter, Points, Table,
    experiment_of, find_key, seeds,
};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;
use crate::plan::Plan;
use crate::results::Results;

/// More runs than these are not planned.
const MOST_RUNS: usize = 100_000;

/// Options of a reproduction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Only this figure or table.
    pub figure: Option<&'a str>,
    /// The short form.
    pub quick: bool,
    /// Seeds of each experiment. Without: one in the short form, else as many as verdicts need.
    pub seeds: Option<u32>,
}

/// Runs of a reproduction, and the claims, figures and parameters they are for.
#[derive(Debug)]
pub struct Study {
    /// The paper.
    pub paper: Arc<Paper>,
    /// All runs.
    pub runs: Vec<Run>,
    /// Seeds of each experiment, from 1 on; none if as many are run as verdicts need.
    pub seeds: Option<u32>,
    pub(super) quick: bool,
    pub(super) figure: Option<String>,
    figures: Vec<Figure>,
    pub(super) claims: Vec<Claim>,
    left_out: usize,
    pub(super) parameters: Vec<Parameter>,
    pub(super) experiments: Vec<Experiment>,
    /// Quantities that claims, tables, charts and parameters are taken of; what is measured besides only helps.
    pub(super) needed: BTreeSet<String>,
}

/// One run.
#[derive(Debug)]
pub struct Run {
    /// Its name in messages.
    pub name: String,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Number of the parameter and of its alternative; none if everything is as chosen.
    pub alternative: Option<(usize, usize)>,
    pub(super) experiment: usize,
}

/// Measurements of all runs, with warnings and scenarios.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) samples: Samples,
    pub(super) series: BTreeMap<String, Vec<(f64, f64)>>,
    pub(super) warnings: Vec<String>,
    /// Complete scenarios of all experiments, by name.
    pub(super) scenarios: Vec<(String, String)>,
}

impl Study {
    /// Finds out what to run.
    ///
    /// # Errors
    /// If there is no such figure, or nothing of it in the quick form.
    pub fn new(paper: impl Into<Arc<Paper>>, request: &Request<'_>) -> Checked<Self> {
        let mut study = Self::select(paper.into(), request)?;
        study.check_size()?;
        for experiment in 0..study.experiments.len() {
            study.add_runs(experiment, None, 1..=seeds::first(study.seeds))?;
        }
        if study.varies() {
            study.add_alternatives()?;
        }
        Ok(study)
    }

    /// Selection of claims, figures and experiments, without runs.
    pub(super) fn select(paper: Arc<Paper>, request: &Request<'_>) -> Checked<Self> {
        let mut figures = paper.figures.clone();
        let mut figure = None;
        if let Some(wanted) = request.figure {
            let found = find_figure(&figures, wanted)?;
            figures = vec![figures.swap_remove(found)];
            figure = Some(figures[0].name.clone());
        }
        let parameters = paper.parameters.clone();
        let vary = figure.is_none() && !request.quick;

        let mut experiments = paper.experiments.clone();
        experiments.retain(|experiment| !request.quick || experiment.quick.is_some());
        let run = Available::of(&experiments, &paper.sweeps);
        let of_figures = |claim: &&Claim| figures.iter().any(|figure| figure.name == claim.figure);
        let (claims, left_out): (Vec<_>, Vec<_>) = paper
            .claims
            .iter()
            .filter(of_figures)
            .cloned()
            .partition(|claim| claim.quantities().all(|each| run.has(each)));

        let watched = parameters.iter().filter(|_| vary).flat_map(|parameter| &parameter.watched);
        let named: BTreeSet<String> = claims.iter().flat_map(Claim::needed).chain(watched.cloned()).collect();
        let needed = needed(named.iter().map(String::as_str), &figures, &paper.sweeps);
        let taken: BTreeSet<&str> = needed.iter().map(|quantity| experiment_of(quantity)).collect();
        experiments.retain(|experiment| taken.contains(experiment.name.as_str()));
        if experiments.is_empty() {
            let what = figure.as_deref().unwrap_or(&paper.name);
            let message = format!("the quick form leaves out all of {what}");
            return Err(Diagnostic::error(Code::Conflict, message).help("leave out --quick").into());
        }

        let seeds = request.seeds.or(seeds::usual(&paper, request.quick)).map(|seeds| seeds.max(1));
        Ok(Self {
            paper,
            runs: Vec::new(),
            seeds,
            quick: request.quick,
            figure,
            figures,
            claims,
            left_out: left_out.len(),
            parameters,
            experiments,
            needed,
        })
    }

    /// Its seeds, in words.
    pub fn seeds_text(&self) -> String {
        seeds::text(self.seeds)
    }

    /// Whether experiments are repeated with other values of parameters.
    pub(super) fn varies(&self) -> bool {
        self.figure.is_none() && !self.quick
    }

    /// Counts runs before they are planned.
    fn check_size(&self) -> Checked<()> {
        let watched = |parameter: &Parameter| parameter.repeated().len() * parameter.alternatives.len();
        let varied: usize = self.parameters.iter().filter(|_| self.varies()).map(watched).sum();
        let runs = (self.experiments.len() + varied).saturating_mul(seeds::most(self.seeds) as usize);
        if runs <= MOST_RUNS {
            return Ok(());
        }
        let message = format!("about {runs} runs, expected at most {MOST_RUNS}");
        Err(Diagnostic::error(Code::OutOfRange, message).help("fewer --seeds, or one --figure").into())
    }

    fn add_alternatives(&mut self) -> Checked<()> {
        let seeds = seeds::of_alternatives(self.seeds);
        for parameter in 0..self.parameters.len() {
            let repeated = self.parameters[parameter].repeated();
            let is_repeated =
                |experiment: &usize| repeated.contains(self.experiments[*experiment].name.as_str());
            let experiments: Vec<_> = (0..self.experiments.len()).filter(is_repeated).collect();
            for alternative in 0..self.parameters[parameter].alternatives.len() {
                for &experiment in &experiments {
                    self.add_runs(experiment, Some((parameter, alternative)), 1..=seeds)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn add_runs(
        &mut self,
        experiment: usize,
        alternative: Option<(usize, usize)>,
        seeds: RangeInclusive<u32>,
    ) -> Checked<()> {
        let name = &self.experiments[experiment].name;
        let label = match alternative.map(|place| self.alternative(place)) {
            None => name.clone(),
            Some((parameter, alternative)) => format!("{name} {} {}", parameter.name, alternative.value),
        };
        let mut document = self.document(experiment)?;
        for assignment in alternative.iter().flat_map(|place| &self.alternative(*place).1.overrides) {
            self.change(&mut document, assignment)?;
        }
        document.set(&format!("name={}-{}", self.paper.name, name.replace('.', "-")))?;
        for seed in seeds {
            let plan = Arc::new(Plan::with_seed(&document, seed.into())?);
            if seed == 1 {
                self.experiments[experiment].measure.check(&plan)?;
            }
            self.runs.push(Run { name: format!("{label} seed {seed}"), plan, alternative, experiment });
        }
        Ok(())
    }

    /// The scenario of an experiment, as chosen.
    pub(super) fn document(&self, experiment: usize) -> Checked<Document> {
        let Experiment { name, scenario, overrides, quick, .. } = &self.experiments[experiment];
        let mut document = self.paper.origin.document(&self.paper.name, name, scenario)?;
        for assignment in overrides.iter().chain(quick.iter().flatten().filter(|_| self.quick)) {
            self.change(&mut document, assignment)?;
        }
        Ok(document)
    }

    /// Changes a scenario; mistakes are shown where the change is written.
    fn change(&self, document: &mut Document, assignment: &str) -> Checked<()> {
        document.set_from("--set", assignment, self.paper.origin.places.get(assignment).cloned())
    }

    fn alternative(&self, (parameter, alternative): (usize, usize)) -> (&Parameter, &Alternative) {
        let parameter = &self.parameters[parameter];
        (parameter, &parameter.alternatives[alternative])
    }

    /// Takes from the results of a run what the paper is about. Curves stay of the first seed only.
    ///
    /// # Panics
    /// If an experiment measures something else than it declares.
    pub fn measure(&self, run: usize, results: &Results) -> Measured {
        let Run { experiment, alternative, .. } = &self.runs[run];
        let experiment = &self.experiments[*experiment];
        let mut measured = experiment.measure.of(results);
        let same = |keys: Vec<&String>, declared: &[String]| {
            let declared: BTreeSet<_> = declared.iter().collect();
            keys.into_iter().eq(declared)
        };
        let declared = same(measured.quantities.keys().collect(), &experiment.quantities)
            && same(measured.series.keys().collect(), &experiment.series);
        assert!(declared, "{} measures something else than it declares: {measured:?}", experiment.name);
        if alternative.is_some() || results.plan.scenario.seed > 1 {
            measured.series.clear();
        }
        measured
    }

    /// Quantities and curves that the experiment of a run may measure.
    pub(super) fn declared(&self, run: usize) -> (&[String], &[String]) {
        let experiment = &self.experiments[self.runs[run].experiment];
        (&experiment.quantities, &experiment.series)
    }

    /// Puts together what all runs measured, in their order.
    pub fn conclude(self, measured: Vec<Measured>) -> Reproduction {
        let mut known = Known { samples: self.samples(&measured), ..Known::default() };
        for (run, measured) in self.runs.iter().zip(measured) {
            let experiment = &self.experiments[run.experiment].name;
            let curves = measured.series.into_iter();
            known.series.extend(curves.map(|(name, points)| (format!("{experiment}.{name}"), points)));
        }
        let firsts = self.runs.iter().filter(|run| run.is_first());
        let firsts: Vec<_> = firsts.map(|run| (&self.experiments[run.experiment], run)).collect();
        let warnings = firsts.iter().flat_map(|(experiment, run)| {
            run.plan.warning_texts().into_iter().map(|text| format!("{}: {text}", experiment.name))
        });
        known.warnings = warnings.collect();
        known.scenarios =
            firsts.iter().map(|(each, run)| (each.name.clone(), run.plan.text.clone())).collect();
        self.assemble(known, env!("CARGO_PKG_VERSION").to_owned())
    }

    /// Values of all quantities, seed by seed.
    pub(super) fn samples<'a>(&self, measured: impl IntoIterator<Item = &'a Measured>) -> Samples {
        let mut samples = Samples::new();
        for (run, measured) in self.runs.iter().zip(measured) {
            let experiment = &self.experiments[run.experiment].name;
            for (column, value) in &measured.quantities {
                let quantity = format!("{experiment}.{column}");
                samples.entry((run.alternative, quantity)).or_default().push(*value);
            }
        }
        samples
    }

    /// Judges what is known, whether it was measured now or before.
    pub(super) fn assemble(self, known: Known, narrows: String) -> Reproduction {
        let Known { mut samples, series, warnings, scenarios } = known;
        let stored = Stored::of(&self, &samples, &warnings, &narrows);
        add_sweeps(&self.paper, &mut samples);
        let observed = Observed::new(&self.paper, &samples);
        let (judged, mut errors) = judge(&self.claims, &self.parameters, &observed);
        let cell = |quantity: String| {
            let estimate = observed.estimate(None, &quantity)?;
            Some((quantity, estimate))
        };
        let outcome = |figure: &Figure| FigureOutcome {
            charts: figure.charts.iter().map(|chart| draw(chart, &self.claims, &observed, &series)).collect(),
            cells: figure.tables.iter().flat_map(Table::quantities).filter_map(&cell).collect(),
            claims: judged.iter().filter(|judged| judged.claim.figure == figure.name).cloned().collect(),
            figure: figure.clone(),
        };
        let figures = self.figures.iter().map(outcome).collect();
        let parameters = self.parameters.iter().enumerate();
        let parameters: Vec<_> =
            parameters.map(|(number, parameter)| vary(number, parameter, &observed)).collect();
        errors.extend(parameters.iter().flat_map(ParameterOutcome::errors));
        // What a short form leaves out is no mistake.
        errors.retain(|_| !self.quick && self.figure.is_none());
        Reproduction {
            paper: self.paper,
            seeds: self.seeds,
            quick: self.quick,
            figure: self.figure,
            left_out: self.left_out,
            warnings,
            scenarios,
            figures,
            parameters,
            errors,
            stored,
            narrows,
        }
    }
}

impl Run {
    /// The first of its experiment: the first seed, with everything as chosen.
    pub fn is_first(&self) -> bool {
        self.alternative.is_none() && self.plan.scenario.seed == 1
    }
}

/// Adds what follows from several experiments.
pub(super) fn add_sweeps(paper: &Paper, samples: &mut Samples) {
    for sweep in &paper.sweeps {
        let values = over_sweep(sweep, samples);
        samples.insert((None, sweep.name.clone()), values);
    }
}

impl Table {
    /// The quantities of its cells.
    pub(super) fn quantities(&self) -> Vec<String> {
        let rows = self.rows.iter();
        let of_row = |row: &str| -> Vec<_> {
            self.columns.iter().map(|(column, _)| format!("{}.{row}.{column}", self.group)).collect()
        };
        rows.flat_map(|(row, _)| of_row(row)).collect()
    }
}

impl Curve {
    /// The series or quantities it is drawn from.
    pub(super) fn sources(&self) -> Vec<&str> {
        match &self.points {
            Points::Series(name) => vec![name],
            Points::Sweep(points) => points.iter().map(|(_, quantity)| quantity.as_str()).collect(),
            Points::Theory(_) => Vec::new(),
        }
    }
}

/// The number of a figure by its name, by its name without blanks, or by its number alone, which first means a figure, then
/// a table.
fn find_figure(figures: &[Figure], wanted: &str) -> Checked<usize> {
    let plain_wanted = find_key(wanted);
    let forms = ["", "figure", "table"].map(|kind| format!("{kind}{plain_wanted}"));
    let place = |form: &String| figures.iter().position(|figure| find_key(&figure.name) == *form);
    let unknown = || {
        let error = Diagnostic::error(Code::UnknownName, format!("no figure is called \"{wanted}\""));
        error.known(wanted, figures.iter().map(|figure| figure.name.as_str())).into()
    };
    forms.iter().find_map(place).ok_or_else(unknown)
}

/// Looks up the points of a chart. Curves without points are left out.
fn draw(
    chart: &Chart,
    claims: &[Claim],
    observed: &Observed<'_>,
    series: &BTreeMap<String, Vec<(f64, f64)>>,
) -> DrawnChart {
    let mean = |quantity: &String| observed.estimate(None, quantity).map(|estimate| estimate.mean);
    let reported = |quantity: &String| {
        claims.iter().find_map(|claim| claim.reported().filter(|_| claim.quantity == *quantity))
    };
    let mut curves = Vec::new();
    let mut add = |label: String, points: Vec<(f64, f64)>, color: usize, origin: Origin| {
        if !points.is_empty() {
            curves.push(DrawnCurve { label, points, color, origin });
        }
    };
    for (color, curve) in chart.curves.iter().enumerate() {
        match &curve.points {
            Points::Series(name) => {
                let points = series.get(name).cloned().unwrap_or_default();
                add(curve.label.clone(), points, color, Origin::Measured);
            }
            Points::Sweep(points) => {
                let all = |value: &dyn Fn(&String) -> Option<f64>| -> Vec<_> {
                    points.iter().filter_map(|(x, quantity)| Some((*x, value(quantity)?))).collect()
                };
                add(curve.label.clone(), all(&mean), color, Origin::Measured);
                add(format!("{}, paper", curve.label), all(&reported), color, Origin::Paper);
            }
            // Drawn in the color of the curve before it, which is what it is about; if that was measured.
            Points::Theory(points) => {
                let before = color.checked_sub(1).map(|before| &chart.curves[before].points);
                let beside = before.is_some_and(|points| !matches!(points, Points::Theory(_)));
                let color = if beside { color - 1 } else { color };
                add(curve.label.clone(), points.clone(), color, Origin::Theory);
            }
        }
    }
    DrawnChart {
        title: chart.title.clone(),
        x: chart.x.clone(),
        y: chart.y.clone(),
        style: chart.style,
        curves,
        references: chart.references.clone(),
    }
}

/// Values of a parameter, and the watched quantities with each. All rows are of the same seeds.
fn vary(number: usize, parameter: &Parameter, observed: &Observed<'_>) -> ParameterOutcome {
    let row = |value: &String, alternative: Option<(usize, usize)>| {
        let seeds = seeds::of_alternatives(None) as usize;
        let found = |quantity: &String| {
            let ratio = alternative.and_then(|_| observed.ratio((alternative, quantity), (None, quantity)));
            let ratio = ratio.filter(|ratio| ratio.interval.is_some());
            Watched { estimate: observed.estimate_of_first(alternative, quantity, seeds), ratio }
        };
        ParameterRow { value: value.clone(), found: parameter.watched.iter().map(found).collect() }
    };
    let base = row(&parameter.value, None);
    let alternatives = parameter.alternatives.iter().enumerate();
    let alternatives = alternatives.map(|(place, each)| row(&each.value, Some((number, place))));
    let rows = if observed.varies(number) {
        std::iter::once(base).chain(alternatives).collect()
    } else {
        Vec::new()
    };
    ParameterOutcome { parameter: parameter.clone(), rows }
}
