//! The engine without everything that makes it useful: the floor under its cost per packet-hop.
//!
//! The packets of a permutation go through the engine's rings, wires, windows and calendar along routes computed
//! beforehand. Every host keeps a fixed number of packets under way to one other, which acknowledges every second one.
//! That is all: no loss recovery, no congestion control, no marking, no packet memory, no timers, no counters, no flow
//! records, no observers, one thread. All links are alike, so a packet's time on the wire is one of two constants.
//!
//! `cargo xtask bench` runs this next to the engine. What the engine may cost is stated as a multiple of it, because
//! that does not depend on the machine.
//!
//! It is compiled always and hidden from the documentation, rather than put behind a feature: so it is checked and
//! tested like everything else, `cargo bench` needs no flags, and programs that do not call it do not contain it.

use narrows_proto::units::{Span, Time};

use crate::ids::{FlowId, HostId, LinkId, NodeId};
use crate::link::Wires;
use crate::packet::{Fields, Kind, Packet};
use crate::prefetch::{prefetch, prefetch_at, prefetch_lines};
use crate::random::mix;
use crate::routing::paths::Paths;
use crate::routing::{Routing, Salt};
use crate::topology::Topology;
use crate::world::calendar::{Calendar, Windows};

/// Hosts that send to each other, each to one.
#[derive(Clone, Debug)]
pub struct FixedWindows {
    /// By host: who it sends to.
    pub to: Vec<HostId>,
    /// Data packets each host sends.
    pub packets: u64,
    /// Data packets a host may have sent without an acknowledgment.
    pub window: u64,
    /// Bytes of a data packet.
    pub data_size: u16,
    /// Bytes of an acknowledgment.
    pub ack_size: u16,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Packets that arrived at some node.
    pub packet_hops: u64,
    /// When the last sender knew that everything had arrived.
    pub ended: Time,
    /// A number that two runs share only if every sender ended at the same time in both.
    pub fingerprint: u64,
}

/// A network with packets to send. Its first nodes are the hosts.
#[derive(Debug)]
pub struct Floor {
    hosts: Vec<Host>,
    switches: Vec<Switch>,
    fabric: Fabric,
    /// Scratch: the nodes due in one window.
    due: Vec<u32>,
}

/// A host with one flow that begins and one that ends here.
#[derive(Debug)]
struct Host {
    port: Port,
    /// The wire packets arrive on.
    wire: u32,
    /// Packets to send, sent, and known to have arrived.
    packets: u64,
    sent: u64,
    arrived: u64,
    window: u64,
    /// Packets received.
    received: u64,
    done: Time,
    /// Fields of a packet of its flow, and of an acknowledgment of the flow it receives.
    data: Fields,
    ack: Fields,
}

#[derive(Debug)]
struct Switch {
    /// Its wires and its ports are next to each other.
    first_wire: u32,
    wires: u32,
    ports: Vec<Port>,
    /// By flow, data and acknowledgments apart: the port it leaves from.
    routes: Box<[u8]>,
}

/// A port knows the departure of a packet when it arrives.
#[derive(Clone, Copy, Debug)]
struct Port {
    busy_until: Time,
    wire: u32,
}

/// State that nodes share.
#[derive(Debug)]
struct Fabric {
    wires: Wires,
    calendar: Calendar,
    delay: Span,
    /// Times for which data and acknowledgments occupy a link.
    times: [Span; 2],
    hops: u64,
    /// Scratch: the packets that arrive at one switch in one window, and for each of its ports when which of them arrives:
    /// the time since an origin, then the place in `arrivals`.
    arrivals: Vec<Packet>,
    leaving: Vec<Vec<u64>>,
}

const PLACE_BITS: u32 = 24;
const ACK_EVERY: u64 = 2;

