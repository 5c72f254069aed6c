//! Metrics of collectives.

use super::taken::{Over, Taken, metric};
use crate::results::{CollectiveRow, Outline};
use crate::statistics::mean;

/// Metrics of a group of collectives, besides those of its messages.
pub(super) const COLLECTIVE_METRICS: [Taken<CollectiveSums>; 7] = [
    metric(
        "collectives",
        "",
        Over::Started,
        "Measured iterations of a collective: those that the first rank began in the measured time.",
        |of| Some(of.measured),
    ),
    metric(
        "unfinished_collectives",
        "",
        Over::Started,
        "Measured iterations that some rank had not finished when the run ended.",
        |of| Some(of.unfinished),
    ),
    metric(
        "mean_collective_us",
        "us",
        Over::Started,
        "Completion time of an iteration: from the start of the first rank until the last has received and computed everything. Mean over the measured iterations that finished.",
        |of| mean(&of.times_us),
    ),
    metric("max_collective_us", "us", Over::Started, "Completion time of the slowest iteration.", |of| {
        of.times_us.iter().copied().reduce(f64::max)
    }),
    metric(
        "mean_spread_us",
        "us",
        Over::Started,
        "Time between the end of the first rank and that of the last, mean.",
        |of| mean(&of.spreads_us),
    ),
    metric(
        "algorithm_gbps",
        "Gbit/s",
        Over::Started,
        "Algorithm bandwidth: size divided by completion time, mean over iterations. None of a schedule.",
        |of| mean(&of.algorithm),
    ),
    metric(
        "bus_gbps",
        "Gbit/s",
        Over::Started,
        "Bus bandwidth, as NCCL's tests define it: algorithm bandwidth times 2(n − 1)/n for an all-reduce, (n − 1)/n for an all-gather, a reduce-scatter and an all-to-all, 1 for a pipeline; mean over iterations. None of a schedule.",
        |of| mean(&of.bus),
    ),
];

/// Values that metrics of collectives are taken of: of measured iterations, and of times those that finished.
pub(super) struct CollectiveSums {
    measured: f64,
    unfinished: f64,
    times_us: Vec<f64>,
    spreads_us: Vec<f64>,
    algorithm: Vec<f64>,
    bus: Vec<f64>,
}

impl CollectiveSums {
    /// Of a group of a run.
    pub(super) fn of(outline: &Outline<'_>, group: usize) -> Self {
        let rows = || outline.collectives.iter().filter(|row| row.group as usize == group && row.measured);
        let of = |value: &dyn Fn(&CollectiveRow) -> Option<f64>| rows().filter_map(value).collect();
        Self {
            measured: rows().count() as f64,
            unfinished: rows().filter(|row| row.end.is_none()).count() as f64,
            times_us: of(&|row| Some(row.time()?.as_secs_f64() * 1e6)),
            spreads_us: of(&|row| Some((row.end? - row.first_end?).as_secs_f64() * 1e6)),
            algorithm: of(&|row| Some(row.algorithm()?.as_f64() / 1e9)),
            bus: of(&|row| Some(row.bus()?.as_f64() / 1e9)),
        }
    }
}
