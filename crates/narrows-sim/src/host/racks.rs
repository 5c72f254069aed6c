//! Hosts as RackCC has them: what they know of JumboFlows, and the rate they advertise.
//!
//! A flow hears what its host knows when its turn comes: state is kept by JumboFlow and by destination, so that a message costs
//! the same however many flows there are.

use narrows_proto::rack::{JumboReport, receiver};
use narrows_proto::stream::Poll;
use narrows_proto::units::{BitRate, Bytes, Time};

use super::Host;
use super::agenda::Wake;
use super::limited::Turn;
use super::outgoing::{NewFlow, Outgoing, Subflow};
use super::transport::Sending;
use crate::ids::{FlowId, HostId, NodeId};
use crate::observe::Observer;
use crate::packet::{Kind, Packet, Parcel};
use crate::rack::{self, Access, Membership, RackAgent};
use crate::record::RackRecord;
use crate::routing::NO_LEAF;
use crate::world::{GroupState, World};

/// What a host of a rack with JumboFlows knows.
#[derive(Debug)]
pub(super) struct Racks {
    agent: RackAgent,
    node: NodeId,
    host: HostId,
    /// Index of its switch among those with hosts.
    leaf: u32,
    line: BitRate,
    /// By rack and number: the place of a JumboFlow in `known`.
    places: Vec<u32>,
    known: Vec<Known>,
    /// In order of hosts: their place in `destinations`.
    hosts: Vec<(HostId, u32)>,
    destinations: Vec<Destination>,
    receiver: Receiver,
    record: RackRecord,
}

/// What is known of a JumboFlow.
#[derive(Debug)]
struct Known {
    /// Which of those to its rack.
    number: u32,
    told: Option<JumboReport>,
    heard: Time,
    /// Changes with each message.
    version: u32,
    /// Slots of flows that wait to hear of their share.
    waiting: Vec<u32>,
}

/// What is known of a destination.
#[derive(Clone, Copy, Debug)]
struct Destination {
    rate: BitRate,
    version: u32,
}

/// The receiving half: what arrives, and the rate that is advertised.
#[derive(Debug)]
struct Receiver {
    rate: receiver::Receiver,
    /// Bytes that have arrived since `since`.
    received: u64,
    since: Time,
    /// What waited at the switch, as it said last.
    queue: u64,
    /// Hosts with flows to this one, and how many.
    sources: Vec<(HostId, u32)>,
    /// The agenda has an entry.
    runs: bool,
}

const NOWHERE: u32 = u32::MAX;

impl Racks {
    pub(super) fn new(
        agent: RackAgent,
        node: NodeId,
        host: HostId,
        leaf: u32,
        racks: usize,
        line: BitRate,
    ) -> Self {
        let receiver = Receiver {
            rate: receiver::Receiver::new(line),
            received: 0,
            since: Time::ZERO,
            queue: 0,
            sources: Vec::new(),
            runs: false,
        };
        Self {
            places: vec![NOWHERE; racks * agent.jumboflows as usize],
            agent,
            node,
            host,
            leaf,
            line,
            known: Vec::new(),
            hosts: Vec::new(),
            destinations: Vec::new(),
            receiver,
            record: RackRecord::default(),
        }
    }

    pub(super) fn record(&self) -> RackRecord {
        self.record
    }

    /// Bytes have arrived.
    #[inline]
    pub(super) fn on_arrival(&mut self, size: u16) {
        self.receiver.received += u64::from(size);
    }

    /// The place of a JumboFlow.
    fn place(&mut self, rack: u32, number: u32) -> u32 {
        let place = &mut self.places[(rack * self.agent.jumboflows + number) as usize];
        if *place == NOWHERE {
            *place = self.known.len() as u32;
            // Inside the rack only access links limit anybody (RackCC §3.2).
            let told = (rack == self.leaf).then(|| JumboReport::unlimited(self.line));
            let version = u32::from(told.is_some());
            self.known.push(Known { number, told, heard: Time::NEVER, version, waiting: Vec::new() });
        }
        *place
    }

