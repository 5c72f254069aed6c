//! `fct.txt` of ns-3's RDMA simulations: a line for each flow that finished, in the order in which they did.
//!
//! ```text
//! hpcc       sip dip sport dport size start fct standalone       addresses in hexadecimal, times in ns
//! conweave   src dst sport dport size start fct standalone       ids in decimal
//! abm        time flowsize fct basefct slowdown basertt flowstart priority incast
//! standalone = 2·propagation + Σ payload of a packet / rate + (size + 48 B for each packet) / slowest rate
//! ```
//!
//! Those simulations take the time until the sender knows that all arrived; here results have the time until the receiver
//! has it. The propagation back is added, so that slowdowns have the same scale; the time that the last acknowledgment takes to
//! be sent, or waits, is not known and not added. Ports of sources count from 10000 up for each source, as in HPCC.
//!
//! Differs from HPCC: sizes are 64 bits, which its standalone time cuts to 32.

use std::collections::BTreeMap;
use std::fmt::Write;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::document::Document;
use narrows::results::{Stored, Table, Values};
use narrows::scenario::{Scenario, Traffic};
use narrows_proto::units::{BitRate, Bytes, Span};

use crate::import::hpcc::base_rtt::{Graph, Pair, Wire};

/// Whose columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// HPCC and SimAI.
    Hpcc,
    /// ConWeave.
    ConWeave,
    /// ns3-datacenter.
    Abm,
}

/// The file, and what it does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fct {
    /// All of it.
    pub text: String,
    /// Flows in it.
    pub finished: usize,
    /// Flows that the format has no place for.
    pub unfinished: usize,
    /// Notes on the conversion.
    pub notes: Vec<String>,
}

/// Bytes of each packet that are not payload or telemetry.
const HEADERS: u64 = 48;
const FIRST_PORT: u64 = 10_000;

/// The time a flow of `size` bytes would take by itself, in nanoseconds, as HPCC's simulations compute it: whole nanoseconds,
/// rounded down at each step.
pub fn standalone_ns(pair: Pair, size: Bytes, payload: Bytes) -> u64 {
    let (size, payload) = (u128::from(size.get()), u128::from(payload.get().max(1)));
    let packets = (size.saturating_sub(1)) / payload + 1;
    let total = size + packets * u128::from(HEADERS);
    let sending = total * 8_000_000_000 / u128::from(pair.bottleneck.as_bps().max(1));
    pair.base_rtt_ns().saturating_add(u64::try_from(sending).unwrap_or(u64::MAX))
}

/// The address of the host with this id: `11.(id/256).(id%256).1`.
///
/// # Errors
/// If the id does not fit an address.
pub fn address(id: u64) -> Checked<u32> {
    if id >= 1 << 16 {
        let message = format!("host {id} has no address: HPCC's addresses hold ids below 65536");
        return Err(Diagnostic::error(Code::NotExported, message)
            .help("--dialect conweave writes ids")
            .into());
    }
    Ok(0x0b00_0001 + ((id as u32 / 256) << 16) + ((id as u32 % 256) << 8))
}

/// A flow that finished.
struct Finished {
    src: u64,
    dst: u64,
    size: Bytes,
    start_ps: u64,
    end_ps: u64,
    group: String,
    flow: u64,
}

/// Makes the file of a stored run.
///
/// # Errors
/// If the folder cannot be read, or ids do not fit the format.
pub fn export(stored: &Stored, dialect: Dialect) -> Checked<Fct> {
    let scenario =
        Scenario::from_document(&mut Document::parse("scenario.toml", stored.scenario.as_str(), "")?)?;
    let table = |name: &'static str| -> Checked<Columns> {
        let missing = || {
            let message = format!("{} holds no table {name}", stored.folder.display());
            Diagnostic::error(Code::InputFailed, message)
        };
        Ok(Columns(stored.table(name, None)?.ok_or_else(missing)?))
    };
    let network = Network::new(&table("ports")?)?;
    let (mut finished, unfinished) = flows(&table("flows")?, &network)?;
    let mut notes = Vec::new();
    if !network.has_ids {
        notes.push("hosts have the ids 0, 1, 2, … in the order of their links".into());
    }
    let ports = ports(&mut finished);
    let starts_at = if finished.iter().all(|flow| flow.start_ps >= TEN_SECONDS) { TEN_SECONDS } else { 0 };
    if dialect == Dialect::Abm && starts_at == 0 {
        notes
            .push("flowstart counts from 0 s: not all flows start after 10 s, as ns3-datacenter's do".into());
    }
    let mut text = String::new();
    if dialect == Dialect::Abm {
        text.push_str("time flowsize fct basefct slowdown basertt flowstart priority incast\n");
    }
    let mut pairs = BTreeMap::new();
    let mut order: Vec<_> = finished.iter().zip(ports).collect();
    order.sort_by_key(|(flow, _)| (flow.end_ps, flow.flow));
    for (flow, sport) in order {
        let group = scenario.traffic.iter().find(|group| group.name == flow.group);
        let payload = group.map_or(Bytes::new(1000), payload_of);
        let from = pairs.entry((flow.dst, payload)).or_insert_with(|| network.pairs(flow.dst, payload));
        let Some(pair) = from.get(&network.node(flow.src)).copied() else { continue };
        let standalone = standalone_ns(pair, flow.size, payload);
        let received_ns = (flow.end_ps - flow.start_ps) / 1000;
        let Finished { src, dst, size, start_ps, .. } = flow;
        let (size, start_ns, fct_ns) =
            (size.get(), start_ps / 1000, received_ns.saturating_add(pair.delay_ns));
        let dport = dport(&flow.group);
        let tail = format!("{sport} {dport} {size} {start_ns} {fct_ns} {standalone}");
        let _ = match dialect {
            Dialect::Hpcc => writeln!(text, "{:08x} {:08x} {tail}", address(*src)?, address(*dst)?),
            Dialect::ConWeave => writeln!(text, "{src} {dst} {tail}"),
            Dialect::Abm => {
                let slowdown = received_ns as f64 / standalone.max(1) as f64;
                let (time, base_rtt) = (flow.end_ps as f64 / 1e12, pair.base_rtt_ns() as f64 / 1e3);
                let start = (start_ps - starts_at) as f64 / 1e6;
                let priority = group.map_or(0, |group| group.priority);
                let incast = u8::from(flow.group.contains("incast"));
                writeln!(
                    text,
                    "{time} {size} {received_ns} {standalone} {slowdown} {base_rtt} {start} {priority} {incast}"
                )
            }
        };
    }
    let finished = text.lines().count() - usize::from(dialect == Dialect::Abm);
    Ok(Fct { text, finished, unfinished, notes })
}

