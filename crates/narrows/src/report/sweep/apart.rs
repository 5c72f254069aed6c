//! Which settings of an axis their runs tell apart: every one compared with every other, all comparisons together at 95 %.
//!
//! Two settings are compared by the ratio of their runs with the same seed ([`estimate_ratio_among`]), which takes what a seed
//! does to both out of the comparison. They are told apart if the interval of the ratio excludes 1. The more comparisons a
//! line has, the wider their intervals (Bonferroni), so that with nothing to find only one line in twenty finds something.
//!
//! There is no comparison of settings with fewer than three seeds in common, nor where a run has 0, which has no ratio.

use std::cmp::Ordering;

use crate::statistics::{Estimate, FEWEST, estimate_ratio_among};

/// Comparisons of the settings of an axis.
#[derive(Debug)]
pub(super) struct Apart {
    settings: usize,
    /// Of each pair of settings, the first number the smaller one: the ratio of the second to the first.
    ratios: Vec<Option<Estimate>>,
    /// Number of pairs that were compared.
    pub(super) comparisons: usize,
}

impl Apart {
    /// Compares settings, each with its seeds and what was measured with them.
    pub(super) fn of(settings: &[Vec<(u64, f64)>]) -> Self {
        let number = settings.len();
        let pairs = (0..number).flat_map(|one| (one + 1..number).map(move |other| (one, other)));
        let pairs: Vec<_> = pairs.map(|(one, other)| comparable(&settings[one], &settings[other])).collect();
        let comparisons = pairs.iter().flatten().count();
        let ratio = |pairs: &Option<Vec<(f64, f64)>>| estimate_ratio_among(pairs.as_ref()?, comparisons);
        Self { settings: number, ratios: pairs.iter().map(ratio).collect(), comparisons }
    }

    /// The metric of `other` as a multiple of that of `one`; none if they were not compared.
    pub(super) fn ratio(&self, one: usize, other: usize) -> Option<Estimate> {
        let (low, high) = (one.min(other), one.max(other));
        if low == high {
            return None;
        }
        // All pairs of smaller first numbers come before.
        let before = low * (2 * self.settings - low - 1) / 2;
        let ratio = self.ratios[before + high - low - 1]?;
        Some(if one < other { ratio } else { inverse(&ratio) })
    }

    /// Place of `other` beside `one`: above it, below it, or not told apart.
    pub(super) fn order(&self, one: usize, other: usize) -> Option<Ordering> {
        self.ratio(one, other)?.beside(1.0)
    }

    /// The setting was compared with another.
    pub(super) fn is_compared(&self, setting: usize) -> bool {
        (0..self.settings).any(|other| self.ratio(setting, other).is_some())
    }
}

/// Values of both with the same seed, if they can be compared.
fn comparable(one: &[(u64, f64)], other: &[(u64, f64)]) -> Option<Vec<(f64, f64)>> {
    let with = |seed: u64| one.iter().find(|(own, _)| *own == seed).map(|(_, value)| *value);
    let pairs: Vec<_> = other.iter().filter_map(|(seed, value)| Some((*value, with(*seed)?))).collect();
    let above_zero = pairs.iter().all(|(value, base)| *value > 0.0 && *base > 0.0);
    (pairs.len() >= FEWEST && above_zero).then_some(pairs)
}

