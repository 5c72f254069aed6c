//! Ports with a queue for each priority, of which the highest goes first, and a side queue for what a mechanism keeps apart.
//!
//! For all else a port asks the mechanisms of its switch at a few places, always in this order. Those of the list
//! ([`AtPorts`](crate::mechanism::at_ports::AtPorts)) have no names here:
//!
//! ```text
//! a packet arrives      the list names its queue; others give way to it; marking, admission, flow control take it or not;
//!                       the list looks at the queue; the congestion point samples it
//! a port is free        frames and messages for the neighbor go first; the neighbor's stops and the list say which queues may
//!                       send, the list which of them does
//! a packet leaves       the list counts it; marking at dequeue; telemetry is written; flow control and the list count it off
//! a frame arrives       stops change, the list is notified
//! ```
//! Mechanisms return what they decided; it is carried out here. One of them may keep what waits in queues of its own
//! ([`AtQueues`](crate::mechanism::at_queues::AtQueues)).

mod mechanisms;
mod neighbors;
mod room;
mod state;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use narrows_proto::units::{Span, Time};

use self::mechanisms::next_due;
pub(in crate::switch) use self::mechanisms::{ControlQueue, Mechanisms};
use super::common::{Arriving, Common};
use super::queue::{Origin, QueuedPort};
use crate::link::Egress;
use crate::mechanism::SIDE_CLASS;
use crate::mechanism::at_ports::Joining;
use crate::mechanism::at_queues::Place;
use crate::mechanism::marking::{Leaving, Verdict};
use crate::observe::Observer;
use crate::packet::{ECT, NO_TRAILERS, Packet, Parcel, Trailers};
use crate::path::NO_LINE;
use crate::record::DropCause;
use crate::world::World;

/// All queued ports of a switch.
#[derive(Debug)]
pub(in crate::switch) struct QueuedPorts {
    ports: Vec<QueuedPort>,
    /// When ports may send something they have: the number of a port. Behind those, the number of an input whose stop is to be
    /// renewed; behind those, a port whose mechanisms are to be asked; behind those, what goes back the way of another packet. An
    /// entry counts only if whoever it is of agrees.
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first of these times.
    next: Time,
    mechanisms: Option<Box<Mechanisms>>,
}

/// A packet that a port has taken.
struct Taken<'a> {
    parcel: Parcel<'a>,
    /// The class it came in.
    class: usize,
    /// The queue it joins, and the bytes that wait there.
    queue: usize,
    backlog: u64,
    waits: bool,
    /// The neighbor it came from is to be notified.
    notifies: bool,
}

impl QueuedPorts {
    pub(in crate::switch) fn new(egresses: &[Egress], mechanisms: Option<Mechanisms>) -> Self {
        Self {
            ports: egresses.iter().map(QueuedPort::new).collect(),
            agenda: BinaryHeap::new(),
            next: Time::NEVER,
            mechanisms: mechanisms.map(Box::new),
        }
    }

    /// The message that answers the last packet that joined.
    pub(in crate::switch) fn take_message(&mut self) -> Option<Packet> {
        self.mechanisms.as_mut()?.message.take()
    }

    /// A packet that came over link number `from` of the switch arrives at a port. Returns whether the congestion point has a
    /// message to its source.
    #[inline(always)]
    pub(in crate::switch) fn join<O: Observer>(
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
            Some(mechanisms) if mechanisms.replaces => {
                return self.join_replaced(now, number, parcel, from, common, world);
            }
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
        let queue = usize::from(parcel.packet.priority());
        let backlog = port.backlog(queue);
        let waits = port.busy_until > now;
        debug_assert!(waits || port.occupied() == 0, "a free port has sent what it had");
        let idle_since = (!waits).then_some(port.busy_until);
        let arriving =
            Arriving { now, port: number, parcel, queue, backlog, idle_since, needs_memory: waits };
        let Some(packet) = common.take(&arriving, true, world) else { return };
        let parcel = parcel.with(packet);
        common.report_queued(now, number, parcel, if waits { backlog } else { 0 }, world);
        if waits {
            self.enqueue::<false, O>(now, number, queue, parcel, common, world);
        } else {
            port.transmit(now, parcel, world);
        }
    }

