//! The fast path of a window: arrivals by the port on which they leave, and the state of a port in registers for all of its packets.
//!
//! Ports share the packet memory only. Where it cannot refuse any packet of the window, whatever the order, ports may take theirs one
//! after the other; where it might, packets are put back into their order and join one by one. Results are the same.

use narrows_proto::units::Time;

use super::{Ports, Switch, UNROUTED};
use crate::observe::Observer;
use crate::packet::{NO_TRAILERS, Packet, Parcel, in_hand};
use crate::world::{Groups, MAX_WINDOW, OWN, World, check_places, entry, place};

impl Switch {
    /// The threshold of marking, if arrivals before `until` may be grouped: nobody watches packets, routes are known and stay, nothing is
    /// lost on wires, and nothing but the threshold looks at packets.
    #[inline(always)]
    pub(super) fn may_group<O: Observer>(&self, until: Time) -> Option<u64> {
        let simple = O::BY_LINK && !self.impaired && !self.routes_late && self.edits.next >= until;
        let fifo = matches!(self.ports, Ports::Fifo(_)) && self.mechanisms.is_none();
        if simple && fifo { self.common.marker.only_step() } else { None }
    }

    /// Does everything due before `until`. Returns when the next packet arrives.
    #[inline(always)]
    pub(super) fn advance_grouped<O: Observer>(
        &mut self,
        until: Time,
        above: u64,
        world: &mut World<O>,
    ) -> Time {
        let mut groups = std::mem::take(&mut world.arrivals.groups);
        let next_arrival = self.collect_packets(until, &mut groups.packets, world);
        match groups.packets.as_slice() {
            [] => {}
            [packet, slots @ ..] if slots.len() == packet.trailers() => self.join_one(*packet, slots, world),
            _ => {
                self.group(until, &mut groups, world);
                if self.surely_admits(&groups) {
                    self.join_groups(above, &mut groups, world);
                } else {
                    self.join_in_order(&mut groups, world);
                }
                groups.touched.clear();
            }
        }
        groups.packets.clear();
        world.arrivals.groups = groups;
        next_arrival
    }

    /// Takes what arrives before `until` off the wires. Returns when the first packet after that arrives.
    #[inline(always)]
    fn collect_packets<O: Observer>(
        &self,
        until: Time,
        packets: &mut Vec<Packet>,
        world: &mut World<O>,
    ) -> Time {
        let mut next = Time::NEVER;
        let first = self.first_wire as usize;
        for wire in first..first + self.wires as usize {
            let mut head = world.wires.heads[wire];
            if head < until {
                head = world.wires.wires[wire].ring.take_before(until, packets);
                world.wires.heads[wire] = head;
            }
            next = next.min(head);
        }
        check_places(packets.len());
        next
    }

    /// Sorts the packets by the port on which they leave.
    #[inline(always)]
    fn group<O: Observer>(&self, until: Time, groups: &mut Groups, world: &mut World<O>) {
        let Groups { packets, leaving, touched, bytes } = groups;
        // What has no route leaves on a port behind all others.
        let unrouted = self.leads_to.len();
        if leaving.len() <= unrouted {
            leaving.resize_with(unrouted + 1, Vec::new);
        }
        let origin = until.as_ps().saturating_sub(MAX_WINDOW.as_ps());
        let (mut place, mut hops, mut sum) = (0, 0, 0);
        while let Some(&packet) = packets.get(place) {
            hops += 1;
            sum += u64::from(packet.size());
            let port = self.route(packet, &world.shared.access);
            let leaving = &mut leaving[usize::from(port).min(unrouted)];
            if leaving.is_empty() {
                touched.push(port);
                if let Some(wire) = self.leads_to.get(usize::from(port)) {
                    world.wires.prefetch(*wire);
                }
            }
            leaving.push(entry(packet.at().as_ps() - origin, place));
            place += 1 + packet.trailers();
        }
        world.hops += hops;
        *bytes = sum;
    }

    /// The only packet of the window.
    #[inline(always)]
    fn join_one<O: Observer>(&mut self, packet: Packet, slots: &[Packet], world: &mut World<O>) {
        world.hops += 1;
        let now = packet.at();
        let trailers = if slots.is_empty() { NO_TRAILERS } else { in_hand(slots) };
        let parcel = Parcel { packet, trailers: &trailers };
        match self.route(packet, &world.shared.access) {
            UNROUTED => self.join_late(now, parcel, OWN, world),
            port => self.join(now, port.into(), parcel, OWN, world),
        }
    }

    /// Whether all packets have a route, and the memory can refuse none of them in any order.
    #[inline]
    fn surely_admits(&self, groups: &Groups) -> bool {
        let Ports::Fifo(ports) = &self.ports else { return false };
        let memory = &self.common.memory;
        let Some(limit) = memory.sure_limit(groups.bytes) else { return false };
        let fits = |port: &u16| {
            let Some(leaving) = groups.leaving[..self.leads_to.len()].get(usize::from(*port)) else {
                return false;
            };
            let sizes = leaving.iter().map(|entry| u64::from(groups.packets[place(*entry)].size()));
            ports.at_most_waiting((*port).into()) + sizes.sum::<u64>() <= limit
        };
        let all_fit = memory.used + groups.bytes <= limit;
        if all_fit { !groups.touched.contains(&UNROUTED) } else { groups.touched.iter().all(fits) }
    }

    /// One port after the other takes its packets.
    #[inline]
    fn join_groups<O: Observer>(&mut self, above: u64, groups: &mut Groups, world: &mut World<O>) {
        let Ports::Fifo(ports) = &mut self.ports else { return };
        let Groups { packets, leaving, touched, .. } = groups;
        for (number, port) in touched.iter().enumerate() {
            if let Some(next) = touched.get(number + 1) {
                let wire = self.leads_to[usize::from(*next)];
                if let Some(wire) = world.wires.wires.get(wire as usize) {
                    wire.ring.prefetch_end();
                }
            }
            let entries = &mut leaving[usize::from(*port)];
            if entries.len() > 1 {
                entries.sort_unstable();
            }
            ports.join_run(usize::from(*port), above, entries, packets, &mut self.common, world);
            entries.clear();
        }
    }

    /// All ports take their packets in the order of arrival.
    #[inline(never)]
    fn join_in_order<O: Observer>(&mut self, groups: &mut Groups, world: &mut World<O>) {
        let unrouted = self.leads_to.len();
        let Groups { packets, leaving, touched, .. } = groups;
        let mut order = std::mem::take(&mut world.arrivals.order_of_ports);
        for port in touched.iter() {
            let entries = leaving[usize::from(*port).min(unrouted)].drain(..);
            order.extend(entries.map(|entry| (entry, *port)));
        }
        order.sort_unstable();
        for (entry, port) in order.drain(..) {
            let (packet, slots) = packets[place(entry)..].split_first().expect("an entry leads to a packet");
            let trailers = in_hand(&slots[..packet.trailers()]);
            let parcel = Parcel { packet: *packet, trailers: &trailers };
            match port {
                UNROUTED => self.join_late(packet.at(), parcel, OWN, world),
                port => self.join(packet.at(), port.into(), parcel, OWN, world),
            }
        }
        world.arrivals.order_of_ports = order;
    }
}
