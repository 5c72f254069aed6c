//! The proactive notification point: marks of packets from this data center become notifications.

use narrows_proto::cc::Ecn;
use narrows_proto::units::Time;

use super::settings::Entry;
use super::{Themis, ThemisCounters, near};
use crate::host::{Way, cnp_packet};
use crate::ids::{FlowId, HostId};
use crate::mechanism::at_ports::{AtPorts, Departing, Outbox, PortsSite, Return};
use crate::packet::{CE, Kind, Packet};
use crate::random::mix;
use crate::record::PortCounters;
use crate::switch::Reached;
use crate::world::{GroupState, Shared, TransportState};

/// The notification point of a switch.
#[derive(Debug)]
pub(crate) struct Notifier {
    config: Themis,
    near: Reached,
    /// By a hash of the flow.
    entries: Box<[Entry]>,
    /// By port.
    counters: Vec<ThemisCounters>,
    outbox: Outbox,
}

impl AtPorts for Notifier {
    fn new(site: &PortsSite<'_>) -> Option<Self> {
        let config = site.config.themis.clone().filter(|themis| themis.notify)?;
        let none = Entry { flow: FlowId(u32::MAX), again: Time::ZERO };
        Some(Self {
            near: near(site.network, site.node),
            entries: vec![none; config.table as usize].into(),
            counters: vec![ThemisCounters::default(); site.ports],
            outbox: Outbox::default(),
            config,
        })
    }

    #[inline]
    fn on_departing(&mut self, departing: &Departing, packet: Packet, shared: &Shared) -> Packet {
        if packet.is_marked() && packet.kind() == Kind::Data {
            self.intercept(departing, packet, shared)
        } else {
            packet
        }
    }

    #[inline]
    fn take_outbox(&mut self) -> Option<Outbox> {
        if self.outbox.returns.is_empty() { None } else { Some(std::mem::take(&mut self.outbox)) }
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.themis = self.counters[port];
    }
}

/// The source of a flow that reacts to CNPs, and its group.
pub(super) fn source(flow: FlowId, shared: &Shared) -> Option<(HostId, &GroupState)> {
    let spec = shared.flows.get(flow.index())?;
    let group = &shared.groups[spec.group.index()];
    let reacts = matches!(&group.transport, TransportState::Rdma(rdma) if rdma.ecn == Ecn::Cnp);
    reacts.then_some((spec.from, group))
}

impl Notifier {
    /// A marked data packet leaves.
    #[inline(never)]
    fn intercept(
        &mut self,
        &Departing { now, port, from }: &Departing,
        packet: Packet,
        shared: &Shared,
    ) -> Packet {
        let Some((source, group)) =
            source(packet.flow(), shared).filter(|(source, _)| self.near.has(*source))
        else {
            return packet;
        };
        self.counters[port].cleared += u64::from(self.config.clear);
        if self.may_notify(now, packet.flow()) {
            self.counters[port].notified += 1;
            let way = Way { flow: packet.flow(), to: source, incarnation: packet.incarnation() };
            let at = now + self.config.delay;
            self.outbox.returns.push(Return { at, from, packet: cnp_packet(way, group) });
        }
        if self.config.clear { packet.without(CE) } else { packet }
    }

    /// Whether a flow is notified now, which is remembered.
    pub(super) fn may_notify(&mut self, now: Time, flow: FlowId) -> bool {
        let place = mix(flow.0.into()) % self.entries.len() as u64;
        let entry = &mut self.entries[place as usize];
        if entry.flow == flow && now < entry.again {
            return false;
        }
        *entry = Entry { flow, again: now + self.config.delay + self.config.gap };
        true
    }
}
