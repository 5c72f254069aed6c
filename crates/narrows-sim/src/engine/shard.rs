use narrows_proto::units::{Span, Time};

use super::changes::Changes;
use super::measured::Measured;
use super::outcome::{Outcome, enter_completions, merge_datagrams};
use crate::followers::Report;
use crate::host::Host;
use crate::mechanism::Records;
use crate::observe::{Observer, Reviewed};
use crate::packet::Packet;
use crate::prefetch::prefetch_lines;
use crate::record::{PortCounters, Sampled};
use crate::switch::Switch;
use crate::world::World;

/// With no more nodes than this their state stays in the cache, and to prefetch it costs more than it saves (decision 0001).
const MOST_IN_CACHE: usize = 1000;

/// The nodes of one thread and what they share.
#[derive(Debug)]
pub(super) struct Shard<O> {
    pub(super) nodes: Vec<Node>,
    pub(super) world: World<O>,
    /// Scratch: the nodes due in one window.
    pub(super) due: Vec<u32>,
    pub(super) measured: Measured,
    /// None if no route ever changes.
    pub(super) routes: Option<Changes>,
}

#[derive(Debug)]
pub(super) enum Node {
    Host(Box<Host>),
    Switch(Box<Switch>),
}

impl Node {
    #[inline]
    fn advance<O: Observer>(&mut self, until: Time, world: &mut World<O>) -> Time {
        match self {
            Self::Host(host) => host.advance(until, world),
            Self::Switch(switch) => switch.advance(until, world),
        }
    }
}

impl<O: Observer> Shard<O> {
    /// Everything before `window` has happened.
    pub(super) fn reach(&mut self, window: u64) {
        let World { calendar, wires, shared, .. } = &self.world;
        self.measured.reach(window, calendar.windows(), wires, shared);
    }

    /// Lets every node due in `window` do what is due before `end`.
    pub(super) fn run_window(&mut self, window: u64, end: Time) {
        self.reach(window);
        if self.routes.as_ref().is_some_and(|routes| routes.due() < end) {
            self.edit_routes(end);
        }
        let mut due = std::mem::take(&mut self.due);
        self.world.calendar.take(window, &mut due);
        let prefetches = self.prefetches();
        for (place, &node) in due.iter().enumerate() {
            if prefetches {
                self.prefetch(&due[place..], end);
            }
            let next = self.nodes[node as usize].advance(end, &mut self.world);
            if next < Time::NEVER {
                self.world.calendar.schedule(node, next);
            }
        }
        self.due = due;
        let own = self.world.shard as usize;
        if !self.world.outboxes[own].reports.is_empty() {
            let mut reports = std::mem::take(&mut self.world.outboxes[own]).reports;
            self.receive_reports(&mut reports);
        }
        if O::ACTIVE && self.world.observer.wants_review() {
            self.review(end);
        }
        self.world.observer.window_over(end);
    }

    /// Tells switches of the changes of their routes before `end`.
    #[cold]
    fn edit_routes(&mut self, end: Time) {
        let Some(routes) = &mut self.routes else { return };
        for node in &mut self.nodes {
            // All that they were notified of before lies in the past.
            if let Node::Switch(switch) = node {
                switch.edit_routes(Time::NEVER);
            }
        }
        while routes.due() < end {
            routes.step(|number, at, row| {
                if let Some(Node::Switch(switch)) = self.nodes.get_mut(number) {
                    switch.edit_route(at, row);
                }
            });
        }
    }

    /// The host of this number, and what it stands on.
    pub(super) fn host_mut(&mut self, number: u32) -> (&mut Host, &mut World<O>) {
        match &mut self.nodes[number as usize] {
            Node::Host(host) => (host, &mut self.world),
            Node::Switch(_) => unreachable!("the number of a host leads to a host"),
        }
    }

    /// Shows the observer all ports and flows of this thread. Nothing else changes.
    #[cold]
    pub(super) fn review(&mut self, until: Time) {
        let now = Time::from_ps(until.as_ps() - 1);
        self.world.observer.review(Reviewed::Begin);
        for node in &mut self.nodes {
            match node {
                Node::Host(host) => host.review(&mut self.world),
                Node::Switch(switch) => switch.review(now, &mut self.world),
            }
        }
        let World { wires, lines, observer, .. } = &mut self.world;
        for line in lines {
            observer.review(Reviewed::Port(line.egress.link, &line.counters));
        }
        for impairment in wires.impairments.iter().flatten() {
            observer.review(Reviewed::Port(impairment.link, &impairment.lost));
        }
        observer.reviewed(until);
    }

    /// Takes over reports for hosts of this thread.
    pub(super) fn receive_reports(&mut self, reports: &mut Vec<Report>) {
        for Report { node, at, dependent } in reports.drain(..) {
            if let Node::Host(host) = &mut self.nodes[node as usize] {
                host.receive_report(at, dependent);
                self.world.calendar.schedule(node, at);
            }
        }
    }

