//! Signals of switches to neighbors and sources: whether they need ports with queues, and where they may stop traffic for good.

use narrows_proto::units::Bytes;
use narrows_sim::switch::SwitchConfig;
use narrows_sim::topology::Topology;
use narrows_sim::traffic::{Group, Traffic};
use narrows_sim::{LinkId, Network, Paths};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::mechanism;
use crate::scenario::Scenario;

/// The need for ports with queues: its key, and the class of the first switch that has it.
pub(super) fn signals(scenario: &Scenario) -> Option<(&'static str, &str)> {
    scenario.switches.iter().find_map(|(class, switch)| {
        let needs = mechanism::all().find_map(|mechanism| mechanism.needs_queues(switch));
        Some((needs.or_else(|| switch.marking.at_dequeue().then_some("marking"))?, class.as_str()))
    })
}

/// Checks what depends on the packets that are sent.
pub(super) fn check_with_traffic(
    scenario: &Scenario,
    network: &Network,
    traffic: &Traffic,
    checker: &mut Checker<'_>,
) {
    let largest = traffic.groups.iter().map(Group::largest_packet).max().unwrap_or(Bytes::ZERO);
    mechanism::all().for_each(|mechanism| mechanism.check_packets(network, largest, checker));
    mechanism::all().for_each(|mechanism| mechanism.check_buckets(scenario, largest, checker));
    warn_of_deadlock(network, checker);
}

/// Warns of cyclic buffer dependencies.
fn warn_of_deadlock(network: &Network, checker: &mut Checker<'_>) {
    if !network.switches.iter().flatten().any(SwitchConfig::pauses) {
        return;
    }
    let pauses = |link: LinkId| {
        let to = network.topology.link(link).to;
        network.switches[to.index()].as_ref().is_some_and(SwitchConfig::pauses)
    };
    let Some(circle) = Paths::of(network, 0).circle(pauses) else { return };
    let names: Vec<_> = circle.iter().take(8).map(|link| name(&network.topology, *link)).collect();
    let message = "PAUSE may stop traffic for good: links form a cyclic buffer dependency";
    let more = if circle.len() > names.len() { ", …" } else { "" };
    let warning = Diagnostic::warning(Code::Deadlock, message).help(format!("{}{more}", names.join(", ")));
    checker.error("switches", warning);
}

fn name(topology: &Topology, link: LinkId) -> String {
    format!("\"{}\"", topology.link_name(link))
}
