//! A plan in text: its traffic, its round trips and queues.

use narrows::numbers::{grouped, number};
use narrows::plan::{
    Expected, Facts, LoadOf, Oversubscription, PathFacts, Plan, PlannedCollective, PlannedGroup,
    PlannedPairing, StopFacts,
};
use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes, Span};

use super::{indented, plain};

/// One line for each traffic group.
pub fn groups(plan: &Plan) -> String {
    let mut table = plain();
    for (group, of) in plan.groups.iter().zip(&plan.traffic.groups) {
        let mut cells = vec![group.name.clone(), group.control.clone(), group.pattern.to_owned()];
        let settings = of.transport.control().and_then(of_switches);
        cells.push([describe(group)].into_iter().chain(settings).collect::<Vec<_>>().join(" · "));
        table.add_row(cells);
    }
    indented(&table)
}

/// Settings of the switches that a control assumes, where they may come from them.
fn of_switches(control: &Config) -> Option<String> {
    let Config::Gemini(settings) = control else { return None };
    let k = settings.marking_threshold?.bytes()?;
    let capacity = settings.capacity.map_or_else(String::new, |capacity| format!(" at {capacity}"));
    Some(format!("K = {k}{capacity}"))
}

/// Facts that decide how congestion control fares: round trips, queues, oversubscription.
pub fn facts(facts: &Facts) -> String {
    let mut text = String::new();
    if !facts.groups.is_empty() {
        let mut table = plain();
        table.set_header(["", "base RTT", "bottleneck", "BDP", "in packets"]);
        for group in &facts.groups {
            let packets = group.bdp_bytes.map(|bdp| number((bdp as f64 / group.packet_bytes as f64).round()));
            table.add_row([
                group.name.clone(),
                range(group.base_rtt_ps.map(|rtt| format!("{:.1}", Span::from_ps(rtt)))),
                range(group.bottleneck_bps.map(|rate| BitRate::from_bps(rate).to_string())),
                range(group.bdp_bytes.map(|bdp| format!("{:.1}", Bytes::new(bdp)))),
                range(packets),
            ]);
        }
        text += &indented(&table);
    }
    if !facts.ports.is_empty() {
        let mut table = plain();
        table.set_header(["", "ports", "a queue holds", "in packets", "in BDPs", "K", "as time"]);
        for port in &facts.ports {
            let rate = BitRate::from_bps(port.rate_bps);
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
            table.add_row([
                port.class.clone(),
                format!("{} × {rate}", grouped(port.count as i64)),
                format!("{:.1}", Bytes::new(port.buffer_bytes)),
                number(port.buffer_packets.round()),
                or_none(port.buffer_bdp.map(|bdp| number((bdp * 100.0).round() / 100.0))),
                or_none(
                    port.k_bytes
                        .map(bytes)
                        .or_else(|| port.red_bytes.map(|ends| range(ends.map(bytes)) + " (RED)")),
                ),
                or_none(port.k_ps.map(|k| format!("{:.1}", Span::from_ps(k)))),
            ]);
        }
        text += &indented(&table);
    }
    text += &stops(&facts.stops);
    if facts.cards_isolate {
        text += "  network cards isolate flows as switches do; isolation.hosts = false leaves them out\n";
    }
    for PathFacts { link, does } in &facts.paths {
        text += &format!("  {link}: {}\n", does.join(" · "));
    }
    let ratio =
        |of: &Oversubscription| format!("{} {}:1", of.class, number((of.ratio * 100.0).round() / 100.0));
    let ratios: Vec<_> = facts.oversubscription.iter().map(ratio).collect();
    if !ratios.is_empty() {
        text += &format!("  oversubscription {}\n", ratios.join(" · "));
    }
    text
}

