//! DualPI2, checked; what is counted of it.

use narrows_proto::cc::Ranges;
use narrows_sim::DropCause;
use narrows_sim::mechanism::dualpi2::{BYTES_OF_PORT, DOCS, DualPi2};
use narrows_sim::switch::{Marking, SwitchConfig};

use super::{Declare, Entry, Layout, Mechanism, delay_target, kept_queues};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "dualpi2",
    summary: "dual queue with a coupled controller (DualPI2): a short queue for scalable controls (L4S) beside the classic one",
    place: "switches.CLASS.dualpi2",
    source: "RFC 9332",
    about: DOCS,
    settings: &["DualPi2", "Scheduler", "Weighted", "TimeShifted"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("DualPi2", &|ranges| DualPi2::default().check(ranges));
    }

    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.dualpi2.as_ref().map(|_| "dualpi2")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(dualpi2) = &switch.dualpi2 else { return };
        checker.in_range(&format!("{path}.dualpi2"), dualpi2.check(&mut Ranges::default()));
        kept_queues::check(path, "dualpi2", switch, |marking| *marking != Marking::Off, checker);
    }

    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        let target = |switch: &SwitchConfig| Some(switch.dualpi2.as_ref()?.target);
        delay_target::warn(layout, "dualpi2.target", target, checker);
        // RFC 9332 App. A.2: on slow links the thresholds of L are raised to two packets.
        let l4s_min = |switch: &SwitchConfig| Some(switch.dualpi2.as_ref()?.l4s_min);
        delay_target::warn(layout, "dualpi2.l4s_min", l4s_min, checker);
    }

    fn state_bytes(&self, switch: &SwitchConfig) -> u64 {
        switch.dualpi2.as_ref().map_or(0, |_| BYTES_OF_PORT)
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

const PRESENT: &str = "networks with DualPI2";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.dualpi2.l4s),
            "",
            "Packets that left the L4S queue of DualPI2, dropped ones included.",
        )
        .activity("L4S packets")
        .column("l4s_packets")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.dualpi2.l4s_marks),
            "",
            "Packets that DualPI2 marked in its L4S queue.",
        )
        .activity("ECN marks: L4S")
        .column("l4s_marks")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.dualpi2.l4s_drops),
            "",
            "Packets that DualPI2 dropped from its L4S queue: those of overload.",
        )
        .activity("drops: DualPI2, L4S")
        .column("l4s_drops")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.dualpi2.classic),
            "",
            "Packets that left the classic queue of DualPI2, dropped ones included.",
        )
        .column("classic_packets")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.dualpi2.classic_marks),
            "",
            "Packets that DualPI2 marked in its classic queue.",
        )
        .activity("ECN marks: classic")
        .column("classic_marks")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.dualpi2.classic_drops),
            "",
            "Packets that DualPI2 dropped from its classic queue.",
        )
        .activity("drops: DualPI2, classic")
        .column("classic_drops")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.drops[DropCause::DualPi2 as usize]),
            "",
            "Packets that DualPI2 dropped.",
        )
        .column("drops_dualpi2")
        .only(PRESENT, is_in),
        Counter::most(
            Ports(|port| port.dualpi2.max_l4s),
            "B",
            "The most that ever waited in the L4S queue of DualPI2.",
        )
        .column("max_l4s_bytes")
        .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    plan.network.switches.iter().flatten().any(|switch| switch.dualpi2.is_some())
}