    /// The JumboFlow to `rack` that a new flow joins: the one with the lowest alpha, and among equals the largest share. Of one
    /// that nobody has told of lately nothing is known that speaks against it. If that is all of them, any.
    fn choose(&mut self, now: Time, flow: FlowId, rack: u32) -> u32 {
        let each = self.agent.jumboflows;
        if each == 1 {
            return self.place(rack, 0);
        }
        let fresh = |known: &Known| {
            known.heard < Time::NEVER && now.saturating_since(known.heard) <= self.agent.jumboflow.memory
        };
        let told = |number: u32| {
            let place = self.places[(rack * each + number) as usize];
            let known =
                self.known.get(place as usize).filter(|known| fresh(known)).and_then(|known| known.told);
            known.map_or((0.0, BitRate::ZERO), |told| (told.alpha, told.share()))
        };
        let first = (crate::random::mix(flow.index() as u64) % u64::from(each)) as u32;
        let better = |best: u32, number: u32| {
            let ((alpha, share), (best_alpha, best_share)) = (told(number), told(best));
            let better = alpha < best_alpha || alpha == best_alpha && share > best_share;
            if better { number } else { best }
        };
        let best = (1..each).map(|step| (first + step) % each).fold(first, better);
        self.place(rack, best)
    }

    fn destination(&mut self, host: HostId) -> u32 {
        match self.hosts.binary_search_by_key(&host, |entry| entry.0) {
            Ok(at) => self.hosts[at].1,
            Err(at) => {
                let place = self.destinations.len() as u32;
                self.destinations.push(Destination { rate: self.line, version: 0 });
                self.hosts.insert(at, (host, place));
                place
            }
        }
    }

    fn advertised(&mut self, host: HostId, rate: BitRate) {
        let place = self.destination(host);
        let destination = &mut self.destinations[place as usize];
        destination.rate = rate;
        destination.version = destination.version.wrapping_add(1);
    }

    /// What a flow would have heard if it heard everything now.
    fn versions(&self, of: Subflow) -> u32 {
        let known = self.known[of.jumboflow as usize].version;
        known.wrapping_add(self.destinations[of.destination as usize].version)
    }

    fn membership(&self, outgoing: &Outgoing, subflow: Subflow, joins: bool) -> Packet {
        let jumboflow = self.known[subflow.jumboflow as usize].number;
        let (flow, turn, to) = (outgoing.flow, outgoing.turn as u16, outgoing.to);
        Membership { flow, turn, to, joins, jumboflow }.packet(&self.agent)
    }

    /// The rate that a destination advertises in the answer to a SYN.
    pub(super) fn rate(&self) -> BitRate {
        self.receiver.rate.rate()
    }
}

impl Outgoing {
    fn on_rack<O: Observer>(
        &mut self,
        now: Time,
        group: &GroupState,
        told: Option<&JumboReport>,
        rate: BitRate,
        observer: &mut O,
    ) {
        self.source.on_rack(group, now, told, rate);
        if let Some(seen) = self.source.as_seen() {
            observer.window(now, self.flow, seen);
        }
    }
}

impl Host {
    /// What feeds a new flow, if it is a subflow.
    pub(super) fn enter_rack<O>(&mut self, now: Time, new: &NewFlow, world: &World<O>) -> Option<Subflow> {
        let spec = &world.shared.flows[new.flow.index()];
        let racks = self.racks.as_mut()?;
        if !world.shared.groups[spec.group.index()].asks_rack {
            return None;
        }
        let rack = world.shared.access[spec.to.index()].leaf;
        if rack == NO_LEAF {
            return None;
        }
        let jumboflow = racks.choose(now, new.flow, rack);
        let of = Subflow { jumboflow, destination: racks.destination(spec.to), heard: 0, registered: false };
        // Inside the rack there is nothing to wait for.
        Some(if rack == racks.leaf { of } else { Subflow { heard: racks.versions(of), ..of } })
    }

