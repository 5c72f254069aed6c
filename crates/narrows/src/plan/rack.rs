//! JumboFlows (RackCC), checked: switches of racks that keep their state, and flows that share it.

use narrows_proto::cc::Ranges;
use narrows_proto::units::{Bytes, Span};
use narrows_sim::mechanism::rackcc::RackAgent;
use narrows_sim::traffic::Traffic;
use narrows_sim::{HostId, IdealPath, Network, Paths};

use super::Checker;
use super::signals::At;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::Switch;

/// The most entries of a table.
const MOST_SUBFLOWS: u32 = 1 << 24;
/// The most JumboFlows to one rack.
const MOST_JUMBOFLOWS: u32 = 64;

/// Checks numbers.
pub(super) fn check_switch(path: &str, switch: &Switch, checker: &mut Checker<'_>) {
    let Some(agent) = &switch.rack_agent else { return };
    let mut at = At(checker, format!("{path}.rack_agent"));
    let ranges = &mut Ranges::default();
    for (table, checked) in
        [("jumboflow", agent.jumboflow.check(ranges)), ("receivers", agent.receivers.check(ranges))]
    {
        if let Err(error) = checked {
            let key = format!("{table}.{}", error.setting);
            at.error(&key, Diagnostic::error(Code::OutOfRange, error.to_string()));
        }
    }
    let RackAgent { jumboflows, table, expiry, message_size, message_priority: priority, .. } = *agent;
    let message = format!("jumboflows = {jumboflows}, expected 1 to {MOST_JUMBOFLOWS}");
    at.unless((1..=MOST_JUMBOFLOWS).contains(&jumboflows), "jumboflows", &message);
    let message = format!("table = {table}, expected 1 to {MOST_SUBFLOWS}");
    at.unless((1..=MOST_SUBFLOWS).contains(&table), "table", &message);
    let (shortest, longest) = (Span::from_us(10), Span::from_secs(3600));
    let message = format!("expiry = {expiry}, expected {shortest} to {longest}");
    at.unless((shortest..=longest).contains(&expiry), "expiry", &message);
    at.frame("message_size", message_size);
    at.unless(priority <= 7, "message_priority", &format!("message_priority = {priority}, expected 0 to 7"));
}

/// Refuses subflows of racks whose switch keeps no state, and warns of periods that are longer than a round trip.
pub(super) fn check(network: &Network, paths: &Paths<'_>, traffic: &Traffic, checker: &mut Checker<'_>) {
    let topology = &network.topology;
    let ports = topology.ports();
    let agent = |host: HostId| {
        let port = ports[topology.hosts()[host.index()].index()].first()?;
        let switch = topology.link(*port).to;
        Some((switch, network.switches[switch.index()].as_ref()?.rackcc.as_ref()))
    };
    for (number, group) in traffic.groups.iter().enumerate().filter(|(_, group)| group.transport.needs_rack())
    {
        let path = format!("traffic.{number}.cc");
        let mut shortest: Option<(Span, Span)> = None;
        let mut pairs: Vec<_> = traffic
            .flows
            .iter()
            .filter(|flow| flow.group.index() == number)
            .map(|flow| (flow.from, flow.to))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let without = pairs.iter().flat_map(|(from, to)| [*from, *to]).find_map(|host| match agent(host) {
            Some((_, Some(_))) => None,
            Some((switch, None)) => Some((host, Some(switch))),
            None => Some((host, None)),
        });
        if let Some((host, switch)) = without {
            let name = topology.host_name(host);
            let (message, help) = match switch {
                Some(switch) => {
                    let node = topology.node(switch);
                    let class = match &node.kind {
                        narrows_sim::topology::NodeKind::Switch { class, .. } => class.as_str(),
                        narrows_sim::topology::NodeKind::Host(_) => "tor",
                    };
                    (
                        format!(
                            "traffic \"{}\" is under rackcc, but \"{}\", the switch of {name}, has no rack agent",
                            group.name, node.name
                        ),
                        format!("add rack_agent = {{}} to [switches.{class}]"),
                    )
                }
                None => (
                    format!("traffic \"{}\" is under rackcc, but {name} has no switch", group.name),
                    "rackcc needs racks: hosts behind a switch".to_owned(),
                ),
            };
            checker.error(&path, Diagnostic::error(Code::NoRackAgent, message).help(help));
            continue;
        }
        let packet = group.transport.packet_size(group.transport.full_payload());
        for (from, to) in pairs.iter().copied().take(MOST_PAIRS) {
            let flow = narrows_sim::FlowId(0);
            let (Some(forth), Some(back)) = (paths.path(flow, from, to), paths.path(flow, to, from)) else {
                continue;
            };
            let rtt = IdealPath::new(network, &forth).packet_time(packet)
                + IdealPath::new(network, &back).packet_time(Bytes::new(84));
            let period =
                agent(from).and_then(|(_, agent)| agent).map_or(Span::ZERO, |agent| agent.jumboflow.period);
            if period > rtt && shortest.is_none_or(|(known, _)| rtt < known) {
                shortest = Some((rtt, period));
            }
        }
        if let Some((rtt, period)) = shortest {
            let message = format!(
                "hosts of traffic \"{}\" receive reports of their JumboFlow each {period}, but a round trip takes {rtt}",
                group.name
            );
            let help = "rates follow marks of long ago: shorten rack_agent.jumboflow.period";
            checker.error(&path, Diagnostic::warning(Code::Assumption, message).help(help));
        }
    }
}

/// Of a group with more pairs of hosts, so many are looked at.
const MOST_PAIRS: usize = 2_000;
