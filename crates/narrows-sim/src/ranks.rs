//! Ranks: hosts that compute, send and receive in an order of their own, again and again.
//!
//! A rank knows only itself: its tasks wait for its own tasks, and what it waits for from others arrives as a message. So nothing
//! travels between hosts but packets. A message is an incarnation of a flow, as those of clients are: between two ranks there are a few
//! flows (lanes), message number `m` of a connection takes lane `m mod lanes`, and has it until its sender knows that all was received.
//! So a collective of two million messages has as many flows as it may have under way, and not two million.

use std::sync::Arc;

use narrows_proto::units::{Bytes, Span, Time};

use crate::ids::{FlowId, HostId};

/// Most messages of one rank to another that are under way at once.
pub const MOST_LANES: u32 = 32;

/// A rank at a host.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its host.
    pub host: HostId,
    /// Its tasks in each iteration. Ranks with the same tasks share them.
    pub tasks: Arc<Tasks>,
    /// Flows to each rank it sends to.
    pub outgoing: Vec<Lanes>,
    /// Flows from each rank it receives from.
    pub incoming: Vec<Lanes>,
    /// When it begins.
    pub start: Time,
    /// Time that it computes before each iteration.
    pub compute: Span,
    /// So many iterations, one after the other.
    pub iterations: u32,
}

/// The flows that carry the messages of one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The first of them; the others follow.
    pub first: FlowId,
    /// Number of them.
    pub count: u32,
}

impl Lanes {
    /// Number of the message of a connection that incarnation `incarnation` of `flow` is.
    pub fn message(self, flow: FlowId, incarnation: u64) -> u64 {
        incarnation * u64::from(self.count) + u64::from(flow.0 - self.first.0)
    }
}

/// Kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message. It has ended when the sender knows that all of it was received.
    Send {
        /// Number of the receiver among those the rank sends to.
        to: u32,
        /// Payload.
        size: Bytes,
    },
    /// Receives a message: the next one of this sender, in the order of the sender's tasks.
    Receive {
        /// Number of the sender among those the rank receives from.
        from: u32,
    },
    /// Takes a while.
    Compute(Span),
}

/// A task of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its kind.
    pub action: Action,
    /// The step of the collective that it belongs to, for results.
    pub step: u32,
}

/// Tasks of an iteration, in an order in which they could be done one after the other, and what they wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    all: Vec<Task>,
    /// By task: where those begin in `next` that wait for it, and a last entry.
    first: Vec<u32>,
    next: Vec<u32>,
    /// By task: for how much it waits; of one that receives its message, too.
    waits: Vec<u32>,
    /// By receiver: the tasks that send to it.
    sends: Vec<Vec<u32>>,
    /// By sender: the tasks that receive from it.
    receives: Vec<Vec<u32>>,
}

impl Tasks {
    /// Each task with the numbers of those that must have ended before it.
    ///
    /// # Panics
    /// If a task waits for one that does not stand before it.
    pub fn new(tasks: &[(Task, Vec<u32>)]) -> Self {
        let mut made = Self { first: vec![0; tasks.len() + 1], ..Self::default() };
        for (number, (task, after)) in (0..).zip(tasks) {
            assert!(after.iter().all(|before| *before < number), "task {number} waits for {after:?}");
            made.all.push(*task);
            after.iter().for_each(|before| made.first[*before as usize + 1] += 1);
            made.waits.push(after.len() as u32 + u32::from(matches!(task.action, Action::Receive { .. })));
            let (lists, peer) = match task.action {
                Action::Send { to, .. } => (&mut made.sends, to),
                Action::Receive { from } => (&mut made.receives, from),
                Action::Compute(_) => continue,
            };
            if lists.len() <= peer as usize {
                lists.resize(peer as usize + 1, Vec::new());
            }
            lists[peer as usize].push(number);
        }
        let mut sum = 0;
        for count in &mut made.first {
            sum += *count;
            *count = sum;
        }
        let mut places = made.first.clone();
        made.next = vec![0; sum as usize];
        for (number, (_, after)) in (0..).zip(tasks) {
            for before in after {
                let place = &mut places[*before as usize];
                made.next[*place as usize] = number;
                *place += 1;
            }
        }
        made
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// There is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The task of this number.
    pub fn task(&self, number: u32) -> Task {
        self.all[number as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.all.iter()
    }

    /// Those that wait for the end of a task.
    pub fn next(&self, number: u32) -> &[u32] {
        &self.next[self.first[number as usize] as usize..self.first[number as usize + 1] as usize]
    }

    /// The tasks that send to a receiver, in order.
    pub fn sends(&self, to: u32) -> &[u32] {
        self.sends.get(to as usize).map_or(&[], Vec::as_slice)
    }

    /// The tasks that receive from a sender, in order.
    pub fn receives(&self, from: u32) -> &[u32] {
        self.receives.get(from as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn waits(&self) -> &[u32] {
        &self.waits
    }
}

/// An iteration of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IterationRecord {
    /// The rank, by its number in [`Traffic::ranks`](crate::traffic::Traffic::ranks).
    pub rank: u32,
    /// Its number; the first is 0.
    pub iteration: u32,
    /// When the rank began it, after it had computed.
    pub begun: Time,
    /// When it had received and computed everything; none if it had not by the end of the run.
    pub ended: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_know_who_waits_for_them() {
        let task = |action| Task { action, step: 0 };
        let send = task(Action::Send { to: 0, size: Bytes::new(1) });
        let receive = task(Action::Receive { from: 0 });
        let tasks = Tasks::new(&[(receive, vec![]), (send, vec![0]), (send, vec![0, 1])]);
        assert_eq!([tasks.next(0), tasks.next(1), tasks.next(2)], [&[1, 2][..], &[2], &[]]);
        assert_eq!(tasks.waits(), [1, 1, 2]);
        assert_eq!((tasks.sends(0), tasks.receives(0), tasks.sends(1)), (&[1, 2][..], &[0][..], &[][..]));
    }

    #[test]
    fn messages_are_numbered_across_lanes() {
        let lanes = Lanes { first: FlowId(7), count: 3 };
        assert_eq!([7, 8, 9].map(|flow| lanes.message(FlowId(flow), 2)), [6, 7, 8]);
    }
}
