//! Ports with a queue for each priority; the highest goes first.
//!
//! What else a port does is asked of the mechanisms of its switch at a few places, always in this order:
//!
//! ```text
//! a packet arrives      isolation names its queue; marking, admission, flow control take it or not;
//!                       isolation looks at the queue; the congestion point samples it
//! a port is free        frames and messages for the neighbor go first; the neighbor's stops and isolation say which queues may
//!                       send, isolation which of them does
//! a packet leaves       marking at dequeue; telemetry is written; flow control and isolation count it off
//! a frame arrives       stops change, isolation hears of it
//! ```
//! Mechanisms return what they decided; it is carried out here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use narrows_proto::units::{Span, Time};

use super::common::{Arriving, Common};
use super::queue::{Origin, QueuedPort, sojourn};
use crate::ids::{FlowId, HostId};
use crate::link::Egress;
use crate::mechanism::congestion_point::CongestionPoints;
use crate::mechanism::isolation::{Choice, FlowMessage, Joining, Stage};
use crate::mechanism::marking::{Leaving, Verdict};
use crate::mechanism::pfc::Watch;
use crate::mechanism::{FlowControl, ISOLATED_CLASS, StopFrame, StopOrder};
use crate::observe::Observer;
use crate::packet::{Control, ECT, Fields, Kind, NO_TRAILERS, Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::telemetry::Meter;
use crate::world::World;

/// All queued ports of a switch.
#[derive(Debug)]
pub(super) struct QueuedPorts {
    ports: Vec<QueuedPort>,
    /// When ports may send something they have: the number of a port. Behind those, the number of an input whose stop is to be
    /// renewed; behind those, a port whose isolation is to be looked at. An entry counts only if whoever it is of agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first of these times.
    next: Time,
    mechanisms: Option<Box<Mechanisms>>,
}

/// What the ports of a switch do besides queueing.
#[derive(Debug)]
pub(super) struct Mechanisms {
    /// Neighbors stop each other, or isolate flows.
    pub(super) neighbors: bool,
    pub(super) points: Option<CongestionPoints>,
    pub(super) flow_control: FlowControl,
    pub(super) isolation: Option<Stage>,
    /// By port, if the switch writes telemetry.
    pub(super) meters: Vec<Meter>,
    /// By port, if classes are stopped.
    pub(super) watches: Vec<Watch>,
    /// By port: what goes before all queues.
    pub(super) control: Vec<ControlQueue>,
    /// Links that lead to the switch.
    pub(super) inputs: usize,
    /// What a congestion point has just said.
    pub(super) message: Option<Packet>,
}

/// What a port sends to its neighbor before all queues.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlQueue {
    /// A frame that stops it. A later one takes its place.
    frame: Option<Packet>,
    /// Messages about flows, which go next.
    messages: Ring<Packet>,
}

impl ControlQueue {
    fn take(&mut self) -> Option<Packet> {
        let message = |messages: &mut Ring<Packet>| (!messages.is_empty()).then(|| messages.take());
        self.frame.take().or_else(|| message(&mut self.messages))
    }

    fn is_empty(&self) -> bool {
        self.frame.is_none() && self.messages.is_empty()
    }
}

impl Mechanisms {
    /// A bit for each queue of a port that may send.
    #[inline]
    fn open(&self, port: &QueuedPort, number: usize, now: Time) -> u16 {
        let stops = port.stops(now);
        self.isolation.as_ref().map_or(!stops, |isolation| isolation.open(number, stops))
    }

    /// A port that has something may send some of it.
    #[inline]
    fn may_send(&self, port: &QueuedPort, number: usize, now: Time) -> bool {
        port.occupied() & self.open(port, number, now) != 0
    }

    /// The queue of a port that sends next, if one may.
    #[inline]
    fn choose(&self, port: &QueuedPort, number: usize, now: Time) -> Option<Choice> {
        let ready = port.occupied() & self.open(port, number, now);
        match &self.isolation {
            None => port.highest(ready).map(|queue| Choice { queue, paid: false }),
            Some(isolation) => isolation.choose(number, ready, port.first_size(ISOLATED_CLASS)),
        }
    }
}

