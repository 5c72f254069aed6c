//! Warnings about traffic: too much of it, too late, or none that counts.

use std::cell::LazyCell;
use std::ops::Range;

use narrows_proto::units::{BitRate, Span, Time};
use narrows_sim::traffic::{FlowSpec, Rpc, Traffic, Transport};
use narrows_sim::{HostId, LinkId, Network, Paths};

use super::behind::behind_a_queue;
use super::facts::round_trip;
use super::lasting::{lasts, slowest_cycle};
use super::traffic::PlannedTraffic;
use super::{Checker, ENDLESS};
use crate::diagnostic::{Code, Diagnostic};

/// Warns if open-loop traffic offers a link more than it carries.
pub(super) fn warn_of_overload(network: &Network, planned: &PlannedTraffic, checker: &mut Checker<'_>) {
    let utilization =
        |link: usize| planned.offered[link] * 8.0 / network.topology.links()[link].wire.rate.as_f64();
    let fullest = (0..planned.offered.len()).max_by(|a, b| utilization(*a).total_cmp(&utilization(*b)));
    let Some(fullest) = fullest.filter(|link| utilization(*link) > 1.0) else { return };
    let overloaded = (0..planned.offered.len()).filter(|link| utilization(*link) > 1.0).count();
    let name = network.topology.link_name(LinkId::from(fullest));
    let percent = 100.0 * utilization(fullest);
    let message = format!("open-loop traffic offers {percent:.0} % of what the link \"{name}\" carries");
    let warning = Diagnostic::warning(Code::LoadAboveCapacity, message);
    let help =
        format!("{overloaded} of {} directed links are offered more than 100 %", planned.offered.len());
    checker.error("traffic", warning.help(help));
}

/// Warns if nothing counts in a run that lasts until `end`.
pub(super) fn warn_of_nothing_measured(
    traffic: &Traffic,
    measured: &Range<Time>,
    end: Time,
    checker: &mut Checker<'_>,
) {
    let scheduled = traffic.flows.iter().any(|flow| measured.contains(&flow.start));
    // What flows without an end deliver counts, whenever they started.
    let until = measured.end.min(end);
    let endless =
        traffic.flows.iter().any(|flow| flow.size == ENDLESS && flow.start.max(measured.start) < until);
    let generated = traffic.generators.iter().any(|g| g.start < measured.end && g.until > measured.start)
        || traffic.ranks.iter().any(|rank| rank.start < measured.end);
    if !scheduled && !endless && !generated && !traffic.flows.is_empty() {
        let until = if measured.end > end {
            format!("; the run ends at {end}")
        } else {
            format!(", before {}", measured.end)
        };
        let message = format!("no flow starts from {} on{until}", measured.start);
        checker.error("measure", Diagnostic::warning(Code::NothingMeasured, message));
    }
}

/// Warns of flows without an end that cannot fill their path, all of a group together, since their ends have too little room.
pub(super) fn warn_of_little_room(
    network: &Network,
    paths: &Paths<'_>,
    PlannedTraffic { traffic, groups, .. }: &PlannedTraffic,
    checker: &mut Checker<'_>,
) {
    for (number, (group, planned)) in traffic.groups.iter().zip(groups).enumerate() {
        let Transport::Stream { params, .. } = &group.transport else { continue };
        let Some(room) = params.most_in_flight() else { continue };
        let lasting = || traffic.flows[planned.flows.clone()].iter().filter(|flow| flow.size == ENDLESS);
        let Some(first) = lasting().next() else { continue };
        let Some((rtt, rate, bdp)) = round_trip(network, paths, group, first.from, first.to) else {
            continue;
        };
        let flows = lasting().count() as u64;
        if room.get().saturating_mul(flows) >= bdp.get() {
            continue;
        }
        let name = &group.name;
        let most = BitRate::from_bps((room.as_f64() * 8.0 / rtt.as_secs_f64()) as u64);
        let message = format!(
            "a flow of traffic \"{name}\" has at most {room:.1} in flight, whatever its window: {most:.1} of {rate:.1} \
             over a round trip of {rtt:.1}"
        );
        let help = format!(
            "its bandwidth-delay product is {bdp:.1}; larger transport.send_buffer and receive_buffer.most (or receive_window) make room"
        );
        checker
            .error(&format!("traffic.{number}"), Diagnostic::warning(Code::LittleRoom, message).help(help));
    }
}

