//! Twins: one scenario in virtual time and with real hosts. What is compared, how far apart it may be, and whether it is.
//!
//! Bands are fixed here, before anything is run, by kind of quantity: rates 3 %, queues and times 15 %, marks and losses 25 %. A
//! quantity whose seeds leave open on which side of its band the ratio lies is open.

use std::fmt;

use narrows_sim::observe::{PortRow, WindowRow};
use narrows_sim::{DropCause, LinkId};
use serde::Serialize;

use crate::bounds::Bounds;
use crate::metrics;
use crate::results::Results;
use crate::statistics::{Estimate, estimate, estimate_ratio, mean};

/// Kinds of quantities, which share a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rate.
    Rate,
    /// A queue, or a time.
    Delay,
    /// Packets marked or lost.
    Signal,
}

impl Kind {
    /// The least and the most that the ratio may be.
    pub const fn band(self) -> [f64; 2] {
        let most = match self {
            Self::Rate => 1.03,
            Self::Delay => 1.15,
            Self::Signal => 1.25,
        };
        [1.0 / most, most]
    }
}

/// One quantity of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its name: of a traffic group, or of the network.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its unit.
    pub unit: &'static str,
    /// The least and the most that it can be.
    pub bounds: Bounds,
    /// Its value.
    pub value: f64,
}

/// Judgment of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The ratio is in the band.
    Same,
    /// It is not.
    Apart,
    /// The ratio lies on one side of an end of the band, and its interval on both.
    Open,
    /// One of both does not have it.
    Missing,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "same",
            Self::Apart => "apart",
            Self::Open => "open",
            Self::Missing => "missing",
        })
    }
}

/// A quantity of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// See [`Quantity::name`].
    pub name: String,
    /// See [`Quantity::unit`].
    pub unit: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The least and the most that the ratio may be.
    pub band: [f64; 2],
    /// In virtual time.
    pub simulated: Option<Estimate>,
    /// With real hosts.
    pub live: Option<Estimate>,
    /// Simulated divided by live.
    pub ratio: Option<Estimate>,
    /// The judgment.
    pub verdict: Verdict,
}

/// The quantities of a run that its twin has as well.
pub fn quantities(results: &Results) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut add = |name: String, kind, unit, (bounds, value): (Bounds, Option<f64>)| {
        found.extend(value.map(|value| Quantity { name, kind, unit, bounds, value }));
    };
    let other = |value| (Bounds::NOT_NEGATIVE, value);
    for (number, group) in results.plan.groups.iter().enumerate() {
        let (name, metric) = (
            |what: &str| format!("{} {what}", group.name),
            |what: &str| (metrics::bounds(what), results.metric(&format!("{}.{what}", group.name))),
        );
        add(name("goodput"), Kind::Rate, "Gb/s", metric("goodput_gbps"));
        add(name("completion time, median"), Kind::Delay, "us", metric("p50_fct_us"));
        add(name("completion time, 99th percentile"), Kind::Delay, "us", metric("p99_fct_us"));
        add(name("call, median"), Kind::Delay, "us", metric("p50_rpc_us"));
        add(name("round-trip time"), Kind::Delay, "us", other(round_trip(results, number)));
        add(name("marked fraction"), Kind::Signal, "", metric("marked_fraction"));
    }
    let drops = results.drops(DropCause::BufferFull) + results.drops(DropCause::QueueLimit);
    add("drops".to_owned(), Kind::Signal, "", other(Some(drops as f64)));
    let marks = results.ports.iter().map(|port| port.marks).sum::<u64>();
    add("marks".to_owned(), Kind::Signal, "", other(Some(marks as f64)));
    add("mean queue".to_owned(), Kind::Delay, "kB", other(mean_queue(results)));
    found
}

/// Mean of the smoothed round-trip times that were recorded of a group in the measured time, microseconds.
fn round_trip(results: &Results, group: usize) -> Option<f64> {
    let flows = &results.plan.groups[group].flows;
    let counts = |row: &&WindowRow| {
        flows.contains(&row.flow.index()) && results.plan.measured.contains(&row.at) && row.srtt.as_ps() > 0
    };
    let rows = results.windows.as_ref()?.iter().filter(counts);
    mean(&rows.map(|row| row.srtt.as_secs_f64() * 1e6).collect::<Vec<_>>())
}

/// Mean backlog of the recorded port with the largest, in the measured time, kB.
fn mean_queue(results: &Results) -> Option<f64> {
    let (rows, measured) = (results.queues.as_ref()?, &results.plan.measured);
    let interval = results.plan.record.queues.as_ref()?.0;
    let mut backlogs: Vec<(LinkId, f64)> = Vec::new();
    for row in rows.iter().filter(|row: &&PortRow| measured.contains(&row.start)) {
        match backlogs.iter_mut().find(|(link, _)| *link == row.link) {
            Some((_, sum)) => *sum += row.mean_backlog,
            None => backlogs.push((row.link, row.mean_backlog)),
        }
    }
    let time = measured.end.min(results.ended).saturating_since(measured.start);
    let intervals = (time.as_secs_f64() / interval.as_secs_f64()).max(1.0);
    backlogs.into_iter().map(|(_, sum)| sum / intervals / 1e3).max_by(f64::total_cmp)
}

