//! Networks of nodes and links one by one, checked.

use std::collections::BTreeMap;

use narrows_sim::NodeId;
use narrows_sim::topology::{Topology, Wire};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Explicit, ExplicitLink};
use crate::visible::visible;

/// No network has more levels of switches.
const HIGHEST_TIER: u32 = 32;

/// Builds the network. None if there are mistakes.
pub(super) fn build(explicit: &Explicit, checker: &mut Checker<'_>) -> Option<Topology> {
    let before = checker.mistakes();
    let mut topology = Topology::default();
    let nodes = nodes(explicit, &mut topology, checker)?;
    for (number, link) in explicit.links.iter().enumerate() {
        if checker.is_full() {
            return None;
        }
        let path = format!("topology.explicit.links.{number}");
        connect(link, &path, &nodes, &mut topology, checker);
    }
    if checker.mistakes() > before {
        return None;
    }
    let ports = topology.ports();
    for (number, host) in topology.hosts().iter().enumerate() {
        let ports = ports[host.index()].len();
        if ports != 1 {
            let name = &topology.node(*host).name;
            let message = format!("host \"{name}\" has {ports} links, expected 1");
            checker.error(
                &format!("topology.explicit.hosts.{number}"),
                Diagnostic::error(Code::Topology, message),
            );
        }
    }
    if topology.hosts().is_empty() {
        checker.error("topology.explicit", Diagnostic::error(Code::Topology, "a network without hosts"));
    }
    (checker.mistakes() == before).then_some(topology)
}

/// Adds hosts and switches. By name: which node it is. None if there are too many mistakes.
fn nodes<'a>(
    explicit: &'a Explicit,
    topology: &mut Topology,
    checker: &mut Checker<'_>,
) -> Option<BTreeMap<&'a str, NodeId>> {
    let mut nodes = BTreeMap::new();
    let mut named = |name: &'a str, path: String, node, checker: &mut Checker<'_>| {
        if name.is_empty() {
            checker.error(&path, Diagnostic::error(Code::Topology, "a node without a name"));
        } else if *visible(name) != *name {
            let message = format!("the node name \"{name}\" has control characters");
            checker.error(&path, Diagnostic::error(Code::OutOfRange, message));
        } else if nodes.insert(name, node).is_some() {
            checker
                .error(&path, Diagnostic::error(Code::Duplicate, format!("two nodes are called \"{name}\"")));
        }
    };
    for (number, name) in explicit.hosts.iter().enumerate() {
        if checker.is_full() {
            return None;
        }
        let node = topology.add_host(name.as_str());
        named(name, format!("topology.explicit.hosts.{number}"), node, checker);
    }
    for (number, switch) in explicit.switches.iter().enumerate() {
        if checker.is_full() {
            return None;
        }
        let node = topology.add_switch(switch.name.as_str(), &switch.class, switch.tier);
        let path = format!("topology.explicit.switches.{number}");
        if switch.tier > HIGHEST_TIER {
            let message = format!("tier = {}, expected at most {HIGHEST_TIER}", switch.tier);
            checker.error(&format!("{path}.tier"), Diagnostic::error(Code::Topology, message));
        }
        named(&switch.name, format!("{path}.name"), node, checker);
    }
    Some(nodes)
}

fn connect(
    link: &ExplicitLink,
    path: &str,
    nodes: &BTreeMap<&str, NodeId>,
    topology: &mut Topology,
    checker: &mut Checker<'_>,
) {
    checker.link_rate(&format!("{path}.rate"), link.rate);
    checker.delay(&format!("{path}.delay"), link.delay);
    checker.error_rate(&format!("{path}.error_rate"), link.error_rate);
    let mut end = |name: &str, index: usize| {
        let node = nodes.get(name).copied();
        if node.is_none() {
            let error = Diagnostic::error(Code::UnknownName, format!("no node is called \"{name}\""));
            checker.error(&format!("{path}.between.{index}"), error.known(name, nodes.keys().copied()));
        }
        node
    };
    let (from, to) = (end(&link.between.0, 0), end(&link.between.1, 1));
    if from.is_some() && from == to {
        let error = Diagnostic::error(Code::Topology, "a link joins a node to itself");
        checker.error(&format!("{path}.between"), error);
    }
    if let (Some(from), Some(to)) = (from, to) {
        let wire = Wire { rate: link.rate, delay: link.delay, error_rate: link.error_rate };
        topology.connect(from, to, wire);
    }
}
