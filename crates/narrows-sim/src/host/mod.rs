//! Hosts: flows begin and end here.

mod agenda;
mod arrivals;
mod client;
mod connections;
mod credits;
mod dependents;
mod enqueued;
mod external;
mod finish;
mod flows;
mod generator;
mod grants;
mod handover;
mod incoming;
mod interrupts;
mod messages;
mod metrics;
mod new_flow;
mod nic;
mod outgoing;
mod packets;
mod prefetching;
mod queue_pair;
mod rank;
mod ranks;
mod reception;
mod senders;
mod sending;
mod session;
mod slots;
mod small_queues;
mod transport;
mod turns;
mod waiting;

use narrows_proto::units::{BitRate, Time};

use self::agenda::Agenda;
pub(crate) use self::agenda::Wake;
pub use self::client::Client;
use self::connections::Ends;
use self::enqueued::Enqueued;
use self::external::Outside;
pub(crate) use self::external::WholePacket;
pub use self::external::{Codepoint, Injected};
pub(crate) use self::generator::HostGenerator;
use self::grants::Grants;
use self::handover::Handover;
use self::metrics::Metrics;
pub(crate) use self::new_flow::NewFlow;
use self::nic::Nic;
pub(crate) use self::outgoing::Outgoing;
pub(crate) use self::packets::{Way, cnp_packet};
pub(crate) use self::rank::RankAtWork;
use self::reception::Incoming;
pub(crate) use self::senders::Senders;
use self::sending::Answer;
pub(crate) use self::sending::Sending;
use self::slots::Slots;
pub(crate) use self::transport::Source;
use self::waiting::Waiting;
use crate::ids::{FlowId, HostId};
use crate::link::Egress;
use crate::mechanism::at_host::{At, AtHost};
use crate::mechanism::flow::Hold;
use crate::mechanism::hosts::{BurstDelay, Lateness};
use crate::mechanism::registry::{HostMechanisms, each};
use crate::mechanism::start_delays::StartDelays;
use crate::observe::Observer;
use crate::packet::{NO_TRAILERS, Parcel};
use crate::world::World;

/// A host: senders, receivers, and the one link they share.
#[derive(Debug)]
pub(crate) struct Host {
    /// The wire packets arrive on.
    wire: usize,
    impaired: bool,
    /// Arrivals are looked at: the wire is impaired, or what arrives is counted or handed out.
    watched: bool,
    /// Some mechanism may keep packets from leaving, or change them.
    restrained: bool,
    /// Time it takes to begin a burst, if that is not done at once.
    burst_delay: Option<Box<BurstDelay>>,
    /// Arrivals it has not noticed yet, if it takes a while to notice.
    handover: Option<Box<Handover>>,
    /// When queue pairs that share the spacing of their congestion notification packets may send the next one.
    cnp_at: Time,
    /// Rate of its link.
    rate: BitRate,
    senders: Senders,
    incoming: Slots<Incoming>,
    /// Flows that start here, in order of time.
    starts: Vec<FlowId>,
    started: usize,
    next_start: Time,
    /// They do so much later.
    start_delays: StartDelays,
    generators: Vec<HostGenerator>,
    ranks: Vec<RankAtWork>,
    /// Flows that wait for others, by number.
    waiting: Vec<Waiting>,
    connections: Ends,
    /// Metrics it remembers of other hosts.
    metrics: Metrics,
    /// By group and destination, in order: the slots of queue pairs that carry several messages.
    queue_pairs: Vec<((u32, HostId), u32)>,
    /// By group and source, in order: the slots of their receiving halves.
    receiving_pairs: Vec<((u32, HostId), u32)>,
    /// State of mechanisms here, if there are any.
    mechanisms: Option<Box<HostMechanisms>>,
    /// Packets in the queue of the host, if there is one.
    enqueued: Enqueued,
    /// Credit that it grants, if it has been asked for some.
    grants: Option<Box<Grants>>,
    /// It is an external host.
    outside: Option<Box<Outside>>,
}

