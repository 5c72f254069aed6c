//! `flow.txt`: a count, then a flow in each line, in order of time.

use std::sync::Arc;

use narrows::diagnostic::{Checked, Source};
use narrows_proto::units::{Bytes, Span};

use super::super::words::{Ignored, Word, Words};
use super::topology::Network;

/// Columns of a file, by its first flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Six, as in HPCC, ns3-datacenter, SimAI and ASTRA-sim.
    #[default]
    Hpcc,
    /// Five, without a port: ConWeave.
    ConWeave,
    /// Six, of which the fourth are packets and the last two begin and end: ns3-rdma. In HPCC's files the fourth is a port and the
    /// fifth a whole number.
    Rdma,
    /// Seven, with an id in front: m3 and m4.
    WithId,
}

impl Columns {
    fn of(first: &[Word<'_>]) -> Self {
        let is_port = |word: &Word<'_>| word.text.parse::<u64>().is_ok_and(|port| port <= u16::MAX.into());
        match first {
            [_, _, _, _, _] => Self::ConWeave,
            [_, _, _, fourth, fifth, _] if fifth.text.contains('.') || !is_port(fourth) => Self::Rdma,
            [_, _, _, _, _, _, _] => Self::WithId,
            _ => Self::Hpcc,
        }
    }

    /// Their names.
    pub fn names(self) -> &'static str {
        match self {
            Self::Hpcc => "src dst pg dport size start",
            Self::ConWeave => "src dst pg size start",
            Self::Rdma => "src dst pg packets start stop",
            Self::WithId => "id src dst pg dport size start",
        }
    }
}

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The id of the host that sends.
    pub src: u32,
    /// The id of the host that receives.
    pub dst: u32,
    /// Priority group.
    pub pg: u8,
    /// Destination port, which is a tag: 100 for background flows, 200 for incasts. Not all files have one.
    pub dport: Option<u32>,
    /// Payload.
    pub size: Bytes,
    /// When it starts.
    pub start: Span,
}

/// Flows, and what was left out of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// In order of time.
    pub flows: Vec<Flow>,
    /// Columns of the file.
    pub columns: Columns,
    /// Starts that are finer than picoseconds.
    pub cut: usize,
    /// ns3-rdma: when the first of them stops, whether it has sent everything or not.
    pub stop: Option<Span>,
    /// Lines of the file after them.
    pub ignored: Ignored,
}

/// Largest size of a flow in a trace, in bytes.
const LARGEST: u64 = 1 << 60;

impl Flows {
    /// Reads a `flow.txt` between the hosts of `network`. Sizes may be in packets with so much `payload`.
    ///
    /// # Errors
    /// At the first word that is not what the format has there.
    pub fn parse(source: &Arc<Source>, network: &Network, payload: Bytes) -> Checked<Self> {
        let hosts = network.hosts();
        let mut words = Words::of(source);
        // ASTRA-sim has flows of its own and comes with an empty file.
        if words.ahead().is_empty() {
            return Ok(Self::default());
        }
        let count: u64 =
            words.next(|| "the number of flows".into())?.whole("the number of flows", 0, u64::MAX)?;
        let columns = Columns::of(&words.ahead());
        let mut all = Self { columns, ..Self::default() };
        for number in 1..=count {
            let mut next = |what: &str| {
                words.next(|| format!("{what} of flow {number} of {count} ({})", columns.names()))
            };
            let host = |word: Word<'_>| -> Checked<u32> {
                let id = word.whole("the id of a host", 0, network.nodes.saturating_sub(1))?;
                if network.is_switch(id) {
                    return Err(word.error(format!("node {id} is a switch, expected a host")).into());
                }
                if !hosts.contains_key(&id) {
                    return Err(word.error(format!("host {id} has no link in the topology")).into());
                }
                Ok(id)
            };
            if columns == Columns::WithId {
                next("the id")?;
            }
            let (from, to) = (next("the source")?, next("the destination")?);
            let (src, dst) = (host(from)?, host(to)?);
            if src == dst {
                return Err(to.error(format!("a flow from host {src} to itself")).into());
            }
            let pg = next("the priority group")?.whole("the priority group", 0, 7)?;
            let dport = match columns {
                Columns::Hpcc | Columns::WithId => {
                    Some(next("the destination port")?.whole("the destination port", 0, u32::MAX)?)
                }
                Columns::ConWeave | Columns::Rdma => None,
            };
            let size = next("the size")?;
            let unit = if columns == Columns::Rdma { payload.get() } else { 1 };
            let size = Bytes::new(size.whole("the size", 1, LARGEST / unit.max(1))? * unit);
            let word = next("the start")?;
            let (start, cut) = seconds("the start", word)?;
            if columns == Columns::Rdma {
                let (stop, _) = seconds("the end", next("the end")?)?;
                all.stop = Some(all.stop.map_or(stop, |other| other.min(stop)));
            } else if let Some(last) = all.flows.last().filter(|last| start < last.start) {
                let message =
                    format!("a start at {start} after one at {}: flows stand in order of time", last.start);
                return Err(word.error(message).into());
            }
            all.cut += usize::from(cut);
            all.flows.push(Flow { src, dst, pg, dport, size, start });
        }
        // ns3-rdma starts each flow by itself.
        all.flows.sort_by_key(|flow| flow.start);
        all.ignored = words.ignored();
        Ok(all)
    }
}

/// Seconds, and whether something finer than a picosecond was left out.
fn seconds(what: &str, word: Word<'_>) -> Checked<(Span, bool)> {
    word.quantity_cut(&format!("{what} in seconds"), &format!("{} s", word.text))
}