impl Floor {
    /// # Panics
    /// If links differ, a host is not attached to a switch, has nobody to send to, or does not receive from exactly one.
    pub fn new(topology: &Topology, flows: &FixedWindows, seed: u64) -> Self {
        let wire = topology.links()[0].wire;
        assert!(topology.links().iter().all(|link| link.wire == wire), "all links are alike");
        let times = [flows.data_size, flows.ack_size].map(|size| wire.rate.wire_time().of(size));
        let nodes = order(topology);
        let inputs = inputs(topology);
        let mut wires = Wires::default();
        let mut wire_of = vec![0; topology.links().len()];
        let mut first_wire = Vec::new();
        for (number, node) in (0..).zip(&nodes) {
            first_wire.push(wires.heads.len() as u32);
            for link in &inputs[node.index()] {
                wire_of[link.index()] = wires.heads.len() as u32;
                wires.add(number, *link, None);
            }
        }
        let out = topology.ports();
        let port = |link: &LinkId| Port { busy_until: Time::ZERO, wire: wire_of[link.index()] };
        let routes = routes(topology, flows, seed);
        let from = senders(&flows.to);
        let host = |(number, node): (usize, &NodeId)| {
            let fields = |flow, to, size, kind| Fields {
                seq: 0,
                flow: FlowId::from(flow),
                to,
                size,
                incarnation: 0,
                kind,
                priority: 0,
                flags: 0,
                trailers: 0,
            };
            Host {
                port: port(&out[node.index()][0]),
                wire: first_wire[number],
                packets: flows.packets,
                sent: 0,
                arrived: 0,
                window: flows.window,
                received: 0,
                done: Time::NEVER,
                data: fields(number, flows.to[number], flows.data_size, Kind::Data),
                ack: fields(from[number].index(), from[number], flows.ack_size, Kind::Ack),
            }
        };
        let hosts: Vec<_> = nodes[..topology.hosts().len()].iter().enumerate().map(host).collect();
        let switch = |(number, node): (usize, &NodeId)| Switch {
            first_wire: first_wire[number],
            wires: inputs[node.index()].len() as u32,
            ports: out[node.index()].iter().map(port).collect(),
            routes: routes[node.index()].clone(),
        };
        let switches = nodes.iter().enumerate().skip(hosts.len()).map(switch).collect();
        // Nothing that is sent in a window this long arrives in it.
        let width = wire.delay + times[0].min(times[1]);
        let fabric = Fabric {
            wires,
            calendar: Calendar::new(Windows::new(width), nodes.len()),
            delay: wire.delay,
            times,
            hops: 0,
            arrivals: Vec::new(),
            leaving: vec![Vec::new(); out.iter().map(Vec::len).max().unwrap_or(0)],
        };
        Self { hosts, switches, fabric, due: Vec::new() }
    }

    /// Runs until every packet has arrived.
    pub fn run(mut self) -> Outcome {
        for host in &mut self.hosts {
            host.fill_window(Time::ZERO, &mut self.fabric);
        }
        while let Some(window) = self.fabric.calendar.next_window() {
            self.run_window(window);
        }
        let done = || self.hosts.iter().map(|host| host.done);
        Outcome {
            packet_hops: self.fabric.hops,
            ended: done().max().unwrap_or(Time::ZERO),
            fingerprint: done().fold(mix(self.fabric.hops), |hash, done| mix(hash ^ done.as_ps())),
        }
    }

    fn run_window(&mut self, window: u64) {
        let mut due = std::mem::take(&mut self.due);
        self.fabric.calendar.take(window, &mut due);
        let until = self.fabric.calendar.windows().end(window);
        for (place, &node) in due.iter().enumerate() {
            self.prefetch(&due[place..], until);
            let next = match (node as usize).checked_sub(self.hosts.len()) {
                None => self.hosts[node as usize].advance(until, &mut self.fabric),
                Some(switch) => self.switches[switch].advance(until, &mut self.fabric),
            };
            if next < Time::NEVER {
                self.fabric.calendar.schedule(node, next);
            }
        }
        self.due = due;
    }

    /// Prefetches what the nodes after the first of `due` will need, as the engine does.
    #[inline(always)]
    fn prefetch(&self, due: &[u32], until: Time) {
        let switch = |ahead: usize| {
            due.get(ahead).and_then(|node| self.switches.get((*node as usize).checked_sub(self.hosts.len())?))
        };
        let host = |ahead: usize| due.get(ahead).and_then(|node| self.hosts.get(*node as usize));
        let wires = &self.fabric.wires;
        if let Some(switch) = switch(6) {
            prefetch_lines(switch);
        } else if let Some(host) = host(6) {
            prefetch_lines(host);
        }
        if let Some(switch) = switch(4) {
            wires.heads[switch.wires()].iter().step_by(8).for_each(prefetch);
            wires.wires[switch.wires()].iter().for_each(prefetch);
            switch.ports.iter().step_by(4).for_each(prefetch);
        } else if let Some(host) = host(4) {
            prefetch_at(&wires.heads, host.wire as usize);
            wires.prefetch(host.wire);
        }
        if let Some(switch) = switch(2) {
            for (head, wire) in wires.heads[switch.wires()].iter().zip(&wires.wires[switch.wires()]) {
                if *head < until {
                    wire.ring.prefetch_front();
                }
            }
        } else if let Some(host) = host(2) {
            wires.wires[host.wire as usize].ring.prefetch_front();
        }
    }
}