/// Base RTTs from the start of a flow on in which it has not come to rest: in ten, slow start reaches 10 · 2¹⁰ segments from an initial
/// window of ten (RFC 6928), 15 MB, which is more than most bandwidth-delay products.
const BEGINNING: u64 = 10;
/// Base RTTs that are few for an average: a gain cycle of BBR takes eight, and of fewer each of the eight parts in which a trend is looked
/// for (N0202) has less than one, in which a window that does not fill it is a burst and a gap.
const FEWEST_ROUND_TRIPS: u64 = 8;
/// Round trips of so many flows of a group are looked at.
const MOST_FLOWS: usize = 2_000;

/// Warns of groups of flows that last whose measured time is too short for their control to come to rest.
pub(super) fn warn_of_few_round_trips(
    network: &Network,
    paths: &Paths<'_>,
    PlannedTraffic { traffic, groups, .. }: &PlannedTraffic,
    measured: &Range<Time>,
    end: Time,
    checker: &mut Checker<'_>,
) {
    let behind = LazyCell::new(|| behind_a_queue(network, paths, traffic, groups, MOST_FLOWS));
    let lasting = groups.iter().enumerate().filter(|(number, planned)| lasts(traffic, *number, planned));
    for (number, planned) in lasting {
        let (group, name) = (&traffic.groups[number], &planned.name);
        let flows = &traffic.flows[planned.flows.clone()];
        let last_start = flows.iter().map(|flow| flow.start).max().unwrap_or(Time::ZERO);
        let end = measured.end.min(end);
        let length = end.saturating_since(measured.start.max(last_start));
        // Of nothing at all there is another warning.
        if length == Span::ZERO {
            continue;
        }
        let rtts = flows.iter().take(MOST_FLOWS);
        let rtts = rtts.filter_map(|flow| round_trip(network, paths, group, flow.from, flow.to));
        let Some(rtt) = rtts.map(|(rtt, ..)| rtt).max() else { continue };
        let place = format!("traffic.{number}");
        let since_start = end.saturating_since(last_start);
        if length < rtt * FEWEST_ROUND_TRIPS || since_start < rtt * BEGINNING {
            let in_round_trips = |time: Span| {
                format!(
                    "{time:.1}, {:.1} of its base RTTs of {rtt:.1}",
                    time.as_secs_f64() / rtt.as_secs_f64()
                )
            };
            let message = if since_start < rtt * BEGINNING {
                let time = in_round_trips(since_start);
                format!(
                    "traffic \"{name}\" runs for {time}, when the measured time ends: slow start may take {BEGINNING}"
                )
            } else {
                let time = in_round_trips(length);
                format!("traffic \"{name}\" is measured for {time}: averages take {FEWEST_ROUND_TRIPS}")
            };
            let help = "set stop.after (and measure.until) later, and measure.from behind slow start";
            checker.error(&place, Diagnostic::warning(Code::FewRoundTrips, message).help(help));
        } else if let Some(cycle) = group.transport.control().and_then(slowest_cycle)
            && since_start < cycle
            && let behind @ 1.. = behind[number]
        {
            let message = format!(
                "{behind} of {} flows of traffic \"{name}\" begin behind a queue of other flows under BBR and take it for part of their \
                 path, and the measured time ends before the first PROBE_RTT, {cycle:.0} after their start",
                flows.len()
            );
            let help = "the share of each flow and the queue may change after it: start the flows within a base RTT, or run for three times as long";
            checker.error(&place, Diagnostic::warning(Code::NoProbeRtt, message).help(help));
        }
    }
}

/// Warns of flows that could not even be sent before the run ends: they count as unfinished whatever the network does.
pub(super) fn warn_of_short_run(
    network: &Network,
    traffic: &Traffic,
    measured: &Range<Time>,
    end: Time,
    checker: &mut Checker<'_>,
) {
    let rates = network.topology.host_rates();
    let rate = |host: HostId| rates[host.index()];
    // Responses cannot begin before their request.
    let responses = traffic.rpcs.iter().copied().flat_map(Rpc::calls).map(|(request, response)| FlowSpec {
        start: traffic.flows[request.index()].start,
        ..traffic.flows[response.index()]
    });
    let counted = traffic.flows.iter().copied().chain(responses);
    let counted = counted.filter(|flow| measured.contains(&flow.start) && flow.size != ENDLESS);
    let counted: Vec<_> = counted.collect();
    let late =
        counted.iter().filter(|flow| flow.start + rate(flow.from).time_to_send(flow.size) > end).count();
    if late > 0 {
        let message =
            format!("{late} of {} flows cannot finish before the run ends, even alone", counted.len());
        let help = "let them finish with stop.drain, or leave late ones out with measure.until";
        checker.error("stop", Diagnostic::warning(Code::ShortRun, message).help(help));
    }
}
