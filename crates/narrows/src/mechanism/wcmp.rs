//! Weighted ECMP, checked; patterns of its weights looked up.

use narrows_proto::cc::Ranges;
use narrows_sim::mechanism::wcmp::{DOCS, LinkWeight, MOST_ENTRIES, Wcmp};
use narrows_sim::topology::Topology;
use narrows_sim::{LinkId, Network, NodeId, Routing};

use super::{Declare, Entry, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{At, Checker};
use crate::scenario::{Scenario, matches};

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "wcmp",
    summary: "weighted ECMP: flows in proportion to the capacity downstream, or to weights of links",
    place: "routing.wcmp",
    source: "Zhou et al., EuroSys 2014",
    about: DOCS,
    settings: &["Wcmp", "LinkWeight"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Wcmp", &|ranges| Wcmp::default().check(ranges));
    }

    fn check_network(&self, scenario: &Scenario, _: &Network, checker: &mut Checker<'_>) {
        if let Routing::Wcmp(wcmp) = &scenario.routing {
            checker.in_range("routing.wcmp", wcmp.check(&mut Ranges::default()));
        }
    }
}

/// The rule with the links that its weights name. Of several weights of a link the last holds.
pub(crate) fn with_weights(routing: &Routing, topology: &Topology, checker: &mut Checker<'_>) -> Routing {
    let Routing::Wcmp(wcmp) = routing else { return routing.clone() };
    let mut wcmp = wcmp.clone();
    for (number, weight) in wcmp.weights.iter().enumerate() {
        let mut at = At(checker, format!("routing.wcmp.weights.{number}"));
        for link in links(weight, topology, &mut at) {
            wcmp.by_link.insert(link, weight.weight);
        }
        let LinkWeight { weight, .. } = weight;
        let message = format!("weight = {weight}, expected 1 to {MOST_ENTRIES}");
        at.unless((1..=MOST_ENTRIES).contains(weight), "weight", &message);
    }
    Routing::Wcmp(wcmp)
}

/// Links between switches that a weight names. None is a mistake.
fn links(LinkWeight { from, to, .. }: &LinkWeight, topology: &Topology, at: &mut At<'_, '_>) -> Vec<LinkId> {
    let is_switch = |node: NodeId| topology.as_host(node).is_none();
    let fits = |pattern: &str, node: NodeId| is_switch(node) && matches(pattern, &topology.node(node).name);
    let nodes = || (0..topology.nodes().len()).map(NodeId::from);
    let mut known = true;
    for (key, pattern) in [("from", from), ("to", to)] {
        if !nodes().any(|node| fits(pattern, node)) {
            let message = format!("no switch is called \"{pattern}\"");
            let switches =
                nodes().filter(|node| is_switch(*node)).map(|node| topology.node(node).name.as_str());
            at.error(key, Diagnostic::error(Code::UnknownName, message).known(pattern, switches));
            known = false;
        }
    }
    let links = (0..topology.links().len()).map(LinkId::from);
    let links: Vec<_> = links
        .filter(|link| {
            let link = topology.link(*link);
            fits(from, link.from) && fits(to, link.to)
        })
        .collect();
    if known && links.is_empty() {
        let message = format!("no link leads from \"{from}\" to \"{to}\"");
        at.error("from", Diagnostic::error(Code::UnknownName, message));
    }
    links
}
