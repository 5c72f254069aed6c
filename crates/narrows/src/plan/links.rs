use narrows_sim::{LinkId, topology as sim};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};

/// All links from one node to another, by their names at `path`. None is a mistake.
pub(super) fn links_between(
    topology: &sim::Topology,
    ends: &(String, String),
    path: &str,
    checker: &mut Checker<'_>,
) -> Vec<LinkId> {
    let nodes = topology.by_name();
    let mut end = |name: &str, index: usize| {
        let node = nodes.get(name).copied();
        if node.is_none() {
            let error = Diagnostic::error(Code::UnknownName, format!("no node is called \"{name}\""));
            checker.error(&format!("{path}.{index}"), error.known(name, nodes.keys().copied()));
        }
        node
    };
    let (Some(from), Some(to)) = (end(&ends.0, 0), end(&ends.1, 1)) else { return Vec::new() };
    let links = topology.links().iter().enumerate();
    let links =
        links.filter(|(_, link)| link.from == from && link.to == to).map(|(link, _)| LinkId::from(link));
    let links: Vec<_> = links.collect();
    if links.is_empty() {
        let message = format!("no link joins \"{}\" and \"{}\"", ends.0, ends.1);
        checker.error(path, Diagnostic::error(Code::UnknownName, message));
    }
    links
}
