//! Flows that are subflows of JumboFlows: they register, receive what their host knows, and send.

use narrows_proto::cc::Signal;
use narrows_proto::cc::rackcc::Advice;
use narrows_proto::stream::Poll;
use narrows_proto::units::{BitRate, Bytes, Time};

use super::known::Racks;
use super::wire::{Access, Membership, received_report};
use super::{RackEvent, Subflow};
use crate::host::{Outgoing, Senders, Sending, Source};
use crate::ids::{FlowId, HostId};
use crate::mechanism::at_host::{At, AtHost, Site, Turn};
use crate::observe::{MechanismEvent, Observer};
use crate::packet::{Control, ECE, Fields, Kind, Packet, Parcel, wire_size};
use crate::record::PortCounters;
use crate::routing::NO_LEAF;
use crate::world::{GroupState, Log, TransportState, World};

impl AtHost for Racks {
    fn new(site: &Site<'_>) -> Option<Self> {
        let agent = site.switch?.rackcc.clone()?;
        Some(Self::at(site, agent))
    }

    fn on_start<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return };
        let group = &at.world.shared.groups[outgoing.group as usize];
        let rack = at.world.shared.access[outgoing.to.index()].leaf;
        if !group.needs_rack || rack == NO_LEAF {
            return;
        }
        let jumboflow = self.choose(at.now, outgoing.of.flow, rack);
        let destination = self.destination(outgoing.to);
        let of = Subflow { jumboflow, destination, received: 0, registered: false };
        // Inside the rack there is nothing to wait for.
        let received = if rack == self.leaf { 0 } else { self.versions(of) };
        (outgoing.at.rackcc, outgoing.at.is_governed) = (Some(Subflow { received, ..of }), true);
        self.register(slot, at.senders, at.world);
    }

    fn on_burst<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        self.register(slot, at.senders, at.world);
    }

    fn on_end<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        self.unregister(slot, at.senders);
    }

    /// A subflow receives what is known, if there is something new.
    #[inline]
    fn before_turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return };
        let Some(subflow) = &mut outgoing.at.rackcc else { return };
        let versions = self.versions(*subflow);
        if versions != subflow.received {
            subflow.received = versions;
            self.pass_on(at.now, outgoing, true, at.world);
        }
    }

    /// The turn of a subflow that passes through nothing else.
    #[inline]
    fn turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> Option<Turn> {
        let Senders { outgoing, agenda, .. } = at.senders;
        let outgoing = outgoing.get_mut(slot)?;
        let subflow = outgoing.at.rackcc?;
        let group = &at.world.shared.groups[outgoing.group as usize];
        Some(match outgoing.poll(at.now, group) {
            Poll::Send(segment) => {
                let packet = outgoing.packet(&segment, group);
                outgoing.arm(outgoing.next_timer(), slot, agenda);
                let names_jumboflow = self.agent.jumboflows > 1 && packet.kind() == Kind::Syn;
                let number = || self.known[subflow.jumboflow as usize].number.into();
                let packet = if names_jumboflow { packet.with_seq(number()) } else { packet };
                Turn::after(&segment, packet)
            }
            Poll::At(at) => {
                // With many subflows most wakes would find the window full.
                let at = if outgoing.source.is_full() { outgoing.next_timer() } else { at };
                outgoing.arm(at, slot, agenda);
                Turn::Nothing
            }
            Poll::Blocked => {
                if let Some(source) = outgoing.source.datagrams()
                    && source.is_silent()
                    && subflow.registered
                {
                    source.restart();
                    self.unregister(slot, at.senders);
                }
                Turn::Nothing
            }
        })
    }

    fn watches(&self) -> bool {
        true
    }

    #[inline]
    fn on_arrival(&mut self, size: u16) {
        self.receiver.received += u64::from(size);
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        match control {
            Control::JumboFlow => self.on_jumboflow(at, parcel),
            Control::Access => match Access::read(parcel.packet) {
                Access::Rate(host, rate) => self.advertised(host, rate),
                Access::Queue(bytes) => self.receiver.queue = bytes,
            },
            Control::Membership => {
                let Membership { flow, joins, .. } = Membership::read(parcel.packet);
                self.set_member(flow, joins, at);
            }
            _ => {}
        }
    }

    /// With the answer to a SYN comes the rate of the destination, and next what the switch has to say.
    fn on_syn_ack<O: Observer>(&mut self, at: &mut At<'_, O>, parcel: Parcel<'_>) {
        let slot = at.world.flows.senders[parcel.packet.flow().index()];
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return };
        let Some(subflow) = &mut outgoing.at.rackcc else { return };
        if let Some(slot) = parcel.slots().first() {
            self.advertised(outgoing.to, BitRate::from_bps(slot.words()[0]));
        }
        if at.world.shared.access[outgoing.to.index()].leaf != self.leaf {
            self.known[subflow.jumboflow as usize].waiting.push(slot);
            subflow.received = self.versions(*subflow);
            self.pass_on(at.now, outgoing, false, at.world);
        }
    }

    /// The rate that a destination advertises.
    fn answer_to_syn(&self, group: &GroupState) -> Option<Packet> {
        group.needs_rack.then(|| Packet::of_words([self.receiver.rate.rate().as_bps(), 0, 0, 0]))
    }

    fn on_open<O: Observer>(&mut self, at: &mut At<'_, O>, flow: FlowId) {
        if at.world.group_of(flow).needs_rack {
            let from = at.world.shared.flows[flow.index()].from;
            self.connect(at.now, from, at.senders);
        }
    }

    /// The answer to a datagram of a subflow echoes its mark (RackCC §3.1, §5).
    fn on_datagram<O: Observer>(&mut self, at: &mut At<'_, O>, packet: Packet) {
        if !at.world.group_of(packet.flow()).needs_rack {
            return;
        }
        // Its registration may have been lost. Late datagrams of one that has ended register nobody.
        if self.member(packet.flow()).is_err() {
            self.set_member(packet.flow(), true, at);
        }
        let to = at.world.shared.flows[packet.flow().index()].from;
        let group = at.world.group_of(packet.flow());
        let TransportState::Datagram { params, .. } = &group.transport else { return };
        at.senders.nic.push_ready(Parcel::bare(Packet::new(Fields {
            seq: packet.seq() + 1,
            flow: packet.flow(),
            to,
            size: wire_size(params.min_packet),
            incarnation: packet.incarnation(),
            kind: Kind::Ack,
            priority: group.priority,
            flags: if packet.is_marked() { ECE } else { 0 },
            trailers: 0,
        })));
    }

    fn on_received<O: Observer>(&mut self, at: &mut At<'_, O>, flow: FlowId) {
        if at.world.group_of(flow).needs_rack {
            self.disconnect(at.world.shared.flows[flow.index()].from);
        }
    }

    /// An interval is over: finds the rate, and advertises it.
    fn on_timer<O: Observer>(&mut self, at: &mut At<'_, O>) {
        if self.receiver.next != at.now {
            return;
        }
        let Self { receiver, agent, record, node, host, line, .. } = self;
        let elapsed = at.now - receiver.since;
        let received = Bytes::new(std::mem::take(&mut receiver.received));
        receiver.since = at.now;
        let queue = std::mem::take(&mut receiver.queue);
        receiver.rate.update(&agent.receivers, received, elapsed, Bytes::new(queue));
        let rate = receiver.rate.rate();
        let event = RackEvent::Advertised { node: *node, rate, queue };
        at.world.observer.mechanism(at.now, &MechanismEvent::RackEvent(event));
        for (source, _) in &receiver.sources {
            let packet = Access::Rate(*host, rate).packet(*source, agent);
            at.senders.nic.push_ready(Parcel::bare(packet));
            record.advertisements += 1;
        }
        let goes_on = !receiver.sources.is_empty() || rate < *line;
        receiver.next = if goes_on { at.now + agent.receivers.interval } else { Time::NEVER };
        if goes_on {
            at.senders.plan(receiver.next);
        }
    }

    fn finish(&mut self, _: Time, _: &Senders, _: &mut PortCounters, log: &mut Log) {
        log.mechanisms.rackcc.add(&self.record);
    }
}

