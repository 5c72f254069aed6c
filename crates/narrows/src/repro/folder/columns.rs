//! Columns of the tables of results: which rows count, and what becomes of many values.

use std::collections::BTreeMap;
use std::ops::Range;

use narrows_proto::units::Span;

use super::written::{Bound, Filter, Reduce};
use crate::results::{Results, Table, Values};
use crate::statistics::{jain, mean, percentile};

/// Values of a column, of rows that count, reduced to one number.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) table: &'static str,
    pub(super) numbers: Numbers,
    pub(super) rows: Rows,
    /// What a missing value counts as.
    pub(super) missing: Option<f64>,
    pub(super) first: First,
    pub(super) reduce: Reduce,
    /// The value without rows.
    pub(super) empty: Option<f64>,
}

/// A column that has numbers.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) column: String,
    /// Its values count something that goes on: what was added since the row before with the same value in this column.
    pub(super) increase: Option<String>,
}

/// Which rows count: all that every column lets through.
#[derive(Debug, Default)]
pub(super) struct Rows(pub(super) BTreeMap<String, Filter>);

/// What is reduced before the rest is.
#[derive(Debug)]
pub(super) enum First {
    Nothing,
    /// Rows with the same value in a column.
    Groups {
        by: String,
        each: Reduce,
    },
    /// Rows of one interval of the measured time. Intervals without rows are zero.
    Bins {
        length: Span,
        at: String,
        each: Reduce,
    },
}

/// Points of a curve.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) table: &'static str,
    pub(super) x: String,
    pub(super) x_times: f64,
    pub(super) x_plus: f64,
    pub(super) y: Numbers,
    pub(super) y_times: f64,
    pub(super) joined: Option<Joined>,
    pub(super) rows: Rows,
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
    pub(super) fn of(&self, table: &Table, results: &Results) -> Option<f64> {
        let number = self.numbers.of(table)?;
        let rows = self.rows.of(table, results);
        let present = || rows.iter().filter_map(|row| Some((*row, number(*row).or(self.missing)?)));
        let values: Vec<f64> = match &self.first {
            First::Nothing => present().map(|(_, value)| value).collect(),
            First::Groups { by, each } => {
                let keys = table.column(by)?;
                let groups = gathered(present().filter_map(|(row, value)| Some((key(keys, row)?, value))));
                groups.values().filter_map(|group| each.of(group)).collect()
            }
            First::Bins { length, at, each } => {
                in_bins(present(), table.column(at)?, *length, *each, results)
            }
        };
        if values.is_empty() && self.empty.is_some() { self.empty } else { self.reduce.of(&values) }
    }
}

impl Curve {
    pub(super) fn of(&self, table: &Table, results: &Results) -> Vec<(f64, f64)> {
        let (Some(xs), Some(y)) = (table.column(&self.x), self.y.of(table)) else { return Vec::new() };
        let rows = self.rows.of(table, results).into_iter();
        let points: Vec<(f64, f64)> = match &self.joined {
            None => rows.filter_map(|row| Some((number(xs, row)?, y(row)?))).collect(),
            Some(joined) => {
                let shown = joined.empty.is_some().then(|| self.shown(results));
                joined.of(rows.filter_map(|row| Some((key(xs, row)?, y(row)?))), shown)
            }
        };
        points.into_iter().map(|(x, y)| (x * self.x_times + self.x_plus, y * self.y_times)).collect()
    }

    /// The x that is shown: what the filter of x lets through, or else the measured time; no longer than the run.
    fn shown(&self, results: &Results) -> Range<u64> {
        let measured = Filter::Between { from: Some(Bound::Measured), below: Some(Bound::MeasuredEnd) };
        let filter = self.rows.0.get(&self.x).filter(|filter| matches!(filter, Filter::Between { .. }));
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

impl Numbers {
    /// The number of a row; none if there is no such column.
    fn of<'a>(&self, table: &'a Table) -> Option<Box<dyn Fn(usize) -> Option<f64> + 'a>> {
        let values = table.column(&self.column)?;
        let Some(of) = &self.increase else { return Some(Box::new(move |row| number(values, row))) };
        let increases = increases(values, table.column(of)?, table.rows());
        Some(Box::new(move |row| increases[row]))
    }
}

/// What a count that goes on grew by since the row before with the same key. It begins at zero, and does so again where it falls.
fn increases(values: &Values, keys: &Values, rows: usize) -> Vec<Option<f64>> {
    let mut before: BTreeMap<u64, f64> = BTreeMap::new();
    let mut of_row = |row: usize| {
        let value = number(values, row)?;
        let before = before.insert(key(keys, row)?, value).filter(|before| *before <= value);
        Some(value - before.unwrap_or(0.0))
    };
    (0..rows).map(&mut of_row).collect()
}

fn gathered(values: impl Iterator<Item = (u64, f64)>) -> BTreeMap<u64, Vec<f64>> {
    let mut groups: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
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
            let names = match values {
                Values::Names(_, names) | Values::MaybeNames(_, names) => names.as_slice(),
                _ => &[],
            };
            let wanted: Vec<bool> = names.iter().map(|name| wanted.contains(name)).collect();
            Box::new(move |row| key(values, *row).is_some_and(|name| wanted[name as usize]))
        }
        Filter::Flag(wanted) => Box::new(move |row| key(values, *row) == Some(u64::from(*wanted))),
        Filter::Number(wanted) => Box::new(move |row| number(values, *row) == Some(*wanted)),
        Filter::Between { below, .. } => {
            let (from, bound) = bounds(filter, results);
            let within = move |value: f64| value >= from && (value < bound || below.is_none());
            Box::new(move |row| number(values, *row).is_some_and(within))
        }
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

/// A value as a number; none if it is missing or a name.
fn number(values: &Values, row: usize) -> Option<f64> {
    match values {
        Values::Integers(values) => Some(values[row] as f64),
        Values::MaybeIntegers(values) => values[row].map(|value| value as f64),
        Values::Reals(values) => Some(values[row]),
        Values::MaybeReals(values) => values[row],
        Values::Flags(values) => Some(f64::from(u8::from(values[row]))),
        Values::Names(..) | Values::MaybeNames(..) => None,
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
        assert_eq!([Reduce::Sum, Reduce::Count].map(|reduce| reduce.of(&[])), [Some(0.0); 2]);
    }
}