/// Deviations of loads from what was asked for where a run is short for its sizes, and the time in which they are little.
pub fn drawings(plan: &Plan) -> String {
    let line = |group: &PlannedGroup| {
        let drawing = plan.drawing(group).filter(|drawing| !drawing.is_close())?;
        let within = match drawing.within {
            all if all >= 1.0 => "a run of this length draws almost any".to_owned(),
            part => format!("drawn to within ±{} % (95 of 100 runs)", number((100.0 * part).round())),
        };
        let name = &group.name;
        Some(format!("  load of {name}: {within}, ±10 % takes {:.0} of measured time\n", drawing.needed))
    };
    plan.groups.iter().filter_map(line).collect()
}

/// Thresholds of flow control, by kind of link.
fn stops(facts: &[StopFacts]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut table = plain();
    table.set_header(["", "links in", "", "XOFF, all to alone", "XON", "headroom", "shared pool"]);
    for of in facts {
        table.add_row([
            of.class.clone(),
            format!("{} × {}", grouped(of.count as i64), BitRate::from_bps(of.rate_bps)),
            of.mechanism.to_owned(),
            range(of.xoff_bytes.map(bytes)),
            range(of.xon_bytes.map(bytes)),
            bytes(of.headroom_bytes),
            of.pool_bytes.map_or_else(|| "–".into(), bytes),
        ]);
    }
    indented(&table)
}

fn bytes(bytes: u64) -> String {
    format!("{:.1}", Bytes::new(bytes))
}

/// `a to b`, or only one of them if they look the same.
fn range([from, to]: [String; 2]) -> String {
    if from == to { from } else { format!("{from} to {to}") }
}

fn describe(group: &PlannedGroup) -> String {
    // What is drawn when the run begins is known as a mean only.
    let about = if group.expected.is_some_and(|expected| expected.is_random) { "about " } else { "" };
    let mut parts = Vec::new();
    if let Some(rpcs) = &group.rpcs {
        let expected = |expected: Expected| (expected.flows / f64::from(expected.per_arrival)).round() as i64;
        let rpcs = group.expected.map_or(rpcs.len() as i64, expected);
        parts.push(format!("{about}{} {}", grouped(rpcs), if rpcs == 1 { "RPC" } else { "RPCs" }));
    }
    if let Some(collective) = &group.collective {
        let PlannedCollective { ranks, steps, messages, iterations, .. } = collective;
        parts.push(format!("{} ranks", grouped(ranks.len() as i64)));
        parts.push(format!("{} steps", grouped(i64::from(*steps))));
        parts.push(format!("{} messages × {iterations}", grouped(*messages as i64)));
        return parts.join(" · ");
    }
    let flows = group.expected_flows().round() as i64;
    parts.push(if flows == 1 { "1 flow".to_owned() } else { format!("{about}{} flows", grouped(flows)) });
    // Of one flow between two hosts there is nothing to say.
    if let Some(pairing) = group.pairing.filter(|how| *how == PlannedPairing::Random || flows > 1) {
        parts.push(pairing.to_string());
    }
    if let Some(sizes) = &group.sizes {
        let percent = if sizes.percent { ", read as percent" } else { "" };
        let listed =
            sizes.listed.map_or_else(String::new, |listed| format!(", {} listed", grouped(listed as i64)));
        let mean = Bytes::from_f64(sizes.sizes.mean() + 0.5);
        parts.push(format!("sizes {}{percent}{listed}, mean {mean:.1}", sizes.name));
    }
    if let Some(load) = &group.load {
        let links = if load.links == 1 { "link".into() } else { format!("{} links", load.links) };
        let what = match load.counts {
            LoadOf::Wire => "wire load",
            LoadOf::Payload => "payload load",
            LoadOf::Utilization => "utilization",
        };
        parts.push(format!(
            "{what} {} of {links} ({}): {} {}/s",
            number(load.load),
            load.capacity,
            number(load.per_second.round()),
            if group.rpcs.is_some() { "RPCs" } else { "flows" }
        ));
    }
    parts.join(" · ")
}