impl Host {
    fn advance(&mut self, until: Time, fabric: &mut Fabric) -> Time {
        let wire = self.wire as usize;
        loop {
            let now = fabric.wires.heads[wire];
            if now >= until {
                return now;
            }
            let ring = &mut fabric.wires.wires[wire].ring;
            let packet = ring.take();
            fabric.wires.heads[wire] = ring.front_at();
            fabric.hops += 1;
            match packet.kind() {
                Kind::Data => self.on_data(now, fabric),
                _ => self.on_ack(now, packet.seq(), fabric),
            }
        }
    }

    /// Nothing is lost and nothing is reordered, so counting is enough.
    #[inline(always)]
    fn on_data(&mut self, now: Time, fabric: &mut Fabric) {
        self.received += 1;
        if self.received.is_multiple_of(ACK_EVERY) || self.received == self.packets {
            let ack = Packet::new(Fields { seq: self.received, ..self.ack });
            fabric.send(&mut self.port, now, ack, fabric.times[1]);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, now: Time, arrived: u64, fabric: &mut Fabric) {
        self.arrived = arrived;
        if arrived == self.packets {
            self.done = now;
        }
        self.fill_window(now, fabric);
    }

    #[inline(always)]
    fn fill_window(&mut self, now: Time, fabric: &mut Fabric) {
        let end = self.packets.min(self.arrived + self.window);
        while self.sent < end {
            let data = Packet::new(Fields { seq: self.sent, kind: Kind::Data, ..self.data });
            self.sent += 1;
            fabric.send(&mut self.port, now, data, fabric.times[0]);
        }
    }
}

impl Switch {
    #[inline(always)]
    fn wires(&self) -> std::ops::Range<usize> {
        self.first_wire as usize..(self.first_wire + self.wires) as usize
    }

    /// Only packets that leave from the same port have to be put into the order of time.
    fn advance(&mut self, until: Time, fabric: &mut Fabric) -> Time {
        let next = self.collect(until, fabric);
        let mut leaving = std::mem::take(&mut fabric.leaving);
        let arrivals = std::mem::take(&mut fabric.arrivals);
        for (port, leaving) in self.ports.iter_mut().zip(&mut leaving) {
            leaving.sort_unstable();
            for entry in leaving.drain(..) {
                let packet = arrivals[(entry & ((1 << PLACE_BITS) - 1)) as usize];
                let time = fabric.times[usize::from(packet.kind() == Kind::Ack)];
                fabric.send(port, packet.at(), packet, time);
            }
        }
        fabric.leaving = leaving;
        fabric.arrivals = arrivals;
        fabric.arrivals.clear();
        next
    }

