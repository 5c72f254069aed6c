//! A run that goes on step by step, with messages and packets from outside.
//!
//! Time is advanced by [`Session::advance_until`], to any moment, inside a window or not: windows are cut where somebody wants to
//! look, and shorter windows change nothing. Between two steps messages and packets are injected and deliveries are taken. A flow
//! that is injected before its start goes exactly as if it had been part of the traffic from the beginning, and the run
//! leaves the same bytes however it is cut.
//!
//! Four things stand on this:
//!
//! - **An interactive run** advances as far as it wants to show, in slices: [`advance_until`](Session::advance_until) the next
//!   picture, or [`run`](Session::run) until its `progress` says that the slice is over, then again.
//! - **A program under test** lives in virtual time. It injects what it sends, sleeps by
//!   [`advance_until_delivery`](Session::advance_until_delivery) of its next timer, and takes what has arrived for it.
//! - **A live host** is an [external](External) one: its frames are injected as packets when they come, and what arrives for it is
//!   handed out with the time at which it has to be let go.
//! - **An embedding program** has loops of its own. It asks [`next_due`](Session::next_due) and interleaves them.
//!
//! It does not wait for a clock: who wants a second to last a second has to wait between the steps.

mod deliveries;
mod events;
mod latencies;
mod watched;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use narrows_proto::units::{Bytes, Span, Time};

use self::watched::{Events, Milestone, Pending};
use super::build::{self, LaidOut};
use super::execution::{Execution, OnProgress, Stop};
use super::look_ahead::{LookAhead, first_drained};
use super::outcome::Outcome;
use super::parallel::{self, Meeting};
use super::shard::{self, Shard};
pub use crate::host::Injected;
use crate::host::WholePacket;
use crate::ids::{FlowId, GroupId, HostId};
use crate::mechanism::registry::SwitchMechanisms;
use crate::network::Network;
use crate::observe::{Observer, PacketRef};
use crate::traffic::{FlowSpec, Traffic};
use crate::world::{NO_SLOT, Reception, Shared, Windows};

/// The part of a run that is outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// Hosts whose packets come from outside. What arrives for them is handed out; their network cards work as those of others do,
    /// with PAUSE and priority-based flow control. No flow of the traffic starts there.
    pub hosts: Vec<HostId>,
    /// Size on the wire of the smallest packet that they send. Small ones make the windows short.
    pub smallest_packet: Bytes,
    /// They are machines, which take the time to begin a burst themselves ([`RealHosts::processing`](crate::RealHosts::processing)).
    pub are_machines: bool,
}

/// Something that has arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// When its last bit did.
    pub at: Time,
    /// Where.
    pub host: HostId,
    /// The message or packet.
    pub what: Delivered,
}

/// A message or packet that has arrived.
#[derive(Clone, Debug)]
pub enum Delivered {
    /// All of a flow.
    Message(FlowId),
    /// The source of a flow is done with it, if that is [watched](Session::watch). The host is that of the source.
    Closed(Closed),
    /// A packet for an external host.
    Packet(ReceivedPacket),
}

/// The end of a flow at its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The flow.
    pub flow: FlowId,
    /// Its sender has given up; otherwise it knows that all has arrived.
    pub gave_up: bool,
    /// Number of its record, see [`Session::closed`].
    pub record: usize,
}

/// A packet that has left the network.
#[derive(Clone, Debug)]
pub struct ReceivedPacket(WholePacket);

impl ReceivedPacket {
    /// The packet as observers see it.
    pub fn as_seen(&self) -> PacketRef<'_> {
        PacketRef::new(self.0.parcel())
    }
}

