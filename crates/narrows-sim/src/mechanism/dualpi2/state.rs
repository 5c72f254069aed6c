//! DualPI2 at the ports of a switch.

use super::counters::DualPi2Counters;
use super::dual_queue::{DualQueue, Law};
use super::scheduler::Turns;
use crate::mechanism::CLASSES;
use crate::mechanism::at_ports::PortsSite;
use crate::mechanism::at_queues::{AtQueues, Place};
use crate::mechanism::marking::Verdict;
use crate::packet::{Packet, Parcel, Trailers};
use crate::record::{DropCause, PortCounters};

/// Memory that it takes at each port.
pub const BYTES_OF_PORT: u64 = size_of::<[DualQueue; CLASSES]>() as u64;

/// DualPI2 at the ports of a switch.
#[derive(Debug)]
pub(crate) struct DualQueues {
    law: Law,
    /// By port, then by queue.
    queues: Vec<[DualQueue; CLASSES]>,
    /// By port.
    counters: Vec<DualPi2Counters>,
}

impl AtQueues for DualQueues {
    const CAUSE: DropCause = DropCause::DualPi2;

    fn new(site: &PortsSite<'_>) -> Option<Self> {
        let config = site.config.dualpi2.as_ref()?;
        let largest = site.largest.get();
        let queue = || DualQueue::new(Turns::new(config.scheduler, largest));
        Some(Self {
            law: Law::new(config, largest),
            queues: (0..site.ports).map(|_| std::array::from_fn(|_| queue())).collect(),
            counters: vec![DualPi2Counters::default(); site.ports],
        })
    }

    fn pass(&mut self, place: Place, packet: Packet) -> Verdict {
        let Place { now, port, queue } = place;
        self.queues[port][queue].pass(&self.law, now, packet, &mut self.counters[port]);
        Verdict::Pass
    }

    fn push(&mut self, place: Place, parcel: Parcel<'_>) {
        let Place { now, port, queue } = place;
        self.queues[port][queue].push(&self.law, now, parcel, &mut self.counters[port]);
    }

    fn pop(&mut self, place: Place, slots: &mut Trailers) -> (Packet, Verdict) {
        let Place { now, port, queue } = place;
        self.queues[port][queue].pop(&self.law, now, slots, &mut self.counters[port])
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.dualpi2 = self.counters[port];
    }
}
