//! Ports of a network without loss: scheduled ports that a neighbour stops by class (priority-based flow control), and that may
//! isolate congested flows in a queue of their own.

mod ingress;
mod isolation;
mod markings;
mod watch;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use narrows_proto::units::{Bytes, Time};

use self::ingress::Ingresses;
pub(crate) use self::ingress::{ISOLATED_CLASS, read};
pub use self::ingress::{Pfc, Xoff};
pub use self::isolation::{Isolation, IsolationEvent, JointStop, Scheme};
use self::isolation::{Left, Stage, Tell};
use self::markings::Side;
pub(crate) use self::watch::Watch;
use super::buffer::Buffer;
use super::common::{Common, OWN};
use super::congestion_point::{CongestionPoints, Sampler};
use super::marking::Verdict;
use super::pause::{InputLink, Order};
use super::scheduled::ScheduledPort;
use super::signalling::{neighbour, transmit};
use crate::ids::FlowId;
use crate::link::Egress;
use crate::observe::Observer;
use crate::packet::{ECT, Fields, Kind, NO_TRAILERS, Packet, Parcel, Trailers};
use crate::record::DropCause;
use crate::ring::Ring;
use crate::telemetry::Meter;
use crate::world::World;

/// All ports of a switch that stops its neighbours by class, or that they stop.
#[derive(Debug)]
pub(super) struct LosslessPorts {
    ports: Vec<LosslessPort>,
    /// When ports may send something they have, when stops are renewed, and when to look for queues of isolated flows that
    /// nobody needs: the number of a port, behind those of a link, behind those of a port again. An entry counts only if its
    /// port or link agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first of these times.
    next: Time,
    points: Option<CongestionPoints>,
    ingresses: Option<Ingresses>,
    /// Links that lead to the switch.
    links: usize,
    stage: Option<Box<Stage>>,
    /// What a congestion point has just said.
    message: Option<Packet>,
}

/// What [`LosslessPorts`] are made from.
pub(super) struct LosslessParts<'a> {
    pub(super) egresses: &'a [Egress],
    pub(super) meters: Vec<Meter>,
    pub(super) points: Option<CongestionPoints>,
    pub(super) buffer: &'a Buffer,
    pub(super) pfc: Option<&'a Pfc>,
    pub(super) isolation: Option<&'a Isolation>,
    /// The links that lead to the switch, in the order of its wires.
    pub(super) links: &'a [InputLink],
    pub(super) largest: Bytes,
}

/// A port.
#[derive(Debug)]
struct LosslessPort {
    port: ScheduledPort,
    sampler: Sampler,
    /// What writes telemetry, if the switch does.
    meter: Option<Meter>,
    /// When it may send something; the entry of the agenda that counts.
    due: Time,
    /// A bit for each class that the neighbour does not take before `stopped_until`.
    stopped: u16,
    stopped_until: Time,
    watch: Watch,
    /// A PFC frame that goes before everything else. A later one takes its place.
    frame: Option<Packet>,
    /// Messages to the neighbour, which go next.
    messages: Ring<Packet>,
}

/// Whether packets of a class wait at a port.
fn waits(port: &ScheduledPort, stage: Option<&Stage>, number: usize, class: usize) -> bool {
    match (class, stage) {
        (ISOLATED_CLASS, Some(stage)) => !stage.lane(number).is_empty(),
        (ISOLATED_CLASS, None) => false,
        (priority, _) => port.backlog(priority as u8) > 0,
    }
}

/// A queue of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Priority(u8),
    /// That of isolated flows. `paid`: others of their priority wait.
    Isolated {
        paid: bool,
    },
}

/// Where a packet came from, kept instead of its time of arrival while it waits.
#[derive(Clone, Copy, Debug)]
struct Origin {
    from: u32,
    class: usize,
    /// It was counted in the congested queue of its link.
    counted: bool,
}

impl Origin {
    fn keep(self) -> Time {
        Time::from_ps(u64::from(self.from) | (self.class as u64) << 32 | u64::from(self.counted) << 36)
    }

    fn of(packet: Packet) -> Self {
        let kept = packet.at().as_ps();
        Self { from: kept as u32, class: (kept >> 32 & 15) as usize, counted: kept >> 36 & 1 != 0 }
    }
}

