//! Hosts: flows begin and end here.

mod agenda;
mod arrivals;
mod classes;
mod connections;
mod dependents;
mod external;
mod flows;
mod gated;
mod gates;
mod generator;
mod handover;
mod incoming;
mod limited;
mod messages;
mod metrics;
mod new_flow;
mod nic;
mod outgoing;
mod packets;
mod queue_pair;
mod racks;
mod reaction_points;
mod reception;
mod session;
mod slots;
mod stops;
mod subflows;
mod transport;
mod waiting;

use narrows_proto::stream::Poll;
use narrows_proto::units::{BitRate, Span, Time};

use self::agenda::{Agenda, Wake};
use self::classes::Classes;
use self::connections::Connections;
pub use self::external::Injected;
use self::external::Outside;
pub(crate) use self::external::WholePacket;
use self::gates::Gates;
pub(crate) use self::generator::HostGenerator;
use self::handover::Handover;
use self::metrics::Metrics;
use self::nic::{Nic, Places};
use self::outgoing::{Hold, Outgoing};
use self::racks::Racks;
use self::reaction_points::{ReactionPoints, Turn};
use self::reception::Incoming;
use self::slots::Slots;
use self::transport::{Answer, Sending, Sink, Source};
use self::waiting::Waiting;
use crate::ids::{FlowId, HostId, LinkId, NodeId};
use crate::link::Egress;
use crate::mechanism::hosts::{BurstDelay, Lateness};
use crate::mechanism::limiter::Reaction;
use crate::mechanism::rackcc::RackAgent;
use crate::observe::{Observer, Reviewed};
use crate::packet::{Kind, NO_TRAILERS, Packet, Parcel, Trailers};
use crate::prefetch::prefetch;
use crate::record::{DatagramRecord, PortCounters};
use crate::world::{Reception, World};

/// A host: senders, receivers, and the one link they share.
#[derive(Debug)]
pub(crate) struct Host {
    /// The wire packets arrive on.
    wire: usize,
    impaired: bool,
    /// Arrivals are looked at: the wire is impaired, or what arrives is counted or handed out.
    watched: bool,
    nic: Nic,
    /// What it takes to begin a burst, if that is not done at once.
    burst_delay: Option<Box<BurstDelay>>,
    /// What it has not noticed yet, if it takes a while to notice.
    handover: Option<Box<Handover>>,
    /// When queue pairs that share the spacing of their congestion notification packets may send the next one.
    cnp_at: Time,
    /// Rate of its link.
    rate: BitRate,
    outgoing: Slots<Outgoing>,
    incoming: Slots<Incoming>,
    agenda: Agenda,
    /// Flows that start here, in order of time.
    starts: Vec<FlowId>,
    started: usize,
    next_start: Time,
    generators: Vec<HostGenerator>,
    /// Flows that wait for others, by number.
    waiting: Vec<Waiting>,
    connections: Connections,
    /// What it remembers of other hosts.
    metrics: Metrics,
    /// By group and destination, in order: the slots of queue pairs that carry several messages.
    queue_pairs: Vec<((u32, HostId), u32)>,
    /// By group and source, in order: the slots of their receiving halves.
    receiving_pairs: Vec<((u32, HostId), u32)>,
    reaction: Option<Box<ReactionPoints>>,
    gates: Option<Box<Gates>>,
    /// What its switch stops and isolates, if it does.
    classes: Option<Box<Classes>>,
    /// What it knows of JumboFlows, if its switch keeps their state.
    racks: Option<Box<Racks>>,
    /// It is an external host.
    outside: Option<Box<Outside>>,
}

/// What a host is made from.
pub(crate) struct HostParts {
    /// The wire packets arrive on.
    pub(crate) wire: usize,
    pub(crate) impaired: bool,
    pub(crate) egress: Egress,
    /// What it takes to begin a burst, if that is not done at once.
    pub(crate) burst_delay: Option<BurstDelay>,
    /// How late it notices what arrives, if it does not at once.
    pub(crate) lateness: Option<Lateness>,
    /// Rate of its link.
    pub(crate) rate: BitRate,
    /// Flows that start here, in order of time.
    pub(crate) starts: Vec<FlowId>,
    /// Numbers of flows that start here and wait for others, in order.
    pub(crate) waiting: Vec<u32>,
    pub(crate) generators: Vec<HostGenerator>,
    /// Its number.
    pub(crate) node: NodeId,
    /// Its reaction points.
    pub(crate) reaction: Option<Reaction>,
    /// Its switch stops classes of packets; how long a destination that was named stays isolated.
    pub(crate) classes: Option<Span>,
    /// Its switch keeps the state of JumboFlows; how many racks there are, and which host this is.
    pub(crate) rack: Option<(RackAgent, usize, HostId)>,
}

