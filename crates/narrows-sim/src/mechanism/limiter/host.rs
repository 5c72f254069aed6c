//! Flows that a limiter slows down: their packets pass through its queue.
//!
//! A limiter stands in the queues of the network card like a flow and has its turn like one. A flow it limits keeps its own
//! turn, in which it hands over all it may send.

use std::collections::VecDeque;

use narrows_proto::stream::Poll;
use narrows_proto::units::{BitRate, Bytes, Time};

use super::{Limiters, ReactionPlace, ReactionRecord};
use crate::host::{NewFlow, Outgoing, Senders, Source, Wake};
use crate::ids::{FlowId, HostId, NodeId};
use crate::mechanism::at_host::{At, AtHost, Site, Turn};
use crate::mechanism::flow::{AtFlow, Hold, Line};
use crate::observe::Observer;
use crate::packet::{Control, Packet, Parcel};
use crate::record::PortCounters;
use crate::world::{Log, NO_SLOT, World};

/// The reaction points of a host.
#[derive(Debug)]
pub(crate) struct ReactionPoints {
    node: NodeId,
    line_rate: BitRate,
    limiters: Limiters,
    /// By place of a limiter.
    users: Vec<Users>,
    record: ReactionRecord,
}

/// Who uses a limiter.
#[derive(Debug)]
struct Users {
    /// The slot of the limiter itself.
    slot: u32,
    /// The earliest entry of the agenda for the timer of its reaction point. Its packets have entries of their own, which
    /// come and go much faster.
    timer: Time,
    /// Slots of flows that wait for room in its queue, longest first. Those of flows that have ended may be among them.
    line: VecDeque<u32>,
}

impl Default for Users {
    fn default() -> Self {
        Self { slot: NO_SLOT, timer: Time::NEVER, line: VecDeque::new() }
    }
}

impl AtHost for ReactionPoints {
    fn new(site: &Site<'_>) -> Option<Self> {
        let config = site.network.reaction.as_ref().filter(|config| config.place == ReactionPlace::Host)?;
        Some(Self {
            node: site.node,
            line_rate: site.rate,
            limiters: Limiters::new(config, None, site.seed, site.node.0),
            users: Vec::new(),
            record: ReactionRecord::default(),
        })
    }

    fn on_start<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        if self.limiters.is_empty() {
            return;
        }
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return };
        if outgoing.at.hold == Hold::Nothing
            && let Some(place) = self.limiters.find(self.key(outgoing.of.flow, at.world))
        {
            outgoing.at.hold = Hold::Limiter(place);
        }
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        if control == Control::Cnm && at.world.group_of(parcel.packet.flow()).near_source.is_none() {
            self.on_cnm(at, parcel.packet);
        }
    }

    #[inline]
    fn turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> Option<Turn> {
        let outgoing = at.senders.outgoing.get_mut(slot)?;
        let Hold::Limiter(place) = outgoing.at.hold else { return None };
        if let Source::Mechanism(_) = outgoing.source {
            return Some(self.release(at, place));
        }
        self.hand_over(at, slot, place);
        Some(Turn::Nothing)
    }

    fn front(&mut self, place: u32) -> Option<Packet> {
        self.limiters.get_mut(place).front()
    }

    /// The agenda has an entry for a limiter.
    fn wake<O: Observer>(&mut self, at: &mut At<'_, O>, place: u32) {
        let users = &mut self.users[place as usize];
        let limiter = self.limiters.get_mut(place);
        if users.timer > at.now && limiter.release() <= at.now {
            return at.senders.activate(users.slot, at.world);
        }
        if users.timer <= at.now {
            users.timer = Time::NEVER;
            limiter.on_timer(at.now);
        }
        self.attend(at, place);
    }

    fn finish(&mut self, _: Time, _: &Senders, _: &mut PortCounters, log: &mut Log) {
        log.mechanisms.limiter.add(&self.record);
    }
}

impl ReactionPoints {
    /// Key of all that shares a limiter with a flow.
    fn key<O>(&self, flow: FlowId, world: &World<O>) -> u64 {
        let spec = &world.shared.flows[flow.index()];
        self.limiters.scope().key(flow, spec, world.group_of(flow).priority)
    }

    /// A message of a congestion point arrived.
    #[cold]
    fn on_cnm<O: Observer>(&mut self, at: &mut At<'_, O>, packet: Packet) {
        let Some(cnm) = packet.cnm() else { return };
        self.record.received += 1;
        at.world.observer.cnm_received(at.now, packet.flow(), cnm.signal);
        let key = self.key(packet.flow(), at.world);
        let place = match self.limiters.find(key) {
            Some(place) => place,
            None if cnm.signal.is_slower() => self.install(key, packet.flow(), at),
            None => {
                self.record.ignored += 1;
                return;
            }
        };
        self.limiters.get_mut(place).on_cnm(at.now, &cnm);
        self.attend(at, place);
    }

    /// Gives `key` a limiter, and lets all flows with that key pass through it.
    fn install<O>(&mut self, key: u64, flow: FlowId, at: &mut At<'_, O>) -> u32 {
        let place = self.limiters.assign(key, self.line_rate);
        if self.users.len() <= place as usize {
            self.users.resize_with(place as usize + 1, Users::default);
        }
        let outgoing = &mut at.senders.outgoing;
        let users = &mut self.users[place as usize];
        if users.slot == NO_SLOT {
            self.record.limiters += 1;
            let (start, size) = (Time::ZERO, Bytes::ZERO);
            let new = NewFlow { flow, incarnation: 0, size, start, starter: None };
            let (group, source) = (at.world.shared.flows[flow.index()].group, Source::Mechanism(place));
            let at = AtFlow { hold: Hold::Limiter(place), ..AtFlow::default() };
            let to = HostId::default();
            users.slot = outgoing.add(Outgoing { at, ..Outgoing::new(&new, to, group, source) });
        }
        let may_pass = |outgoing: &&mut Outgoing| {
            outgoing.source.is_flow() && !matches!(outgoing.at.hold, Hold::Gate(_))
        };
        for outgoing in at.senders.outgoing.iter_mut().filter(may_pass) {
            if self.key(outgoing.of.flow, at.world) == key {
                outgoing.at.hold = Hold::Limiter(place);
            }
        }
        place
    }

