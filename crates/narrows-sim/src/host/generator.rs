use std::ops::Range;

use narrows_proto::units::{Bytes, Time};

use crate::ids::FlowId;
use crate::random::{Purpose, Stream};
use crate::traffic::{Generator, GeneratorKind};

/// A generator at work.
#[derive(Debug)]
pub(crate) struct HostGenerator {
    spec: Generator,
    random: Stream,
    /// By flow: how many it started so far.
    turns: Vec<u64>,
    /// Transfers of the current transaction that have not ended.
    running: u32,
}

/// Action that a generator requests now.
pub(super) enum Step {
    /// Start these transfers; the generator is woken a pause after the last of them ended.
    Start { transfers: Range<usize> },
    /// Send datagrams until `end`, and wake the generator at `next`.
    Burst { flow: FlowId, end: Time, next: Time },
    /// Nothing more will come.
    Over,
}

impl HostGenerator {
    /// Generator number `index` of the run.
    pub(crate) fn new(spec: Generator, seed: u64, index: u64) -> Self {
        let flows = match &spec.kind {
            GeneratorKind::ClosedLoop { flows, .. } => flows.len(),
            GeneratorKind::OnOff { .. } => 0,
        };
        Self { spec, random: Stream::new(seed, Purpose::Client, index), turns: vec![0; flows], running: 0 }
    }

    pub(crate) fn start(&self) -> Time {
        self.spec.start
    }

    pub(super) fn step(&mut self, now: Time) -> Step {
        if now >= self.spec.until {
            return Step::Over;
        }
        let random = &mut self.random;
        match &self.spec.kind {
            GeneratorKind::ClosedLoop { flows, parallel, .. } => {
                let parallel_flows = *parallel as usize;
                let destination = random.below((flows.len() / parallel_flows) as u64) as usize;
                self.running = *parallel;
                Step::Start { transfers: destination * parallel_flows..(destination + 1) * parallel_flows }
            }
            GeneratorKind::OnOff { flow, on, off } => {
                let end = (now + on.draw(random)).min(self.spec.until);
                Step::Burst { flow: *flow, end, next: end + off.draw(random) }
            }
        }
    }

    /// The next transfer of flow number `transfer`: the flow, its turn and size.
    pub(super) fn transfer(&mut self, transfer: usize) -> Option<(FlowId, u64, Bytes)> {
        let GeneratorKind::ClosedLoop { flows, sizes, .. } = &self.spec.kind else { return None };
        let incarnation = self.turns[transfer];
        self.turns[transfer] += 1;
        Some((flows[transfer], incarnation, sizes.draw(&mut self.random)))
    }

    /// One of its transfers ended at `now`. If it was the last: when the generator goes on.
    pub(super) fn on_end(&mut self, now: Time) -> Option<Time> {
        let GeneratorKind::ClosedLoop { think, .. } = &self.spec.kind else { return None };
        self.running -= 1;
        (self.running == 0).then(|| now + think.draw(&mut self.random))
    }
}