    /// A flow that does not begin with a handshake says itself that it begins.
    pub(super) fn register<O>(&mut self, slot: u32, world: &World<O>) {
        let (Some(racks), Some(outgoing)) = (&mut self.racks, self.outgoing.get_mut(slot)) else { return };
        let Some(subflow) = &mut outgoing.subflow else { return };
        if std::mem::replace(&mut subflow.registered, true) {
            return;
        }
        let opens = outgoing.source.is_opening();
        let inside = world.shared.access[outgoing.to.index()].leaf == racks.leaf;
        let datagrams = outgoing.source.datagrams().is_some();
        if !opens && !inside {
            racks.known[subflow.jumboflow as usize].waiting.push(slot);
            subflow.heard = racks.versions(*subflow);
        }
        let subflow = *subflow;
        if !opens && (!inside || datagrams) {
            let packet = racks.membership(outgoing, subflow, true);
            self.nic.push_ready(Parcel::bare(packet));
        }
    }

    /// A flow ends, or a source of datagrams falls silent.
    pub(super) fn unregister(&mut self, slot: u32) {
        let (Some(racks), Some(outgoing)) = (&mut self.racks, self.outgoing.get_mut(slot)) else { return };
        let Some(subflow) = &mut outgoing.subflow else { return };
        if std::mem::replace(&mut subflow.registered, false) {
            let subflow = *subflow;
            let packet = racks.membership(outgoing, subflow, false);
            self.nic.push_ready(Parcel::bare(packet));
        }
    }

