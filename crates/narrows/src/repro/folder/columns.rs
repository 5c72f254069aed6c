//! Columns of the tables of results: which rows count, and what becomes of many values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use narrows_proto::units::Span;

use super::until::Until;
use super::written::{Among, Bound, Filter, Reduce};
use crate::results::{Results, Table, Values};
use crate::scenario::matches;
use crate::statistics::{jain, mean, percentile};

/// Values of a column, of rows that count, reduced to one number.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) table: &'static str,
    pub(super) numbers: Numbers,
    pub(super) rows: Rows,
    pub(super) first: First,
    pub(super) last: Last,
    /// The value without rows.
    pub(super) empty: Option<f64>,
}

/// Numbers of a column, row by row.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) column: String,
    pub(super) take: Take,
    /// Number in place of a missing value, also if there is no such column.
    pub(super) missing: Option<f64>,
}

/// Conversion of the values of a column to numbers.
#[derive(Debug)]
pub(super) enum Take {
    Value,
    /// They count something that goes on: the increase since the row before with the same value in this column.
    Increase(String),
    /// Excess over this column.
    Minus(String),
    /// They are names: the number each counts as.
    Named(BTreeMap<String, f64>),
}

/// Which rows count: all that every column lets through.
#[derive(Debug, Default)]
pub(super) struct Rows(pub(super) BTreeMap<String, Filter>);

/// Reduction before the rest.
#[derive(Debug)]
pub(super) enum First {
    Nothing,
    /// Rows with the same values in some columns.
    Groups {
        by: Vec<String>,
        each: Reduce,
    },
    /// Rows of one interval of the measured time. Intervals without rows are zero.
    Bins {
        length: Span,
        at: String,
        each: Reduce,
    },
}

/// Reduction of the values after that.
#[derive(Debug)]
pub(super) enum Last {
    Reduced(Reduce),
    Until(Until),
}

/// Points of a curve.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) table: &'static str,
    pub(super) x: Numbers,
    pub(super) x_times: f64,
    pub(super) x_plus: f64,
    pub(super) y: Y,
    pub(super) y_times: f64,
    pub(super) rows: Rows,
}

/// The y values of a curve.
#[derive(Debug)]
pub(super) enum Y {
    Numbers {
        of: Numbers,
        /// Added up, row by row.
        running: bool,
        joined: Option<Joined>,
    },
    /// The percentage of values that are no larger, at so many points.
    Distribution(u32),
}

/// Rows that are one point of a curve: those of one interval of x.
#[derive(Debug)]
pub(super) struct Joined {
    /// In the unit of x.
    pub(super) length: u64,
    pub(super) each: Reduce,
    /// y of intervals without rows.
    pub(super) empty: Option<f64>,
}

impl Column {
    /// The number; other quantities are `known`.
    pub(super) fn of(
        &self,
        table: &Table,
        results: &Results,
        known: impl Fn(&String) -> Option<f64>,
    ) -> Option<f64> {
        let number = self.numbers.of(table)?;
        let rows = self.rows.of(table, results);
        let present = || rows.iter().filter_map(|row| Some((*row, number(*row)?)));
        let values: Vec<f64> = match &self.first {
            First::Nothing => present().map(|(_, value)| value).collect(),
            First::Groups { by, each } => {
                let keys = by.iter().map(|by| table.column(by)).collect::<Option<Vec<_>>>()?;
                let keys = |row: usize| keys.iter().map(|keys| key(keys, row)).collect::<Option<Vec<_>>>();
                let groups = gathered(present().filter_map(|(row, value)| Some((keys(row)?, value))));
                groups.values().filter_map(|group| each.of(group)).collect()
            }
            First::Bins { length, at, each } => {
                in_bins(present(), table.column(at)?, *length, *each, results)
            }
        };
        match &self.last {
            _ if values.is_empty() && self.empty.is_some() => self.empty,
            Last::Reduced(reduce) => reduce.of(&values),
            Last::Until(until) => until.of(&values, known(&until.level)?),
        }
    }

    /// The quantities it is compared with.
    pub(super) fn others(&self) -> &[String] {
        match &self.last {
            Last::Reduced(_) => &[],
            Last::Until(until) => std::slice::from_ref(&until.level),
        }
    }
}

