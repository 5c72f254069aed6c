//! Quantities of a folder: of what they are taken, what follows from others, and what they can be.

use std::collections::BTreeMap;

use super::columns::Column;
use super::written::Per;
use crate::bounds::Bounds;
use crate::metrics;
use crate::results::Results;

#[derive(Debug)]
pub(super) struct Quantity {
    pub(super) name: String,
    pub(super) of: Of,
    pub(super) per: Option<Per>,
    pub(super) times: Option<f64>,
    pub(super) plus: Option<f64>,
    pub(super) at_least: Option<f64>,
    /// Not if only others follow from it.
    pub(super) keep: bool,
}

#[derive(Debug)]
pub(super) enum Of {
    Metric(String),
    Column(Column),
    Other(String),
    Ratio([String; 2]),
    /// Of a part to the whole.
    Fraction([String; 2]),
    Difference([String; 2]),
    Sum(Vec<String>),
}

impl Quantity {
    pub(super) fn finished(&self, value: f64, results: &Results) -> Option<f64> {
        let seconds = match self.per {
            None => None,
            Some(Per::MeasuredSecond) => Some(results.outline().measured_for().as_secs_f64()),
            Some(Per::Second) => Some(results.ended.as_secs_f64()),
        };
        if seconds == Some(0.0) {
            return None;
        }
        let value = seconds.map_or(value, |seconds| value / seconds);
        let value = self.times.map_or(value, |times| value * times);
        let value = self.plus.map_or(value, |plus| value + plus);
        Some(self.at_least.map_or(value, |least| value.max(least)))
    }

    /// The quantities it follows from.
    pub(super) fn others(&self) -> &[String] {
        match &self.of {
            Of::Metric(_) => &[],
            Of::Column(column) => column.others(),
            Of::Other(other) => std::slice::from_ref(other),
            Of::Ratio(both) | Of::Fraction(both) | Of::Difference(both) => both,
            Of::Sum(all) => all,
        }
    }

    /// The least and the most that it can be; bounds of the others are known.
    fn bounds(&self, of: impl Fn(&String) -> Bounds) -> Bounds {
        let taken = match &self.of {
            Of::Metric(name) => metrics::bounds(name),
            Of::Column(column) => column.bounds(),
            Of::Other(other) => of(other),
            Of::Ratio([a, b]) => of(a).over(of(b)),
            Of::Fraction(_) => Bounds::FRACTION,
            Of::Difference([a, b]) => of(a).minus(of(b)),
            Of::Sum(all) => all.iter().map(of).reduce(Bounds::and).unwrap_or(Bounds::NONE),
        };
        let per = if self.per.is_some() { taken.scaled() } else { taken };
        let changed = per.times(self.times.unwrap_or(1.0)).plus(self.plus.unwrap_or(0.0));
        self.at_least.map_or(changed, |least| changed.at_least(least))
    }
}

/// Of these quantities, each behind those that it follows from, and of those of a model.
pub(super) fn bounds_of(of_model: &[&str], quantities: &[Quantity]) -> BTreeMap<String, Bounds> {
    let of_model = of_model.iter().map(|name| ((*name).to_owned(), Bounds::NOT_NEGATIVE));
    let mut all: BTreeMap<String, Bounds> = of_model.collect();
    for quantity in quantities {
        let bounds = quantity.bounds(|other| all.get(other).copied().unwrap_or(Bounds::NONE));
        all.insert(quantity.name.clone(), bounds);
    }
    all
}