impl Host {
    pub(crate) fn new<O>(parts: HostParts, world: &World<O>) -> Self {
        let HostParts {
            wire,
            impaired,
            egress,
            burst_delay,
            lateness,
            rate,
            starts,
            waiting,
            generators,
            node,
            reaction,
            ..
        } = parts;
        let (classes, rack) = (parts.classes, parts.rack);
        let racks = rack.map(|(agent, racks, host)| {
            let leaf = world.shared.access[host.index()].leaf;
            Box::new(Racks::new(agent, node, host, leaf, racks, rate))
        });
        let classes = classes.map(|life| Box::new(Classes::new(egress.link, life)));
        let seed = world.shared.seed;
        let mut agenda = Agenda::default();
        for (number, generator) in generators.iter().enumerate() {
            agenda.plan(generator.start(), Wake::Generator(number as u32));
        }
        for (at, wake) in [
            (world.shared.measured.start, Wake::MeasureFrom),
            (world.shared.measured.end, Wake::MeasureUntil),
        ] {
            if Time::ZERO < at && at < Time::NEVER {
                agenda.plan(at, wake);
            }
        }
        let mut host = Self {
            wire,
            impaired,
            watched: impaired || racks.is_some() || lateness.is_some_and(|late| late.interrupts.is_some()),
            racks,
            nic: Nic::new(egress),
            burst_delay: burst_delay.map(Box::new),
            handover: lateness.map(|lateness| Box::new(Handover::new(lateness))),
            cnp_at: Time::ZERO,
            rate,
            outgoing: Slots::default(),
            incoming: Slots::default(),
            agenda,
            starts,
            started: 0,
            next_start: Time::NEVER,
            generators,
            waiting: Vec::new(),
            connections: Connections::default(),
            metrics: Metrics::default(),
            queue_pairs: Vec::new(),
            receiving_pairs: Vec::new(),
            gates: world.shared.has_near_source.then(|| {
                let limiters = reaction.as_ref().map_or(0, |config| config.limiters);
                Box::new(Gates::new(rate, node, seed, limiters))
            }),
            reaction: reaction.map(|config| Box::new(ReactionPoints::new(&config, rate, node, seed))),
            classes,
            outside: None,
        };
        host.find_next_start(world);
        host.wait(&waiting, world);
        host
    }

    /// When there is something to do first.
    pub(crate) fn first_due(&self) -> Time {
        self.next_start.min(self.agenda.next())
    }

    /// Flows and generators that are not over yet.
    pub(crate) fn outstanding(&self) -> u64 {
        (self.starts.len() + self.generators.len() + self.waiting.len()) as u64
    }

    /// Asks for the state of the wire, some nodes before this one is advanced.
    #[inline]
    pub(crate) fn prefetch_state<O>(&self, world: &World<O>) {
        prefetch(&world.wires.heads[self.wire]);
        prefetch(&world.wires.wires[self.wire]);
    }

    /// Asks for the packets that arrive next, and for the sender whose turn it is.
    #[inline]
    pub(crate) fn prefetch_packets<O>(&self, world: &World<O>) {
        world.wires.wires[self.wire].ring.prefetch_front();
        if let Some(slot) = self.nic.turn() {
            self.outgoing.prefetch(slot);
        }
    }

    /// Asks for the flow of the packet that arrives next.
    #[inline]
    pub(crate) fn prefetch_flow<O>(&self, world: &World<O>) {
        let Some(packet) = world.wires.wires[self.wire].ring.front() else { return };
        if packet.kind() == Kind::Ack {
            self.outgoing.prefetch(world.flows.senders[packet.flow().index()]);
        } else if let Some(Reception::Live { slot, .. }) = world.flows.receivers.get(packet.flow().index()) {
            self.incoming.prefetch(*slot);
        }
    }