impl Curve {
    pub(super) fn of(&self, table: &Table, results: &Results) -> Vec<(f64, f64)> {
        let Some(x) = self.x.of(table) else { return Vec::new() };
        let rows = self.rows.of(table, results).into_iter();
        let points = match &self.y {
            Y::Distribution(points) => distribution(rows.filter_map(x).collect(), *points),
            Y::Numbers { of, running, joined } => {
                let Some(y) = of.of(table) else { return Vec::new() };
                let mut sum = 0.0;
                let points = rows.filter_map(|row| {
                    let y = y(row)?;
                    sum += y;
                    Some((row, if *running { sum } else { y }))
                });
                match joined {
                    None => points.filter_map(|(row, y)| Some((x(row)?, y))).collect(),
                    Some(joined) => {
                        let Some(xs) = table.column(&self.x.column) else { return Vec::new() };
                        let shown = joined.empty.is_some().then(|| self.shown(results));
                        joined.of(points.filter_map(|(row, y)| Some((key(xs, row)?, y))), shown)
                    }
                }
            }
        };
        points.into_iter().map(|(x, y)| (x * self.x_times + self.x_plus, y * self.y_times)).collect()
    }

    /// The x that is shown: what the filter of x lets through, or else the measured time; no longer than the run.
    fn shown(&self, results: &Results) -> Range<u64> {
        let measured = Filter::Between { from: Some(Bound::Measured), below: Some(Bound::MeasuredEnd) };
        let filter =
            self.rows.0.get(&self.x.column).filter(|filter| matches!(filter, Filter::Between { .. }));
        let (from, below) = bounds(filter.unwrap_or(&measured), results);
        from.max(0.0).ceil() as u64..results.ended.as_ps().min(below.ceil() as u64)
    }
}

impl Joined {
    /// Points in the order of x; `shown` has those without rows as well.
    fn of(&self, rows: impl Iterator<Item = (u64, f64)>, shown: Option<Range<u64>>) -> Vec<(f64, f64)> {
        let joined = gathered(rows.map(|(x, y)| (x / self.length, y)));
        let mut points: BTreeMap<u64, f64> = BTreeMap::new();
        if let Some((shown, empty)) = shown.zip(self.empty) {
            let begin = shown.start.div_ceil(self.length)..shown.end.div_ceil(self.length);
            points.extend(begin.map(|interval| (interval, empty)));
        }
        points.extend(joined.iter().filter_map(|(interval, ys)| Some((*interval, self.each.of(ys)?))));
        points.into_iter().map(|(interval, y)| ((interval * self.length) as f64, y)).collect()
    }
}

/// Of some values: which of them these percentages do not exceed.
fn distribution(mut values: Vec<f64>, points: u32) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let parts = (1..=points).map(|point| f64::from(point) / f64::from(points));
    parts.filter_map(|part| Some((percentile(&values, part)?, 100.0 * part))).collect()
}

/// The number of a row, if it has one.
type OfRow<'a> = Box<dyn Fn(usize) -> Option<f64> + 'a>;

impl Numbers {
    /// None if there is no such column.
    fn of<'a>(&'a self, table: &'a Table) -> Option<OfRow<'a>> {
        let Some(missing) = self.missing else { return self.present(table) };
        let present = self.present(table);
        Some(Box::new(move |row| present.as_ref().and_then(|present| present(row)).or(Some(missing))))
    }

    fn present<'a>(&'a self, table: &'a Table) -> Option<OfRow<'a>> {
        let values = table.column(&self.column)?;
        Some(match &self.take {
            Take::Value => Box::new(move |row| number(values, row)),
            Take::Increase(of) => {
                let increases = increases(values, table.column(of)?, table.rows());
                Box::new(move |row| increases[row])
            }
            Take::Minus(other) => {
                let other = table.column(other)?;
                Box::new(move |row| Some(number(values, row)? - number(other, row)?))
            }
            Take::Named(numbers) => {
                let numbers: Vec<_> = names(values).iter().map(|name| numbers.get(name).copied()).collect();
                Box::new(move |row| numbers[key(values, row)? as usize])
            }
        })
    }
}

