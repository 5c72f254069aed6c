//! Start and end of the flows of a host.

use narrows_proto::stream::Endpoint;
use narrows_proto::units::{Bytes, Span, Time};

use super::agenda::Wake;
use super::new_flow::{NewFlow, Starter};
use super::nic::Place;
use super::outgoing::Outgoing;
use super::sending::Sending;
use super::transport::{Begin, Source};
use super::{Host, generator};
use crate::ids::FlowId;
use crate::mechanism::at_host::AtHost;
use crate::mechanism::flow::AtFlow;
use crate::mechanism::registry::each;
use crate::observe::Observer;
use crate::traffic::{FlowSpec, Milestone};
use crate::world::{NO_SLOT, World};

impl Host {
    /// Finds the flow that starts next, not before `earliest`: flows of one host start in the order in which they are scheduled.
    pub(super) fn find_next_start<O>(&mut self, earliest: Time, world: &World<O>) {
        let next = self.starts.get(self.started);
        let start = |flow: &FlowId| self.start_delays.after(world.shared.flows[flow.index()].start);
        self.next_start = next.map_or(Time::NEVER, |flow| start(flow).max(earliest));
    }

    pub(super) fn close<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let Some(outgoing) = self.senders.outgoing.get_mut(slot) else { return };
        if let Source::QueuePair(_) = outgoing.source {
            return self.close_messages(now, slot, world);
        }
        let flow = outgoing.of.flow;
        world.flows.senders[flow.index()] = NO_SLOT;
        world.log.outstanding -= 1;
        if now < world.shared.measured.start {
            outgoing.of.measure_from(outgoing.source.delivered());
        }
        let gave_up = outgoing.source.has_given_up();
        let record = outgoing.record();
        if O::ACTIVE
            && let Some(record) = &record
        {
            world.observer.closed(now, record);
        }
        world.log.senders.extend(record);
        world.log.note_closing(now, flow, gave_up);
        self.metrics.note(now, outgoing, &world.shared.groups[outgoing.group as usize]);
        if let Some(connection) = outgoing.source.end(&world.shared.groups[outgoing.group as usize]) {
            self.connections.sending.keep(outgoing.group, outgoing.to, Box::new(connection));
        }
        let starter = outgoing.of.starter;
        self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_end(at, slot)));
        let Some(outgoing) = self.senders.outgoing.get_mut(slot) else { return };
        outgoing.at = AtFlow::default();
        if !outgoing.place.queued {
            self.senders.outgoing.remove(slot);
        }
        let waits_in_vain = gave_up && matches!(starter, Some(Starter::Rank(_)));
        if !waits_in_vain {
            self.notify(now, starter, flow, world);
        }
        if !gave_up {
            self.announce(now, flow, Milestone::Sent, world);
        }
    }

    /// Notes what the flows under way have delivered.
    pub(super) fn sample<O>(&mut self, number: u32, world: &mut World<O>) {
        for outgoing in self.senders.outgoing.iter_mut() {
            world.log.sampled.add(number as usize, outgoing.group as usize, outgoing.source.delivered());
        }
        self.senders.agenda.plan_sample(number + 1, &world.shared.sampled);
    }

    pub(super) fn start_scheduled<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let flow = self.starts[self.started];
        self.started += 1;
        self.find_next_start(now, world);
        world.log.outstanding -= 1; // `start` counts it
        let FlowSpec { start, size, .. } = world.shared.flows[flow.index()];
        self.start(now, &NewFlow { flow, incarnation: 0, size, start, starter: None }, world);
    }

    /// Starts a flow now, be it later than it was to start.
    pub(super) fn start<O: Observer>(&mut self, now: Time, new: &NewFlow, world: &mut World<O>) {
        let spec = &world.shared.flows[new.flow.index()];
        let group = &world.shared.groups[spec.group.index()];
        if group.has_queue_pairs() {
            return self.enqueue_message(now, new, world);
        }
        let begin = Begin {
            size: new.size,
            at: Endpoint { link: self.rate, seed: world.shared.seed_of(new.flow, new.incarnation) },
            // Of groups that keep none there is none.
            connection: self.connections.sending.take(spec.group.0, spec.to).map(|connection| *connection),
        };
        if let Some(params) = group.keeps_ack_states()
            && let Some(state) = self.connections.receiving.next(spec.group.0, spec.to)
        {
            state.on_sent(params, now);
        }
        let mut source = Source::new(group, now, begin);
        self.metrics.recall(now, spec.to, &mut source, group);
        let place = Place::new(group.joins_at_head());
        let mut outgoing = Outgoing { place, ..Outgoing::new(new, spec.to, spec.group, source) };
        if now >= world.shared.measured.end {
            outgoing.of.measure_until(Bytes::ZERO);
        }
        let slot = self.senders.outgoing.add(outgoing);
        world.flows.senders[new.flow.index()] = slot;
        world.log.outstanding += 1;
        world.observer.started(now, new.flow);
        let doorbell = group.doorbell();
        self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_start(at, slot)));
        if doorbell == Span::ZERO {
            self.senders.attend(slot, world);
        } else if let Some(outgoing) = self.senders.outgoing.get_mut(slot) {
            outgoing.arm(now + doorbell, slot, &mut self.senders.agenda);
        }
    }

    pub(super) fn run_generator<O: Observer>(&mut self, now: Time, number: u32, world: &mut World<O>) {
        match self.generators[number as usize].step(now) {
            generator::Step::Start { transfers } => {
                for transfer in transfers {
                    let next = self.generators[number as usize].transfer(transfer);
                    let Some((flow, incarnation, size)) = next else { continue };
                    let new = NewFlow {
                        flow,
                        incarnation,
                        size,
                        start: now,
                        starter: Some(Starter::Generator(number)),
                    };
                    self.start(now, &new, world);
                }
            }
            generator::Step::Burst { flow, end, next } => {
                if world.flows.senders[flow.index()] == NO_SLOT {
                    let size = Bytes::ZERO;
                    let new = NewFlow { flow, incarnation: 0, size, start: now, starter: None };
                    self.start(now, &new, world);
                    world.log.outstanding -= 1; // a source of datagrams has no end to wait for
                }
                let slot = world.flows.senders[flow.index()];
                let outgoing = self.senders.outgoing.get_mut(slot);
                if let Some(source) = outgoing.and_then(|outgoing| outgoing.source.datagrams()) {
                    source.burst(now, end);
                }
                self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_burst(at, slot)));
                self.senders.attend(slot, world);
                self.senders.agenda.plan(next, Wake::Generator(number));
            }
            generator::Step::Over => world.log.outstanding -= 1,
        }
    }
}