    /// Does everything due before `until`. Returns when the next thing is due.
    pub(crate) fn advance<O: Observer>(&mut self, until: Time, world: &mut World<O>) -> Time {
        let mut slots = NO_TRAILERS;
        loop {
            let arrival = world.wires.heads[self.wire];
            let has_work = self.nic.has_work();
            let free = if has_work { self.nic.busy_until } else { Time::NEVER };
            let planned = self.agenda.next();
            let now = arrival.min(free).min(planned).min(self.next_start);
            if now >= until {
                return now;
            }
            // The link becomes free before anything new is considered.
            if now == free {
            } else if now == planned {
                self.wake(now, world);
            } else if now == self.next_start {
                self.start_scheduled(now, world);
            } else {
                self.take_arrival(now, &mut slots, world);
            }
            if !has_work
                && let Some(delay) = &mut self.burst_delay
                && self.nic.has_work()
            {
                self.nic.busy_until = self.nic.busy_until.max(delay.begin(now));
            }
            if self.nic.busy_until <= now && self.nic.has_work() {
                self.fill_link(now, &mut slots, world);
            }
        }
    }

    /// Sends one packet, if any flow has one to send.
    fn fill_link<O: Observer>(&mut self, now: Time, slots: &mut Trailers, world: &mut World<O>) {
        let ready = match &mut self.classes {
            _ if self.nic.is_in_burst() => None,
            None => self.nic.pop_ready(slots),
            Some(classes) => classes.pop_ready(&mut self.nic, slots),
        };
        if let Some(packet) = ready {
            self.nic.send(now, Parcel { packet, trailers: slots }, world);
            return;
        }
        while let Some(slot) = self.nic.turn() {
            if self.classes.is_some() && self.is_parked(now, slot, world) {
                continue;
            }
            if self.outgoing.place(slot).owes()
                && self.nic.passes_on(world.shared.quantum, &mut self.outgoing)
            {
                continue;
            }
            let outgoing = self.outgoing.get_mut(slot).expect("a sender leaves its queue before its slot");
            if outgoing.is_governed() && !outgoing.is_over() {
                let turn = self.governed_turn(now, slot, world);
                if let Some((packet, Turn::GoesOn | Turn::InBurst)) = turn {
                    let goes_on = matches!(turn, Some((_, Turn::InBurst)));
                    self.nic.charge(packet.size(), goes_on, world.shared.quantum, &mut self.outgoing);
                } else {
                    self.nic.retire(&mut self.outgoing);
                    // Those before it in the line may have ended, so that it was let in during its own turn.
                    self.activate_if_admitted(slot, world);
                }
                let Some((packet, _)) = turn else { continue };
                self.send(now, packet, world);
                return;
            }
            let group = &world.shared.groups[outgoing.group as usize];
            match outgoing.poll(now, group) {
                Poll::Send(segment) => {
                    let packet = outgoing.packet(&segment, group);
                    outgoing.arm(outgoing.next_timer(), slot, &mut self.agenda);
                    let (goes_on, quantum) = (segment.goes_on, world.shared.quantum);
                    self.nic.charge(packet.size(), goes_on, quantum, &mut self.outgoing);
                    self.send(now, packet, world);
                    return;
                }
                Poll::At(at) => outgoing.arm(at, slot, &mut self.agenda),
                Poll::Blocked if outgoing.is_over() => {
                    self.nic.retire(&mut self.outgoing);
                    self.outgoing.remove(slot);
                    continue;
                }
                Poll::Blocked => {}
            }
            self.nic.retire(&mut self.outgoing);
        }
    }