impl Mechanisms {
    /// A free port sends what goes next. Returns where it came from and its size, if somebody counts that.
    #[inline(always)]
    fn send_next<const NEIGHBORS: bool, O: Observer>(
        &mut self,
        at: Time,
        number: usize,
        port: &mut QueuedPort,
        slots: &mut Trailers,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Option<(Origin, u64)> {
        if NEIGHBORS && port.urgent {
            let control = &mut self.control[number];
            let packet = control.take();
            port.urgent = !control.is_empty();
            transmit(at, port, self.meters.get_mut(number), Parcel::bare(packet?), world);
            return None;
        }
        let choice = if NEIGHBORS {
            self.choose(port, number, at)?
        } else {
            Choice { queue: port.highest(port.occupied())?, paid: false }
        };
        let packet = port.pop(choice.queue, slots);
        let size = u64::from(packet.size());
        common.memory.used -= size;
        let left = NEIGHBORS.then(|| (Origin::of(packet), size));
        if NEIGHBORS && let Some(isolation) = &mut self.isolation {
            let view = port.view(at, number, isolation.priority());
            isolation.on_dequeue(view, choice, packet.size(), &mut world.observer);
        }
        world.observer.backlog(at, port.link(), port.waiting);
        let mut on_wire = packet;
        if common.marker.looks_at_dequeue() {
            let sojourn = sojourn(packet, at);
            let (queue, ect) = (choice.queue, packet.is(ECT));
            let leaving = Leaving { now: at, port: number, queue, sojourn, left: port.backlog(queue), ect };
            let parcel = Parcel { packet, trailers: slots };
            match common.judge_leaving(&leaving, parcel, None, world) {
                Some(packet) => on_wire = packet,
                // The port is still free, and sends the next.
                None => return left,
            }
        }
        if NEIGHBORS && choice.queue == ISOLATED_CLASS {
            on_wire = on_wire.isolated();
        }
        let parcel = Parcel { packet: on_wire, trailers: slots };
        transmit(at, port, self.meters.get_mut(number), parcel, world);
        left
    }
}

/// Sends a packet, into which the switch writes telemetry if both want it.
#[inline(always)]
fn transmit<O: Observer>(
    now: Time,
    port: &mut QueuedPort,
    meter: Option<&mut Meter>,
    parcel: Parcel<'_>,
    world: &mut World<O>,
) {
    let Some(meter) = meter else {
        port.transmit(now, parcel, world);
        return;
    };
    let mut trailers = *parcel.trailers;
    let packet = meter.send(now, parcel.packet, port.waiting, &mut trailers);
    port.transmit(now, Parcel { packet, trailers: &trailers }, world);
}

/// When a port may send something it has.
#[inline]
fn next_due(now: Time, port: &QueuedPort, number: usize, mechanisms: Option<&Mechanisms>) -> Time {
    let free_at = port.busy_until.max(now);
    if port.urgent {
        return free_at;
    }
    if port.occupied() == 0 {
        return Time::NEVER;
    }
    match mechanisms {
        Some(mechanisms) if mechanisms.neighbors && !mechanisms.may_send(port, number, free_at) => {
            if port.stops(free_at) != 0 { port.stopped_until } else { Time::NEVER }
        }
        _ => free_at,
    }
}

impl QueuedPorts {
    pub(super) fn new(egresses: &[Egress], mechanisms: Option<Mechanisms>) -> Self {
        Self {
            ports: egresses.iter().map(QueuedPort::new).collect(),
            agenda: BinaryHeap::new(),
            next: Time::NEVER,
            mechanisms: mechanisms.map(Box::new),
        }
    }

    /// Bytes that wait at all ports. Frames and messages to neighbors have their own place.
    pub(super) fn waiting(&self) -> u64 {
        self.ports.iter().map(|port| port.waiting).sum()
    }

