//! `flow.txt`: a count, then a flow in each line, in order of time.

use std::sync::Arc;

use narrows::diagnostic::{Checked, Source};
use narrows_proto::units::{Bytes, Span};

use super::super::words::{Word, Words};
use super::topology::Network;

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The id of the host that sends.
    pub src: u32,
    /// The id of the host that receives.
    pub dst: u32,
    /// Priority group.
    pub pg: u8,
    /// Destination port, which is a tag: 100 for background flows, 200 for incasts.
    pub dport: u16,
    /// Payload.
    pub size: Bytes,
    /// When it starts.
    pub start: Span,
}

/// Flows, and how many starts were cut to whole picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// In the order of the file.
    pub flows: Vec<Flow>,
    /// Starts with more than twelve decimals.
    pub cut: usize,
}

/// What a trace may hold of one flow.
const LARGEST: u64 = 1 << 60;

impl Flows {
    /// Reads a `flow.txt` between the hosts of `network`.
    ///
    /// # Errors
    /// At the first word that is not what the format has there.
    pub fn parse(source: &Arc<Source>, network: &Network) -> Checked<Self> {
        let hosts = network.hosts();
        let mut words = Words::of(source);
        let count: u64 =
            words.next(|| "the number of flows".into())?.whole("the number of flows", 0, u64::MAX)?;
        let mut all = Self::default();
        let mut last = Span::ZERO;
        for number in 1..=count {
            let mut next = |what: &str| {
                words.next(|| format!("{what} of flow {number} of {count} (src dst pg dport size start)"))
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
            let (src, dst) = (next("the source")?, next("the destination")?);
            let (from, to) = (host(src)?, host(dst)?);
            if from == to {
                return Err(dst.error(format!("a flow from host {from} to itself")).into());
            }
            let pg = next("the priority group")?.whole("the priority group", 0, 7)?;
            let dport = next("the destination port")?.whole("the destination port", 0, u16::MAX)?;
            let size = next("the size")?.whole("the size", 1, LARGEST)?;
            let word = next("the start")?;
            let (start, cut) = start(word)?;
            if start < last {
                let message = format!("a start at {start} after one at {last}: flows stand in order of time");
                return Err(word.error(message).into());
            }
            last = start;
            all.cut += usize::from(cut);
            all.flows.push(Flow { src: from, dst: to, pg, dport, size: Bytes::new(size), start });
        }
        words.end(|| format!("{count} flows, which is what the first line announces"))?;
        Ok(all)
    }
}

/// Seconds, and whether decimals beyond a picosecond were left out.
fn start(word: Word<'_>) -> Checked<(Span, bool)> {
    const DECIMALS: usize = 12;
    let whole = match word.text.split_once('.') {
        Some((whole, fraction))
            if fraction.len() > DECIMALS && fraction.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            &word.text[..whole.len() + 1 + DECIMALS]
        }
        _ => word.text,
    };
    let start = word.quantity("the start in seconds", &format!("{whole} s"))?;
    Ok((start, whole.len() < word.text.len()))
}
