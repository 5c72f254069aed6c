use narrows_proto::units::{Bytes, Time};

use crate::ids::FlowId;
use crate::random::{Purpose, Stream};
use crate::traffic::{Generator, GeneratorKind};

/// A generator at work.
#[derive(Debug)]
pub(crate) struct HostGenerator {
    spec: Generator,
    random: Stream,
    /// Flows started so far to each destination.
    turns: Vec<u64>,
}

/// What a generator wants done now.
pub(super) enum Step {
    /// Start a flow; the generator is woken a pause after its end.
    Start { flow: FlowId, turn: u64, size: Bytes },
    /// Send datagrams until `end`, and wake the generator at `next`.
    Burst { flow: FlowId, end: Time, next: Time },
    /// Nothing more will come.
    Over,
}

impl HostGenerator {
    /// Generator number `index` of the run.
    pub(crate) fn new(spec: Generator, seed: u64, index: u64) -> Self {
        let destinations = match &spec.kind {
            GeneratorKind::ClosedLoop { flows, .. } => flows.len(),
            GeneratorKind::OnOff { .. } => 0,
        };
        Self { spec, random: Stream::new(seed, Purpose::Client, index), turns: vec![0; destinations] }
    }

    pub(super) fn start(&self) -> Time {
        self.spec.start
    }

    pub(super) fn step(&mut self, now: Time) -> Step {
        if now >= self.spec.until {
            return Step::Over;
        }
        let random = &mut self.random;
        match &self.spec.kind {
            GeneratorKind::ClosedLoop { flows, sizes, .. } => {
                let destination = random.below(flows.len() as u64) as usize;
                let turn = self.turns[destination];
                self.turns[destination] += 1;
                Step::Start { flow: flows[destination], turn, size: sizes.draw(random) }
            }
            GeneratorKind::OnOff { flow, on, off } => {
                let end = (now + on.draw(random)).min(self.spec.until);
                Step::Burst { flow: *flow, end, next: end + off.draw(random) }
            }
        }
    }

    /// When it goes on after its flow ended at `now`.
    pub(super) fn next_after(&mut self, now: Time) -> Time {
        match &self.spec.kind {
            GeneratorKind::ClosedLoop { think, .. } => now + think.draw(&mut self.random),
            GeneratorKind::OnOff { .. } => now,
        }
    }
}