    /// The answer to a SYN arrived: with it the rate of the destination, and next what the switch has to say.
    pub(super) fn on_syn_ack<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        let slot = world.flows.senders[packet.flow().index()];
        if let Some(racks) = &mut self.racks
            && let Some(outgoing) = self.outgoing.get_mut(slot)
            && let Some(subflow) = &mut outgoing.subflow
        {
            if let Some(slot) = parcel.slots().first() {
                racks.advertised(outgoing.to, BitRate::from_bps(slot.words()[0]));
            }
            if world.shared.access[outgoing.to.index()].leaf != racks.leaf {
                racks.known[subflow.jumboflow as usize].waiting.push(slot);
                subflow.heard = racks.versions(*subflow);
                let group = &world.shared.groups[outgoing.group as usize];
                let rate = racks.destinations[subflow.destination as usize].rate;
                outgoing.on_rack(now, group, None, rate, &mut world.observer);
            }
        }
        self.on_ack(now, Parcel::bare(packet.with_trailers(0)), world);
    }

    /// The switch told of a JumboFlow.
    #[cold]
    pub(super) fn on_jumboflow<O>(&mut self, now: Time, parcel: Parcel<'_>, world: &World<O>) {
        let Some(racks) = &mut self.racks else { return };
        let (number, told) = rack::told(parcel);
        let each = racks.agent.jumboflows;
        let place = racks.place(number / each, number % each) as usize;
        let known = &mut racks.known[place];
        (known.told, known.heard) = (Some(told), now);
        known.version = known.version.wrapping_add(1);
        let mut waiting = std::mem::take(&mut known.waiting);
        for slot in waiting.drain(..) {
            self.activate(slot, world);
        }
        if let Some(racks) = &mut self.racks {
            racks.known[place].waiting = waiting;
        }
    }

    /// A destination told its rate, or the switch told what waits for this host.
    pub(super) fn on_access(&mut self, packet: Packet) {
        let Some(racks) = &mut self.racks else { return };
        match Access::read(packet) {
            Access::Rate(host, rate) => racks.advertised(host, rate),
            Access::Queue(bytes) => racks.receiver.queue = bytes,
        }
    }

    /// Tells a subflow what is known, if there is something new.
    #[inline]
    pub(super) fn refresh<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let Some(racks) = &self.racks else { return };
        let Some(outgoing) = self.outgoing.get_mut(slot) else { return };
        let Some(subflow) = &mut outgoing.subflow else { return };
        let versions = racks.versions(*subflow);
        if versions != subflow.heard {
            subflow.heard = versions;
            let told = racks.known[subflow.jumboflow as usize].told;
            let rate = racks.destinations[subflow.destination as usize].rate;
            let group = &world.shared.groups[outgoing.group as usize];
            outgoing.on_rack(now, group, told.as_ref(), rate, &mut world.observer);
        }
    }

    /// The turn of a subflow that passes through nothing else.
    pub(super) fn subflow_turn<O>(
        &mut self,
        now: Time,
        slot: u32,
        world: &World<O>,
    ) -> Option<(Packet, Turn)> {
        let outgoing = self.outgoing.get_mut(slot)?;
        let group = &world.shared.groups[outgoing.group as usize];
        match outgoing.poll(now, group) {
            Poll::Send(segment) => {
                let packet = outgoing.packet(&segment, group);
                outgoing.arm(outgoing.next_timer(), slot, &mut self.agenda);
                let several = self.racks.as_ref().filter(|racks| racks.agent.jumboflows > 1);
                let packet = match (several.filter(|_| packet.kind() == Kind::Syn), outgoing.subflow) {
                    (Some(racks), Some(subflow)) => {
                        packet.with_seq(racks.known[subflow.jumboflow as usize].number.into())
                    }
                    _ => packet,
                };
                Some((packet, Turn::GoesOn))
            }
            Poll::At(at) => {
                // With many subflows most wakes would find the window full.
                let at = if outgoing.source.is_full() { outgoing.next_timer() } else { at };
                outgoing.arm(at, slot, &mut self.agenda);
                None
            }
            Poll::Blocked => {
                if let Some(source) = outgoing.source.datagrams()
                    && source.is_silent()
                    && outgoing.subflow.is_some_and(|subflow| subflow.registered)
                {
                    source.restart();
                    self.unregister(slot);
                }
                None
            }
        }
    }

    /// A flow to this host begins.
    pub(super) fn connect(&mut self, now: Time, from: HostId) {
        let Some(racks) = &mut self.racks else { return };
        let receiver = &mut racks.receiver;
        match receiver.sources.binary_search_by_key(&from, |entry| entry.0) {
            Ok(at) => receiver.sources[at].1 += 1,
            Err(at) => receiver.sources.insert(at, (from, 1)),
        }
        if !receiver.runs {
            receiver.runs = true;
            (receiver.since, receiver.received) = (now, 0);
            self.agenda.plan(now + racks.agent.receivers.interval, Wake::Advertise);
        }
    }

    /// A flow to this host is over.
    pub(super) fn disconnect(&mut self, from: HostId) {
        let Some(racks) = &mut self.racks else { return };
        let sources = &mut racks.receiver.sources;
        if let Ok(at) = sources.binary_search_by_key(&from, |entry| entry.0) {
            sources[at].1 -= 1;
            if sources[at].1 == 0 {
                sources.remove(at);
            }
        }
    }

    /// An interval is over: finds the rate, and advertises it.
    pub(super) fn advertise<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let Some(racks) = &mut self.racks else { return };
        let Racks { receiver, agent, record, node, host, line, .. } = &mut **racks;
        let elapsed = now - receiver.since;
        let received = Bytes::new(std::mem::take(&mut receiver.received));
        receiver.since = now;
        let queue = std::mem::take(&mut receiver.queue);
        receiver.rate.update(&agent.receivers, received, elapsed, Bytes::new(queue));
        let rate = receiver.rate.rate();
        world.observer.advertised(now, *node, rate, queue);
        for (source, _) in &receiver.sources {
            let packet = Access::Rate(*host, rate).packet(*source, agent);
            self.nic.push_ready(Parcel::bare(packet));
            record.advertisements += 1;
        }
        receiver.runs = !receiver.sources.is_empty() || rate < *line;
        if receiver.runs {
            self.agenda.plan(now + agent.receivers.interval, Wake::Advertise);
        }
    }
}
