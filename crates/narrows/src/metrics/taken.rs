//! A metric: what it means, and how it is taken.

use serde::{Serialize, Serializer};

use super::sample::Sample;
use crate::bounds::Bounds;

/// Time that a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Flows or calls that start in the measured time, whenever they end.
    Started,
    /// The measured time.
    MeasuredTime,
    /// The whole run, from the first packet to the last.
    WholeRun,
}

impl Over {
    /// In words, after "over".
    pub const fn text(self) -> &'static str {
        match self {
            Self::Started => "what starts in the measured time",
            Self::MeasuredTime => "the measured time",
            Self::WholeRun => "the whole run",
        }
    }
}

impl Serialize for Over {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricInfo {
    /// Its name, after that of the group.
    pub name: &'static str,
    /// The unit; empty for counts and fractions.
    pub unit: &'static str,
    /// The time that it is about.
    pub over: Over,
    /// The least and the most that it can be.
    pub bounds: Bounds,
    /// Its meaning.
    pub meaning: &'static str,
}

impl MetricInfo {
    /// Of a metric that is not negative.
    pub(super) const fn new(
        name: &'static str,
        unit: &'static str,
        over: Over,
        meaning: &'static str,
    ) -> Self {
        Self { name, unit, over, bounds: Bounds::NOT_NEGATIVE, meaning }
    }
}

/// A metric and how it is taken of the sums `S`.
pub(super) struct Taken<S> {
    pub(super) info: MetricInfo,
    pub(super) of: Of<S>,
}

/// Way in which a metric is taken.
pub(super) enum Of<S> {
    Value(fn(&S) -> Option<f64>),
    /// This percentile of times, which those that have not ended lack.
    Percentile(f64, fn(&S) -> &Sample),
    /// Their mean.
    Mean(fn(&S) -> &Sample),
}

pub(super) const fn metric<S>(
    name: &'static str,
    unit: &'static str,
    over: Over,
    meaning: &'static str,
    of: fn(&S) -> Option<f64>,
) -> Taken<S> {
    Taken { info: MetricInfo::new(name, unit, over, meaning), of: Of::Value(of) }
}

/// The metric, which has these bounds.
pub(super) const fn within<S>(bounds: Bounds, mut metric: Taken<S>) -> Taken<S> {
    metric.info.bounds = bounds;
    metric
}

/// A percentile of times of flows or calls.
pub(super) const fn percentile<S>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    p: f64,
    of: fn(&S) -> &Sample,
) -> Taken<S> {
    Taken { info: MetricInfo::new(name, unit, Over::Started, meaning), of: Of::Percentile(p, of) }
}

/// The mean of times of flows or calls.
pub(super) const fn mean<S>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: fn(&S) -> &Sample,
) -> Taken<S> {
    Taken { info: MetricInfo::new(name, unit, Over::Started, meaning), of: Of::Mean(of) }
}

/// Meanings of metrics, without how they are taken.
pub(super) fn infos<S>(metrics: &'static [Taken<S>]) -> impl Iterator<Item = MetricInfo> {
    metrics.iter().map(|metric| metric.info)
}

/// None of nothing.
pub(super) fn fraction(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Of bytes, in Gbit/s; none in no time.
pub(super) fn rate(bytes: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| bytes * 8e-9 / seconds)
}
