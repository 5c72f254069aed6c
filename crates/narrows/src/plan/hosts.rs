//! Hosts, checked: numbers that a host can have, and ideal ones where that misleads.

use std::collections::{BTreeMap, BTreeSet};

use narrows_proto::cc::Ranges;
use narrows_proto::units::{Bytes, Span};
use narrows_sim::traffic::Traffic;
use narrows_sim::{FlowId, HostId, Hosts, IdealPath, Network, Paths};

use super::{Checker, ENDLESS};
use crate::diagnostic::{Code, Diagnostic};

/// The smallest frame of Ethernet with preamble and gap.
const SMALLEST: Bytes = Bytes::new(84);
/// Of more pairs of hosts or long flows, so many are looked at.
const MOST_PAIRS: usize = 2_000;

/// Refuses clocks that are no clocks, and hosts that take longer than the network.
pub(super) fn check(network: &Network, paths: &Paths<'_>, traffic: &Traffic, checker: &mut Checker<'_>) {
    let Hosts::Real(hosts) = &network.hosts else { return };
    checker.in_range("hosts.real", hosts.check(&mut Ranges::default()));
    let most = hosts.processing.most(Span::ZERO);
    if most == Span::ZERO {
        return;
    }
    if let Some((rtt, from, to)) =
        shortest_round_trip(network, paths, traffic).filter(|(rtt, ..)| most > *rtt)
    {
        let name = |host| network.topology.host_name(host);
        let message = format!(
            "hosts take up to {most} for a burst, but a round trip from {} to {} takes {rtt}",
            name(from),
            name(to)
        );
        let help =
            "a time to process beyond the round trip hides the network: at most the shortest round trip";
        checker.error("hosts.real.processing", Diagnostic::error(Code::OutOfRange, message).help(help));
    }
}

/// The shortest round trip of any flow on the empty network, and the hosts at its ends.
pub(super) fn shortest_round_trip(
    network: &Network,
    paths: &Paths<'_>,
    traffic: &Traffic,
) -> Option<(Span, HostId, HostId)> {
    let pairs: BTreeSet<_> = traffic.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let round_trip = |(from, to): (HostId, HostId)| {
        let (forth, back) = (paths.path(FlowId(0), from, to)?, paths.path(FlowId(0), to, from)?);
        let [forth, back] = [forth, back].map(|links| IdealPath::new(network, &links).packet_time(SMALLEST));
        Some((forth + back, from, to))
    };
    pairs.into_iter().take(MOST_PAIRS).filter_map(round_trip).min()
}

/// Warns of long flows from ideal hosts of one rate that share a link: they keep the phase in which they met.
pub(super) fn warn_of_phase(
    network: &Network,
    paths: &Paths<'_>,
    traffic: &Traffic,
    checker: &mut Checker<'_>,
) {
    if network.hosts != Hosts::Ideal {
        return;
    }
    let rates = network.topology.host_rates();
    let long = (0..).map(FlowId).zip(&traffic.flows).filter(|(_, flow)| flow.size == ENDLESS);
    // By link: the first host that sends a long flow over it.
    let mut first = BTreeMap::new();
    let shared = long.take(MOST_PAIRS).find_map(|(number, flow)| {
        let links = paths.path(number, flow.from, flow.to)?;
        links.into_iter().find(|link| {
            let other: HostId = *first.entry(*link).or_insert(flow.from);
            other != flow.from && rates[other.index()] == rates[flow.from.index()]
        })
    });
    if let Some(link) = shared {
        let link = network.topology.link_name(link);
        let message =
            format!("long flows of ideal hosts with one rate meet on \"{link}\" and keep their phase");
        let help =
            "their shares may say nothing of their congestion control: those of hosts = { real = {} } do not";
        let path = if checker.document.says("hosts") { "hosts" } else { "version" };
        checker.error(path, Diagnostic::warning(Code::Phase, message).help(help));
    }
}
