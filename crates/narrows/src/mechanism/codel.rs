//! Controlled delay, checked; what is counted of it.

use narrows_proto::units::Span;
use narrows_sim::DropCause;
use narrows_sim::docs::CODEL;
use narrows_sim::switch::{Codel, Marking, SwitchConfig};

use super::{Entry, Layout, Mechanism, delay_target};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "codel",
    summary: "controlled delay (CoDel): drops or marks while a queue stands for too long",
    place: "switches.CLASS.marking",
    source: "RFC 8289",
    about: &[CODEL],
    settings: &["Codel"],
}];

impl Mechanism for Home {
    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(&Codel { target, interval, .. }) = settings(&switch.marking) else { return };
        if target == Span::ZERO || target >= interval {
            let message = format!("target = {target}, expected above 0, less than interval = {interval}");
            let error = Diagnostic::error(Code::OutOfRange, message);
            checker.error(&format!("{path}.marking.codel.target"), error);
        }
    }

    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        let target = |switch: &SwitchConfig| Some(settings(&switch.marking)?.target);
        delay_target::warn(layout, "marking.codel.target", target, checker);
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

fn settings(marking: &Marking) -> Option<&Codel> {
    if let Marking::Codel(codel) = marking { Some(codel) } else { None }
}

const PRESENT: &str = "networks with CoDel or FQ-CoDel";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[Counter::new(
        Ports(|port| port.drops[DropCause::Codel as usize]),
        "",
        "Packets that CoDel dropped because those before them had waited too long.",
    )
    .activity("drops: CoDel")
    .column("drops_codel")
    .only(PRESENT, is_in)],
};

fn is_in(plan: &Plan) -> bool {
    let has = |switch: &SwitchConfig| settings(&switch.marking).is_some() || switch.fq_codel.is_some();
    plan.network.switches.iter().flatten().any(has)
}