impl LosslessPorts {
    pub(super) fn new(parts: LosslessParts<'_>) -> Self {
        let LosslessParts { egresses, meters, mut points, buffer, pfc, isolation, links, largest } = parts;
        let mut meters = meters.into_iter();
        let mut port = |egress| LosslessPort {
            port: ScheduledPort::new(egress),
            sampler: points.as_mut().map(CongestionPoints::sampler).unwrap_or_default(),
            meter: meters.next(),
            due: Time::NEVER,
            stopped: 0,
            stopped_until: Time::ZERO,
            watch: Watch::default(),
            frame: None,
            messages: Ring::default(),
        };
        let isolating = isolation.is_some();
        Self {
            ports: egresses.iter().map(&mut port).collect(),
            agenda: BinaryHeap::new(),
            next: Time::NEVER,
            points,
            links: links.len(),
            ingresses: pfc.map(|pfc| Ingresses::new(pfc, buffer, isolating, links, largest)),
            stage: isolation.map(|config| Box::new(Stage::new(config, egresses.len(), links, largest))),
            message: None,
        }
    }

    /// Bytes that wait at all ports. PFC frames and messages to neighbours have their own place.
    pub(super) fn waiting(&self) -> u64 {
        self.ports.iter().map(|port| port.port.waiting).sum()
    }

    /// What the last packet that joined is answered with.
    pub(super) fn take_message(&mut self) -> Option<Packet> {
        self.message.take()
    }

