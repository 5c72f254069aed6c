//! State of the ports for those who ask, and counters at the end.

use narrows_proto::units::Time;

use super::QueuedPorts;
use crate::mechanism::at_ports::AtPorts as _;
use crate::mechanism::registry::each_at_ports;
use crate::observe::Observer;
use crate::switch::common::Common;
use crate::world::World;

impl QueuedPorts {
    /// Bytes that wait at all ports. Frames and messages to neighbors have their own place.
    pub(in crate::switch) fn waiting(&self) -> u64 {
        self.ports.iter().map(|port| port.waiting).sum()
    }

    /// When a port has sent the packet that is on the wire.
    pub(in crate::switch) fn busy_until(&self, number: usize) -> Time {
        self.ports[number].busy_until
    }

    /// Bytes that wait at a port.
    pub(in crate::switch) fn backlog<O: Observer>(
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

    /// Brings counters up to date at the end of the run.
    pub(in crate::switch) fn finish(&mut self, now: Time, common: &mut Common) {
        let watches = self.mechanisms.iter_mut().flat_map(|mechanisms| &mut mechanisms.watches);
        for ((port, watch), counters) in self.ports.iter().zip(watches).zip(&mut common.counters) {
            watch.finish(now, port.stops(now), |class| port.backlog(class) > 0, counters);
        }
        for (port, counters) in self.ports.iter().zip(&mut common.counters) {
            counters.paused += port.times.until_now(now);
        }
        self.report(common);
    }

    /// Enters what mechanisms have counted by themselves into the counters of the ports.
    pub(in crate::switch) fn report(&self, common: &mut Common) {
        let Some(mechanisms) = &self.mechanisms else { return };
        for (number, counters) in common.counters.iter_mut().enumerate() {
            each_at_ports!(ref mechanisms.at_ports, mechanism => mechanism.report(number, counters));
            if let Some(queues) = &mechanisms.queues {
                queues.report(number, counters);
            }
        }
    }
}
