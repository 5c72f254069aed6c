//! Runs that a program is attached to: it sends messages, sets timers, and goes from event to event in virtual time.
//!
//! The network is that of a scenario. Messages belong to one of its traffic groups, which says how they are carried; the pattern of a group
//! that has no traffic of its own is `attached = {}`. Other groups send as they always do, beside the messages.
//!
//! ```
//! use narrows::attach::{Attached, EventKind, NewMessage};
//! use narrows::document::Document;
//! use narrows_proto::units::{Span, Time};
//!
//! let scenario = r#"
//!     version = 2
//!     name = "two"
//!     hosts = "ideal"
//!     stop = { after = "1 s" }
//!     topology.star = { hosts = 2, rate = "100 Gb/s", delay = "500 ns" }
//!     switches.default.buffer.size = "1 MB"
//!     [[traffic]]
//!     name = "ranks"
//!     pattern.attached = {}
//!     rdma = {}
//!     cc.dcqcn = {}
//! "#;
//! let mut run = Attached::new(&Document::parse("two", scenario, "")?, Some(1))?;
//! let (from, to, class) = (run.host("host0")?, run.host("host1")?, run.class("ranks")?);
//! run.send(NewMessage { from, to, size: 1_000_000, class, tag: 7, delay: Span::ZERO })?;
//! let arrived = run.next(Time::NEVER)?.expect("it arrives");
//! assert!(matches!(arrived.kind, EventKind::Delivered(_)) && arrived.tag == 7);
//! assert_eq!(run.now(), arrived.at);
//! # Ok::<(), narrows::attach::Error>(())
//! ```
//!
//! **Order.** Events come in the order of time; at the same time, messages before timers, messages in the order of the hosts where it
//! happens and then of their numbers, timers in the order in which they were set. What an event leads to at the same moment comes after all
//! that had been due then. Scenario, seed and calls decide everything: the same calls give the same events.
//!
//! **Time** is virtual, in picoseconds, and never goes back. [`Attached::next`] stops at the very moment of an event, so that what is sent
//! then starts then. The run ends with the scenario's `stop.after` and `stop.drain`.

mod error;
mod hosts;
mod message;
mod timers;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::traffic::{FlowSpec, Transport};
use narrows_sim::{
    Closed, Delivered, Delivery, FlowId, GroupId, HostId, IdealPath, Paths, PlainSession, ideal_fct,
};

pub use self::error::Error;
use self::hosts::islands;
pub use self::message::{Event, EventKind, Message, MessageId, NewMessage, TimerId, Totals};
use self::timers::Timers;
use crate::diagnostic::help_with;
use crate::document::Document;
use crate::plan::{ENDLESS, Plan};
use crate::results::{Recorded, Results};
use crate::run::{self, Options, Steps};

/// A simulation with nobody or somebody who records.
#[derive(Debug)]
enum Engine {
    Plain(Box<PlainSession>),
    Recorded(Box<Steps>),
}

macro_rules! each {
    ($engine:expr, $session:ident => $asked:expr) => {
        match $engine {
            Engine::Plain($session) => $asked,
            Engine::Recorded(steps) => {
                let $session = steps.session();
                $asked
            }
        }
    };
}

/// A message with its progress, beside its flow. Times are [`Time::NEVER`] before they come.
#[derive(Clone, Copy, Debug)]
struct Kept {
    size: u64,
    tag: u64,
    delivered: Time,
    /// When its source was done with it.
    closed: Time,
    /// Number of its record, then.
    record: u32,
    failed: bool,
}

/// A run that a program is attached to.
#[derive(Debug)]
pub struct Attached {
    plan: Arc<Plan>,
    engine: Engine,
    /// Hosts by name.
    hosts: HashMap<String, HostId>,
    /// By host: the first of those that it can exchange messages with.
    islands: Vec<HostId>,
    /// The flow of the first message.
    first: FlowId,
    messages: Vec<Kept>,
    timers: Timers,
    events: VecDeque<Event>,
    now: Time,
    totals: Totals,
}

