//! What is measured in the experiments of DVL.

use std::collections::{BTreeMap, BTreeSet};

use narrows_proto::units::{Span, Time};
use narrows_sim::LinkId;
use narrows_sim::mechanism::isolation::IsolationEvent;
use narrows_sim::observe::PortRow;

use super::STORM;
use crate::repro::{Measured, metric};
use crate::results::{FlowRow, Results};
use crate::statistics::{mean, percentile};

/// What every experiment measures: that nothing went wrong.
const SOUND: [&str; 5] = ["lost", "unfinished", "stuck_us", "left", "queues_at_once"];

pub(super) const NETWORK: &[&str] = &[
    "tc0_us",
    "tc1_us",
    "tc2_us",
    "tc3_us",
    "mean_us",
    "tc0_injected_us",
    "tc1_injected_us",
    "tc2_injected_us",
    "tc3_injected_us",
    "mean_injected_us",
    "p50_us",
    "p90_us",
    "p99_us",
    "small_p99_us",
    "host_ports_percent",
    "down_ports_percent",
    "up_ports_percent",
    "small_isolated_percent",
    "allocations",
    "refused",
    SOUND[0],
    SOUND[1],
    SOUND[2],
    SOUND[3],
    SOUND[4],
];
pub(super) const NETWORK_SERIES: &[&str] = &["fct", "injected", "edge", "middle", "top"];

pub(super) const VICTIM: &[&str] = &[
    "victim_us",
    "victim_p99_us",
    "victim_injected_us",
    "victim_named",
    "storm_us",
    "allocations",
    "refused",
    "closings",
    SOUND[0],
    SOUND[1],
    SOUND[2],
    SOUND[3],
    SOUND[4],
];
pub(super) const VICTIM_SERIES: &[&str] = &["rack0", "spine", "rack2", "isolated"];

/// The largest flow of each traffic class.
const CLASSES: [u64; 4] = [100_000, 1_000_000, 10_000_000, 30_000_000];
/// How finely queues are counted over time.
const INTERVAL: Span = Span::from_us(50);

fn us(span: Span) -> f64 {
    span.as_ps() as f64 / 1e6
}

fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// The traffic class of a flow.
fn class(flow: &FlowRow) -> usize {
    CLASSES.partition_point(|largest| *largest < flow.size.get()).min(CLASSES.len() - 1)
}

/// Nothing lost, nobody stuck, no queue left, and never two queues for isolated flows at a port or an input.
fn sound(results: &Results, measured: &mut Measured) {
    let sum =
        |value: fn(&narrows_sim::PortCounters) -> u64| results.ports.iter().map(value).sum::<u64>() as f64;
    let again = metric(results, "total.retransmissions").unwrap_or_default();
    measured.quantity("lost", sum(|port| port.dropped()) + again);
    measured.quantity("unfinished", metric(results, "total.unfinished"));
    measured.quantity("stuck_us", results.ports.iter().map(|port| us(port.stuck)).fold(0.0, f64::max));
    measured.quantity("left", sum(|port| port.isolation.allocated) - sum(|port| port.isolation.freed));
    measured.quantity("allocations", sum(|port| port.isolation.allocated));
    measured.quantity("refused", sum(|port| port.isolation.refused));
    measured.quantity("queues_at_once", results.recorded.isolation.as_ref().map(|_| queues_at_once(results)));
}

/// The most queues for isolated flows that a port or an input had at once, as events tell it.
fn queues_at_once(results: &Results) -> f64 {
    let mut now: BTreeMap<(LinkId, bool), i64> = BTreeMap::new();
    let mut most = 0;
    for row in results.recorded.isolation.iter().flatten() {
        let (input, change) = match row.event {
            IsolationEvent::Allocated => (false, 1),
            IsolationEvent::Freed => (false, -1),
            IsolationEvent::AllocatedAtInput => (true, 1),
            IsolationEvent::FreedAtInput => (true, -1),
            IsolationEvent::Flow(_) | IsolationEvent::Told(_) => continue,
        };
        let queues = now.entry((row.link, input)).or_default();
        *queues += change;
        most = most.max(*queues);
    }
    most as f64
}