/// Increase of a running count since the row before with the same key. It begins at zero, and does so again where it falls.
fn increases(values: &Values, keys: &Values, rows: usize) -> Vec<Option<f64>> {
    let mut before: BTreeMap<u64, f64> = BTreeMap::new();
    let mut of_row = |row: usize| {
        let value = number(values, row)?;
        let before = before.insert(key(keys, row)?, value).filter(|before| *before <= value);
        Some(value - before.unwrap_or(0.0))
    };
    (0..rows).map(&mut of_row).collect()
}

fn gathered<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, Vec<f64>> {
    let mut groups: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    values.for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// One value for each whole interval of the measured time, as far as the run went.
fn in_bins(
    values: impl Iterator<Item = (usize, f64)>,
    times: &Values,
    length: Span,
    each: Reduce,
    results: &Results,
) -> Vec<f64> {
    let start = results.plan.measured.start.as_ps();
    let length = length.as_ps().max(1);
    let count = results.outline().measured_for().as_ps() / length;
    let bin = |row: usize| Some(key(times, row)?.checked_sub(start)? / length).filter(|bin| *bin < count);
    let bins = gathered(values.filter_map(|(row, value)| Some((bin(row)?, value))));
    (0..count).map(|bin| bins.get(&bin).and_then(|values| each.of(values)).unwrap_or(0.0)).collect()
}

impl Rows {
    /// Numbers of the rows that count.
    fn of(&self, table: &Table, results: &Results) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..table.rows()).collect();
        for (column, filter) in &self.0 {
            match table.column(column) {
                Some(values) => rows.retain(passes(filter, values, results)),
                None => rows.clear(),
            }
        }
        rows
    }
}

/// Whether a row counts as far as this column is concerned.
fn passes<'a>(filter: &'a Filter, values: &'a Values, results: &Results) -> Box<dyn Fn(&usize) -> bool + 'a> {
    match filter {
        Filter::Names(wanted) => {
            let is_wanted = |name: &String| wanted.iter().any(|pattern| matches(pattern, name));
            let wanted: Vec<bool> = names(values).iter().map(is_wanted).collect();
            Box::new(move |row| key(values, *row).is_some_and(|name| wanted[name as usize]))
        }
        Filter::Flag(wanted) => Box::new(move |row| key(values, *row) == Some(u64::from(*wanted))),
        Filter::Number(wanted) => Box::new(move |row| number(values, *row) == Some(*wanted)),
        Filter::Between { below, .. } => {
            let (from, bound) = bounds(filter, results);
            let within = move |value: f64| value >= from && (value < bound || below.is_none());
            Box::new(move |row| number(values, *row).is_some_and(within))
        }
        Filter::Among(among) => among.passes(values, results),
    }
}

impl Among {
    /// Whether the value of a row stands there. Names are told apart by their letters: every table has its own numbers of them.
    fn passes<'a>(&self, values: &'a Values, results: &Results) -> Box<dyn Fn(&usize) -> bool + 'a> {
        let table = results.table(&self.table);
        let there = table.as_ref().and_then(|table| Some((table.column(&self.column)?, table)));
        let Some((column, table)) = there else { return Box::new(|_| false) };
        let rows = Rows(self.rows.clone()).of(table, results);
        let mut there: BTreeSet<u64> = rows.into_iter().filter_map(|row| key(column, row)).collect();
        let others = names(column);
        if !others.is_empty() {
            let common: BTreeSet<&String> = there.iter().map(|name| &others[*name as usize]).collect();
            let own = (0..).zip(names(values)).filter(|(_, name)| common.contains(name));
            there = own.map(|(number, _)| number).collect();
        }
        Box::new(move |row| key(values, *row).is_some_and(|key| there.contains(&key)))
    }
}

/// The bounds of a filter; infinite where it has none.
fn bounds(filter: &Filter, results: &Results) -> (f64, f64) {
    let bound = |bound: &Bound| match bound {
        Bound::Number(number) => *number,
        Bound::Measured => results.plan.measured.start.as_ps() as f64,
        Bound::MeasuredEnd => results.plan.measured.end.as_ps() as f64,
        Bound::Time(time) => time.as_ps() as f64,
    };
    let (from, below) = match filter {
        Filter::Between { from, below } => (from.as_ref(), below.as_ref()),
        _ => (None, None),
    };
    (from.map_or(f64::NEG_INFINITY, bound), below.map_or(f64::INFINITY, bound))
}