fn inverse(ratio: &Estimate) -> Estimate {
    let inverse = |(low, high): (f64, f64)| (1.0 / high, 1.0 / low);
    Estimate {
        mean: 1.0 / ratio.mean,
        interval: ratio.interval.map(inverse),
        range: inverse(ratio.range),
        samples: ratio.samples,
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::split_mix::SplitMix;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    fn seeds(values: &[f64]) -> Vec<(u64, f64)> {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn settings_are_compared_seed_by_seed_so_what_a_seed_does_to_both_does_not_count() {
        // Seeds differ by a factor of a hundred, and each makes the second setting about twice the first.
        let one = seeds(&[1.0, 10.0, 100.0, 3.0, 30.0]);
        let other = seeds(&[2.0, 20.4, 196.0, 6.1, 60.0]);
        let apart = Apart::of(&[one, other]);
        assert_eq!((apart.comparisons, apart.order(0, 1)), (1, Some(Ordering::Greater)));
        assert_eq!(apart.order(1, 0), Some(Ordering::Less));
        assert!((apart.ratio(0, 1).unwrap().mean - 2.0).abs() < 0.05);
        assert!((apart.ratio(1, 0).unwrap().mean - 0.5).abs() < 0.02);
    }

    #[test]
    fn pairs_are_found_in_both_directions() {
        let settings: Vec<_> = [1.0, 2.0, 4.0, 8.0].map(|value| seeds(&[value; 3])).into();
        let apart = Apart::of(&settings);
        assert_eq!(apart.comparisons, 6);
        for one in 0..4 {
            for other in (0..4).filter(|other| *other != one) {
                let expected = 2.0_f64.powi(other as i32 - one as i32);
                assert_eq!(apart.ratio(one, other).unwrap().mean, expected, "{one} {other}");
            }
        }
    }

    #[test]
    fn more_comparisons_take_more_to_tell_two_settings_apart() {
        let (one, other) = (seeds(&[1.0, 1.0, 1.0, 1.0]), seeds(&[1.05, 1.3, 1.15, 1.2]));
        assert!(Apart::of(&[one.clone(), other.clone()]).order(0, 1).is_some());
        let further = vec![one.clone(); 5];
        let many: Vec<_> = [one, other].into_iter().chain(further).collect();
        assert_eq!(Apart::of(&many).order(0, 1), None);
    }

    #[test]
    fn few_seeds_in_common_and_zeros_leave_nothing_to_compare() {
        let three = seeds(&[1.0, 2.0, 3.0]);
        let apart =
            Apart::of(&[three.clone(), vec![(2, 1.0), (3, 1.0), (4, 1.0)], seeds(&[0.0, 1.0, 2.0]), three]);
        assert_eq!(apart.comparisons, 1);
        assert_eq!([1, 2, 3].map(|other| apart.ratio(0, other).is_some()), [false, false, true]);
        assert_eq!([0, 1, 2].map(|setting| apart.is_compared(setting)), [true, false, false]);
    }

    /// Frequency with which a difference is found in made-up lines of settings, whose runs share the luck of their seeds.
    fn fraction_found(settings: &[f64], found: impl Fn(&Apart) -> bool) -> f64 {
        const LINES: usize = 4000;
        let mut random = SplitMix::new(7);
        let mut normal = || {
            let uniform = ((random.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            Normal::standard().inverse_cdf(uniform)
        };
        let mut line = || {
            let luck: Vec<f64> = (0..5).map(|_| normal()).collect();
            let mut run = |median: f64, luck: f64| median * libm::exp(luck + 0.05 * normal());
            let mut setting = |median: &f64| luck.iter().map(|luck| run(*median, *luck)).collect::<Vec<_>>();
            Apart::of(&settings.iter().map(|median| seeds(&setting(median))).collect::<Vec<_>>())
        };
        (0..LINES).filter(|_| found(&line())).count() as f64 / LINES as f64
    }

    #[test]
    fn where_nothing_differs_at_most_one_line_in_twenty_says_that_something_does() {
        let any = |apart: &Apart| (0..6).any(|one| (0..one).any(|other| apart.order(one, other).is_some()));
        let found = fraction_found(&[3.0; 6], any);
        // Four standard errors above 5 %. Bonferroni's bound is not reached, as comparisons share settings.
        assert!(found < 0.05 + 4.0 * (0.05 * 0.95 / 4000.0_f64).sqrt() && found > 0.01, "{found}");
    }

    #[test]
    fn a_true_difference_is_found_and_in_its_direction() {
        // 20 % against 5 % of chance, of five seeds whose luck varies by factors.
        let found = fraction_found(&[3.0, 3.6], |apart| apart.order(0, 1) == Some(Ordering::Greater));
        assert!(found > 0.95, "{found}");
        let wrong = fraction_found(&[3.0, 3.6], |apart| apart.order(0, 1) == Some(Ordering::Less));
        assert_eq!(wrong, 0.0);
    }
}
