//! Priority-based flow control, checked.

use std::collections::BTreeSet;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::docs::INGRESS;
use narrows_sim::switch::{Pfc, Sharing, Xoff};
use narrows_sim::{LinkId, Network, NodeId};

use super::{Entry, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{At, Checker};
use crate::scenario::{Scenario, Switch, Traffic};

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "pfc",
    summary: "priority-based flow control: stops by class of packets",
    place: "switches.CLASS.pfc",
    source: "IEEE 802.1Qbb",
    about: &[INGRESS],
    settings: &["Pfc", "Xoff"],
}];

impl Mechanism for Home {
    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.pfc.as_ref().map(|_| "pfc")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        if let Some(pfc) = &switch.pfc {
            check(path, switch, pfc, checker);
        }
    }

    fn check_packets(&self, network: &Network, largest: Bytes, checker: &mut Checker<'_>) {
        check_headroom(network, largest, checker);
    }

    /// Neighbors pause whole links, or stop classes.
    fn check_network(&self, scenario: &Scenario, _: &Network, checker: &mut Checker<'_>) {
        let has = |what: fn(&Switch) -> bool| scenario.switches.values().any(what);
        if has(|switch| switch.pfc.is_some()) && has(|switch| switch.pause.is_some() && switch.pfc.is_none())
        {
            let message = "some switches pause whole links, others stop classes of packets";
            let error = Diagnostic::error(Code::Conflict, message).help("use pfc everywhere, or pause");
            checker.error("switches", error);
        }
        warn_of_idle_classes(scenario, checker);
    }
}

/// Warns of lossless priorities that no packet has.
fn warn_of_idle_classes(scenario: &Scenario, checker: &mut Checker<'_>) {
    let used: BTreeSet<u8> = scenario
        .traffic
        .iter()
        .flat_map(Traffic::priorities)
        .chain(super::all().flat_map(|mechanism| mechanism.priorities(scenario)))
        .collect();
    for (class, switch) in &scenario.switches {
        let priorities = switch.pfc.iter().flat_map(|pfc| &pfc.priorities);
        let Some(idle) = priorities.into_iter().find(|priority| !used.contains(priority)) else { continue };
        if scenario.traffic.is_empty() {
            return;
        }
        let message = format!("priority {idle} is lossless, but no traffic has it");
        let others: Vec<_> = used.iter().map(u8::to_string).collect();
        let help = format!("priorities of the traffic: {}; see traffic.NAME.priority", others.join(", "));
        let warning = Diagnostic::warning(Code::IdleClass, message).help(help);
        checker.error(&format!("switches.{class}.pfc.priorities"), warning);
    }
}

fn check(path: &str, switch: &Switch, pfc: &Pfc, checker: &mut Checker<'_>) {
    let mut at = At(checker, format!("{path}.pfc"));
    let size = switch.buffer.size;
    at.unless(!pfc.priorities.is_empty(), "priorities", "no priority, expected at least one of 0 to 7");
    for (number, priority) in pfc.priorities.iter().enumerate() {
        let message = format!("priority {priority}, expected 0 to 7");
        at.unless(*priority <= 7, "priorities", &message);
        let message = format!("priority {priority} twice");
        at.unless(!pfc.priorities[..number].contains(priority), "priorities", &message);
    }
    match pfc.xoff {
        Xoff::Alpha(alpha) => {
            let message = format!("alpha = {alpha}, expected above 0, at most 1024");
            at.unless(alpha > 0.0 && alpha <= 1024.0, "xoff.alpha", &message);
        }
        Xoff::Fixed(xoff) => {
            at.unless(xoff > Bytes::ZERO, "xoff.fixed", "fixed = 0 B, expected more");
            if xoff >= size {
                let message = format!("fixed = {xoff}, but the switch has {size} of packet memory");
                at.error("xoff.fixed", Diagnostic::error(Code::Threshold, message));
            }
            let message = format!("resume = {}, expected at most xoff.fixed = {xoff}", pfc.resume);
            at.unless(pfc.resume <= xoff, "resume", &message);
        }
    }
    at.unless(pfc.quanta > 0, "quanta", "quanta = 0, expected at least 1");
    at.unless(pfc.watchdog > Span::ZERO, "watchdog", "watchdog = 0 s, expected more");
    at.frame("frame", pfc.frame);
    if switch.pause.is_some() {
        let message = "pause stops whole links, pfc classes of packets: one of them is enough";
        at.0.error(&format!("{path}.pause"), Diagnostic::error(Code::Conflict, message));
    }
    if !matches!(switch.buffer.sharing, Sharing::Complete | Sharing::Dynamic(_)) {
        let message = "pfc shares memory among links that packets come over, not among ports";
        let error = Diagnostic::error(Code::Conflict, message);
        let help = "use sharing = \"complete\" or { dynamic = … }; it holds for priorities without pfc";
        at.0.error(&format!("{path}.buffer"), error.help(help));
    }
}

/// Checks what depends on the packets that are sent: whether memory suffices for headroom, and headroom for what arrives.
fn check_headroom(network: &Network, largest: Bytes, checker: &mut Checker<'_>) {
    for (node, inputs) in network.topology.inputs().iter().enumerate() {
        let Some(switch) = &network.switches[node] else { continue };
        let Some(pfc) = &switch.pfc else { continue };
        let name = &network.topology.node(NodeId::from(node)).name;
        let headroom = |link: &LinkId| network.headroom(*link, largest);
        let headrooms = inputs.iter().map(headroom).fold(Bytes::ZERO, Bytes::saturating_add);
        let (side, global) = (switch.has_side_class(), pfc.global_headroom(inputs.len(), largest));
        let size = switch.buffer.size;
        if pfc.pool(size, headrooms, inputs.len(), side, global).is_none() {
            let classes = pfc.classes(side);
            let largest_link = inputs.iter().max_by_key(|link| headroom(link));
            let longest = largest_link.map_or(String::new(), |link| {
                format!("; \"{}\" alone needs {}", network.topology.link_name(*link), headroom(link))
            });
            let message = format!(
                "\"{name}\" has {size} of packet memory, but {classes} lossless classes of {} links need {headrooms} of headroom \
                 each{longest}",
                inputs.len()
            );
            let help = "headroom holds what arrives after a class was stopped: rate times there and back, and three packets";
            checker.error("switches", Diagnostic::error(Code::Threshold, message).help(help));
            return;
        }
        let needs = |link: &LinkId| network.needed_headroom(*link, largest);
        let short = inputs.iter().find(|link| headroom(link) < needs(link));
        if let Some(link) = short {
            let message = format!(
                "headroom = {} at \"{name}\", but \"{}\" needs {}",
                headroom(link),
                network.topology.link_name(*link),
                needs(link)
            );
            let help = "leave `headroom` out; with less, packets may be dropped";
            checker.error("switches", Diagnostic::warning(Code::NotLossless, message).help(help));
            return;
        }
    }
}