    /// Takes what arrives before `until` off the wires. Returns when the first packet after that arrives.
    #[inline(always)]
    fn collect(&self, until: Time, fabric: &mut Fabric) -> Time {
        let origin = until.as_ps() - (1 << (64 - PLACE_BITS - 1)).min(until.as_ps());
        let mut next = Time::NEVER;
        for wire in self.wires() {
            let mut head = fabric.wires.heads[wire];
            if head < until {
                let ring = &mut fabric.wires.wires[wire].ring;
                while head < until {
                    let packet = ring.take();
                    let flow = 2 * packet.flow().index() + usize::from(packet.kind() == Kind::Ack);
                    let entry = (head.as_ps() - origin) << PLACE_BITS | fabric.arrivals.len() as u64;
                    fabric.leaving[usize::from(self.routes[flow])].push(entry);
                    fabric.arrivals.push(packet);
                    head = ring.front_at();
                }
                fabric.wires.heads[wire] = head;
            }
            next = next.min(head);
        }
        fabric.hops += fabric.arrivals.len() as u64;
        next
    }
}

impl Fabric {
    /// A packet joins a port at `now`, which its last bit leaves `time` after its turn has come.
    #[inline(always)]
    fn send(&mut self, port: &mut Port, now: Time, packet: Packet, time: Span) {
        port.busy_until = port.busy_until.max(now) + time;
        let at = port.busy_until + self.delay;
        let wire = &mut self.wires.wires[port.wire as usize];
        if wire.ring.is_empty() {
            self.wires.heads[port.wire as usize] = at;
            self.calendar.schedule(wire.node, at);
        }
        wire.ring.push(packet.arriving(at));
    }
}

/// Hosts first, then switches.
fn order(topology: &Topology) -> Vec<NodeId> {
    let switches =
        (0..topology.nodes().len()).map(NodeId::from).filter(|node| topology.as_host(*node).is_none());
    topology.hosts().iter().copied().chain(switches).collect()
}

/// The links that lead to each node.
fn inputs(topology: &Topology) -> Vec<Vec<LinkId>> {
    let mut inputs = vec![Vec::new(); topology.nodes().len()];
    for (number, link) in topology.links().iter().enumerate() {
        inputs[link.to.index()].push(LinkId::from(number));
    }
    inputs
}

/// By host: who sends to it.
fn senders(to: &[HostId]) -> Vec<HostId> {
    let mut from = vec![None; to.len()];
    for (host, to) in to.iter().enumerate() {
        let before = from[to.index()].replace(HostId::from(host));
        assert!(before.is_none(), "every host receives from one other");
    }
    from.into_iter().map(|from| from.expect("as many senders as receivers")).collect()
}

/// By node, flow and kind: the port a packet leaves from. The routes are those the engine takes with this seed.
fn routes(topology: &Topology, flows: &FixedWindows, seed: u64) -> Vec<Box<[u8]>> {
    let paths = Paths::new(topology, &Routing::Ecmp, &Salt::PerSwitch, seed);
    let ports = topology.ports();
    let mut routes = vec![vec![u8::MAX; 2 * flows.to.len()].into_boxed_slice(); topology.nodes().len()];
    for (flow, to) in flows.to.iter().enumerate() {
        let from = HostId::from(flow);
        for (kind, (from, to)) in [(from, *to), (*to, from)].into_iter().enumerate() {
            let path = paths.path(FlowId::from(flow), from, to).expect("every host reaches every other");
            for link in path {
                let node = topology.link(link).from.index();
                let port = ports[node].iter().position(|port| *port == link).expect("links leave from ports");
                routes[node][2 * flow + kind] =
                    u8::try_from(port).expect("switches have fewer than 256 ports");
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Time};

    use super::*;
    use crate::topology::{FatTree, Star};

    const RATE: BitRate = BitRate::from_gbps(100);
    const DELAY: Span = Span::from_us(1);

    fn flows(to: Vec<u32>, packets: u64, window: u64) -> FixedWindows {
        let to = to.into_iter().map(HostId).collect();
        FixedWindows { to, packets, window, data_size: 1500, ack_size: 64 }
    }

    #[test]
    fn a_lone_packet_takes_its_time() {
        let mut topology = Topology::default();
        Star { hosts: 2, rate: RATE, delay: DELAY }.build(&mut topology, "");
        let outcome = Floor::new(&topology, &flows(vec![1, 0], 1, 10), 1).run();
        assert_eq!(outcome.packet_hops, 2 * 4);
        // Twice 1 us and 120 ns there, twice 1 us and 5.12 ns back.
        assert_eq!(outcome.ended, Time::from_ps(2 * (2_000_000 + 120_000 + 5_120)));
    }

    #[test]
    fn every_packet_crosses_its_whole_path() {
        let mut topology = Topology::default();
        FatTree { k: 4, rate: RATE, delay: DELAY }.build(&mut topology, "");
        // All between pods, so over six links.
        let outcome =
            Floor::new(&topology, &flows((0..16).map(|h| (h + 9) % 16).collect(), 101, 10), 1).run();
        assert_eq!(outcome.packet_hops, 16 * 6 * (101 + 51));
    }

    #[test]
    fn wide_windows_keep_links_busy() {
        let mut topology = Topology::default();
        Star { hosts: 3, rate: RATE, delay: DELAY }.build(&mut topology, "");
        let outcome = Floor::new(&topology, &flows(vec![1, 2, 0], 10_000, 200), 1).run();
        let sending = Time::ZERO + Span::from_ns(120) * 10_000 + Span::from_ps(5_120) * 5_000;
        let late = outcome.ended.saturating_since(sending);
        // Acknowledgments wait behind the first window of data, 24 us, a few times over.
        assert!(outcome.ended > sending && late < Span::from_us(100), "{late} longer than sending takes");
    }
}