    /// Sends a packet of a flow.
    #[inline]
    fn send<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let packet = match &mut self.classes {
            None => packet,
            Some(classes) => classes.on_wire(now, packet),
        };
        self.nic.send(now, Parcel::bare(packet), world);
    }

    fn on_ack<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        let slot = world.flows.senders[packet.flow().index()];
        let Some(outgoing) = self.outgoing.get_mut(slot).filter(|outgoing| outgoing.hears(packet.turn()))
        else {
            return; // it was complete already
        };
        let group = &world.shared.groups[outgoing.group as usize];
        let answer = Answer { parcel, told_rates: &world.shared.told_rates };
        let complete = outgoing.source.on_ack(group, now, answer);
        if let Some(seen) = outgoing.source.as_seen() {
            world.observer.window(now, outgoing.flow, seen);
        }
        if complete {
            self.close(now, slot, world);
        } else {
            self.attend(slot, world);
        }
    }

    /// The sender in `slot` may have something to send, and its timer may have changed.
    #[inline]
    fn attend<O>(&mut self, slot: u32, world: &World<O>) {
        let outgoing = self.outgoing.get_mut(slot).expect("the caller has just used it");
        outgoing.arm(outgoing.next_timer(), slot, &mut self.agenda);
        if !outgoing.place.queued {
            let priority = world.shared.groups[outgoing.group as usize].priority;
            self.nic.activate(priority, slot, &mut self.outgoing);
        }
    }

    fn wake<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let planned = self.agenda.take();
        if let Some(slot) = self.agenda.soon() {
            self.outgoing.prefetch(slot);
        }
        match planned {
            (at, Wake::Sender(slot)) => self.wake_sender(at, slot, world),
            (at, Wake::Receiver(slot)) => self.wake_receiver(at, slot, world),
            (_, Wake::Open) => self.open_classes(now, world),
            (at, Wake::Advertise) => self.advertise(at, world),
            (_, Wake::Generator(number)) => self.run_generator(now, number, world),
            (_, Wake::News(dependent)) => self.count(now, dependent, world),
            (_, Wake::Dependent(dependent)) => self.start_dependent(now, dependent, world),
            (_, Wake::GiveUp) => self.give_up(now, world),
            (_, Wake::Outside) => self.take_from_outside(),
            (_, Wake::Interrupt) => self.wake_for_interrupt(now, world),
            (_, Wake::Message) => self.read_message(now, world),
            (_, Wake::MeasureFrom) => {
                self.outgoing.iter_mut().for_each(Outgoing::measure_from);
            }
            (_, Wake::MeasureUntil) => {
                self.outgoing.iter_mut().for_each(Outgoing::measure_until);
            }
        }
    }

    /// The agenda has an entry for what sends from `slot`.
    fn wake_sender<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let Some(outgoing) = self.outgoing.get_mut(slot).filter(|outgoing| !outgoing.is_over()) else {
            return;
        };
        if outgoing.armed == now {
            outgoing.armed = Time::NEVER;
        }
        if let Source::Limiter(place) = outgoing.source {
            return self.wake_limiter(now, place, world);
        }
        let due = outgoing.source.on_timer(&world.shared.groups[outgoing.group as usize], now);
        if due && let Some(seen) = outgoing.source.as_seen() {
            world.observer.window(now, outgoing.flow, seen);
        }
        if outgoing.source.has_given_up() {
            return self.close(now, slot, world);
        }
        if let Hold::Gate(_) = outgoing.hold {
            // Its turn notes when to wake it next.
            self.activate(slot, world);
        } else {
            self.attend(slot, world);
        }
    }

    /// Shows the observer all that is still going on.
    pub(crate) fn review<O: Observer>(&self, world: &mut World<O>) {
        for outgoing in self.outgoing.iter() {
            for record in outgoing.records() {
                world.observer.review(Reviewed::Flow(&record));
            }
        }
        for record in self.datagrams() {
            world.observer.review(Reviewed::Datagrams(&record));
        }
    }

    /// What sources of datagrams here have sent, then what sinks have received.
    fn datagrams(&self) -> impl Iterator<Item = DatagramRecord> {
        let sources = self.outgoing.iter().filter_map(|outgoing| {
            let Source::Datagram(source) = &outgoing.source else { return None };
            let (sent, dropped_at_source) = source.counts();
            Some(DatagramRecord { flow: outgoing.flow, sent, dropped_at_source, ..Default::default() })
        });
        let sinks = self.incoming.iter().filter_map(|incoming| {
            let Sink::Datagram { received, bytes: received_bytes, .. } = incoming.sink else { return None };
            Some(DatagramRecord { flow: incoming.flow, received, received_bytes, ..Default::default() })
        });
        sources.chain(sinks)
    }

    /// Adds what is still going on to the log.
    /// Returns what happened to the classes of its link.
    pub(crate) fn finish<O>(&mut self, now: Time, world: &mut World<O>) -> Option<(LinkId, PortCounters)> {
        world.log.reaction.add(&self.reaction_record().unwrap_or_default());
        world.log.rack.add(&self.racks.as_ref().map(|racks| racks.record()).unwrap_or_default());
        world.log.reaction.add(&self.gates.as_ref().map(|gates| gates.record()).unwrap_or_default());
        world.log.senders.extend(self.outgoing.iter().flat_map(Outgoing::records));
        world.log.datagrams.extend(self.datagrams());
        self.stopped_classes(now)
    }
}
