//! Work of the ports of a switch besides queueing, and a port that sends what mechanisms choose.

use std::collections::VecDeque;

use narrows_proto::units::Time;

use crate::ids::HostId;
use crate::mechanism::at_ports::{AtPorts as _, Choice, Departing, Return};
use crate::mechanism::at_queues::Place;
use crate::mechanism::congestion_point::CongestionPoints;
use crate::mechanism::marking::{Leaving, Verdict};
use crate::mechanism::pfc::Watch;
use crate::mechanism::registry::{PortMechanisms, QueueMechanisms, each_at_ports};
use crate::mechanism::telemetry::Meter;
use crate::mechanism::{FlowControl, SIDE_CLASS};
use crate::observe::Observer;
use crate::packet::{ECT, Packet, Parcel, Trailers};
use crate::path::NO_LINE;
use crate::record::DropCause;
use crate::ring::Ring;
use crate::switch::common::Common;
use crate::switch::queue::{Origin, QueuedPort, sojourn};
use crate::world::{OWN, World};

/// Work of the ports of a switch besides queueing.
#[derive(Debug)]
pub(in crate::switch) struct Mechanisms {
    /// Neighbors stop each other, or mechanisms of the list are asked.
    pub(in crate::switch) neighbors: bool,
    pub(in crate::switch) points: Option<CongestionPoints>,
    pub(in crate::switch) flow_control: FlowControl,
    /// Those of the list.
    pub(in crate::switch) at_ports: PortMechanisms,
    /// There are some of these.
    pub(in crate::switch) listed: bool,
    /// One of them may put packets in the place of others.
    pub(in crate::switch) replaces: bool,
    /// The one that keeps what waits, if one does.
    pub(in crate::switch) queues: Option<Box<QueueMechanisms>>,
    /// By port, if the switch writes telemetry.
    pub(in crate::switch) meters: Vec<Meter>,
    /// By port, if classes are stopped.
    pub(in crate::switch) watches: Vec<Watch>,
    /// By port: what goes before all queues.
    pub(in crate::switch) control: Vec<ControlQueue>,
    /// By link that leads to the switch: the port that leads back over it.
    pub(in crate::switch) backs: Vec<usize>,
    /// The address of what is sent to a neighbor: no host has it, so that it is recognized where routes are looked up.
    pub(in crate::switch) neighbor: HostId,
    /// Packets that go back the way of another, in the order in which they are due.
    pub(in crate::switch) returns: VecDeque<Return>,
    /// The latest message of a congestion point.
    pub(in crate::switch) message: Option<Packet>,
}

/// Packets that a port sends to its neighbor before all queues.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct ControlQueue {
    /// A frame that stops it. A later one takes its place.
    pub(super) frame: Option<Packet>,
    /// Messages of mechanisms, which go next.
    pub(super) messages: Ring<Packet>,
}

impl ControlQueue {
    pub(super) fn take(&mut self) -> Option<Packet> {
        let message = |messages: &mut Ring<Packet>| (!messages.is_empty()).then(|| messages.take());
        self.frame.take().or_else(|| message(&mut self.messages))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frame.is_none() && self.messages.is_empty()
    }
}

impl Mechanisms {
    /// A bit for each queue of a port that may send.
    #[inline]
    pub(super) fn open(&self, port: &QueuedPort, number: usize, now: Time) -> u16 {
        self.at_ports.open(number, port.stops(now))
    }

    /// A port that has something may send some of it.
    #[inline]
    pub(super) fn may_send(&self, port: &QueuedPort, number: usize, now: Time) -> bool {
        port.occupied() & self.open(port, number, now) != 0
    }

    /// The queue of a port that sends next, if one may.
    #[inline]
    pub(super) fn choose(&self, port: &QueuedPort, number: usize, now: Time) -> Option<Choice> {
        let ready = port.occupied() & self.open(port, number, now);
        let choice = self.at_ports.choose(number, ready, || port.first_size(SIDE_CLASS));
        choice.or_else(|| port.highest(ready).map(|queue| Choice { queue, paid: false }))
    }
}

