//! The table of subflows at the switch of a rack, and the JumboFlows they belong to.

use std::collections::VecDeque;

use narrows_proto::cc::rackcc::jumbo::JumboFlow;
use narrows_proto::units::{Span, Time};

use super::{RackAgent, RackRecord};
use crate::ids::{FlowId, HostId, NodeId};
use crate::packet::{Packet, Trailers};
use crate::world::World;

/// In place of a place in the table of a switch: the subflow is not there.
pub(super) const UNREGISTERED: u32 = u32::MAX;
/// In place of a place: the flow is no subflow.
pub(super) const NO_SUBFLOW: u32 = u32::MAX - 1;

/// State at a switch.
#[derive(Debug)]
pub(crate) struct RackState {
    pub(super) agent: RackAgent,
    pub(super) node: NodeId,
    /// Its index among switches with hosts.
    pub(super) leaf: u32,
    /// By wire: a host is at the other end.
    pub(super) from_host: Vec<bool>,
    /// Hosts of the rack.
    pub(super) hosts: Vec<HostId>,
    /// By rack and number: the place of a JumboFlow.
    pub(super) places: Vec<u32>,
    pub(super) jumboflows: Vec<Jumbo>,
    pub(super) entries: Vec<Option<Entry>>,
    pub(super) free: Vec<u32>,
    /// By port: what waits for the host at its other end.
    pub(super) ports: Vec<LastHop>,
    pub(super) next_tick: Time,
    pub(super) next_report: Time,
    pub(super) next_sweep: Time,
    /// Messages to be sent.
    pub(super) outbox: VecDeque<(Packet, Trailers)>,
    pub(super) record: RackRecord,
}

#[derive(Debug)]
pub(super) struct Jumbo {
    /// The number that hosts know it by.
    pub(super) number: u32,
    pub(super) state: JumboFlow,
    /// Hosts with registered subflows, and how many.
    pub(super) members: Vec<(HostId, u32)>,
}

/// A subflow in the table. What sends it stands in the list of flows: tables are larger than caches.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Entry {
    pub(super) flow: FlowId,
    pub(super) jumbo: u32,
    pub(super) incarnation: u16,
    /// Bytes of its packets that are not payload.
    pub(super) overhead: u16,
    /// It is counted; before that only its SYN was seen.
    pub(super) registered: bool,
    /// Acknowledged up to here.
    pub(super) acked: u64,
    /// Bytes on the wire that an acknowledged unit stands for, a byte of payload or a datagram; 2^16 times as many.
    pub(super) unit: u64,
    pub(super) seen: Time,
    /// The acknowledgment beyond this number answers what passed then.
    pub(super) probe: Option<(u64, Time)>,
}

// One cache line each.
const _: () = assert!(size_of::<Option<Entry>>() == 64);

/// Queue to a host.
#[derive(Clone, Debug)]
pub(super) struct LastHop {
    pub(super) host: HostId,
    /// Packets of subflows have passed since the last report.
    pub(super) used: bool,
    /// The least that waited since then.
    pub(super) lowest: u64,
}

pub(super) const NOWHERE: u32 = u32::MAX;

impl RackState {
    pub(super) fn is_busy(&self) -> bool {
        self.entries.len() > self.free.len()
    }

    /// The place of a JumboFlow to a rack.
    pub(super) fn jumbo(&mut self, rack: u32, number: u32, now: Time) -> u32 {
        let number = rack * self.agent.jumboflows + number % self.agent.jumboflows;
        let place = &mut self.places[number as usize];
        if *place == NOWHERE {
            *place = self.jumboflows.len() as u32;
            self.jumboflows.push(Jumbo { number, state: JumboFlow::new(now), members: Vec::new() });
        }
        *place
    }

    pub(super) fn entry(&self, place: u32) -> Option<&Entry> {
        self.entries.get(place as usize)?.as_ref()
    }

