//! Measures of a run: metrics of its summary, columns of its tables, quantities that follow from these, and models.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::{MODELS, Measured, Model};
use super::columns::{Column, Curve, First, Joined, Last, Numbers, Take, Y};
use super::curves::curve_of;
use super::ground::{Ground, is_name};
use super::lookup::{Wanted, check_names, check_rows, is_key, is_time, numbers_of, rows_of, table_of};
use super::quantity::{Of, Quantity, bounds_of};
use super::until::Until;
use super::written::{self, Reduce};
use crate::bounds::Bounds;
use crate::checksum;
use crate::diagnostic::{Checked, Code, Diagnostic, Rejection};
use crate::plan::Plan;
use crate::results::{Results, Table};

/// Of a longer run more intervals than these are not looked at one by one.
const MOST_BINS: u64 = 1_000_000;

/// One `[measure.NAME]`.
#[derive(Debug)]
pub(crate) struct Reading {
    ground: Arc<Ground>,
    model: Option<&'static Model>,
    /// Quantities that follow from others stand behind them.
    quantities: Vec<Quantity>,
    /// The least and the most that each of them can be, those of the model included.
    bounds: BTreeMap<String, Bounds>,
    series: Vec<(String, Curve)>,
    /// Where it stands.
    path: String,
    /// Changes with everything that is written there.
    hash: String,
}

impl Reading {
    /// Checks what is written at `measure.NAME`.
    ///
    /// # Errors
    /// If something has no such name, or does not fit together.
    pub(super) fn of(written: &written::Measure, path: String, ground: &Arc<Ground>) -> Checked<Self> {
        let model =
            written.model.as_deref().map(|name| model(name, &format!("{path}.model"), ground)).transpose()?;
        let mut quantities = Vec::new();
        for (name, quantity) in &written.quantities {
            let path = format!("{path}.quantities.{name}");
            if !is_name(name) {
                return Err(ground.at(&path, bad_name(name)));
            }
            if model.is_some_and(|model| model.quantities.contains(&name.as_str())) {
                let message = format!("the model measures \"{name}\" as well");
                return Err(ground.at(&path, Diagnostic::error(Code::Duplicate, message)));
            }
            quantities.push(quantity_of(name, quantity, &path, ground)?);
        }
        let mut series = Vec::new();
        for (name, curve) in &written.series {
            let path = format!("{path}.series.{name}");
            if !is_name(name) {
                return Err(ground.at(&path, bad_name(name)));
            }
            series.push((name.clone(), curve_of(curve, &path, ground)?));
        }
        let of_model = model.map_or(&[][..], |model| model.quantities);
        let quantities = ordered(quantities, of_model, &path, ground)?;
        let bounds = bounds_of(of_model, &quantities);
        let hash = checksum::of_bytes(format!("{written:?}").as_bytes());
        Ok(Self { ground: Arc::clone(ground), model, quantities, bounds, series, path, hash })
    }

    /// Changes with what it takes, and how; the engine stands for what models do.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// The model measures it.
    pub(crate) fn is_of_model(&self, quantity: &str) -> bool {
        self.model.is_some_and(|model| model.quantities.contains(&quantity))
    }

    /// The least and the most that a quantity can be.
    pub(crate) fn bounds(&self, quantity: &str) -> Option<Bounds> {
        self.bounds.get(quantity).copied()
    }

    /// Names of the quantities it takes, and of the curves.
    pub(super) fn names(&self) -> (Vec<String>, Vec<String>) {
        let of_model = |of: fn(&Model) -> &[&'static str]| {
            self.model.map_or(&[][..], of).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
        };
        let (mut quantities, mut series) =
            (of_model(|model| model.quantities), of_model(|model| model.series));
        let kept = self.quantities.iter().filter(|quantity| quantity.keep);
        quantities.extend(kept.map(|quantity| quantity.name.clone()));
        series.extend(self.series.iter().map(|(name, _)| name.clone()));
        (quantities, series)
    }