    /// A packet begins to wait: at the port, or with a mechanism, if there is any.
    #[inline(always)]
    fn enqueue<const MECHANISMS: bool, O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        queue: usize,
        parcel: Parcel<'_>,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let Self { ports, mechanisms, .. } = self;
        let port = &mut ports[number];
        let keeper = mechanisms.as_mut().filter(|_| MECHANISMS).and_then(|all| all.queues.as_mut());
        common.memory.used += u64::from(parcel.packet.size());
        match keeper {
            None => port.push(queue, parcel),
            Some(keeper) => {
                keeper.push(Place { now, port: number, queue }, parcel);
                port.count_in(queue, parcel.packet);
            }
        }
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
        parcel: Parcel<'_>,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let taken = self.take::<NEIGHBORS, O>(now, number, parcel, from, common, world);
        let Some(Taken { parcel, class, queue, backlog, waits, mut notifies }) = taken else { return false };
        let Self { ports, mechanisms: Some(mechanisms), .. } = self else { return false };
        let (port, packet) = (&mut ports[number], parcel.packet);
        common.report_queued(now, number, parcel, if waits { backlog } else { 0 }, world);
        let mut counted = false;
        if NEIGHBORS {
            let joining = Joining { packet, from, class, queue, waits };
            let view = || port.view(now, number);
            let joined = mechanisms.at_ports.on_enqueue(view, &joining, &mut world.observer);
            counted = joined.counted;
            notifies |= joined.stop && mechanisms.flow_control.stop_side(from, true);
            if waits && queue == SIDE_CLASS {
                let backlog = backlog + u64::from(packet.size());
                world.observer.side_backlog(now, port.link(), backlog);
            }
        }
        if waits {
            let origin = Origin { from, class, counted };
            let parcel = parcel.with(packet.arriving(origin.keep(now)));
            self.enqueue::<true, O>(now, number, queue, parcel, common, world);
        } else {
            let ect = packet.is(ECT);
            let leaving = Leaving { now, port: number, queue, sojourn: Span::ZERO, left: 0, ect };
            let idle_since = Some(port.busy_until);
            let verdict = match &mut mechanisms.queues {
                None => Verdict::Pass,
                Some(queues) => queues.pass(Place { now, port: number, queue }, packet),
            };
            if !mechanisms.send::<NEIGHBORS, O>(
                (&leaving, verdict, from),
                port,
                parcel,
                idle_since,
                common,
                world,
            ) {
                return false;
            }
        }
        let points = self.mechanisms.as_mut().and_then(|mechanisms| mechanisms.points.as_mut());
        let is_sample = !packet.is_cnm() && points.is_some_and(|points| points.counts(number, packet));
        if NEIGHBORS {
            self.carry_out();
        }
        if NEIGHBORS && notifies {
            self.order(now, from, common, world);
        }
        let waiting = if waits { backlog + u64::from(packet.size()) } else { 0 };
        is_sample && self.sample(now, number, packet, waiting, common, world)
    }

    /// Decides what becomes of a packet that arrives: which queue it joins, whether it waits there. None if it has been dropped.
    #[inline(always)]
    fn take<'a, const NEIGHBORS: bool, O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'a>,
        from: u32,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Option<Taken<'a>> {
        let is_aside = NEIGHBORS && parcel.packet.is_aside();
        let packet = parcel.packet.in_common();
        let packet = match self.ports[number].line() {
            NO_LINE => packet,
            _ => self.police(now, number, packet, parcel.trailers, common, world)?,
        };
        let parcel = parcel.with(packet);
        let mechanisms = self.mechanisms.as_deref()?;
        let priority = usize::from(parcel.packet.priority());
        let queue = if NEIGHBORS { mechanisms.at_ports.queue_of(number, parcel.packet) } else { priority };
        let port = &self.ports[number];
        let waits =
            port.busy_until > now || NEIGHBORS && mechanisms.open(port, number, now) & 1 << queue == 0;
        // Flow control by class admits packets itself.
        let needs_memory = waits && !(NEIGHBORS && mechanisms.flow_control.admits());
        if needs_memory && mechanisms.queues.is_some() {
            let size = parcel.packet.size().into();
            self.make_room(Place { now, port: number, queue }, size, common, world);
        }
        let mechanisms = self.mechanisms.as_deref_mut()?;
        let port = &self.ports[number];
        let backlog = port.backlog(queue);
        let idle_since = (!waits).then_some(port.busy_until);
        let arriving = Arriving { now, port: number, parcel, queue, backlog, idle_since, needs_memory };
        // Messages of congestion points are neither marked nor sampled.
        let marks = !parcel.packet.is_cnm() && (!NEIGHBORS || mechanisms.at_ports.marks(queue));
        let packet = common.take(&arriving, marks, world)?;
        let parcel = parcel.with(packet);
        let class = if is_aside { SIDE_CLASS } else { priority };
        let mut notifies = false;
        if NEIGHBORS && waits {
            match mechanisms.flow_control.store(from, class, packet.size().into(), backlog) {
                Ok(changed) => notifies = changed,
                Err(cause) => {
                    if marks {
                        common.marker.take_back(number);
                    }
                    common.drop(now, number, parcel, cause, world);
                    return None;
                }
            }
        }
        Some(Taken { parcel, class, queue, backlog, waits, notifies })
    }

    /// A packet comes to the policer in front of a line, if that has one. None if it has been dropped.
    #[inline(never)]
    fn police<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        packet: Packet,
        trailers: &Trailers,
        common: &mut Common,
        world: &mut World<O>,
    ) -> Option<Packet> {
        match world.lines[self.ports[number].line() as usize].police(now, packet) {
            Verdict::Pass => Some(packet),
            Verdict::Mark => Some(common.mark(now, number, packet, world)),
            Verdict::Drop => {
                common.drop(now, number, Parcel { packet, trailers }, DropCause::Policer, world);
                None
            }
        }
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

    /// Lets ports send until before `until`. Returns when the next one has something it may send.
    pub(in crate::switch) fn serve_before<O: Observer>(
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
}
