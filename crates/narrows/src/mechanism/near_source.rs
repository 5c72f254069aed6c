//! Near-source loops (Annulus), checked.

use std::collections::BTreeSet;

use narrows_proto::annulus::{self, Aggregate};
use narrows_proto::cc::{Config, Ranges};
use narrows_proto::docs::NEAR_SOURCE;
use narrows_sim::switch::CongestionPoint;
use narrows_sim::traffic::{FlowSpec, Group, NearSource, Transport};
use narrows_sim::{HostId, Network, Paths};

use super::{Declare, Entry, Layout, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Places};

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "near_source",
    summary: "the near-source loop of Annulus: messages of switches near the sender set a second rate",
    place: "cc = { annulus = { near_source = { … } } }",
    source: "Saeed et al., SIGCOMM 2020 (talk); IEEE 802.1Qau-2010",
    about: &[NEAR_SOURCE],
    settings: &["NearSource", "NearSourceStart", "AnnulusAggregate"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("NearSource", &|ranges| annulus::near_source::Params::default().check(None, ranges));
    }

    fn holds_flows(&self, _: &Transport, near_source: bool, _: &Network) -> Option<&'static str> {
        near_source.then_some("annulus")
    }

    /// Warns of senders that no congestion point can reach.
    fn warn(&self, &Layout { network, paths, traffic, groups, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
        for (number, group) in traffic.groups.iter().enumerate() {
            let Some(near_source) = &group.near_source else { continue };
            let path = format!("traffic.{number}.cc.annulus");
            let flows = traffic.flows.iter().filter(|flow| flow.group.index() == number);
            let deaf = deaf(network, paths, flows);
            if !deaf.is_empty() {
                let at_least = if groups[number].expected.is_some() { "at least " } else { "" };
                checker.error(&path, warning(network, group, &deaf, at_least));
            }
            let no_places = near_source.places.iter().all(|place| *place == near_source.places[0]);
            if near_source.per == Aggregate::DestinationDc && no_places {
                let message = format!(
                    "traffic \"{}\" has a loop for each data center, but all hosts are in one",
                    group.name
                );
                let help = "names of data centers begin with dc";
                checker.error(
                    &format!("{path}.per"),
                    Diagnostic::warning(Code::NobodyReacts, message).help(help),
                );
            }
        }
    }
}

/// The end-to-end control of a group, and its near-source loops if it has some. `path` leads to its `cc`.
pub(crate) fn split<'a>(
    cc: &'a Config,
    path: &str,
    network: &Network,
    places: &Places,
    checker: &mut Checker<'_>,
) -> (&'a Config, String, Option<NearSource>) {
    let Config::Annulus(params) = cc else { return (cc, path.to_owned(), None) };
    let path = format!("{path}.annulus");
    if let Err(error) = params.check(network.topology.host_rates().into_iter().min(), &mut Ranges::default())
    {
        let key = match error.setting {
            "end_to_end" | "per" => error.setting.to_owned(),
            setting => format!("near_source.{setting}"),
        };
        let code = if error.setting == "end_to_end" { Code::Conflict } else { Code::OutOfRange };
        checker.error(&format!("{path}.{key}"), Diagnostic::error(code, error.to_string()));
    }
    let annulus::Params { per, near_source, .. } = params;
    let params_of = near_source.clone();
    let near_source = NearSource { per: *per, places: places.dc.as_slice().into(), params: params_of };
    (&params.end_to_end, format!("{path}.end_to_end"), Some(near_source))
}

/// A group has near-source loops and could receive messages of QCN.
pub(crate) fn listens(traffic: &[crate::scenario::Traffic]) -> bool {
    traffic.iter().any(|group| matches!(group.cc, Some(Config::Annulus(_))))
}

fn warning(network: &Network, group: &Group, deaf: &[(HostId, usize)], at_least: &str) -> Diagnostic {
    let flows: usize = deaf.iter().map(|(_, flows)| flows).sum();
    let names: Vec<_> = deaf.iter().take(4).map(|(host, _)| network.topology.host_name(*host)).collect();
    let more = if deaf.len() > names.len() { ", …" } else { "" };
    let message = format!(
        "{at_least}{flows} flows of traffic \"{}\" cross no port whose congestion point could notify their source; they are under \
         their end-to-end control alone",
        group.name
    );
    let help = format!(
        "they start at {}{more}; near-source switches need congestion_point = {{ qcn = {{}} }}, with a message.reach that \
         includes these hosts",
        names.join(", ")
    );
    Diagnostic::warning(Code::NobodyReacts, message).help(help)
}

/// Hosts whose flows cross no switch with a QCN congestion point that reaches them, with the number of these flows.
fn deaf<'a>(
    network: &Network,
    paths: &Paths<'_>,
    flows: impl Iterator<Item = &'a FlowSpec>,
) -> Vec<(HostId, usize)> {
    let mut by_source: Vec<(HostId, Vec<HostId>)> = Vec::new();
    let mut pairs: Vec<_> = flows.map(|flow| (flow.from, flow.to)).collect();
    pairs.sort_unstable();
    for (from, to) in pairs {
        match by_source.last_mut() {
            Some((last, targets)) if *last == from => targets.push(to),
            _ => by_source.push((from, vec![to])),
        }
    }
    let topology = &network.topology;
    let ports = topology.ports();
    let all = by_source.iter().flat_map(|(from, targets)| targets.iter().map(|to| (*from, *to, 1.0)));
    let load = paths.spread(all);
    let crossed: BTreeSet<_> = topology
        .links()
        .iter()
        .zip(&load)
        .filter(|(_, load)| **load > 0.0)
        .map(|(link, _)| link.from)
        .collect();
    let reaches: Vec<_> = crossed
        .into_iter()
        .filter_map(|node| match &network.switches[node.index()].as_ref()?.congestion_point {
            CongestionPoint::Qcn(qcn) => Some(qcn.message.reach.hosts(topology, &ports, node)),
            CongestionPoint::Bcn(_) | CongestionPoint::Off => None,
        })
        .collect();
    let hears = |host: HostId| reaches.iter().any(|hosts| hosts.has(host));
    by_source
        .into_iter()
        .filter(|(from, _)| !hears(*from))
        .map(|(from, targets)| (from, targets.len()))
        .collect()
}
