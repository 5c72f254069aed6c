//! JumboFlows (RackCC): switches of racks that keep their state, and flows that share it, checked; what is counted and recorded of them.

use std::borrow::Cow;
use std::sync::Arc;

use narrows_proto::cc::rackcc as rack;
use narrows_proto::cc::{Config, Ranges};
use narrows_proto::units::{Bytes, Span};
use narrows_sim::mechanism::rackcc::{AdvertisedRow, DOCS, JumboFlowRow, RackAgent, RackObserver};
use narrows_sim::observe::RowLimit;
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::Transport;
use narrows_sim::{HostId, IdealPath, Network, NodeId};

use super::{Declare, Entry, Layout, Mechanism};
use crate::counters::Of::Mechanisms;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::rows::{self, intervals};
use crate::plan::{At, Checker, Plan};
use crate::results::{Described, Named, nodes};
use crate::scenario::{Scenario, Switch};

/// The most entries of a table.
const MOST_SUBFLOWS: u32 = 1 << 24;
/// The most JumboFlows to one rack.
const MOST_JUMBOFLOWS: u32 = 64;

/// Of a group with more pairs of hosts, so many are looked at.
const MOST_PAIRS: usize = 2_000;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "rack_agent",
    summary: "the switch of a rack keeps the state of all connections to another rack (RackCC)",
    place: "switches.CLASS.rack_agent",
    source: "Zhuo, Zhang, Liu, Krishnamurthy, Anderson, HotNets 2016",
    about: &[rack::DOCS[0], DOCS, rack::DOCS[1], rack::DOCS[2], rack::DOCS[3]],
    settings: &["RackAgent", "JumboFlow", "FastEnd", "RackReceiver"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("JumboFlow", &|ranges| rack::jumbo::Params::default().check(ranges));
        declare("RackReceiver", &|ranges| rack::receiver::Params::default().check(ranges));
    }

    fn needed_by(&self, control: &Config) -> Option<&'static str> {
        control.needs_rack().then_some("needs a `rack_agent` at the switches of racks")
    }

    fn priorities(&self, scenario: &Scenario) -> Vec<u8> {
        let agents = scenario.switches.values().filter_map(|switch| switch.rack_agent.as_ref());
        agents.map(|agent| agent.message_priority).collect()
    }

    fn holds_flows(&self, group: &Transport, _: bool, _: &Network) -> Option<&'static str> {
        group.needs_rack().then_some("rackcc")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        if let Some(agent) = &switch.rack_agent {
            check(path, agent, checker);
        }
    }

    /// Refuses subflows of racks whose switch keeps no state, and warns of periods that are longer than a round trip.
    fn check_traffic(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        check_traffic(layout, checker);
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }

    fn recorded_bytes(&self, plan: &Plan, end: Span) -> u64 {
        let jumboflows = rows::bytes::<JumboFlowRow>(jumboflows(plan, end));
        jumboflows.saturating_add(rows::bytes::<AdvertisedRow>(advertised(plan, end)))
    }

    fn tables(&self) -> Vec<Box<dyn Named>> {
        vec![Box::new(jumboflows_table()), Box::new(advertised_table())]
    }
}

fn check(path: &str, agent: &RackAgent, checker: &mut Checker<'_>) {
    let ranges = &mut Ranges::default();
    for (table, checked) in
        [("jumboflow", agent.jumboflow.check(ranges)), ("receivers", agent.receivers.check(ranges))]
    {
        checker.in_range(&format!("{path}.rack_agent.{table}"), checked);
    }
    let mut at = At(checker, format!("{path}.rack_agent"));
    let RackAgent { jumboflows, table, expiry, message_size, message_priority: priority, .. } = *agent;
    let message = format!("jumboflows = {jumboflows}, expected 1 to {MOST_JUMBOFLOWS}");
    at.unless((1..=MOST_JUMBOFLOWS).contains(&jumboflows), "jumboflows", &message);
    let message = format!("table = {table}, expected 1 to {MOST_SUBFLOWS}");
    at.unless((1..=MOST_SUBFLOWS).contains(&table), "table", &message);
    let (shortest, longest) = (Span::from_us(10), Span::from_secs(3600));
    let message = format!("expiry = {expiry}, expected {shortest} to {longest}");
    at.unless((shortest..=longest).contains(&expiry), "expiry", &message);
    at.frame("message_size", message_size);
    at.unless(priority <= 7, "message_priority", &format!("message_priority = {priority}, expected 0 to 7"));
}

