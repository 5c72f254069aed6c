//! Congestion points, PAUSE and reaction points, checked.

use narrows_proto::cc::Ranges;
use narrows_proto::units::Bytes;
use narrows_sim::switch::{
    Bcn, CongestionPoint, MOST_CONGESTION_POINTS, Message, Pause, Qcn, Sampling, Sharing, SwitchConfig,
};
use narrows_sim::traffic::{Group, Traffic};
use narrows_sim::{LinkId, Network, Paths, Reaction, topology::Topology};

use super::Checker;
use super::select::host_rates;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Scenario, Switch};

const LARGEST_FRAME: Bytes = Bytes::new(u16::MAX as u64);

/// Whether any switch of the scenario signals, so that its ports have to be scheduled.
pub(super) fn signals(scenario: &Scenario) -> Option<(&'static str, &str)> {
    let mut switches = scenario.switches.iter();
    switches.find_map(|(class, switch)| match switch {
        Switch { pause: Some(_), .. } => Some(("pause", class.as_str())),
        Switch { pfc: Some(_), .. } => Some(("pfc", class.as_str())),
        Switch { congestion_point: CongestionPoint::Bcn(_) | CongestionPoint::Qcn(_), .. } => {
            Some(("congestion_point", class.as_str()))
        }
        Switch { telemetry: true, .. } => Some(("telemetry", class.as_str())),
        Switch { marking, .. } if marking.at_dequeue() => Some(("marking", class.as_str())),
        _ => None,
    })
}

/// Checks numbers. `largest` is the most one queue can hold.
pub(super) fn check_congestion_point(path: &str, switch: &Switch, largest: Bytes, checker: &mut Checker<'_>) {
    let path = format!("{path}.congestion_point");
    match &switch.congestion_point {
        CongestionPoint::Off => {}
        CongestionPoint::Bcn(bcn) => At(checker, format!("{path}.bcn")).bcn(bcn, largest),
        CongestionPoint::Qcn(qcn) => At(checker, format!("{path}.qcn")).qcn(qcn, largest),
    }
}

pub(super) fn check_pause(path: &str, switch: &Switch, checker: &mut Checker<'_>) {
    let Some(pause) = &switch.pause else { return };
    let mut at = At(checker, format!("{path}.pause"));
    let Pause { xoff, quanta, frame, .. } = *pause;
    let size = switch.buffer.size;
    at.unless(xoff > Bytes::ZERO, "xoff", "xoff = 0 B, expected more");
    if xoff >= size {
        let message = format!("xoff = {xoff}, but the switch has {size} of packet memory");
        at.error("xoff", Diagnostic::error(Code::Threshold, message));
    }
    let xon = pause.xon();
    at.unless(xon <= xoff, "xon", &format!("xon = {xon}, expected at most xoff = {xoff}"));
    at.unless(quanta > 0, "quanta", "quanta = 0, expected at least 1");
    at.frame("frame", frame);
    if switch.buffer.sharing != Sharing::Complete {
        let message = "pause decides by where packets come from, the buffer's sharing by where they go";
        let error = Diagnostic::error(Code::Conflict, message);
        checker.error(&format!("{path}.buffer"), error.help("use sharing = \"complete\" with pause"));
    }
}

/// A checker within a table.
pub(super) struct At<'a, 'b>(pub(super) &'a mut Checker<'b>, pub(super) String);

impl At<'_, '_> {
    pub(super) fn error(&mut self, key: &str, diagnostic: Diagnostic) {
        self.0.error(&format!("{}.{key}", self.1), diagnostic);
    }

    pub(super) fn unless(&mut self, holds: bool, key: &str, message: &str) {
        if !holds {
            self.error(key, Diagnostic::error(Code::OutOfRange, message));
        }
    }

    pub(super) fn frame(&mut self, key: &str, size: Bytes) {
        let message = format!("a frame of {size}, expected 64 B to {LARGEST_FRAME}");
        self.unless((Bytes::new(64)..=LARGEST_FRAME).contains(&size), key, &message);
    }

    fn message(&mut self, message: &Message) {
        self.frame("message.size", message.size);
        let priority = message.priority;
        self.unless(priority <= 7, "message.priority", &format!("priority = {priority}, expected 0 to 7"));
    }