/// Parts that a host is made from.
pub(crate) struct HostParts {
    /// The wire packets arrive on.
    pub(crate) wire: usize,
    pub(crate) impaired: bool,
    pub(crate) egress: Egress,
    /// Time it takes to begin a burst, if that is not done at once.
    pub(crate) burst_delay: Option<BurstDelay>,
    /// Delay with which it notices arrivals, if it does not at once.
    pub(crate) lateness: Option<Lateness>,
    /// Rate of its link.
    pub(crate) rate: BitRate,
    pub(crate) begins: Begins,
    pub(crate) mechanisms: Option<Box<HostMechanisms>>,
}

/// Traffic that begins at a host.
#[derive(Default)]
pub(crate) struct Begins {
    /// Flows that are scheduled, in order of time.
    pub(crate) starts: Vec<FlowId>,
    /// Numbers of flows that wait for others, in order.
    pub(crate) waiting: Vec<u32>,
    pub(crate) generators: Vec<HostGenerator>,
    pub(crate) ranks: Vec<RankAtWork>,
    /// Delays of flows that are scheduled, generators and ranks.
    pub(crate) delays: StartDelays,
}

impl Host {
    pub(crate) fn new<O>(parts: HostParts, world: &World<O>) -> Self {
        let HostParts { wire, impaired, egress, rate, begins, .. } = parts;
        let Begins { starts, waiting, generators, ranks, delays } = begins;
        let mut mechanisms = parts.mechanisms;
        let is_interrupted = parts.lateness.is_some_and(|late| late.interrupts.is_some());
        let restrained = mechanisms.as_mut().is_some_and(|mechanisms| mechanisms.restrains());
        let is_watched = mechanisms.as_mut().is_some_and(|mechanisms| mechanisms.watch());
        let mut agenda = Agenda::default();
        for (number, generator) in generators.iter().enumerate() {
            agenda.plan(delays.after(generator.start()), Wake::Generator(number as u32));
        }
        for (number, rank) in (0..).zip(&ranks) {
            agenda.plan(delays.after(rank.first_wake()), Wake::Rank(number));
        }
        for (at, wake) in [
            (world.shared.measured.start, Wake::MeasureFrom),
            (world.shared.measured.end, Wake::MeasureUntil),
        ] {
            if Time::ZERO < at && at < Time::NEVER {
                agenda.plan(at, wake);
            }
        }
        agenda.plan_sample(0, &world.shared.sampled);
        let mut host = Self {
            wire,
            impaired,
            restrained,
            watched: impaired || is_watched || is_interrupted,
            burst_delay: parts.burst_delay.map(Box::new),
            handover: parts.lateness.map(|lateness| Box::new(Handover::new(lateness))),
            cnp_at: Time::ZERO,
            rate,
            senders: Senders { nic: Nic::new(egress), outgoing: Slots::default(), agenda },
            incoming: Slots::default(),
            starts,
            started: 0,
            next_start: Time::NEVER,
            start_delays: delays,
            generators,
            ranks,
            waiting: Vec::new(),
            connections: Ends::default(),
            metrics: Metrics::default(),
            queue_pairs: Vec::new(),
            receiving_pairs: Vec::new(),
            mechanisms,
            enqueued: Enqueued::default(),
            grants: None,
            outside: None,
        };
        host.find_next_start(Time::ZERO, world);
        host.wait(&waiting, world);
        host
    }

    /// When there is something to do first.
    pub(crate) fn first_due(&self) -> Time {
        self.next_start.min(self.senders.agenda.next())
    }

    /// Flows and generators that are not over yet.
    pub(crate) fn outstanding(&self) -> u64 {
        (self.starts.len() + self.generators.len() + self.ranks.len() + self.waiting.len()) as u64
    }

    /// Does everything due before `until`. Returns when the next thing is due.
    pub(crate) fn advance<O: Observer>(&mut self, until: Time, world: &mut World<O>) -> Time {
        let mut slots = NO_TRAILERS;
        if self.is_crowded() {
            world.crowded = true;
            self.prefetch_first(world);
        }
        loop {
            let arrival = world.wires.heads[self.wire];
            let has_work = self.senders.nic.has_work();
            let free = if has_work { self.senders.nic.busy_until } else { Time::NEVER };
            let planned = self.senders.agenda.next();
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
            if world.shared.small_queues.is_some() {
                self.enqueue_all(now, world);
            }
            let nic = &mut self.senders.nic;
            if !has_work
                && let Some(delay) = &mut self.burst_delay
                && nic.has_work()
            {
                nic.busy_until = nic.busy_until.max(delay.begin(now));
            }
            if nic.busy_until <= now && nic.has_work() {
                if world.shared.bursts {
                    self.fill_link_with_bursts(now, &mut slots, world);
                } else {
                    self.fill_link::<false, O>(now, &mut slots, world);
                }
            }
        }
    }

