//! Packet trimming, checked; what is counted of it.

use narrows_proto::cc::Ranges;
use narrows_proto::rdma::Recovery;
use narrows_proto::units::Bytes;
use narrows_sim::mechanism::trimming::{DOCS, Trimming};
use narrows_sim::traffic::{Group, Transport};

use super::{Declare, Entry, Layout, Mechanism};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Plan};
use crate::scenario::{Scenario, Switch};

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "trimming",
    summary: "packets without room lose their payload, and their headers ask for them again (NDP, Ultra Ethernet)",
    place: "switches.CLASS.trimming",
    source: "SAI and SONiC packet trimming; Ultra Ethernet; Handley et al., SIGCOMM 2017",
    about: DOCS,
    settings: &["Trimming"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Trimming", &|ranges| Trimming::default().check(ranges));
    }

    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.trimming.as_ref().map(|_| "trimming")
    }

    fn priorities(&self, scenario: &Scenario) -> Vec<u8> {
        let trimming = scenario.switches.values().filter_map(|switch| switch.trimming.as_ref());
        trimming.map(|trimming| trimming.priority).collect()
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(trimming) = &switch.trimming else { return };
        let path = format!("{path}.trimming");
        checker.in_range(&path, trimming.check(&mut Ranges::default()));
        if switch.pfc.is_some() && trimming.above.is_none() {
            let message = "nothing is ever trimmed: flow control by class (pfc) admits all packets";
            let help = format!("leave out pfc, or set {path}.above to the length of a queue");
            checker.error(&path, Diagnostic::error(Code::Conflict, message).help(help));
        }
    }

    /// Headers have to fit.
    fn check_traffic(&self, &Layout { scenario, traffic, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
        let Some((class, trimming)) = of(scenario).next() else { return };
        for group in traffic.groups.iter().filter(|group| may_be_trimmed(group)) {
            let headers = group.transport.packet_size(Bytes::ZERO);
            if trimming.size < headers {
                let message =
                    format!("size = {}: headers of traffic \"{}\" have {headers}", trimming.size, group.name);
                let help = format!("expected at least {headers}");
                let error = Diagnostic::error(Code::Conflict, message).help(help);
                checker.error(&format!("switches.{class}.trimming.size"), error);
            }
        }
    }

    /// Warns if nothing can be trimmed, and if headers wait behind what they are about.
    fn warn(&self, &Layout { scenario, traffic, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
        let Some((class, trimming)) = of(scenario).next() else { return };
        let path = format!("switches.{class}.trimming");
        let trimmable: Vec<_> = traffic.groups.iter().filter(|group| may_be_trimmed(group)).collect();
        if trimmable.is_empty() {
            let message = "switches trim packets, but no traffic has packets that may be trimmed";
            let help = "it is for traffic with rdma = { recovery = \"any_order\" }";
            return checker.error(&path, Diagnostic::warning(Code::NothingTrimmed, message).help(help));
        }
        if let Some(group) = trimmable.iter().find(|group| group.priority >= trimming.priority) {
            let message = format!(
                "priority = {}: headers wait behind data of traffic \"{}\", which has priority {}",
                trimming.priority, group.name, group.priority
            );
            let help = "expected a higher priority for headers than for data (7 goes first)";
            checker.error(
                &format!("{path}.priority"),
                Diagnostic::warning(Code::NothingTrimmed, message).help(help),
            );
        }
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

fn of(scenario: &Scenario) -> impl Iterator<Item = (&String, &Trimming)> {
    scenario.switches.iter().filter_map(|(class, switch)| Some((class, switch.trimming.as_ref()?)))
}

fn may_be_trimmed(group: &Group) -> bool {
    matches!(&group.transport, Transport::Rdma { params, .. } if params.recovery == Recovery::AnyOrder)
}

const PRESENT: &str = "networks that trim packets";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.trimming.packets),
            "",
            "Packets that lost their payload at a port for want of room. They are not counted as dropped.",
        )
        .activity("packets trimmed")
        .column("trimmed")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.trimming.at_last_hop),
            "",
            "Those of them that were trimmed on the link to their receiver.",
        )
        .activity("packets trimmed at the last hop")
        .column("trimmed_at_last_hop")
        .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.switches.iter().flatten().any(|switch| switch.trimming.is_some())
}
