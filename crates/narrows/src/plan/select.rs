//! Choosing nodes, hosts and links by name.

use std::collections::BTreeMap;

use narrows_sim::topology::{Topology, datacenter};
use narrows_sim::{HostId, LinkId, NodeId};

use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::Names;

/// Whether `name` has the form of `pattern`, in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

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

/// Where hosts are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// By host: a number for its rack (the switch it is attached to).
    pub(crate) rack: Vec<u32>,
    /// By host: a number for its data center, in order of names.
    pub(crate) dc: Vec<u32>,
}

impl Places {
    pub(crate) fn new(topology: &Topology) -> Self {
        let ports = topology.ports();
        let neighbour =
            |host: &NodeId| ports[host.index()].first().map_or(u32::MAX, |link| topology.link(*link).to.0);
        let mut numbers = BTreeMap::new();
        for host in topology.hosts() {
            numbers.insert(datacenter(&topology.node(*host).name), 0);
        }
        numbers.values_mut().zip(0..).for_each(|(value, number)| *value = number);
        let dc = |host: &NodeId| numbers[datacenter(&topology.node(*host).name)];
        Self {
            rack: topology.hosts().iter().map(neighbour).collect(),
            dc: topology.hosts().iter().map(dc).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let yes = [
            ("dc0/*", "dc0/rack1/host2"),
            ("*", ""),
            ("*tor", "rack0/tor"),
            ("dc*/host1", "dc1/rack1/host1"),
            ("a", "a"),
        ];
        assert!(yes.iter().all(|(pattern, name)| matches(pattern, name)));
        let no = [("dc0/*", "dc1/host"), ("a", "ab"), ("*tor", "tor0"), ("a*b*c", "acb"), ("", "x")];
        assert!(no.iter().all(|(pattern, name)| !matches(pattern, name)));
    }
}
