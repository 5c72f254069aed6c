//! Connection matrices (`.cm`): a header with counts, then connections, triggers and failures in any order.
//!
//! htsim passes over what it does not know in the header, reads whole numbers up to their decimals and ends if counts differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use narrows::diagnostic::{Checked, Source, nearest};
use narrows_proto::units::Span;

use super::super::Note;
use super::super::words::{Word, lines, truncated};

/// A connection matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Hosts.
    pub nodes: u32,
    /// In the order of the file.
    pub connections: Vec<Connection>,
    /// By id.
    pub triggers: BTreeMap<u32, Trigger>,
    /// Links that fail.
    pub failures: Vec<LinkFailure>,
    /// Parts that are not mapped.
    pub notes: Vec<Note>,
}

/// A connection that carries one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The host that sends.
    pub src: u32,
    /// The host that receives.
    pub dst: u32,
    /// Its id.
    pub id: Option<u32>,
    /// uet: which message of the connection.
    pub msg: Option<u32>,
    /// Its id, with its message, is not its own: uet's messages may have no number (`msg` alone).
    pub shared: bool,
    /// When it starts.
    pub start: Start,
    /// Payload; without end if 0.
    pub size: u64,
    /// Trigger that fires when the sender knows that all has arrived.
    pub send_done: Option<u32>,
    /// Trigger that fires when all has arrived.
    pub recv_done: Option<u32>,
    /// Priority among the flows of a host.
    pub prio: Option<u64>,
}

/// When a connection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time.
    At(Span),
    /// When a trigger fires.
    Trigger(u32),
}

/// Trigger that starts connections when others are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The first time it is activated, all.
    Oneshot,
    /// Each time it is activated, the next one.
    Multishot,
    /// When it has been activated so often, all.
    Barrier(u32),
}

/// A link that fails: an uplink of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// Of which kind.
    pub tier: Tier,
    /// Which switch.
    pub switch: u32,
    /// Which of its uplinks.
    pub link: u32,
}

/// Kinds of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Top of rack.
    Tor,
    /// Above them.
    Agg,
    /// At the top.
    Core,
}

const KEYWORDS: [&str; 6] = ["Nodes", "Connections", "Triggers", "Failures", "trigger", "failure"];

