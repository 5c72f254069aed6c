//! The state of JumboFlows at the switch of a rack (RackCC): who is registered, what is counted, what hosts are sent.

use std::collections::VecDeque;

use narrows_proto::units::{Span, Time};

use super::table::{Jumbo, LastHop, NO_SUBFLOW, NOWHERE, RackState, UNREGISTERED};
use super::wire::{Access, Membership, report_packet};
use super::{RackEvent, RackRecord};
use crate::ids::HostId;
use crate::mechanism::at_switch::{AtSwitch, Pass, SwitchSite};
use crate::network::Network;
use crate::observe::{MechanismEvent, Observer};
use crate::packet::{AGAIN, Control, ECE, Kind, Packet, Trailers};
use crate::prefetch::prefetch_at;
use crate::random::{Purpose, Stream};
use crate::traffic::Group;
use crate::world::{Arrival, Log, OWN, TransportState, World};

const MEMBERSHIP: Kind = Kind::Control(Control::Membership);

impl AtSwitch for RackState {
    fn new(site: &SwitchSite<'_>) -> Option<Self> {
        let agent = site.config.rackcc.clone()?;
        let mut hosts: Vec<_> = site.hosts.iter().flatten().map(|edge| edge.host).collect();
        hosts.sort_unstable();
        if hosts.is_empty() {
            return None;
        }
        // Periods begin at random times, so that switches do not report at the same moment.
        let mut random = Stream::new(site.seed, Purpose::Rack, site.node.0.into());
        let phase = Span::from_ps(random.below(agent.jumboflow.period.as_ps()));
        let hop = LastHop { host: HostId::default(), used: false, lowest: u64::MAX };
        Some(Self {
            places: vec![NOWHERE; site.leaves * agent.jumboflows as usize],
            agent,
            node: site.node,
            leaf: site.leaf,
            from_host: site.hosts.iter().map(Option::is_some).collect(),
            hosts,
            jumboflows: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
            ports: vec![hop; site.ports],
            next_tick: Time::ZERO + phase,
            next_report: Time::NEVER,
            next_sweep: Time::NEVER,
            outbox: VecDeque::new(),
            record: RackRecord::default(),
        })
    }

    /// Whether they may register in a table.
    fn of_groups(network: &Network, groups: &[Group]) -> Vec<u32> {
        let of = |group: &Group| if group.transport.needs_rack() { UNREGISTERED } else { NO_SUBFLOW };
        let has_tables = network.switches.iter().flatten().any(|switch| switch.rackcc.is_some());
        if has_tables { groups.iter().map(of).collect() } else { Vec::new() }
    }

    #[inline]
    fn next(&self) -> Time {
        let tick = if self.is_busy() { self.next_tick } else { Time::NEVER };
        tick.min(self.next_report).min(self.next_sweep)
    }

    /// Prefetches what is kept of the subflows that these packets are of: where it is, and then what is there.
    fn prefetch<O>(&self, arrivals: &[Arrival], world: &World<O>) {
        for arrival in arrivals {
            prefetch_at(&world.flows.at_switch, arrival.packet.flow().index());
        }
        arrivals.iter().for_each(|arrival| self.prefetch_entry(arrival.packet, world));
    }

    fn pass<O: Observer>(&mut self, now: Time, packet: Packet, from: u32, world: &mut World<O>) -> Pass {
        let flow = packet.flow();
        let kind = match packet.kind() {
            Kind::Limited => packet.untagged(world.shared.tag_size).kind(),
            kind => kind,
        };
        let subflow = match kind {
            Kind::Data | Kind::Syn | Kind::Datagram | Kind::Ack | Kind::SynAck | MEMBERSHIP => {
                world.flows.at_switch[flow.index()] != NO_SUBFLOW
            }
            _ => false,
        };
        if !subflow {
            return Pass::Through(packet);
        }
        let to = world.shared.access[packet.to().index()].leaf;
        let from_host = self.from_host.get(from as usize).copied().unwrap_or(false);
        match kind {
            Kind::Ack | Kind::SynAck => {
                if to == self.leaf {
                    self.on_answer(now, packet, kind, world);
                }
                Pass::Through(packet)
            }
            MEMBERSHIP if from_host => self.on_membership(now, packet, to, world),
            _ if to == self.leaf => Pass::LastHop(packet),
            _ if from_host => self.on_sent(now, packet, kind, to, world),
            _ => Pass::Through(packet),
        }
    }

