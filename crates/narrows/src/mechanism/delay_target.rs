//! Targets of queueing delay, held against the time that packets take on the links.

use narrows_proto::units::{Bytes, Span};
use narrows_sim::LinkId;
use narrows_sim::switch::SwitchConfig;
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::Group;

use super::Layout;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::Checker;

/// Warns of classes of switches that have a port where two packets take longer than a time that packets may wait. `key` leads to it within
/// the settings of the class.
pub(super) fn warn(
    &Layout { scenario, network, traffic, .. }: &Layout<'_>,
    key: &str,
    target: fn(&SwitchConfig) -> Option<Span>,
    checker: &mut Checker<'_>,
) {
    let topology = &network.topology;
    let largest = traffic.groups.iter().map(Group::largest_packet).max().unwrap_or(Bytes::ZERO);
    let mut warned = Vec::new();
    for ((node, switch), ports) in topology.nodes().iter().zip(&network.switches).zip(topology.ports()) {
        let Some(target) = switch.as_ref().and_then(target) else { continue };
        let NodeKind::Switch { class, .. } = &node.kind else { continue };
        let rate = |link: &LinkId| topology.link(*link).wire.rate;
        let Some(slowest) = ports.into_iter().min_by_key(rate) else { continue };
        let two_packets = rate(&slowest).time_to_send(largest) * 2;
        if target >= two_packets || warned.contains(class) {
            continue;
        }
        warned.push(class.clone());
        let message = format!(
            "{} = {target}, but two packets of {largest} take {two_packets} on \"{}\", a link of {}",
            key.rsplit('.').next().unwrap_or(key),
            topology.link_name(slowest),
            rate(&slowest)
        );
        let help = "raise it; switches with faster links may be a class of their own";
        let class = if scenario.switches.contains_key(class) { class } else { "default" };
        let warning = Diagnostic::warning(Code::ShortTarget, message).help(help);
        checker.error(&format!("switches.{class}.{key}"), warning);
    }
}
