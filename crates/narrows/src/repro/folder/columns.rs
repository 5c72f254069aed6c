//! Columns of the tables of results: which rows count, and what becomes of many values.

use std::collections::BTreeMap;

use narrows_proto::units::Span;

use super::written::{Bound, Filter, Reduce};
use crate::results::{Results, Table, Values};
use crate::statistics::{jain, mean, percentile};

/// Values of a column, of rows that count, reduced to one number.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) table: &'static str,
    pub(super) column: String,
    pub(super) rows: Rows,
    /// What a missing value counts as.
    pub(super) missing: Option<f64>,
    pub(super) first: First,
    pub(super) reduce: Reduce,
    /// The value without rows.
    pub(super) empty: Option<f64>,
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
    pub(super) x: (String, f64),
    pub(super) y: (String, f64),
    pub(super) rows: Rows,
}

impl Column {
    pub(super) fn of(&self, table: &Table, results: &Results) -> Option<f64> {
        let values = table.column(&self.column)?;
        let rows = self.rows.of(table, results);
        let value = |row: usize| number(values, row).or(self.missing);
        let present = || rows.iter().filter_map(|row| Some((*row, value(*row)?)));
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
        let (Some(xs), Some(ys)) = (table.column(&self.x.0), table.column(&self.y.0)) else {
            return Vec::new();
        };
        let point = |row: usize| Some((number(xs, row)? * self.x.1, number(ys, row)? * self.y.1));
        self.rows.of(table, results).into_iter().filter_map(point).collect()
    }
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
        Filter::Between { from, below } => {
            let bound = |bound: &Bound| match bound {
                Bound::Number(number) => *number,
                Bound::Measured => results.plan.measured.start.as_ps() as f64,
                Bound::Time(time) => time.as_ps() as f64,
            };
            let from = from.as_ref().map_or(f64::NEG_INFINITY, bound);
            let below = below.as_ref().map(bound);
            let within = move |value: f64| value >= from && below.is_none_or(|below| value < below);
            Box::new(move |row| number(values, *row).is_some_and(within))
        }
    }
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
    fn of_nothing_there_are_a_count_and_a_sum() {
        let all = [Reduce::Mean, Reduce::Max, Reduce::Variation, Reduce::Jain, Reduce::Percentile(0.5)];
        assert_eq!(all.map(|reduce| reduce.of(&[])), [None; 5]);
        assert_eq!([Reduce::Sum, Reduce::Count].map(|reduce| reduce.of(&[])), [Some(0.0); 2]);
    }
}