    /// It may be marked there only if the agent says so.
    fn on_last_hop(&mut self, now: Time, port: u16, packet: Packet, backlog: u64) -> Packet {
        let hop = &mut self.ports[usize::from(port)];
        hop.lowest = hop.lowest.min(backlog);
        hop.host = packet.to();
        hop.used = true;
        if self.next_report == Time::NEVER {
            self.next_report = now + self.agent.receivers.interval;
        }
        if self.agent.mark_last_hop { packet } else { packet.exempt() }
    }

    /// Hosts are notified of the queues that lead to them.
    fn wants_backlogs(&self, at: Time) -> u16 {
        if self.next_report <= at { self.ports.len() as u16 } else { 0 }
    }

    fn on_backlog(&mut self, port: u16, backlog: u64) {
        let hop = &mut self.ports[usize::from(port)];
        if std::mem::take(&mut hop.used) {
            let lowest = std::mem::replace(&mut hop.lowest, u64::MAX).min(backlog);
            self.outbox.push_back((Access::Queue(lowest).packet(hop.host, &self.agent), Trailers::default()));
            self.record.reports += 1;
        }
    }

    fn step<O: Observer>(&mut self, at: Time, world: &mut World<O>) {
        if self.next_report <= at {
            // Unless nothing has passed.
            let idle = self.outbox.is_empty();
            self.next_report = if idle { Time::NEVER } else { at + self.agent.receivers.interval };
        }
        if self.next_sweep <= at {
            self.expire(at, world);
            self.next_sweep = if self.is_busy() { at + self.sweep() } else { Time::NEVER };
        }
        if self.next_tick <= at {
            self.report(at, world);
            self.next_tick = at + self.agent.jumboflow.period;
        }
    }

    fn take_packet(&mut self) -> Option<(Packet, Trailers, u32)> {
        self.outbox.pop_front().map(|(packet, trailers)| (packet, trailers, OWN))
    }

    fn finish(&self, log: &mut Log) {
        let left = self.entries.iter().flatten().filter(|entry| entry.registered).count() as u64;
        log.mechanisms.rackcc.add(&RackRecord { left, ..self.record });
    }
}

impl RackState {
    /// Prefetches the entry of a packet that passes soon, if it has one here.
    #[inline]
    fn prefetch_entry<O>(&self, packet: Packet, world: &World<O>) {
        let answers = matches!(packet.kind(), Kind::Ack | Kind::SynAck);
        let to_rack = world.shared.access[packet.to().index()].leaf == self.leaf;
        // Others are in the table of another rack.
        if answers == to_rack
            && let Some(place) = world.flows.at_switch.get(packet.flow().index())
        {
            prefetch_at(&self.entries, *place as usize);
        }
    }

    /// A packet of a subflow leaves the rack.
    fn on_sent<O>(&mut self, now: Time, packet: Packet, kind: Kind, to: u32, world: &mut World<O>) -> Pass {
        let mut place = world.flows.at_switch[packet.flow().index()];
        // A SYN names the JumboFlow it wants.
        let (wanted, packet) = match kind {
            Kind::Syn => (packet.seq() as u32, packet.with_seq(0)),
            _ => (0, packet),
        };
        if let Some(entry) = self.entry(place)
            && entry.incarnation != packet.incarnation()
        {
            // An earlier flow of the same client did not unregister.
            self.remove(place, world);
            self.record.expired += 1;
            place = UNREGISTERED;
        }
        if place == UNREGISTERED {
            let jumbo = self.jumbo(to, wanted, now);
            let Some(made) = self.add(now, packet.flow(), packet.incarnation(), jumbo, world) else {
                return Pass::Through(packet);
            };
            place = made;
            if kind != Kind::Syn {
                // It has sent before: its registration was lost or has expired.
                self.record.late += 1;
                self.register(place, world, |jumbo, _| jumbo.join_late(now));
            }
        }
        let several = self.agent.jumboflows > 1;
        let Some(entry) = self.entry_mut(place) else { return Pass::Through(packet) };
        entry.seen = now;
        let jumbo = entry.jumbo;
        match kind {
            // The acknowledgment of a SYN that was sent twice gives no time (Karn's rule).
            Kind::Syn => {
                entry.probe = if entry.probe.is_none() { Some((0, now)) } else { Some((0, Time::NEVER)) }
            }
            _ if packet.is(AGAIN) => entry.probe = None,
            _ => {
                entry.probe.get_or_insert((packet.seq(), now));
            }
        }
        let payload = match kind {
            Kind::Datagram => 1,
            _ => packet.size().saturating_sub(entry.overhead).max(1),
        };
        // Most packets are full; SYNs and the last one carry more headers for each byte.
        entry.unit = entry.unit.min(u64::from((u32::from(packet.size()) << 16) / u32::from(payload)));
        let jumbo = &mut self.jumboflows[jumbo as usize];
        jumbo.state.on_sent(now);
        let number = jumbo.number % self.agent.jumboflows;
        if several { Pass::Over(packet, number) } else { Pass::Through(packet) }
    }

