//! Percentiles, and what a few seeds say about a quantity: the one place where intervals are computed.

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bounds::Bounds;

/// The value that a fraction `p` of `sorted` does not exceed (nearest rank); none of an empty list.
pub fn percentile<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    let rank = (p * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
}

/// Arithmetic mean; none of an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Fairness index of rates (Jain, Chiu & Hawe 1984): (Σx)²/(n·Σx²), 1 if all are equal; none if all are zero.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * squares))
}

/// Fewer samples have no interval: of two, Student's t has one degree of freedom and a quantile of 12.7, and the interval
/// says nothing that the two samples do not say better.
pub const FEWEST: usize = 3;

/// Estimate of a quantity from its samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The central value: the geometric mean if all samples are above zero, the arithmetic mean otherwise.
    pub mean: f64,
    /// The interval in which that mean of the whole population lies with 95 % confidence; `mean` is inside. None of fewer
    /// than [`FEWEST`] samples, nor if the smallest is zero. See [`estimate`].
    pub interval: Option<(f64, f64)>,
    /// The smallest and the largest sample.
    pub range: (f64, f64),
    /// Number of samples.
    pub samples: usize,
}

impl Estimate {
    /// Side of `value` on which its interval is; none if the interval holds the value, or there is no interval.
    pub fn beside(&self, value: f64) -> Option<Ordering> {
        let (low, high) = self.interval?;
        if low > value { Some(Ordering::Greater) } else { (high < value).then_some(Ordering::Less) }
    }

    /// The interval that so many samples would have, if they varied as these do and around the same mean. None if there is none of these.
    pub(crate) fn interval_of(&self, samples: usize) -> Option<(f64, f64)> {
        let (low, high) = self.interval?;
        let width = |samples: usize| quantile(samples - 1, 1) / (samples as f64).sqrt();
        let narrower = width(samples) / width(self.samples);
        let of = |end: f64| {
            if low > 0.0 {
                libm::exp(libm::log(self.mean) + narrower * (libm::log(end) - libm::log(self.mean)))
            } else {
                self.mean + narrower * (end - self.mean)
            }
        };
        Some((of(low), of(high)))
    }

    /// The same with an interval that ends where values are impossible: a slowdown below 1, a fraction above 1.
    ///
    /// The true value is never in what is cut off, so the interval holds it as often as before. A transformed scale that ends there (the
    /// logarithm of the slowdown less 1, the logit of a fraction) would do the same by itself. But a seed that is close to the end is far
    /// away on such a scale: slowdowns of 1.003, 1.25 and 1.31 would have an interval up to 42. And ratios would no longer be those of
    /// central values.
    #[must_use]
    pub fn within(self, Bounds { least, most }: Bounds) -> Self {
        // What was found is possible, whatever rounding made of it.
        let cut =
            |(low, high): (f64, f64)| (low.max(least.min(self.range.0)), high.min(most.max(self.range.1)));
        Self { interval: self.interval.map(cut), ..self }
    }
}

/// Estimates the central value of a quantity that cannot be negative, as all metrics are, from one sample for each seed.
///
/// Times, rates and counts vary by factors, and their distributions have a long tail upwards, so samples above zero are
/// taken as lognormal: Student's t of their logarithms. The interval is one of the geometric mean, which is the median of
/// a lognormal quantity; it lies above zero and is symmetric as a ratio. A sample of zero has no logarithm: then there is
/// no interval, and [`Estimate::range`] tells what was found.
///
/// A negative sample shows that the quantity may be negative (a difference). Then the interval is Student's t of the
/// samples themselves.
///
/// None without samples, or if one is not a number. Infinite samples have no interval.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    estimate_among(values, 1)
}

/// The same, with an interval so wide that those of this many estimates hold all together with 95 % confidence (Bonferroni).
fn estimate_among(values: &[f64], estimates: usize) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mean, interval) = if least == most {
        // Their logarithms would only add errors of rounding.
        (least, Some((least, least)))
    } else if least > 0.0 {
        let logs: Vec<_> = values.iter().map(|value| libm::log(*value)).collect();
        let (mean, half) = student(&logs, estimates);
        (libm::exp(mean).clamp(least, most), Some((libm::exp(mean - half), libm::exp(mean + half))))
    } else {
        let (mean, half) = student(values, estimates);
        (mean, Some((mean - half, mean + half)))
    };
    let known = values.len() >= FEWEST && least != 0.0;
    let interval = interval.filter(|(low, high)| known && low.is_finite() && high.is_finite());
    // What is rounded must not put the mean outside.
    let interval = interval.map(|(low, high)| (low.min(mean), high.max(mean)));
    (!mean.is_nan()).then_some(Estimate { mean, interval, range: (least, most), samples: values.len() })
}

