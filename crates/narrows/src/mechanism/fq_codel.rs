//! FQ-CoDel, checked; what is counted of it.

use narrows_proto::cc::Ranges;
use narrows_sim::docs::FQ_CODEL;
use narrows_sim::mechanism::drr::BYTES_OF_FLOW_QUEUE;
use narrows_sim::mechanism::fq_codel::{BYTES_OF_CODEL, FqCodel};
use narrows_sim::switch::{Marking, SwitchConfig};

use super::{Declare, Entry, Layout, Mechanism, delay_target, kept_queues};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "fq_codel",
    summary: "fair queueing with controlled delay (FQ-CoDel): flows take turns, and CoDel controls each",
    place: "switches.CLASS.fq_codel",
    source: "RFC 8290",
    about: &[FQ_CODEL],
    settings: &["FqCodel"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("FqCodel", &|ranges| FqCodel::default().check(ranges));
    }

    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.fq_codel.as_ref().map(|_| "fq_codel")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(fq_codel) = &switch.fq_codel else { return };
        checker.in_range(&format!("{path}.fq_codel"), fq_codel.check(&mut Ranges::default()));
        kept_queues::check(path, "fq_codel", switch, |marking| *marking != Marking::Off, checker);
    }

    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        let target = |switch: &SwitchConfig| Some(switch.fq_codel.as_ref()?.target);
        delay_target::warn(layout, "fq_codel.target", target, checker);
    }

    fn state_bytes(&self, switch: &SwitchConfig) -> u64 {
        let bytes = |fq_codel: &FqCodel| u64::from(fq_codel.flows) * (BYTES_OF_FLOW_QUEUE + BYTES_OF_CODEL);
        switch.fq_codel.as_ref().map_or(0, bytes)
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

const PRESENT: &str = "networks with FQ-CoDel";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.fq_codel.new),
            "",
            "Times that a flow queue of FQ-CoDel had been empty and went first as a new one.",
        )
        .column("new_flow_queues")
        .only(PRESENT, is_in),
        Counter::most(
            Ports(|port| port.fq_codel.max_active),
            "",
            "The most flow queues of FQ-CoDel that ever took turns at a port at once.",
        )
        .column("max_controlled_flow_queues")
        .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.switches.iter().flatten().any(|switch| switch.fq_codel.is_some())
}
