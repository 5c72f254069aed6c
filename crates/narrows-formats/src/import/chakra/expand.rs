//! Nodes as tasks; collectives as messages.

use std::collections::BTreeMap;

use narrows::diagnostic::Checked;
use narrows_proto::units::{Bytes, Span};
use narrows_sim::traffic::Action;
use narrows_sim::workload::collectives::{Part, Ring, Shape, all_to_all, ring};

use super::super::Note;
use super::file::RankFile;
use super::proto::Node;

/// Tasks of a rank.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) all: Vec<Task>,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) what: What,
    /// Tasks that have to end before it.
    pub(super) after: Vec<usize>,
    /// Its node.
    pub(super) node: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Send { to: u32, bytes: u64, tag: Tag },
    Receive { from: u32, tag: Tag },
    Compute { ns: u64 },
}

/// Key by which messages match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tag {
    /// Of a node.
    Own(i128),
    /// Of the collective of this number.
    Collective(usize),
}

const METADATA: i32 = 1;
const LOAD: i32 = 2;
const STORE: i32 = 3;
const COMPUTE: i32 = 4;
const SEND: i32 = 5;
const RECEIVE: i32 = 6;
const COLLECTIVE: i32 = 7;
/// Durations are no longer: 30 days, as runs.
const LONGEST_US: u64 = 30 * 86_400 * 1_000_000;
/// Messages of all collectives together, beyond which the schedule would be no file that is read.
const MOST_MESSAGES: u64 = 20_000_000;

/// A collective: number among all, kind, bytes, and the ranks that take part, each with its node.
struct Collective {
    kind: i128,
    bytes: u64,
    ranks: Vec<(u32, usize)>,
    parts: Vec<Part>,
}

/// Tasks of each rank.
pub(super) fn ranks(files: &[RankFile], notes: &mut Vec<Note>) -> Checked<Vec<Tasks>> {
    let mut collectives = collectives(files)?;
    let mut messages = 0_u64;
    for collective in &mut collectives {
        let (first, node) = collective.ranks[0];
        let ranks = collective.ranks.len() as u64;
        messages = messages.saturating_add(ranks.saturating_mul(2 * ranks));
        if messages > MOST_MESSAGES {
            let message = format!("collectives of more than {MOST_MESSAGES} messages");
            return Err(files[first as usize].error(node, &message));
        }
        collective.parts =
            parts(collective).map_err(|message| files[first as usize].error(node, &message))?;
    }
    if !collectives.is_empty() {
        let why = "become rings, all-to-alls direct, among the ranks that have nodes of the same process group (pg_name), in the order of their nodes";
        notes.push(Note::new("collectives", why));
    }
    let by_node: BTreeMap<(u32, usize), (usize, usize)> = (0..)
        .zip(&collectives)
        .flat_map(|(number, of)| (0..).zip(&of.ranks).map(move |(place, rank)| (*rank, (number, place))))
        .collect();
    (0..)
        .zip(files)
        .map(|(rank, file)| tasks(rank, file, files.len() as u32, &collectives, &by_node))
        .collect()
}

/// The `k`-th collectives of a process group belong together.
fn collectives(files: &[RankFile]) -> Checked<Vec<Collective>> {
    let mut all: BTreeMap<(&str, usize), Collective> = BTreeMap::new();
    for (rank, file) in (0..).zip(files) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, node) in file.all.iter().enumerate().filter(|(_, node)| node.kind == COLLECTIVE) {
            let group = node.text("pg_name").unwrap_or_default();
            let count = counts.entry(group).or_default();
            let kind = required(file, number, "comm_type")?;
            let bytes = size(file, number)?;
            let new = || Collective { kind, bytes, ranks: Vec::new(), parts: Vec::new() };
            let collective = all.entry((group, *count)).or_insert_with(new);
            *count += 1;
            if (collective.kind, collective.bytes) != (kind, bytes) {
                let message = format!(
                    "a collective of type {kind} and {bytes} bytes, where rank {} has type {} and {} bytes",
                    collective.ranks[0].0, collective.kind, collective.bytes
                );
                return Err(file.error(number, &message));
            }
            collective.ranks.push((rank, number));
        }
    }
    let mut of_group: BTreeMap<&str, usize> = BTreeMap::new();
    for ((group, _), collective) in &all {
        let ranks = *of_group.entry(group).or_insert(collective.ranks.len());
        if collective.ranks.len() != ranks {
            let (rank, node) = collective.ranks[0];
            let message =
                format!("{} ranks take part, in others of its process group {ranks}", collective.ranks.len());
            return Err(files[rank as usize].error(node, &message));
        }
    }
    Ok(all.into_values().collect())
}

