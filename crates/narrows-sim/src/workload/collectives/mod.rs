//! Collectives: what each rank sends, receives and waits for. Ranks are numbers here; hosts and flows come in [`lay_out`].
//!
//! The parts of a vector of `S` bytes are rounded up to whole bytes, so that all ranks of a ring send the same.

mod halving;
mod hierarchy;
mod pipeline;
mod ring;
mod to_all;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows_proto::units::{Bytes, Span, Time};

pub use self::halving::halving_doubling;
pub use self::hierarchy::hierarchical_all_reduce;
pub use self::pipeline::pipeline;
pub use self::ring::{Ring, ring};
pub use self::to_all::{all_to_all, all_to_all_in_rounds};
pub use self::tree::tree_all_reduce;
use crate::ids::{FlowId, GroupId, HostId};
use crate::ranks::{Action, Lanes, MOST_LANES, Rank, Task, Tasks};
use crate::traffic::FlowSpec;

/// Size and form of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of ranks.
    pub ranks: u32,
    /// Bytes of the whole vector.
    pub size: Bytes,
    /// Parts of it that are passed on one by one.
    pub chunks: u32,
    /// Time that a rank computes with what it received before it passes it on.
    pub compute: Span,
}

impl Shape {
    /// One of `parts` equal parts of a chunk.
    fn part(&self, parts: u32) -> Bytes {
        Bytes::new(self.size.get().div_ceil(u64::from(parts) * u64::from(self.chunks)))
    }
}

/// The part of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its tasks.
    pub tasks: Arc<Tasks>,
    /// The ranks it sends to, as its tasks number them.
    pub to: Vec<u32>,
    /// The ranks it receives from, as its tasks number them.
    pub from: Vec<u32>,
}

/// Puts together what one rank does.
#[derive(Debug, Default)]
pub struct PartBuilder {
    tasks: Vec<(Task, Vec<u32>)>,
    to: Vec<u32>,
    from: Vec<u32>,
    to_numbers: BTreeMap<u32, u32>,
    from_numbers: BTreeMap<u32, u32>,
}

impl PartBuilder {
    /// Sends to rank `to` after these tasks.
    pub fn send(&mut self, step: u32, to: u32, size: Bytes, after: &[u32]) -> u32 {
        let to = number(&mut self.to, &mut self.to_numbers, to);
        self.add(step, Action::Send { to, size }, after)
    }

    /// Receives from rank `from` after these tasks.
    pub fn receive(&mut self, step: u32, from: u32, after: &[u32]) -> u32 {
        let from = number(&mut self.from, &mut self.from_numbers, from);
        self.add(step, Action::Receive { from }, after)
    }

    /// Computes after these tasks.
    pub fn compute(&mut self, step: u32, span: Span, after: &[u32]) -> u32 {
        self.add(step, Action::Compute(span), after)
    }

    /// Receives, and computes with it if that takes time. Returns what others wait for.
    fn take(&mut self, step: u32, from: u32, compute: Span) -> u32 {
        let received = self.receive(step, from, &[]);
        if compute == Span::ZERO { received } else { self.compute(step, compute, &[received]) }
    }

    fn add(&mut self, step: u32, action: Action, after: &[u32]) -> u32 {
        self.tasks.push((Task { action, step }, after.to_vec()));
        (self.tasks.len() - 1) as u32
    }

    /// The part of the rank. Equal tasks are shared with the ranks in `others`.
    pub fn build(self, others: &[Part]) -> Part {
        let tasks = Tasks::new(&self.tasks);
        // Ranks have few roles, and neighbors often the same.
        const LOOKED_AT: usize = 4;
        let mut known = others.iter().rev().take(LOOKED_AT).chain(others.first());
        let same = known.find(|other| *other.tasks == tasks).map(|other| Arc::clone(&other.tasks));
        Part { tasks: same.unwrap_or_else(|| Arc::new(tasks)), to: self.to, from: self.from }
    }
}

fn number(ranks: &mut Vec<u32>, numbers: &mut BTreeMap<u32, u32>, rank: u32) -> u32 {
    *numbers.entry(rank).or_insert_with(|| {
        ranks.push(rank);
        (ranks.len() - 1) as u32
    })
}

/// Makes the part of each rank.
fn parts(ranks: u32, mut make: impl FnMut(u32, &mut PartBuilder)) -> Vec<Part> {
    let mut parts = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks {
        let mut builder = PartBuilder::default();
        make(rank, &mut builder);
        parts.push(builder.build(&parts));
    }
    parts
}

/// When and how often ranks do their part.
#[derive(Clone, Copy, Debug)]
pub struct Iterations {
    /// When they begin.
    pub start: Time,
    /// Time that they compute before each.
    pub compute: Span,
    /// Number of iterations.
    pub count: u32,
}

/// Flows of a rank to another, at most: as many as it has messages for it.
fn lanes(messages: usize) -> u32 {
    (messages as u32).min(MOST_LANES)
}

/// Number of flows that the parts need.
pub fn flows(parts: &[Part]) -> u64 {
    let of = |part: &Part| {
        let to = 0..part.to.len() as u32;
        to.map(|to| u64::from(lanes(part.tasks.sends(to).len()))).sum::<u64>()
    };
    parts.iter().map(of).sum()
}

/// Number of messages of an iteration.
pub fn messages(parts: &[Part]) -> u64 {
    let of = |part: &Part| (0..part.to.len() as u32).map(|to| part.tasks.sends(to).len() as u64).sum::<u64>();
    parts.iter().map(of).sum()
}

/// Puts ranks on hosts, and makes their flows, the first of which has number `first`.
///
/// # Panics
/// If a rank receives from one that does not send to it.
pub fn lay_out(
    parts: &[Part],
    hosts: &[HostId],
    group: GroupId,
    first: FlowId,
    iterations: &Iterations,
) -> (Vec<Rank>, Vec<FlowSpec>) {
    let mut flows = Vec::new();
    let mut connections = BTreeMap::new();
    for (number, part) in (0..).zip(parts) {
        for (to, peer) in (0..).zip(&part.to) {
            let count = lanes(part.tasks.sends(to).len());
            let lanes = Lanes { first: FlowId(first.0 + flows.len() as u32), count };
            let (from, to) = (hosts[number as usize], hosts[*peer as usize]);
            let flow = FlowSpec { from, to, group, start: Time::NEVER, size: Bytes::new(1) };
            flows.extend((0..count).map(|_| flow));
            connections.insert((number, *peer), lanes);
        }
    }
    let rank = |(number, part): (u32, &Part)| Rank {
        host: hosts[number as usize],
        tasks: Arc::clone(&part.tasks),
        outgoing: part.to.iter().map(|to| connections[&(number, *to)]).collect(),
        incoming: part.from.iter().map(|from| connections[&(*from, number)]).collect(),
        start: iterations.start,
        compute: iterations.compute,
        iterations: iterations.count,
    };
    ((0..).zip(parts).map(rank).collect(), flows)
}

#[cfg(test)]
mod tests;
