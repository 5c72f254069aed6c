//! Reaction points in an edge switch: packets of limited flows wait where they enter the network.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{BitRate, Time, WireTime};

use super::{LimiterScope, Limiters, ReactionPlace, ReactionRecord};
use crate::ids::NodeId;
use crate::mechanism::at_switch::{AtSwitch, EdgeHost, Pass, SwitchSite};
use crate::mechanism::congestion_point::is_limitable;
use crate::observe::Observer;
use crate::packet::{NO_TRAILERS, Packet, Trailers};
use crate::topology::Link;
use crate::world::{Log, World};

/// The limiters of an edge switch.
#[derive(Debug)]
pub(crate) struct EdgeLimiters {
    node: NodeId,
    /// Its index among switches with hosts.
    leaf: u32,
    limiters: Limiters,
    /// By wire: what is known of the host at its other end, if there is one.
    hosts: Vec<Option<EdgeHost>>,
    /// Rate of its links to other switches together, if that is where limiters begin: those of a whole rack.
    uplinks: Option<BitRate>,
    /// When limiters are to be looked at. An entry counts only if `due` agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// By limiter.
    due: Vec<Time>,
    /// The first time of the agenda.
    next: Time,
    /// The packet that has just been released.
    released: Option<Packet>,
    record: ReactionRecord,
}

impl AtSwitch for EdgeLimiters {
    fn new(site: &SwitchSite<'_>) -> Option<Self> {
        let config =
            site.network.reaction.as_ref().filter(|config| config.place == ReactionPlace::EdgeSwitch)?;
        if site.hosts.iter().all(Option::is_none) {
            return None;
        }
        let uplinks = (config.per == LimiterScope::Rack).then(|| uplinks(site)).flatten();
        Some(Self {
            node: site.node,
            leaf: site.leaf,
            limiters: Limiters::new(config, uplinks.or_else(|| fastest(site)), site.seed, site.node.0),
            hosts: site.hosts.clone(),
            uplinks,
            agenda: BinaryHeap::new(),
            due: Vec::new(),
            next: Time::NEVER,
            released: None,
            record: ReactionRecord::default(),
        })
    }

    fn next(&self) -> Time {
        self.next
    }

    fn pass<O: Observer>(&mut self, now: Time, packet: Packet, from: u32, world: &mut World<O>) -> Pass {
        if packet.is_cnm() && world.shared.access[packet.to().index()].leaf == self.leaf {
            self.on_cnm(now, packet, world);
            return Pass::Taken;
        }
        let host = self.hosts.get(from as usize).copied().flatten();
        let Some(host) = host.filter(|_| !self.limiters.is_empty() && is_limitable(packet.kind())) else {
            return Pass::Through(packet);
        };
        let Some(place) = self.limiters.find(self.key(packet, world)) else { return Pass::Through(packet) };
        let room = self.limiters.room();
        let limiter = self.limiters.get_mut(place);
        if limiter.waiting() + u64::from(packet.size()) > room {
            return Pass::Full(host.port);
        }
        // While it waits a packet needs no time of arrival; it remembers which way it came.
        self.record.marked += u64::from(limiter.push(packet.arriving(Time::from_ps(from.into()))));
        self.attend(now, place, world);
        Pass::Taken
    }

    /// A limiter may release a packet.
    fn step<O: Observer>(&mut self, at: Time, world: &mut World<O>) {
        let Some(Reverse((_, place))) = self.agenda.pop() else { return };
        if self.due[place as usize] == at {
            self.due[place as usize] = Time::NEVER;
            let tag_size = self.limiters.tag_size();
            let limiter = self.limiters.get_mut(place);
            limiter.on_timer(at);
            if limiter.release() <= at {
                self.released = Some(limiter.take(at, tag_size));
                self.record.limited += 1;
            }
            self.attend(at, place, world);
        }
        self.next = self.agenda.peek().map_or(Time::NEVER, |entry| entry.0.0);
    }

    fn take_packet(&mut self) -> Option<(Packet, Trailers, u32)> {
        self.released.take().map(|packet| (packet, NO_TRAILERS, packet.at().as_ps() as u32))
    }

    fn finish(&self, log: &mut Log) {
        log.mechanisms.limiter.add(&self.record);
    }
}

/// Links that leave a switch.
fn links<'a>(site: &'a SwitchSite<'_>) -> impl Iterator<Item = &'a Link> {
    site.network.topology.links().iter().filter(|link| link.from == site.node)
}

/// Rate of the links from a switch to other switches together, or the fastest that a link may have if it is less; none if there are none.
fn uplinks(site: &SwitchSite<'_>) -> Option<BitRate> {
    let leads_on = |link: &&Link| site.network.topology.as_host(link.to).is_none();
    let rate: BitRate = links(site).filter(leads_on).map(|link| link.wire.rate).sum();
    (rate > BitRate::ZERO).then(|| rate.min(WireTime::MAX_RATE))
}

/// Rate of the fastest link of a switch. What has waited in a limiter at line rate drains at this rate, which is as fast as a port of
/// the switch could send it; all at once it would be a burst that the next queue answers with messages.
fn fastest(site: &SwitchSite<'_>) -> Option<BitRate> {
    links(site).map(|link| link.wire.rate).max()
}

impl EdgeLimiters {
    fn key<O>(&self, packet: Packet, world: &World<O>) -> u64 {
        let spec = &world.shared.flows[packet.flow().index()];
        let priority = world.shared.groups[spec.group.index()].priority;
        self.limiters.scope().key(packet.flow(), spec, priority)
    }

    /// A message of a congestion point arrived, for a host of this switch.
    fn on_cnm<O: Observer>(&mut self, now: Time, message: Packet, world: &mut World<O>) {
        let Some(cnm) = message.cnm() else { return };
        self.record.received += 1;
        let key = self.key(message, world);
        let port = world.shared.access[message.to().index()].port;
        let host = self.hosts.iter().flatten().find(|host| host.port == port);
        let place = match (self.limiters.find(key), host) {
            (Some(place), _) => place,
            (None, Some(host)) if cnm.signal.is_slower() => {
                let made = self.limiters.made();
                let place = self.limiters.assign(key, self.uplinks.unwrap_or(host.rate));
                self.record.limiters += u64::from(self.limiters.made() != made);
                place
            }
            _ => {
                self.record.ignored += 1;
                return;
            }
        };
        self.limiters.get_mut(place).on_cnm(now, &cnm);
        self.attend(now, place, world);
    }

    /// When a limiter is to be looked at may have changed, and it may be over.
    fn attend<O: Observer>(&mut self, now: Time, place: u32, world: &mut World<O>) {
        let limiter = self.limiters.get_mut(place);
        limiter.observe(now, self.node, place, &mut world.observer);
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
