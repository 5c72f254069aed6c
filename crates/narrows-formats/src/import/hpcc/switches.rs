//! Settings of switches: memory, stops, marking, telemetry.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows_proto::units::{BitRate, Bytes};
use narrows_sim::switch::{Buffer, Pfc, Sharing};

use super::super::Note;
use super::super::scenario::Link;
use super::links::node;
use super::{Config, Network, Thresholds, connection};

/// Buffer that third.cc takes if `BUFFER_SIZE` is left out.
pub(super) const BUFFER: Bytes = Bytes::new(16 << 20);

/// `[switches.default]` and those that differ.
pub(super) fn settings(
    network: &Network,
    config: &Config,
    links: &[Link],
    notes: &mut Vec<Note>,
) -> Checked<String> {
    let mut text = String::from("[switches.default]\n");
    let sharing = if config.pfc { Sharing::Complete } else { Sharing::default() };
    let buffer = Buffer { size: memory(network, config, links, notes), sharing };
    let sharing = if config.pfc { "\"complete\"" } else { "{ dynamic = { alpha = 1 } }" };
    let _ = writeln!(text, "buffer = {{ size = \"{}\", sharing = {sharing} }}", buffer.size);
    if config.pfc {
        text.push_str("pfc = { priorities = [0], xoff = { alpha = 0.125 } }\n");
        notes.push(Note::new(
            "pfc",
            "α = 1/8 at all links, ns-3 doubles it for each doubling of the rate; headroom is what rates and lengths ask for",
        ));
    }
    if config.mode.reads_telemetry() {
        text.push_str("telemetry = true\n");
    }
    if config.marking {
        text.push_str(&marking(network, config, &buffer, notes)?);
    }
    if network.hosts().values().any(|links| *links > 1) {
        text.push_str("\n[switches.nic]\nbuffer = { size = \"1 GB\", sharing = \"per_port\" }\n");
        if config.mode.reads_telemetry() {
            text.push_str("telemetry = false\n");
        }
    }
    text.push('\n');
    Ok(text)
}

/// Memory of each switch. Headroom is part of it, unless it would leave nothing: in ns-3 what is left wraps around then, and
/// ns3-datacenter has headroom beside it anyhow.
fn memory(network: &Network, config: &Config, links: &[Link], notes: &mut Vec<Note>) -> Bytes {
    let size = config.buffer.unwrap_or(BUFFER);
    if !config.pfc {
        return size;
    }
    let (pfc, largest) = (Pfc::default(), connection::largest_packet(config));
    let switches: BTreeSet<String> =
        network.switches.iter().chain(&network.nvswitches).map(|id| node(*id)).collect();
    let mut headrooms: BTreeMap<&str, (Bytes, usize)> = BTreeMap::new();
    for Link { between: (a, b), rate, delay, .. } in links {
        for end in [a, b].into_iter().filter(|end| switches.contains(*end)) {
            let (sum, links) = headrooms.entry(end).or_default();
            *sum = sum.saturating_add(pfc.needed_headroom(*rate, *delay, *delay, largest));
            *links += 1;
        }
    }
    let lacks = |(sum, links): &(Bytes, usize)| {
        pfc.pool(size, *sum, *links, false, pfc.global_headroom(*links, largest)).is_none()
    };
    let of_all = |(sum, links): (Bytes, usize)| sum.saturating_add(pfc.global_headroom(links, largest));
    match headrooms.into_values().filter(lacks).map(of_all).max() {
        None => size,
        Some(headroom) => {
            let why = format!("{size} would not hold the headroom of all switches, {headroom}: it is added");
            notes.push(Note::new("BUFFER_SIZE", why));
            size.saturating_add(headroom)
        }
    }
}

