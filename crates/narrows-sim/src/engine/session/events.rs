//! Stops at the very moments at which messages from outside arrive, or are known to have arrived, without cutting windows there.
//!
//! Nodes do not affect each other inside a window, and what arrives in a window is on its way when that begins. So it can be seen
//! beforehand in which window, and when, a message may arrive. A window in which none may is run as a whole. In one in which some may, only
//! the host where that is comes so far; all others follow when the window is over, or when somebody looks. Meanwhile messages can be
//! injected anywhere: no host has come further than to now.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use narrows_proto::units::{Span, Time};

use super::Session;
use super::deliveries::sort;
use super::latencies::Latencies;
use super::watched::{Bound, Events, Milestone};
use crate::host::Host;
use crate::ids::{FlowId, HostId};
use crate::network::Network;
use crate::observe::Observer;
use crate::record::FlowRecord;
use crate::traffic::FlowSpec;
use crate::world::World;

impl<O: Observer> Session<O> {
    /// From now on [`advance_until_event`](Self::advance_until_event) can be called. With `closings` it stops as well when the source of
    /// a flow is done with it. The network is that of the session.
    ///
    /// # Panics
    /// If the session has several threads, or flows were injected before.
    pub fn watch(&mut self, network: &Network, closings: bool) {
        assert!(self.shards.len() == 1, "one thread is watched, not {}", self.shards.len());
        let under_way = self.pending.count();
        assert!(under_way == 0, "{under_way} flows are under way");
        self.events =
            Some(Box::new(Events { closings, latencies: Latencies::new(network), ..Events::default() }));
        let world = &mut self.shards[0].world;
        world.log.noted_from = closings.then(|| FlowId::from(world.shared.flows.len()));
    }

    /// Goes on to the first moment at which a flow that was injected or started from outside has arrived, or its source is done with it if
    /// that is watched, `at` at the latest. Returns whether there was one. Now is that moment: what happens then at other hosts, and what
    /// would come later, has not happened, and more can be injected at that very moment. That a sender has given up may be noticed
    /// somewhat later.
    ///
    /// # Panics
    /// If the session is not [watched](Self::watch).
    pub fn advance_until_event(&mut self, at: Time) -> bool {
        let before = self.awaited;
        let windows = self.windows();
        while let Some(window) = self.next_window() {
            let (end, first) = (windows.end(window), self.watched().first());
            if first.min(end) > at {
                break;
            }
            if first < end {
                self.shards[0].reach(window);
                self.look(first, end);
                if self.awaited > before {
                    sort(&mut self.deliveries);
                    self.now = self.now.max(first);
                    self.watched().lags = true;
                    return true;
                }
                continue;
            }
            self.shards[0].run_window(window, end);
            self.now = self.now.max(end);
            if !self.shards[0].world.log.closings.is_empty() {
                self.collect();
                return true;
            }
        }
        self.now = self.now.max(at);
        self.watched().lags = true;
        false
    }

    /// The record of a flow whose source is done with it.
    pub fn closed(&self, record: usize) -> &FlowRecord {
        &self.shards[0].world.log.senders[record]
    }

    /// A flow.
    pub fn spec(&self, flow: FlowId) -> FlowSpec {
        self.shards[0].world.shared.flows[flow.index()]
    }

    /// The record of a flow that is under way, as it is now.
    pub fn record_of(&mut self, flow: FlowId) -> Option<FlowRecord> {
        let from = self.shards[0].world.shared.flows[flow.index()].from;
        let (shard, node) = self.place(from);
        let (host, world) = self.shards[shard].host_mut(node);
        host.record_of(flow, world)
    }

    /// Packets that have arrived at some node so far.
    pub fn packet_hops(&self) -> u64 {
        self.shards.iter().map(|shard| shard.world.hops).sum()
    }

