//! Actions of a session at a host between two steps: it starts flows, and is the outside of external hosts.

use narrows_proto::units::{Span, Time};

use super::Host;
use super::agenda::Wake;
use super::external::WholePacket;
use crate::ids::FlowId;
use crate::observe::Observer;
use crate::packet::{Kind, Packet, Parcel};
use crate::record::FlowRecord;
use crate::traffic::FlowSpec;
use crate::world::{Reception, World};

impl Host {
    /// A flow from here has got a start, which lies ahead.
    pub(crate) fn schedule<O>(&mut self, flow: FlowId, world: &World<O>) {
        let key = |flow: FlowId| (world.shared.flows[flow.index()].start, flow);
        let later = self.starts[self.started..].partition_point(|other| key(*other) < key(flow));
        self.starts.insert(self.started + later, flow);
        self.find_next_start(Time::ZERO, world);
    }

    /// When the next of the packets on their way to it arrives.
    pub(crate) fn next_arrival<O>(&self, world: &World<O>) -> Time {
        world.wires.heads[self.wire]
    }

    /// The first moment at which all of `flow` may have arrived here, as far as the packets say that arrive before `end`. If that is
    /// not before `end`, it may be later than said, never sooner.
    pub(crate) fn may_receive<O>(&mut self, flow: FlowId, end: Time, world: &World<O>) -> Time {
        let shared = &world.shared;
        let spec = &shared.flows[flow.index()];
        let missing = match world.flows.receivers[flow.index()] {
            Reception::None => Some(spec.size.get()),
            Reception::Live { slot, .. } => self.incoming.get_mut(slot).and_then(|at| at.missing(spec.size)),
            Reception::Done { .. } => return Time::NEVER,
        };
        let wire = &world.wires.wires[self.wire];
        let overhead = shared.groups[spec.group.index()].overhead;
        let (Some(mut missing), None) = (missing, &self.handover) else {
            return self.may_notice(end, world);
        };
        let arriving = wire.ring.iter().take_while(|packet| packet.at() < end);
        for packet in arriving.filter(|packet| packet.flow() == flow && packet.kind() != Kind::Ack) {
            missing = missing.saturating_sub(packet.size().saturating_sub(overhead).into());
            if missing == 0 {
                return packet.at();
            }
        }
        self.all_after(missing, spec, end, world)
    }

    /// When the last of so many bytes of a flow arrives at the earliest, if the first packet does at `first`: all others have crossed the
    /// link before. Over links that change, when that first one does.
    pub(crate) fn all_after<O>(&self, missing: u64, spec: &FlowSpec, first: Time, world: &World<O>) -> Time {
        let shared = &world.shared;
        let overhead = shared.groups[spec.group.index()].overhead;
        let payload = u64::try_from(shared.quantum).unwrap_or_default().saturating_sub(overhead.into());
        let flight = shared.flights[world.wires.wires[self.wire].link.index()];
        first + flight.map_or(Span::ZERO, |flight| flight.wire_time.of_many(missing.saturating_sub(payload)))
    }

    /// The same for the moment at which the source of `flow`, which is here, may know that all has arrived.
    pub(crate) fn may_close<O>(&self, flow: FlowId, end: Time, world: &World<O>) -> Time {
        let spec = &world.shared.flows[flow.index()];
        if self.handover.is_some() {
            return self.may_notice(end, world);
        }
        let shares = world.shared.groups[spec.group.index()].has_queue_pairs();
        let ends = |packet: &&Packet| {
            // One with slots may name packets beyond a gap.
            let may_end = shares || packet.trailers() > 0 || packet.seq() >= spec.size.get();
            packet.kind() == Kind::Ack && packet.flow() == flow && may_end
        };
        let mut arriving = world.wires.wires[self.wire].ring.iter().take_while(|packet| packet.at() < end);
        arriving.find(ends).map_or(end, |packet| packet.at())
    }

    /// The next moment before `end` at which it may notice an arrival.
    fn may_notice<O>(&self, end: Time, world: &World<O>) -> Time {
        self.next_arrival(world).min(self.senders.agenda.next()).min(end)
    }

    /// The record of a flow that is under way from here.
    pub(crate) fn record_of<O>(&mut self, flow: FlowId, world: &World<O>) -> Option<FlowRecord> {
        let outgoing = self.senders.outgoing.get_mut(world.flows.senders[flow.index()])?;
        outgoing.records().find(|record| record.flow == flow)
    }

    /// Time for which its link will be busy with what its network card has.
    pub(crate) fn backlog(&self, now: Time) -> Span {
        self.senders.nic.backlog(now)
    }

    /// Becomes an external host, maybe a machine.
    ///
    /// # Panics
    /// If something starts here.
    pub(crate) fn leave(&mut self, is_machine: bool) {
        assert!(self.outstanding() == 0, "something starts at an external host");
        self.outside = Some(Box::default());
        self.watched = true;
        if is_machine {
            self.burst_delay = None;
        }
    }

    /// A packet from outside will be ready at `at`. Only external hosts get some.
    pub(crate) fn send_later(&mut self, at: Time, packet: WholePacket) {
        if let Some(outside) = &mut self.outside {
            outside.send_later(at, packet);
            self.senders.agenda.plan(at, Wake::Outside);
        }
    }

    /// The next packet from outside is ready.
    pub(super) fn take_from_outside(&mut self) {
        if let Some(whole) = self.outside.as_mut().and_then(|outside| outside.next_ready()) {
            self.senders.nic.push_ready(whole.parcel());
        }
    }

    /// A packet arrived at an external host. What is meant for the network card goes no further.
    #[cold]
    pub(super) fn hand_out<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        match parcel.packet.control().filter(|control| control.is_for_neighbor()) {
            Some(control) => self.on_control(now, control, parcel, world),
            None => self.outside.iter_mut().for_each(|outside| outside.receive(parcel)),
        }
    }

    /// Packets that have arrived for an external host since the last call.
    pub(crate) fn take_arrived(&mut self) -> Vec<WholePacket> {
        self.outside.as_mut().map(|outside| outside.take_arrived()).unwrap_or_default()
    }
}