/// Judges the quantities of several runs of each, in the order of the first that has them.
pub fn judge(simulated: &[Vec<Quantity>], live: &[Vec<Quantity>]) -> Vec<Row> {
    let mut names: Vec<&Quantity> = Vec::new();
    for quantity in simulated.iter().chain(live).flatten() {
        if names.iter().all(|known| known.name != quantity.name) {
            names.push(quantity);
        }
    }
    let row = |quantity: &Quantity| {
        let values = |runs: &[Vec<Quantity>]| -> Vec<f64> {
            let find = |run: &Vec<Quantity>| {
                run.iter().find(|other| other.name == quantity.name).map(|found| found.value)
            };
            runs.iter().filter_map(find).collect()
        };
        let [of_simulated, of_live] = [values(simulated), values(live)];
        let pairs: Vec<_> = of_simulated.iter().copied().zip(of_live.iter().copied()).collect();
        let estimated = |values: &[f64]| estimate(values).map(|found| found.within(quantity.bounds));
        let (ratio, band) = (estimate_ratio(&pairs), quantity.kind.band());
        let none = |values: &[f64]| values.iter().all(|value| *value == 0.0);
        let verdict = match ratio {
            _ if pairs.is_empty() => Verdict::Missing,
            None if none(&of_simulated) && none(&of_live) => Verdict::Same,
            None => Verdict::Apart,
            Some(ratio) => in_band(&ratio, band),
        };
        Row {
            name: quantity.name.clone(),
            unit: quantity.unit,
            kind: quantity.kind,
            band,
            simulated: estimated(&of_simulated),
            live: estimated(&of_live),
            ratio,
            verdict,
        }
    };
    names.into_iter().map(row).collect()
}

/// Whether a ratio is in its band; open if the interval of a few runs reaches to the other side.
fn in_band(ratio: &Estimate, [low, high]: [f64; 2]) -> Verdict {
    let is_in = |value: f64| (low..=high).contains(&value);
    let all_in = ratio.interval.is_none_or(|(least, most)| is_in(least) && is_in(most));
    let all_out = ratio.interval.is_none_or(|(least, most)| least > high || most < low);
    match (is_in(ratio.mean), all_in, all_out) {
        (true, true, _) => Verdict::Same,
        (false, _, true) => Verdict::Apart,
        _ => Verdict::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(name: &str, kind: Kind, values: &[f64]) -> Vec<Vec<Quantity>> {
        values
            .iter()
            .map(|value| {
                vec![Quantity { name: name.into(), kind, unit: "", bounds: Bounds::FRACTION, value: *value }]
            })
            .collect()
    }

    fn verdict(kind: Kind, simulated: &[f64], live: &[f64]) -> Verdict {
        judge(&runs("x", kind, simulated), &runs("x", kind, live))[0].verdict
    }

    #[test]
    fn a_ratio_inside_its_band_is_the_same_and_one_outside_is_apart() {
        assert_eq!(verdict(Kind::Rate, &[1.0, 1.01, 1.0], &[1.0, 1.0, 1.01]), Verdict::Same);
        assert_eq!(verdict(Kind::Rate, &[1.1, 1.11, 1.1], &[1.0, 1.0, 1.01]), Verdict::Apart);
        assert_eq!(verdict(Kind::Delay, &[1.1, 1.11, 1.1], &[1.0, 1.0, 1.01]), Verdict::Same);
    }

    #[test]
    fn a_ratio_whose_interval_reaches_over_the_end_of_its_band_is_open() {
        assert_eq!(verdict(Kind::Signal, &[80.0, 100.0, 130.0], &[100.0, 100.0, 100.0]), Verdict::Open);
        assert_eq!(verdict(Kind::Signal, &[110.0, 200.0, 130.0], &[100.0, 100.0, 100.0]), Verdict::Open);
    }

    #[test]
    fn intervals_of_both_end_at_what_a_quantity_can_be() {
        let both = runs("x", Kind::Signal, &[0.9, 0.95, 0.7]);
        let row = &judge(&both, &both)[0];
        assert_eq!([row.simulated, row.live].map(|found| found.unwrap().interval.unwrap().1), [1.0; 2]);
    }

    #[test]
    fn what_neither_has_is_the_same_and_what_one_has_is_apart() {
        assert_eq!(verdict(Kind::Signal, &[0.0], &[0.0]), Verdict::Same);
        assert_eq!(verdict(Kind::Signal, &[0.0], &[5.0]), Verdict::Apart);
        assert_eq!(verdict(Kind::Signal, &[1.0], &[]), Verdict::Missing);
    }
}