    /// A packet that came over link number `from` of the switch arrives at a port. Returns whether the congestion point has
    /// a message to its source.
    #[inline(never)]
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
        let came_isolated = parcel.packet.is_isolated();
        let packet = parcel.packet.in_common();
        let priority = packet.priority();
        let side = self.stage.as_ref().map_or(Side::Normal, |stage| stage.side(number, packet));
        let port = &mut self.ports[number];
        let backlog = match (side, &self.stage) {
            (Side::Congested, Some(stage)) => stage.lane(number).backlog,
            _ => port.port.backlog(priority),
        };
        let queue = match side {
            Side::Normal => Queue::Priority(priority),
            Side::Congested => Queue::Isolated { paid: false },
        };
        let waits = port.port.busy_until > now || !port.is_open(now, number, queue, self.stage.as_deref());
        let is_message = packet.is_notice();
        let verdict = if is_message {
            Verdict::Pass
        } else {
            let idle_since = (!waits).then_some(port.port.busy_until);
            common.marker.judge(now, number, backlog, idle_since, packet.is(ECT))
        };
        let class = if came_isolated { ISOLATED_CLASS } else { priority.into() };
        let mut tells_neighbour = false;
        let packet = match verdict {
            Verdict::Drop => {
                common.drop(now, number, parcel.with(packet), DropCause::Red, world);
                return false;
            }
            Verdict::Mark => common.mark(now, number, packet, world),
            Verdict::Pass => packet,
        };
        let size = u64::from(packet.size());
        if waits {
            match &mut self.ingresses {
                Some(ingresses) => match ingresses.store(from, class, size, backlog) {
                    Ok(tells) => tells_neighbour = tells,
                    Err(cause) => {
                        common.drop(now, number, parcel.with(packet), cause, world);
                        return false;
                    }
                },
                None => {
                    if common.admit(now, number, parcel.with(packet), backlog, false, world).is_none() {
                        return false;
                    }
                }
            }
            common.memory.used += size;
        }
        common.tell_queued(now, number, parcel.with(packet), if waits { backlog } else { 0 }, world);
        let origin = Origin { from, class, counted: false };
        match (queue, &mut self.stage) {
            (Queue::Isolated { .. }, Some(stage)) => {
                if waits {
                    let stored = stage.store(now, number, packet, from, came_isolated);
                    let packet = packet.arriving(Origin { counted: stored.counted, ..origin }.keep());
                    stage.lane_mut(number).push(parcel.with(packet));
                    port.port.waiting += size;
                    let isolated = stage.lane(number).backlog;
                    world.observer.isolated_backlog(now, common.links[number], isolated);
                    if stored.input_allocated {
                        self.note(now, from, IsolationEvent::AllocatedAtInput, world);
                    }
                    if stored.stop
                        && let Some(ingresses) = &mut self.ingresses
                    {
                        tells_neighbour |= ingresses.stop_isolated(from, true);
                    }
                    if let Some(tell) = stored.tell {
                        self.tell(now, tell, common, world);
                    }
                } else {
                    let markings = &mut stage.lane_mut(number).markings;
                    markings.join(Side::Congested);
                    markings.leave(Side::Congested);
                    transmit(now, &mut port.port, &mut port.meter, parcel.with(packet.isolated()), world);
                }
            }
            (_, stage) => {
                if waits {
                    port.port.push(parcel.with(packet.arriving(origin.keep())));
                } else {
                    transmit(now, &mut port.port, &mut port.meter, parcel.with(packet), world);
                }
                if let Some(stage) = stage
                    && priority == stage.config.priority
                {
                    stage.lane_mut(number).markings.join(Side::Normal);
                    if !waits {
                        stage.lane_mut(number).leave_normal();
                    }
                    let congested = waits && backlog + size >= stage.config.detect.get();
                    if congested && from != OWN {
                        self.detect(now, number, packet, common, world);
                    }
                }
            }
        }
        if waits {
            common.note_backlog(now, number, self.ports[number].port.waiting, world);
            self.reconsider(now, number);
        }
        if tells_neighbour {
            self.order(now, from, common, world);
        }
        let sampler = &mut self.ports[number].sampler;
        let is_sample =
            !is_message && self.points.as_ref().is_some_and(|points| points.counts(sampler, packet));
        is_sample && self.sample(now, number, packet, if waits { backlog + size } else { 0 }, common, world)
    }

    /// A packet that has joined a queue of `waiting` bytes is a sample. Returns whether its source is told something.
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
        let Some(points) = &mut self.points else { return false };
        self.message =
            points.answer(now, &mut self.ports[number].sampler, number, packet, waiting, common, world);
        self.message.is_some()
    }

    /// A packet has joined a queue that is congested: its flow is, unless those who wait there may be victims.
    #[inline(never)]
    fn detect<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        packet: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(stage) = &mut self.stage else { return };
        let stopped = self.ports[number].stops(now) & 1 << packet.priority() != 0;
        if !(stage.config.spare_stopped && stopped) {
            self.isolate(now, number, isolation::key(packet), false, common, world);
        }
    }

    fn isolate<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        key: u64,
        downstream: bool,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(first) = self.stage.as_mut().and_then(|stage| stage.isolate(number, key, downstream)) else {
            return;
        };
        self.plan_look(now, number, downstream);
        if O::ACTIVE {
            let link = common.links[number];
            if first {
                world.observer.isolation(now, link, IsolationEvent::Allocated);
            }
            world.observer.isolation(now, link, IsolationEvent::Flow(FlowId(key as u32)));
        }
    }

    /// Plans to look whether a port still needs its queue for isolated flows.
    fn plan_look(&mut self, now: Time, number: usize, downstream: bool) {
        let after = self.stage.as_mut().and_then(|stage| {
            let after = stage.look_after(downstream)?;
            let lane = stage.lane_mut(number);
            (!std::mem::replace(&mut lane.look_planned, true)).then_some(after)
        });
        if let Some(after) = after {
            let at = now + after;
            self.agenda.push(Reverse((at, (self.ports.len() + self.links + number) as u32)));
            self.next = self.next.min(at);
        }
    }

    /// The time has come to look whether a port still needs its queue for isolated flows.
    #[inline(never)]
    fn look<O: Observer>(&mut self, now: Time, number: usize, common: &mut Common, world: &mut World<O>) {
        let stopped = self.ports[number].stops(now) & 1 << ISOLATED_CLASS != 0;
        if let Some(stage) = &mut self.stage {
            stage.lane_mut(number).look_planned = false;
        }
        if self
            .stage
            .as_ref()
            .is_some_and(|stage| stage.is_allocated(number) && stage.is_idle(number, stopped))
        {
            self.close(now, number, common, world);
        } else {
            self.end_isolation(now, number, common, world);
        }
        if self.stage.as_ref().is_some_and(|stage| stage.is_allocated(number)) {
            self.plan_look(now, number, true);
        }
    }

    /// Tells the neighbour at the other end of a link that a flow is congested, or no longer.
    #[inline(never)]
    fn tell<O: Observer>(&mut self, now: Time, tell: Tell, common: &mut Common, world: &mut World<O>) {
        let (Some(stage), Some(ingresses)) = (&self.stage, &self.ingresses) else { return };
        let Some(back) = ingresses.port_back(tell.from) else { return };
        let message = Packet::new(Fields {
            seq: tell.key,
            flow: FlowId(tell.key as u32),
            to: neighbour(world),
            size: stage.config.message_size.get() as u16,
            turn: tell.over.into(),
            kind: Kind::Isolate,
            priority: stage.config.priority,
            flags: 0,
            trailers: 0,
        });
        common.counters[back].isolation_messages += 1;
        self.ports[back].messages.push(message);
        if !tell.over {
            self.note(now, tell.from, IsolationEvent::Told(message.flow()), world);
        }
        self.reconsider(now, back);
    }

    /// A neighbour says that a flow which goes there is congested, or no longer.
    #[inline(never)]
    pub(super) fn on_told<O: Observer>(
        &mut self,
        now: Time,
        from: u32,
        message: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let port = self.ingresses.as_ref().and_then(|ingresses| ingresses.port_back(from));
        let (Some(port), Some(stage)) = (port, &mut self.stage) else { return };
        if message.turn() == 0 {
            self.isolate(now, port, message.seq(), true, common, world);
        } else {
            stage.take_back(port, message.seq());
            self.end_isolation(now, port, common, world);
        }
    }

    /// A PFC frame arrived: the neighbour does not take these classes for a time, and takes all others.
    #[inline(never)]
    pub(super) fn stop<O: Observer>(
        &mut self,
        now: Time,
        frame: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        self.serve(now, common, world);
        let (link, mask, span) = read(frame);
        let number = common.links.binary_search(&link).expect("a neighbour stops the link that leads to it");
        let until = if mask == 0 { now } else { now + span };
        let port = &mut self.ports[number];
        let counters = &mut common.counters[number];
        let waits = |class: usize| waits(&port.port, self.stage.as_deref(), number, class);
        port.watch.change(now, port.stops(now), mask, waits, counters);
        (port.stopped, port.stopped_until) = (mask, until);
        world.observer.paused(now, link, until);
        self.end_isolation(now, number, common, world);
        self.reconsider(now, number);
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
        self.ports[number].port.waiting
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
        if number >= self.ports.len() {
            self.agenda.pop();
            let from = (number - self.ports.len()) as u32;
            if from as usize >= self.links {
                return self.look(at, from as usize - self.links, common, world);
            }
            if self.ingresses.as_ref().is_some_and(|ingresses| ingresses.is_due(at, from)) {
                self.order(at, from, common, world);
            }
            return;
        }
        let port = &mut self.ports[number];
        if port.due != at {
            self.agenda.pop();
            return;
        }
        let mut gone = None;
        if let Some(frame) = port.frame.take() {
            transmit(at, &mut port.port, &mut port.meter, Parcel::bare(frame), world);
        } else if !port.messages.is_empty() {
            let message = port.messages.take();
            transmit(at, &mut port.port, &mut port.meter, Parcel::bare(message), world);
        } else if let Some(queue) = port.choose(at, number, self.stage.as_deref()) {
            let packet = port.pop(at, number, queue, slots, self.stage.as_deref_mut(), common, world);
            common.memory.used -= u64::from(packet.size());
            world.observer.backlog(at, port.port.link(), port.port.waiting);
            let isolated = matches!(queue, Queue::Isolated { .. });
            let on_wire = if isolated { packet.isolated() } else { packet };
            transmit(at, &mut port.port, &mut port.meter, Parcel { packet: on_wire, trailers: slots }, world);
            gone = Some(packet);
        }
        port.due = port.next(at, number, self.stage.as_deref());
        if let Some(mut entry) = self.agenda.peek_mut() {
            if port.due < Time::NEVER {
                entry.0.0 = port.due;
            } else {
                PeekMut::pop(entry);
            }
        }
        if let Some(packet) = gone {
            self.release(at, number, packet, common, world);
        }
    }

    /// A packet waits no longer.
    #[inline]
    fn release<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        packet: Packet,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Origin { from, class, counted } = Origin::of(packet);
        let size = u64::from(packet.size());
        let Some(ingresses) = &mut self.ingresses else { return };
        let mut tells = ingresses.release(from, class, size);
        if let Some(stage) = &mut self.stage {
            if counted {
                let (go, freed) = stage.release_input(from, size, class == ISOLATED_CLASS);
                tells |= go && ingresses.stop_isolated(from, false);
                if freed {
                    self.note(now, from, IsolationEvent::FreedAtInput, world);
                }
            }
            self.end_isolation(now, number, common, world);
        }
        if tells {
            self.order(now, from, common, world);
        }
    }

    /// Ends isolation at a port if its queues are empty enough.
    #[inline]
    fn end_isolation<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Some(stage) = &mut self.stage else { return };
        let port = &self.ports[number];
        let stopped = port.stops(now) & 1 << ISOLATED_CLASS != 0;
        let normal = port.port.backlog(stage.config.priority);
        if stage.is_over(now, number, normal, stopped) {
            self.close(now, number, common, world);
        }
    }

    #[inline(never)]
    fn close<O: Observer>(&mut self, now: Time, number: usize, common: &mut Common, world: &mut World<O>) {
        let Some(stage) = &mut self.stage else { return };
        let mut tells = Vec::new();
        let left = stage.close(number, |tell| tells.push(tell));
        if left == Left::Freed {
            world.observer.isolation(now, common.links[number], IsolationEvent::Freed);
        }
        for tell in tells {
            self.tell(now, tell, common, world);
        }
    }

    /// Something happened at the input of link number `from`.
    fn note<O: Observer>(&self, now: Time, from: u32, event: IsolationEvent, world: &mut World<O>) {
        if O::ACTIVE
            && let Some(ingresses) = &self.ingresses
        {
            world.observer.isolation(now, ingresses.link(from), event);
        }
    }

    /// Tells the neighbour at the other end of a link which classes it may send.
    #[inline(never)]
    fn order<O: Observer>(&mut self, now: Time, from: u32, common: &mut Common, world: &mut World<O>) {
        let Some(ingresses) = &mut self.ingresses else { return };
        let Order { port, ingress, frame, renew_at } = ingresses.order(now, from, neighbour(world));
        let number = port as usize;
        if renew_at < Time::NEVER {
            common.counters[number].pauses += 1;
            self.agenda.push(Reverse((renew_at, (self.ports.len() + ingress as usize) as u32)));
            self.next = self.next.min(renew_at);
        }
        let port = &mut self.ports[number];
        if port.port.busy_until <= now {
            // A free port sends it at once.
            port.frame = None;
            transmit(now, &mut port.port, &mut port.meter, Parcel::bare(frame), world);
        } else {
            port.frame = Some(frame);
        }
        self.reconsider(now, number);
    }

    /// When a port may send may have changed.
    #[inline]
    fn reconsider(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        let due = port.next(now, number, self.stage.as_deref());
        if due != port.due {
            port.due = due;
            if due < Time::NEVER {
                self.agenda.push(Reverse((due, number as u32)));
                self.next = self.next.min(due);
            }
        }
    }

    /// Brings counters up to date at the end of the run.
    pub(super) fn finish(&mut self, now: Time, common: &mut Common) {
        for (number, (port, counters)) in self.ports.iter_mut().zip(&mut common.counters).enumerate() {
            let waits = |class: usize| waits(&port.port, self.stage.as_deref(), number, class);
            port.watch.finish(now, port.stops(now), waits, counters);
        }
        self.report_lanes(common);
    }

    /// Enters what happened to queues for isolated flows into the counters of their ports.
    pub(super) fn report_lanes(&self, common: &mut Common) {
        let Some(stage) = &self.stage else { return };
        for (number, counters) in common.counters.iter_mut().enumerate() {
            stage.lane(number).report(counters);
        }
    }
}