    /// Takes them all.
    pub(crate) fn measure(&self, results: &Results) -> Measured {
        let mut measured = self.model.map_or_else(Measured::default, |model| (model.measure)(results));
        let mut tables: BTreeMap<&str, Option<Table>> = BTreeMap::new();
        for quantity in &self.quantities {
            let known = |name: &String| measured.quantities.get(name).copied().flatten();
            let value = match &quantity.of {
                Of::Metric(name) => results.metric(name),
                Of::Column(column) => {
                    let table = tables.entry(column.table).or_insert_with(|| results.table(column.table));
                    table.as_ref().and_then(|table| column.of(table, results, known))
                }
                Of::Other(name) => known(name),
                Of::Ratio([a, b]) | Of::Fraction([a, b]) => {
                    known(a).zip(known(b)).map(|(a, b)| a / b).filter(|ratio| ratio.is_finite())
                }
                Of::Difference([a, b]) => known(a).zip(known(b)).map(|(a, b)| a - b),
                Of::Sum(all) => all.iter().map(known).sum(),
            };
            let value = value.and_then(|value| quantity.finished(value, results));
            measured.quantity(&quantity.name, value);
        }
        for quantity in self.quantities.iter().filter(|quantity| !quantity.keep) {
            measured.quantities.remove(&quantity.name);
        }
        for (name, curve) in &self.series {
            let table = tables.entry(curve.table).or_insert_with(|| results.table(curve.table));
            measured.series(name, table.as_ref().map(|table| curve.of(table, results)).unwrap_or_default());
        }
        measured
    }

    /// Whether a run of this plan has what it takes.
    ///
    /// # Errors
    /// If no such metric or table will be there, or a name in it, or a run has too many intervals.
    pub(crate) fn check(&self, plan: &Plan) -> Checked<()> {
        let mut metrics: Option<Vec<String>> = None;
        for Quantity { name, of, .. } in &self.quantities {
            let path = format!("{}.quantities.{name}", self.path);
            match of {
                Of::Metric(metric) => {
                    let known = metrics.get_or_insert_with(|| plan.metric_names());
                    if !known.contains(metric) {
                        let message = format!("there is no metric \"{metric}\" in {}", plan.scenario.name);
                        let error = Diagnostic::error(Code::UnknownName, message);
                        let error = error.known(metric, known.iter().map(String::as_str));
                        return Err(self.ground.at(&format!("{path}.metric"), error));
                    }
                }
                Of::Column(column) => {
                    check_rows(column.table, &column.rows.0, plan, &path, &self.ground)?;
                    self.check_values(&column.numbers, &path, plan)?;
                    if let First::Bins { length, .. } = column.first {
                        self.check_bins(length.as_ps(), &path, plan)?;
                    }
                }
                _ => {}
            }
        }
        for (name, curve) in &self.series {
            let path = format!("{}.series.{name}", self.path);
            check_rows(curve.table, &curve.rows.0, plan, &path, &self.ground)?;
            let Y::Numbers { of, joined, .. } = &curve.y else { continue };
            self.check_values(of, &path, plan)?;
            if let Some(Joined { length, empty: Some(_), .. }) = joined {
                self.check_bins(*length, &path, plan)?;
            }
        }
        Ok(())
    }

    fn check_values(&self, numbers: &Numbers, path: &str, plan: &Plan) -> Checked<()> {
        let Take::Named(values) = &numbers.take else { return Ok(()) };
        check_names(&numbers.column, values.keys(), plan, &format!("{path}.values"), &self.ground)
    }

    fn check_bins(&self, length: u64, path: &str, plan: &Plan) -> Checked<()> {
        let bins = plan.stop.at.as_ps() / length.max(1);
        if bins <= MOST_BINS {
            return Ok(());
        }
        let message = format!("{bins} intervals in {}, expected at most {MOST_BINS}", plan.scenario.name);
        Err(self.ground.at(&format!("{path}.bins"), Diagnostic::error(Code::OutOfRange, message)))
    }
}