const TEN_SECONDS: u64 = 10_000_000_000_000;

/// Payload of a full packet.
fn payload_of(group: &Traffic) -> Bytes {
    match &group.rdma {
        Some(rdma) => rdma.mtu,
        None => group.transport.mtu.saturating_sub(group.transport.headers).max(Bytes::new(1)),
    }
}

/// The destination port is a tag.
fn dport(group: &str) -> u16 {
    match group {
        "incast" => 200,
        group => group.strip_prefix("dport-").and_then(|port| port.parse().ok()).unwrap_or(100),
    }
}

/// Ports of sources, by flow: from 10000 up for each host, in order of start.
fn ports(flows: &mut [Finished]) -> Vec<u64> {
    flows.sort_by_key(|flow| (flow.start_ps, flow.flow));
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let port = |flow: &Finished| {
        let next = next.entry(flow.src).or_insert(FIRST_PORT);
        *next += 1;
        (*next - 1) % (1 << 16)
    };
    flows.iter().map(port).collect()
}

/// The flows of a table that finished, and how many did not.
fn flows(table: &Columns, network: &Network) -> Checked<(Vec<Finished>, usize)> {
    let (src, dst, group) = (table.names("src")?, table.names("dst")?, table.names("group")?);
    let (size, start, end) =
        (table.numbers("size_bytes")?, table.numbers("start_ps")?, table.numbers("end_ps")?);
    let number = table.numbers("flow")?;
    let (mut finished, mut unfinished) = (Vec::new(), 0);
    for row in 0..src.len() {
        match (size[row], start[row], end[row]) {
            (Some(size), Some(start_ps), Some(end_ps)) if end_ps >= start_ps => finished.push(Finished {
                src: network.id(src[row])?,
                dst: network.id(dst[row])?,
                size: Bytes::new(size),
                start_ps,
                end_ps,
                group: group[row].to_owned(),
                flow: number[row].unwrap_or_default(),
            }),
            _ => unfinished += 1,
        }
    }
    Ok((finished, unfinished))
}

/// The network of a run: its graph, and ids of hosts.
struct Network {
    graph: Graph,
    /// Node of the graph by id.
    nodes: BTreeMap<u64, usize>,
    ids: BTreeMap<String, u64>,
    /// Names of hosts have ids in them, as imported ones do.
    has_ids: bool,
}

impl Network {
    fn new(ports: &Columns) -> Checked<Self> {
        let (from, to) = (ports.names("from")?, ports.names("to")?);
        let (rate, delay, link) =
            (ports.numbers("rate_bps")?, ports.numbers("delay_ps")?, ports.numbers("link")?);
        let (from_host, to_host) = (ports.flags("from_host")?, ports.flags("to_host")?);
        let mut graph = Graph::default();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut hosts: Vec<(&str, usize)> = Vec::new();
        for row in 0..from.len() {
            let mut node = |name, is_host: bool| {
                *numbers.entry(name).or_insert_with(|| {
                    let number = graph.add(!is_host);
                    if is_host {
                        hosts.push((name, number));
                    }
                    number
                })
            };
            let (a, b) = (node(from[row], from_host[row]), node(to[row], to_host[row]));
            // The directions of a link have numbers next to each other.
            if link[row].is_some_and(|link| link % 2 == 0) {
                let rate = BitRate::from_bps(rate[row].unwrap_or_default());
                graph.join(a, b, Wire { rate, delay: Span::from_ps(delay[row].unwrap_or_default()) });
            }
        }
        let own = |(name, _): &(&str, usize)| name.strip_prefix("node")?.parse().ok();
        let own: Option<Vec<u64>> = hosts.iter().map(own).collect();
        let has_ids = own.is_some();
        let ids = own.unwrap_or_else(|| (0..hosts.len() as u64).collect());
        let named = hosts.iter().zip(&ids).map(|((name, _), id)| ((*name).to_owned(), *id)).collect();
        let nodes = hosts.iter().zip(&ids).map(|((_, node), id)| (*id, *node)).collect();
        Ok(Self { graph, nodes, ids: named, has_ids })
    }