impl LosslessPort {
    /// A bit for each class that the neighbour does not take.
    #[inline]
    fn stops(&self, now: Time) -> u16 {
        if now < self.stopped_until { self.stopped } else { 0 }
    }

    /// Whether a queue and the isolated flows may send, as far as the neighbour and markings are concerned: a bit for each
    /// priority, and whether isolated flows may.
    #[inline]
    fn open(&self, now: Time, number: usize, stage: Option<&Stage>) -> (u8, bool) {
        let stops = self.stops(now);
        let open = !(stops as u8);
        let Some(stage) = stage else { return (open, false) };
        let (lane, priority) = (stage.lane(number), stage.config.priority);
        let stopped = stops & 1 << ISOLATED_CLASS != 0;
        let joint = stopped
            && match stage.joint_stop {
                JointStop::Never => false,
                JointStop::WhileClosing => lane.markings.is_closing(),
                JointStop::WithMarkings => lane.markings.is_active(),
            };
        let blocked = joint || lane.markings.blocks(Side::Normal);
        let open = if blocked { open & !(1 << priority) } else { open };
        (open, !stopped && !lane.markings.blocks(Side::Congested))
    }

    /// Whether a queue may send.
    #[inline]
    fn is_open(&self, now: Time, number: usize, queue: Queue, stage: Option<&Stage>) -> bool {
        let (open, isolated) = self.open(now, number, stage);
        match queue {
            Queue::Priority(priority) => open & 1 << priority != 0,
            Queue::Isolated { .. } => isolated,
        }
    }