    /// The turn of a flow that passes through a limiter: it hands over what it may send, and sends nothing.
    #[inline]
    fn hand_over<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32, place: u32) {
        let Senders { outgoing, agenda, .. } = at.senders;
        let Some(outgoing) = outgoing.get_mut(slot) else { return };
        let (room, limiter) = (self.limiters.room(), self.limiters.get_mut(place));
        let was_empty = limiter.waiting() == 0;
        let group = &at.world.shared.groups[outgoing.group as usize];
        let line = &mut self.users[place as usize].line;
        let may_enter = line.is_empty() || outgoing.at.line == Line::Admitted;
        if outgoing.at.line == Line::Admitted {
            outgoing.at.line = Line::Outside;
        }
        loop {
            if !may_enter || !limiter.has_room(room) {
                if outgoing.at.line == Line::Outside {
                    outgoing.at.line = Line::Waiting;
                    line.push_back(slot);
                }
                break;
            }
            match outgoing.poll(at.now, group) {
                Poll::Send(segment) => {
                    self.record.marked += u64::from(limiter.push(outgoing.packet(&segment, group)));
                }
                Poll::At(at) => {
                    outgoing.arm(at, slot, agenda);
                    break;
                }
                Poll::Blocked => break,
            }
        }
        outgoing.arm(outgoing.next_timer(), slot, agenda);
        self.admit_next(at, place);
        // What comes behind other packets changes nothing about when the first may be sent.
        if was_empty {
            self.attend(at, place);
        }
    }

    /// The turn of a limiter.
    #[inline]
    fn release<O: Observer>(&mut self, at: &mut At<'_, O>, place: u32) -> Turn {
        let tag_size = self.limiters.tag_size();
        let users = &self.users[place as usize];
        let limiter = self.limiters.get_mut(place);
        if limiter.release() > at.now {
            self.attend(at, place);
            return Turn::Nothing;
        }
        let packet = limiter.take(at.now, tag_size);
        self.record.limited += 1;
        let (next, is_over) = (limiter.release(), limiter.is_over());
        let waits = next > at.senders.nic.sent_at(at.now, packet) && !is_over;
        let turn = if waits { Turn::Last(packet) } else { Turn::GoesOn(packet) };
        if O::ACTIVE || is_over || limiter.point.next_timer() < users.timer {
            self.admit_next(at, place);
            self.attend(at, place);
            return turn;
        }
        if waits && let Some(outgoing) = at.senders.outgoing.get_mut(users.slot) {
            outgoing.arm(next, users.slot, &mut at.senders.agenda);
        }
        if !users.line.is_empty() {
            self.admit_next(at, place);
        }
        turn
    }

    /// If there is room in the queue of a limiter, the flow that waits longest for it may hand over packets. Several flows
    /// take turns packet by packet; for one alone it is cheaper to wait until the queue is half empty.
    fn admit_next<O>(&mut self, at: &mut At<'_, O>, place: u32) {
        let room = self.limiters.room();
        let line = &mut self.users[place as usize].line;
        let enough = if line.len() > 1 { room } else { room.div_ceil(2) };
        if line.is_empty() || !self.limiters.get_mut(place).has_room(enough) {
            return;
        }
        while let Some(slot) = line.pop_front() {
            let waiting = |outgoing: &&mut Outgoing| outgoing.at.line == Line::Waiting;
            if let Some(outgoing) = at.senders.outgoing.get_mut(slot).filter(waiting) {
                outgoing.at.line = Line::Admitted;
                at.senders.activate(slot, at.world);
                return;
            }
        }
    }

    /// A limiter may have something to send, its timer may have changed, and it may be over.
    fn attend<O: Observer>(&mut self, at: &mut At<'_, O>, place: u32) {
        let limiter = self.limiters.get_mut(place);
        limiter.observe(at.now, self.node, place, &mut at.world.observer);
        let users = &mut self.users[place as usize];
        let Senders { outgoing: all, agenda, .. } = at.senders;
        let Some(outgoing) = all.get_mut(users.slot) else { return };
        if limiter.is_over() {
            self.limiters.remove(place);
            let users = std::mem::take(users);
            outgoing.source = Source::Over;
            if !outgoing.place.queued {
                all.remove(users.slot);
            }
            let limited = |outgoing: &&mut Outgoing| outgoing.at.hold == Hold::Limiter(place);
            all.iter_mut().filter(limited).for_each(|outgoing| {
                (outgoing.at.hold, outgoing.at.line) = (Hold::Nothing, Line::Outside);
            });
            for slot in users.line {
                at.senders.activate(slot, at.world);
            }
            return;
        }
        if limiter.point.next_timer() < users.timer {
            users.timer = limiter.point.next_timer();
            agenda.plan(users.timer, Wake::Sender(users.slot));
        }
        if limiter.release() <= at.now {
            // From here on it waits for its turn, not for a time.
            at.senders.activate(users.slot, at.world);
        } else {
            outgoing.arm(limiter.release(), users.slot, agenda);
        }
    }
}