/// The names that values of a column are numbers of.
fn names(values: &Values) -> &[String] {
    match values {
        Values::Names(_, names) | Values::MaybeNames(_, names) => names,
        _ => &[],
    }
}

/// A value as a number, of a name its number, by which names can be counted; none if it is missing.
fn number(values: &Values, row: usize) -> Option<f64> {
    match values {
        Values::Integers(values) => Some(values[row] as f64),
        Values::MaybeIntegers(values) => values[row].map(|value| value as f64),
        Values::Reals(values) => Some(values[row]),
        Values::MaybeReals(values) => values[row],
        Values::Flags(values) => Some(f64::from(u8::from(values[row]))),
        Values::Names(values, _) => Some(values[row].into()),
        Values::MaybeNames(values, _) => values[row].map(f64::from),
    }
}

/// A value that rows may have in common; none if it is missing or a real number.
fn key(values: &Values, row: usize) -> Option<u64> {
    match values {
        Values::Integers(values) => Some(values[row]),
        Values::MaybeIntegers(values) => values[row],
        Values::Flags(values) => Some(values[row].into()),
        Values::Names(values, _) => Some(values[row].into()),
        Values::MaybeNames(values, _) => values[row].map(u64::from),
        Values::Reals(_) | Values::MaybeReals(_) => None,
    }
}

