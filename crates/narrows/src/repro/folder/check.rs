//! Whether whatever a paper names is there, once, and whether whatever it runs is used.

use std::collections::{BTreeMap, BTreeSet};

use super::super::places::places as places_of;
use super::super::{Claim, Curve, Paper, Place, Points, Sweep, Term, experiment_of, find_key, parts};
use super::ground::{Ground, is_name};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Names of what experiments measure.
struct Known<'a> {
    quantities: BTreeSet<String>,
    series: BTreeSet<String>,
    sweeps: BTreeMap<&'a str, &'a Sweep>,
    /// Experiments that are needed, and sweeps of which that is noted.
    used: BTreeSet<String>,
    done: BTreeSet<String>,
}

/// Where parts of a paper stand.
pub(super) struct Places<'a> {
    pub(super) ground: &'a Ground,
    /// All curves of all charts.
    pub(super) curves: &'a [String],
    pub(super) claimed: &'a Ground,
    /// For each claim, the number of the table that made it.
    pub(super) claims: &'a [usize],
}

/// Checks a paper whose parts are sound one by one.
///
/// # Errors
/// The first name that nothing has, that two things have, or that nothing needs.
pub(super) fn check(paper: &Paper, places: &Places<'_>) -> Checked<()> {
    let ground = places.ground;
    let named = |of: fn(&super::super::Experiment) -> &[String]| -> BTreeSet<String> {
        let experiments = paper.experiments.iter();
        experiments.flat_map(|each| of(each).iter().map(|column| format!("{}.{column}", each.name))).collect()
    };
    let mut known = Known {
        quantities: named(|each| &each.quantities),
        series: named(|each| &each.series),
        sweeps: paper.sweeps.iter().map(|sweep| (sweep.name.as_str(), sweep)).collect(),
        used: BTreeSet::new(),
        done: BTreeSet::new(),
    };
    check_sweeps(paper, ground, &mut known)?;
    check_figures(paper, places, &mut known)?;
    check_claims(paper, places, &mut known)?;
    check_parameters(paper, ground, &mut known)?;
    match paper.experiments.iter().find(|experiment| !known.used.contains(&experiment.name)) {
        None => Ok(()),
        Some(experiment) => {
            let message =
                format!("no claim, table, chart or parameter needs the experiment \"{}\"", experiment.name);
            let path = paper.origin.experiments.get(&experiment.name).map_or("experiment", |(_, path)| path);
            Err(ground.at(path, Diagnostic::error(Code::Conflict, message)))
        }
    }
}

impl Known<'_> {
    /// Notes that a quantity is needed.
    fn need(&mut self, quantity: &str) -> Result<(), Diagnostic> {
        if let Some(sweep) = self.sweeps.get(quantity) {
            if !self.done.insert(quantity.to_owned()) {
                return Ok(());
            }
            self.used.extend(sweep.points.iter().map(|(_, quantity)| experiment_of(quantity).to_owned()));
            return Ok(());
        }
        need(quantity, &self.quantities, "quantity")?;
        self.used.insert(experiment_of(quantity).to_owned());
        Ok(())
    }
}

fn need(name: &str, known: &BTreeSet<String>, what: &str) -> Result<(), Diagnostic> {
    if known.contains(name) && parts(name).is_some() {
        return Ok(());
    }
    let error = Diagnostic::error(Code::UnknownName, format!("nothing measures the {what} \"{name}\""));
    Err(error.known(name, known.iter().map(String::as_str)))
}

fn twice(what: &str, name: &str) -> Diagnostic {
    Diagnostic::error(Code::Duplicate, format!("there are two {what} \"{name}\""))
}

fn check_sweeps(paper: &Paper, ground: &Ground, known: &mut Known<'_>) -> Checked<()> {
    let mut names = BTreeSet::new();
    for (number, sweep) in paper.sweeps.iter().enumerate() {
        let path = format!("sweep.{number}");
        if !names.insert(&sweep.name) || known.quantities.contains(&sweep.name) {
            return Err(ground.at(&format!("{path}.name"), twice("quantities", &sweep.name)));
        }
        for (_, quantity) in &sweep.points {
            let found = need(quantity, &known.quantities, "quantity");
            found.map_err(|error| ground.at(&format!("{path}.quantity"), error))?;
        }
    }
    Ok(())
}

fn check_figures(paper: &Paper, places: &Places<'_>, known: &mut Known<'_>) -> Checked<()> {
    let ground = places.ground;
    let mut names = BTreeSet::new();
    let mut curves = places.curves.iter();
    for (number, figure) in paper.figures.iter().enumerate() {
        let path = format!("figure.{number}");
        if find_key(&figure.name).is_empty() || !names.insert(find_key(&figure.name)) {
            return Err(ground.at(&format!("{path}.name"), twice("figures", &figure.name)));
        }
        for (place, table) in figure.tables.iter().enumerate() {
            let path = format!("{path}.table.{place}");
            let name = |row: &str, column: &str| format!("{}.{row}.{column}", table.group);
            let there = |known: &Known<'_>, name: String| {
                known.quantities.contains(&name) || known.sweeps.contains_key(name.as_str())
            };
            let missing = |what: &str, key: &str| {
                let message =
                    format!("nothing measures the {what} \"{key}\" of the group \"{}\"", table.group);
                Diagnostic::error(Code::UnknownName, message)
            };
            for (row, _) in &table.rows {
                if !table.columns.iter().any(|(column, _)| there(known, name(row, column))) {
                    return Err(ground.at(&format!("{path}.rows"), missing("row", row)));
                }
            }
            for (column, _) in &table.columns {
                if !table.rows.iter().any(|(row, _)| there(known, name(row, column))) {
                    return Err(ground.at(&format!("{path}.columns"), missing("column", column)));
                }
            }
            // Not every cell has to be measured.
            for cell in table.quantities() {
                if there(known, cell.clone()) {
                    known.need(&cell).map_err(|error| ground.at(&path, error))?;
                }
            }
        }
        let drawn = figure.charts.iter().flat_map(|chart| &chart.curves);
        for (curve, path) in drawn.zip(&mut curves) {
            check_curve(curve, known).map_err(|error| ground.at(path, error))?;
        }
    }
    Ok(())
}

