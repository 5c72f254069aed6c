//! Fair queueing by flow, checked; what is counted of it.

use narrows_proto::cc::Ranges;
use narrows_sim::mechanism::drr::{BYTES_OF_FLOW_QUEUE, DOCS, Drr};
use narrows_sim::switch::{Marking, SwitchConfig};

use super::{Declare, Entry, Mechanism, kept_queues};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "drr",
    summary: "fair queueing by flow (deficit round robin, DRR)",
    place: "switches.CLASS.drr",
    source: "Shreedhar & Varghese 1996; RFC 8290",
    about: DOCS,
    settings: &["Drr"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Drr", &|ranges| Drr::default().check(ranges));
    }

    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.drr.as_ref().map(|_| "drr")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(drr) = &switch.drr else { return };
        checker.in_range(&format!("{path}.drr"), drr.check(&mut Ranges::default()));
        // They would take the sojourn times of several queues for those of one: that is what `fq_codel` is for.
        let refused = |marking: &Marking| matches!(marking, Marking::Codel(_) | Marking::Pie(_));
        kept_queues::check(path, "drr", switch, refused, checker);
    }

    fn state_bytes(&self, switch: &SwitchConfig) -> u64 {
        switch.drr.as_ref().map_or(0, |drr| u64::from(drr.flows) * BYTES_OF_FLOW_QUEUE)
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

const PRESENT: &str = "networks with fair queueing by flow";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[Counter::most(
        Ports(|port| port.drr.max_active),
        "",
        "The most flow queues of a port that ever took turns at once.",
    )
    .column("max_flow_queues")
    .only(PRESENT, is_in)],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.switches.iter().flatten().any(|switch| switch.drr.is_some())
}