    /// A flow starts at `start`. It does not arrive before its last packet has crossed the network, and all others the last link.
    pub(super) fn expect(&mut self, flow: FlowId, start: Time) {
        let spec = self.shards[0].world.shared.flows[flow.index()];
        let node = self.place(spec.to).1;
        let Some(events) = &mut self.events else { return };
        let arrives = start + events.latencies.between(spec.from, spec.to);
        let (host, world) = self.shards[0].host_mut(node);
        let bound = host.all_after(spec.size.get(), &spec, arrives, world);
        let bound = Bound { at: bound, flow, milestone: Milestone::Received, arrives: false };
        events.bounds.push(Reverse(bound));
    }

    /// All nodes come as far as to now.
    pub(super) fn catch_up(&mut self) {
        if self.events.as_ref().is_some_and(|events| events.lags) {
            self.advance_until(self.now);
        }
    }

    /// Looks at what may happen at `first`, in the window that ends at `end`.
    fn look(&mut self, first: Time, end: Time) {
        let prefetches = self.shards[0].prefetches();
        while let Some(&Reverse(bound)) = self.watched().bounds.peek()
            && bound.at <= first
        {
            if prefetches {
                self.prefetch();
            }
            let next = self.next_bound(bound, first, end);
            // Still on top: what has been pushed meanwhile comes later.
            let mut top = self.watched().bounds.peek_mut().expect("it is there");
            debug_assert_eq!(top.0, bound);
            match next {
                Some(at) => top.0 = Bound { at, arrives: at < end, ..bound },
                None => drop(PeekMut::pop(top)),
            }
        }
    }

    /// Prefetches where it will be looked after the first bound. The next one is among the two below it in the heap, and those below them follow.
    fn prefetch(&self) {
        let Some(events) = &self.events else { return };
        let shard = &self.shards[0];
        let bounds = events.bounds.as_slice();
        let hosts = |from: usize, to: usize| {
            let ahead = bounds.get(from..bounds.len().min(to)).unwrap_or_default();
            ahead.iter().map(|Reverse(bound)| self.place(self.host_of(*bound)).1)
        };
        for node in hosts(1, 3) {
            shard.prefetch_packets_of(node);
        }
        for node in hosts(3, 7) {
            shard.prefetch_node(node);
        }
    }

    /// Where a flow reaches a milestone.
    fn host_of(&self, bound: Bound) -> HostId {
        let spec = &self.shards[0].world.shared.flows[bound.flow.index()];
        match bound.milestone {
            Milestone::Received => spec.to,
            Milestone::Closed => spec.from,
        }
    }

    /// The next bound after `bound`, whose time has come, when all that happens at `first` has happened at that host; none if the
    /// milestone is reached.
    fn next_bound(&mut self, bound: Bound, first: Time, end: Time) -> Option<Time> {
        let Bound { flow, milestone, .. } = bound;
        if !self.pending.has(flow, milestone) {
            return None;
        }
        let node = self.place(self.host_of(bound)).1;
        let (host, world) = self.shards[0].host_mut(node);
        if !bound.arrives {
            let next = host.may_reach(flow, milestone, end, world);
            if next > first {
                return Some(next);
            }
        }
        host.advance(first + Span::from_ps(1), world);
        self.collect();
        if !self.pending.has(flow, milestone) {
            return None;
        }
        let (host, world) = self.shards[0].host_mut(node);
        let next = host.may_reach(flow, milestone, end, world);
        debug_assert!(next > first, "flow {} may end at {next} after {first}", flow.0);
        Some(next)
    }

    fn watched(&mut self) -> &mut Events {
        self.events.as_mut().expect("the session is watched")
    }
}

impl Host {
    /// A flow does not reach a milestone before this.
    fn may_reach<O>(&mut self, flow: FlowId, milestone: Milestone, end: Time, world: &World<O>) -> Time {
        match milestone {
            Milestone::Received => self.may_receive(flow, end, world),
            Milestone::Closed => self.may_close(flow, end, world),
        }
    }
}
