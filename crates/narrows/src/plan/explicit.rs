//! Networks of nodes and links one by one, checked.

use std::collections::BTreeMap;

use narrows_sim::NodeId;
use narrows_sim::topology::{Topology, Wire, datacenter_in};

use super::{Checker, select};
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
    place(explicit, &mut topology, checker);
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
    let reverse_rate = link.reverse_rate.unwrap_or(link.rate);
    checker.link_rate(&format!("{path}.reverse_rate"), reverse_rate);
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
        topology.connect_by(from, to, wire, Wire { rate: reverse_rate, ..wire });
    }
}

/// Puts nodes into their data centers: those that the scenario lists, or else those in their names.
fn place(explicit: &Explicit, topology: &mut Topology, checker: &mut Checker<'_>) {
    let Some(datacenters) = &explicit.datacenters else {
        for number in 0..topology.nodes().len() {
            let node = NodeId::from(number);
            if let Some(datacenter) = datacenter_in(&topology.node(node).name).map(str::to_owned) {
                topology.place([node], &datacenter);
            }
        }
        return;
    };
    for (name, nodes) in datacenters {
        let path = format!("topology.explicit.datacenters.{name}");
        let error = match select::nodes(topology, Some(nodes)) {
            Err(error) => Some(error),
            Ok(nodes) => {
                let other =
                    nodes.iter().find_map(|node| Some((*node, topology.datacenter(*node)?.to_owned())));
                topology.place(nodes, name);
                other.map(|(node, other)| {
                    let node = &topology.node(node).name;
                    let message = format!("\"{node}\" is in two data centers: \"{other}\" and \"{name}\"");
                    Diagnostic::error(Code::Duplicate, message)
                })
            }
        };
        if let Some(error) = error {
            checker.error(&path, error);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use crate::plan::{Plan, Segment};

    /// Two hosts on each side of a link.
    fn planned(datacenters: &str) -> Result<Plan, String> {
        planned_as(datacenters, str::to_owned)
    }

    fn planned_as(datacenters: &str, renamed: impl Fn(&str) -> String) -> Result<Plan, String> {
        let text = format!(
            r#"
            version = 1
            name = "sides"
            stop.after = "1 ms"
            [topology.explicit]
            hosts = ["east/host0", "west/host0"]
            switches = [{{ name = "east/switch" }}, {{ name = "west/switch" }}]
            {datacenters}
            [[topology.explicit.links]]
            between = ["east/host0", "east/switch"]
            rate = "10 Gb/s"
            delay = "1 us"
            [[topology.explicit.links]]
            between = ["east/switch", "west/switch"]
            rate = "10 Gb/s"
            delay = "1 ms"
            [[topology.explicit.links]]
            between = ["west/switch", "west/host0"]
            rate = "10 Gb/s"
            delay = "1 us"
            [[traffic]]
            name = "all"
            pattern.permutation = {{}}
            cc.reno = {{}}
            "#
        );
        let document = Document::parse("sides.toml", renamed(&text), "").expect("TOML");
        Plan::new(document).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scenario_says_which_nodes_are_in_which_data_center() {
        use Segment::{Dc, Wan};
        let plan =
            planned("datacenters = { a = \"east/*\", b = [\"west/switch\", \"west/host*\"] }").unwrap();
        let segments = plan.segments.expect("two data centers");
        assert_eq!(segments.into_iter().step_by(2).collect::<Vec<_>>(), [Dc, Wan, Dc]);
        assert_eq!(planned("").unwrap().segments, None, "these names do not begin with dc");
    }

    #[test]
    fn a_link_may_be_slower_in_one_direction() {
        let slow = |text: &str| {
            text.replacen("rate = \"10 Gb/s\"", "rate = \"10 Gb/s\"\nreverse_rate = \"1 Mb/s\"", 1)
        };
        let plan = planned_as("", slow).unwrap();
        let rates = |plan: &Plan| {
            let links = plan.network.topology.links().iter();
            links.map(|link| link.wire.rate.as_bps()).collect::<Vec<_>>()
        };
        let gbps = 1_000_000_000;
        assert_eq!(rates(&plan), [10 * gbps, 1_000_000, 10 * gbps, 10 * gbps, 10 * gbps, 10 * gbps]);
        let again = Plan::new(Document::parse("again.toml", plan.text.clone(), "").unwrap()).unwrap();
        assert_eq!((rates(&again), again.text), (rates(&plan), plan.text));
        let none = |text: &str| slow(text).replace("1 Mb/s", "0 b/s");
        let error = planned_as("", none).expect_err("refused");
        assert!(error.contains("0 b/s, expected 1 kb/s to 100 Tb/s"), "{error}");
    }

    #[test]
    fn what_names_tell_is_stored() {
        let sides = |text: &str| text.replace("east/", "dc-east/").replace("west/", "dc-west/");
        let stored = |plan: &Plan| {
            let value: toml::Value = toml::from_str(&plan.text).expect("TOML");
            value["topology"]["explicit"]["datacenters"].to_string()
        };
        assert_eq!(stored(&planned("").unwrap()), "{}");
        let plan = planned_as("", sides).unwrap();
        assert_eq!(stored(&plan), "{ dc-east = \"dc-east/*\", dc-west = \"dc-west/*\" }");
        assert!(plan.segments.is_some());
    }

    #[test]
    fn a_node_is_in_one_data_center_and_data_centers_have_nodes() {
        let twice = planned("datacenters = { a = \"*\", b = \"west/*\" }").expect_err("refused");
        assert!(twice.contains("\"west/host0\" is in two data centers: \"a\" and \"b\""), "{twice}");
        let none = planned("datacenters = { a = \"south/*\" }").expect_err("refused");
        assert!(none.contains("no node is called \"south/*\""), "{none}");
    }
}
