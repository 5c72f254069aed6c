//! Flows with a near-source loop (Annulus): a packet leaves when the flow and the loop allow it.
//!
//! Unlike a limiter a loop has no queue. A flow whose turn comes while the loop holds it up sends nothing, stands in the line
//! of those that share the loop, and has another turn when its packet may leave.

use narrows_proto::annulus::Aggregate;
use narrows_proto::stream::Poll;
use narrows_proto::units::Time;

use super::gates::Gates;
use crate::host::{Senders, Sending};
use crate::mechanism::at_host::{At, AtHost, Site, Turn};
use crate::mechanism::flow::Hold;
use crate::mechanism::limiter::ReactionPlace;
use crate::observe::Observer;
use crate::packet::{Control, Packet, Parcel};
use crate::record::PortCounters;
use crate::world::Log;

impl AtHost for Gates {
    fn new(site: &Site<'_>) -> Option<Self> {
        if site.groups.iter().all(|group| group.near_source.is_none()) {
            return None;
        }
        let at_host = site.network.reaction.as_ref().filter(|reaction| reaction.place == ReactionPlace::Host);
        Some(Self::at(site, at_host.map_or(0, |reaction| reaction.limiters)))
    }

    fn on_start<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return };
        if let Some(place) = self.enter(outgoing.of.flow, at.world) {
            outgoing.at.hold = Hold::Gate(place);
        }
    }

    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {
        if control == Control::Cnm && at.world.group_of(parcel.packet.flow()).near_source.is_some() {
            self.on_cnm(at, parcel.packet);
        }
    }

    #[inline(always)]
    fn turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> Option<Turn> {
        let Senders { nic, outgoing, agenda } = at.senders;
        let outgoing = outgoing.get_mut(slot)?;
        let Hold::Gate(place) = outgoing.at.hold else { return None };
        let now = at.now;
        let group = &at.world.shared.groups[outgoing.group as usize];
        let gate = &mut self.gates[place as usize];
        let settings = &self.settings[gate.settings as usize].1;
        let random = &mut || self.random.uniform();
        gate.near.advance(settings, now, outgoing.source.srtt(), random);
        let is_first = gate.line.front().is_none_or(|first| *first == slot);
        if !is_first || gate.near.release() > now {
            let again = gate.hold(now, slot, outgoing, group, settings);
            outgoing.arm(again.min(outgoing.next_timer()), slot, agenda);
            self.call_first(at, place);
            return Some(Turn::Nothing);
        }
        let polled = outgoing.poll(now, group);
        gate.leave(slot, outgoing);
        let (turn, again) = match polled {
            Poll::Send(segment) => {
                let packet = outgoing.packet(&segment, group);
                self.record.limited += u64::from(gate.near.rate().is_some());
                gate.near.on_sent(settings, now, packet.size(), random);
                // It would be held up in its next turn, so this one is over.
                if gate.near.release() > nic.sent_at(now, packet) {
                    (Turn::Last(packet), gate.hold(now, slot, outgoing, group, settings))
                } else {
                    (Turn::after(&segment, packet), Time::NEVER)
                }
            }
            Poll::At(at) => (Turn::Nothing, at),
            Poll::Blocked => (Turn::Nothing, Time::NEVER),
        };
        outgoing.arm(again.min(outgoing.next_timer()), slot, agenda);
        if !gate.line.is_empty() {
            self.call_first(at, place);
        }
        Some(turn)
    }

    fn on_end<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return };
        let Hold::Gate(place) = outgoing.at.hold else { return };
        let gate = &mut self.gates[place as usize];
        gate.leave(slot, outgoing);
        let group = self.settings[gate.settings as usize].0;
        let config = at.world.shared.groups[group.index()].near_source.as_ref();
        if config.is_some_and(|config| config.per == Aggregate::Flow) {
            self.free.push(place);
        } else {
            self.call_first(at, place);
        }
    }

    fn finish(&mut self, _: Time, _: &Senders, _: &mut PortCounters, log: &mut Log) {
        log.mechanisms.limiter.add(&self.record);
    }
}

impl Gates {
    /// A message about a flow with a near-source loop arrived.
    #[cold]
    fn on_cnm<O: Observer>(&mut self, at: &mut At<'_, O>, packet: Packet) {
        let Some(cnm) = packet.cnm() else { return };
        self.record.received += 1;
        at.world.observer.cnm_received(at.now, packet.flow(), cnm.signal);
        let slot = at.world.flows.senders[packet.flow().index()];
        let Some(Hold::Gate(place)) = at.senders.outgoing.get_mut(slot).map(|outgoing| outgoing.at.hold)
        else {
            self.record.ignored += 1; // the flow is complete
            return;
        };
        let gate = &mut self.gates[place as usize];
        let settings = &self.settings[gate.settings as usize].1;
        let began = gate.near.rate().is_none();
        gate.near.on_cnm(settings, at.now, &cnm, &mut || self.random.uniform());
        self.record.limiters += u64::from(began && gate.near.rate().is_some());
        self.observe(at.now, place, at.world);
    }

    /// The first of the line has its turn when its packet may leave.
    fn call_first<O: Observer>(&mut self, at: &mut At<'_, O>, place: u32) {
        self.observe(at.now, place, at.world);
        let gate = &self.gates[place as usize];
        let Some(&first) = gate.line.front() else { return };
        let next = gate.near.next_look();
        if next <= at.now {
            at.senders.activate(first, at.world);
        } else if let Some(outgoing) = at.senders.outgoing.get_mut(first) {
            outgoing.arm(next, first, &mut at.senders.agenda);
        }
    }
}