impl Attached {
    /// Lays out the scenario of a document, with another seed if one is given.
    ///
    /// # Errors
    /// If the scenario has mistakes, or needs more memory than there is.
    pub fn new(document: &Document, seed: Option<u64>) -> Result<Self, Error> {
        let plan = match seed {
            Some(seed) => Plan::with_seed(document, seed)?,
            None => Plan::new(document.clone())?,
        };
        let plan = Arc::new(plan).drawn()?;
        run::fit_memory(std::slice::from_ref(&plan), Options::default())?;
        Ok(Self::of_plan(plan))
    }

    fn of_plan(plan: Arc<Plan>) -> Self {
        let mut engine = if run::records(&plan) {
            Engine::Recorded(Box::new(Steps::new(&plan, Options::default(), None)))
        } else {
            let session = PlainSession::new(&plan.network, &plan.traffic, plan.scenario.seed);
            Engine::Plain(Box::new(session))
        };
        each!(&mut engine, session => session.watch(&plan.network, true));
        let topology = &plan.network.topology;
        let number = |host| (topology.host_name(host).to_owned(), host);
        let hosts = (0..topology.hosts().len()).map(|host| number(HostId::from(host))).collect();
        Self {
            engine,
            hosts,
            islands: islands(&plan),
            first: FlowId::from(plan.traffic.flows.len()),
            plan,
            messages: Vec::new(),
            timers: Timers::default(),
            events: VecDeque::new(),
            now: Time::ZERO,
            totals: Totals::default(),
        }
    }

