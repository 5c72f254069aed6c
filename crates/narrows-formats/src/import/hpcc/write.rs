//! From what the files say to a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows_proto::units::{BitRate, Bytes, Span};

use super::super::scenario::{self, plain_name};
use super::super::{Imported, Note};
use super::base_rtt::{Graph, Wire};
use super::{Config, Dialect, Flows, Network};

/// Bytes of a data packet that are not payload, telemetry aside: 14 B link, 20 B IPv4, 8 B UDP, 6 B sequence and group.
pub(crate) const HEADERS: u64 = 48;
/// An acknowledgement is padded to this; with telemetry it is 88 B, of which 42 B are the telemetry.
const ACK: u64 = 60;
const ACK_BESIDE_TELEMETRY: u64 = 46;
/// Threads of traffic are told apart by destination port, if there are not more than this many.
const MOST_GROUPS: usize = 16;

/// Where nodes are in the tree of switches.
struct Tiers(BTreeMap<u32, u32>);

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
    let mut links = links(network, config, &hosts, &mut notes);
    let (base_rtt, bdp) = match graph(network).largest(config.payload) {
        Some((rtt, bdp)) => (rtt, bdp),
        None => {
            notes.push(Note::new(
                "base round-trip time",
                "the network is too large to find it; 13 us are assumed",
            ));
            (Span::from_us(13), Bytes::new(1_000_000))
        }
    };
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
        match network.dialect {
            Dialect::Hpcc => "header of HPCC: nodes switches links",
            Dialect::Datacenter => "header of ns3-datacenter: nodes switches tors links",
            Dialect::SimAi => "header of SimAI: nodes gpus nvswitches switches links gpu_type",
        }
    )];
    let groups = flows.map(groups).unwrap_or_default();
    if let Some(flows) = flows {
        read.push(format!("flows: {}, base round-trip time {base_rtt}", flows.flows.len()));
        note_flows(flows, &groups, &mut notes);
    }
    if groups.is_empty() {
        notes.push(Note::new("flow.txt", "none: every host sends 1 MB to another one"));
    }
    let settings = switch_settings(network, config, &mut notes)?;
    let connection = connection(config, base_rtt, bdp, &mut notes);

    let mut text = String::new();
    scenario::head(
        &mut text,
        "Imported from ns-3's RDMA simulations (HPCC and its descendants).",
        &read,
        &notes,
    );
    let _ = write!(text, "version = 1\nname = \"{name}\"\n\n[stop]\nafter = \"{}\"\n\n", config.stop);
    text.push_str(&settings);
    let host_names: Vec<_> = hosts.keys().map(|id| node(*id)).collect();
    let switches = network.nvswitches.iter().chain(&network.switches).filter(|id| used(id));
    let mut switch_names: Vec<_> = switches
        .map(|id| (node(*id), tiers.class(network, *id), tiers.0.get(id).copied().unwrap_or(0)))
        .collect();
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

fn node(id: u32) -> String {
    format!("node{id}")
}

fn nic(id: u32) -> String {
    format!("nic{id}")
}

/// Links, and switches for hosts that have several.
struct Links {
    links: Vec<scenario::Link>,
    /// All nodes that links join.
    nodes: BTreeSet<u32>,
    /// Hosts with a switch of their own.
    nics: BTreeSet<u32>,
}

impl Links {
    /// What stands for a node at the end of a link.
    fn end(&self, id: u32) -> String {
        if self.nics.contains(&id) { nic(id) } else { node(id) }
    }
}

