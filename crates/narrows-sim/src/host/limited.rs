//! Flows that a limiter slows down: their packets pass through its queue.
//!
//! A limiter stands in the queues of the network card like a flow and has its turn like one. A flow it limits keeps its own
//! turn, in which it hands over all it may send.

use super::reaction_points::{Turn, Users};

use narrows_proto::stream::Poll;
use narrows_proto::units::{Bytes, Time};

use super::Host;
use super::agenda::Wake;
use super::nic::Place;
use super::outgoing::{Hold, Line, Outgoing};
use super::transport::Source;
use crate::ids::{FlowId, HostId};
use crate::observe::Observer;
use crate::packet::Packet;
use crate::record::ReactionRecord;
use crate::world::{NO_SLOT, World};

impl Host {
    /// A message of a congestion point arrived.
    #[cold]
    pub(super) fn on_notice<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let spec = world.shared.flows[packet.flow().index()];
        let group = &world.shared.groups[spec.group.index()];
        if group.near_source.is_some() {
            return self.on_gated_notice(now, packet, world);
        }
        let priority = group.priority;
        let (Some(points), Some(notification)) = (&mut self.reaction, packet.notification()) else { return };
        points.record.heard += 1;
        world.observer.told(now, packet.flow(), notification.signal);
        let key = points.limiters.scope().key(packet.flow(), spec.from, spec.to, priority);
        let place = match points.limiters.find(key) {
            Some(place) => place,
            None if notification.signal.is_slower() => self.install(key, packet.flow(), world),
            None => {
                points.record.unheeded += 1;
                return;
            }
        };
        let Some(points) = &mut self.reaction else { return };
        points.limiters.get_mut(place).on_notification(now, &notification);
        self.attend_limiter(now, place, world);
    }

    /// Gives `key` a limiter, and lets all flows with that key pass through it.
    fn install<O: Observer>(&mut self, key: u64, flow: FlowId, world: &mut World<O>) -> u32 {
        let points = self.reaction.as_mut().expect("the caller has looked");
        let place = points.limiters.assign(key, points.line_rate);
        let group = world.shared.flows[flow.index()].group;
        if points.users.len() <= place as usize {
            points.users.resize_with(place as usize + 1, Users::default);
        }
        if points.users[place as usize].slot == NO_SLOT {
            points.record.limiters += 1;
            points.users[place as usize].slot = self.outgoing.add(Outgoing {
                flow,
                to: HostId::default(),
                group: group.0,
                turn: 0,
                source: Source::Limiter(place),
                hold: Hold::Limiter(place),
                subflow: None,
                line: Line::Outside,
                start: Time::ZERO,
                size: Bytes::ZERO,
                before_measured: Bytes::ZERO,
                until_measured: None,
                place: Place::default(),
                armed: Time::NEVER,
                generator: None,
            });
        }
        let may_pass =
            |outgoing: &&mut Outgoing| outgoing.source.is_flow() && !matches!(outgoing.hold, Hold::Gate(_));
        for outgoing in self.outgoing.iter_mut().filter(may_pass) {
            let spec = &world.shared.flows[outgoing.flow.index()];
            let priority = world.shared.groups[outgoing.group as usize].priority;
            if points.limiters.scope().key(outgoing.flow, spec.from, spec.to, priority) == key {
                outgoing.hold = Hold::Limiter(place);
            }
        }
        place
    }

    /// The turn of a limiter, or of a flow that is governed by more than itself. Returns what to send; the turn is over if there is
    /// nothing, or no second packet when the first one has been sent.
    pub(super) fn governed_turn<O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        world: &mut World<O>,
    ) -> Option<(Packet, Turn)> {
        self.refresh(now, slot, world);
        let outgoing = self.outgoing.get_mut(slot)?;
        match outgoing.hold {
            Hold::Nothing => self.subflow_turn(now, slot, world),
            Hold::Gate(place) => self.gated_turn(now, slot, place, world),
            Hold::Limiter(place) => match outgoing.source {
                Source::Limiter(_) => self.release(now, place, world),
                _ => self.limited_turn(now, slot, place, world),
            },
        }
    }

    /// The turn of a flow that passes through a limiter: it hands over what it may send, and sends nothing.
    fn limited_turn<O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        place: u32,
        world: &mut World<O>,
    ) -> Option<(Packet, Turn)> {
        let outgoing = self.outgoing.get_mut(slot)?;
        let points = self.reaction.as_mut()?;
        let (room, limiter) = (points.limiters.room(), points.limiters.get_mut(place));
        let was_empty = limiter.waiting() == 0;
        let group = &world.shared.groups[outgoing.group as usize];
        let users = &mut points.users[place as usize];
        let may_enter = users.line.is_empty() || outgoing.line == Line::Admitted;
        if outgoing.line == Line::Admitted {
            outgoing.line = Line::Outside;
        }
        loop {
            if !may_enter || !limiter.has_room(room) {
                if outgoing.line == Line::Outside {
                    outgoing.line = Line::Waiting;
                    users.line.push_back(slot);
                }
                break;
            }
            match outgoing.poll(now, group) {
                Poll::Send(segment) => limiter.push(outgoing.packet(&segment, group)),
                Poll::At(at) => {
                    outgoing.arm(at, slot, &mut self.agenda);
                    break;
                }
                Poll::Blocked => break,
            }
        }
        outgoing.arm(outgoing.next_timer(), slot, &mut self.agenda);
        self.admit_next(place, world);
        // What comes behind other packets changes nothing about when the first may be sent.
        if was_empty {
            self.attend_limiter(now, place, world);
        }
        None
    }

    /// The turn of a limiter.
    fn release<O: Observer>(
        &mut self,
        now: Time,
        place: u32,
        world: &mut World<O>,
    ) -> Option<(Packet, Turn)> {
        let points = self.reaction.as_mut()?;
        let tag_size = points.limiters.tag_size();
        let users = &points.users[place as usize];
        let limiter = points.limiters.get_mut(place);
        if limiter.release() > now {
            self.attend_limiter(now, place, world);
            return None;
        }
        let packet = limiter.take(now, tag_size);
        points.record.limited += 1;
        let (next, is_over) = (limiter.release(), limiter.is_over());
        let turn = if next > self.nic.sent_at(now, packet) && !is_over { Turn::Over } else { Turn::GoesOn };
        if O::ACTIVE || is_over || limiter.point.next_timer() < users.timer {
            self.admit_next(place, world);
            self.attend_limiter(now, place, world);
            return Some((packet, turn));
        }
        if turn == Turn::Over
            && let Some(outgoing) = self.outgoing.get_mut(users.slot)
        {
            outgoing.arm(next, users.slot, &mut self.agenda);
        }
        if !users.line.is_empty() {
            self.admit_next(place, world);
        }
        Some((packet, turn))
    }

    /// If there is room in the queue of a limiter, the flow that waits longest for it may hand over packets. Several flows
    /// take turns packet by packet; for one alone it is cheaper to wait until the queue is half empty.
    fn admit_next<O: Observer>(&mut self, place: u32, world: &World<O>) {
        let Some(points) = &mut self.reaction else { return };
        let room = points.limiters.room();
        let line = &mut points.users[place as usize].line;
        let enough = if line.len() > 1 { room } else { room.div_ceil(2) };
        if line.is_empty() || !points.limiters.get_mut(place).has_room(enough) {
            return;
        }
        while let Some(slot) = line.pop_front() {
            let waiting = |outgoing: &&mut Outgoing| outgoing.line == Line::Waiting;
            if let Some(outgoing) = self.outgoing.get_mut(slot).filter(waiting) {
                outgoing.line = Line::Admitted;
                self.activate(slot, world);
                return;
            }
        }
    }

    /// A limiter may have something to send, its timer may have changed, and it may be over.
    fn attend_limiter<O: Observer>(&mut self, now: Time, place: u32, world: &mut World<O>) {
        let Some(points) = &mut self.reaction else { return };
        let (node, slot) = (points.node, points.users[place as usize].slot);
        let limiter = points.limiters.get_mut(place);
        world.observer.limiter(now, node, place, limiter.rate(), limiter.waiting());
        let Some(outgoing) = self.outgoing.get_mut(slot) else { return };
        if limiter.is_over() {
            points.limiters.remove(place);
            let users = std::mem::take(&mut points.users[place as usize]);
            outgoing.source = Source::Over;
            if !outgoing.place.queued {
                self.outgoing.remove(slot);
            }
            let limited = |outgoing: &&mut Outgoing| outgoing.hold == Hold::Limiter(place);
            self.outgoing.iter_mut().filter(limited).for_each(|outgoing| {
                (outgoing.hold, outgoing.line) = (Hold::Nothing, Line::Outside);
            });
            for slot in users.line {
                self.activate(slot, world);
            }
            return;
        }
        let timer = &mut points.users[place as usize].timer;
        if limiter.point.next_timer() < *timer {
            *timer = limiter.point.next_timer();
            self.agenda.plan(*timer, Wake::Sender(slot));
        }
        if limiter.release() <= now {
            // From here on it waits for its turn, not for a time.
            self.activate(slot, world);
        } else {
            outgoing.arm(limiter.release(), slot, &mut self.agenda);
        }
    }

    /// The agenda has an entry for a limiter.
    pub(super) fn wake_limiter<O: Observer>(&mut self, now: Time, place: u32, world: &mut World<O>) {
        let Some(points) = &mut self.reaction else { return };
        let timer = &mut points.users[place as usize].timer;
        if *timer > now && points.limiters.get_mut(place).release() <= now {
            let slot = points.users[place as usize].slot;
            return self.activate(slot, world);
        }
        if *timer <= now {
            *timer = Time::NEVER;
            points.limiters.get_mut(place).on_timer(now);
        }
        self.attend_limiter(now, place, world);
    }

    /// A flow that has just left its queue stands in it again if it may hand over packets to its limiter.
    pub(super) fn activate_if_admitted<O>(&mut self, slot: u32, world: &World<O>) {
        if self.outgoing.get_mut(slot).is_some_and(|outgoing| outgoing.line == Line::Admitted) {
            self.activate(slot, world);
        }
    }

    /// Where the packet goes that `outgoing` would send next: for a limiter that is the first of its queue. Nothing if it sends
    /// none itself.
    pub(super) fn next_destination(&mut self, slot: u32) -> Option<HostId> {
        let outgoing = self.outgoing.get_mut(slot)?;
        match outgoing.source {
            Source::Over => None,
            Source::Limiter(place) => self.reaction.as_mut()?.limiters.get_mut(place).front().map(Packet::to),
            _ if matches!(outgoing.hold, Hold::Limiter(_)) => None,
            _ => Some(outgoing.to),
        }
    }

    /// Puts what is in `slot` into a queue of the card, if it is in none.
    pub(super) fn activate<O>(&mut self, slot: u32, world: &World<O>) {
        let Some(outgoing) = self.outgoing.get_mut(slot) else { return };
        if !outgoing.place.queued {
            let priority = world.shared.groups[outgoing.group as usize].priority;
            self.nic.activate(priority, slot, &mut self.outgoing);
        }
    }

    pub(super) fn reaction_record(&self) -> Option<ReactionRecord> {
        self.reaction.as_ref().map(|points| points.record)
    }
}