    /// The plan that is run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        self.plan.stop.at
    }

    /// Number of hosts.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// The host of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn host(&self, name: &str) -> Result<HostId, Error> {
        if let Some(host) = self.hosts.get(name) {
            return Ok(*host);
        }
        let topology = &self.plan.network.topology;
        let names = (0..self.host_count()).map(|host| topology.host_name(HostId::from(host)));
        Err(Error::UnknownHost { host: name.to_owned(), help: help_with(name, names) })
    }

    /// The host of this number, from 0 on in the order of the network.
    ///
    /// # Errors
    /// If there is none.
    pub fn host_number(&self, number: u64) -> Result<HostId, Error> {
        let hosts = self.host_count();
        if number < hosts as u64 {
            Ok(HostId(number as u32))
        } else {
            Err(Error::HostNumber { number, hosts })
        }
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        self.plan.network.topology.host_name(host)
    }

    /// Rate of the link of a host.
    pub fn host_rate(&self, host: HostId) -> BitRate {
        let topology = &self.plan.network.topology;
        let node = topology.hosts()[host.index()];
        topology
            .links()
            .iter()
            .find(|link| link.from == node)
            .map_or_else(BitRate::default, |link| link.wire.rate)
    }

    /// The traffic group of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn class(&self, name: &str) -> Result<GroupId, Error> {
        let names = || self.plan.groups.iter().map(|group| group.name.as_str());
        if let Some(group) = names().position(|known| known == name) {
            return Ok(GroupId::from(group));
        }
        Err(Error::UnknownClass { class: name.to_owned(), help: help_with(name, names()) })
    }

    /// The traffic group of this number, in the order of the scenario from 0 on.
    ///
    /// # Errors
    /// If there is none.
    pub fn class_number(&self, number: u64) -> Result<GroupId, Error> {
        let groups = self.plan.groups.len();
        if number < groups as u64 {
            Ok(GroupId::from(number as usize))
        } else {
            Err(Error::ClassNumber { number, groups })
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If it is too large, starts after the end of the run, has no way to go, or its group has no connections.
    pub fn send(&mut self, new: NewMessage) -> Result<MessageId, Error> {
        let NewMessage { from, to, size, class, tag, delay } = new;
        for host in [from, to] {
            self.host_number(host.0.into())?;
        }
        self.class_number(class.index() as u64)?;
        let name = |host| self.host_name(host).to_owned();
        if from == to {
            return Err(Error::ToItself { host: name(from) });
        }
        if let Transport::Datagram { .. } = self.plan.traffic.groups[class.index()].transport {
            return Err(Error::Datagrams { class: self.plan.groups[class.index()].name.clone() });
        }
        if self.islands[from.index()] != self.islands[to.index()] {
            return Err(Error::Unreachable { from: name(from), to: name(to) });
        }
        if size > ENDLESS.get() {
            return Err(Error::TooLarge { size, most: ENDLESS });
        }
        let messages = self.messages.len();
        if self.first.index() + messages >= u32::MAX as usize {
            return Err(Error::TooMany { messages });
        }
        let start = self.at(delay)?;
        let bytes = Bytes::new(size.max(1));
        let flow = each!(&mut self.engine, session => session.inject(class, from, to, bytes, start));
        debug_assert_eq!(flow.index(), self.first.index() + messages);
        let (delivered, closed) = (Time::NEVER, Time::NEVER);
        self.messages.push(Kept { size, tag, delivered, closed, record: 0, failed: false });
        self.totals.messages += 1;
        Ok(MessageId(messages as u32))
    }

    /// Sets a timer.
    ///
    /// # Errors
    /// If it is due after the end of the run.
    pub fn schedule(&mut self, delay: Span, tag: u64) -> Result<TimerId, Error> {
        self.timers.set(self.at(delay)?, tag)
    }

    /// Takes a timer back. False if it was due already, or has been taken back.
    ///
    /// # Errors
    /// If there never was such a timer.
    pub fn cancel(&mut self, timer: TimerId) -> Result<bool, Error> {
        self.timers.cancel(timer)
    }

    /// The next event, which may lie in the past if time was [advanced](Self::advance) over it. Otherwise goes on to the next one, `until`
    /// at the latest; none if there is none until then, or until the end of the run. What happens at `until` still counts.
    ///
    /// # Errors
    /// If `until` is over.
    pub fn next(&mut self, until: Time) -> Result<Option<Event>, Error> {
        while self.events.is_empty() && self.go_on(until)? {}
        Ok(self.events.pop_front())
    }

    /// Goes on to `until`, or the end of the run. Events on the way wait for [`next`](Self::next).
    ///
    /// # Errors
    /// If `until` is over.
    pub fn advance(&mut self, until: Time) -> Result<(), Error> {
        while self.go_on(until)? {}
        Ok(())
    }

    /// A message, as far as it has come.
    ///
    /// # Errors
    /// If there is none of this number.
    pub fn message(&mut self, message: MessageId) -> Result<Message, Error> {
        let kept = *self.kept(message)?;
        let flow = FlowId(self.first.0 + message.0);
        let happened = |at: Time| Some(at).filter(|at| *at < Time::NEVER);
        let closed = happened(kept.closed);
        let (record, FlowSpec { from, to, group, start, .. }) = each!(&mut self.engine, session => {
            let record = match closed {
                Some(_) => Some(*session.closed(kept.record as usize)),
                None => session.record_of(flow),
            };
            (record, session.spec(flow))
        });
        let acknowledged = record.map_or(Bytes::ZERO, |record| record.delivered);
        Ok(Message {
            from,
            to,
            class: group,
            size: Bytes::new(kept.size),
            tag: kept.tag,
            start,
            delivered: happened(kept.delivered),
            sent: closed.filter(|_| !kept.failed),
            failed: kept.failed,
            acknowledged: acknowledged.min(Bytes::new(kept.size)),
            stats: record.map(|record| record.stats).unwrap_or_default(),
        })
    }

    /// The shortest time in which a message can be handed over and arrive, alone on the empty network.
    ///
    /// # Errors
    /// If there is none of this number, or no path leads there.
    pub fn ideal(&mut self, message: MessageId) -> Result<Span, Error> {
        self.kept(message)?;
        let flow = FlowId(self.first.0 + message.0);
        let FlowSpec { from, to, group, start, size } =
            each!(&mut self.engine, session => session.spec(flow));
        let network = &self.plan.network;
        let paths = Paths::of(network, self.plan.scenario.seed);
        let transport = &self.plan.traffic.groups[group.index()].transport;
        let of_flow = (flow, transport.has_entropy());
        let way = |from, to| {
            let path = IdealPath::between(network, &paths, of_flow, from, to);
            let name = |host| self.host_name(host).to_owned();
            path.ok_or_else(|| Error::Unreachable { from: name(from), to: name(to) })
        };
        Ok(ideal_fct(transport, &way(from, to)?, &way(to, from)?, start, size))
    }

    /// Sums over the run so far.
    pub fn totals(&mut self) -> Totals {
        let packet_hops = each!(&mut self.engine, session => session.packet_hops());
        Totals { packet_hops, ..self.totals }
    }

    /// Ends the run now. Its results are those of any run, with a flow for each message.
    ///
    /// # Errors
    /// If more is recorded than memory was estimated for.
    pub fn finish(mut self) -> Result<Results, Error> {
        let flows = (self.first.index()..).take(self.messages.len()).map(FlowId::from);
        let flows: Vec<_> =
            each!(&mut self.engine, session => flows.map(|flow| session.spec(flow)).collect());
        match self.engine {
            Engine::Plain(session) => {
                let mut plan = self.plan;
                Arc::make_mut(&mut plan).traffic.flows.extend(flows);
                Ok(Results::new(plan, session.finish(), Recorded::default()))
            }
            Engine::Recorded(mut steps) => {
                steps.add_flows(&flows);
                Ok(steps.finish()?)
            }
        }
    }

    fn kept(&self, message: MessageId) -> Result<&Kept, Error> {
        let count = self.messages.len();
        let unknown = || Error::UnknownNumber { what: "message", number: message.0.into(), count };
        self.messages.get(message.0 as usize).ok_or_else(unknown)
    }

    /// A moment ahead.
    fn at(&self, delay: Span) -> Result<Time, Error> {
        let (at, end) = (self.now + delay, self.end());
        if at > end { Err(Error::Over { at, end }) } else { Ok(at) }
    }

    /// Goes on to the next moment at which something happens, `until` at the latest. Returns whether there was one.
    fn go_on(&mut self, until: Time) -> Result<bool, Error> {
        if until < self.now {
            return Err(Error::Backward { until, now: self.now });
        }
        let until = until.min(self.end());
        let timer = self.timers.next();
        let stop = until.min(timer);
        let before = self.events.len();
        each!(&mut self.engine, session => session.advance_until_event(stop));
        self.now = each!(&mut self.engine, session => session.now()).min(stop);
        self.collect();
        if self.events.len() == before && timer <= until && self.now == timer {
            // One by one: what it leads to may take the next one back.
            self.events.extend(self.timers.pop());
        }
        Ok(self.events.len() > before || self.now < until)
    }

    /// Takes what has happened to messages.
    fn collect(&mut self) {
        let first = self.events.len();
        for Delivery { at, host: _, what } in each!(&mut self.engine, session => session.drain_deliveries()) {
            let (flow, closed) = match what {
                Delivered::Message(flow) => (flow, None),
                Delivered::Closed(closed) => (closed.flow, Some(closed)),
                Delivered::Packet(_) => continue,
            };
            let Some(number) = flow.0.checked_sub(self.first.0) else { continue };
            let (id, kept) = (MessageId(number), &mut self.messages[number as usize]);
            let kind = match closed {
                None if kept.failed => continue,
                None => {
                    kept.delivered = at;
                    self.totals.delivered += 1;
                    self.totals.delivered_bytes += kept.size;
                    EventKind::Delivered(id)
                }
                Some(Closed { gave_up, record, .. }) => {
                    (kept.closed, kept.record) = (at, record as u32);
                    kept.failed = gave_up;
                    self.totals.sent += u64::from(!gave_up);
                    self.totals.failed += u64::from(gave_up);
                    if gave_up { EventKind::Failed(id) } else { EventKind::Sent(id) }
                }
            };
            // A sender that gave up may be noticed a moment later.
            let at = if kept.failed { self.now } else { at };
            self.events.push_back(Event { at, kind, tag: kept.tag });
        }
        debug_assert!(self.events.iter().skip(first).all(|event| event.at == self.now));
    }
}

#[cfg(test)]
mod tests;
