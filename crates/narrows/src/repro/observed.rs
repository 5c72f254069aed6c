//! Measurements of a paper over seeds: the one place where its quantities become estimates.

use std::collections::BTreeMap;

use super::name::experiment_of;
use super::{Experiment, Paper, Sweep};
use crate::bounds::Bounds;
use crate::statistics::{Estimate, estimate, estimate_ratio, mean};

/// Number of a parameter and of its alternative; none if everything is as chosen.
pub(super) type Alternative = Option<(usize, usize)>;

/// By parameter and alternative, and by quantity: a value for each seed.
pub(super) type Samples = BTreeMap<(Alternative, String), Vec<Option<f64>>>;

/// Measurements, and the definitions of their quantities.
pub(super) struct Observed<'a> {
    samples: &'a Samples,
    experiments: BTreeMap<&'a str, &'a Experiment>,
    sweeps: BTreeMap<&'a str, &'a Sweep>,
}

impl<'a> Observed<'a> {
    pub(super) fn new(paper: &'a Paper, samples: &'a Samples) -> Self {
        Self {
            samples,
            experiments: paper.experiments.iter().map(|each| (each.name.as_str(), each)).collect(),
            sweeps: paper.sweeps.iter().map(|each| (each.name.as_str(), each)).collect(),
        }
    }

    /// The least and the most that a quantity can be, by its definition.
    fn bounds(&self, quantity: &str) -> Bounds {
        let of_experiment = || {
            let measure = &self.experiments.get(experiment_of(quantity))?.measure;
            measure.bounds(quantity.rsplit_once('.')?.1)
        };
        let of_sweep = self.sweeps.get(quantity).map(|sweep| sweep.bounds());
        of_sweep.or_else(of_experiment).unwrap_or(Bounds::NONE)
    }

    /// Something was measured with another value of the parameter of this number.
    pub(super) fn varies(&self, parameter: usize) -> bool {
        self.samples.keys().any(|(alternative, _)| alternative.is_some_and(|(own, _)| own == parameter))
    }

    /// The values of a quantity, one for each seed.
    fn values(&self, alternative: Alternative, quantity: &str) -> &'a [Option<f64>] {
        self.samples.get(&(alternative, quantity.to_owned())).map_or(&[][..], Vec::as_slice)
    }

    /// A quantity over seeds. Those that gave no value are left out.
    pub(super) fn estimate(&self, alternative: Alternative, quantity: &str) -> Option<Estimate> {
        self.estimate_of_first(alternative, quantity, usize::MAX)
    }

    /// The same over so many seeds.
    pub(super) fn estimate_of_first(
        &self,
        alternative: Alternative,
        quantity: &str,
        seeds: usize,
    ) -> Option<Estimate> {
        let values = self.values(alternative, quantity).iter().take(seeds);
        let found = estimate(&values.copied().flatten().collect::<Vec<_>>())?;
        Some(found.within(self.bounds(quantity)))
    }

    /// Ratio of two quantities, seed by seed; with zeros among the values, of the arithmetic means.
    pub(super) fn ratio(&self, quantity: (Alternative, &str), over: (Alternative, &str)) -> Option<Estimate> {
        let [values, others] =
            [quantity, over].map(|(alternative, quantity)| self.values(alternative, quantity));
        let pairs: Vec<_> =
            values.iter().zip(others).filter_map(|(value, other)| Some(((*value)?, (*other)?))).collect();
        let of_means = || {
            let (values, others): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let found = estimate(&[mean(&values)? / mean(&others)?])?;
            Some(Estimate { samples: pairs.len(), ..found })
        };
        estimate_ratio(&pairs).or_else(of_means)
    }
}

/// For each seed the reduction of a sweep; none if a point of it is missing.
pub(super) fn over_sweep(sweep: &Sweep, samples: &Samples) -> Vec<Option<f64>> {
    let of = |quantity: &String| samples.get(&(None, quantity.clone())).map_or(&[][..], Vec::as_slice);
    let points: Vec<_> = sweep.points.iter().map(|(x, quantity)| (*x, of(quantity))).collect();
    let seeds = points.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
    let at = |seed: usize| {
        let values = points.iter().map(|(x, values)| Some((*x, values[seed]?))).collect::<Option<Vec<_>>>();
        sweep.reduce.of(&values?)
    };
    (0..seeds).map(at).collect()
}
