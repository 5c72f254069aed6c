//! A rank at work: which of its tasks may begin, and what has arrived for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use narrows_proto::units::{Bytes, Span, Time};

use crate::ids::FlowId;
use crate::ranks::{Action, IterationRecord, Lanes, Rank};

/// A rank of this host.
#[derive(Debug)]
pub(crate) struct RankAtWork {
    /// Its number among those of the run.
    number: u32,
    of: Rank,
    /// The current iteration, or the next one; `running` says which.
    iteration: u32,
    running: bool,
    begun: Time,
    /// When the last task ended that receives or computes.
    ended: Time,
    /// When the next iteration begins.
    next: Time,
    /// By task: so much more has to happen before it is done.
    missing: Vec<u32>,
    /// Tasks that have not ended, and those among them that do not send.
    open: u32,
    unreceived: u32,
    outgoing: Vec<Outgoing>,
    /// By sender and lane: messages that arrived.
    arrived: Vec<Vec<u64>>,
    /// Tasks whose message arrived before their iteration.
    early: Vec<(u32, u32)>,
    computing: BinaryHeap<Reverse<(Time, u32)>>,
    /// Tasks that have just ended. A list, as one end may follow from another without bound.
    ending: Vec<u32>,
}

/// A connection to another rank.
#[derive(Debug)]
struct Outgoing {
    lanes: Vec<Lane>,
    /// Number of messages in an iteration.
    messages: u64,
}

/// One of its flows.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The incarnation that comes next.
    next: u64,
    /// The task whose message is under way.
    task: Option<u32>,
    /// Messages that may begin, by number and task. Each waits for the ones before it.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Requests of a rank to its host.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// Messages that begin: flow, incarnation, payload.
    pub(super) messages: Vec<(FlowId, u64, Bytes)>,
    /// When it is to be woken.
    pub(super) wakes: Vec<Time>,
    /// An iteration is over.
    pub(super) record: Option<IterationRecord>,
    /// No iteration follows.
    pub(super) over: bool,
}

impl RankAtWork {
    pub(crate) fn new(number: u32, of: Rank) -> Self {
        let outgoing = (0..).zip(&of.outgoing).map(|(to, lanes)| Outgoing {
            lanes: vec![Lane::default(); lanes.count as usize],
            messages: of.tasks.sends(to).len() as u64,
        });
        Self {
            number,
            iteration: 0,
            running: false,
            begun: Time::NEVER,
            ended: Time::NEVER,
            next: of.start + of.compute,
            missing: Vec::new(),
            open: 0,
            unreceived: 0,
            outgoing: outgoing.collect(),
            arrived: of.incoming.iter().map(|lanes| vec![0; lanes.count as usize]).collect(),
            early: Vec::new(),
            computing: BinaryHeap::new(),
            ending: Vec::new(),
            of,
        }
    }

    /// When it is woken first.
    pub(crate) fn first_wake(&self) -> Time {
        self.next
    }

    /// It was to be woken.
    pub(super) fn on_wake(&mut self, now: Time, wants: &mut Wants) {
        if !self.running && self.next <= now {
            return self.begin(now, wants);
        }
        while let Some(Reverse((at, task))) = self.computing.peek().copied()
            && at <= now
        {
            self.computing.pop();
            self.ending.push(task);
        }
        self.settle(now, wants);
    }

    fn begin(&mut self, now: Time, wants: &mut Wants) {
        let tasks = Arc::clone(&self.of.tasks);
        self.missing.clear();
        self.missing.extend_from_slice(tasks.waits());
        (self.begun, self.ended, self.running) = (now, now, true);
        self.open = tasks.len() as u32;
        self.unreceived =
            tasks.iter().filter(|task| !matches!(task.action, Action::Send { .. })).count() as u32;
        for (task, _) in (0..).zip(tasks.waits()).filter(|(_, waits)| **waits == 0) {
            self.perform(now, task, wants);
        }
        let iteration = self.iteration;
        let mut early = std::mem::take(&mut self.early);
        early.retain(|(of, task)| {
            let now_due = *of == iteration;
            if now_due {
                self.on_cause(now, *task, wants);
            }
            !now_due
        });
        self.early.append(&mut early);
        self.settle(now, wants);
    }

