//! Switches: store and forward, output queued, one packet memory.
//!
//! A packet passes fixed stages: route, marking, admission to the packet memory, queue, link.

mod buffer;
mod marking;
mod plain;
mod scheduled;

use narrows_proto::units::{Span, Time};

use self::buffer::Memory;
pub use self::buffer::{Buffer, Dynamic, Sharing};
use self::marking::{Marker, Verdict};
pub use self::marking::{Marking, Red, RedAction, Step};
use self::plain::PlainPorts;
use self::scheduled::ScheduledPorts;
use crate::engine::World;
use crate::ids::LinkId;
use crate::link::Egress;
use crate::observe::Observer;
use crate::packet::{CE, Packet, Trailers};
use crate::prefetch::prefetch;
use crate::random::Stream;
use crate::record::{DropCause, PortCounters};
use crate::routing::{Access, Choice, Routes};

/// Settings of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Its packet memory.
    pub buffer: Buffer,
    /// How its queues signal congestion.
    pub marking: Marking,
    /// Time from the last bit of a packet until it joins a queue.
    pub latency: Span,
    /// How its ports work.
    pub ports: PortKind,
}

/// Kinds of ports. Both give the same results where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortKind {
    /// First in, first out: knows the departure of a packet when it arrives.
    #[default]
    Plain,
    /// A queue for each priority, the highest first.
    Scheduled,
}

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Its wires are next to each other.
    first_wire: u32,
    wires: u32,
    /// Its index among switches with hosts; any other number if it has none.
    leaf: u32,
    /// Some of its wires lose packets.
    impaired: bool,
    routes: Routes,
    choice: Choice,
    next_edit: Time,
    ports: Ports,
    common: Common,
    /// Changes of the routes to come, the next one last.
    edits: Vec<(Time, Routes)>,
    no_route: Box<PortCounters>,
}

/// What a switch is made from.
pub(crate) struct SwitchParts {
    pub(crate) first_wire: usize,
    pub(crate) wires: usize,
    pub(crate) impaired: bool,
    /// Its index among switches with hosts; any other number if it has none.
    pub(crate) leaf: u32,
    pub(crate) routes: Routes,
    pub(crate) choice: Choice,
    /// In order of time.
    pub(crate) edits: Vec<(Time, Routes)>,
    pub(crate) egresses: Vec<Egress>,
    pub(crate) random: Stream,
    /// Size of a typical packet, for RED's idle time.
    pub(crate) typical_packet: u16,
}

/// The output ports.
#[derive(Debug)]
enum Ports {
    Plain(PlainPorts),
    Scheduled(ScheduledPorts),
}

/// What all ports of a switch share.
#[derive(Debug)]
struct Common {
    memory: Memory,
    marker: Marker,
    /// By port.
    counters: Vec<PortCounters>,
    links: Vec<LinkId>,
}

/// A packet that arrives in the window being worked on. The last of the fields is for speed only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    packet: Packet,
    /// Where it leaves, or [`UNROUTED`].
    port: u16,
    /// It brought trailers: the index of the first, plus one.
    trailers: u32,
    /// The wire it leaves on.
    leaves_on: u32,
}

/// Scratch of a thread: the arrivals at one switch in one window.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// In the order of wires.
    list: Vec<Arrival>,
    trailers: Vec<Trailers>,
    /// What to do when: the time since an origin, then the place in the list, so that simultaneous arrivals are taken in
    /// the order of wires.
    order: Vec<u64>,
}

/// Bits of an entry of [`Arrivals::order`] that hold the place.
const PLACE_BITS: u32 = 24;
/// Windows are shorter than this, so that the time fits the other bits.
pub(crate) const MAX_WINDOW: Span = Span::from_ps(1 << (64 - PLACE_BITS - 1));

const UNROUTED: u16 = u16::MAX;
/// The most ports a switch may have: they are numbered with 15 bits.
pub const MOST_PORTS: usize = (1 << 15) - 1;

/// How many packets ahead the place on the link they leave on is asked for.
const LOOK_AHEAD: usize = 4;

