//! Reaction points in an edge switch: packets of limited flows wait where they enter the network.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{BitRate, Time};

use crate::ids::NodeId;
use crate::mechanism::congestion_point::is_limitable;
use crate::mechanism::limiter::{Limiters, Reaction};
use crate::observe::Observer;
use crate::packet::Packet;
use crate::record::ReactionRecord;
use crate::world::World;

/// The limiters of an edge switch.
#[derive(Debug)]
pub(crate) struct EdgeLimiters {
    node: NodeId,
    limiters: Limiters,
    /// By wire: what is known of the host at its other end, if there is one.
    hosts: Vec<Option<EdgeHost>>,
    /// When limiters are to be looked at. An entry counts only if `due` agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// By limiter.
    due: Vec<Time>,
    /// The first time of the agenda.
    next: Time,
    record: ReactionRecord,
}

/// A host at the other end of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeHost {
    /// The port that leads to it.
    pub(crate) port: u16,
    pub(crate) rate: BitRate,
}

/// What became of a packet.
pub(crate) enum Entry {
    /// It goes on as it is.
    Through,
    /// A limiter has it.
    Kept,
    /// Its limiter is full. It came from this port.
    Full(u16),
}

impl EdgeLimiters {
    /// `hosts` by wire.
    pub(crate) fn new(config: &Reaction, node: NodeId, seed: u64, hosts: Vec<Option<EdgeHost>>) -> Self {
        Self {
            node,
            limiters: Limiters::new(config, seed, node.0),
            hosts,
            agenda: BinaryHeap::new(),
            due: Vec::new(),
            next: Time::NEVER,
            record: ReactionRecord::default(),
        }
    }

    /// When a limiter is to be looked at next.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn record(&self) -> ReactionRecord {
        self.record
    }

    /// A packet came over wire number `from`.
    pub(crate) fn enter<O: Observer>(
        &mut self,
        now: Time,
        packet: Packet,
        from: u32,
        world: &mut World<O>,
    ) -> Entry {
        let host = self.hosts.get(from as usize).copied().flatten();
        let Some(host) = host.filter(|_| !self.limiters.is_empty() && is_limitable(packet.kind())) else {
            return Entry::Through;
        };
        let Some(place) = self.limiters.find(self.key(packet, world)) else { return Entry::Through };
        let room = self.limiters.room();
        let limiter = self.limiters.get_mut(place);
        if limiter.waiting() + u64::from(packet.size()) > room {
            return Entry::Full(host.port);
        }
        // While it waits a packet needs no time of arrival; it remembers which way it came.
        limiter.push(packet.arriving(Time::from_ps(from.into())));
        self.attend(now, place, world);
        Entry::Kept
    }

    fn key<O>(&self, packet: Packet, world: &World<O>) -> u64 {
        let spec = &world.shared.flows[packet.flow().index()];
        let priority = world.shared.groups[spec.group.index()].priority;
        self.limiters.scope().key(packet.flow(), spec.from, spec.to, priority)
    }

    /// A message of a congestion point arrived, for a host of this switch.
    pub(crate) fn on_notice<O: Observer>(&mut self, now: Time, message: Packet, world: &mut World<O>) {
        let Some(notification) = message.notification() else { return };
        self.record.heard += 1;
        let key = self.key(message, world);
        let port = world.shared.access[message.to().index()].port;
        let host = self.hosts.iter().flatten().find(|host| host.port == port);
        let place = match (self.limiters.find(key), host) {
            (Some(place), _) => place,
            (None, Some(host)) if notification.signal.is_slower() => {
                let made = self.limiters.made();
                let place = self.limiters.assign(key, host.rate);
                self.record.limiters += u64::from(self.limiters.made() != made);
                place
            }
            _ => {
                self.record.unheeded += 1;
                return;
            }
        };
        self.limiters.get_mut(place).on_notification(now, &notification);
        self.attend(now, place, world);
    }

    /// A packet a limiter releases up to and including `now`: when, the packet, and the wire it came over.
    pub(crate) fn release<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World<O>,
    ) -> Option<(Time, Packet, u32)> {
        while let Some(&Reverse((at, place))) = self.agenda.peek()
            && at <= now
        {
            self.agenda.pop();
            let mut released = None;
            if self.due[place as usize] == at {
                self.due[place as usize] = Time::NEVER;
                let tag_size = self.limiters.tag_size();
                let limiter = self.limiters.get_mut(place);
                limiter.on_timer(at);
                if limiter.release() <= at {
                    let packet = limiter.take(at, tag_size);
                    released = Some((at, packet, packet.at().as_ps() as u32));
                    self.record.limited += 1;
                }
                self.attend(at, place, world);
            }
            self.next = self.agenda.peek().map_or(Time::NEVER, |entry| entry.0.0);
            if released.is_some() {
                return released;
            }
        }
        None
    }

    /// When a limiter is to be looked at may have changed, and it may be over.
    fn attend<O: Observer>(&mut self, now: Time, place: u32, world: &mut World<O>) {
        let limiter = self.limiters.get_mut(place);
        world.observer.limiter(now, self.node, place, limiter.rate(), limiter.waiting());
        let due = if limiter.is_over() { Time::NEVER } else { limiter.next_due().max(now) };
        if limiter.is_over() {
            self.limiters.remove(place);
        }
        if self.due.len() <= place as usize {
            self.due.resize(place as usize + 1, Time::NEVER);
        }
        if due != self.due[place as usize] {
            self.due[place as usize] = due;
            if due < Time::NEVER {
                self.agenda.push(Reverse((due, place)));
                self.next = self.next.min(due);
            }
        }
    }
}
