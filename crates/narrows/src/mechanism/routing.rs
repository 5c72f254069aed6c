//! Choice among shortest paths: classes with salts checked, polarization warned of.

use narrows_sim::topology::{NodeKind, Topology};
use narrows_sim::{Network, Polarization, Salt, docs};

use super::{Entry, Layout, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::Checker;
use crate::scenario::Scenario;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "routing",
    summary: "how switches choose among shortest paths: ECMP, D-mod-K, packet spraying; weighted ECMP, flowlets, adaptive choice",
    place: "routing, hash_salt",
    source: "RFC 2992",
    about: &[docs::ROUTING],
    settings: &["Routing", "Salt"],
}];

impl Mechanism for Home {
    fn check_network(&self, scenario: &Scenario, network: &Network, checker: &mut Checker<'_>) {
        let Salt::ByClass(salts) = &scenario.hash_salt else { return };
        let classes = classes(&network.topology);
        for class in salts.keys().filter(|class| !classes.contains(&class.as_str())) {
            let message = format!("no switch is of class \"{class}\"");
            let error = Diagnostic::error(Code::UnknownName, message).known(class, classes.iter().copied());
            checker.error(&format!("hash_salt.by_class.{class}"), error);
        }
    }

    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        if layout.network.salt.is_per_switch() {
            return;
        }
        let Some(Polarization { first, second, used, of }) = layout.paths.polarization() else { return };
        let [first, second] = [first, second].map(|node| &layout.network.topology.node(node).name);
        let message = format!(
            "\"{first}\" and \"{second}\" hash with the same salt: of {of} ports to one rack \"{second}\" uses {used} for the flows that \
             \"{first}\" sends to it (polarization)"
        );
        let help = "leave hash_salt out, or give the classes of switches on one path different salts";
        checker.error("hash_salt", Diagnostic::warning(Code::Polarized, message).help(help));
    }
}

/// Classes of switches, each once.
fn classes(topology: &Topology) -> Vec<&str> {
    let classes = topology.nodes().iter().filter_map(|node| match &node.kind {
        NodeKind::Switch { class, .. } => Some(class.as_str()),
        NodeKind::Host(_) => None,
    });
    let mut classes: Vec<_> = classes.collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}