    /// Prefetches what the nodes after the first of `due` will need: what leads to it first, so that no request waits for
    /// another.
    #[inline]
    fn prefetch(&self, due: &[u32], until: Time) {
        let node = |ahead: usize| due.get(ahead).map(|node| &self.nodes[*node as usize]);
        match node(6) {
            Some(Node::Host(host)) => prefetch_lines(&**host),
            Some(Node::Switch(switch)) => prefetch_lines(&**switch),
            None => {}
        }
        match node(4) {
            Some(Node::Host(host)) => host.prefetch_state(&self.world),
            Some(Node::Switch(switch)) => switch.prefetch_state(&self.world),
            None => {}
        }
        match node(2) {
            Some(Node::Host(host)) => host.prefetch_packets(&self.world),
            Some(Node::Switch(switch)) => switch.prefetch_packets(until, &self.world),
            None => {}
        }
        if let Some(Node::Host(host)) = node(1) {
            host.prefetch_flow(&self.world);
        }
    }

    /// Its state does not stay in the cache.
    pub(super) fn prefetches(&self) -> bool {
        self.nodes.len() > MOST_IN_CACHE || self.world.crowded
    }

    /// Prefetches a node.
    pub(super) fn prefetch_node(&self, node: u32) {
        match &self.nodes[node as usize] {
            Node::Host(host) => prefetch_lines(&**host),
            Node::Switch(switch) => prefetch_lines(&**switch),
        }
    }

    /// Prefetches the packets that arrive at a host, which is in the cache, and where a flow would start.
    pub(super) fn prefetch_packets_of(&self, node: u32) {
        if let Node::Host(host) = &self.nodes[node as usize] {
            host.prefetch_state(&self.world);
            host.prefetch_packets(&self.world);
            host.prefetch_flow(&self.world);
            host.prefetch_start();
        }
    }

    /// Adds what this thread saw to the outcome.
    pub(super) fn finish(&mut self, ended: Time, outcome: &mut Outcome<O>) {
        let world = &mut self.world;
        for node in &mut self.nodes {
            match node {
                Node::Host(host) => {
                    if let Some((link, counters)) = host.finish(ended, world) {
                        outcome.ports[link.index()].add(&counters);
                    }
                }
                Node::Switch(switch) => switch.finish(ended, world, |link, counters| match link {
                    Some(link) => outcome.ports[link.index()].add(counters),
                    None => outcome.no_route.add(counters),
                }),
            }
        }
        for impairment in world.wires.impairments.iter().flatten() {
            outcome.ports[impairment.link.index()].add(&impairment.lost);
        }
        for line in &world.lines {
            outcome.ports[line.egress.link.index()].add(&line.counters);
        }
        let measured = self.measured.finish(ended + Span::from_ps(1), &world.wires, &world.shared);
        for (wire, measured) in world.wires.wires.iter().zip(measured) {
            let counters = &mut outcome.ports[wire.link.index()];
            let Some(flight) = world.shared.flights[wire.link.index()] else {
                // The line has counted what began to be sent, and that is all there is.
                outcome.packets_left += wire.ring.iter().count() as u64;
                continue;
            };
            let begun = |packet: &&Packet| packet.at() <= ended + flight.of(packet.size());
            // Plain ports put packets on the link while they wait.
            let waiting = wire.ring.iter().filter(|packet| !begun(packet));
            counters.packets += wire.packets - waiting.clone().count() as u64;
            counters.bytes += wire.bytes - waiting.map(|packet| u64::from(packet.size())).sum::<u64>();
            counters.measured_bytes += measured.get();
            outcome.packets_left += wire.ring.iter().filter(begun).count() as u64;
        }
        outcome.packet_hops += world.hops;
        if outcome.flows.is_empty() {
            outcome.flows = std::mem::take(&mut world.log.senders);
        } else {
            outcome.flows.append(&mut world.log.senders);
        }
        outcome.datagrams.append(&mut world.log.datagrams);
        outcome.mechanisms.add(&world.log.mechanisms);
        outcome.sampled.merge(&world.log.sampled);
        outcome.iterations.append(&mut world.log.iterations);
        debug_assert!(world.outboxes.iter().all(|outbox| outbox.head == Time::NEVER));
    }
}

/// Outcome of shards whose last moment was `ended`.
pub(super) fn finish<O: Observer>(
    shards: Vec<Shard<O>>,
    links: usize,
    ended: Time,
    complete: bool,
) -> Outcome<O> {
    let mut outcome = Outcome {
        flows: Vec::new(),
        datagrams: Vec::new(),
        mechanisms: Records::default(),
        sampled: Sampled::default(),
        iterations: Vec::new(),
        ports: vec![PortCounters::default(); links],
        no_route: PortCounters::default(),
        observers: Vec::new(),
        packet_hops: 0,
        ended,
        complete,
        packets_left: 0,
    };
    let mut completions = Vec::new();
    for mut shard in shards {
        if O::ACTIVE {
            shard.review(ended + Span::from_ps(1));
        }
        shard.finish(ended, &mut outcome);
        completions.append(&mut shard.world.log.completions);
        outcome.observers.push(shard.world.observer);
    }
    outcome.flows.sort_unstable_by_key(|flow| (flow.flow, flow.incarnation));
    outcome.iterations.sort_unstable();
    outcome.datagrams = merge_datagrams(outcome.datagrams);
    enter_completions(&mut outcome.flows, completions);
    if cfg!(debug_assertions) {
        outcome.check_balance();
    }
    outcome
}