    fn reachable(&mut self, key: &str, threshold: Bytes, largest: Bytes) {
        self.unless(threshold > Bytes::ZERO, key, &format!("{key} = {threshold}, expected more than 0 B"));
        if threshold >= largest {
            let message = format!("{key} = {threshold}, but a queue can hold at most {largest}");
            self.error(key, Diagnostic::error(Code::Threshold, message));
        }
    }

    fn weight(&mut self, weight: f64) {
        let message = format!("weight = {weight}, expected 0 to 1000");
        self.unless((0.0..=1000.0).contains(&weight), "weight", &message);
    }

    fn bcn(&mut self, bcn: &Bcn, largest: Bytes) {
        let Bcn { set_point, severe, weight, sampling, levels, message, .. } = bcn;
        self.reachable("set_point", *set_point, largest);
        if let Some(severe) = *severe {
            self.reachable("severe", severe, largest);
            let message = format!("severe = {severe}, expected more than set_point = {set_point}");
            self.unless(severe > *set_point, "severe", &message);
        }
        self.weight(*weight);
        match *sampling {
            Sampling::Random(p) => {
                let message = format!("random = {p}, expected above 0, at most 1");
                self.unless(p > 0.0 && p <= 1.0, "sampling.random", &message);
            }
            Sampling::Every(frames) => {
                self.unless(frames > 0, "sampling.every", "every = 0, expected at least 1");
            }
        }
        let rising = levels.is_sorted() && levels[0] > 0.0 && levels[2] <= 1.0;
        self.unless(
            rising,
            "levels",
            &format!("levels = {levels:?}, expected rising parts above 0, at most 1"),
        );
        self.message(message);
    }

    fn qcn(&mut self, qcn: &Qcn, largest: Bytes) {
        let Qcn { set_point, weight, sample_base, jitter, message } = qcn;
        self.reachable("set_point", *set_point, largest);
        self.weight(*weight);
        let message_of_base = format!("sample_base = {sample_base}, expected 1 kB to 1 GB");
        let bases = Bytes::new(1_000)..=Bytes::new(1_000_000_000);
        self.unless(bases.contains(sample_base), "sample_base", &message_of_base);
        let message_of_jitter = format!("jitter = {jitter}, expected at least 0, less than 1");
        self.unless((0.0..1.0).contains(jitter), "jitter", &message_of_jitter);
        self.message(message);
    }
}

/// Checks reaction points and how they fit the congestion points.
pub(super) fn reaction(
    scenario: &Scenario,
    network: &Network,
    checker: &mut Checker<'_>,
) -> Option<Reaction> {
    let kinds: Vec<_> = network
        .switches
        .iter()
        .flatten()
        .filter_map(|switch| match switch.congestion_point {
            CongestionPoint::Off => None,
            CongestionPoint::Bcn(_) => Some("bcn"),
            CongestionPoint::Qcn(_) => Some("qcn"),
        })
        .collect();
    check_number_of_points(network, checker);
    let Some(points) = &scenario.reaction_points else {
        let qcn_is_heard =
            super::near_source::listens(&scenario.traffic) && kinds.iter().all(|kind| *kind == "qcn");
        if !kinds.is_empty() && !qcn_is_heard {
            let message = "congestion points send messages, but there are no reaction points";
            let help = format!("add [reaction_points] with rule = {{ {} = {{}} }}", kinds[0]);
            checker.error("switches", Diagnostic::warning(Code::NobodyReacts, message).help(help));
        }
        return None;
    };
    let name = points.rule.name();
    if kinds.is_empty() {
        let message = "there are reaction points, but no switch has a congestion point";
        let help = format!("for example congestion_point = {{ {name} = {{}} }} in a table of [switches]");
        checker.error("reaction_points", Diagnostic::warning(Code::NobodyReacts, message).help(help));
    } else if let Some(other) = kinds.iter().find(|kind| **kind != name) {
        let message = format!("reaction points for {name}, but there are congestion points of {other}");
        checker.error("reaction_points.rule", Diagnostic::error(Code::Conflict, message));
    }
    let slowest = host_rates(&network.topology).into_iter().min();
    if let Err(error) = points.rule.check(slowest, &mut Ranges::default()) {
        let path = format!("reaction_points.rule.{name}.{}", error.setting);
        checker.error(&path, Diagnostic::error(Code::OutOfRange, error.to_string()));
    }
    let mut at = At(checker, "reaction_points".into());
    at.unless(points.limiters > 0, "limiters", "limiters = 0, expected at least 1");
    if let Some(mark) = points.mark {
        let message = format!("mark = {mark}, expected less than what a limiter holds ({})", points.queue);
        at.unless(mark < points.queue, "mark", &message);
    }
    let most = 1 << 24;
    at.unless(
        points.limiters <= most,
        "limiters",
        &format!("{} limiters, expected at most {most}", points.limiters),
    );
    (!kinds.is_empty()).then(|| points.config())
}