fn parts(collective: &Collective) -> Result<Vec<Part>, String> {
    let ranks = collective.ranks.len() as u32;
    if ranks < 2 {
        return Ok(vec![Part::default(); ranks as usize]);
    }
    let shape = |size: u64| Shape { ranks, size: Bytes::new(size), chunks: 1, compute: Span::ZERO };
    let whole = shape(collective.bytes);
    match collective.kind {
        0 => Ok(ring(Ring::AllReduce, &whole)),
        // Its size is that of what each rank brings.
        2 => Ok(ring(Ring::AllGather, &shape(collective.bytes.saturating_mul(ranks.into())))),
        6 => Ok(all_to_all(&whole)),
        7 | 8 => Ok(ring(Ring::ReduceScatter, &whole)),
        // A barrier: a byte of each rank goes around.
        9 => Ok(ring(Ring::AllGather, &shape(ranks.into()))),
        other => Err(format!(
            "a collective of type {other}, expected 0 (all-reduce), 2 (all-gather), 6 (all-to-all), 7, 8 (reduce-scatter) or 9 (barrier)"
        )),
    }
}

fn tasks(
    rank: u32,
    file: &RankFile,
    ranks: u32,
    collectives: &[Collective],
    by_node: &BTreeMap<(u32, usize), (usize, usize)>,
) -> Checked<Tasks> {
    let mut tasks = Tasks::default();
    let mut ids = BTreeMap::new();
    let mut waits = Vec::new();
    for (number, node) in file.all.iter().enumerate() {
        let first = tasks.all.len();
        let mut add = |what: What, after: Vec<usize>| {
            tasks.all.push(Task { what, after, node: number });
            tasks.all.len() - 1
        };
        let last = match node.kind {
            COLLECTIVE => {
                let (which, place) = by_node[&(rank, number)];
                let start = add(What::Compute { ns: 0 }, Vec::new());
                expanded(&collectives[which], which, place, start, &mut add)
            }
            SEND => {
                let to = peer(file, number, "comm_dst", (rank, ranks))?;
                add(What::Send { to, bytes: size(file, number)?, tag: tag(node) }, Vec::new())
            }
            RECEIVE => {
                let from = peer(file, number, "comm_src", (rank, ranks))?;
                add(What::Receive { from, tag: tag(node) }, Vec::new())
            }
            METADATA | LOAD | STORE | COMPUTE => {
                if node.duration_micros > LONGEST_US {
                    let message = format!("it takes {} us, expected at most 30 days", node.duration_micros);
                    return Err(file.error(number, &message));
                }
                add(What::Compute { ns: node.duration_micros * 1000 }, Vec::new())
            }
            other => {
                let message = format!("a node of type {other}, expected 1 to 7");
                return Err(file.error(number, &message));
            }
        };
        if ids.insert(node.id, last).is_some() {
            return Err(file.error(number, "two nodes have this id"));
        }
        waits.push(first);
    }
    for (number, node) in file.all.iter().enumerate() {
        for before in node.ctrl_deps.iter().chain(&node.data_deps) {
            let Some(last) = ids.get(before) else {
                return Err(
                    file.error(number, &format!("it waits for node {before}, which the file does not have"))
                );
            };
            let after = &mut tasks.all[waits[number]].after;
            if !after.contains(last) {
                after.push(*last);
            }
        }
    }
    Ok(tasks)
}

/// Adds the messages of a collective after the task `start`. Returns the task that ends it.
fn expanded(
    collective: &Collective,
    which: usize,
    place: usize,
    start: usize,
    add: &mut impl FnMut(What, Vec<usize>) -> usize,
) -> usize {
    let part = &collective.parts[place];
    let rank = |number: u32| collective.ranks[number as usize].0;
    let tag = Tag::Collective(which);
    let mut after = vec![Vec::new(); part.tasks.len()];
    for number in 0..part.tasks.len() as u32 {
        part.tasks
            .next(number)
            .iter()
            .for_each(|next| after[*next as usize].push(start + 1 + number as usize));
    }
    for (task, mut after) in part.tasks.iter().zip(after) {
        let what = match task.action {
            Action::Send { to, size } => {
                What::Send { to: rank(part.to[to as usize]), bytes: size.get(), tag }
            }
            Action::Receive { from } => What::Receive { from: rank(part.from[from as usize]), tag },
            Action::Compute(_) => What::Compute { ns: 0 },
        };
        if after.is_empty() {
            after.push(start);
        }
        add(what, after);
    }
    let all = (start..=start + part.tasks.len()).collect();
    add(What::Compute { ns: 0 }, all)
}

fn tag(node: &Node) -> Tag {
    Tag::Own(node.integer("comm_tag").unwrap_or(0))
}

fn required(file: &RankFile, node: usize, name: &str) -> Checked<i128> {
    let found = file.all[node].integer(name);
    found.ok_or_else(|| file.error(node, &format!("it has no attribute {name} that is a whole number")))
}

fn size(file: &RankFile, node: usize) -> Checked<u64> {
    let bytes = required(file, node, "comm_size")?;
    let in_range = u64::try_from(bytes).ok().filter(|bytes| (1..=1 << 50).contains(bytes));
    in_range.ok_or_else(|| file.error(node, &format!("comm_size is {bytes}, expected 1 to 2^50")))
}

fn peer(file: &RankFile, node: usize, name: &str, (rank, ranks): (u32, u32)) -> Checked<u32> {
    let peer = required(file, node, name)?;
    let in_range = u32::try_from(peer).ok().filter(|peer| *peer < ranks && *peer != rank);
    in_range.ok_or_else(|| {
        file.error(
            node,
            &format!("{name} is {peer}, expected another rank than {rank}, from 0 to {}", ranks - 1),
        )
    })
}
