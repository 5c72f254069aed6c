//! Flows with a near-source loop (Annulus): a packet leaves when the flow and the loop allow it.
//!
//! Unlike a limiter a loop has no queue. A flow whose turn comes while the loop holds it up sends nothing, stands in the line
//! of those that share the loop, and has another turn when its packet may leave.

use narrows_proto::annulus::Aggregate;
use narrows_proto::stream::Poll;
use narrows_proto::units::Time;

use super::Host;
use super::outgoing::Hold;
use super::reaction_points::Turn;
use super::transport::Sending;
use crate::ids::FlowId;
use crate::observe::Observer;
use crate::packet::Packet;
use crate::world::World;

impl Host {
    /// What may hold a new flow back.
    pub(super) fn hold_of<O>(&mut self, flow: FlowId, world: &World<O>) -> Hold {
        if let Some(place) = self.gates.as_mut().and_then(|gates| gates.enter(flow, world)) {
            return Hold::Gate(place);
        }
        let spec = &world.shared.flows[flow.index()];
        let priority = world.shared.groups[spec.group.index()].priority;
        let points = self.reaction.as_ref();
        points.map_or(Hold::Nothing, |points| points.hold_of(flow, spec.from, spec.to, priority))
    }

    /// A message about a flow with a near-source loop arrived.
    #[cold]
    pub(super) fn on_gated_notice<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let (Some(gates), Some(notification)) = (&mut self.gates, packet.notification()) else { return };
        gates.record.heard += 1;
        world.observer.told(now, packet.flow(), notification.signal);
        let slot = world.flows.senders[packet.flow().index()];
        let Some(Hold::Gate(place)) = self.outgoing.get_mut(slot).map(|outgoing| outgoing.hold) else {
            gates.record.unheeded += 1; // the flow is complete
            return;
        };
        let gate = &mut gates.gates[place as usize];
        let settings = &gates.settings[gate.settings as usize].1;
        let began = gate.near.rate().is_none();
        gate.near.on_notification(settings, now, &notification, &mut || gates.random.uniform());
        gates.record.limiters += u64::from(began && gate.near.rate().is_some());
        gates.observe(now, place, world);
    }

    /// The turn of a flow with a near-source loop. Returns what to send; the turn is over if there is nothing.
    pub(super) fn gated_turn<O: Observer>(
        &mut self,
        now: Time,
        slot: u32,
        place: u32,
        world: &mut World<O>,
    ) -> Option<(Packet, Turn)> {
        let gates = self.gates.as_mut()?;
        let outgoing = self.outgoing.get_mut(slot)?;
        let group = &world.shared.groups[outgoing.group as usize];
        let gate = &mut gates.gates[place as usize];
        let settings = &gates.settings[gate.settings as usize].1;
        let random = &mut || gates.random.uniform();
        gate.near.advance(settings, now, outgoing.source.srtt(), random);
        let is_first = gate.line.front().is_none_or(|first| *first == slot);
        if !is_first || gate.near.release() > now {
            let again = gate.hold(now, slot, outgoing, group, settings);
            outgoing.arm(again.min(outgoing.next_timer()), slot, &mut self.agenda);
            self.call_first(now, place, world);
            return None;
        }
        let polled = outgoing.poll(now, group);
        gate.leave(slot, outgoing);
        let (sent, again) = match polled {
            Poll::Send(segment) => {
                let packet = outgoing.packet(&segment, group);
                gates.record.limited += u64::from(gate.near.rate().is_some());
                gate.near.on_sent(settings, now, packet.size(), random);
                // It would be held up in its next turn, so this one is over.
                if gate.near.release() > self.nic.sent_at(now, packet) {
                    let again = gate.hold(now, slot, outgoing, group, settings);
                    (Some((packet, Turn::Over)), again)
                } else {
                    (Some((packet, Turn::after(&segment))), Time::NEVER)
                }
            }
            Poll::At(at) => (None, at),
            Poll::Blocked => (None, Time::NEVER),
        };
        outgoing.arm(again.min(outgoing.next_timer()), slot, &mut self.agenda);
        if !gates.gates[place as usize].line.is_empty() {
            self.call_first(now, place, world);
        }
        sent
    }

    /// The first of the line has its turn when its packet may leave.
    fn call_first<O: Observer>(&mut self, now: Time, place: u32, world: &mut World<O>) {
        let Some(gates) = &mut self.gates else { return };
        gates.observe(now, place, world);
        let gate = &gates.gates[place as usize];
        let Some(&first) = gate.line.front() else { return };
        let at = gate.near.next_look();
        if at > now {
            if let Some(outgoing) = self.outgoing.get_mut(first) {
                outgoing.arm(at, first, &mut self.agenda);
            }
        } else {
            self.activate(first, world);
        }
    }

    /// A flow has ended. If it has a near-source loop, it leaves that.
    pub(super) fn leave_gate<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let (Some(gates), Some(outgoing)) = (&mut self.gates, self.outgoing.get_mut(slot)) else { return };
        let Hold::Gate(place) = outgoing.hold else { return };
        let gate = &mut gates.gates[place as usize];
        gate.leave(slot, outgoing);
        let group = gates.settings[gate.settings as usize].0;
        let of_its_own = world.shared.groups[group.index()]
            .near_source
            .as_ref()
            .is_some_and(|config| config.per == Aggregate::Flow);
        if of_its_own {
            gates.free.push(place);
        } else {
            self.call_first(now, place, world);
        }
    }
}
