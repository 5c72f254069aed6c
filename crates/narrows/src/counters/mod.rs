//! What is counted in a run. Each mechanism has a file, each counter one entry there: what it counts, where it is kept, and what it is
//! called where it is shown. From these entries follow the activity of a run, the columns of `ports` and `flows`, metrics of the
//! network, the export as OpenMetrics, the guide and the live view.
//!
//! A new counter is a field of a record of `narrows-sim` (`record.rs`), the place where it is counted, and an entry here.

mod carried;
mod codel;
mod congestion_points;
mod connections;
mod dependents;
mod drops;
mod isolation;
mod marking;
mod pauses;
mod racks;
mod rdma;
mod reaction;
mod transport;

use narrows_proto::stream::Stats;
use narrows_sim::mechanism::Records;
use narrows_sim::observe::Counts;
use narrows_sim::{DatagramRecord, PortCounters};

use self::Of::{Datagrams, Mechanisms, Ports, Run, Senders};
use crate::plan::Plan;
use crate::results::Outline;

/// Everything that counts, in the order in which activity is shown.
const MECHANISMS: [&Mechanism; 13] = [
    &carried::CARRIED,
    &marking::MARKING,
    &congestion_points::CONGESTION_POINTS,
    &reaction::REACTION,
    &rdma::RDMA,
    &pauses::PAUSES,
    &drops::DROPS,
    &codel::CODEL,
    &transport::TRANSPORT,
    &connections::CONNECTIONS,
    &isolation::ISOLATION,
    &racks::RACKS,
    &dependents::DEPENDENTS,
];

/// Those whose columns stand before all others: what happens to every packet.
const FIRST: [&Mechanism; 4] = [&carried::CARRIED, &marking::MARKING, &drops::DROPS, &transport::TRANSPORT];

/// Something that counts.
pub(crate) struct Mechanism {
    /// Which runs have it.
    pub(crate) present: &'static str,
    is_in: fn(&Plan) -> bool,
    counters: &'static [Counter],
}

/// A counter.
pub struct Counter {
    /// What it counts.
    pub meaning: &'static str,
    /// Its unit; empty for counts.
    pub unit: &'static str,
    /// It adds up; otherwise it is the most that ever was.
    pub adds_up: bool,
    of: Of,
    activity: Option<&'static str>,
    column: Option<&'static str>,
    metric: Option<&'static str>,
    /// Which results have the column.
    pub(crate) present: &'static str,
    pub(crate) is_in: fn(&Plan) -> bool,
}

/// What a record `C` has of a counter.
type Value<C> = fn(&C) -> u64;

/// Where a counter is kept.
#[derive(Clone, Copy)]
enum Of {
    /// At every port.
    Ports(Value<PortCounters>),
    /// At the sender of every flow.
    Senders(Value<Stats>),
    /// At every source of datagrams.
    Datagrams(Value<DatagramRecord>),
    /// By mechanisms, all over the network.
    Mechanisms(Value<Records>),
    /// Nowhere; found in the results.
    Run(fn(&Outline<'_>) -> u64),
}

impl Counter {
    const fn new(of: Of, unit: &'static str, meaning: &'static str) -> Self {
        let (activity, column, metric) = (None, None, None);
        Self { meaning, unit, adds_up: true, of, activity, column, metric, present: "", is_in: |_| true }
    }

    /// The most that ever was.
    const fn most(of: Of, unit: &'static str, meaning: &'static str) -> Self {
        Self { adds_up: false, ..Self::new(of, unit, meaning) }
    }

    /// What the list of what happened calls it.
    const fn activity(self, name: &'static str) -> Self {
        Self { activity: Some(name), ..self }
    }

    /// The column of `ports`, or of `flows`, that it is.
    const fn column(self, name: &'static str) -> Self {
        Self { column: Some(name), ..self }
    }

    /// The column is in these results only.
    const fn only(self, present: &'static str, is_in: fn(&Plan) -> bool) -> Self {
        Self { present, is_in, ..self }
    }

    /// The metric of the network that it is.
    const fn metric(self, name: &'static str) -> Self {
        Self { metric: Some(name), ..self }
    }

    /// How often it happened in a run.
    pub(crate) fn total(&self, run: &Outline<'_>) -> u64 {
        match self.of {
            Ports(value) => run.ports.iter().chain([run.no_route]).map(value).sum(),
            Senders(value) => run.flows.iter().map(|flow| value(&flow.stats)).sum(),
            Datagrams(value) => run.datagrams.iter().map(value).sum(),
            Mechanisms(value) => value(run.mechanisms),
            Run(value) => value(run),
        }
    }

    /// How often it has happened in a run that goes on; none if that is known only at its end.
    pub(crate) fn so_far(&self, counts: &Counts) -> Option<u64> {
        match self.of {
            Ports(value) => Some(value(&counts.ports)),
            Senders(value) => Some(value(&counts.senders)),
            Datagrams(value) => Some(value(&counts.datagrams)),
            Mechanisms(_) | Run(_) => None,
        }
    }
}

/// A counter that is a column of a table.
pub struct CounterColumn<C: 'static> {
    /// The name of the column.
    pub name: &'static str,
    /// The counter.
    pub counter: &'static Counter,
    pub(crate) value: Value<C>,
}

/// Counters that are columns of `ports`, in their order.
pub fn of_ports() -> impl Iterator<Item = CounterColumn<PortCounters>> {
    columns(|of| if let Ports(value) = of { Some(value) } else { None })
}

/// Counters that are columns of `flows`, in their order.
pub fn of_senders() -> impl Iterator<Item = CounterColumn<Stats>> {
    columns(|of| if let Senders(value) = of { Some(value) } else { None })
}

fn columns<C: 'static>(kept: fn(Of) -> Option<Value<C>>) -> impl Iterator<Item = CounterColumn<C>> {
    let is_first = |mechanism: &&Mechanism| FIRST.iter().any(|first| std::ptr::eq(*first, *mechanism));
    let others = MECHANISMS.into_iter().filter(move |mechanism| !is_first(mechanism));
    let counters = FIRST.into_iter().chain(others).flat_map(|mechanism| mechanism.counters);
    counters.filter_map(move |counter| {
        Some(CounterColumn { name: counter.column?, counter, value: kept(counter.of)? })
    })
}

/// Everything that may happen: its name, its counter, and the mechanism that counts it.
pub(crate) fn activities() -> impl Iterator<Item = (&'static str, &'static Counter, &'static Mechanism)> {
    let of = |mechanism: &'static Mechanism| {
        let counters = mechanism.counters.iter();
        counters.filter_map(move |counter| Some((counter.activity?, counter, mechanism)))
    };
    MECHANISMS.into_iter().flat_map(of)
}

/// Everything that may happen in the run of a plan.
pub(crate) fn activities_in(plan: &Plan) -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let counts = |(.., mechanism): &(&str, &Counter, &Mechanism)| (mechanism.is_in)(plan);
    activities().filter(counts).map(|(name, counter, _)| (name, counter))
}

/// Counters that are metrics of the network, by name.
pub(crate) fn metrics() -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let counters = MECHANISMS.into_iter().flat_map(|mechanism| mechanism.counters);
    counters.filter_map(|counter| Some((counter.metric?, counter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_summed_up_adds_up() {
        for counter in MECHANISMS.into_iter().flat_map(|mechanism| mechanism.counters) {
            let is_summed = counter.activity.is_some() || counter.metric.is_some();
            assert!(counter.adds_up || !is_summed, "{}", counter.meaning);
        }
    }
}