impl Switch {
    pub(crate) fn new(config: &SwitchConfig, parts: SwitchParts) -> Self {
        let count = parts.egresses.len();
        assert!(count.max(parts.wires) <= MOST_PORTS, "a switch has at most {MOST_PORTS} ports");
        let packet_time = |egress: &Egress| egress.wire_time.of(parts.typical_packet);
        let common = Common {
            memory: Memory::new(&config.buffer, count),
            marker: Marker::new(&config.marking, parts.egresses.iter().map(packet_time), parts.random),
            counters: vec![PortCounters::default(); count],
            links: parts.egresses.iter().map(|egress| egress.link).collect(),
        };
        let mut edits = parts.edits;
        edits.reverse();
        Self {
            first_wire: parts.first_wire as u32,
            wires: parts.wires as u32,
            leaf: parts.leaf,
            impaired: parts.impaired,
            routes: parts.routes,
            choice: parts.choice,
            next_edit: edits.last().map_or(Time::NEVER, |edit| edit.0),
            ports: match config.ports {
                PortKind::Plain => Ports::Plain(PlainPorts::new(&parts.egresses)),
                PortKind::Scheduled => Ports::Scheduled(ScheduledPorts::new(&parts.egresses)),
            },
            common,
            edits,
            no_route: Box::default(),
        }
    }

    /// Asks for the state of wires and ports, some nodes before this one is advanced.
    #[inline]
    pub(crate) fn prefetch_state<O>(&self, world: &World<O>) {
        let first = self.first_wire as usize;
        let last = first + self.wires as usize;
        world.wires.heads[first..last].iter().step_by(8).for_each(prefetch);
        world.wires.wires[first..last].iter().for_each(prefetch);
        if let Ports::Plain(ports) = &self.ports {
            ports.prefetch();
        }
    }

    /// Asks for the packets that arrive before `until`, and for what waits at the ports.
    #[inline]
    pub(crate) fn prefetch_packets<O>(&self, until: Time, world: &World<O>) {
        let first = self.first_wire as usize;
        let last = first + self.wires as usize;
        for (head, wire) in world.wires.heads[first..last].iter().zip(&world.wires.wires[first..last]) {
            if *head < until {
                wire.ring.prefetch_front();
            }
        }
        if let Ports::Plain(ports) = &self.ports {
            ports.prefetch_starts();
        }
    }

    /// Does everything due before `until`. Returns when the next thing is due.
    pub(crate) fn advance<O: Observer>(&mut self, until: Time, world: &mut World<O>) -> Time {
        let mut arrivals = std::mem::take(&mut world.arrivals);
        let next_arrival = self.collect(until, &mut arrivals, world);
        let Arrivals { list, trailers, order } = &mut arrivals;
        order.sort_unstable();
        for (number, entry) in order.iter().enumerate() {
            let ahead = order.get(number + LOOK_AHEAD).and_then(|ahead| list.get(place(*ahead)));
            if let Some(wire) = ahead.and_then(|ahead| world.wires.wires.get(ahead.leaves_on as usize)) {
                wire.ring.prefetch_end();
            }
            let arrival = &list[place(*entry)];
            if arrival.trailers > 0 {
                world.trailers = trailers[arrival.trailers as usize - 1];
            }
            let now = arrival.packet.at();
            match arrival.port {
                UNROUTED => self.join_unrouted(now, arrival.packet, world),
                port => self.join(now, port.into(), arrival.packet, world),
            }
        }
        list.clear();
        trailers.clear();
        order.clear();
        world.arrivals = arrivals;
        match &mut self.ports {
            Ports::Plain(_) => next_arrival,
            Ports::Scheduled(ports) => next_arrival.min(ports.serve_before(until, &mut self.common, world)),
        }
    }

    #[inline]
    fn join<O: Observer>(&mut self, now: Time, port: usize, packet: Packet, world: &mut World<O>) {
        match &mut self.ports {
            Ports::Plain(ports) => ports.join(now, port, packet, &mut self.common, world),
            Ports::Scheduled(ports) => ports.join(now, port, packet, &mut self.common, world),
        }
    }