    /// What the last packet that joined is answered with.
    pub(super) fn take_message(&mut self) -> Option<Packet> {
        self.mechanisms.as_mut()?.message.take()
    }

    /// A packet that came over link number `from` of the switch arrives at a port. Returns whether the congestion point has a
    /// message to its source.
    #[inline(always)]
    pub(super) fn join<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'_>,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        if self.next <= now {
            self.serve(now, common, world);
        }
        match &self.mechanisms {
            None => self.join_alone(now, number, parcel, common, world),
            Some(mechanisms) if mechanisms.neighbors => {
                return self.join_with_mechanisms::<true, O>(now, number, parcel, from, common, world);
            }
            Some(_) => {
                return self.join_with_mechanisms::<false, O>(now, number, parcel, from, common, world);
            }
        }
        false
    }

    /// A packet arrives at a port without mechanisms.
    #[inline]
    fn join_alone<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'_>,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let port = &mut self.ports[number];
        let Parcel { mut packet, trailers } = parcel;
        let queue = usize::from(packet.priority());
        let backlog = port.backlog(queue);
        let waits = port.busy_until > now;
        debug_assert!(waits || port.occupied() == 0, "a free port has sent what it had");
        let idle_since = (!waits).then_some(port.busy_until);
        match common
            .judge(&Arriving { now, port: number, parcel, backlog, idle_since, asks_memory: waits }, world)
        {
            Verdict::Pass => {}
            Verdict::Mark => packet = common.mark(now, number, packet, world),
            Verdict::Drop => return,
        }
        let parcel = Parcel { packet, trailers };
        common.tell_queued(now, number, parcel, if waits { backlog } else { 0 }, world);
        if waits {
            self.enqueue(now, number, queue, parcel, common, world);
        } else {
            port.transmit(now, parcel, world);
        }
    }

    /// A packet begins to wait.
    #[inline(always)]
    fn enqueue<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        queue: usize,
        parcel: Parcel<'_>,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let port = &mut self.ports[number];
        common.memory.used += u64::from(parcel.packet.size());
        port.push(queue, parcel);
        common.note_backlog(now, number, port.waiting, world);
        // One packet more never makes a port wait longer.
        if port.due > port.busy_until.max(now) {
            self.reconsider(now, number);
        }
    }

    /// A packet arrives at a port with mechanisms, some of which concern its neighbor, or none.
    #[inline(never)]
    fn join_with_mechanisms<const NEIGHBORS: bool, O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        Parcel { mut packet, trailers }: Parcel<'_>,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let Self { ports, mechanisms: Some(mechanisms), .. } = self else { return false };
        let port = &mut ports[number];
        let (isolated, priority) = (packet.is_isolated(), usize::from(packet.priority()));
        packet = packet.in_common();
        let mut queue = priority;
        if NEIGHBORS && let Some(isolation) = &mechanisms.isolation {
            queue = isolation.queue_of(number, packet);
        }
        let backlog = port.backlog(queue);
        let waits =
            port.busy_until > now || NEIGHBORS && mechanisms.open(port, number, now) & 1 << queue == 0;
        // Flow control by class admits packets itself.
        let asks_memory = waits && !(NEIGHBORS && mechanisms.flow_control.admits());
        let idle_since = (!waits).then_some(port.busy_until);
        let parcel = Parcel { packet, trailers };
        let arriving = Arriving { now, port: number, parcel, backlog, idle_since, asks_memory };
        let is_cnm = packet.is_cnm();
        if is_cnm {
            if !common.admit(&arriving, world) {
                return false;
            }
        } else {
            match common.judge(&arriving, world) {
                Verdict::Pass => {}
                Verdict::Mark => packet = common.mark(now, number, packet, world),
                Verdict::Drop => return false,
            }
        }
        let parcel = Parcel { packet, trailers };
        let size = u64::from(packet.size());
        let (mut notifies, class) = (false, if isolated { ISOLATED_CLASS } else { priority });
        if NEIGHBORS && waits {
            match mechanisms.flow_control.store(from, class, size, backlog) {
                Ok(changed) => notifies = changed,
                Err(cause) => {
                    common.drop(now, number, parcel, cause, world);
                    return false;
                }
            }
        }
        common.tell_queued(now, number, parcel, if waits { backlog } else { 0 }, world);
        let mut counted = false;
        if NEIGHBORS && let Some(isolation) = &mut mechanisms.isolation {
            let view = port.view(now, number, isolation.priority());
            let joining = Joining { packet, from, isolated, queue, waits };
            let joined = isolation.on_enqueue(view, &joining, &mut world.observer);
            counted = joined.counted;
            notifies |= joined.stop && mechanisms.flow_control.stop_isolated(from, true);
        }
        if waits {
            let origin = Origin { from, class, counted };
            self.enqueue(now, number, queue, parcel.with(packet.arriving(origin.keep(now))), common, world);
        } else {
            if common.marker.looks_at_dequeue() {
                let (sojourn, left, ect) = (Span::ZERO, 0, packet.is(ECT));
                let leaving = Leaving { now, port: number, queue, sojourn, left, ect };
                match common.judge_leaving(&leaving, parcel, idle_since, world) {
                    Some(judged) => packet = judged,
                    None => return false,
                }
            }
            let on_wire = if NEIGHBORS && queue == ISOLATED_CLASS { packet.isolated() } else { packet };
            transmit(now, port, mechanisms.meters.get_mut(number), parcel.with(on_wire), world);
        }
        let Some(mechanisms) = &mut self.mechanisms else { return false };
        let is_sample = match &mut mechanisms.points {
            Some(points) if !is_cnm => points.counts(number, packet),
            _ => false,
        };
        if NEIGHBORS && mechanisms.isolation.is_some() {
            self.carry_out(common, world);
        }
        if NEIGHBORS && notifies {
            self.order(now, from, common, world);
        }
        is_sample && self.sample(now, number, packet, if waits { backlog + size } else { 0 }, common, world)
    }

    /// A sample has joined a queue that holds `waiting` bytes now. Returns whether there is a message to its source.
    #[inline(never)]
    fn sample<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        packet: Packet,
        waiting: u64,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let Some(mechanisms) = &mut self.mechanisms else { return false };
        let points = mechanisms.points.as_mut();
        let answer = points.and_then(|points| points.answer(number, packet, waiting, world));
        let Some((message, signal)) = answer else { return false };
        common.note_message(now, number, signal, world);
        mechanisms.message = Some(message);
        true
    }

    /// A frame of the neighbor arrived: it takes none of these classes for a time, and takes all others.
    #[inline(never)]
    pub(super) fn on_stop<O: Observer>(
        &mut self,
        stop: &StopFrame,
        now: Time,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let StopFrame { link, classes, lasts } = *stop;
        let number = common.links.binary_search(&link).expect("a neighbor stops the link that leads to it");
        let until = if classes == 0 { now } else { now + lasts };
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let port = &mut self.ports[number];
        let before = port.stops(now);
        if let Some(watch) = mechanisms.watches.get_mut(number) {
            let waits = |class| port.backlog(class) > 0;
            watch.change(now, before, classes, waits, &mut common.counters[number]);
        }
        (port.stopped, port.stopped_until) = (classes, until);
        world.observer.paused(now, link, until);
        if let Some(isolation) = &mut mechanisms.isolation {
            isolation.on_stop(port.view(now, number, isolation.priority()), &mut world.observer);
        }
        self.carry_out(common, world);
        self.reconsider(now, number);
    }

    /// The neighbor at the other end of link number `from` says that a flow which goes there is congested, or no longer.
    #[inline(never)]
    pub(super) fn on_flow_message<O: Observer>(
        &mut self,
        now: Time,
        from: u32,
        message: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let Some(isolation) = self.mechanisms.as_mut().and_then(|mechanisms| mechanisms.isolation.as_mut())
        else {
            return;
        };
        let Some(number) = isolation.port_back(from) else { return };
        let view = self.ports[number].view(now, number, isolation.priority());
        isolation.on_message(view, message.seq(), message.turn() != 0, &mut world.observer);
        self.carry_out(common, world);
    }

    /// Bytes that wait at a port.
    pub(super) fn backlog<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        if self.next <= now {
            self.serve(now, common, world);
        }
        self.ports[number].waiting
    }

    /// Lets ports send until before `until`. Returns when the next one has something it may send.
    pub(super) fn serve_before<O: Observer>(
        &mut self,
        until: Time,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Time {
        if self.next < until {
            self.serve(Time::from_ps(until.as_ps() - 1), common, world);
        }
        self.next
    }

    /// Does everything due up to and including `now`.
    fn serve<O: Observer>(&mut self, now: Time, common: &mut Common, world: &mut World<O>) {
        let mut slots = NO_TRAILERS;
        while let Some(&Reverse((at, number))) = self.agenda.peek()
            && at <= now
        {
            self.step(at, number as usize, &mut slots, common, world);
        }
        self.next = self.agenda.peek().map_or(Time::NEVER, |entry| entry.0.0);
    }

    /// Does what the first entry of the agenda says.
    #[inline]
    fn step<O: Observer>(
        &mut self,
        at: Time,
        number: usize,
        slots: &mut Trailers,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(port) = self.ports.get_mut(number) else {
            self.agenda.pop();
            return self.on_timer(at, number - self.ports.len(), common, world);
        };
        if port.due != at {
            self.agenda.pop();
            return;
        }
        let left = match self.mechanisms.as_deref_mut() {
            None => {
                let packet = port.pop(port.highest(port.occupied()).unwrap_or(0), slots);
                common.memory.used -= u64::from(packet.size());
                world.observer.backlog(at, port.link(), port.waiting);
                port.transmit(at, Parcel { packet, trailers: slots }, world);
                None
            }
            Some(mechanisms) if mechanisms.neighbors => {
                mechanisms.send_next::<true, O>(at, number, port, slots, common, world)
            }
            Some(mechanisms) => mechanisms.send_next::<false, O>(at, number, port, slots, common, world),
        };
        port.due = next_due(at, port, number, self.mechanisms.as_deref());
        if let Some(mut entry) = self.agenda.peek_mut() {
            if port.due < Time::NEVER {
                entry.0.0 = port.due;
            } else {
                PeekMut::pop(entry);
            }
        }
        if let Some((origin, size)) = left {
            self.on_left(at, number, origin, size, common, world);
        }
    }

    /// A packet waits no longer.
    #[inline]
    fn on_left<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        Origin { from, class, counted }: Origin,
        size: u64,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let mut notifies = mechanisms.flow_control.release(from, class, size);
        if let Some(isolation) = &mut mechanisms.isolation {
            let view = self.ports[number].view(now, number, isolation.priority());
            let left = (from, size, class == ISOLATED_CLASS, counted);
            let go = isolation.on_left(view, left, &mut world.observer);
            notifies |= go && mechanisms.flow_control.stop_isolated(from, false);
            self.carry_out(common, world);
        }
        if notifies {
            self.order(now, from, common, world);
        }
    }

    /// The time has come to renew a stop, or to look at the isolation of a port.
    #[inline(never)]
    fn on_timer<O: Observer>(&mut self, now: Time, number: usize, common: &mut Common, world: &mut World<O>) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(port) = number.checked_sub(mechanisms.inputs) else {
            if mechanisms.flow_control.is_due(now, number as u32) {
                self.order(now, number as u32, common, world);
            }
            return;
        };
        if let Some(isolation) = &mut mechanisms.isolation {
            isolation.on_timer(self.ports[port].view(now, port, isolation.priority()), &mut world.observer);
            self.carry_out(common, world);
        }
    }

    /// Does what isolation has left in its outbox.
    #[inline]
    fn carry_out<O>(&mut self, common: &mut Common, world: &World<O>) {
        let isolation = self.mechanisms.as_mut().and_then(|mechanisms| mechanisms.isolation.as_mut());
        if let Some(outbox) = isolation.and_then(Stage::take_outbox) {
            for (at, port) in outbox.looks {
                let inputs = self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.inputs);
                self.plan(at, self.ports.len() + inputs + port);
            }
            for message in outbox.messages {
                self.send_flow_message(&message, common, world);
            }
        }
    }

    /// A message about a flow waits at the port that leads to a neighbor.
    #[inline(never)]
    fn send_flow_message<O>(&mut self, message: &FlowMessage, common: &mut Common, world: &World<O>) {
        let &FlowMessage { at, port, key, over } = message;
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let Some(isolation) = &mechanisms.isolation else { return };
        let packet = Packet::new(Fields {
            seq: key,
            flow: FlowId(key as u32),
            to: neighbor(world),
            size: isolation.message_size(),
            turn: over.into(),
            kind: Kind::Control(Control::Isolate),
            priority: isolation.priority(),
            flags: 0,
            trailers: 0,
        });
        common.counters[port].isolation_messages += 1;
        mechanisms.control[port].messages.push(packet);
        self.ports[port].urgent = true;
        self.reconsider(at, port);
    }

    /// Tells the neighbor at the other end of link number `from` what it may send.
    #[inline(never)]
    fn order<O: Observer>(&mut self, now: Time, from: u32, common: &mut Common, world: &mut World<O>) {
        let Some(mechanisms) = &mut self.mechanisms else { return };
        let order = mechanisms.flow_control.order(now, from, neighbor(world));
        let Some(StopOrder { port, frame, renew_at }) = order else { return };
        let number = port as usize;
        let (port, control) = (&mut self.ports[number], &mut mechanisms.control[number]);
        let at_once = port.busy_until <= now;
        // A free port sends it at once.
        control.frame = (!at_once).then_some(frame);
        port.urgent = !control.is_empty();
        if at_once {
            transmit(now, port, mechanisms.meters.get_mut(number), Parcel::bare(frame), world);
        }
        if renew_at < Time::NEVER {
            common.counters[number].pauses += 1;
            self.plan(renew_at, self.ports.len() + from as usize);
        }
        self.reconsider(now, number);
    }

    #[inline]
    fn plan(&mut self, at: Time, number: usize) {
        self.agenda.push(Reverse((at, number as u32)));
        self.next = self.next.min(at);
    }

    /// When a port may send may have changed.
    #[inline]
    fn reconsider(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        let due = next_due(now, port, number, self.mechanisms.as_deref());
        if due != port.due {
            port.due = due;
            if due < Time::NEVER {
                self.plan(due, number);
            }
        }
    }

    /// Brings counters up to date at the end of the run.
    pub(super) fn finish(&mut self, now: Time, common: &mut Common) {
        let watches = self.mechanisms.iter_mut().flat_map(|mechanisms| &mut mechanisms.watches);
        for ((port, watch), counters) in self.ports.iter().zip(watches).zip(&mut common.counters) {
            watch.finish(now, port.stops(now), |class| port.backlog(class) > 0, counters);
        }
        self.report(common);
    }

    /// Enters what mechanisms have counted by themselves into the counters of the ports.
    pub(super) fn report(&self, common: &mut Common) {
        let isolation = self.mechanisms.as_ref().and_then(|mechanisms| mechanisms.isolation.as_ref());
        let Some(isolation) = isolation else { return };
        for (number, counters) in common.counters.iter_mut().enumerate() {
            isolation.report(number, counters);
        }
    }
}

/// The address of frames for a neighbor: no host has it, so that they are recognized where routes are looked up.
fn neighbor<O>(world: &World<O>) -> HostId {
    HostId(world.shared.access.len() as u32 - 1)
}
