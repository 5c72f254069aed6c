//! Themis, checked; what is counted of it.

use narrows_proto::cc::Ranges;
use narrows_sim::Network;
use narrows_sim::mechanism::themis::{BYTES_OF_ENTRY, DOCS, Hold, Themis};
use narrows_sim::switch::SwitchConfig;

use super::{Declare, Entry, Layout, Mechanism};
use crate::counters::Of::{Mechanisms, Ports};
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "themis",
    summary: "switches at the border of a data center notify sources under DCQCN themselves, and hold packets until sources elsewhere react",
    place: "switches.CLASS.themis",
    source: "Themis, ICNP 2025",
    about: DOCS,
    settings: &["Themis", "Hold"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Themis", &|ranges| Themis::default().check(ranges));
        declare("Hold", &|ranges| Hold::default().check(ranges));
    }

    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.themis.as_ref().map(|_| "themis")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(themis) = &switch.themis else { return };
        let path = format!("{path}.themis");
        checker.in_range(&path, themis.check(&mut Ranges::default()));
        if let Some(hold) = &themis.hold {
            checker.in_range(&format!("{path}.hold"), hold.check(&mut Ranges::default()));
        }
        if !themis.notify && themis.hold.is_none() {
            let message = "neither notifies sources nor holds packets";
            let help = format!("leave it out, or set hold = {{}} or notify = true in {path}");
            checker.error(&path, Diagnostic::error(Code::Conflict, message).help(help));
        }
    }

    /// Warns if nobody reacts to its notifications.
    fn warn(&self, &Layout { scenario, traffic, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
        let Some((class, _)) = scenario.switches.iter().find(|(_, switch)| switch.themis.is_some()) else {
            return;
        };
        if traffic.groups.iter().any(|group| group.transport.receives_cnps()) {
            return;
        }
        let message = "switches with themis send CNPs, but no traffic reacts to them";
        let help = "it is for traffic with rdma = {} and cc = { dcqcn = {} }";
        let warning = Diagnostic::warning(Code::NobodyReacts, message).help(help);
        checker.error(&format!("switches.{class}.themis"), warning);
    }

    fn table_bytes(&self, network: &Network) -> u64 {
        let tables = network.switches.iter().flatten().filter_map(|switch| switch.themis.as_ref());
        tables.filter(|themis| themis.notify).map(|themis| u64::from(themis.table) * BYTES_OF_ENTRY).sum()
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

fn has(switch: Option<&SwitchConfig>) -> bool {
    switch.is_some_and(|switch| switch.themis.is_some())
}

const PRESENT: &str = "networks with Themis";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.themis.notified),
            "",
            "Notifications that a port sent to sources under DCQCN in its data center (Themis).",
        )
        .activity("Themis: CNPs to sources")
        .column("near_cnps")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.themis.cleared),
            "",
            "Marks of packets from the data center that a port cleared (Themis).",
        )
        .activity("Themis: marks cleared")
        .column("cleared_marks")
        .only(PRESENT, is_in),
        Counter::new(
            Mechanisms(|record| record.themis.held),
            "",
            "Packets that switches held until their sources could react (Themis).",
        )
        .activity("Themis: packets held")
        .only(PRESENT, holds),
    ],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.switches.iter().any(|switch| has(switch.as_ref()))
}

fn holds(plan: &Plan) -> bool {
    plan.network
        .switches
        .iter()
        .flatten()
        .any(|switch| switch.themis.as_ref().is_some_and(|themis| themis.hold.is_some()))
}
