//! From what the files say to a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::plan::LONGEST;
use narrows_proto::units::{Bytes, Span, WireTime};

use super::super::scenario::{self, plain_name};
use super::super::{Imported, Note};
use super::base_rtt::Longest;
use super::links::{Tiers, links, nic, node};
use super::{Config, Flows, Network, base_rtt, connection, switches};

/// Where a run ends with its flows, none starts this long after the last one in the file.
const AFTER_LAST: Span = Span::from_ms(1);
/// Threads of traffic are distinguished by destination port, if there are not more than this many.
const MOST_GROUPS: usize = 16;

/// The scenario and its traces.
pub(super) fn scenario(
    network: &Network,
    flows: Option<&Flows>,
    config: &Config,
    has_config: bool,
    name: &str,
) -> Checked<Imported> {
    let name = plain_name(name);
    let hosts = network.hosts();
    if hosts.is_empty() {
        return Err(Diagnostic::error(Code::ForeignFile, "no link of the topology leads to a host").into());
    }
    let mut notes = config.notes.clone();
    if !has_config {
        notes.push(Note::new("config.txt", "not given: DCQCN, 1000 B packets, 16 MiB switches, no marking"));
    }
    if has_config && config.buffer.is_none() {
        let why = format!("none: {}, as third.cc has it", switches::BUFFER);
        notes.push(Note::new("BUFFER_SIZE", why));
    }
    let mut links = links(network, config, &hosts, &mut notes);
    let most = config.max_rate.unwrap_or(WireTime::MAX_RATE);
    let longest = base_rtt::graph(network).longest(config.payload, most).unwrap_or_else(|| {
        let why = "the network is too large to find it; 13 us are assumed";
        notes.push(Note::new("base round-trip time", why));
        Longest { rtt: Span::from_us(13), bdp: Bytes::new(1_000_000), rate: most }
    });
    let longest = connection::longest(config, longest);
    let used = |id: &u32| links.nodes.contains(id);
    let unlinked = network.nodes as usize - links.nodes.len();
    if unlinked > 0 {
        notes.push(Note::new("nodes", format!("{unlinked} nodes without links are left out")));
    }
    let tiers = Tiers::new(network);
    let mut read = vec![format!(
        "topology: {} hosts, {} switches, {} links ({})",
        hosts.len(),
        network.switches.iter().chain(&network.nvswitches).filter(|id| used(id)).count(),
        network.links.len(),
        format_args!("header of {}: {}", network.dialect.fields().0, network.dialect.fields().1),
    )];
    network.ignored.note("topology.txt", "links", &mut notes);
    let groups = flows.map(groups).unwrap_or_default();
    if let Some(flows) = flows {
        let (count, columns) = (flows.flows.len(), flows.columns.names());
        read.push(format!("flows: {count} ({columns}), base round-trip time {}", longest.rtt));
        note_flows(flows, config, &mut notes);
    }
    if groups.is_empty() {
        notes.push(Note::new("flow.txt", "none: every host sends 1 MB to another one"));
    }
    let settings = switches::settings(network, config, &links.links, &mut notes)?;
    let connection = connection::connection(network, config, longest, &mut notes);

    let mut text = String::new();
    scenario::head(
        &mut text,
        "Imported from ns-3's RDMA simulations (HPCC and its descendants).",
        &read,
        &notes,
    );
    let (after, drain) = stop(config, flows);
    let _ = write!(text, "version = 1\nname = \"{name}\"\n\n[stop]\nafter = \"{after}\"\n");
    if drain > Span::ZERO {
        let _ = writeln!(text, "drain = \"{drain}\"");
    }
    text.push('\n');
    text.push_str(&settings);
    let host_names: Vec<_> = hosts.keys().map(|id| node(*id)).collect();
    let all = network.nvswitches.iter().chain(&network.switches).filter(|id| used(id));
    let mut switch_names: Vec<_> =
        all.map(|id| (node(*id), tiers.class(network, *id), tiers.of(*id))).collect();
    switch_names.extend(links.nics.iter().map(|id| (nic(*id), "nic", 0)));
    scenario::topology(
        &mut text,
        host_names.iter().map(String::as_str),
        switch_names.iter().map(|(name, class, tier)| (name.as_str(), *class, *tier)),
        &std::mem::take(&mut links.links),
    );
    if let Some((after, a, b)) = config.link_down {
        let (a, b) = (links.end(a), links.end(b));
        let from = Span::from_secs(2) + after;
        let _ = write!(
            text,
            "[[failures]]\nlink = [\"{a}\", \"{b}\"]\nfrom = \"{from}\"\nreroute_after = \"0 s\"\n\n"
        );
    }
    let mut files = Vec::new();
    for (group, csv) in groups {
        let file = format!("{name}.{group}.csv");
        scenario::trace_group(&mut text, &group, &file, &connection);
        files.push((file, csv));
    }
    if files.is_empty() {
        let _ = write!(
            text,
            "[[traffic]]\nname = \"flows\"\npattern = {{ permutation = {{ size = \"1 MB\" }} }}\n{connection}\n"
        );
    }
    Ok(Imported { scenario: text, files, read, notes })
}

/// When the last flow may start, and how long those that have started may take to finish then.
fn stop(config: &Config, flows: Option<&Flows>) -> (Span, Span) {
    if config.stop <= LONGEST {
        return (config.stop, config.drain.min(LONGEST - config.stop));
    }
    // ASTRA-sim names a time that never comes and ends when all is done.
    let last = flows.and_then(|flows| flows.flows.last()).map_or(Span::ZERO, |flow| flow.start);
    let after = (last + AFTER_LAST).min(LONGEST);
    (after, LONGEST - after)
}

/// Traces by the name of their group.
fn groups(flows: &Flows) -> BTreeMap<String, String> {
    let name = |port: Option<u32>| match port {
        _ if has_many_ports(flows) => "flows".to_owned(),
        None => "flows".into(),
        Some(100) => "background".into(),
        Some(200) => "incast".into(),
        Some(port) => format!("dport-{port}"),
    };
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    for flow in &flows.flows {
        let csv = groups.entry(name(flow.dport)).or_insert_with(|| "start,src,dst,bytes\n".into());
        let (src, dst) = (node(flow.src), node(flow.dst));
        let _ = writeln!(csv, "{},{src},{dst},{}", flow.start, flow.size.get());
    }
    groups
}

fn has_many_ports(flows: &Flows) -> bool {
    let ports: BTreeSet<_> = flows.flows.iter().map(|flow| flow.dport).collect();
    ports.len() > MOST_GROUPS
}

fn note_flows(flows: &Flows, config: &Config, notes: &mut Vec<Note>) {
    flows.ignored.note("flow.txt", "flows", notes);
    let pgs: BTreeSet<u8> = flows.flows.iter().map(|flow| flow.pg).collect();
    if pgs.len() > 1 {
        let why = "flows of all groups share one priority; ns-3 serves the queues of groups 1 to 7 in turn";
        notes.push(Note::new("pg", why));
    }
    if has_many_ports(flows) {
        notes.push(Note::new("dport", "there are too many to make a traffic group of each"));
    }
    if flows.cut > 0 {
        let why = format!("cut to picoseconds (flows: {})", flows.cut);
        notes.push(Note::new("starts", why));
    }
    if let Some(stop) = flows.stop.filter(|stop| *stop < config.stop) {
        let why =
            format!("flows end when all is sent, there the first ends at {stop} whatever is left of it");
        notes.push(Note::new("stop", why));
    }
}
