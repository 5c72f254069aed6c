//! Telemetry of switches, held against the traffic that reads it.

use narrows_proto::cc::Config;
use narrows_proto::docs as proto;
use narrows_proto::telemetry::{MOST_HOPS, MOST_RATES};
use narrows_proto::units::{Bytes, Span};
use narrows_sim::docs as sim;
use narrows_sim::traffic::{Traffic, Transport};
use narrows_sim::{FlowId, HostId, IdealPath, Network, Paths};

use super::{Entry, Layout, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::Checker;
use crate::scenario::{Scenario, Switch};

/// Of a group with more pairs of hosts, so many are looked at.
const MOST_PAIRS: usize = 10_000;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "telemetry",
    summary: "switches write the state of their ports into packets (HPCC, PowerTCP)",
    place: "switches.CLASS.telemetry",
    source: "Li et al., SIGCOMM 2019, §4.1",
    about: &[proto::TELEMETRY, sim::TELEMETRY],
    settings: &[],
}];

impl Mechanism for Home {
    fn needed_by(&self, control: &Config) -> Option<&'static str> {
        control.reads_telemetry().then_some("needs switches with `telemetry = true`")
    }

    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.telemetry.then_some("telemetry")
    }

    /// Refuses more rates than telemetry can distinguish.
    fn check_network(&self, _: &Scenario, network: &Network, checker: &mut Checker<'_>) {
        let rates = network.reported_rates().len();
        if rates > MOST_RATES {
            let message = format!(
                "ports of switches with telemetry have {rates} rates, but 4 bits of a record distinguish {MOST_RATES}"
            );
            checker.error("switches", Diagnostic::error(Code::Conflict, message));
        }
    }

    /// Warns of flows to which nothing or not everything is reported, and of a base round-trip time in settings that is too short.
    fn warn(&self, &Layout { network, paths, traffic, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
        for (number, group) in traffic.groups.iter().enumerate() {
            let Transport::Rdma { params, cc } = &group.transport else { continue };
            let (reads, assumed) = (cc.reads_telemetry(), assumed(cc));
            if !reads && assumed.is_none() {
                continue;
            }
            let wrapped = if group.near_source.is_some() { ".annulus.end_to_end" } else { "" };
            let path = format!("traffic.{number}.cc{wrapped}.{}", cc.name());
            let packet = group.transport.packet_size(group.transport.full_payload());
            let ways = Ways::new(network, paths, traffic, number, packet, params.under(cc).ack_size);
            if let Some((from, to)) = ways.deaf.filter(|_| reads) {
                let [from, to] = [from, to].map(|host| network.topology.host_name(host));
                let name = &group.name;
                let message = format!(
                    "traffic \"{name}\" is under {cc}, but no switch from {from} to {to} has telemetry"
                );
                let help = "set telemetry = true in tables of [switches]; without it these flows keep the rate of their links";
                checker.error(&path, Diagnostic::warning(Code::NoTelemetry, message).help(help));
            }
            if reads && ways.most_hops > MOST_HOPS {
                let message = format!(
                    "traffic \"{}\" crosses up to {} switches with telemetry, but a packet has room for {MOST_HOPS} records",
                    group.name, ways.most_hops
                );
                let help = "the last of them are not reported";
                checker.error(&path, Diagnostic::warning(Code::NoTelemetry, message).help(help));
            }
            if let Some(Assumed { setting, rtt, otherwise }) = assumed
                && rtt < ways.longest
            {
                let message = format!(
                    "{cc} takes {setting} = {rtt}, but an empty round trip of traffic \"{}\" takes up to {}",
                    group.name, ways.longest
                );
                let help = format!("{otherwise}: set {setting} to the longest");
                checker.error(
                    &format!("{path}.{setting}"),
                    Diagnostic::warning(Code::Assumption, message).help(help),
                );
            }
        }
    }
}

/// The base round-trip time that a control takes from its settings, and what follows if it is longer.
struct Assumed {
    setting: &'static str,
    rtt: Span,
    otherwise: &'static str,
}

fn assumed(cc: &Config) -> Option<Assumed> {
    const SHORT: &str = "a window of that time does not fill the path";
    let (setting, rtt, otherwise) = match cc {
        Config::Hpcc(settings) => ("base_rtt", settings.base_rtt, SHORT),
        Config::Powertcp(settings) => ("base_rtt", settings.base_rtt, SHORT),
        Config::Nscc(settings) => {
            ("rtt", settings.base_rtt.unwrap_or(settings.rtt), "it takes the rest for queueing")
        }
        Config::Rccc(credits) => ("rtt", credits.rtt, "credit of that time does not fill the path"),
        _ => return None,
    };
    Some(Assumed { setting, rtt, otherwise })
}

/// Paths of the flows of a group: telemetry and round trips.
#[derive(Default)]
struct Ways {
    /// A pair of hosts without a switch with telemetry between them.
    deaf: Option<(HostId, HostId)>,
    /// The most switches with telemetry on a way.
    most_hops: usize,
    /// The longest time of a full packet and its acknowledgment on the empty network.
    longest: Span,
}

impl Ways {
    fn new(
        network: &Network,
        paths: &Paths<'_>,
        traffic: &Traffic,
        group: usize,
        packet: Bytes,
        ack: Bytes,
    ) -> Self {
        let flows = traffic.flows.iter().enumerate().filter(|(_, flow)| flow.group.index() == group);
        let mut pairs: Vec<_> = flows.map(|(number, flow)| (flow.from, flow.to, number)).collect();
        pairs.sort_unstable();
        pairs.dedup_by_key(|(from, to, _)| (*from, *to));
        let mut ways = Self::default();
        let step = pairs.len().div_ceil(MOST_PAIRS).max(1);
        for (from, to, number) in pairs.into_iter().step_by(step) {
            let flow = FlowId::from(number);
            let (Some(forth), Some(back)) = (paths.path(flow, from, to), paths.path(flow, to, from)) else {
                continue;
            };
            let tells = |link: &&narrows_sim::LinkId| {
                let node = network.topology.link(**link).from;
                network.switches[node.index()].as_ref().is_some_and(|switch| switch.telemetry)
            };
            let hops = forth.iter().filter(tells).count();
            if hops == 0 && ways.deaf.is_none() {
                ways.deaf = Some((from, to));
            }
            ways.most_hops = ways.most_hops.max(hops);
            let time = IdealPath::new(network, &forth).packet_time(packet)
                + IdealPath::new(network, &back).packet_time(ack);
            ways.longest = ways.longest.max(time);
        }
        ways
    }
}
