//! Phantom queues, checked; what is counted of them.

use narrows_proto::cc::{Config, Ranges};
use narrows_proto::units::Bytes;
use narrows_sim::docs::PHANTOM;
use narrows_sim::switch::{Marking, Phantom, SwitchConfig, Threshold};
use narrows_sim::{HostId, LinkId};

use super::{Declare, Entry, Layout, Mechanism};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Plan};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "phantom",
    summary: "phantom queues: counters that drain more slowly than the link mark before anything waits (Uno)",
    place: "switches.CLASS.marking",
    source: "Uno, SC 2025 (arXiv 2510.15802)",
    about: &[PHANTOM],
    settings: &["Phantom", "Beside", "RealQueue"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        let phantom = Phantom::new(Threshold::Fixed(Bytes::new(1)));
        declare("Phantom", &|ranges| phantom.check(ranges));
    }

    fn needed_by(&self, control: &Config) -> Option<&'static str> {
        matches!(control, Config::Uno(_)).then_some("needs switches with `marking = { phantom = { … } }`")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        let Some(phantom) = settings(&switch.marking) else { return };
        let path = format!("{path}.marking.phantom");
        checker.in_range(&path, phantom.check(&mut Ranges::default()));
        let real = phantom.beside.as_ref().map(|beside| beside.real().mark_at());
        if real.is_some_and(|real| real != phantom.mark_at) {
            let message = "the phantom queue and the rule beside it look at packets at different times";
            let help = "set the same mark_at for both; phantom queues have \"dequeue\" if it is left out, step and red \"enqueue\"";
            checker.error(&format!("{path}.beside"), Diagnostic::error(Code::Conflict, message).help(help));
        }
    }

    /// Warns of flows under UnoCC that no phantom queue marks.
    fn warn(&self, &Layout { network, paths, traffic, .. }: &Layout<'_>, checker: &mut Checker<'_>) {
        let topology = &network.topology;
        let marks = |link: LinkId| {
            let switch = network.switches[topology.link(link).from.index()].as_ref();
            switch.is_some_and(|switch| settings(&switch.marking).is_some())
        };
        for (number, group) in traffic.groups.iter().enumerate() {
            let Some(Config::Uno(_)) = group.transport.control() else { continue };
            let flows = traffic.flows.iter().filter(|flow| flow.group.index() == number);
            let mut pairs: Vec<(HostId, HostId)> = flows.map(|flow| (flow.from, flow.to)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            let Some((from, to)) = paths.avoiding(&pairs, marks) else { continue };
            let [from, to] = [from, to].map(|host| topology.host_name(host));
            let message = format!(
                "traffic \"{}\" is under uno, but no port from {from} to {to} has a phantom queue",
                group.name
            );
            let help = "set marking = { phantom = { size = … } } in tables of [switches], about the product of rate and longest \
                        round-trip time";
            let wrapped = if group.near_source.is_some() { ".annulus.end_to_end" } else { "" };
            let path = format!("traffic.{number}.cc{wrapped}.uno");
            checker.error(&path, Diagnostic::warning(Code::NoPhantom, message).help(help));
        }
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

fn settings(marking: &Marking) -> Option<&Phantom> {
    if let Marking::Phantom(phantom) = marking { Some(phantom) } else { None }
}

const PRESENT: &str = "networks with phantom queues";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.marking.chosen),
            "",
            "Packets that a phantom queue chose for marking; with a rule beside it not all of them are marked.",
        )
        .activity("ECN marks: phantom queues")
        .column("phantom_marks")
        .only(PRESENT, is_in),
        Counter::most(Ports(|port| port.marking.most), "B", "The most that was ever in the phantom queue.")
            .column("max_phantom_bytes")
            .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    let has = |switch: &SwitchConfig| settings(&switch.marking).is_some();
    plan.network.switches.iter().flatten().any(has)
}