impl Racks {
    /// Passes on to a subflow the rate of its destination, and what is known of its JumboFlow if it `has_report`.
    fn pass_on<O: Observer>(
        &self,
        now: Time,
        outgoing: &mut Outgoing,
        has_report: bool,
        world: &mut World<O>,
    ) {
        let Some(subflow) = outgoing.at.rackcc else { return };
        let report = self.known[subflow.jumboflow as usize].report.as_ref().filter(|_| has_report);
        let destination = self.destinations[subflow.destination as usize].rate;
        let group = &world.shared.groups[outgoing.group as usize];
        outgoing.source.on_signal(group, now, &Signal::Rack(Advice { report, destination }));
        if let Some(seen) = outgoing.source.as_seen() {
            world.observer.window(now, outgoing.of.flow, seen);
        }
    }

    /// A flow that does not begin with a handshake says itself that it begins.
    fn register<O>(&mut self, slot: u32, senders: &mut Senders, world: &World<O>) {
        let Some(outgoing) = senders.outgoing.get_mut(slot) else { return };
        let Some(subflow) = &mut outgoing.at.rackcc else { return };
        if std::mem::replace(&mut subflow.registered, true) {
            return;
        }
        let opens = outgoing.source.is_opening();
        let inside = world.shared.access[outgoing.to.index()].leaf == self.leaf;
        let datagrams = matches!(outgoing.source, Source::Datagram(_));
        if !opens && !inside {
            self.known[subflow.jumboflow as usize].waiting.push(slot);
            subflow.received = self.versions(*subflow);
        }
        let subflow = *subflow;
        if !opens && (!inside || datagrams) {
            let packet = self.membership(outgoing, subflow, true);
            senders.nic.push_ready(Parcel::bare(packet));
        }
    }