/// Counts of a header.
#[derive(Default)]
struct Announced<'a> {
    connections: Option<(Word<'a>, u64)>,
    triggers: Option<(Word<'a>, u64)>,
    failures: Option<(Word<'a>, u64)>,
}

impl Matrix {
    /// Reads a connection matrix.
    ///
    /// # Errors
    /// At the first word that is not what the format has there, or if counts differ.
    pub fn parse(source: &Arc<Source>) -> Checked<Self> {
        let mut matrix = Self::default();
        let mut announced = Announced::default();
        let mut referenced: BTreeMap<u32, Word<'_>> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        let (mut triggers, mut in_header, mut unknown_lines, mut cut) = (0, true, 0, 0);
        for words in lines(source) {
            let [first, values @ ..] = &words[..] else { continue };
            let count = |what: &str| match values.first() {
                Some(count) => count.whole_cut(what, 0, u64::MAX),
                None => Err(first.error(format!("{} has no value", first.text)).into()),
            };
            in_header &= !first.text.contains("->") && !matches!(first.text, "trigger" | "failure");
            match first.text {
                "Nodes" => {
                    matrix.nodes = u32::try_from(count("the number of nodes")?.min(1 << 24)).unwrap_or(0);
                }
                "Connections" => announced.connections = Some((*first, count("the number of connections")?)),
                "Triggers" => announced.triggers = Some((*first, count("the number of triggers")?)),
                "Failures" => announced.failures = Some((*first, count("the number of failures")?)),
                "trigger" => {
                    triggers += 1;
                    matrix.trigger(*first, values)?;
                }
                "failure" => {
                    let failure = failure(*first, values)?;
                    matrix.failures.push(failure);
                }
                text if text.contains("->") => {
                    let (mut connection, start_cut) = matrix.connection(*first, values, &mut referenced)?;
                    cut += usize::from(start_cut);
                    connection.shared |= connection.id.is_some_and(|id| !ids.insert((id, connection.msg)));
                    matrix.connections.push(connection);
                }
                unknown if in_header && nearest(unknown, KEYWORDS).is_none() => {
                    unknown_lines += 1;
                }
                unknown => {
                    let known = KEYWORDS;
                    let message =
                        format!("found \"{unknown}\", expected a connection such as 1->0, or a keyword");
                    return Err(first.error(message).known(unknown, known).into());
                }
            }
        }
        if unknown_lines > 0 {
            let why = format!("what htsim does not know is ignored, as there (lines: {unknown_lines})");
            matrix.notes.push(Note::new("header of the .cm", why));
        }
        if cut > 0 {
            let why = format!("cut to picoseconds (connections: {cut})");
            matrix.notes.push(Note::new("start", why));
        }
        if matrix.nodes == 0 {
            return Err(truncated(source, "the header has no number of nodes: Nodes N".into()));
        }
        for (what, count, found) in [
            ("connections", announced.connections, matrix.connections.len() as u64),
            ("triggers", announced.triggers, triggers),
            ("failures", announced.failures, matrix.failures.len() as u64),
        ] {
            let said = count.map_or(0, |count| count.1);
            if said != found {
                let message = format!("{said} {what} announced, but there are {found}");
                return Err(match count {
                    Some((word, _)) => word.error(message).into(),
                    None => truncated(source, message),
                });
            }
        }
        if let Some((id, word)) = referenced.iter().find(|(id, _)| !matrix.triggers.contains_key(id)) {
            let error = word.error(format!("trigger {id} is not in the file"));
            let known: Vec<_> = matrix.triggers.keys().map(ToString::to_string).collect();
            return Err(error.known(&id.to_string(), known.iter().map(String::as_str)).into());
        }
        Ok(matrix)
    }

    fn connection<'a>(
        &self,
        first: Word<'a>,
        values: &[Word<'a>],
        referenced: &mut BTreeMap<u32, Word<'a>>,
    ) -> Checked<(Connection, bool)> {
        let Some((src, dst)) = first.text.split_once("->") else {
            return Err(first.error("expected a connection such as 1->0").into());
        };
        let host = |text| -> Checked<u32> {
            if self.nodes == 0 {
                return Err(first.error("a connection before the number of nodes").into());
            }
            first.part(text).whole("a host", 0, self.nodes - 1)
        };
        let (src, dst) = (host(src)?, host(dst)?);
        if src == dst {
            return Err(first.error(format!("a connection from host {src} to itself")).into());
        }
        let mut connection = Connection {
            src,
            dst,
            id: None,
            msg: None,
            shared: false,
            start: Start::At(Span::ZERO),
            size: 0,
            send_done: None,
            recv_done: None,
            prio: None,
        };
        let (mut start, mut size, mut cut) = (None, None, false);
        let mut trigger = |word: Word<'a>| -> Checked<u32> {
            let id = word.whole("the id of a trigger", 1, u32::MAX)?;
            referenced.entry(id).or_insert(word);
            Ok(id)
        };
        let mut left = values.iter();
        while let Some(key) = left.next() {
            if key.text == "addon" {
                continue;
            }
            // A message of the connection, which may have a number.
            if key.text == "msg"
                && left.as_slice().first().is_none_or(|next| next.text.parse::<f64>().is_err())
            {
                connection.shared = true;
                continue;
            }
            let Some(value) = left.next() else {
                return Err(key.error(format!("{} has no value", key.text)).into());
            };
            let mut begin = |begins| match start.replace(begins) {
                None => Ok(()),
                Some(_) => Err(key.error("a second start: a connection has either start or trigger")),
            };
            match key.text {
                "id" => connection.id = Some(value.whole("an id", 1, u32::MAX)?),
                "msg" => connection.msg = Some(value.whole("the id of a message", 0, u32::MAX)?),
                "start" => {
                    let text = format!("{} ps", value.text);
                    let (at, finer) = value.quantity_cut("the start in picoseconds", &text)?;
                    cut = finer;
                    begin(Start::At(at))?;
                }
                "trigger" => begin(Start::Trigger(trigger(*value)?))?,
                "size" => size = Some(value.whole_cut("the size", 0, 1 << 60)?),
                "send_done_trigger" => connection.send_done = Some(trigger(*value)?),
                "recv_done_trigger" => connection.recv_done = Some(trigger(*value)?),
                "prio" => connection.prio = Some(value.whole("the priority", 0, u64::MAX)?),
                unknown => {
                    let known = [
                        "id",
                        "msg",
                        "start",
                        "trigger",
                        "size",
                        "send_done_trigger",
                        "recv_done_trigger",
                        "prio",
                        "addon",
                    ];
                    let error = key.error(format!("a connection has no \"{unknown}\""));
                    return Err(error.known(unknown, known).into());
                }
            }
        }
        connection.start =
            start.ok_or_else(|| first.error("the connection has neither start nor trigger"))?;
        connection.size = size.unwrap_or(0);
        if matches!(connection.start, Start::Trigger(_)) && connection.id.is_none() {
            return Err(first.error("a connection with a trigger needs an id").into());
        }
        Ok((connection, cut))
    }

    fn trigger(&mut self, first: Word<'_>, values: &[Word<'_>]) -> Checked<()> {
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut left = values.iter();
        while let Some(word) = left.next() {
            let mut value = |what: &str| match left.next() {
                Some(value) => value.whole::<u32>(what, 1, u32::MAX),
                None => Err(word.error(format!("{} has no value", word.text)).into()),
            };
            match word.text {
                "id" => id = Some(value("the id of a trigger")?),
                "count" => count = Some(value("the count of a barrier")?),
                "oneshot" | "multishot" | "barrier" if kind.is_none() => kind = Some(*word),
                "oneshot" | "multishot" | "barrier" => {
                    return Err(word.error("a second type of the same trigger").into());
                }
                unknown => {
                    let known = ["id", "count", "oneshot", "multishot", "barrier"];
                    return Err(word
                        .error(format!("a trigger has no \"{unknown}\""))
                        .known(unknown, known)
                        .into());
                }
            }
        }
        let id = id.ok_or_else(|| first.error("a trigger without an id"))?;
        let kind =
            kind.ok_or_else(|| first.error("a trigger without a type: oneshot, multishot or barrier"))?;
        let trigger = match kind.text {
            "oneshot" => Trigger::Oneshot,
            "multishot" => Trigger::Multishot,
            _ => Trigger::Barrier(count.ok_or_else(|| kind.error("a barrier without a count"))?),
        };
        match self.triggers.insert(id, trigger) {
            None => Ok(()),
            Some(_) => Err(first.error(format!("a second trigger has the id {id}")).into()),
        }
    }
}