/// A run that goes on step by step.
///
/// # Examples
/// A server answers each request of 1 kB with 10 kB, after 5 µs. How long does a client wait that asks three times in a row?
/// ```
/// use narrows_proto::cc::Config;
/// use narrows_proto::stream::Params;
/// use narrows_proto::units::{BitRate, Bytes, Span, Time};
/// use narrows_sim::switch::{Buffer, Sharing, SwitchConfig};
/// use narrows_sim::topology::{NodeKind, Star, Topology};
/// use narrows_sim::traffic::{Group, Traffic, Transport};
/// use narrows_sim::{Execution, External, GroupId, HostId, Hosts, Network, Routing, Session};
///
/// let mut topology = Topology::default();
/// Star { hosts: 2, rate: BitRate::from_gbps(10), delay: Span::from_us(1) }.build(&mut topology, "");
/// let switch = SwitchConfig::new(Buffer { size: Bytes::new(1_000_000), sharing: Sharing::Complete });
/// let switches = topology.nodes().iter().map(|node| match node.kind {
///     NodeKind::Host(_) => None,
///     NodeKind::Switch { .. } => Some(switch.clone()),
/// });
/// let switches = switches.collect();
/// let network = Network { topology, switches, routing: Routing::Ecmp, failures: vec![], reaction: None, hosts: Hosts::Ideal, ..Network::default() };
/// let transport = Transport::Stream { params: Params { handshake: false, ..Params::default() }, cc: Config::Reno(Default::default()) };
/// let groups = vec![Group { name: "rpc".into(), transport, priority: 0, near_source: None }];
/// let traffic = Traffic { groups, ..Traffic::default() };
///
/// let (client, server, rpc) = (HostId(0), HostId(1), GroupId(0));
/// let mut session = Session::new(&network, &traffic, 1, Execution::default(), &External::default(), || ());
/// let far = Time::ZERO + Span::from_secs(1);
/// for _ in 0..3 {
///     session.inject(rpc, client, server, Bytes::new(1_000), session.now());
///     session.advance_until_delivery(far);
///     session.inject(rpc, server, client, Bytes::new(10_000), session.now() + Span::from_us(5));
///     session.advance_until_delivery(far);
/// }
/// assert_eq!(session.take_deliveries().len(), 6);
/// assert_eq!(session.now().to_string(), "61.579204 us");
/// ```
#[derive(Debug)]
pub struct Session<O> {
    pub(super) shards: Vec<Shard<O>>,
    pub(super) meeting: Meeting,
    pub(super) links: usize,
    /// By host: its thread, and its number there.
    places: Vec<(u32, u32)>,
    /// The first moment that has not happened.
    now: Time,
    /// It was not interrupted.
    pub(super) complete: bool,
    /// By group: what switches keep with its flows at first. Empty if they keep nothing.
    at_switches: Vec<u32>,
    external: Vec<HostId>,
    /// The smallest and the largest packet that windows and queues are made for.
    sizes: [Bytes; 2],
    /// Milestones that flows from outside have yet to reach.
    pending: Pending,
    /// By host: number of them that it will receive. Nobody asks in a session that is watched.
    receivers: BTreeMap<HostId, u32>,
    /// By thread: completed flows that have been delivered.
    delivered: Vec<usize>,
    deliveries: Vec<Delivery>,
    /// Deliveries that somebody outside may wait for.
    awaited: u64,
    /// Flows from outside whose progress is watched.
    events: Option<Box<Events>>,
}

impl<O: Observer> Session<O> {
    /// Lays out `network` and `traffic`. `observer` is called once for each thread.
    ///
    /// # Panics
    /// If the network has no links, a host has none or several, something of the traffic starts at an external host, or settings
    /// contradict each other; a checked plan never does.
    pub fn new(
        network: &Network,
        traffic: &Traffic,
        seed: u64,
        execution: Execution,
        external: &External,
        mut observer: impl FnMut() -> O,
    ) -> Self {
        Self::lay_out(network, traffic, seed, execution, external, &mut observer)
    }