    /// The queue that sends next, if one may: the highest priority, and of the watched one those that are not isolated unless
    /// the others have a share left.
    #[inline]
    fn choose(&self, now: Time, number: usize, stage: Option<&Stage>) -> Option<Queue> {
        let (open, isolated) = self.open(now, number, stage);
        let ready = self.port.occupied() & open;
        let highest = (ready != 0).then(|| 7 - ready.leading_zeros() as u8);
        let Some(stage) = stage.filter(|stage| isolated && !stage.lane(number).is_empty()) else {
            return highest.map(Queue::Priority);
        };
        let watched = stage.config.priority;
        Some(match highest {
            Some(highest) if highest > watched => Queue::Priority(highest),
            Some(highest) if highest == watched && !stage.has_credit(number) => Queue::Priority(highest),
            Some(highest) => Queue::Isolated { paid: highest == watched },
            None => Queue::Isolated { paid: false },
        })
    }

    /// Takes the next packet of a queue.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn pop<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        queue: Queue,
        slots: &mut Trailers,
        stage: Option<&mut Stage>,
        common: &Common,
        world: &mut World<O>,
    ) -> Packet {
        let (packet, left) = match (queue, stage) {
            (Queue::Isolated { paid }, Some(stage)) => {
                let (packet, left) = stage.lane_mut(number).pop(now, paid, slots);
                self.port.waiting -= u64::from(packet.size());
                let isolated = stage.lane(number).backlog;
                world.observer.isolated_backlog(now, common.links[number], isolated);
                (packet, left)
            }
            (Queue::Priority(priority), Some(stage)) if priority == stage.config.priority => {
                let packet = self.port.pop_from(priority, slots);
                if !stage.lane(number).is_empty() {
                    stage.earn(number, packet.size().into());
                }
                (packet, stage.lane_mut(number).leave_normal())
            }
            (Queue::Priority(priority), _) => (self.port.pop_from(priority, slots), Left::Nothing),
            (Queue::Isolated { .. }, None) => unreachable!("isolated flows have a stage"),
        };
        if left == Left::Freed {
            world.observer.isolation(now, common.links[number], IsolationEvent::Freed);
        }
        packet
    }

    /// When the port may send something it has.
    #[inline]
    fn next(&self, now: Time, number: usize, stage: Option<&Stage>) -> Time {
        let free_at = self.port.busy_until.max(now);
        let nothing_waits = self.port.waiting == 0;
        if self.frame.is_some() || !self.messages.is_empty() {
            free_at
        } else if nothing_waits {
            Time::NEVER
        } else if self.choose(free_at, number, stage).is_some() {
            free_at
        } else if self.stops(free_at) != 0 {
            self.stopped_until
        } else {
            Time::NEVER
        }
    }
}