    /// Asks the mechanisms here, if there are any.
    #[inline(always)]
    fn ask<O, R>(
        &mut self,
        now: Time,
        world: &mut World<O>,
        question: impl FnOnce(&mut HostMechanisms, &mut At<'_, O>) -> R,
    ) -> Option<R> {
        let Self { mechanisms, senders, .. } = self;
        mechanisms.as_mut().map(|mechanisms| question(mechanisms, &mut At { now, senders, world }))
    }

    fn on_ack<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        let slot = world.flows.senders[packet.flow().index()];
        let Some(outgoing) =
            self.senders.outgoing.get_mut(slot).filter(|outgoing| outgoing.accepts(packet.incarnation()))
        else {
            return; // it was complete already
        };
        let group = &world.shared.groups[outgoing.group as usize];
        let answer = Answer { parcel, reported_rates: &world.shared.reported_rates };
        let complete = outgoing.source.on_ack(group, now, answer);
        if let Some(seen) = outgoing.source.as_seen() {
            world.observer.window(now, outgoing.of.flow, seen);
        }
        if complete {
            self.close(now, slot, world);
        } else {
            self.senders.attend(slot, world);
        }
    }

    fn wake<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let planned = self.senders.agenda.take();
        self.prefetch_planned();
        match planned {
            (at, Wake::Sender(slot)) => self.wake_sender(at, slot, world),
            (at, Wake::Receiver(slot)) => self.wake_receiver(at, slot, world),
            (at, Wake::Mechanisms) => {
                self.ask(at, world, |all, at| each!(all, mechanism => mechanism.on_timer(at)));
            }
            (_, Wake::Grant) => self.wake_grants(now, world),
            (_, Wake::Generator(number)) => self.run_generator(now, number, world),
            (_, Wake::Rank(number)) => self.wake_rank(now, number, world),
            (_, Wake::Report(dependent)) => self.count(now, dependent, world),
            (_, Wake::Dependent(dependent)) => self.start_dependent(now, dependent, world),
            (_, Wake::GiveUp) => self.give_up(now, world),
            (_, Wake::Outside) => self.take_from_outside(),
            (_, Wake::Interrupt) => self.wake_for_interrupt(now, world),
            (_, Wake::Message) => self.read_message(now, world),
            (_, Wake::MeasureFrom) => self.senders.outgoing.iter_mut().for_each(Outgoing::measure_from),
            (_, Wake::MeasureUntil) => self.senders.outgoing.iter_mut().for_each(Outgoing::measure_until),
            (_, Wake::Sample(number)) => self.sample(number, world),
        }
    }

    /// The agenda has an entry for what sends from `slot`.
    fn wake_sender<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let Some(outgoing) = self.senders.outgoing.get_mut(slot).filter(|outgoing| !outgoing.is_over())
        else {
            return;
        };
        if outgoing.armed == now {
            outgoing.armed = Time::NEVER;
        }
        if let Source::Mechanism(place) = outgoing.source {
            self.ask(now, world, |all, at| each!(all, mechanism => mechanism.wake(at, place)));
            return;
        }
        let due = outgoing.source.on_timer(&world.shared.groups[outgoing.group as usize], now);
        if due && let Some(seen) = outgoing.source.as_seen() {
            world.observer.window(now, outgoing.of.flow, seen);
        }
        if outgoing.source.has_given_up() {
            return self.close(now, slot, world);
        }
        if let Hold::Gate(_) = outgoing.at.hold {
            // Its turn notes when to wake it next.
            self.senders.activate(slot, world);
        } else {
            self.senders.attend(slot, world);
        }
    }
}
