//! PIE, checked; what is counted of it.

use narrows_proto::cc::Ranges;
use narrows_sim::DropCause;
use narrows_sim::docs::PIE;
use narrows_sim::switch::{Marking, Pie, SwitchConfig};

use super::{Declare, Entry, Layout, Mechanism, delay_target};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "pie",
    summary: "proportional integral controller (PIE): drops or marks by chance to hold the delay of a queue at a target",
    place: "switches.CLASS.marking",
    source: "RFC 8033",
    about: &[PIE],
    settings: &["Pie"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Pie", &|ranges| Pie::default().check(ranges));
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(pie) = settings(&switch.marking) else { return };
        checker.in_range(&format!("{path}.marking.pie"), pie.check(&mut Ranges::default()));
    }

    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        let target = |switch: &SwitchConfig| Some(settings(&switch.marking)?.target);
        delay_target::warn(layout, "marking.pie.target", target, checker);
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

fn settings(marking: &Marking) -> Option<&Pie> {
    if let Marking::Pie(pie) = marking { Some(pie) } else { None }
}

const PRESENT: &str = "networks with PIE";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[Counter::new(
        Ports(|port| port.drops[DropCause::Pie as usize]),
        "",
        "Packets that PIE dropped by chance.",
    )
    .activity("drops: PIE")
    .column("drops_pie")
    .only(PRESENT, is_in)],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.switches.iter().flatten().any(|switch| settings(&switch.marking).is_some())
}
