//! `topology.txt`: counts, ids of switches, links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use narrows::diagnostic::{Checked, Source};
use narrows_proto::units::{BitRate, Span, WireTime};

use super::super::words::{Ignored, Word, Words, lines, truncated};

/// Which header the file has, by the fields of its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `nodes switches links`: HPCC, ConWeave, ns3-rdma.
    Hpcc,
    /// `nodes switches tors links`: ns3-datacenter.
    Datacenter,
    /// `nodes switches tors links host_rate uplink_rate`: ns3-datacenter's Reverie. The last field is a number.
    Reverie,
    /// `nodes gpus_per_server nvswitches switches links gpu_type`: SimAI. The last field is a name.
    SimAi,
}

impl Dialect {
    fn of(header: &[Word<'_>]) -> Option<Self> {
        match header {
            [_, _, _] => Some(Self::Hpcc),
            [_, _, _, _] => Some(Self::Datacenter),
            [_, _, _, _, _, last] if last.text.parse::<f64>().is_ok() => Some(Self::Reverie),
            [_, _, _, _, _, _] => Some(Self::SimAi),
            _ => None,
        }
    }

    /// Whose header it is, and what its fields are.
    pub fn fields(self) -> (&'static str, &'static str) {
        match self {
            Self::Hpcc => ("HPCC", "nodes switches links"),
            Self::Datacenter => ("ns3-datacenter", "nodes switches tors links"),
            Self::Reverie => ("Reverie", "nodes switches tors links host_rate uplink_rate"),
            Self::SimAi => ("SimAI", "nodes gpus nvswitches switches links gpu_type"),
        }
    }
}

/// A network as the file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Its header.
    pub dialect: Dialect,
    /// Number of nodes announced; links may leave some of them out.
    pub nodes: u32,
    /// Ids of NVSwitches; only SimAI has them.
    pub nvswitches: BTreeSet<u32>,
    /// Ids of the other switches.
    pub switches: BTreeSet<u32>,
    /// In the order of the file.
    pub links: Vec<Link>,
    /// Lines of the file after them.
    pub ignored: Ignored,
}

/// A link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The nodes it joins.
    pub ends: (u32, u32),
    /// Its rate.
    pub rate: BitRate,
    /// Its propagation delay.
    pub delay: Span,
    /// Probability that a packet is lost.
    pub error_rate: f64,
}

/// More nodes than addresses, and more than anybody has.
const MOST_NODES: u32 = 1 << 24;

