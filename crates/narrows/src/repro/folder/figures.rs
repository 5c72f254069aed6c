//! Figures, tables, charts, sweeps and parameters.

use std::collections::BTreeMap;

use super::super::{
    Alternative, Axis, CURVES, Chart, Curve, Figure, OverSweep, Parameter, Points, Reference, Sweep, Table,
};
use super::experiments::Experiments;
use super::ground::{Ground, is_name};
use super::scope::{Grid, Scope, entries};
use super::written::{self, Entry, Items, Many, Theory, Written};
use crate::diagnostic::{Checked, Code, Diagnostic, Rejection};

/// The most points of a curve, or of a sweep.
const MOST_POINTS: usize = 10_000;
/// The most points of all curves, and the most cells of all tables.
const MOST_DRAWN: usize = 200_000;

/// Builder of figures.
pub(super) struct Drawing<'a> {
    written: &'a Written,
    ground: &'a Ground,
    /// Points and cells so far.
    drawn: usize,
    /// Where curves stand, in their order.
    pub(super) curves: Vec<String>,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(written: &'a Written, ground: &'a Ground) -> Self {
        Self { written, ground, drawn: 0, curves: Vec::new() }
    }

    pub(super) fn figures(&mut self) -> Checked<Vec<Figure>> {
        let mut figures = Vec::new();
        for (number, figure) in self.written.figure.iter().enumerate() {
            let path = format!("figure.{number}");
            let mut tables = Vec::new();
            for (place, table) in figure.table.iter().enumerate() {
                tables.push(self.table(table, &format!("{path}.table.{place}"))?);
            }
            let mut charts = Vec::new();
            for (place, chart) in figure.chart.iter().enumerate() {
                let path = format!("{path}.chart.{place}");
                for scope in self.grid(&chart.grid, &Scope::default(), &path)? {
                    charts.push(self.chart(chart, &scope, &path)?);
                }
            }
            let [name, title, shows] = [&figure.name, &figure.title, &figure.shows].map(String::clone);
            figures.push(Figure { name, title, shows, tables, charts });
        }
        Ok(figures)
    }

    fn table(&mut self, table: &written::Table, path: &str) -> Checked<Table> {
        let keys = |items: &Items, key: &str| -> Checked<Vec<(String, String)>> {
            let path = format!("{path}.{key}");
            let entries = entries(items, &self.written.lists, self.ground, &path)?;
            let pair = |entry: &Entry| {
                if is_name(&entry.key) {
                    Ok((entry.key.clone(), entry.label.clone()))
                } else {
                    Err(bad_key(&entry.key))
                }
            };
            entries.iter().map(pair).collect::<Result<_, _>>().map_err(|error| self.ground.at(&path, error))
        };
        let (mut rows, columns) = (keys(&table.rows, "rows")?, keys(&table.columns, "columns")?);
        for (key, label) in &mut rows {
            let Some(text) = &table.label else { break };
            let row = Entry { key: key.clone(), label: label.clone(), ..Entry::default() };
            *label = self.filled(&Scope::default().with("row", &row), text, &format!("{path}.label"))?;
        }
        self.count(rows.len().saturating_mul(columns.len()), path)?;
        Ok(Table { group: table.group.clone(), rows, columns })
    }

    /// The points of a grid in `around`.
    fn grid(
        &self,
        grid: &'a Many<BTreeMap<String, Items>>,
        around: &Scope<'a>,
        path: &str,
    ) -> Checked<Vec<Scope<'a>>> {
        let grid = Grid::of(grid, &self.written.lists, self.ground, path)?;
        grid.points(around, 0, MOST_POINTS).map_err(|count| {
            let message = format!("{count} points of a grid, expected at most {MOST_POINTS}");
            self.ground.at(path, Diagnostic::error(Code::OutOfRange, message))
        })
    }

    fn filled(&self, scope: &Scope<'_>, text: &str, path: &str) -> Checked<String> {
        scope.fill(text).map_err(|error| self.ground.at(path, error))
    }

    fn chart(&mut self, chart: &'a written::Chart, scope: &Scope<'a>, path: &str) -> Checked<Chart> {
        let mut curves = Vec::new();
        for (number, curve) in chart.curve.iter().enumerate() {
            let path = format!("{path}.curve.{number}");
            for scope in self.grid(&curve.grid, scope, &path)? {
                let points = self.points(curve, &scope, &path)?;
                let count = match &points {
                    Points::Series(_) => 1,
                    Points::Sweep(points) => points.len(),
                    Points::Theory(points) => points.len(),
                };
                self.count(count, &path)?;
                let label = self.filled(&scope, &curve.label, &format!("{path}.label"))?;
                curves.push(Curve { label, points });
                self.curves.push(path.clone());
            }
        }
        let line = |(number, line): (usize, &written::Line)| match (line.x, line.y) {
            (Some(at), None) if at.is_finite() => Ok(Reference::Vertical { label: line.label.clone(), at }),
            (None, Some(at)) if at.is_finite() => Ok(Reference::Horizontal { label: line.label.clone(), at }),
            _ => {
                Err(self
                    .conflict(&format!("{path}.line.{number}"), "a line is at one of `x` and `y`, a number"))
            }
        };
        let references = chart.line.iter().enumerate().map(line).collect::<Result<_, _>>()?;
        let axis = |axis: &written::Axis| Axis { label: axis.label.clone(), log: axis.log };
        let (x, y) = (axis(&chart.x), axis(&chart.y));
        let title = self.filled(scope, &chart.title, &format!("{path}.title"))?;
        Ok(Chart { title, x, y, style: chart.style, curves, references })
    }

    fn points(&self, curve: &'a written::Curve, scope: &Scope<'_>, path: &str) -> Checked<Points> {
        let alone = curve.over.is_empty() && curve.x.is_none();
        match (&curve.series, &curve.sweep, &curve.theory) {
            (Some(series), None, None) if alone => {
                Ok(Points::Series(self.filled(scope, series, &format!("{path}.series"))?))
            }
            (None, Some(quantity), None) => {
                let x = Some(curve.x.as_deref().unwrap_or_default());
                Ok(Points::Sweep(self.sweep_points(&curve.over, x, (quantity, "sweep"), scope, path)?))
            }
            (None, None, Some(Theory::Points(points))) if alone => {
                let finite = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
                if finite {
                    Ok(Points::Theory(points.clone()))
                } else {
                    Err(self.conflict(path, "points are numbers"))
                }
            }
            (None, None, Some(Theory::Model(name))) if alone => {
                let all = || CURVES.iter().copied().flatten();
                let found = all().find(|(model, _)| model == name);
                let Some((_, curve)) = found else {
                    let error =
                        Diagnostic::error(Code::UnknownName, format!("no model is called \"{name}\""));
                    let error = error.known(name, all().map(|(name, _)| *name));
                    return Err(self.ground.at(&format!("{path}.theory"), error));
                };
                Ok(Points::Theory(curve()))
            }
            _ => {
                Err(self
                    .conflict(path, "a curve has one of `series`, `theory`, and `sweep` with `over` and `x`"))
            }
        }
    }

    /// A quantity, and the key it stands at, at each x of a list.
    fn sweep_points(
        &self,
        over: &'a BTreeMap<String, Items>,
        x: Option<&str>,
        (quantity, key): (&str, &str),
        scope: &Scope<'_>,
        path: &str,
    ) -> Checked<Vec<(f64, String)>> {
        let (variable, list) = self.one_list(over, path)?;
        if list.len() > MOST_POINTS {
            let message = format!("{} points, expected at most {MOST_POINTS}", list.len());
            return Err(self.ground.at(path, Diagnostic::error(Code::OutOfRange, message)));
        }
        let point = |(place, entry): (usize, &Entry)| {
            let scope = scope.with(variable, entry);
            let fill = |text: &str, key: &str| self.filled(&scope, text, &format!("{path}.{key}"));
            let Some(x) = x else { return Ok((place as f64, fill(quantity, key)?)) };
            let filled = fill(x, "x")?;
            let place = filled.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                let message = format!("x is \"{filled}\" for \"{}\", expected a number", entry.key);
                self.ground.at(&format!("{path}.x"), Diagnostic::error(Code::WrongType, message))
            })?;
            Ok((place, fill(quantity, key)?))
        };
        list.iter().enumerate().map(point).collect()
    }

    /// The only variable and its list.
    fn one_list(&self, over: &'a BTreeMap<String, Items>, path: &str) -> Checked<(&'a str, &'a [Entry])> {
        let (Some((variable, items)), 1) = (over.first_key_value(), over.len()) else {
            return Err(self.conflict(path, "a sweep is over one list: over = { k = \"thresholds\" }"));
        };
        let path = format!("{path}.over.{variable}");
        Ok((variable, entries(items, &self.written.lists, self.ground, &path)?))
    }

    pub(super) fn sweeps(&mut self) -> Checked<Vec<Sweep>> {
        let mut sweeps = Vec::new();
        for (number, sweep) in self.written.sweep.iter().enumerate() {
            let path = format!("sweep.{number}");
            let written::Sweep { name, over, x, quantity, reduce } = sweep;
            if name.split('.').count() != 3 || !name.split('.').all(is_name) {
                let message = format!("a sweep \"{name}\", expected group.row.column");
                let error = Diagnostic::error(Code::OutOfRange, message);
                return Err(self.ground.at(&format!("{path}.name"), error));
            }
            let reduce = match reduce {
                written::OverSweep::Ordering => OverSweep::Ordering,
                written::OverSweep::Knee(part) if *part > 0.0 && *part <= 1.0 => OverSweep::Knee(*part),
                written::OverSweep::Knee(part) => {
                    let message = format!("a knee at {part} of the largest value, expected above 0 to 1");
                    let error = Diagnostic::error(Code::OutOfRange, message);
                    return Err(self.ground.at(&format!("{path}.reduce"), error));
                }
                written::OverSweep::RankOf(key) => OverSweep::Rank(self.place(over, key, &path)?),
            };
            let (x, none) = (x.as_deref(), Scope::default());
            let points = self.sweep_points(over, x, (quantity, "quantity"), &none, &path)?;
            self.count(points.len(), &path)?;
            sweeps.push(Sweep { name: name.clone(), points, reduce });
        }
        Ok(sweeps)
    }

    /// Where a list has the entry with this key.
    fn place(&self, over: &'a BTreeMap<String, Items>, key: &str, path: &str) -> Checked<usize> {
        let (_, list) = self.one_list(over, path)?;
        list.iter().position(|entry| entry.key == key).ok_or_else(|| {
            let error = Diagnostic::error(Code::UnknownName, format!("the list has no entry \"{key}\""));
            let error = error.known(key, list.iter().map(|entry| entry.key.as_str()));
            self.ground.at(&format!("{path}.reduce"), error)
        })
    }

    pub(super) fn parameters(&mut self, experiments: &mut Experiments) -> Checked<Vec<Parameter>> {
        let mut parameters = Vec::new();
        for (number, parameter) in self.written.parameter.iter().enumerate() {
            let path = format!("parameter.{number}");
            let watched =
                entries(&parameter.watched, &self.written.lists, self.ground, &format!("{path}.watched"))?;
            self.count(watched.len().saturating_mul(parameter.alternative.len() + 1), &path)?;
            let mut alternatives = Vec::new();
            for written::Alternative { value, set } in &parameter.alternative {
                let mut overrides = Vec::new();
                experiments.fill_changes(set, &Scope::default(), self.ground, &mut overrides)?;
                alternatives.push(Alternative { value: value.clone(), overrides });
            }
            if alternatives.is_empty() != watched.is_empty() {
                return Err(
                    self.conflict(&path, "what is watched changes with alternatives: give both or neither")
                );
            }
            parameters.push(Parameter {
                name: parameter.name.clone(),
                value: parameter.value.clone(),
                why: parameter.why.clone(),
                fitted: parameter.fitted.clone(),
                alternatives,
                watched: watched.iter().map(|entry| entry.key.clone()).collect(),
                tested: Vec::new(),
            });
        }
        Ok(parameters)
    }

    fn count(&mut self, more: usize, path: &str) -> Checked<()> {
        self.drawn = self.drawn.saturating_add(more);
        if self.drawn <= MOST_DRAWN {
            return Ok(());
        }
        let message = format!("all figures have more than {MOST_DRAWN} points and cells");
        Err(self.ground.at(path, Diagnostic::error(Code::OutOfRange, message)))
    }

    fn conflict(&self, path: &str, message: &str) -> Rejection {
        self.ground.at(path, Diagnostic::error(Code::Conflict, message))
    }
}

fn bad_key(key: &str) -> Diagnostic {
    let message = format!("the key \"{key}\" of a row or column, expected letters, digits, - and _");
    Diagnostic::error(Code::OutOfRange, message)
}
