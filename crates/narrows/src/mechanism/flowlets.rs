//! Flowlets, checked; what is counted of them.

use narrows_proto::cc::Ranges;
use narrows_proto::units::{Bytes, Span};
use narrows_sim::mechanism::flowlets::{BYTES_OF_ENTRY, DOCS, Flowlets};
use narrows_sim::traffic::Group;
use narrows_sim::{Network, Routing};

use super::{Declare, Entry, Layout, Mechanism};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Plan};
use crate::scenario::Scenario;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "flowlets",
    summary: "a flow that has paused takes any path anew (LetFlow)",
    place: "routing.flowlets",
    source: "Vanini et al., NSDI 2017",
    about: DOCS,
    settings: &["Flowlets"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Flowlets", &|ranges| Flowlets::default().check(ranges));
    }

    fn check_network(&self, scenario: &Scenario, _: &Network, checker: &mut Checker<'_>) {
        if let Routing::Flowlets(flowlets) = &scenario.routing {
            checker.in_range("routing.flowlets", flowlets.check(&mut Ranges::default()));
        }
    }

    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        let Some((rule, gap)) = gap(&layout.network.routing) else { return };
        let topology = &layout.network.topology;
        let packet = layout.traffic.groups.iter().map(Group::largest_packet).max().unwrap_or(Bytes::ZERO);
        let Some(rate) = topology.host_rates().into_iter().min() else { return };
        let time = rate.time_to_send(packet);
        if gap <= time {
            let message = format!("gap = {gap}: a packet of {packet} takes a host {time} to send at {rate}");
            let help = "every packet of a flow at full rate begins a flowlet: expected more than the difference of the delays of paths";
            let warning = Diagnostic::warning(Code::ShortGap, message).help(help);
            checker.error(&format!("routing.{rule}.gap"), warning);
        }
    }

    fn table_bytes(&self, network: &Network) -> u64 {
        let entries = match &network.routing {
            Routing::Flowlets(flowlets) => flowlets.table,
            Routing::Adaptive(adaptive) if adaptive.gap.is_some() => adaptive.table,
            _ => 0,
        };
        network.switches.iter().flatten().count() as u64 * u64::from(entries) * BYTES_OF_ENTRY
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

/// The gap between flowlets, if a rule has one, and the name of the rule.
fn gap(routing: &Routing) -> Option<(&'static str, Span)> {
    match routing {
        Routing::Flowlets(flowlets) => Some(("flowlets", flowlets.gap)),
        Routing::Adaptive(adaptive) => Some(("adaptive", adaptive.gap?)),
        _ => None,
    }
}

const PRESENT: &str = "networks that choose paths for flowlets";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.flowlets.flowlets),
            "",
            "Flowlets that began at ports among which there was a choice.",
        )
        .activity("flowlets")
        .column("flowlets")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.flowlets.moves),
            "",
            "Flowlets that took another port than the one before of their flow.",
        )
        .activity("flowlets moved")
        .column("moved_flowlets")
        .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    gap(&plan.network.routing).is_some()
}