fn links(network: &Network, config: &Config, hosts: &BTreeMap<u32, usize>, notes: &mut Vec<Note>) -> Links {
    let nics: BTreeSet<u32> = hosts.iter().filter(|(_, links)| **links > 1).map(|(id, _)| *id).collect();
    let nodes = network.links.iter().flat_map(|link| [link.ends.0, link.ends.1]).collect();
    let mut all = Links { links: Vec::new(), nodes, nics };
    // By host with several links: their rates together, and half of the shortest delay.
    let mut own: BTreeMap<u32, (BitRate, Span)> = BTreeMap::new();
    for link in &network.links {
        for id in [link.ends.0, link.ends.1].into_iter().filter(|id| all.nics.contains(id)) {
            let (rate, delay) = own.entry(id).or_insert((BitRate::ZERO, Span::MAX));
            let sum = rate.as_bps().saturating_add(link.rate.as_bps());
            *rate = BitRate::from_bps(sum).min(narrows_proto::units::WireTime::MAX_RATE);
            *delay = (*delay).min(link.delay / 2);
        }
    }
    let mut pairs = BTreeSet::new();
    let mut parallel = 0;
    for link in &network.links {
        let (a, b) = link.ends;
        parallel += usize::from(!pairs.insert((a.min(b), a.max(b))));
        let moved = |id| own.get(&id).map_or(Span::ZERO, |(_, delay)| *delay);
        let delay = link.delay.saturating_sub(moved(a)).saturating_sub(moved(b));
        let error_rate = if link.error_rate > 0.0 { link.error_rate } else { config.error_rate };
        let between = (all.end(a), all.end(b));
        all.links.push(scenario::Link { between, rate: link.rate, delay, error_rate });
    }
    for (id, (rate, delay)) in &own {
        let between = (node(*id), nic(*id));
        all.links.push(scenario::Link { between, rate: *rate, delay: *delay, error_rate: 0.0 });
    }
    if parallel > 0 {
        let why = format!(
            "{parallel} join nodes that are joined already: all carry traffic, ns-3 routes over the last one"
        );
        notes.push(Note::new("parallel links", why));
    }
    if !own.is_empty() {
        let why = format!(
            "{} hosts get a switch of class nic, because hosts have one link here; it takes half of the shortest delay from each \
             of their links, so paths are as long as they were",
            own.len()
        );
        notes.push(Note::new("hosts with several links", why));
    }
    all
}

fn graph(network: &Network) -> Graph {
    let mut graph = Graph::default();
    let mut numbers = BTreeMap::new();
    for link in &network.links {
        let mut number = |id: u32| *numbers.entry(id).or_insert_with(|| graph.add(network.is_switch(id)));
        let (a, b) = (number(link.ends.0), number(link.ends.1));
        graph.join(a, b, Wire { rate: link.rate, delay: link.delay });
    }
    graph
}

impl Tiers {
    /// Switches between each switch and the nearest host.
    fn new(network: &Network) -> Self {
        let mut neighbours: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for link in &network.links {
            neighbours.entry(link.ends.0).or_default().push(link.ends.1);
            neighbours.entry(link.ends.1).or_default().push(link.ends.0);
        }
        let mut tiers = BTreeMap::new();
        let mut at: Vec<u32> = network.hosts().into_keys().collect();
        for tier in 0..32 {
            let next: BTreeSet<u32> =
                at.iter().flat_map(|id| neighbours.get(id).into_iter().flatten().copied()).collect();
            at = next.into_iter().filter(|id| network.is_switch(*id) && !tiers.contains_key(id)).collect();
            tiers.extend(at.iter().map(|id| (*id, tier)));
        }
        Self(tiers)
    }

    fn class(&self, network: &Network, id: u32) -> &'static str {
        match self.0.get(&id) {
            _ if network.nvswitches.contains(&id) => "nvswitch",
            Some(0) => "tor",
            Some(1) => "agg",
            _ => "core",
        }
    }
}

/// Traces by the name of their group.
fn groups(flows: &Flows) -> BTreeMap<String, String> {
    let ports: BTreeSet<u16> = flows.flows.iter().map(|flow| flow.dport).collect();
    let name = |port: u16| match port {
        _ if ports.len() > MOST_GROUPS => "flows".to_owned(),
        100 => "background".into(),
        200 => "incast".into(),
        port => format!("dport-{port}"),
    };
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    for flow in &flows.flows {
        let csv = groups.entry(name(flow.dport)).or_insert_with(|| "start,src,dst,bytes\n".into());
        let (src, dst) = (node(flow.src), node(flow.dst));
        let _ = writeln!(csv, "{},{src},{dst},{}", flow.start, flow.size.get());
    }
    groups
}

