//! Priority-based flow control and isolation of congested flows, checked.

use narrows_proto::units::{Bytes, Span};
use narrows_sim::mechanism::isolation::{Isolation, Marked, Scheme};
use narrows_sim::switch::{Pfc, Sharing, Xoff};
use narrows_sim::{LinkId, Network, NodeId};

use super::Checker;
use super::signals::At;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Scenario, Switch};

/// A port looks through its table for every packet.
const LARGEST_TABLE: u32 = 4096;

/// Checks numbers.
pub(super) fn check_switch(path: &str, switch: &Switch, checker: &mut Checker<'_>) {
    if let Some(pfc) = &switch.pfc {
        check_pfc(path, switch, pfc, checker);
    }
    if let Some(isolation) = &switch.isolation {
        check_isolation(path, switch, isolation, checker);
    }
}

fn check_pfc(path: &str, switch: &Switch, pfc: &Pfc, checker: &mut Checker<'_>) {
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

fn check_isolation(path: &str, switch: &Switch, isolation: &Isolation, checker: &mut Checker<'_>) {
    let Isolation { priority, detect, propagate_ingress, stop, go, table, share, .. } = *isolation;
    let mut at = At(checker, format!("{path}.isolation"));
    let size = switch.buffer.size;
    match &switch.pfc {
        None => {
            let message = "isolation needs pfc: neighbors are stopped by class";
            let error = Diagnostic::error(Code::Conflict, message).help(format!("add {path}.pfc = {{}}"));
            at.0.error(&format!("{path}.isolation"), error);
        }
        Some(pfc) if !pfc.priorities.contains(&priority) => {
            let message = format!("priority = {priority}, which is not one of pfc.priorities");
            at.error("priority", Diagnostic::error(Code::Conflict, message));
        }
        Some(_) => {}
    }
    for (key, threshold) in [
        ("detect", detect),
        ("propagate_egress", isolation.propagate_egress),
        ("propagate_ingress", propagate_ingress),
        ("stop", stop),
    ] {
        at.unless(threshold > Bytes::ZERO, key, &format!("{key} = 0 B, expected more"));
        if threshold >= size {
            let message = format!("{key} = {threshold}, but the switch has {size} of packet memory");
            at.error(key, Diagnostic::error(Code::Threshold, message));
        }
    }
    let mut ordered = |key: &str, low: Bytes, other: &str, high: Bytes| {
        if low > high {
            let message = format!("{key} = {low}, expected at most {other} = {high}");
            at.error(key, Diagnostic::error(Code::Threshold, message));
        }
    };
    ordered("go", go, "stop", stop);
    ordered("propagate_ingress", propagate_ingress, "stop", stop);
    if isolation.scheme == Scheme::Edvl && go <= detect {
        let message = format!("go = {go}, which is not above detect = {detect}");
        let warning = Diagnostic::warning(Code::GivesUp, message);
        at.error("go", warning.help("raise go and stop, or lower detect"));
    }
    let message = format!("table = {table}, expected 1 to {LARGEST_TABLE}");
    at.unless((1..=LARGEST_TABLE).contains(&table), "table", &message);
    let message = format!("share = {share}, expected at least 0, less than 1");
    at.unless((0.0..1.0).contains(&share), "share", &message);
    if isolation.mark == Marked::Isolated && !switch.marking.marks() {
        let message = "packets of isolated flows are to be marked, but the switch marks none";
        let error = Diagnostic::error(Code::Conflict, message);
        at.error("mark", error.help(format!("add {path}.marking, which says when")));
    }
    at.unless(isolation.messages > 0, "messages", "messages = 0, expected at least 1");
    at.frame("message_size", isolation.message_size);
}

/// Checks what depends on the whole network: neighbors that pause whole links.
pub(super) fn check_network(scenario: &Scenario, checker: &mut Checker<'_>) {
    let has = |what: fn(&Switch) -> bool| scenario.switches.values().any(what);
    if has(|switch| switch.pfc.is_some()) && has(|switch| switch.pause.is_some() && switch.pfc.is_none()) {
        let message = "some switches pause whole links, others stop classes of packets";
        let error = Diagnostic::error(Code::Conflict, message).help("use pfc everywhere, or pause");
        checker.error("switches", error);
    }
}

/// Checks what depends on the packets that are sent: whether memory suffices for headroom, and headroom for what arrives.
pub(super) fn check_with_traffic(network: &Network, largest: Bytes, checker: &mut Checker<'_>) {
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