    pub(super) fn lay_out(
        network: &Network,
        traffic: &Traffic,
        seed: u64,
        execution: Execution,
        external: &External,
        observer: &mut dyn FnMut() -> O,
    ) -> Self {
        let smallest = (!external.hosts.is_empty()).then_some(external.smallest_packet);
        let look_ahead = LookAhead::new(network, traffic, smallest, execution.window_divisor);
        let threads = execution.threads.max(1);
        let LaidOut { shards, hosts: places, distances } =
            build::shards(network, traffic, seed, threads, &look_ahead, observer);
        let windows = look_ahead.windows();
        let moments = [traffic.measured.start, traffic.measured.end].map(|moment| windows.of(moment));
        let largest = traffic.groups.iter().map(|group| group.largest_packet()).max();
        let mut session = Self {
            shards,
            meeting: Meeting::new(threads, distances, first_drained(network, traffic, windows), moments),
            links: network.topology.links().len(),
            places,
            now: Time::ZERO,
            complete: true,
            at_switches: SwitchMechanisms::of_groups(network, &traffic.groups),
            external: external.hosts.clone(),
            sizes: [external.smallest_packet, largest.unwrap_or_default()],
            pending: Pending::default(),
            receivers: BTreeMap::new(),
            delivered: vec![0; threads],
            deliveries: Vec::new(),
            awaited: 0,
            events: None,
        };
        for host in &external.hosts {
            let (shard, node) = session.place(*host);
            session.shards[shard].host_mut(node).0.leave(external.are_machines);
        }
        session
    }

    /// The first moment that has not happened yet. What is injected happens then or later.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Nothing happens before this moment unless something is injected; never, if nothing is due.
    pub fn next_due(&mut self) -> Time {
        match self.next_window() {
            None => Time::NEVER,
            Some(0) => self.now,
            Some(window) => self.windows().end(window - 1).max(self.now),
        }
    }

    /// Every flow is complete, and nothing inside will start another.
    pub fn is_drained(&self) -> bool {
        self.shards.iter().map(|shard| shard.world.log.outstanding).sum::<u64>() == 0
    }

    /// The observers of all threads.
    pub fn observers(&self) -> impl Iterator<Item = &O> {
        self.shards.iter().map(|shard| &shard.world.observer)
    }

    /// The same, to take what they have noted.
    pub fn observers_mut(&mut self) -> impl Iterator<Item = &mut O> {
        self.shards.iter_mut().map(|shard| &mut shard.world.observer)
    }

    /// Does everything that is due up to and including `at`. Does nothing if that is over.
    pub fn advance_until(&mut self, at: Time) {
        self.run(Stop { at, when_drained: false }, &mut |_| ControlFlow::Continue(()));
    }

    /// Runs until `stop`, from where it stands. `progress` is called every now and then and may interrupt the run, which can go on
    /// later. False if it did.
    pub fn run(&mut self, stop: Stop, progress: &mut dyn OnProgress) -> bool {
        if stop.at < self.now {
            return true;
        }
        if let Some(events) = &mut self.events {
            events.keep_up();
        }
        let over = last_before(self.now);
        let (over, complete) = parallel::run(&mut self.shards, &mut self.meeting, over, stop, progress);
        self.now = over + Span::from_ps(1);
        self.complete = complete;
        self.collect();
        complete
    }

    /// Hands a message of `size` for host `to` to the transport of `group` at host `from`, at the time `at`. It is a flow, and
    /// delivered when all of it has arrived.
    ///
    /// # Panics
    /// If `at` is over, or `from` is an external host.
    pub fn inject(&mut self, group: GroupId, from: HostId, to: HostId, size: Bytes, at: Time) -> FlowId {
        let flow = self.add(FlowSpec { from, to, group, start: Time::NEVER, size });
        self.start(flow, at);
        flow
    }

    /// Starts a flow at `at`: one of the traffic that has no start, and that neither a generator nor another flow starts.
    ///
    /// # Panics
    /// If `at` is over, the flow has a start, or its source is an external host.
    pub fn start(&mut self, flow: FlowId, at: Time) {
        assert!(self.now <= at && at < Time::NEVER, "a flow was to start at {at}, now is {}", self.now);
        let spec = &mut self.shared().flows[flow.index()];
        assert!(spec.start == Time::NEVER, "flow {} has a start already, {}", flow.0, spec.start);
        spec.start = at;
        let (from, to) = (spec.from, spec.to);
        assert!(!self.external.contains(&from), "flow {} starts at an external host", flow.0);
        self.share();
        self.pending.add(flow, Milestone::Received);
        if self.events.is_none() {
            *self.receivers.entry(to).or_default() += 1;
        }
        let (shard, node) = self.place(from);
        let shard = &mut self.shards[shard];
        let (host, world) = shard.host_mut(node);
        host.schedule(flow, world);
        world.log.outstanding += 1;
        world.calendar.schedule(node, at);
        self.expect(flow, at);
    }