fn check_number_of_points(network: &Network, checker: &mut Checker<'_>) {
    let ports = network.topology.ports();
    let has = |node: &usize| {
        network.switches[*node].as_ref().is_some_and(narrows_sim::switch::SwitchConfig::has_congestion_points)
    };
    let points: usize = (0..network.switches.len()).filter(has).map(|node| ports[node].len()).sum();
    if points > MOST_CONGESTION_POINTS {
        let message = format!(
            "{points} ports have congestion points, at most {MOST_CONGESTION_POINTS} can be distinguished"
        );
        checker.error("switches", Diagnostic::error(Code::OutOfRange, message));
    }
}

/// Checks what depends on the packets that are sent: room for tags, and whether PAUSE comes in time.
pub(super) fn check_with_traffic(network: &Network, traffic: &Traffic, checker: &mut Checker<'_>) {
    let largest = traffic.groups.iter().map(Group::largest_packet).max().unwrap_or(Bytes::ZERO);
    if let Some(reaction) = &network.reaction {
        let mut at = At(checker, "reaction_points".into());
        let tagged = largest.saturating_add(reaction.rule.tag_size());
        if tagged > LARGEST_FRAME {
            let message = format!("packets of {tagged} with their tag, expected at most {LARGEST_FRAME}");
            at.error(
                &format!("rule.{}.tag", reaction.rule.name()),
                Diagnostic::error(Code::OutOfRange, message),
            );
        }
    }
    super::lossless::check_with_traffic(network, largest, checker);
    warn_of_loss(network, largest, checker);
    warn_of_deadlock(network, checker);
}

/// Warns of packet memories that cannot hold what arrives after PAUSE.
fn warn_of_loss(network: &Network, largest: Bytes, checker: &mut Checker<'_>) {
    let topology = &network.topology;
    let mut needed = vec![Bytes::ZERO; topology.nodes().len()];
    for (number, link) in topology.links().iter().enumerate() {
        let Some(pause) = network.switches[link.to.index()].as_ref().and_then(|switch| switch.pause.as_ref())
        else {
            continue;
        };
        let headroom = network.needed_headroom(LinkId::from(number), largest);
        let sum = needed[link.to.index()].saturating_add(pause.xoff).saturating_add(headroom);
        needed[link.to.index()] = sum;
    }
    let memory =
        |node: usize| network.switches[node].as_ref().map_or(Bytes::MAX, |switch| switch.buffer.size);
    let Some(node) = (0..needed.len()).find(|node| needed[*node] > memory(*node)) else { return };
    let message = format!(
        "\"{}\" has {} of packet memory, but PAUSE comes in time for everything only with {}",
        topology.nodes()[node].name,
        memory(node),
        needed[node]
    );
    let help = "xoff and what may arrive after it, for every port; with less, packets may be dropped";
    checker.error("switches", Diagnostic::warning(Code::NotLossless, message).help(help));
}

/// Warns of cyclic buffer dependencies.
fn warn_of_deadlock(network: &Network, checker: &mut Checker<'_>) {
    let stops = |switch: &SwitchConfig| switch.pause.is_some() || switch.pfc.is_some();
    if !network.switches.iter().flatten().any(stops) {
        return;
    }
    let pauses = |link: LinkId| {
        let to = network.topology.link(link).to;
        network.switches[to.index()].as_ref().is_some_and(stops)
    };
    let Some(circle) = Paths::new(&network.topology, network.routing, 0).circle(pauses) else { return };
    let names: Vec<_> = circle.iter().take(8).map(|link| name(&network.topology, *link)).collect();
    let message = "PAUSE may stop traffic for good: links form a cyclic buffer dependency";
    let more = if circle.len() > names.len() { ", …" } else { "" };
    let warning = Diagnostic::warning(Code::Deadlock, message).help(format!("{}{more}", names.join(", ")));
    checker.error("switches", warning);
}

fn name(topology: &Topology, link: LinkId) -> String {
    format!("\"{}\"", topology.link_name(link))
}
