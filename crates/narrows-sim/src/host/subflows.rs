//! Flows that are subflows of JumboFlows: they register, hear what their host knows, and send.

use super::racks::Racks;
use narrows_proto::rack::JumboReport;
use narrows_proto::stream::Poll;
use narrows_proto::units::{BitRate, Bytes, Time};

use super::Host;
use super::agenda::Wake;
use super::new_flow::NewFlow;
use super::outgoing::{Outgoing, Subflow};
use super::reaction_points::Turn;
use super::transport::Sending;
use crate::ids::HostId;
use crate::mechanism::rackcc::{self, Access};
use crate::observe::Observer;
use crate::packet::{Kind, Packet, Parcel};
use crate::routing::NO_LEAF;
use crate::world::{GroupState, World};

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
        let (number, told) = rackcc::told(parcel);
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
                Some((packet, Turn::after(&segment)))
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
