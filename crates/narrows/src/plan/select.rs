//! Choosing nodes, hosts and links by name.

use std::collections::BTreeMap;

use narrows_sim::topology::Topology;
use narrows_sim::{FlowId, HostId, LinkId, NodeId};

use super::Plan;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Names, matches};

/// The positions in `all` that any of `names` matches, in order. A name that matches nothing is a mistake.
fn select<'a>(
    names: &Names,
    all: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> Result<Vec<usize>, Diagnostic> {
    let mut selected = Vec::new();
    for pattern in names.iter() {
        let before = selected.len();
        selected.extend(
            all.clone().enumerate().filter(|(_, name)| matches(pattern, name)).map(|(index, _)| index),
        );
        if selected.len() == before {
            return Err(Diagnostic::error(Code::UnknownName, format!("no {what} is called \"{pattern}\""))
                .known(pattern, all));
        }
    }
    selected.sort_unstable();
    selected.dedup();
    Ok(selected)
}

/// The hosts with these names; all if there are none.
pub(crate) fn hosts(topology: &Topology, names: Option<&Names>) -> Result<Vec<HostId>, Diagnostic> {
    let all = topology.hosts().iter().map(|host| topology.node(*host).name.as_str());
    match names {
        None => Ok((0..topology.hosts().len()).map(HostId::from).collect()),
        Some(names) => Ok(select(names, all, "host")?.into_iter().map(HostId::from).collect()),
    }
}

/// The hosts with these names in the order of the names, as often as they are named; all if there are none.
pub(crate) fn hosts_in_order(topology: &Topology, names: Option<&Names>) -> Result<Vec<HostId>, Diagnostic> {
    let Some(names) = names else { return hosts(topology, None) };
    let named = names.iter().map(|name| hosts(topology, Some(&Names::One(name.to_owned()))));
    Ok(named.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The one host with this name.
pub(crate) fn host(topology: &Topology, name: &str) -> Result<HostId, Diagnostic> {
    match hosts(topology, Some(&Names::One(name.to_owned())))?[..] {
        [host] => Ok(host),
        ref several => {
            let message = format!("\"{name}\" stands for {} hosts, expected one", several.len());
            Err(Diagnostic::error(Code::Pairing, message))
        }
    }
}

/// The nodes with these names; all switches if there are none.
pub(crate) fn nodes(topology: &Topology, names: Option<&Names>) -> Result<Vec<NodeId>, Diagnostic> {
    let all = topology.nodes().iter().map(|node| node.name.as_str());
    match names {
        None => {
            Ok((0..all.len()).map(NodeId::from).filter(|node| topology.as_host(*node).is_none()).collect())
        }
        Some(names) => Ok(select(names, all, "node")?.into_iter().map(NodeId::from).collect()),
    }
}

/// The directed links with these names, `from -> to`.
pub(crate) fn links(topology: &Topology, names: &Names) -> Result<Vec<LinkId>, Diagnostic> {
    let all: Vec<_> =
        (0..topology.links().len()).map(|link| topology.link_name(LinkId::from(link))).collect();
    Ok(select(names, all.iter().map(String::as_str), "link")?.into_iter().map(LinkId::from).collect())
}

impl Plan {
    /// The directed links that any of these patterns matches, `from->to` with or without blanks, in order; `*` stands for any
    /// characters.
    ///
    /// # Errors
    /// If a pattern matches none: with the name most like it.
    pub fn links_called(&self, patterns: &[String]) -> Result<Vec<LinkId>, Diagnostic> {
        let spaced = |pattern: &String| match pattern.split_once("->") {
            Some((from, to)) => format!("{} -> {}", from.trim_end(), to.trim_start()),
            None => pattern.clone(),
        };
        links(&self.network.topology, &Names::Several(patterns.iter().map(spaced).collect()))
    }

    /// The flows with these numbers, and those of the traffic groups that any of these patterns matches, in order.
    ///
    /// # Errors
    /// If there is no flow of this number or no group of this name: with the name most like it.
    pub fn flows_called(&self, patterns: &[String]) -> Result<Vec<FlowId>, Diagnostic> {
        let mut selected = Vec::new();
        let names = self.groups.iter().map(|group| group.name.as_str());
        for pattern in patterns {
            let named = self.groups.iter().filter(|group| matches(pattern, &group.name));
            let before = selected.len();
            selected.extend(named.flat_map(|group| group.flows.clone()).map(FlowId::from));
            if selected.len() > before {
                continue;
            }
            let flows = self.traffic.flows.len();
            match pattern.parse::<u64>() {
                Ok(number) if number < flows as u64 => selected.push(FlowId::from(number as usize)),
                Ok(number) => {
                    let message = format!("there is no flow {number}, flows are 0 to {}", flows.max(1) - 1);
                    return Err(Diagnostic::error(Code::UnknownName, message));
                }
                Err(_) => {
                    let message = format!("no traffic group is called \"{pattern}\"");
                    return Err(Diagnostic::error(Code::UnknownName, message).known(pattern, names));
                }
            }
        }
        selected.sort_unstable();
        selected.dedup();
        Ok(selected)
    }
}

/// Where hosts are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// By host: a number for its rack (the switch it is attached to).
    pub(crate) rack: Vec<u32>,
    /// By host: a number for its data center, in order of names; those in none are together.
    pub(crate) dc: Vec<u32>,
}

impl Places {
    pub(crate) fn new(topology: &Topology) -> Self {
        let ports = topology.ports();
        let neighbor =
            |host: &NodeId| ports[host.index()].first().map_or(u32::MAX, |link| topology.link(*link).to.0);
        let mut numbers = BTreeMap::new();
        for host in topology.hosts() {
            numbers.insert(topology.datacenter(*host), 0);
        }
        numbers.values_mut().zip(0..).for_each(|(value, number)| *value = number);
        let dc = |host: &NodeId| numbers[&topology.datacenter(*host)];
        Self {
            rack: topology.hosts().iter().map(neighbor).collect(),
            dc: topology.hosts().iter().map(dc).collect(),
        }
    }
}
