//! Counters of a run. Each counter has one entry, in a file here or in the home of its mechanism: what it counts, where it is
//! kept, and what it is called where it is shown. From these entries follow the activity of a run, the columns of `ports` and `flows`,
//! metrics of the network, the export as OpenMetrics, the guide and the live view.
//!
//! A new counter is a field of a record of `narrows-sim` (`record.rs`), the place where it is counted, and an entry here.

mod carried;
mod congestion_points;
mod connections;
mod counter;
mod dependents;
mod drops;
mod marking;
mod pauses;
mod rdma;
mod reaction;
mod reordering;
mod transport;

use narrows_proto::stream::Stats;
use narrows_sim::PortCounters;

use self::Of::{Ports, Senders};
pub use self::counter::Counter;
use self::counter::Value;
pub(crate) use self::counter::{Counters, Of};
use crate::mechanism;
use crate::plan::Plan;

/// Counters of every run, or of no mechanism of the list, in the order in which activity is shown.
static BASE: [&Counters; 9] = [
    &carried::CARRIED,
    &marking::MARKING,
    &congestion_points::CONGESTION_POINTS,
    &reaction::REACTION,
    &rdma::RDMA,
    &pauses::PAUSES,
    &drops::DROPS,
    &transport::TRANSPORT,
    &connections::CONNECTIONS,
];

/// Everything that counts, in the order in which activity is shown.
fn all() -> impl Iterator<Item = &'static Counters> {
    let listed = mechanism::all().filter_map(|mechanism| mechanism.counters());
    BASE.into_iter().chain(listed).chain([&dependents::DEPENDENTS, &reordering::REORDERING])
}

/// Those whose columns stand before all others: what happens to every packet.
static FIRST: [&Counters; 4] = [&carried::CARRIED, &marking::MARKING, &drops::DROPS, &transport::TRANSPORT];

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
    let is_first = |mechanism: &&Counters| FIRST.iter().any(|first| std::ptr::eq(*first, *mechanism));
    let others = all().filter(move |mechanism| !is_first(mechanism));
    let counters = FIRST.into_iter().chain(others).flat_map(|mechanism| mechanism.counters);
    counters.filter_map(move |counter| {
        Some(CounterColumn { name: counter.column?, counter, value: kept(counter.of)? })
    })
}

/// Everything that may happen: its name, its counter, and the mechanism that counts it.
pub(crate) fn activities() -> impl Iterator<Item = (&'static str, &'static Counter, &'static Counters)> {
    let of = |mechanism: &'static Counters| {
        let counters = mechanism.counters.iter();
        counters.filter_map(move |counter| Some((counter.activity?, counter, mechanism)))
    };
    all().flat_map(of)
}

/// Everything that may happen in the run of a plan.
pub(crate) fn activities_in(plan: &Plan) -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let counts = |(.., mechanism): &(&str, &Counter, &Counters)| (mechanism.is_in)(plan);
    activities().filter(counts).map(|(name, counter, _)| (name, counter))
}

/// Counters that are metrics of the network, by name.
pub(crate) fn metrics() -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let counters = all().flat_map(|mechanism| mechanism.counters);
    counters.filter_map(|counter| Some((counter.metric?, counter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_summed_up_adds_up() {
        for counter in all().flat_map(|mechanism| mechanism.counters) {
            let is_summed = counter.activity.is_some() || counter.metric.is_some();
            assert!(counter.adds_up || !is_summed, "{}", counter.meaning);
        }
    }
}
