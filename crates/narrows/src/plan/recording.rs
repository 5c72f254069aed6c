//! Data to record besides flows, checked.

use narrows_proto::units::Span;
use narrows_sim::{FlowId, Network, NodeId};

use super::planned::{Expected, Plan, Recording};
use super::traffic::PlannedTraffic;
use super::{Checker, select};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::Document;
use crate::mechanism::list::mechanisms;
use crate::scenario::{OfNodes, RecordFlows, RecordPorts, Scenario, matches};

pub(super) fn recording(
    scenario: &Scenario,
    network: &Network,
    planned: &PlannedTraffic,
    checker: &mut Checker<'_>,
) -> Recording {
    let record = &scenario.record;
    let mut recording = Recording::default();
    let out_ports = network.topology.ports();
    let ports = |key: &str, record: &RecordPorts, checker: &mut Checker<'_>| {
        let path = format!("record.{key}");
        check_interval(&path, record.interval, scenario, checker);
        match select::nodes(&network.topology, record.of.as_ref()) {
            Ok(nodes) => {
                let mut links: Vec<_> =
                    nodes.iter().flat_map(|node| out_ports[node.index()].iter().copied()).collect();
                links.sort_unstable();
                Some((record.interval, links))
            }
            Err(error) => {
                checker.error(&format!("{path}.of"), error);
                None
            }
        }
    };
    recording.queues = record.queues.as_ref().and_then(|queues| ports("queues", queues, checker));
    recording.links = record.links.as_ref().and_then(|links| ports("links", links, checker));
    macro_rules! of_mechanisms {
        ($($mechanism:ident: $about:literal $key:ident: $written:ident of $rows:ty,)*) => {
            $(if let Some(record) = &record.$key {
                recording.$key = nodes(stringify!($key), record, scenario, network, checker);
            })*
        };
    }
    mechanisms!(record => of_mechanisms);
    let mut flows = |key: &str, record: &Option<RecordFlows>| {
        let path = format!("record.{key}");
        record.as_ref().map(|record| recorded_flows(&path, record, scenario, planned, checker))
    };
    recording.windows = flows("windows", &record.windows);
    recording.state = flows("state", &record.state);
    recording
}

/// Of which nodes something is recorded, and how often.
fn nodes(
    key: &str,
    record: &impl OfNodes,
    scenario: &Scenario,
    network: &Network,
    checker: &mut Checker<'_>,
) -> Option<(Span, Vec<NodeId>)> {
    let path = format!("record.{key}");
    if let Some(interval) = record.interval() {
        check_interval(&path, interval, scenario, checker);
    }
    let nodes = select::nodes(&network.topology, record.names().as_ref());
    let nodes = nodes.map_err(|error| checker.error(&format!("{path}.of"), error)).ok()?;
    Some((record.interval().unwrap_or_default(), nodes))
}

/// Which flows are recorded, and how often.
fn recorded_flows(
    path: &str,
    record: &RecordFlows,
    scenario: &Scenario,
    planned: &PlannedTraffic,
    checker: &mut Checker<'_>,
) -> (Span, Vec<FlowId>) {
    check_interval(path, record.interval, scenario, checker);
    // Those with mistakes, too, which are not planned.
    let names = scenario.traffic.iter().map(|group| group.name.as_str());
    let of: Vec<_> = record.of.iter().flat_map(|of| of.iter()).collect();
    for (number, name) in of.iter().enumerate() {
        if !names.clone().any(|group| matches(name, group)) {
            let error =
                Diagnostic::error(Code::UnknownName, format!("no traffic group is called \"{name}\""));
            let path = if of.len() == 1 { format!("{path}.of") } else { format!("{path}.of.{number}") };
            checker.error(&path, error.known(name, names.clone()));
        }
    }
    let most = record.flows.0 as usize;
    let chosen = planned.groups.iter().filter(|group| record.has(&group.name));
    let flows = chosen.flat_map(|group| group.flows.clone().take(most));
    (record.interval, flows.map(FlowId::from).collect())
}

