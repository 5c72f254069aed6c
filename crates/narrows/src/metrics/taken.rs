//! A metric: what it means, and how it is taken.

use serde::Serialize;

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MetricInfo {
    /// Its name, after that of the group.
    pub name: &'static str,
    /// The unit; empty for counts and fractions.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// A metric and how it is taken of the sums `S`.
pub(super) struct Taken<S> {
    pub(super) info: MetricInfo,
    pub(super) of: fn(&S) -> Option<f64>,
}

pub(super) const fn metric<S>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: fn(&S) -> Option<f64>,
) -> Taken<S> {
    Taken { info: MetricInfo { name, unit, meaning }, of }
}

/// Meanings of metrics, without how they are taken.
pub(super) fn infos<S>(metrics: &'static [Taken<S>]) -> impl Iterator<Item = MetricInfo> {
    metrics.iter().map(|metric| metric.info)
}

pub(super) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// None of nothing.
pub(super) fn fraction(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Of bytes, in Gbit/s; none in no time.
pub(super) fn rate(bytes: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| bytes * 8e-9 / seconds)
}
