//! Isolation of congested flows: its settings checked, what is counted and recorded of it.

use std::borrow::Cow;
use std::sync::Arc;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::LinkId;
use narrows_sim::mechanism::isolation::{
    DOCS, Isolation, IsolationEvent, IsolationObserver, IsolationRow, Marked, Scheme,
};
use narrows_sim::observe::RowLimit;

use super::{Entry, Mechanism};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{At, Checker, Plan, rows};
use crate::results::{Described, Named, nodes};
use crate::scenario::Switch;

/// A port looks through its table for every packet.
const LARGEST_TABLE: u32 = 4096;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "isolation",
    summary: "congested flows get a queue of their own (DVL, enhanced DVL or EDVL, 802.1Qcz or QCZ); needs `pfc`",
    place: "switches.CLASS.isolation",
    source: "Gonzalez-Naharro et al., NEAT 2019; IEEE 802.1Qcz",
    about: DOCS,
    settings: &["Isolation", "Scheme", "JointStop", "Naming", "Order", "Marked"],
}];

impl Mechanism for Home {
    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        if let Some(isolation) = &switch.isolation {
            check(path, switch, isolation, checker);
        }
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }

    fn recorded_bytes(&self, plan: &Plan, end: Span) -> u64 {
        recorded_bytes(plan, end)
    }

    fn recorded_events(&self, plan: &Plan) -> Option<[&'static str; 2]> {
        plan.record.isolation.as_ref()?;
        Some(["events of isolation", "record fewer switches (record.isolation.of)"])
    }

    fn tables(&self) -> Vec<Box<dyn Named>> {
        vec![Box::new(table())]
    }
}

fn check(path: &str, switch: &Switch, isolation: &Isolation, checker: &mut Checker<'_>) {
    let Isolation { priority, detect, propagate_ingress, stop, go, table, share, .. } = *isolation;
    let mut at = At(checker, format!("{path}.isolation"));
    let size = switch.buffer.size;
    match &switch.pfc {
        None => {
            let message = "isolation needs pfc: neighbors are stopped by class";
            let error = Diagnostic::error(Code::Conflict, message).help(format!("add {path}.pfc = {{}}"));
            at.0.error(&format!("{path}.isolation"), error);
        }
        Some(pfc) if !pfc.priorities.contains(&priority) => {
            let message = format!("priority = {priority}, which is not one of pfc.priorities");
            at.error("priority", Diagnostic::error(Code::Conflict, message));
        }
        Some(_) => {}
    }
    for (key, threshold) in [
        ("detect", detect),
        ("propagate_egress", isolation.propagate_egress),
        ("propagate_ingress", propagate_ingress),
        ("stop", stop),
    ] {
        at.unless(threshold > Bytes::ZERO, key, &format!("{key} = 0 B, expected more"));
        if threshold >= size {
            let message = format!("{key} = {threshold}, but the switch has {size} of packet memory");
            at.error(key, Diagnostic::error(Code::Threshold, message));
        }
    }
    ordered(&mut at, "go", go, "stop", stop);
    ordered(&mut at, "propagate_ingress", propagate_ingress, "stop", stop);
    check_end(isolation, &mut at);
    let message = format!("table = {table}, expected 1 to {LARGEST_TABLE}");
    at.unless((1..=LARGEST_TABLE).contains(&table), "table", &message);
    let message = format!("share = {share}, expected at least 0, less than 1");
    at.unless((0.0..1.0).contains(&share), "share", &message);
    if isolation.mark == Marked::Isolated && !switch.marking.marks() {
        let message = "packets of isolated flows are to be marked, but the switch marks none";
        let error = Diagnostic::error(Code::Conflict, message);
        at.error("mark", error.help(format!("add {path}.marking, which says when")));
    }
    at.unless(isolation.messages > 0, "messages", "messages = 0, expected at least 1");
    at.frame("message_size", isolation.message_size);
}

fn ordered(at: &mut At<'_, '_>, key: &str, low: Bytes, other: &str, high: Bytes) {
    if low > high {
        let message = format!("{key} = {low}, expected at most {other} = {high}");
        at.error(key, Diagnostic::error(Code::Threshold, message));
    }
}

