//! Deliveries of a session to those outside, and when they come.

use std::collections::BTreeMap;
use std::vec::Drain;

use narrows_proto::units::Time;

use super::watched::Milestone;
use super::{Closed, Delivered, Delivery, ReceivedPacket, Session, last_before};
use crate::ids::HostId;
use crate::observe::Observer;
use crate::world::Closing;

/// One flow less will arrive at a host.
fn leave(receivers: &mut BTreeMap<HostId, u32>, host: HostId) {
    if let Some(flows) = receivers.get_mut(&host) {
        *flows -= 1;
        if *flows == 0 {
            receivers.remove(&host);
        }
    }
}

/// In order of time, then of hosts.
pub(super) fn sort(deliveries: &mut [Delivery]) {
    if deliveries.len() > 1 {
        deliveries.sort_by_key(|delivery| (delivery.at, delivery.host));
    }
}

impl<O: Observer> Session<O> {
    /// Does everything up to and including the first moment at which somebody outside receives something, `at` at the latest: all
    /// of a flow that was injected or started from there, or a packet for an external host.
    ///
    /// To stop there it stops at every packet that arrives at a host where that may happen, so it is slower than
    /// [`advance_until`](Self::advance_until).
    ///
    /// # Panics
    /// If the session is [watched](Self::watch).
    pub fn advance_until_delivery(&mut self, at: Time) {
        assert!(self.events.is_none(), "the session is watched");
        let before = self.awaited;
        while self.awaited == before && self.now <= at {
            self.run_quiet(at);
            let quiet = self.quiet_until();
            self.advance_until(at.min(quiet));
        }
    }

    /// Nobody outside receives anything before this moment, unless something is injected; never, if nothing is due.
    pub fn quiet_until(&mut self) -> Time {
        // What arrives in the next window is on its way when that begins.
        let windows = self.windows();
        let over = self.next_window().map_or(Time::NEVER, |window| last_before(windows.end(window)));
        self.next_arrival().min(over)
    }

    /// Deliveries since the last call: all of a flow, whoever started it, and packets for external hosts. In order of time,
    /// then of hosts.
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.deliveries)
    }

    /// The same, one by one, without an allocation.
    pub fn drain_deliveries(&mut self) -> Drain<'_, Delivery> {
        self.deliveries.drain(..)
    }

    /// Runs windows that end by `at` and in which nobody outside receives anything. On one thread that takes no meeting for each of them.
    fn run_quiet(&mut self, at: Time) {
        if self.shards.len() > 1 {
            return;
        }
        let windows = self.windows();
        while let Some(window) = self.next_window() {
            let end = windows.end(window);
            if end > at || self.next_arrival() < end {
                return;
            }
            self.shards[0].run_window(window, end.max(self.now));
            self.now = end.max(self.now);
        }
    }

    /// Looks for what has arrived.
    pub(super) fn collect(&mut self) {
        let first_new = self.deliveries.len();
        for (shard, delivered) in self.shards.iter().zip(&mut self.delivered) {
            for &(flow, at) in &shard.world.log.completions[*delivered..] {
                let spec = &shard.world.shared.flows[flow.index()];
                let host = spec.to;
                if self.pending.remove(flow, Milestone::Received) {
                    self.awaited += 1;
                    match &mut self.events {
                        None => leave(&mut self.receivers, host),
                        Some(events) => events.on_received(flow, at, spec, &mut self.pending),
                    }
                }
                self.deliveries.push(Delivery { at, host, what: Delivered::Message(flow) });
            }
            *delivered = shard.world.log.completions.len();
        }
        self.collect_closings();
        for index in 0..self.external.len() {
            let host = self.external[index];
            let (shard, node) = self.place(host);
            for whole in self.shards[shard].host_mut(node).0.take_arrived() {
                self.awaited += 1;
                let (at, what) = (whole.packet.at(), Delivered::Packet(ReceivedPacket(whole)));
                self.deliveries.push(Delivery { at, host, what });
            }
        }
        // Several at one host at the same time come in the order in which they arrived.
        sort(&mut self.deliveries[first_new..]);
    }

    /// Looks for flows that their sources are done with.
    fn collect_closings(&mut self) {
        let world = &mut self.shards[0].world;
        for Closing { at, flow, gave_up, record } in world.log.closings.drain(..) {
            self.pending.remove(flow, Milestone::Closed);
            self.awaited += 1;
            if gave_up {
                self.pending.remove(flow, Milestone::Received);
            }
            let host = world.shared.flows[flow.index()].from;
            let what = Delivered::Closed(Closed { flow, gave_up, record: record as usize });
            self.deliveries.push(Delivery { at, host, what });
        }
    }

    /// When the next packet, of those on their way, arrives where somebody outside may receive something.
    fn next_arrival(&mut self) -> Time {
        let Self { shards, places, external, receivers, .. } = self;
        let arrival = |host: &HostId| {
            let (shard, node) = places[host.index()];
            let (host, world) = shards[shard as usize].host_mut(node);
            host.next_arrival(world)
        };
        external.iter().chain(receivers.keys()).map(arrival).min().unwrap_or(Time::NEVER)
    }
}