    /// A flow ends, or a source of datagrams falls silent.
    fn unregister(&mut self, slot: u32, senders: &mut Senders) {
        let Some(outgoing) = senders.outgoing.get_mut(slot) else { return };
        let Some(subflow) = &mut outgoing.at.rackcc else { return };
        if std::mem::replace(&mut subflow.registered, false) {
            let subflow = *subflow;
            let packet = self.membership(outgoing, subflow, false);
            senders.nic.push_ready(Parcel::bare(packet));
        }
    }

    /// The switch reported on a JumboFlow.
    #[cold]
    fn on_jumboflow<O>(&mut self, at: &mut At<'_, O>, parcel: Parcel<'_>) {
        let (number, report) = received_report(parcel);
        let each = self.agent.jumboflows;
        let place = self.place(number / each, number % each) as usize;
        let known = &mut self.known[place];
        (known.report, known.received_at) = (Some(report), at.now);
        known.version = known.version.wrapping_add(1);
        for slot in known.waiting.drain(..) {
            at.senders.activate(slot, at.world);
        }
    }

    /// The place of a source of datagrams in the list of those known, or where it belongs.
    fn member(&self, flow: FlowId) -> Result<usize, usize> {
        self.receiver.members.binary_search_by_key(&flow, |member| member.0)
    }

    /// A source of datagrams begins or ends to send as a subflow.
    fn set_member<O>(&mut self, flow: FlowId, joins: bool, at: &mut At<'_, O>) {
        let joined = match self.member(flow) {
            Ok(place) => std::mem::replace(&mut self.receiver.members[place].1, joins),
            Err(place) if joins => {
                self.receiver.members.insert(place, (flow, true));
                false
            }
            Err(_) => return,
        };
        let from = at.world.shared.flows[flow.index()].from;
        match (joined, joins) {
            (false, true) => self.connect(at.now, from, at.senders),
            (true, false) => self.disconnect(from),
            _ => {}
        }
    }

    /// A flow to this host begins.
    fn connect(&mut self, now: Time, from: HostId, senders: &mut Senders) {
        let receiver = &mut self.receiver;
        match receiver.sources.binary_search_by_key(&from, |entry| entry.0) {
            Ok(at) => receiver.sources[at].1 += 1,
            Err(at) => receiver.sources.insert(at, (from, 1)),
        }
        if receiver.next == Time::NEVER {
            (receiver.since, receiver.received) = (now, 0);
            receiver.next = now + self.agent.receivers.interval;
            senders.plan(receiver.next);
        }
    }

    /// A flow to this host is over.
    fn disconnect(&mut self, from: HostId) {
        let sources = &mut self.receiver.sources;
        if let Ok(at) = sources.binary_search_by_key(&from, |entry| entry.0) {
            sources[at].1 -= 1;
            if sources[at].1 == 0 {
                sources.remove(at);
            }
        }
    }
}