fn check_interval(path: &str, interval: Span, scenario: &Scenario, checker: &mut Checker<'_>) {
    const MOST: u64 = 100_000_000;
    let shortest = (scenario.stop.after + scenario.stop.drain) / MOST;
    if interval == Span::ZERO || interval < shortest {
        let message =
            format!("interval = {interval}, expected more than {shortest} for a run of this length");
        checker.error(&format!("{path}.interval"), Diagnostic::error(Code::OutOfRange, message));
    }
}

impl Plan {
    /// Notes on groups whose flows are recorded only in part, unless the document says how many are.
    pub(crate) fn cut_flows(&self, document: &Document) -> Vec<Diagnostic> {
        let record = &self.scenario.record;
        let of = [("windows", "windows are", &record.windows), ("state", "states are", &record.state)];
        of.into_iter().filter_map(|(key, what, of)| self.cut(key, what, of.as_ref()?, document)).collect()
    }

    fn cut(&self, key: &str, what: &str, record: &RecordFlows, document: &Document) -> Option<Diagnostic> {
        const SHOWN: usize = 3;
        let path = format!("record.{key}");
        if document.says(&format!("{path}.flows")) {
            return None;
        }
        let most = record.flows.0 as usize;
        let cut: Vec<_> =
            self.groups.iter().filter(|group| record.has(&group.name) && group.flows.len() > most).collect();
        let all =
            cut.iter().map(|group| group.expected.map_or(group.flows.len() as u64, Expected::most)).max()?;
        let shown = cut.iter().take(SHOWN).map(|group| {
            let about = if group.expected.is_some() { "about " } else { "" };
            format!("{about}{:.0} of \"{}\"", group.expected_flows(), group.name)
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more =
            if cut.len() > SHOWN { format!(" and {} more groups", cut.len() - SHOWN) } else { String::new() };
        let message = format!("{what} recorded of the first {most} flows of a group only: of {shown}{more}");
        let help = format!("set {path}.flows: {all} records all, {most} is what is done now");
        let note = Diagnostic::warning(Code::SomeWindows, message).help(help);
        Some(note.at(document.place(&path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes of a scenario with a group of nine flows and one of two.
    fn notes(windows: &str) -> Vec<Diagnostic> {
        Plan::new(document(windows)).unwrap_or_else(|error| panic!("{error}")).notes
    }

    fn document(windows: &str) -> Document {
        let text = format!(
            r#"
            version = 1
            name = "notes"
            stop.after = "1 ms"
            topology.star = {{ hosts = 4, rate = "10 Gb/s", delay = "1 us" }}
            record.windows = {{ interval = "10 us" {windows} }}
            traffic = [
                {{ name = "nine", pattern.long_lived.flows = 9, cc.reno = {{}} }},
                {{ name = "two", pattern.long_lived.flows = 2, cc.reno = {{}} }},
            ]"#
        );
        Document::parse("notes.toml", text, "").expect("TOML")
    }

    #[test]
    fn a_group_with_a_mistake_is_still_known_by_its_name() {
        let mut document = document(", of = \"two\"");
        document.set("traffic.two.cc={ dcqcn = {} }").expect("it is a setting");
        let Err(rejection) = Plan::new(document) else { panic!("streams cannot have it") };
        assert_eq!(rejection.0.len(), 1, "{rejection}");
    }

    #[test]
    fn windows_that_are_left_out_by_default_are_told_with_the_key_that_keeps_them() {
        let [note] = &notes("")[..] else { panic!("one note") };
        assert_eq!(note.code, Code::SomeWindows);
        assert!(note.message.ends_with("the first 8 flows of a group only: of 9 of \"nine\""), "{note}");
        assert!(note.help.as_ref().is_some_and(|help| help.contains("record.windows.flows: 9")), "{note}");
        for told in [", flows = 8", ", flows = 9", ", of = \"two\""] {
            assert_eq!(notes(told), [], "{told}");
        }
    }
}
