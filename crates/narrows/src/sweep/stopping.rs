//! Sequential stopping: how many seeds are enough.
//!
//! The number of seeds of a point is the smallest, from the number it begins with on, for which the interval is narrow enough.
//! It is decided in the order of seeds, so it does not depend on which run ended first. Looking again and again makes
//! intervals a little too narrow: stopping favors samples that happen to lie close together.
//!
//! A metric that is zero in one of the runs has no interval ([`crate::statistics::estimate`]): such a point gets the most seeds.

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::metrics::estimate;
use crate::statistics::{Estimate, FEWEST};

/// A point gets more seeds until a metric is known well enough.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The metric, by the name it has in `run.json`: `web.p99_slowdown`.
    #[serde(deserialize_with = "crate::metrics::read_name")]
    pub metric: String,
    /// Half the width of the 95 % confidence interval of its (geometric) mean, as a fraction of that mean: enough if no wider
    /// than this.
    pub half_width: f64,
    /// Enough in any case after so many seeds.
    pub most: u32,
}

impl Until {
    /// Refuses rules that make no sense for points that begin with so many seeds.
    pub(super) fn check(&self, seeds: u32) -> Checked<()> {
        let problem = if !(self.half_width > 0.0 && self.half_width.is_finite()) {
            format!("half_width = {}, expected a number above 0", self.half_width)
        } else if (self.most as usize) < FEWEST {
            format!("most = {}, expected at least {FEWEST}: fewer runs have no interval", self.most)
        } else if self.most < seeds {
            format!("most = {}, expected no fewer than seeds = {seeds}", self.most)
        } else {
            return Ok(());
        };
        Err(Diagnostic::error(Code::OutOfRange, problem).into())
    }

    /// Number of the seeds with known values that are enough, at least `first`; none if all are not. A run in which
    /// there was nothing to take the metric of has no value.
    pub fn enough(&self, first: u32, values: &[Option<f64>]) -> Option<u32> {
        let narrow = |Estimate { mean, interval, .. }: Estimate| {
            interval.is_some_and(|(low, high)| (high - low) / 2.0 <= self.half_width * mean.abs())
        };
        let known = values.len() as u32;
        (first..=known.min(self.most)).find(|seeds| {
            let values: Vec<_> = values[..*seeds as usize].iter().flatten().copied().collect();
            *seeds == self.most || estimate(&self.metric, &values).is_some_and(narrow)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(half_width: f64, most: u32) -> Until {
        Until { metric: "a.b".into(), half_width, most }
    }

    #[test]
    fn the_smallest_number_of_seeds_that_satisfies_the_rule_is_enough() {
        let values = [10.0, 12.0, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0].map(Some);
        let enough = |count: usize| until(0.05, 20).enough(1, &values[..count]);
        assert_eq!([1, 2, 3, 4].map(enough), [None; 4]);
        let first = enough(8).unwrap();
        assert_eq!(enough(first as usize), Some(first), "later seeds do not change it");
    }

    #[test]
    fn the_most_seeds_are_always_enough() {
        assert_eq!(until(0.01, 4).enough(3, &[Some(1.0), Some(9.0), Some(2.0)]), None);
        assert_eq!(until(0.01, 4).enough(3, &[Some(1.0), Some(9.0), Some(2.0), None]), Some(4));
    }

    #[test]
    fn runs_without_a_value_do_not_count() {
        assert_eq!(until(0.5, 9).enough(3, &[None, Some(1.0), Some(1.0)]), None);
        assert_eq!(until(0.5, 9).enough(3, &[None, Some(1.0), Some(1.0), Some(1.0)]), Some(4));
    }

    #[test]
    fn a_metric_that_is_zero_in_a_run_is_never_known_well_enough() {
        let values = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(Some);
        assert_eq!(until(0.5, 6).enough(3, &values[..5]), None);
        assert_eq!(until(0.5, 6).enough(3, &values), Some(6));
        assert_eq!(until(0.5, 6).enough(3, &[Some(0.0); 5]), None);
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        let bad = [(f64::NAN, 9, 3), (0.0, 9, 3), (0.1, 2, 2), (0.1, 3, 4)];
        assert!(bad.into_iter().all(|(half, most, seeds)| until(half, most).check(seeds).is_err()));
        assert!(until(0.1, 3).check(3).is_ok());
        assert!(until(0.1, 9).check(1).is_ok(), "it goes on to three");
    }
}