/// RED, by the rate of the port where the configuration has thresholds by rate.
fn marking(network: &Network, config: &Config, buffer: &Buffer, notes: &mut Vec<Note>) -> Checked<String> {
    // Neither sharing depends on the number of ports.
    let most = buffer.largest_queue(1).saturating_sub(Bytes::new(1)).max(Bytes::new(2));
    let Thresholds { kmin, kmax, pmax } = config.all_ports;
    if let (Some(kmin), Some(kmax), Some(pmax)) = (kmin, kmax, pmax) {
        return Ok(red(&Curve::new(kmin, kmax, pmax, most).into_iter().collect::<Vec<_>>(), &[]));
    }
    if config.thresholds.is_empty() {
        if config.mode.reads_marks() {
            notes.push(Note::new("KMIN_MAP, KMAX_MAP, PMAX_MAP", "none: nothing is marked"));
        }
        return Ok(String::new());
    }
    // NVSwitches do not mark.
    let marks = |id: u32| network.switches.contains(&id);
    let at_switch = |link: &&super::Link| marks(link.ends.0) || marks(link.ends.1);
    let rates: BTreeSet<BitRate> = network.links.iter().filter(at_switch).map(|link| link.rate).collect();
    let (mut curves, mut at) = (Vec::new(), Vec::new());
    for rate in rates {
        let thresholds = config.thresholds.get(&rate).copied().unwrap_or_default();
        let (Some(kmin), Some(kmax), Some(pmax)) = (thresholds.kmin, thresholds.kmax, thresholds.pmax) else {
            if config.mode.reads_marks() {
                let known: Vec<_> = config.thresholds.keys().map(ToString::to_string).collect();
                let message = format!("links of {rate} have no entry in KMIN_MAP, KMAX_MAP and PMAX_MAP");
                let help = format!("ns-3 asserts that every rate has one; there are {}", known.join(", "));
                return Err(Diagnostic::error(Code::ForeignFile, message).help(help).into());
            }
            let why = format!("have none, and CC_MODE {} reads no marks", config.mode.number());
            notes.push(Note::new(format!("thresholds of links of {rate}"), why));
            continue;
        };
        match Curve::new(kmin, kmax, pmax, most) {
            Some(curve) => {
                curves.push(curve);
                at.push(rate);
            }
            None => notes.push(Note::new(
                format!("KMAX_MAP at {rate}"),
                "0 turns marking off there, here it marks as at other rates",
            )),
        }
    }
    Ok(red(&curves, &at))
}

/// From a threshold to another one the probability rises.
struct Curve {
    min: Bytes,
    max: Bytes,
    max_p: f64,
}

impl Curve {
    /// None if nothing is marked. No queue is longer than `most`, so the curve may end there.
    fn new(kmin: Bytes, kmax: Bytes, pmax: f64, most: Bytes) -> Option<Self> {
        let max = kmax.min(most);
        // Equal thresholds are a step.
        let min = kmin.min(max.saturating_sub(Bytes::new(1)));
        let part = max.saturating_sub(kmin).as_f64() / kmax.saturating_sub(kmin).max(Bytes::new(1)).as_f64();
        let reached = if max < kmax { pmax * part } else { pmax };
        let max_p = if reached > 0.0 { reached.min(1.0) } else { 1e-9 };
        (kmax > Bytes::ZERO).then_some(Self { min, max, max_p })
    }
}

/// The setting: the first curve, and those of more rates than one.
fn red(curves: &[Curve], at: &[BitRate]) -> String {
    let Some(Curve { min, max, max_p }) = curves.first() else { return String::new() };
    let mut text = format!(
        "marking = {{ red = {{ min = \"{min}\", max = \"{max}\", max_p = {max_p:?}, weight = 1.0, spread = false, action = \
         \"mark_only\", mark_at = \"dequeue\""
    );
    if at.len() > 1 {
        text.push_str(", at = [\n");
        for (rate, Curve { min, max, max_p }) in at.iter().zip(curves) {
            let _ = writeln!(
                text,
                "    {{ rate = \"{rate}\", min = \"{min}\", max = \"{max}\", max_p = {max_p:?} }},"
            );
        }
        text.push(']');
    }
    text.push_str(" } }\n");
    text
}