fn failure(first: Word<'_>, values: &[Word<'_>]) -> Checked<LinkFailure> {
    let (mut tier, mut switch, mut link) = (None, None, None);
    for pair in values.chunks(2) {
        let [key, value] = pair else {
            return Err(pair[0].error(format!("{} has no value", pair[0].text)).into());
        };
        match key.text {
            "switch_type" => {
                tier = Some(match value.text {
                    "TOR" => Tier::Tor,
                    "AGG" => Tier::Agg,
                    "CORE" => Tier::Core,
                    unknown => {
                        let error = value.error(format!("no kind of switch is called \"{unknown}\""));
                        return Err(error.known(unknown, ["TOR", "AGG", "CORE"]).into());
                    }
                });
            }
            "switch_id" => switch = Some(value.whole("the number of a switch", 0, u32::MAX)?),
            "link_id" => link = Some(value.whole("the number of a link", 0, u32::MAX)?),
            unknown => {
                let error = key.error(format!("a failure has no \"{unknown}\""));
                return Err(error.known(unknown, ["switch_type", "switch_id", "link_id"]).into());
            }
        }
    }
    match (tier, switch, link) {
        (Some(tier), Some(switch), Some(link)) => Ok(LinkFailure { tier, switch, link }),
        _ => Err(first.error("a failure needs switch_type, switch_id and link_id").into()),
    }
}
