//! Percentiles and confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The value that a fraction `p` of `sorted` does not exceed (nearest rank); none of an empty list.
pub fn percentile<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    let rank = (p * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
}

/// Arithmetic mean; none of an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A mean and the interval in which the true mean lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// Mean of the samples.
    pub mean: f64,
    /// Bounds of the interval; none of a single sample.
    pub interval: Option<(f64, f64)>,
    /// Number of samples.
    pub samples: usize,
}

/// Estimates the mean of what `values` were drawn from (Student's t). None without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let samples = values.len();
    let mean = mean(values)?;
    let interval = (samples > 1).then(|| {
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (samples - 1) as f64;
        let half = quantile(samples - 1) * (variance / samples as f64).sqrt();
        (mean - half, mean + half)
    });
    Some(Estimate { mean, interval, samples })
}

/// Estimates the ratio of two metrics from runs in pairs, one pair for each seed: the geometric mean of the ratios, with
/// its interval. None unless all values are above zero.
pub fn estimate_ratio(values: &[f64], baseline: &[f64]) -> Option<Estimate> {
    let pairs = values.iter().zip(baseline);
    if values.len() != baseline.len() || pairs.clone().any(|(value, base)| *value <= 0.0 || *base <= 0.0) {
        return None;
    }
    let logs: Vec<_> = pairs.map(|(value, base)| libm::log(value / base)).collect();
    let Estimate { mean, interval, samples } = estimate(&logs)?;
    Some(Estimate {
        mean: libm::exp(mean),
        interval: interval.map(|(low, high)| (libm::exp(low), libm::exp(high))),
        samples,
    })
}

/// The 97.5 % quantile of Student's t with so many degrees of freedom.
fn quantile(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        assert_eq!([0.0, 0.5, 0.51, 0.99, 1.0].map(|p| percentile(&values, p)), [1, 5, 6, 10, 10].map(Some));
        assert_eq!(percentile::<u8>(&[], 0.5), None);
    }

    #[test]
    fn intervals_use_students_t() {
        // t(0.975, 4) = 2.776; s = √2.5.
        let estimate = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let (low, high) = estimate.interval.unwrap();
        assert_eq!(estimate.mean, 3.0);
        assert!(
            (high - 3.0 - 2.776_445 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-5
                && (high + low - 6.0).abs() < 1e-12
        );
    }

    #[test]
    fn one_sample_has_no_interval() {
        assert_eq!(estimate(&[7.0]).unwrap().interval, None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let ratio = estimate_ratio(&[2.0, 4.0, 8.0], &[1.0, 2.0, 4.0]).unwrap();
        assert!((ratio.mean - 2.0).abs() < 1e-12);
        let (low, high) = ratio.interval.unwrap();
        assert!(high - low < 1e-9, "every pair has the same ratio");
        assert_eq!(estimate_ratio(&[0.0], &[1.0]), None);
    }
}
