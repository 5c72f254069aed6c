//! Deficit round robin at the ports of a switch.

use super::flow_queues::{FlowQueueCounters, FlowQueues};
use super::settings::Drr;
use crate::mechanism::CLASSES;
use crate::mechanism::at_ports::PortsSite;
use crate::mechanism::at_queues::{AtQueues, Place};
use crate::mechanism::marking::Verdict;
use crate::packet::{Packet, Parcel, Trailers};
use crate::random::{Purpose, Stream};
use crate::record::{DropCause, PortCounters};

/// State of a mechanism for each queue of each port, made when the first packet joins it.
#[derive(Debug)]
pub(crate) struct Sets<T> {
    ports: Vec<[Option<Box<T>>; CLASSES]>,
    /// Salts of ports.
    salts: Vec<u64>,
}

impl<T> Sets<T> {
    pub(crate) fn new(site: &PortsSite<'_>) -> Self {
        let mut random = Stream::new(site.seed, Purpose::FlowHash, site.node.0.into());
        Self::of_ports((0..site.ports).map(|_| random.bits()).collect())
    }

    /// For ports with these salts.
    pub(crate) fn of_ports(salts: Vec<u64>) -> Self {
        Self { ports: salts.iter().map(|_| Default::default()).collect(), salts }
    }

    /// That of a queue, which `make` makes of a salt.
    #[inline]
    pub(crate) fn at(&mut self, place: Place, make: impl FnOnce(u64) -> T) -> &mut T {
        let salt = self.salts[place.port].wrapping_add(place.queue as u64);
        self.ports[place.port][place.queue].get_or_insert_with(|| Box::new(make(salt)))
    }
}

/// Deficit round robin at the ports of a switch.
#[derive(Debug)]
pub(crate) struct DrrQueues {
    config: Drr,
    sets: Sets<FlowQueues>,
    /// By port.
    counters: Vec<FlowQueueCounters>,
}

impl DrrQueues {
    #[inline]
    fn at(&mut self, place: Place) -> (&mut FlowQueues, &mut FlowQueueCounters) {
        let Drr { quantum, flows } = self.config;
        let make = |salt| FlowQueues::new(flows, quantum.get() as u32, false, salt);
        (self.sets.at(place, make), &mut self.counters[place.port])
    }
}

impl AtQueues for DrrQueues {
    const CAUSE: DropCause = DropCause::QueueLimit;

    fn new(site: &PortsSite<'_>) -> Option<Self> {
        let config = site.config.drr.clone()?;
        Some(Self { config, sets: Sets::new(site), counters: vec![Default::default(); site.ports] })
    }

    fn pass(&mut self, place: Place, packet: Packet) -> Verdict {
        let (queues, counters) = self.at(place);
        queues.pass(packet, counters);
        Verdict::Pass
    }

    fn push(&mut self, place: Place, parcel: Parcel<'_>) {
        let (queues, counters) = self.at(place);
        queues.push(parcel, counters);
    }

    fn pop(&mut self, place: Place, slots: &mut Trailers) -> (Packet, Verdict) {
        let (queues, _) = self.at(place);
        let popped = queues.pop(slots);
        queues.charge(popped.flow_queue, popped.packet);
        (popped.packet, Verdict::Pass)
    }

    fn overflow(&mut self, place: Place) -> u32 {
        self.at(place).0.overflow()
    }

    fn give_way(&mut self, place: Place, slots: &mut Trailers) -> Option<Packet> {
        self.at(place).0.give_way(slots)
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.drr = self.counters[port];
    }
}
