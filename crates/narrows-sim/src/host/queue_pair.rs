//! Queue pairs that carry several messages, in the order in which the application gives them to the card.
//!
//! ```text
//! waiting   beyond the most that may be outstanding: the application keeps it
//! rung      the card has it; its first packet may leave after the doorbell's time
//! posted    the sender of the queue pair has it, behind those before it
//! ```

use std::collections::VecDeque;
use std::ops::Range;

use narrows_proto::cc::Signal;
use narrows_proto::rdma;
use narrows_proto::stream::{Endpoint, Held, Holding, Poll, Stats};
use narrows_proto::units::{Bytes, Span, Time};

use super::new_flow::{Started, Starter};
use super::packets::Way;
use super::sending::{Answer, Done, Sending};
use crate::ids::{FlowId, HostId};
use crate::observe::SenderRef;
use crate::record::FlowRecord;
use crate::world::GroupState;

/// The sending half of a queue pair.
#[derive(Debug)]
pub(crate) struct QueuePair {
    sender: rdma::Sender,
    /// Those that are not complete, oldest first.
    messages: VecDeque<Message>,
    /// So many of them are posted, and so many rung.
    posted: usize,
    rung: usize,
    /// It has carried others.
    again: bool,
    /// Sum of the records of complete messages.
    reported: Stats,
}

/// A message, which is a flow.
#[derive(Debug)]
struct Message {
    of: Started,
    /// When the card has it, once it is rung.
    ready: Time,
    /// Its bytes among those of the queue pair, once it is posted.
    bytes: Range<u64>,
    injected: Option<Time>,
}

impl Message {
    fn delivered(&self, una: u64) -> Bytes {
        Bytes::new(una.clamp(self.bytes.start, self.bytes.end) - self.bytes.start)
    }

    fn record(&self, una: u64, again: bool, stats: Stats) -> FlowRecord {
        let stats = Stats { injected: self.injected, ..stats };
        self.of.record(Done { delivered: self.delivered(una), stats, again })
    }
}

impl QueuePair {
    pub(super) fn new(group: &GroupState, at: Endpoint) -> Self {
        let rdma = group.rdma();
        Self {
            sender: rdma::Sender::new(&rdma.params, &rdma.cc, at, Bytes::ZERO),
            messages: VecDeque::new(),
            posted: 0,
            rung: 0,
            again: false,
            reported: Stats::default(),
        }
    }

    /// The application has another message for it. Returns whether there was none.
    pub(super) fn add(&mut self, of: Started) -> bool {
        self.messages.push_back(Message { of, ready: Time::NEVER, bytes: 0..0, injected: None });
        self.messages.len() == 1
    }

    /// The flow of the oldest message.
    pub(super) fn oldest(&self) -> Option<FlowId> {
        self.messages.front().map(|message| message.of.flow)
    }

    /// Gives the card as many messages as it may have.
    pub(super) fn ring(&mut self, now: Time, params: &rdma::Params) {
        let most = params.queue_pair.map_or(1, |pair| pair.outstanding as usize);
        while self.rung < most.min(self.messages.len()) {
            self.messages[self.rung].ready = now + params.doorbell;
            self.rung += 1;
        }
        self.post(now);
    }

    /// Lets the sender have what the card has.
    fn post(&mut self, now: Time) {
        while self.posted < self.rung && self.messages[self.posted].ready <= now {
            let message = &mut self.messages[self.posted];
            message.bytes = self.sender.post(message.of.size());
            self.posted += 1;
        }
    }

    /// The oldest message, if it is complete: its record, and who waits for its end.
    pub(super) fn take_complete(&mut self, before_measured: bool) -> Option<(FlowRecord, Option<Starter>)> {
        let una = self.sender.acknowledged();
        if self.posted == 0 || self.messages.front()?.bytes.end > una {
            return None;
        }
        let mut message = self.messages.pop_front()?;
        (self.posted, self.rung) = (self.posted - 1, self.rung - 1);
        if before_measured {
            message.of.measure_from(message.of.size());
        }
        let stats = self.sender.stats();
        let record = message.record(una, self.again, stats.since(&self.reported));
        (self.reported, self.again) = (stats, true);
        Some((record, message.of.starter))
    }

    /// Records of messages that are not complete. What happened since the last one that is belongs to the oldest.
    pub(super) fn records(&self) -> impl Iterator<Item = FlowRecord> {
        let (una, latest) = (self.sender.acknowledged(), self.sender.stats().since(&self.reported));
        self.messages.iter().enumerate().map(move |(number, message)| {
            let stats = if number == 0 { latest } else { Stats::default() };
            message.record(una, self.again || number > 0, stats)
        })
    }

    pub(super) fn measure_from(&mut self) {
        let una = self.sender.acknowledged();
        self.messages.iter_mut().for_each(|message| message.of.measure_from(message.delivered(una)));
    }

    pub(super) fn measure_until(&mut self) {
        let una = self.sender.acknowledged();
        self.messages.iter_mut().for_each(|message| message.of.measure_until(message.delivered(una)));
    }

    /// The way of the packet that begins with byte `seq`.
    #[inline(never)]
    pub(super) fn way(&self, seq: u64, to: HostId) -> Way {
        let message = self.messages.iter().find(|message| seq < message.bytes.end);
        let message = message.expect("what is sent is not complete");
        Way { flow: message.of.flow, to, incarnation: message.of.incarnation as u16 }
    }
}

impl Sending for Box<QueuePair> {
    fn poll(&mut self, group: &GroupState, now: Time) -> Poll {
        let poll = self.sender.poll(group, now);
        if let Poll::Send(segment) = poll
            && segment.fin
            && !segment.retransmission
            && let Some(message) = self.messages.iter_mut().find(|message| segment.seq < message.bytes.end)
        {
            message.injected = Some(now);
        }
        poll
    }

    /// Returns whether a message is complete.
    fn on_ack(&mut self, group: &GroupState, now: Time, answer: Answer<'_>) -> bool {
        Sending::on_ack(&mut self.sender, group, now, answer);
        let una = self.sender.acknowledged();
        self.posted > 0 && self.messages.front().is_some_and(|message| message.bytes.end <= una)
    }

    fn on_signal(&mut self, group: &GroupState, now: Time, signal: &Signal<'_>) {
        Sending::on_signal(&mut self.sender, group, now, signal);
    }

    fn hold(&mut self, group: &GroupState, now: Time, holding: Holding) -> Held {
        Sending::hold(&mut self.sender, group, now, holding)
    }

    fn next_timer(&self) -> Time {
        let doorbell = if self.posted < self.rung { self.messages[self.posted].ready } else { Time::NEVER };
        self.sender.next_timer().min(doorbell)
    }

    fn on_timer(&mut self, group: &GroupState, now: Time) -> bool {
        self.post(now);
        Sending::on_timer(&mut self.sender, group, now)
    }

    fn on_cnp(&mut self, now: Time) -> bool {
        Sending::on_cnp(&mut self.sender, now)
    }

    fn srtt(&self) -> Span {
        self.sender.srtt()
    }

    fn as_seen(&self) -> Option<SenderRef<'_>> {
        (!self.messages.is_empty()).then_some(SenderRef::Rdma(&self.sender))
    }
}