fn note_flows(flows: &Flows, groups: &BTreeMap<String, String>, notes: &mut Vec<Note>) {
    let pgs: BTreeSet<u8> = flows.flows.iter().map(|flow| flow.pg).collect();
    if pgs.len() > 1 {
        let why = "flows of all groups share one priority; ns-3 serves the queues of groups 1 to 7 in turn";
        notes.push(Note::new("pg", why));
    }
    if groups.len() == 1 && groups.contains_key("flows") {
        notes.push(Note::new("dport", "there are too many to make a traffic group of each"));
    }
    if flows.cut > 0 {
        let why = format!("{} had more than twelve decimals, which were left out", flows.cut);
        notes.push(Note::new("starts", why));
    }
}

/// `[switches.default]` and those that differ.
fn switch_settings(network: &Network, config: &Config, notes: &mut Vec<Note>) -> Checked<String> {
    let mut text = String::from("[switches.default]\n");
    let sharing = if config.pfc { "\"complete\"" } else { "{ dynamic = { alpha = 1 } }" };
    let _ = writeln!(text, "buffer = {{ size = \"{}\", sharing = {sharing} }}", config.buffer);
    if config.pfc {
        text.push_str("pfc = { priorities = [0], xoff = { alpha = 0.125 } }\n");
        notes.push(Note::new(
            "pfc",
            "α = 1/8 at all links, ns-3 doubles it for each doubling of the rate; headroom is what rates and lengths ask for",
        ));
    }
    if matches!(config.cc_mode, 3 | 10) {
        text.push_str("telemetry = true\n");
    }
    if config.marking {
        text.push_str(&marking(network, config, notes)?);
    }
    if network.hosts().values().any(|links| *links > 1) {
        text.push_str("\n[switches.nic]\nbuffer = { size = \"1 GB\", sharing = \"per_port\" }\n");
        if matches!(config.cc_mode, 3 | 10) {
            text.push_str("telemetry = false\n");
        }
    }
    text.push('\n');
    Ok(text)
}

/// RED by the rate of the port.
fn marking(network: &Network, config: &Config, notes: &mut Vec<Note>) -> Checked<String> {
    let reads_marks = matches!(config.cc_mode, 1 | 8);
    if config.thresholds.is_empty() {
        if reads_marks {
            notes.push(Note::new("KMIN_MAP, KMAX_MAP, PMAX_MAP", "none: nothing is marked"));
        }
        return Ok(String::new());
    }
    let at_switch = |link: &&super::Link| network.is_switch(link.ends.0) || network.is_switch(link.ends.1);
    let rates: BTreeSet<BitRate> = network.links.iter().filter(at_switch).map(|link| link.rate).collect();
    let mut own = Vec::new();
    for rate in rates {
        let thresholds = config.thresholds.get(&rate).copied().unwrap_or_default();
        let (Some(kmin), Some(kmax), Some(pmax)) = (thresholds.kmin, thresholds.kmax, thresholds.pmax) else {
            let known: Vec<_> = config.thresholds.keys().map(ToString::to_string).collect();
            let message = format!("links of {rate} have no entry in KMIN_MAP, KMAX_MAP and PMAX_MAP");
            let help = format!("ns-3 asserts that every rate has one; there are {}", known.join(", "));
            return Err(Diagnostic::error(Code::ForeignFile, message).help(help).into());
        };
        if kmax == Bytes::ZERO {
            notes.push(Note::new(
                format!("KMAX_MAP at {rate}"),
                "0 turns marking off there, here it marks as at other rates",
            ));
            continue;
        }
        // Equal thresholds are a step.
        let kmin = kmin.min(kmax - Bytes::new(1));
        let pmax = if pmax > 0.0 { pmax.min(1.0) } else { 1e-9 };
        own.push((rate, kmin, kmax, pmax));
    }
    let Some(&(_, min, max, p)) = own.first() else { return Ok(String::new()) };
    let mut text = format!(
        "marking = {{ red = {{ min = \"{min}\", max = \"{max}\", max_p = {p:?}, weight = 1.0, spread = false, action = \
         \"mark_only\""
    );
    if own.len() > 1 {
        text.push_str(", at = [\n");
        for (rate, min, max, p) in &own {
            let _ = writeln!(
                text,
                "    {{ rate = \"{rate}\", min = \"{min}\", max = \"{max}\", max_p = {p:?} }},"
            );
        }
        text.push(']');
    }
    text.push_str(" } }\n");
    Ok(text)
}