    /// Makes a flow for packets of external hosts.
    pub fn open(&mut self, group: GroupId, from: HostId, to: HostId) -> FlowId {
        self.add(FlowSpec { from, to, group, start: Time::NEVER, size: Bytes::ZERO })
    }

    /// Hands a packet of `flow` to the network card of the external host that it comes from, at the time `at`. It is sent when the
    /// packets before it have been, in order of time.
    ///
    /// # Panics
    /// If `at` is over, the host is not external, the group of the flow has another transport, or the packet is smaller than
    /// [`External::smallest_packet`] or larger than any of the traffic.
    pub fn send(&mut self, flow: FlowId, packet: &Injected, at: Time) {
        assert!(self.now <= at && at < Time::NEVER, "a packet was to be sent at {at}, now is {}", self.now);
        let shared = &self.shards[0].world.shared;
        let spec = shared.flows[flow.index()];
        let (from, to) = if packet.goes_back() { (spec.to, spec.from) } else { (spec.from, spec.to) };
        assert!(self.external.contains(&from), "host {} is not external", from.0);
        let whole = packet.packet(flow, to, &shared.groups[spec.group.index()]);
        let ([smallest, largest], size) = (self.sizes, Bytes::new(whole.packet.size().into()));
        assert!(smallest <= size && size <= largest, "a packet of {size}, not {smallest} to {largest}");
        let (shard, node) = self.place(from);
        let (host, world) = self.shards[shard].host_mut(node);
        host.send_later(at, whole);
        world.calendar.schedule(node, at);
    }

    /// Time for which the link of an external host will be busy with what its network card has, PAUSE frames included.
    pub fn backlog(&mut self, host: HostId) -> Span {
        let (now, (shard, node)) = (self.now, self.place(host));
        self.shards[shard].host_mut(node).0.backlog(now)
    }

    /// Ends the run now.
    pub fn finish(mut self) -> Outcome<O> {
        self.catch_up();
        let ended = last_before(self.now);
        shard::finish(self.shards, self.links, ended, self.complete)
    }

    /// Runs until `stop` and ends.
    pub(super) fn complete(mut self, stop: Stop, progress: &mut dyn OnProgress) -> Outcome<O> {
        self.run(stop, progress);
        self.finish()
    }

    /// Adds a flow that does not start by itself.
    fn add(&mut self, spec: FlowSpec) -> FlowId {
        let flows = &mut self.shared().flows;
        let flow = FlowId::from(flows.len());
        flows.push(spec);
        self.share();
        for shard in &mut self.shards {
            let table = &mut shard.world.flows;
            table.senders.push(NO_SLOT);
            table.receivers.push(Reception::None);
            table.at_switch.extend(self.at_switches.get(spec.group.index()));
        }
        flow
    }

    /// State that all threads read. Until it is [shared](Self::share) again only the first has it.
    fn shared(&mut self) -> &mut Shared {
        let (first, others) = self.shards.split_first_mut().expect("there is a thread");
        for other in others {
            other.world.shared = Arc::default();
        }
        Arc::get_mut(&mut first.world.shared).expect("only threads keep it")
    }

    fn share(&mut self) {
        let (first, others) = self.shards.split_first_mut().expect("there is a thread");
        for other in others {
            other.world.shared = Arc::clone(&first.world.shared);
        }
    }

    fn place(&self, host: HostId) -> (usize, u32) {
        let (shard, node) = self.places[host.index()];
        (shard as usize, node)
    }

    fn windows(&self) -> Windows {
        self.shards[0].world.calendar.windows()
    }

    /// The next window in which anything is due.
    fn next_window(&mut self) -> Option<u64> {
        self.shards.iter_mut().filter_map(|shard| shard.world.calendar.next_window()).min()
    }
}

/// The last moment before `moment`.
fn last_before(moment: Time) -> Time {
    Time::from_ps(moment.as_ps().saturating_sub(1))
}
