//! Report of a watchdog of priority-based flow control after a run: classes of packets that stayed stopped for long.

use narrows_proto::units::Span;
use narrows_sim::{LinkId, PortCounters, circle_of};

use super::Results;
use crate::diagnostic::{Code, Diagnostic};

impl Results {
    /// Stops of traffic for longer than the switches that caused them allow: a circle of links that wait for each other, links
    /// that were stuck when the run ended, and links that were held up before. The gravest alone; none if there is nothing.
    pub(super) fn watch(&self) -> Option<Diagnostic> {
        let held = self.beyond(|port| port.longest_stop);
        if held.is_empty() {
            return None;
        }
        let stuck = self.beyond(|port| port.stuck);
        let is_stuck = |link: LinkId| stuck.iter().any(|(other, _)| *other == link);
        let circle = circle_of(&self.plan.network.topology, is_stuck);
        let longest =
            |links: &[(LinkId, Span)]| links.iter().map(|(_, span)| *span).max().unwrap_or_default();
        let (links, message, help) = if let Some(circle) = circle {
            let message = format!(
                "deadlock: {} links in a cyclic buffer dependency, for {} when the run ended",
                circle.len(),
                longest(&stuck)
            );
            (circle, message, "packets that go up and then down form no cycle; other routes may")
        } else if stuck.is_empty() {
            let message = format!(
                "pause storm: packets waited at {} because their class was stopped, for up to {}",
                ports(held.len()),
                longest(&held)
            );
            (names(&held), message, "pfc.watchdog says from when on this is reported")
        } else {
            let message = format!(
                "packets still waited at {} when the run ended, because their class was stopped, for up to {}",
                ports(stuck.len()),
                longest(&stuck)
            );
            (names(&stuck), message, "pfc.watchdog says from when on this is reported")
        };
        let shown = links.iter().take(8).map(|link| self.plan.network.topology.link_name(*link));
        let more = if links.len() > 8 { ", …" } else { "" };
        let list = format!("{}{more}", shown.collect::<Vec<_>>().join(", "));
        Some(Diagnostic::warning(Code::HeldUp, format!("{message}: {list}")).help(help))
    }

    /// Links for which `span` exceeds what the switch they lead to allows, longest first.
    fn beyond(&self, span: impl Fn(&PortCounters) -> Span) -> Vec<(LinkId, Span)> {
        let network = &self.plan.network;
        let allowed = |link: LinkId| {
            let to = network.topology.link(link).to;
            network.switches[to.index()]
                .as_ref()
                .and_then(|switch| switch.pfc.as_ref())
                .map(|pfc| pfc.watchdog)
        };
        let links = self.ports.iter().enumerate().map(|(number, port)| (LinkId::from(number), span(port)));
        let mut beyond: Vec<_> =
            links.filter(|(link, span)| allowed(*link).is_some_and(|allowed| *span > allowed)).collect();
        beyond.sort_by_key(|(link, span)| (std::cmp::Reverse(*span), *link));
        beyond
    }
}

fn names(links: &[(LinkId, Span)]) -> Vec<LinkId> {
    links.iter().map(|(link, _)| *link).collect()
}

fn ports(count: usize) -> String {
    if count == 1 { "one port".into() } else { format!("{count} ports") }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use crate::document::Document;
    use crate::plan::Plan;
    use crate::run::{Options, run};

    fn held_up(scenario: &str) -> Option<String> {
        let plan = Plan::new(Document::parse("test.toml", scenario, "").unwrap()).unwrap();
        let results = run(&Arc::new(plan), Options::default(), |_| ControlFlow::Continue(())).unwrap();
        results.held_up.map(|diagnostic| diagnostic.message)
    }

    /// Five switches in a ring with a host each, which sends to the second next.
    fn ring(flows: &str) -> String {
        let list = |of: fn(usize) -> String| (0..5).map(of).collect::<Vec<_>>().join(", ");
        let hosts = list(|n| format!("\"h{n}\", \"g{n}\""));
        let switches = list(|n| format!("{{ name = \"s{n}\", class = \"ring\", tier = 0 }}"));
        let link = "rate = \"10 Gb/s\", delay = \"1 us\"";
        let links: Vec<_> = (0..5)
            .flat_map(|n| {
                let ends = [(format!("h{n}"), n), (format!("g{n}"), n), (format!("s{n}"), (n + 1) % 5)];
                ends.map(|(from, to)| format!("{{ between = [\"{from}\", \"s{to}\"], {link} }}"))
            })
            .collect();
        format!(
            r#"
            version = 1
            name = "ring"
            stop = {{ after = "40 ms" }}
            [topology.explicit]
            hosts = [{hosts}]
            switches = [{switches}]
            links = [{}]
            [switches.default]
            buffer = {{ size = "1 MB", sharing = "complete" }}
            pfc = {{ xoff = {{ fixed = "20 kB" }} }}
            {flows}"#,
            links.join(", ")
        )
    }

    fn flows(from: usize, to: usize) -> String {
        format!(
            r#"
            [[traffic]]
            name = "to{to}from{from}"
            pattern = {{ long_lived = {{ flows = 2, size = "3 MB", from = ["h{from}", "g{from}"], to = "h{to}" }} }}
            rdma = {{}}
            cc = {{ fixed = {{}} }}"#
        )
    }

    #[test]
    fn a_deadlock_is_named_hop_by_hop() {
        let all: String = (0..5).map(|n| flows(n, (n + 2) % 5)).collect();
        let message = held_up(&ring(&all)).expect("a deadlock");
        assert!(message.starts_with("deadlock: 5 links in a cyclic buffer dependency"), "{message}");
        for n in 0..5 {
            assert!(message.contains(&format!("s{n} -> s{}", (n + 1) % 5)), "{message}");
        }
    }

    #[test]
    fn traffic_that_flows_is_not_reported() {
        assert_eq!(held_up(&ring(&flows(0, 2))), None);
    }
}
