//! Controlled delay.

use narrows_sim::DropCause;
use narrows_sim::switch::Marking;

use super::Of::Ports;
use super::{Counter, Counters};
use crate::plan::Plan;

const PRESENT: &str = "networks with CoDel";

pub(super) static CODEL: Counters = Counters {
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
    plan.network.switches.iter().flatten().any(|switch| matches!(switch.marking, Marking::Codel(_)))
}