    /// A message of this sender arrived on this lane.
    pub(super) fn on_message(&mut self, now: Time, from: u32, flow: FlowId, wants: &mut Wants) {
        let lanes = self.of.incoming[from as usize];
        let arrived = &mut self.arrived[from as usize][(flow.0 - lanes.first.0) as usize];
        let message = lanes.message(flow, *arrived);
        *arrived += 1;
        let receives = self.of.tasks.receives(from);
        let (iteration, place) = (message / receives.len() as u64, message % receives.len() as u64);
        let (iteration, task) = (iteration as u32, receives[place as usize]);
        if self.running && iteration == self.iteration {
            self.on_cause(now, task, wants);
            self.settle(now, wants);
        } else {
            self.early.push((iteration, task));
        }
    }

    /// The receiver has all of the message of this flow, as is known here.
    pub(super) fn on_sent(&mut self, now: Time, flow: FlowId, wants: &mut Wants) {
        let to = self.of.outgoing.partition_point(|lanes| lanes.first <= flow) - 1;
        let lane = (flow.0 - self.of.outgoing[to].first.0) as usize;
        if let Some(task) = self.outgoing[to].lanes[lane].task.take() {
            self.send(to, lane, wants);
            self.ending.push(task);
            self.settle(now, wants);
        }
    }

    /// One thing that a task waits for has happened.
    fn on_cause(&mut self, now: Time, task: u32, wants: &mut Wants) {
        let missing = &mut self.missing[task as usize];
        *missing -= 1;
        if *missing == 0 {
            self.perform(now, task, wants);
        }
    }

    fn perform(&mut self, now: Time, number: u32, wants: &mut Wants) {
        match self.of.tasks.task(number).action {
            Action::Send { to, .. } => {
                let sends = self.of.tasks.sends(to);
                let place = sends.binary_search(&number).expect("the task sends to this receiver") as u64;
                let connection = &mut self.outgoing[to as usize];
                let message = u64::from(self.iteration) * connection.messages + place;
                let lane = (message % connection.lanes.len() as u64) as usize;
                connection.lanes[lane].ready.push(Reverse((message, number)));
                self.send(to as usize, lane, wants);
            }
            Action::Compute(span) if span > Span::ZERO => {
                self.computing.push(Reverse((now + span, number)));
                wants.wakes.push(now + span);
            }
            Action::Receive { .. } | Action::Compute(_) => self.ending.push(number),
        }
    }

    /// Begins the next message of a lane, if it may.
    fn send(&mut self, to: usize, number: usize, wants: &mut Wants) {
        let Lanes { first, count } = self.of.outgoing[to];
        let lane = &mut self.outgoing[to].lanes[number];
        let next = lane.next * u64::from(count) + number as u64;
        let Some(Reverse((message, task))) = lane.ready.peek().copied() else { return };
        if lane.task.is_some() || message != next {
            return;
        }
        lane.ready.pop();
        lane.task = Some(task);
        let Action::Send { size, .. } = self.of.tasks.task(task).action else { return };
        wants.messages.push((FlowId(first.0 + number as u32), lane.next, size));
        lane.next += 1;
    }

    /// Does what follows from tasks that have just ended.
    fn settle(&mut self, now: Time, wants: &mut Wants) {
        let tasks = Arc::clone(&self.of.tasks);
        let mut place = 0;
        while let Some(task) = self.ending.get(place).copied() {
            place += 1;
            self.open -= 1;
            if !matches!(tasks.task(task).action, Action::Send { .. }) {
                self.ended = now;
                self.unreceived -= 1;
            }
            for next in tasks.next(task) {
                self.on_cause(now, *next, wants);
            }
        }
        self.ending.clear();
        if self.open > 0 || !self.running {
            return;
        }
        wants.record = Some(self.record());
        self.running = false;
        self.iteration += 1;
        self.next = now + self.of.compute;
        match self.iteration < self.of.iterations {
            true => wants.wakes.push(self.next),
            false => wants.over = true,
        }
    }

    fn record(&self) -> IterationRecord {
        let ended = (self.unreceived == 0).then_some(self.ended);
        IterationRecord { rank: self.number, iteration: self.iteration, begun: self.begun, ended }
    }

    /// The iteration that was under way when the run ended.
    pub(super) fn unfinished(&self) -> Option<IterationRecord> {
        self.running.then(|| self.record())
    }
}
