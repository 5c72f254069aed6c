//! PAUSE, checked.

use narrows_proto::units::Bytes;
use narrows_sim::docs::PAUSE;
use narrows_sim::switch::{Pause, Sharing};
use narrows_sim::{LinkId, Network};

use super::{Entry, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{At, Checker};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "pause",
    summary: "PAUSE: a switch that runs out of room stops its neighbors",
    place: "switches.CLASS.pause",
    source: "IEEE 802.3 Annex 31B",
    about: &[PAUSE],
    settings: &["Pause"],
}];

impl Mechanism for Home {
    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        switch.pause.as_ref().map(|_| "pause")
    }

    fn check_switch(&self, path: &str, switch: &Switch, checker: &mut Checker<'_>) {
        if let Some(pause) = &switch.pause {
            check(path, switch, pause, checker);
        }
    }

    fn check_packets(&self, network: &Network, largest: Bytes, checker: &mut Checker<'_>) {
        warn_of_loss(network, largest, checker);
    }
}

fn check(path: &str, switch: &Switch, pause: &Pause, checker: &mut Checker<'_>) {
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