fn bad_name(name: &str) -> Diagnostic {
    let message = format!("the name \"{name}\", expected 1 to 64 letters, digits, - and _");
    Diagnostic::error(Code::OutOfRange, message)
}

fn model(name: &str, path: &str, ground: &Ground) -> Checked<&'static Model> {
    let found = MODELS.iter().copied().flatten().find(|model| model.name == name);
    found.ok_or_else(|| {
        let error = Diagnostic::error(Code::UnknownName, format!("no model is called \"{name}\""));
        ground.at(path, error.known(name, MODELS.iter().copied().flatten().map(|model| model.name)))
    })
}

fn quantity_of(name: &str, written: &written::Quantity, path: &str, ground: &Ground) -> Checked<Quantity> {
    let conflict =
        |message: &str| -> Rejection { ground.at(path, Diagnostic::error(Code::Conflict, message)) };
    const KINDS: &str =
        "a quantity has one of `metric`, `table`, `of`, `ratio`, `fraction`, `difference` and `sum`";
    let written::Quantity { metric, table, of, ratio, fraction, difference, sum, .. } = written;
    let others = [of.is_some(), ratio.is_some(), fraction.is_some(), difference.is_some(), sum.is_some()];
    let kinds = [metric.is_some(), table.is_some()].into_iter().chain(others);
    if kinds.filter(|there| *there).count() != 1 {
        return Err(conflict(KINDS));
    }
    let only_of_tables = written.column.is_some()
        || written.reduce.is_some()
        || written.until.is_some()
        || !written.rows.is_empty()
        || written.missing.is_some()
        || written.empty.is_some()
        || written.increase.is_some()
        || written.minus.is_some()
        || written.values.is_some()
        || !written.by.0.is_empty()
        || written.bins.is_some();
    if table.is_none() && only_of_tables {
        return Err(conflict(
            "`column`, `increase`, `minus`, `values`, `where`, `missing`, `by`, `bins`, `reduce`, `until` and `empty` are of a `table`",
        ));
    }
    for (key, number) in [("times", written.times), ("plus", written.plus), ("at_least", written.at_least)] {
        if number.is_some_and(|number| !number.is_finite()) {
            let message = format!("{key} is not a number");
            return Err(ground.at(&format!("{path}.{key}"), Diagnostic::error(Code::OutOfRange, message)));
        }
    }
    let of = match (metric, table, of, ratio, fraction, difference, sum) {
        (Some(metric), ..) => Of::Metric(metric.clone()),
        (_, Some(table), ..) => Of::Column(column_of(table, written, path, ground)?),
        (_, _, Some(other), ..) => Of::Other(other.clone()),
        (_, _, _, Some(both), ..) => Of::Ratio(both.clone()),
        (_, _, _, _, Some(both), ..) => Of::Fraction(both.clone()),
        (_, _, _, _, _, Some(both), _) => Of::Difference(both.clone()),
        (.., Some(all)) if all.len() > 1 => Of::Sum(all.clone()),
        (.., Some(_)) => return Err(conflict("a `sum` is of two quantities or more")),
        _ => return Err(conflict(KINDS)),
    };
    let written::Quantity { per, times, plus, at_least, .. } = *written;
    let keep = written.keep.unwrap_or(true);
    Ok(Quantity { name: name.to_owned(), of, per, times, plus, at_least, keep })
}