fn check_curve(curve: &Curve, known: &mut Known<'_>) -> Result<(), Diagnostic> {
    match &curve.points {
        Points::Theory(_) => Ok(()),
        Points::Sweep(points) => points.iter().try_for_each(|(_, quantity)| known.need(quantity)),
        Points::Series(name) => {
            need(name, &known.series, "series")?;
            known.used.insert(experiment_of(name).to_owned());
            Ok(())
        }
    }
}

fn check_claims(paper: &Paper, places: &Places<'_>, known: &mut Known<'_>) -> Checked<()> {
    let ground = places.claimed;
    let mut ids = BTreeSet::new();
    for (claim, number) in paper.claims.iter().zip(places.claims) {
        let path = format!("claim.{number}");
        if !is_name(&claim.id) || !ids.insert(claim.id.to_lowercase()) {
            let error = twice("claims, or it is no name of letters, digits, - and _:", &claim.id);
            return Err(ground.at(&format!("{path}.id"), error));
        }
        if !paper.figures.iter().any(|figure| figure.name == claim.figure) {
            let error =
                Diagnostic::error(Code::UnknownName, format!("no figure is called \"{}\"", claim.figure));
            let error = error.known(&claim.figure, paper.figures.iter().map(|figure| figure.name.as_str()));
            return Err(ground.at(&format!("{path}.figure"), error));
        }
        for (key, quantity) in
            ["quantity", "above", "below"].into_iter().zip(claim.quantities().map(Some).chain([None]))
        {
            let Some(quantity) = quantity else { break };
            known.need(quantity).map_err(|error| ground.at(&format!("{path}.{key}"), error))?;
        }
        check_tests(claim, &path, paper, ground, known)?;
    }
    Ok(())
}

/// Checks what explains a claim.
fn check_tests(
    claim: &Claim,
    path: &str,
    paper: &Paper,
    ground: &Ground,
    known: &mut Known<'_>,
) -> Checked<()> {
    if let Some(explanation) = &claim.explained {
        let mut ids = explanation.found.iter().chain(explanation.predicts.keys());
        let found = ids.try_for_each(|id| need_claim(id, paper));
        let found =
            found.and_then(|()| explanation.tests().try_for_each(|place| check_place(place, paper, known)));
        found.map_err(|error| ground.at(&format!("{path}.explained"), error))?;
    }
    for place in places_of(claim.note.as_deref().unwrap_or_default()) {
        let found = place.map_err(|error| Diagnostic::error(Code::OutOfRange, error));
        let found = found.and_then(|place| check_place(&place, paper, known));
        found.map_err(|error| ground.at(&format!("{path}.note"), error))?;
    }
    Ok(())
}

/// Refuses tests of explanations and notes that nothing measures, also those with another value of a parameter.
fn check_place(place: &Place, paper: &Paper, known: &mut Known<'_>) -> Result<(), Diagnostic> {
    place.terms().try_for_each(|term| check_term(term, paper, known))
}

fn check_term(
    Term { quantity, varied }: &Term,
    paper: &Paper,
    known: &mut Known<'_>,
) -> Result<(), Diagnostic> {
    let Some((name, value)) = varied else { return known.need(quantity) };
    // Sweeps are not repeated.
    need(quantity, &known.quantities, "quantity")?;
    known.used.insert(experiment_of(quantity).to_owned());
    let Some(parameter) = paper.parameters.iter().find(|parameter| parameter.name == *name) else {
        let error = Diagnostic::error(Code::UnknownName, format!("no parameter is called \"{name}\""));
        return Err(error.known(name, paper.parameters.iter().map(|each| each.name.as_str())));
    };
    let values = parameter.alternatives.iter().map(|each| each.value.as_str());
    if values.clone().any(|each| each == value) {
        return Ok(());
    }
    let message = format!("the parameter \"{name}\" has no alternative \"{value}\"");
    Err(Diagnostic::error(Code::UnknownName, message).known(value, values))
}

fn need_claim(id: &str, paper: &Paper) -> Result<(), Diagnostic> {
    if paper.claims.iter().any(|claim| claim.id == id) {
        return Ok(());
    }
    let error = Diagnostic::error(Code::UnknownName, format!("no claim is called \"{id}\""));
    Err(error.known(id, paper.claims.iter().map(|claim| claim.id.as_str())))
}

fn check_parameters(paper: &Paper, ground: &Ground, known: &mut Known<'_>) -> Checked<()> {
    let mut names = BTreeSet::new();
    for (number, parameter) in paper.parameters.iter().enumerate() {
        let path = format!("parameter.{number}");
        if !names.insert(&parameter.name) {
            return Err(ground.at(&format!("{path}.name"), twice("parameters", &parameter.name)));
        }
        for quantity in &parameter.watched {
            let found = need(quantity, &known.quantities, "quantity");
            found.map_err(|error| ground.at(&format!("{path}.watched"), error))?;
            known.used.insert(experiment_of(quantity).to_owned());
        }
        for id in &parameter.fitted {
            need_claim(id, paper).map_err(|error| ground.at(&format!("{path}.fitted"), error))?;
        }
    }
    Ok(())
}