    /// An acknowledgment for a subflow of the rack.
    fn on_answer<O>(&mut self, now: Time, packet: Packet, kind: Kind, world: &mut World<O>) {
        let place = world.flows.at_switch[packet.flow().index()];
        let Some(entry) = self.entry_mut(place).filter(|entry| entry.incarnation == packet.incarnation())
        else {
            return;
        };
        entry.seen = now;
        let jumbo = entry.jumbo as usize;
        let answered = entry.probe.filter(|(seq, _)| kind == Kind::SynAck || packet.seq() > *seq);
        if let Some((_, at)) = answered {
            entry.probe = None;
            if at < Time::NEVER {
                self.jumboflows[jumbo].state.on_rtt(now - at);
            }
        }
        let Some(entry) = self.entry_mut(place) else { return };
        if kind == Kind::SynAck {
            if !entry.registered {
                self.record.registered += 1;
                self.register(place, world, |jumbo, agent| jumbo.join(&agent.jumboflow, now));
            }
            return;
        }
        if packet.seq() > entry.acked {
            let bytes = (u128::from(packet.seq() - entry.acked) * u128::from(entry.unit)) >> 16;
            entry.acked = packet.seq();
            self.jumboflows[jumbo].state.on_acked(bytes as u64, packet.is(ECE));
        }
    }

    /// A host says that a subflow begins or ends.
    fn on_membership<O>(&mut self, now: Time, packet: Packet, to: u32, world: &mut World<O>) -> Pass {
        let message = Membership::read(packet);
        let place = world.flows.at_switch[message.flow.index()];
        let known = self.entry(place).is_some_and(|entry| entry.incarnation == message.incarnation);
        if known && !message.joins {
            self.remove(place, world);
            self.record.unregistered += 1;
        } else if !known && message.joins && to != self.leaf {
            self.remove(place, world);
            let jumbo = self.jumbo(to, message.jumboflow, now);
            if let Some(place) = self.add(now, message.flow, message.incarnation, jumbo, world) {
                self.record.registered += 1;
                self.register(place, world, |jumbo, agent| jumbo.join(&agent.jumboflow, now));
            }
        }
        // Datagrams have no other way to name their destination.
        let group = world.shared.flows[message.flow.index()].group;
        match world.shared.groups[group.index()].transport {
            TransportState::Datagram { .. } => Pass::Through(packet),
            _ => Pass::Taken,
        }
    }

    /// Reports to hosts on the JumboFlows they take part in. With several to a rack, all hosts receive reports on all of them.
    fn report<O: Observer>(&mut self, now: Time, world: &mut World<O>) {
        let each = self.agent.jumboflows;
        for Jumbo { number, state, members } in &mut self.jumboflows {
            if members.is_empty() && (each == 1 || !state.is_remembered(&self.agent.jumboflow, now)) {
                continue;
            }
            let number = *number;
            let report = state.report(&self.agent.jumboflow, now);
            let (rack, of_rack) = (number / each, number % each);
            let event = RackEvent::JumboFlow { node: self.node, rack, number: of_rack, report };
            world.observer.mechanism(now, &MechanismEvent::RackEvent(event));
            let members = members.iter().map(|member| member.0).filter(|_| each == 1);
            let everyone = self.hosts.iter().copied().filter(|_| each > 1);
            for host in members.chain(everyone) {
                self.outbox.push_back(report_packet(number, &report, host, &self.agent));
                self.record.broadcasts += 1;
            }
        }
    }
}