impl Reduce {
    /// None if there is nothing to take it of. The sum of nothing is zero.
    pub(super) fn of(self, values: &[f64]) -> Option<f64> {
        let deviation = |freedom: usize| {
            let middle = mean(values)?;
            let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
            Some(((squares / freedom.max(1) as f64).sqrt(), middle))
        };
        let part = |(deviation, middle): (f64, f64)| (middle != 0.0).then(|| deviation / middle);
        match self {
            Self::Mean => mean(values),
            Self::Sum => Some(values.iter().sum()),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Count => Some(values.len() as f64),
            Self::Distinct => {
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                sorted.dedup();
                Some(sorted.len() as f64)
            }
            Self::Peak => {
                let sums = values.iter().scan(0.0, |sum, value| {
                    *sum += value;
                    Some(*sum)
                });
                sums.reduce(f64::max)
            }
            Self::Deviation => deviation(values.len()).map(|(deviation, _)| deviation),
            Self::Variation => deviation(values.len()).and_then(part),
            Self::SampleVariation => deviation(values.len().saturating_sub(1)).and_then(part),
            Self::Jain => jain(values),
            Self::Percentile(part) => {
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                percentile(&sorted, part)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_become_one() {
        let values = [4.0, 1.0, 3.0, 2.0];
        let of = |reduce: Reduce| reduce.of(&values);
        assert_eq!([of(Reduce::Mean), of(Reduce::Sum), of(Reduce::Max)], [2.5, 10.0, 4.0].map(Some));
        assert_eq!([of(Reduce::Min), of(Reduce::Count)], [1.0, 4.0].map(Some));
        assert_eq!([of(Reduce::Percentile(0.5)), of(Reduce::Percentile(0.99))], [2.0, 4.0].map(Some));
        assert_eq!(of(Reduce::Deviation), Some(1.25_f64.sqrt()));
        assert_eq!(of(Reduce::Variation), Some(1.25_f64.sqrt() / 2.5));
        assert_eq!(of(Reduce::SampleVariation), Some((5.0_f64 / 3.0).sqrt() / 2.5));
        assert_eq!(of(Reduce::Jain), Some(100.0 / 120.0));
        assert_eq!(Reduce::Distinct.of(&[1.0, 2.0, 1.0]), Some(2.0));
        assert_eq!(Reduce::Peak.of(&[1.0, 1.0, -1.0, 1.0, -1.0]), Some(2.0));
        assert_eq!(Reduce::Peak.of(&[-1.0, -1.0]), Some(-1.0));
    }

    /// Two switches; the second event of `up` has no value.
    fn events() -> Table {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let column = |name: &'static str, values| crate::results::Column { name: name.into(), values };
        let columns = vec![
            column("at_ps", Values::Integers(vec![1, 2, 3, 14, 15])),
            column("until_ps", Values::MaybeIntegers(vec![Some(4), None, Some(5), Some(20), Some(16)])),
            column("node", Values::Names(vec![0, 0, 1, 0, 1], names(&["tor", "spine"]))),
            column("event", Values::Names(vec![0, 0, 0, 1, 2], names(&["up", "down", "other"]))),
        ];
        Table { name: "events", columns }
    }

    fn numbers(column: &str, take: Take, missing: Option<f64>) -> Vec<Option<f64>> {
        let numbers = Numbers { column: column.to_owned(), take, missing };
        let table = events();
        numbers.of(&table).map(|number| (0..table.rows()).map(number).collect()).unwrap_or_default()
    }

    #[test]
    fn rows_have_differences_of_columns_and_numbers_of_names() {
        let minus = || Take::Minus("at_ps".into());
        assert_eq!(numbers("until_ps", minus(), None), [Some(3.0), None, Some(2.0), Some(6.0), Some(1.0)]);
        assert_eq!(numbers("until_ps", minus(), Some(9.0))[1], Some(9.0));
        let named = Take::Named([("up".into(), 1.0), ("down".into(), -1.0)].into());
        assert_eq!(numbers("event", named, None), [Some(1.0), Some(1.0), Some(1.0), Some(-1.0), None]);
        assert_eq!(numbers("event", Take::Value, None).len(), 5);
    }

    #[test]
    fn a_column_that_results_lack_is_missing_in_every_row() {
        assert_eq!(numbers("marks", Take::Value, None), []);
        assert_eq!(numbers("marks", Take::Value, Some(0.0)), [Some(0.0); 5]);
    }

    #[test]
    fn a_distribution_ends_with_all_of_it() {
        let points = distribution(vec![8.0, 1.0, 4.0, 2.0], 400);
        assert_eq!((points[0], points[99], points[399]), ((1.0, 0.25), (1.0, 25.0), (8.0, 100.0)));
        assert!(distribution(Vec::new(), 400).is_empty());
    }

    #[test]
    fn a_count_that_goes_on_grows_by_what_was_added_since_the_row_before_of_its_key() {
        let values =
            Values::MaybeIntegers([5, 70, 8, 90, 3, 2].map(Some).into_iter().chain([None]).collect());
        let keys = Values::Integers(vec![1, 2, 1, 2, 3, 1, 1]);
        let expected = [5.0, 70.0, 3.0, 20.0, 3.0, 2.0].map(Some);
        assert_eq!(increases(&values, &keys, 7), expected.into_iter().chain([None]).collect::<Vec<_>>());
    }

    #[test]
    fn rows_of_one_interval_are_one_point_and_gaps_are_filled_where_curves_are_shown() {
        let rows = || [(31, 4.0), (9, 1.0), (12, 2.0), (19, 3.0)].into_iter();
        let joined = |length, empty| Joined { length, each: Reduce::Sum, empty };
        assert_eq!(joined(10, None).of(rows(), None), [(0.0, 1.0), (10.0, 5.0), (30.0, 4.0)]);
        let filled = joined(10, Some(0.0)).of(rows().skip(2), Some(5..41));
        assert_eq!(filled, [(10.0, 5.0), (20.0, 0.0), (30.0, 0.0), (40.0, 0.0)]);
        let same = joined(1, None).of([(7, 1.0), (7, 2.0), (8, 1.0)].into_iter(), None);
        assert_eq!(same, [(7.0, 3.0), (8.0, 1.0)]);
    }

    #[test]
    fn of_nothing_there_are_a_count_and_a_sum() {
        let all = [Reduce::Mean, Reduce::Max, Reduce::Variation, Reduce::Jain, Reduce::Percentile(0.5)];
        assert_eq!(all.map(|reduce| reduce.of(&[])), [None; 5]);
        assert_eq!(
            [Reduce::Sum, Reduce::Count, Reduce::Distinct].map(|reduce| reduce.of(&[])),
            [Some(0.0); 3]
        );
        assert_eq!(Reduce::Peak.of(&[]), None);
    }
}