    /// Takes what arrives before `until` off the wires. Returns when the first packet after that arrives.
    #[inline]
    fn collect<O: Observer>(&mut self, until: Time, arrivals: &mut Arrivals, world: &mut World<O>) -> Time {
        let origin = until.as_ps().saturating_sub(MAX_WINDOW.as_ps());
        // Routes are chosen when packets have been sorted if they change in this window, or depend on a random stream.
        let route_now = self.next_edit >= until && !matches!(self.choice, Choice::Spray(_));
        let mut next = Time::NEVER;
        let first = self.first_wire as usize;
        for wire in first..first + self.wires as usize {
            let head = world.wires.heads[wire];
            if head >= until {
                next = next.min(head);
                continue;
            }
            let mut ring = std::mem::take(&mut world.wires.wires[wire].ring);
            let head = loop {
                let head = ring.front_at();
                if head >= until {
                    break head;
                }
                let packet = ring.pop(&mut world.trailers);
                world.hops += 1;
                if self.impaired && !world.survives(wire, packet) {
                    continue;
                }
                let port = if route_now { self.route(packet, &world.shared.access) } else { UNROUTED };
                let leaves_on = self.ports.wire_of(port, world.shard);
                world.wires.prefetch(leaves_on);
                let trailers = if packet.trailers() == 0 { 0 } else { arrivals.keep(&world.trailers) };
                arrivals.order.push((head.as_ps() - origin) << PLACE_BITS | arrivals.list.len() as u64);
                arrivals.list.push(Arrival { packet, port, trailers, leaves_on });
            };
            world.wires.wires[wire].ring = ring;
            world.wires.heads[wire] = head;
            next = next.min(head);
        }
        assert!(
            arrivals.list.len() < 1 << PLACE_BITS,
            "2^{PLACE_BITS} packets arrive at a switch in one window"
        );
        next
    }

    #[inline(always)]
    fn route(&self, packet: Packet, access: &[Access]) -> u16 {
        let access = access[packet.to().index()];
        if access.leaf == self.leaf {
            return access.port;
        }
        self.routes.port(access.leaf, packet.flow(), packet.to(), &self.choice).unwrap_or(UNROUTED)
    }

    /// Routes are changing or chosen at random, or there is none.
    #[cold]
    fn join_unrouted<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        if self.next_edit <= now {
            while let Some((_, routes)) = self.edits.pop_if(|edit| edit.0 <= now) {
                self.routes = routes;
            }
            self.next_edit = self.edits.last().map_or(Time::NEVER, |edit| edit.0);
        }
        let leaf = world.shared.access[packet.to().index()].leaf;
        let port = match &mut self.choice {
            Choice::Spray(random) if leaf != self.leaf => {
                self.routes.any_port(leaf, random).unwrap_or(UNROUTED)
            }
            _ => self.route(packet, &world.shared.access),
        };
        match port {
            UNROUTED => self.no_route.count_drop(DropCause::NoRoute, packet.size()),
            port => self.join(now, port.into(), packet, world),
        }
    }

    /// Brings everything up to date at the end of the run and calls `report` with the counters of each port, and of
    /// packets that had nowhere to go.
    pub(crate) fn finish<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World<O>,
        mut report: impl FnMut(Option<LinkId>, &PortCounters),
    ) {
        let waiting = match &mut self.ports {
            Ports::Plain(ports) => ports.finish(now, &mut self.common, world),
            Ports::Scheduled(ports) => ports.waiting(),
        };
        let used = self.common.memory.used;
        assert!(waiting == used, "{waiting} B wait, {used} B of memory are in use");
        for (link, counters) in self.common.links.iter().zip(&self.common.counters) {
            report(Some(*link), counters);
        }
        report(None, &self.no_route);
    }
}

impl Arrivals {
    /// Keeps the trailers of a packet. Returns their index, plus one.
    #[cold]
    fn keep(&mut self, trailers: &Trailers) -> u32 {
        self.trailers.push(*trailers);
        self.trailers.len() as u32
    }
}

/// The place of an entry of [`Arrivals::order`] in the list.
#[inline(always)]
fn place(entry: u64) -> usize {
    (entry & ((1 << PLACE_BITS) - 1)) as usize
}

impl Ports {
    /// The wire a port leads to, if there is such a port and this thread has its wire; an impossible one otherwise.
    #[inline(always)]
    fn wire_of(&self, port: u16, shard: u32) -> u32 {
        let to = match self {
            Self::Plain(ports) => ports.target(port.into()),
            Self::Scheduled(ports) => ports.target(port.into()),
        };
        to.filter(|to| u32::from(to.shard) == shard).map_or(u32::MAX, |to| to.wire)
    }
}

impl Common {
    #[cold]
    fn drop<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        size: u16,
        cause: DropCause,
        world: &mut World<O>,
    ) {
        self.counters[port].count_drop(cause, size);
        world.observer.dropped(now, self.links[port], size, cause);
    }

    #[inline]
    fn mark<O: Observer>(&mut self, now: Time, port: usize, packet: Packet, world: &mut World<O>) -> Packet {
        self.counters[port].marks += 1;
        if O::ACTIVE {
            world.observer.marked(now, self.links[port]);
        }
        packet.with(CE)
    }
}