/// Messages of four classes between hosts at random.
pub(super) fn network(results: &Results) -> Measured {
    let mut measured = Measured::default();
    sound(results, &mut measured);
    let times = |of: fn(&FlowRow) -> Option<Span>, class_of: Option<usize>| {
        let flows = results.flows.iter().filter(|flow| class_of.is_none_or(|wanted| class(flow) == wanted));
        let mut times: Vec<_> = flows.filter_map(of).map(us).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let names = [
        ("tc0_us", "tc0_injected_us"),
        ("tc1_us", "tc1_injected_us"),
        ("tc2_us", "tc2_injected_us"),
        ("tc3_us", "tc3_injected_us"),
    ];
    for (class, (complete, injected)) in names.into_iter().enumerate() {
        measured.quantity(complete, mean(&times(FlowRow::fct, Some(class))));
        measured.quantity(injected, mean(&times(FlowRow::injection, Some(class))));
    }
    let (complete, injected) = (times(FlowRow::fct, None), times(FlowRow::injection, None));
    measured.quantity("mean_us", mean(&complete));
    measured.quantity("mean_injected_us", mean(&injected));
    for (column, part) in [("p50_us", 0.5), ("p90_us", 0.9), ("p99_us", 0.99)] {
        measured.quantity(column, percentile(&complete, part));
    }
    measured.quantity("small_p99_us", percentile(&times(FlowRow::fct, Some(0)), 0.99));
    measured.series("fct", distribution(&complete));
    measured.series("injected", distribution(&injected));
    reach(results, &mut measured);
    measured
}

/// The distribution of some times: µs and percent.
fn distribution(sorted: &[f64]) -> Vec<(f64, f64)> {
    let points = (1..=400).map(|part| f64::from(part) / 400.0);
    points.filter_map(|part| Some((percentile(sorted, part)?, 100.0 * part))).collect()
}

/// How far isolation reached: ports that ever had a queue for isolated flows, by where they lead; small flows that were ever
/// isolated; queues over time by the tier of their switch.
fn reach(results: &Results, measured: &mut Measured) {
    let topology = &results.plan.network.topology;
    let kinds = ["host_ports_percent", "down_ports_percent", "up_ports_percent"];
    let (mut ports, mut reached) = ([0; 3], [0; 3]);
    for (link, counters) in topology.links().iter().zip(&results.ports) {
        let Some(from) = topology.tier(link.from) else { continue };
        let kind = match topology.tier(link.to) {
            None => 0,
            Some(to) if to < from => 1,
            Some(_) => 2,
        };
        ports[kind] += 1;
        reached[kind] += usize::from(counters.isolation.allocated > 0);
    }
    for (column, (reached, ports)) in kinds.into_iter().zip(reached.into_iter().zip(ports)) {
        measured.quantity(column, percent(reached, ports));
    }
    let small: BTreeSet<_> =
        results.flows.iter().filter(|flow| class(flow) == 0).map(|flow| flow.flow).collect();
    let isolated: BTreeSet<_> =
        results.recorded.isolation.iter().flatten().filter_map(|row| row.event.flow()).collect();
    measured.quantity("small_isolated_percent", percent(small.intersection(&isolated).count(), small.len()));

    let top = topology.links().iter().filter_map(|link| topology.tier(link.from)).max().unwrap_or_default();
    let mut queues: [Vec<(f64, f64)>; 3] = Default::default();
    let mut now = [0_i64; 3];
    for row in results.recorded.isolation.iter().flatten() {
        let change = match row.event {
            IsolationEvent::Allocated => 1,
            IsolationEvent::Freed => -1,
            _ => continue,
        };
        let place = match topology.tier(row.node) {
            Some(0) => 0,
            Some(tier) if tier == top => 2,
            _ => 1,
        };
        now[place] += change;
        let interval = row.at.as_ps() / INTERVAL.as_ps();
        let (at, number) = (us(INTERVAL) * interval as f64 / 1e3, now[place] as f64);
        match queues[place].last_mut() {
            Some(last) if last.0 == at => last.1 = last.1.max(number),
            _ => queues[place].push((at, number)),
        }
    }
    for (name, points) in ["edge", "middle", "top"].into_iter().zip(queues) {
        measured.series(name, points);
    }
}

/// A victim beside an incast.
pub(super) fn victim(results: &Results) -> Measured {
    let mut measured = Measured::default();
    sound(results, &mut measured);
    measured.quantity("victim_us", metric(results, "victim.mean_fct_us"));
    measured.quantity("victim_p99_us", metric(results, "victim.p99_fct_us"));
    measured.quantity("victim_injected_us", metric(results, "victim.mean_injection_us"));
    measured.quantity("storm_us", metric(results, "storm.p99_fct_us"));
    let closings = results.ports.iter().map(|port| port.isolation.freed).sum::<u64>();
    measured.quantity("closings", closings as f64);
    // A client is one flow, whatever it sends.
    let group = |name: &str| results.plan.groups.iter().position(|group| group.name == name);
    let of_victim: BTreeSet<_> = results
        .flows
        .iter()
        .filter(|flow| Some(flow.group as usize) == group("victim"))
        .map(|flow| flow.flow)
        .collect();
    let named = |flow| of_victim.contains(&flow);
    let named = results
        .recorded
        .isolation
        .iter()
        .flatten()
        .filter(|row| matches!(row.event, IsolationEvent::Flow(flow) if named(flow)));
    measured.quantity("victim_named", named.count() as f64);

    let topology = &results.plan.network.topology;
    let waits = |switch: Option<&str>, of: fn(&PortRow) -> u64| {
        let mut sums: BTreeMap<Time, u64> = BTreeMap::new();
        for row in results.queues.iter().flatten() {
            let from = topology.link(row.link).from;
            if switch.is_none_or(|name| topology.node(from).name == name) {
                *sums.entry(row.start).or_default() += of(row);
            }
        }
        let after = |at: Time| us(at.saturating_since(Time::ZERO)) - us(STORM);
        let shown = sums.into_iter().map(|(at, bytes)| (after(at), bytes as f64 / 1e3));
        shown.filter(|(at, _)| (-50.0..3_000.0).contains(at)).collect::<Vec<_>>()
    };
    for (name, switch) in [("rack0", "rack0/tor"), ("spine", "spine0"), ("rack2", "rack2/tor")] {
        measured.series(name, waits(Some(switch), |row| row.max_backlog));
    }
    measured.series("isolated", waits(None, |row| row.max_side));
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_with_all_of_it() {
        let points = distribution(&[1.0, 2.0, 4.0, 8.0]);
        assert_eq!((points[0], points[99], points[399]), ((1.0, 0.25), (1.0, 25.0), (8.0, 100.0)));
        assert!(distribution(&[]).is_empty());
    }

    #[test]
    fn sizes_of_the_slides_fall_into_their_classes() {
        let of = |size| CLASSES.partition_point(|largest| *largest < size);
        assert_eq!(
            [of(1_000), of(100_000), of(100_001), of(1_000_000), of(9_000_000), of(30_000_000)],
            [0, 0, 1, 1, 2, 3]
        );
    }
}