impl Network {
    /// Reads a `topology.txt`.
    ///
    /// # Errors
    /// At the first word that is not what the format has there.
    pub fn parse(source: &Arc<Source>) -> Checked<Self> {
        let header = lines(source).next().unwrap_or_default();
        let Some(dialect) = Dialect::of(&header) else {
            let message = format!(
                "the first line has {} fields, expected 3 (nodes switches links), 4 (nodes switches tors links) or 6 \
                 (nodes gpus_per_server nvswitches switches links gpu_type, or nodes switches tors links host_rate uplink_rate)",
                header.len()
            );
            return Err(match header.first() {
                Some(word) => word.error(message).into(),
                None => truncated(source, message),
            });
        };
        let mut words = Words::of(source);
        let count = |words: &mut Words<'_>, what: &str| {
            words.next(|| format!("the number of {what}"))?.whole(what, 0, MOST_NODES)
        };
        let nodes = count(&mut words, "nodes")?;
        let mut nvswitch_count = 0;
        if dialect == Dialect::SimAi {
            count(&mut words, "GPUs of a server")?;
            nvswitch_count = count(&mut words, "NVSwitches")?;
        }
        let switch_count = count(&mut words, "switches")?;
        if matches!(dialect, Dialect::Datacenter | Dialect::Reverie) {
            count(&mut words, "ToR switches")?;
        }
        let link_count = count(&mut words, "links")?;
        match dialect {
            Dialect::Hpcc | Dialect::Datacenter => {}
            // Rates of both levels; links have their own.
            Dialect::Reverie => {
                rate(words.next(|| "the rate of hosts".into())?)?;
                rate(words.next(|| "the rate of uplinks".into())?)?;
            }
            Dialect::SimAi => drop(words.next(|| "the type of GPU".into())?),
        }
        let mut network = Self {
            dialect,
            nodes,
            nvswitches: BTreeSet::new(),
            switches: BTreeSet::new(),
            links: Vec::new(),
            ignored: Ignored::default(),
        };
        for number in 0..nvswitch_count {
            let id = network.switch(&mut words, "NVSwitch", (number, nvswitch_count))?;
            network.nvswitches.insert(id);
        }
        for number in 0..switch_count {
            let id = network.switch(&mut words, "switch", (number, switch_count))?;
            network.switches.insert(id);
        }
        // ns3-rdma has no error rates.
        let has_errors = words.ahead().len() != 4;
        for number in 0..link_count {
            let link = network.link(&mut words, has_errors, (number, link_count))?;
            network.links.push(link);
        }
        network.ignored = words.ignored();
        Ok(network)
    }

    /// It forwards packets.
    pub fn is_switch(&self, id: u32) -> bool {
        self.switches.contains(&id) || self.nvswitches.contains(&id)
    }

    /// Hosts that have links, with how many they have.
    pub fn hosts(&self) -> BTreeMap<u32, usize> {
        let mut hosts = BTreeMap::new();
        for id in self.links.iter().flat_map(|link| [link.ends.0, link.ends.1]) {
            if !self.is_switch(id) {
                *hosts.entry(id).or_default() += 1;
            }
        }
        hosts
    }

    fn switch(&self, words: &mut Words<'_>, kind: &str, (number, of): (u32, u32)) -> Checked<u32> {
        let word = words.next(|| format!("the id of {kind} {} of {of}", number + 1))?;
        let id = self.id(word)?;
        if self.is_switch(id) {
            return Err(word.error(format!("node {id} is a switch already")).into());
        }
        Ok(id)
    }

    fn id(&self, word: Word<'_>) -> Checked<u32> {
        if self.nodes == 0 {
            return Err(word.error("a node, but the first line announces none").into());
        }
        word.whole("the id of a node", 0, self.nodes - 1)
    }

    fn link(&self, words: &mut Words<'_>, has_errors: bool, (number, of): (u32, u32)) -> Checked<Link> {
        let columns = if has_errors { "src dst rate delay error" } else { "src dst rate delay" };
        let mut next =
            |what: &str| words.next(|| format!("{what} of link {} of {of} ({columns})", number + 1));
        let (src, dst) = (next("the source")?, next("the destination")?);
        let ends = (self.id(src)?, self.id(dst)?);
        if ends.0 == ends.1 {
            return Err(dst.error(format!("a link from node {} to itself", ends.0)).into());
        }
        let rate_word = next("the rate")?;
        let rate = rate(rate_word)?;
        if !narrows_sim::is_link_rate(rate) {
            let range = format!("{} to {}", WireTime::MIN_RATE, WireTime::MAX_RATE);
            return Err(rate_word.error(format!("a rate of {rate}, expected {range}")).into());
        }
        let delay = delay(next("the delay")?)?;
        if !has_errors {
            return Ok(Link { ends, rate, delay, error_rate: 0.0 });
        }
        let error_word = next("the error rate")?;
        let error_rate = error_word.number("the error rate")?;
        if error_rate >= 1.0 {
            return Err(error_word
                .error(format!("an error rate of {error_rate}, expected less than 1"))
                .into());
        }
        Ok(Link { ends, rate, delay, error_rate })
    }
}

/// A rate as ns-3 writes it: `100Gbps`, `100Gb/s`, `12.5GB/s`, or a bare number of bits per second.
pub(super) fn rate(word: Word<'_>) -> Checked<BitRate> {
    let (number, unit) = split_unit(word.text);
    let unit = match unit.strip_suffix("ps").or_else(|| unit.strip_suffix("/s")) {
        Some(unit) => unit,
        None if unit.is_empty() => "b",
        None => {
            return Err(word
                .error(format!("found \"{}\", expected a rate such as 100Gbps", word.text))
                .into());
        }
    };
    // Prefixes are of ten or of two; a byte is eight bits.
    let (prefix, bits) = match unit.strip_suffix('B') {
        Some(prefix) => (prefix, 8),
        None => (unit.strip_suffix('b').unwrap_or(unit), 1),
    };
    let (unit, times) = match prefix {
        "" => ("b/s", 1),
        "k" | "K" => ("kb/s", 1),
        "M" => ("Mb/s", 1),
        "G" => ("Gb/s", 1),
        "T" => ("Tb/s", 1),
        "Ki" => ("b/s", 1 << 10),
        "Mi" => ("b/s", 1 << 20),
        "Gi" => ("b/s", 1 << 30),
        _ => return Err(word.error(format!("the rate: unknown unit \"{unit}\"")).into()),
    };
    let (rate, _): (BitRate, _) = word.quantity_cut("the rate", &format!("{number} {unit}"))?;
    let rate = rate.as_bps().checked_mul(bits * times);
    Ok(rate.map(BitRate::from_bps).ok_or_else(|| word.error("the rate is too large"))?)
}

/// A time as ns-3 writes it: `1000ns`, `0.001ms`, or a bare number of seconds.
pub(super) fn delay(word: Word<'_>) -> Checked<Span> {
    let (number, unit) = split_unit(word.text);
    let unit = if unit.is_empty() { "s" } else { unit };
    Ok(word.quantity_cut("the delay", &format!("{number} {unit}"))?.0)
}

/// A number and what follows it.
fn split_unit(text: &str) -> (&str, &str) {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let mut end = text.find(|c| !digits(c)).unwrap_or(text.len());
    // An exponent is part of the number.
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E'])
        && exponent.starts_with(digits)
    {
        end += 1 + exponent.find(|c| !digits(c)).unwrap_or(exponent.len());
    }
    (text[..end].trim_start_matches('+'), &text[end..])
}