/// When enhanced DVL gives up a queue.
fn check_end(isolation: &Isolation, at: &mut At<'_, '_>) {
    let Isolation { scheme, detect, go, .. } = *isolation;
    let free_below = isolation.free_below();
    let mut key = "detect";
    if isolation.free_below.is_some() {
        key = "free_below";
        at.unless(free_below > Bytes::ZERO, key, "free_below = 0 B, expected more");
        ordered(at, key, free_below, "detect", detect);
        if scheme != Scheme::Edvl {
            let message = "free_below is for scheme = \"edvl\": others give up queues by other rules";
            at.error(key, Diagnostic::error(Code::Conflict, message).help("leave it out"));
        }
    }
    if scheme == Scheme::Edvl && go <= free_below {
        let message = format!("go = {go}, which is not above {key} = {free_below}");
        let warning = Diagnostic::warning(Code::GivesUp, message);
        at.error("go", warning.help(format!("raise go and stop, or lower {key}")));
    }
}

static COUNTERS: Counters = Counters {
    present: "networks that isolate flows",
    is_in: |plan| plan.network.switches.iter().flatten().any(|switch| switch.isolation.is_some()),
    counters: &[
        Counter::new(
            Ports(|port| port.isolation.flows),
            "",
            "Flows that a switch moved to a queue for isolated flows.",
        )
        .activity("flows isolated")
        .column("isolated_flows"),
        Counter::new(
            Ports(|port| port.isolation.refused),
            "",
            "Times that a packet would have had its flow isolated, and the table of the port was full.",
        )
        .activity("isolation refused: table full")
        .column("refused_flows"),
        Counter::most(
            Ports(|port| port.isolation.max_backlog),
            "B",
            "The most that ever waited of isolated flows.",
        )
        .column("max_isolated_bytes"),
    ],
};

pub(crate) fn observer(plan: &Plan, events: &Arc<RowLimit>) -> Option<IsolationObserver> {
    let (_, of) = plan.record.isolation.as_ref()?;
    Some(IsolationObserver::new(&plan.network.topology, of, Arc::clone(events)))
}

pub(crate) fn finish(observers: Vec<IsolationObserver>) -> Vec<IsolationRow> {
    IsolationObserver::finish(observers)
}

/// Each packet that leaves a port can have isolated a flow there, of which a neighbor is notified. Queues for isolated flows are
/// set up and given up, at the port and at the input, as often as `detect` bytes can come and go. A run with more than
/// [`rows::MOST_EVENTS`] is ended.
fn recorded_bytes(plan: &Plan, end: Span) -> u64 {
    let Some((_, nodes)) = &plan.record.isolation else { return 0 };
    let topology = &plan.network.topology;
    let full =
        plan.traffic.groups.iter().map(|group| group.transport.packet_size(group.transport.full_payload()));
    let packet = full.min().unwrap_or(Bytes::new(1)).max(Bytes::new(1));
    let events = topology.links().iter().filter(|link| nodes.contains(&link.from)).map(|link| {
        let switch = plan.network.switches[link.from.index()].as_ref();
        let Some(isolation) = switch.and_then(|switch| switch.isolation.as_ref()) else { return 0 };
        let carried = link.wire.rate * end;
        let packets = carried.div_ceil(packet);
        let cycles = carried.div_ceil(isolation.detect.max(packet));
        packets.saturating_mul(2).saturating_add(cycles.saturating_mul(4))
    });
    rows::bytes::<IsolationRow>(events.fold(0, u64::saturating_add).min(rows::MOST_EVENTS))
}

fn table() -> Described<IsolationRow> {
    let table = Described::<IsolationRow>::new(
        "isolation",
        "One row per event of a queue for isolated flows.",
        "with `record.isolation`",
        |run| run.recorded.isolation.as_deref().map(Cow::Borrowed),
    );
    table
        .ps("at_ps", "When it happened.", |row, _| row.at.as_ps())
        .name("node", "The switch.", nodes, |row, _| row.node.0)
        .name("link", "The link of the port; for events at an input the link that leads to the switch.", links, |row, _| row.link.0)
        .name("event", "`allocated` or `freed`: a port got or gave back its queue; `allocated_at_input` and `freed_at_input` the same at an input; `flow`: a flow was isolated; `told`: a neighbor asked for it.", events, |row, _| row.event.number() as u32)
        .maybe_count("flow", "Number of the flow, for events that are about one.", |row, _| row.event.flow().map(|flow| flow.0.into()))
}

fn links(plan: &Plan) -> Vec<String> {
    let topology = &plan.network.topology;
    (0..topology.links().len()).map(|link| topology.link_name(LinkId::from(link))).collect()
}

fn events(_: &Plan) -> Vec<String> {
    IsolationEvent::NAMES.map(str::to_owned).to_vec()
}