/// Arithmetic mean, and half the width of its 95 % confidence interval, which is one of so many; of two values or more.
fn student(values: &[f64], intervals: usize) -> (f64, f64) {
    let samples = values.len() as f64;
    let mean = values.iter().sum::<f64>() / samples;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (samples - 1.0);
    (mean, quantile(values.len() - 1, intervals) * (variance / samples).sqrt())
}

/// Estimates the ratio of two metrics from runs in pairs, one pair for each seed: the geometric mean of the ratios, with
/// its interval. It is the ratio of the geometric means of both. None unless all values are above zero.
pub fn estimate_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    estimate_ratio_among(pairs, 1)
}

/// The same of one of so many ratios, whose intervals hold all together with 95 % confidence (Bonferroni): if none of them is 1, the
/// chance that any interval excludes the true ratio is 5 % at most.
pub fn estimate_ratio_among(pairs: &[(f64, f64)], ratios: usize) -> Option<Estimate> {
    let above_zero = pairs.iter().all(|(value, base)| *value > 0.0 && *base > 0.0);
    let of_pairs: Vec<_> = pairs.iter().map(|(value, base)| value / base).collect();
    estimate_among(&of_pairs, ratios).filter(|_| above_zero)
}

/// Gaps between sorted samples beyond which they fall into two groups: the number of samples, and the largest gap as a part of their
/// range. Of so many normal samples 0.2 % have a larger one (found by simulation; of five, Dixon's test for one outlier has 0.82 at 1 %).
const APART: [(usize, f64); 10] = [
    (5, 0.906),
    (6, 0.837),
    (7, 0.779),
    (8, 0.725),
    (9, 0.685),
    (10, 0.647),
    (12, 0.601),
    (15, 0.545),
    (20, 0.490),
    (30, 0.434),
];
/// Groups that differ by a smaller factor are no matter.
const LEAST_FACTOR: f64 = 1.25;
/// Counts that differ by fewer standard deviations of the smaller one, by Poisson, differ by chance.
const CHANCE: f64 = 4.0;

/// Samples above zero fall into two groups, far apart beside what they differ by inside, as when in one of five runs a flow starves. Then
/// there is no center that an interval could be about. Never of fewer than five, and of counts only if the gap is more than chance: counts
/// of rare events are 2 here and 4 there.
pub fn fall_apart(samples: &[f64]) -> bool {
    let mut logs: Vec<_> = samples.iter().map(|sample| libm::log(*sample)).collect();
    logs.sort_by(f64::total_cmp);
    let limit = APART.iter().rev().find(|(count, _)| *count <= logs.len()).map(|(_, limit)| *limit);
    let (Some(limit), [first, .., last]) = (limit, &logs[..]) else { return false };
    let gaps = logs.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
    let (gap, below) = gaps.fold((0.0, 0.0), |most, gap| if gap.0 > most.0 { gap } else { most });
    // Events that happen by chance are counted to within the square root of their number.
    let (below, above) = (libm::exp(below), libm::exp(below + gap));
    let are_counts = samples.iter().all(|sample| sample.fract() == 0.0);
    let by_chance = are_counts && above - below < CHANCE * below.sqrt();
    // The logarithm of zero is infinite.
    gap.is_finite() && gap > limit * (last - first) && gap > LEAST_FACTOR.ln() && !by_chance
}

/// The 97.5 % quantile of Student's t with so many degrees of freedom; further out if there are several intervals.
fn quantile(freedom: usize, intervals: usize) -> f64 {
    let below = 1.0 - 0.025 / intervals.max(1) as f64;
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(below))
}