fn check_traffic(&Layout { network, paths, traffic, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
    let topology = &network.topology;
    let ports = topology.ports();
    let agent = |host: HostId| {
        let port = ports[topology.hosts()[host.index()].index()].first()?;
        let switch = topology.link(*port).to;
        Some((switch, network.switches[switch.index()].as_ref()?.rackcc.as_ref()))
    };
    for (number, group) in traffic.groups.iter().enumerate().filter(|(_, group)| group.transport.needs_rack())
    {
        let path = format!("traffic.{number}.cc");
        let mut pairs: Vec<_> = traffic
            .flows
            .iter()
            .filter(|flow| flow.group.index() == number)
            .map(|flow| (flow.from, flow.to))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let without = pairs.iter().flat_map(|(from, to)| [*from, *to]).find_map(|host| match agent(host) {
            Some((_, Some(_))) => None,
            Some((switch, None)) => Some((host, Some(switch))),
            None => Some((host, None)),
        });
        if let Some((host, switch)) = without {
            let name = topology.host_name(host);
            let (message, help) = match switch {
                Some(switch) => {
                    let node = topology.node(switch);
                    let class = match &node.kind {
                        NodeKind::Switch { class, .. } => class.as_str(),
                        NodeKind::Host(_) => "tor",
                    };
                    (
                        format!(
                            "traffic \"{}\" is under rackcc, but \"{}\", the switch of {name}, has no rack agent",
                            group.name, node.name
                        ),
                        format!("add rack_agent = {{}} to [switches.{class}]"),
                    )
                }
                None => (
                    format!("traffic \"{}\" is under rackcc, but {name} has no switch", group.name),
                    "rackcc needs racks: hosts behind a switch".to_owned(),
                ),
            };
            checker.error(&path, Diagnostic::error(Code::NoRackAgent, message).help(help));
            continue;
        }
        let packet = group.transport.packet_size(group.transport.full_payload());
        let times = pairs.iter().take(MOST_PAIRS).filter_map(|(from, to)| {
            let flow = narrows_sim::FlowId(0);
            let (forth, back) = (paths.path(flow, *from, *to)?, paths.path(flow, *to, *from)?);
            let rtt = IdealPath::new(network, &forth).packet_time(packet)
                + IdealPath::new(network, &back).packet_time(Bytes::new(84));
            Some((rtt, agent(*from)?.1?))
        });
        warn_of_times(&path, &group.name, times, checker);
    }
}

/// Warns of reports that come more rarely than round trips, and of subflows that are forgotten within one. `times` are round trips, and
/// what the switches of their sources have.
fn warn_of_times<'a>(
    path: &str,
    group: &str,
    times: impl Iterator<Item = (Span, &'a RackAgent)>,
    checker: &mut Checker<'_>,
) {
    let mut shortest: Option<(Span, Span)> = None;
    let mut longest: Option<(Span, Span)> = None;
    for (rtt, agent) in times {
        let (period, expiry) = (agent.jumboflow.period, agent.expiry);
        if period > rtt && shortest.is_none_or(|(known, _)| rtt < known) {
            shortest = Some((rtt, period));
        }
        if expiry < rtt && longest.is_none_or(|(known, _)| rtt > known) {
            longest = Some((rtt, expiry));
        }
    }
    if let Some((rtt, period)) = shortest {
        let message = format!(
            "hosts of traffic \"{group}\" receive reports of their JumboFlow each {period}, but a round trip takes {rtt}"
        );
        let help = "rates follow marks of long ago: shorten rack_agent.jumboflow.period";
        checker.error(path, Diagnostic::warning(Code::Assumption, message).help(help));
    }
    if let Some((rtt, expiry)) = longest {
        let message = format!(
            "switches take a subflow of traffic \"{group}\" for over after {expiry}, but a round trip takes {rtt}"
        );
        let help = "others get the share of what waits for an acknowledgment, and together they send too much: raise rack_agent.expiry";
        checker.error(path, Diagnostic::warning(Code::Assumption, message).help(help));
    }
}

static COUNTERS: Counters = Counters {
    present: "networks with rack agents",
    is_in: |plan| plan.network.switches.iter().flatten().any(|switch| switch.rackcc.is_some()),
    counters: &[
        Counter::new(
            Mechanisms(|record| record.rackcc.registered),
            "",
            "Subflows that hosts registered at the switch of their rack (RackCC).",
        )
        .activity("subflows registered"),
        Counter::new(
            Mechanisms(|record| record.rackcc.expired),
            "",
            "Subflows that the switch forgot, because nothing was seen of them for too long or their client had another.",
        )
        .activity("subflows expired"),
        Counter::new(
            Mechanisms(|record| record.rackcc.late),
            "",
            "Subflows counted again because they sent without being registered.",
        )
        .activity("subflows counted late"),
        Counter::new(
            Mechanisms(|record| record.rackcc.refused),
            "",
            "Times a subflow found no room in the table of the switch.",
        )
        .activity("subflows refused: table full"),
    ],
};

pub(crate) fn observer(plan: &Plan, _: &Arc<RowLimit>) -> Option<RackObserver> {
    let (interval, of) = plan.record.racks.as_ref()?;
    Some(RackObserver::new(*interval, plan.network.topology.nodes().len(), of))
}

pub(crate) fn finish(observers: Vec<RackObserver>) -> (Vec<JumboFlowRow>, Vec<AdvertisedRow>) {
    RackObserver::finish(observers)
}

/// One for each JumboFlow to another rack and interval, and no more than the switch reports to its hosts.
fn jumboflows(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.racks else { return 0 };
    let agents: Vec<_> =
        plan.network.switches.iter().map(|switch| switch.as_ref()?.rackcc.as_ref()).collect();
    let racks = agents.iter().flatten().count() as u64;
    let rows = nodes.iter().filter_map(|node| agents[node.index()]).map(|agent| {
        let every = (*interval).max(agent.jumboflow.period);
        intervals(end, every).saturating_mul(racks.saturating_mul(agent.jumboflows.into()))
    });
    rows.fold(0, u64::saturating_add)
}

/// One for each host and interval, and no more than it advertises.
fn advertised(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.racks else { return 0 };
    let agents = plan.network.switches.iter().flatten().filter_map(|switch| switch.rackcc.as_ref());
    let Some(shortest) = agents.map(|agent| agent.receivers.interval).min() else { return 0 };
    let is_host = |node: &&NodeId| matches!(plan.network.topology.node(**node).kind, NodeKind::Host(_));
    let hosts = nodes.iter().filter(is_host).count() as u64;
    hosts.saturating_mul(intervals(end, (*interval).max(shortest)))
}

fn jumboflows_table() -> Described<JumboFlowRow> {
    let table = Described::<JumboFlowRow>::new(
        "jumboflows",
        "One row per JumboFlow and interval: what the switch of its source rack reported first in it.",
        "with `record.racks`",
        |run| run.recorded.racks.as_ref().map(|(rows, _)| Cow::Borrowed(&**rows)),
    );
    table
        .ps("at_ps", "When the switch reported it.", |row, _| row.at.as_ps())
        .name("node", "The switch of the source rack.", nodes, |row, _| row.node.0)
        .name("to", "The switch of the destination rack.", racks_by_number, |row, _| row.rack)
        .count("number", "Which of the JumboFlows between these racks.", |row, _| row.number.into())
        .real("alpha", "", "The moving average of the fraction of marked bytes.", |row, _| row.report.alpha)
        .count("joined", "Subflows that have joined since the message before.", |row, _| {
            row.report.joined.into()
        })
        .count("subflows", "Registered subflows.", |row, _| row.report.subflows.into())
        .bps("throughput_bps", "Average throughput of all of them, on the wire.", |row, _| {
            row.report.throughput.as_bps()
        })
        .bytes("marked_bytes", "Bytes reported as marked since the JumboFlow began.", |row, _| {
            row.report.marked
        })
        .ps("rtt_ps", "Smoothed round-trip time from the switch; 0 before the first sample.", |row, _| {
            row.report.rtt.as_ps()
        })
        .maybe_ps(
            "base_rtt_ps",
            "The smallest round-trip time so far; missing before the first sample.",
            |row, _| finite(row.report.base_rtt),
        )
        .flag("quiet", "The JumboFlow has not met congestion for long, or never has.", |row, _| {
            row.report.quiet
        })
}

fn advertised_table() -> Described<AdvertisedRow> {
    let table = Described::<AdvertisedRow>::new(
        "advertised",
        "One row per destination and interval: the rate that it advertised first in it.",
        "with `record.racks`",
        |run| run.recorded.racks.as_ref().map(|(_, rows)| Cow::Borrowed(&**rows)),
    );
    table
        .ps("at_ps", "When the host advertised it.", |row, _| row.at.as_ps())
        .name("node", "The destination.", nodes, |row, _| row.node.0)
        .bps("rate_bps", "The rate at which each source may send.", |row, _| row.rate.as_bps())
        .bytes("queue_bytes", "What had waited for the destination, as its switch said last.", |row, _| {
            row.queue
        })
}

/// Names of switches with hosts, in the order that their racks are numbered in.
fn racks_by_number(plan: &Plan) -> Vec<String> {
    let topology = &plan.network.topology;
    topology.racks().into_iter().map(|node| topology.node(node).name.clone()).collect()
}

fn finite(span: Span) -> Option<u64> {
    (span < Span::MAX).then_some(span.as_ps())
}