impl Mechanisms {
    /// A packet is sent, unless it is dropped now: by what was decided of it, or by marking. `idle_since` is when the link ran out of packets, if this one has not waited.
    /// Returns whether it was sent.
    #[inline(always)]
    pub(super) fn send<const NEIGHBORS: bool, O: Observer>(
        &mut self,
        (leaving, verdict, from): (&Leaving, Verdict, u32),
        port: &mut QueuedPort,
        parcel: Parcel<'_>,
        idle_since: Option<Time>,
        common: &mut Common,
        world: &mut World<O>,
    ) -> bool {
        let mut packet = parcel.packet;
        if verdict != Verdict::Pass {
            let cause = self.queues.as_ref().map_or(DropCause::QueueLimit, |queues| queues.cause());
            match common.carry_out(verdict, cause, leaving, parcel, world) {
                Some(judged) => packet = judged,
                None => return false,
            }
        }
        if common.marker.looks_at_dequeue() && (!NEIGHBORS || self.at_ports.marks(leaving.queue)) {
            match common.judge_leaving(*leaving, parcel.with(packet), idle_since, world) {
                Some(judged) => packet = judged,
                None => return false,
            }
        }
        if NEIGHBORS && self.listed {
            let departing = Departing { now: leaving.now, port: leaving.port, from };
            each_at_ports!(self.at_ports, mechanism => packet = mechanism.on_departing(&departing, packet, &world.shared));
        }
        if NEIGHBORS && leaving.queue == SIDE_CLASS {
            packet = packet.aside();
        }
        transmit(leaving.now, port, self.meters.get_mut(leaving.port), parcel.with(packet), world);
        true
    }

    /// A free port sends what goes next. Returns where it came from and its size, if somebody counts that.
    #[inline(always)]
    pub(super) fn send_next<const NEIGHBORS: bool, O: Observer>(
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
        let place = Place { now: at, port: number, queue: choice.queue };
        let (packet, verdict) = match &mut self.queues {
            None => (port.pop(choice.queue, slots), Verdict::Pass),
            Some(queues) => queues.pop(place, slots),
        };
        if self.queues.is_some() {
            port.count_out(choice.queue, packet);
        }
        let size = u64::from(packet.size());
        common.memory.used -= size;
        let left = NEIGHBORS.then(|| (Origin::of(packet), size));
        if NEIGHBORS {
            each_at_ports!(self.at_ports, mechanism => {
                mechanism.on_dequeue(port.view(at, number), choice, packet, &mut world.observer);
            });
            if choice.queue == SIDE_CLASS {
                world.observer.side_backlog(at, port.link(), port.backlog(SIDE_CLASS));
            }
        }
        world.observer.backlog(at, port.link(), port.waiting);
        let (queue, sojourn, ect) = (choice.queue, sojourn(packet, at), packet.is(ECT));
        let leaving = Leaving { now: at, port: number, queue, sojourn, left: port.backlog(queue), ect };
        // If it is dropped the port is still free, and sends the next.
        let parcel = Parcel { packet, trailers: slots };
        let from = left.map_or(OWN, |(origin, _)| origin.from);
        self.send::<NEIGHBORS, O>((&leaving, verdict, from), port, parcel, None, common, world);
        left
    }
}

/// Sends a packet, into which the switch writes telemetry if both want it, over the line of the port, if it has one.
#[inline(always)]
pub(super) fn transmit<O: Observer>(
    now: Time,
    port: &mut QueuedPort,
    meter: Option<&mut Meter>,
    parcel: Parcel<'_>,
    world: &mut World<O>,
) {
    let mut trailers;
    let parcel = match meter {
        None => parcel,
        Some(meter) => {
            trailers = *parcel.trailers;
            let packet = meter.send(now, parcel.packet, port.waiting, &mut trailers);
            Parcel { packet, trailers: &trailers }
        }
    };
    match port.line() {
        NO_LINE => port.transmit(now, parcel, world),
        line => port.busy_until = world.send_over(line, now, parcel.packet, parcel.trailers),
    }
}

/// When a port may send something it has.
#[inline]
pub(super) fn next_due(now: Time, port: &QueuedPort, number: usize, mechanisms: Option<&Mechanisms>) -> Time {
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