    fn id(&self, name: &str) -> Checked<u64> {
        let unknown =
            || Diagnostic::error(Code::InputFailed, format!("the tables do not fit: no port of \"{name}\""));
        Ok(self.ids.get(name).copied().ok_or_else(unknown)?)
    }

    fn node(&self, id: u64) -> usize {
        self.nodes.get(&id).copied().unwrap_or(usize::MAX)
    }

    fn pairs(&self, from: u64, payload: Bytes) -> BTreeMap<usize, Pair> {
        self.graph.pairs(self.node(from), payload)
    }
}

/// A table by the names of its columns.
struct Columns(Table);

impl Columns {
    fn find(&self, name: &str) -> Checked<&Values> {
        let missing = || {
            let message = format!("the table {} has no column {name}", self.0.name);
            Diagnostic::error(Code::InputFailed, message).help("run the scenario again with this narrows")
        };
        Ok(self
            .0
            .columns
            .iter()
            .find(|column| column.name == name)
            .map(|column| &column.values)
            .ok_or_else(missing)?)
    }

    fn numbers(&self, name: &str) -> Checked<Vec<Option<u64>>> {
        match self.find(name)? {
            Values::Integers(values) => Ok(values.iter().copied().map(Some).collect()),
            Values::MaybeIntegers(values) => Ok(values.clone()),
            _ => Err(self.unfit(name)),
        }
    }

    fn names(&self, name: &str) -> Checked<Vec<&str>> {
        match self.find(name)? {
            Values::Names(values, names) => {
                let name = |value: &u32| names.get(*value as usize).map_or("", String::as_str);
                Ok(values.iter().map(name).collect())
            }
            _ => Err(self.unfit(name)),
        }
    }

    fn flags(&self, name: &str) -> Checked<&[bool]> {
        match self.find(name)? {
            Values::Flags(values) => Ok(values),
            _ => Err(self.unfit(name)),
        }
    }

    fn unfit(&self, name: &str) -> narrows::diagnostic::Rejection {
        let message = format!("column {name} of the table {} holds something else", self.0.name);
        Diagnostic::error(Code::InputFailed, message).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rates_gbps: &[u64], payload: u64) -> Pair {
        let mut graph = Graph::default();
        let mut last = graph.add(false);
        for (number, rate) in rates_gbps.iter().enumerate() {
            let next = graph.add(number + 1 < rates_gbps.len());
            graph.join(last, next, Wire { rate: BitRate::from_gbps(*rate), delay: Span::from_us(1) });
            last = next;
        }
        graph.pairs(0, Bytes::new(payload))[&last]
    }

    #[test]
    fn the_standalone_time_is_that_of_hpcc_to_the_nanosecond() {
        let ns = |rates: &[u64], size| standalone_ns(path(rates, 1000), Bytes::new(size), Bytes::new(1000));
        // Two links of 100 Gb/s: 2·2000 ns + 2·80 ns; 1000 B + 48 B at 100 Gb/s are 83.84 ns, cut to 83.
        assert_eq!(ns(&[100, 100], 1000), 4_160 + 83);
        // A byte more is a packet more: 1001 B + 96 B are 87.76 ns.
        assert_eq!(ns(&[100, 100], 1001), 4_160 + 87);
        assert_eq!(ns(&[100, 100], 1), 4_160 + 3);
        // 25, 100 and 40 Gb/s: 320 + 80 + 200 ns; the slowest is 25 Gb/s: (2500 + 144) B are 846.08 ns.
        assert_eq!(ns(&[25, 100, 40], 2500), 6_000 + 600 + 846);
        // 7 Gb/s: 1000 B are 1142.857 ns on each link, cut to 1142 twice; 1 MB + 48 kB are 1 197 714.28 ns.
        assert_eq!(ns(&[7, 7], 1_000_000), 4_000 + 2_284 + 1_197_714);
    }

    #[test]
    fn addresses_are_those_of_hpcc() {
        assert_eq!(format!("{:08x}", address(1).unwrap()), "0b000101");
        assert_eq!(format!("{:08x}", address(319).unwrap()), "0b013f01");
        assert!(address(65_536).is_err());
    }

    #[test]
    fn tags_come_back_from_names_of_groups() {
        assert_eq!(["background", "incast", "dport-300", "web"].map(dport), [100, 200, 300, 100]);
    }
}