    pub(super) fn entry_mut(&mut self, place: u32) -> Option<&mut Entry> {
        self.entries.get_mut(place as usize)?.as_mut()
    }

    /// Notes a subflow in the table, if there is room.
    pub(super) fn add<O>(
        &mut self,
        now: Time,
        flow: FlowId,
        incarnation: u16,
        jumbo: u32,
        world: &mut World<O>,
    ) -> Option<u32> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.entries.len() < self.agent.table as usize => {
                self.entries.push(None);
                self.entries.len() as u32 - 1
            }
            None => {
                self.record.refused += 1;
                return None;
            }
        };
        let group = world.shared.flows[flow.index()].group;
        let overhead = world.shared.groups[group.index()].overhead;
        let entry = Entry {
            flow,
            jumbo,
            incarnation,
            overhead,
            registered: false,
            acked: 0,
            unit: u64::MAX,
            seen: now,
            probe: None,
        };
        self.entries[place as usize] = Some(entry);
        world.flows.at_switch[flow.index()] = place;
        self.wake(now);
        Some(place)
    }

    /// Counts a subflow.
    pub(super) fn register<O>(
        &mut self,
        place: u32,
        world: &World<O>,
        join: impl FnOnce(&mut JumboFlow, &RackAgent),
    ) {
        let Some(Some(entry)) = self.entries.get_mut(place as usize) else { return };
        entry.registered = true;
        let source = world.shared.flows[entry.flow.index()].from;
        let jumbo = &mut self.jumboflows[entry.jumbo as usize];
        join(&mut jumbo.state, &self.agent);
        match jumbo.members.iter_mut().find(|(host, _)| *host == source) {
            Some((_, subflows)) => *subflows += 1,
            None => jumbo.members.push((source, 1)),
        }
    }

    /// Takes a subflow out of the table.
    pub(super) fn remove<O>(&mut self, place: u32, world: &mut World<O>) {
        let Some(entry) = self.entries.get_mut(place as usize).and_then(Option::take) else { return };
        self.free.push(place);
        world.flows.at_switch[entry.flow.index()] = UNREGISTERED;
        if !entry.registered {
            return;
        }
        let source = world.shared.flows[entry.flow.index()].from;
        let jumbo = &mut self.jumboflows[entry.jumbo as usize];
        jumbo.state.leave(&self.agent.jumboflow);
        if let Some(at) = jumbo.members.iter().position(|(host, _)| *host == source) {
            jumbo.members[at].1 -= 1;
            if jumbo.members[at].1 == 0 {
                jumbo.members.swap_remove(at);
            }
        }
    }

    /// There is something in the table: periods count from now on.
    pub(super) fn wake(&mut self, now: Time) {
        self.next_tick = after(self.next_tick, now, self.agent.jumboflow.period);
        if self.next_sweep == Time::NEVER {
            self.next_sweep = now + self.sweep();
        }
    }

    /// Time between two sweeps of the table.
    pub(super) fn sweep(&self) -> Span {
        (self.agent.expiry / 4).max(Span::from_ns(100))
    }

    pub(super) fn expire<O>(&mut self, now: Time, world: &mut World<O>) {
        for place in 0..self.entries.len() {
            let old = |entry: &&Entry| now.saturating_since(entry.seen) > self.agent.expiry;
            if self.entries[place].as_ref().filter(old).is_some() {
                self.remove(place as u32, world);
                self.record.expired += 1;
            }
        }
    }
}

/// The first time after `now` that is whole periods after `then`; `then` itself if that is to come.
fn after(then: Time, now: Time, period: Span) -> Time {
    if then > now {
        return then;
    }
    let periods = (now - then).as_ps() / period.as_ps() + 1;
    then + period * periods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_keep_their_phase_over_idle_times() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let period = Span::from_us(10);
        assert_eq!(after(at(3), at(1), period), at(3));
        assert_eq!(after(at(3), at(3), period), at(13));
        assert_eq!(after(at(3), at(47), period), at(53));
    }
}