fn column_of(table: &str, written: &written::Quantity, path: &str, ground: &Ground) -> Checked<Column> {
    let conflict =
        |message: &str| -> Rejection { ground.at(path, Diagnostic::error(Code::Conflict, message)) };
    let info = table_of(table, &format!("{path}.table"), ground)?;
    let Some(column) = &written.column else { return Err(conflict("a quantity of a table has a `column`")) };
    let each = written.each.unwrap_or(Reduce::Sum);
    let is_joined = !written.by.0.is_empty() || written.bins.is_some();
    let wanted = Wanted {
        column,
        keys: ["column", "minus"],
        counted: if is_joined { Some(each) } else { written.reduce }.is_some_and(Reduce::counts),
        increase: written.increase.as_ref(),
        minus: written.minus.as_ref(),
        values: written.values.as_ref(),
        missing: written.missing,
    };
    let numbers = numbers_of(info, &wanted, path, ground)?;
    let first = match (&written.by.0[..], written.bins, &written.at) {
        ([], None, None) if written.each.is_none() => First::Nothing,
        (by @ [_, ..], None, None) => {
            by.iter().try_for_each(|by| is_key(info, by, &format!("{path}.by"), ground))?;
            First::Groups { by: by.to_vec(), each }
        }
        ([], Some(length), Some(at)) if length.as_ps() > 0 => {
            is_time(info, at, &format!("{path}.at"), ground)?;
            First::Bins { length, at: at.clone(), each }
        }
        _ => {
            return Err(conflict("`each` needs `by`, or `bins` above 0 and `at`, a column of times"));
        }
    };
    let last = last_of(written, &first).map_err(conflict)?;
    let rows = rows_of(info, &written.rows, path, ground)?;
    Ok(Column { table: info.name, numbers, rows, first, last, empty: written.empty })
}

fn last_of(written: &written::Quantity, first: &First) -> Result<Last, &'static str> {
    let until = match (written.reduce, &written.until) {
        (Some(reduce), None) => return Ok(Last::Reduced(reduce)),
        (None, Some(until)) => until,
        _ => return Err("many values need one of `reduce` and `until` to be one"),
    };
    let First::Bins { length, .. } = *first else { return Err("`until` is of intervals: `bins` and `at`") };
    let (level, below) = match (&until.below, &until.above) {
        (Some(level), None) => (level.clone(), true),
        (None, Some(level)) => (level.clone(), false),
        _ => return Err("`until` has one of `below` and `above`, a quantity of this measure"),
    };
    let in_a_row = until.in_a_row.unwrap_or(1);
    if in_a_row == 0 {
        return Err("`in_a_row` is 1 or more");
    }
    Ok(Last::Until(Until { level, below, in_a_row, length }))
}

/// Quantities behind those they follow from.
fn ordered(
    mut rest: Vec<Quantity>,
    of_model: &[&str],
    path: &str,
    ground: &Ground,
) -> Checked<Vec<Quantity>> {
    let all: BTreeSet<String> = rest
        .iter()
        .map(|quantity| quantity.name.clone())
        .chain(of_model.iter().map(|name| (*name).into()))
        .collect();
    for quantity in &rest {
        if let Some(unknown) = quantity.others().iter().find(|other| !all.contains(*other)) {
            let message = format!("nothing here measures \"{unknown}\"");
            let error = Diagnostic::error(Code::UnknownName, message);
            let path = format!("{path}.quantities.{}", quantity.name);
            return Err(ground.at(&path, error.known(unknown, all.iter().map(String::as_str))));
        }
    }
    let taken: BTreeSet<&String> = rest.iter().flat_map(Quantity::others).collect();
    if let Some(useless) = rest.iter().find(|quantity| !quantity.keep && !taken.contains(&quantity.name)) {
        let message = format!("\"{}\" is not kept, and nothing follows from it", useless.name);
        let path = format!("{path}.quantities.{}", useless.name);
        return Err(ground.at(&path, Diagnostic::error(Code::Conflict, message)));
    }
    let mut known: BTreeSet<String> = of_model.iter().map(|name| (*name).to_owned()).collect();
    let mut ordered = Vec::new();
    while !rest.is_empty() {
        let (ready, waiting): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|quantity| quantity.others().iter().all(|other| known.contains(other)));
        if ready.is_empty() {
            let name = waiting.first().map_or("", |quantity| quantity.name.as_str());
            let error = Diagnostic::error(Code::Conflict, format!("\"{name}\" follows from itself"));
            return Err(ground.at(&format!("{path}.quantities.{name}"), error));
        }
        known.extend(ready.iter().map(|quantity| quantity.name.clone()));
        ordered.extend(ready);
        rest = waiting;
    }
    Ok(ordered)
}
