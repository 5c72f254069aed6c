//! Flows with a near-source loop (Annulus): a packet leaves when the flow and the loop allow it.
//!
//! Unlike a limiter a loop has no queue. A flow whose turn comes while the loop holds it up sends nothing, stands in the line
//! of those that share the loop, and has another turn when its packet may leave.

use std::collections::VecDeque;

use narrows_proto::annulus::{Aggregate, NearSource, near_source};
use narrows_proto::stream::{Held, Holding, Poll};
use narrows_proto::units::{BitRate, Time};

use super::Host;
use super::limited::Turn;
use super::outgoing::{Hold, Line, Outgoing};
use super::transport::Sending;
use crate::ids::{FlowId, GroupId, NodeId};
use crate::observe::Observer;
use crate::packet::Packet;
use crate::random::{Purpose, Stream};
use crate::record::ReactionRecord;
use crate::world::{GroupState, World};

/// The near-source loops of a host.
#[derive(Debug)]
pub(super) struct Gates {
    node: NodeId,
    line_rate: BitRate,
    random: Stream,
    /// By group that has sent something here.
    settings: Vec<(GroupId, near_source::Settings)>,
    gates: Vec<Gate>,
    /// Places of `gates` that no flow uses.
    free: Vec<u32>,
    /// The loops of aggregates: group and destination, with their place.
    shared: Vec<((GroupId, u32), u32)>,
    /// Numbers of loops in records begin here, behind those of limiters.
    first_number: u32,
    record: ReactionRecord,
}

/// One loop.
#[derive(Debug)]
struct Gate {
    near: NearSource,
    /// Its place in `settings`.
    settings: u32,
    /// Slots of flows that it holds up, longest first.
    line: VecDeque<u32>,
}

impl Gate {
    /// A flow stands in the line.
    fn join(&mut self, slot: u32, outgoing: &mut Outgoing) {
        if outgoing.line == Line::Outside {
            outgoing.line = Line::Waiting;
            self.line.push_back(slot);
        }
    }

    /// Something keeps a flow from sending: this loop or one before it in the line. If the flow could send, it stands in the
    /// line. Returns when to ask it again; never if somebody else will.
    fn hold(
        &mut self,
        now: Time,
        slot: u32,
        outgoing: &mut Outgoing,
        group: &GroupState,
        settings: &near_source::Settings,
    ) -> Time {
        let holding =
            Holding { app_limited: settings.app_limited, validate_window: settings.validate_window };
        match outgoing.source.hold(group, now, holding) {
            Held::Ready => {
                self.near.on_held(now);
                self.join(slot, outgoing);
                if self.line.front() == Some(&slot) { self.near.next_look() } else { Time::NEVER }
            }
            Held::Until(at) => {
                self.leave(slot, outgoing);
                at
            }
            Held::Blocked => {
                self.leave(slot, outgoing);
                Time::NEVER
            }
        }
    }

    /// A flow does not stand in the line.
    fn leave(&mut self, slot: u32, outgoing: &mut Outgoing) {
        if outgoing.line == Line::Waiting {
            outgoing.line = Line::Outside;
            if self.line.front() == Some(&slot) {
                self.line.pop_front();
            } else {
                self.line.retain(|waiting| *waiting != slot);
            }
        }
    }
}

impl Gates {
    pub(super) fn new(line_rate: BitRate, node: NodeId, seed: u64, first_number: u32) -> Self {
        Self {
            node,
            line_rate,
            random: Stream::new(seed, Purpose::NearSource, node.0.into()),
            settings: Vec::new(),
            gates: Vec::new(),
            free: Vec::new(),
            shared: Vec::new(),
            first_number,
            record: ReactionRecord::default(),
        }
    }

    /// The loop of a new flow of `group`: one of its own, or that of its aggregate.
    fn enter<O>(&mut self, flow: FlowId, world: &World<O>) -> Option<u32> {
        let spec = &world.shared.flows[flow.index()];
        let config = world.shared.groups[spec.group.index()].near_source.as_ref()?;
        let aggregate = match config.per {
            Aggregate::DestinationDc => config.places.get(spec.to.index()).copied().unwrap_or(0),
            Aggregate::Flow => return Some(self.open(spec.group, &config.params)),
            _ => 0,
        };
        let key = (spec.group, aggregate);
        Some(match self.shared.binary_search_by_key(&key, |entry| entry.0) {
            Ok(at) => self.shared[at].1,
            Err(at) => {
                let place = self.open(spec.group, &config.params);
                self.shared.insert(at, (key, place));
                place
            }
        })
    }

    fn open(&mut self, group: GroupId, params: &near_source::Params) -> u32 {
        let settings = self.settings.iter().position(|entry| entry.0 == group).unwrap_or_else(|| {
            self.settings.push((group, near_source::Settings::new(params, self.line_rate)));
            self.settings.len() - 1
        });
        let gate = Gate { near: NearSource::default(), settings: settings as u32, line: VecDeque::new() };
        match self.free.pop() {
            Some(place) => {
                self.gates[place as usize] = gate;
                place
            }
            None => {
                self.gates.push(gate);
                self.gates.len() as u32 - 1
            }
        }
    }

    pub(super) fn record(&self) -> ReactionRecord {
        self.record
    }

    fn observe<O: Observer>(&self, now: Time, place: u32, world: &mut World<O>) {
        if O::ACTIVE {
            let rate = self.gates[place as usize].near.rate().unwrap_or(self.line_rate);
            world.observer.limiter(now, self.node, self.first_number + place, rate, 0);
        }
    }
}

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
                    (Some((packet, Turn::GoesOn)), Time::NEVER)
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