/// Settings of connections.
fn connection(config: &Config, base_rtt: Span, bdp: Bytes, notes: &mut Vec<Note>) -> String {
    let mut cc = String::new();
    let min_rate = config.min_rate;
    let mut rate = |key: &str, rate: Option<BitRate>| {
        if let Some(rate) = rate {
            let _ = write!(cc, ", {key} = \"{rate}\"");
        }
    };
    let control = match config.cc_mode {
        3 | 10 => {
            if config.cc_mode == 10 {
                notes
                    .push(Note::new("CC_MODE 10", "there is no HPCC-PINT: this is HPCC, with all telemetry"));
            }
            let w_ai = config.rate_ai.map(|rate| (rate * base_rtt).max(Bytes::new(1)));
            let w_ai = w_ai.map_or_else(String::new, |w_ai| format!(", w_ai = \"{w_ai}\""));
            format!(
                "hpcc = {{ eta = {:?}, max_stage = {}, base_rtt = \"{base_rtt}\", min_rate = \"{min_rate}\"{w_ai} }}",
                config.u_target, config.mi_thresh
            )
        }
        7 => {
            rate("delta", config.rate_ai);
            let factor =
                config.rate_hai.zip(config.rate_ai).map(|(hai, ai)| hai.as_bps() / ai.as_bps().max(1));
            let factor =
                factor.map_or_else(String::new, |factor| format!(", hai_factor = {}", factor.clamp(1, 1000)));
            format!("timely = {{ every_round_trip = true, min_rate = \"{min_rate}\"{cc}{factor} }}")
        }
        8 => {
            notes.push(Note::new("CC_MODE 8", "DCTCP is the window of RFC 8257, in ns-3 it is a rate"));
            format!("dctcp = {{ gain = {:?} }}", config.gain)
        }
        _ => {
            rate("ai_rate", config.rate_ai);
            rate("hai_rate", config.rate_hai);
            format!(
                "dcqcn = {{ variant = \"vendor\", gain = {:?}, alpha_interval = \"{}\", cut_interval = \"{}\", timer = \"{}\", \
                 threshold = {}, min_rate = \"{min_rate}\", clamp_target = {}{cc} }}",
                config.gain,
                config.alpha_interval,
                config.cut_interval,
                config.timer,
                config.fast_recovery,
                config.clamp
            )
        }
    };
    let mut rdma = format!("mtu = \"{}\", headers = \"{HEADERS} B\", framing = \"0 B\"", config.payload);
    let ack = if matches!(config.cc_mode, 3 | 10) { ACK_BESIDE_TELEMETRY } else { ACK };
    let _ = write!(rdma, ", ack_size = \"{ack} B\", cnp_size = \"{ACK} B\"");
    let ack_every = config.ack_interval.div_ceil(config.payload.get()).clamp(1, 1000);
    let _ = write!(rdma, ", ack_every = {ack_every}");
    if config.irn {
        rdma.push_str(", recovery = \"selective_repeat\"");
    }
    if config.window && !matches!(config.cc_mode, 3 | 8 | 10) {
        let window = bdp.max(config.payload);
        let _ = write!(rdma, ", window = \"{window}\"");
    }
    if config.cc_mode == 1 {
        let interval = config.alpha_interval;
        let _ = write!(rdma, ", cnp_interval = \"{interval}\"");
        notes.push(Note::new(
            "marks",
            "come back in packets of their own, at most one each ALPHA_RESUME_INTERVAL; in ns-3 every acknowledgement has a bit",
        ));
    }
    format!("cc = {{ {control} }}\nrdma = {{ {rdma} }}\n")
}