#[cfg(test)]
mod tests {
    use narrows_proto::split_mix::SplitMix;
    use proptest::prelude::*;
    use statrs::distribution::Normal;

    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        assert_eq!([0.0, 0.5, 0.51, 0.99, 1.0].map(|p| percentile(&values, p)), [1, 5, 6, 10, 10].map(Some));
        assert_eq!(percentile::<u8>(&[], 0.5), None);
    }

    fn interval(values: &[f64]) -> (f64, f64) {
        estimate(values).unwrap().interval.unwrap()
    }

    #[test]
    fn an_interval_of_more_samples_is_that_of_samples_which_vary_as_much() {
        let estimate = |values: &[f64]| estimate(values).unwrap();
        // Standard deviations of samples: √(8/7) of the deviation of all of them, and √(4/3).
        for (few, many) in
            [([1.0, 10.0, 1.0, 10.0], [1.0, 10.0].repeat(4)), ([-1.0, 1.0, -1.0, 1.0], [-1.0, 1.0].repeat(4))]
        {
            let (found, expected) = (estimate(&few).interval_of(8).unwrap(), estimate(&many));
            let wider = ((4.0_f64 / 3.0) / (8.0 / 7.0)).sqrt();
            let of =
                |end: f64| if few[0] > 0.0 { end.ln() - expected.mean.ln() } else { end - expected.mean };
            let (low, high) = expected.interval.unwrap();
            assert!(
                (of(found.0) - wider * of(low)).abs() < 1e-6 && (of(found.1) - wider * of(high)).abs() < 1e-6
            );
        }
        assert_eq!(estimate(&[0.0, 1.0, 2.0]).interval_of(8), None);
    }

    #[test]
    fn intervals_of_what_is_positive_are_students_t_of_logarithms() {
        // Powers of two: the logarithms to base 2 are 1 to 5, with s = √2.5; t(0.975, 4) = 2.776.
        let estimate = estimate(&[2.0, 4.0, 8.0, 16.0, 32.0]).unwrap();
        let half = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        let (low, high) = estimate.interval.unwrap();
        assert!((estimate.mean - 8.0).abs() < 1e-12);
        // The quantile has seven digits.
        assert!((low.log2() - (3.0 - half)).abs() < 1e-6 && (high.log2() - (3.0 + half)).abs() < 1e-6);
        assert_eq!((estimate.range, estimate.samples), ((2.0, 32.0), 5));
    }

    #[test]
    fn quantiles_are_those_of_the_table() {
        // t(0.975, ν) to three decimals, NIST/SEMATECH e-Handbook §1.3.6.7.2.
        for (freedom, expected) in
            [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (100, 1.984)]
        {
            let found = quantile(freedom, 1);
            assert!((found - expected).abs() < 5e-4, "{freedom}: {found}");
        }
    }

    #[test]
    fn of_several_intervals_each_is_as_wide_as_its_part_of_the_five_percent_asks() {
        // t(0.995, ν) for five intervals and t(0.9995, ν) for fifty, NIST/SEMATECH e-Handbook §1.3.6.7.2 and Student's table.
        for (freedom, intervals, expected) in [(4, 5, 4.604), (9, 5, 3.250), (4, 50, 8.610), (9, 50, 4.781)] {
            let found = quantile(freedom, intervals);
            assert!((found - expected).abs() < 5e-4, "{freedom} {intervals}: {found}");
        }
    }

    #[test]
    fn a_metric_of_runs_that_differ_much_has_no_bound_below_zero() {
        // The arithmetic interval of these would reach down to -81.
        let (low, high) = interval(&[35.0, 90.0, 75.0, 120.0, 560.0]);
        assert!(low > 0.0 && low < 35.0 * 2.0 && high < 1000.0, "{low} {high}");
    }

    #[test]
    fn one_or_two_samples_have_a_range_and_no_interval() {
        let [one, two] = [&[7.0][..], &[2.0, 8.0]].map(|values| estimate(values).unwrap());
        assert_eq!((one.mean, one.interval, one.range), (7.0, None, (7.0, 7.0)));
        assert_eq!((two.interval, two.range), (None, (2.0, 8.0)));
        assert!((two.mean - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_zero_among_the_samples_leaves_their_mean_and_range() {
        let some = estimate(&[0.0, 3.0, 0.0, 9.0]).unwrap();
        assert_eq!((some.mean, some.interval, some.range), (3.0, None, (0.0, 9.0)));
        let all = estimate(&[0.0; 5]).unwrap();
        assert_eq!((all.mean, all.interval, all.range), (0.0, None, (0.0, 0.0)));
    }

    #[test]
    fn a_quantity_that_may_be_negative_has_an_interval_of_its_own_scale() {
        let found = estimate(&[-1.0, 0.0, 1.0, 2.0, 3.0]).unwrap();
        let half = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        let (low, high) = found.interval.unwrap();
        assert_eq!(found.mean, 1.0);
        assert!((low - (1.0 - half)).abs() < 1e-6 && (high - (1.0 + half)).abs() < 1e-6);
    }

    #[test]
    fn what_is_infinite_or_no_number_has_no_interval() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[1.0, f64::NAN, 2.0]), None);
        let infinite = estimate(&[1.0, f64::INFINITY, 2.0]).unwrap();
        assert_eq!((infinite.mean, infinite.interval), (f64::INFINITY, None));
        assert_eq!(estimate(&[1e-300, 1.0, 1e300]).unwrap().interval, None, "it would reach to infinity");
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let ratio = estimate_ratio(&[(2.0, 1.0), (4.0, 2.0), (8.0, 4.0)]).unwrap();
        assert_eq!((ratio.mean, ratio.interval), (2.0, Some((2.0, 2.0))), "every pair has the same ratio");
        assert_eq!(estimate_ratio(&[(0.0, 1.0)]), None);
        assert_eq!(estimate_ratio(&[(1.0, 0.0), (1.0, 1.0)]), None);
        assert_eq!(estimate_ratio(&[]), None);
    }

    #[test]
    fn a_ratio_is_that_of_the_central_values() {
        let pairs = [(3.0, 1.0), (5.0, 9.0), (2.0, 4.0)];
        let [own, base] = [pairs.map(|pair| pair.0), pairs.map(|pair| pair.1)];
        let expected = estimate(&own).unwrap().mean / estimate(&base).unwrap().mean;
        assert!((estimate_ratio(&pairs).unwrap().mean - expected).abs() < 1e-12);
    }

    /// A number drawn from a standard normal distribution.
    fn normal(random: &mut SplitMix) -> f64 {
        // Above zero and below one.
        let uniform = ((random.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        Normal::standard().inverse_cdf(uniform)
    }

    #[test]
    fn of_lognormal_samples_95_in_100_intervals_hold_the_median() {
        const TRIALS: u32 = 20_000;
        let mut random = SplitMix::new(1);
        for (samples, sigma) in [(3, 0.1), (5, 1.0), (10, 2.0)] {
            let hit = |_: &u32| {
                let values: Vec<_> =
                    (0..samples).map(|_| libm::exp(2.0 + sigma * normal(&mut random))).collect();
                let (low, high) = interval(&values);
                (low..=high).contains(&libm::exp(2.0))
            };
            let hits = (0..TRIALS).filter(hit).count() as f64 / f64::from(TRIALS);
            // Four standard errors of a fraction of 0.95 in so many trials: ±0.0062.
            let error = (0.95 * 0.05 / f64::from(TRIALS)).sqrt();
            assert!((hits - 0.95).abs() < 4.0 * error, "{samples} samples, sigma {sigma}: {hits}");
        }
    }

    /// Parts of 20 000 intervals of five samples that hold their true geometric mean, as they are and cut to what is possible.
    fn coverage(possible: Bounds, draw: impl Fn(f64) -> f64) -> [f64; 2] {
        const TRIALS: usize = 20_000;
        let mut random = SplitMix::new(3);
        let mut sample = || draw(normal(&mut random));
        let center = (0..1_000_000).map(|_| libm::log(sample())).sum::<f64>() / 1e6;
        let holds = |found: Estimate| {
            found.interval.is_some_and(|(low, high)| (low..=high).contains(&libm::exp(center)))
        };
        let mut hits = [0; 2];
        for _ in 0..TRIALS {
            let found = estimate(&(0..5).map(|_| sample()).collect::<Vec<_>>()).unwrap();
            let cut = found.within(possible);
            let (low, high) = cut.interval.unwrap();
            assert!(
                possible.least <= low && low <= cut.mean && cut.mean <= high && high <= possible.most,
                "{cut:?}"
            );
            hits = [hits[0] + usize::from(holds(found)), hits[1] + usize::from(holds(cut))];
        }
        hits.map(|hits| hits as f64 / TRIALS as f64)
    }

    #[test]
    fn intervals_that_end_at_what_is_possible_hold_the_truth_as_often_as_those_that_do_not() {
        // Slowdowns less 1 are lognormal; fractions are logit-normal. Far from the end 95 % hold it, near to it as few as stated.
        let slowdown = |median: f64, sigma: f64| move |normal: f64| 1.0 + median * libm::exp(sigma * normal);
        let fraction =
            |center: f64, sigma: f64| move |normal: f64| 1.0 / (1.0 + libm::exp(-center - sigma * normal));
        let slowdowns = [(10.0, 1.0, 0.94), (1.0, 0.3, 0.94), (1.0, 1.0, 0.91), (0.1, 1.0, 0.84)];
        for (median, sigma, least) in slowdowns {
            let [own, cut] = coverage(Bounds::FROM_ONE, slowdown(median, sigma));
            assert!(own == cut && cut > least && cut < 0.957, "{median} {sigma}: {own} {cut}");
        }
        for (center, sigma, least) in [(0.0, 0.5, 0.93), (3.0, 0.5, 0.91), (2.0, 1.0, 0.85)] {
            let [own, cut] = coverage(Bounds::FRACTION, fraction(center, sigma));
            assert!(own == cut && cut > least && cut < 0.957, "{center} {sigma}: {own} {cut}");
        }
    }

    #[test]
    fn one_run_in_which_a_flow_starves_falls_apart_from_the_others() {
        assert!(fall_apart(&[101.0, 98.0, 3.0, 103.0, 100.0]));
        assert!(fall_apart(&[9.0, 2.0, 9.2, 2.1, 9.1, 2.0]), "two groups of three");
        assert!(!fall_apart(&[101.0, 98.0, 3.0, 103.0]), "four are too few");
        assert!(!fall_apart(&[24.0, 60.0, 95.0, 180.0, 361.0]));
        assert!(!fall_apart(&[1.0, 1.0, 1.0, 1.0, 1.1]), "a tenth is no matter");
        assert!(!fall_apart(&[2.0, 2.0, 2.0, 2.0, 4.0]), "counts of rare events");
        assert!(!fall_apart(&[0.0, 3.0, 3.0, 3.0, 3.0]) && !fall_apart(&[3.0; 5]));
    }

    #[test]
    fn of_lognormal_samples_two_in_a_thousand_fall_apart() {
        const TRIALS: usize = 50_000;
        let mut random = SplitMix::new(5);
        for samples in [5, 7, 10, 13, 20, 40] {
            let alarm = |_: &usize| {
                let values: Vec<_> = (0..samples).map(|_| libm::exp(3.0 * normal(&mut random))).collect();
                fall_apart(&values)
            };
            let alarms = (0..TRIALS).filter(alarm).count() as f64 / TRIALS as f64;
            // Four standard errors: ±0.0008. Numbers between those of the table have fewer.
            assert!(
                alarms < 0.0028 && (alarms > 0.0012 || samples == 13 || samples == 40),
                "{samples}: {alarms}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_interval_of_what_is_positive_is_positive_holds_its_center_and_is_narrower_of_more_like_it(
            values in prop::collection::vec(1e-9..1e12_f64, FEWEST..20),
        ) {
            let found = estimate(&values).unwrap();
            let (low, high) = found.interval.unwrap();
            prop_assert!(0.0 < low && low <= found.mean && found.mean <= high, "{found:?}");
            prop_assert!(found.range.0 <= found.mean && found.mean <= found.range.1, "{found:?}");
            // More samples at the center do not move it, and make it surer.
            let more: Vec<_> = values.iter().copied().chain([found.mean; 3]).collect();
            let (closer, below) = interval(&more);
            prop_assert!(low <= closer * (1.0 + 1e-9) && below <= high * (1.0 + 1e-9), "{low} {closer} {below} {high}");
            let equal = estimate(&vec![values[0]; values.len()]).unwrap();
            prop_assert_eq!((equal.mean, equal.interval), (values[0], Some((values[0], values[0]))));
        }
    }
}
