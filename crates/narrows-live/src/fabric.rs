//! The fabric between real hosts: the network of the scenario, driven by the clock.
//!
//! Frames of hosts enter it as packets when the link of their host has room for them, and leave it when their last bit arrives. A frame
//! is read from its device only then, so that hosts send at the rate of their links and wait when these are paused.

use std::collections::HashMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use narrows::diagnostic::{Code, Diagnostic};
use narrows::results::Lateness;
use narrows_proto::cnm::Signal;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::{Delivered, Delivery, FlowId, GroupId, HostId, Injected, RecordedSession};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::clock::Clock;
use crate::frames::{self, Connection, ETHERNET, Ports, WIRE};
use crate::held::{Held, Piece};
use crate::host::RealHost;
use crate::host_times::Responses;
use crate::segments::{Cut, Joined, Offload};
use crate::sys;
use crate::watchers::Watchers;
use crate::ways::{Way, Ways};

/// A card is handed no more than this much time of its link in advance, on the clock: as long as it mostly takes to wake. A link that
/// runs dry meanwhile has lost that time.
const AHEAD_US: u64 = 150;

/// A thread that goes first and never rests is stopped by the kernel for 50 ms in each second (`sched_rt_runtime_us`): after so much work it
/// rests for a moment.
const WORK: Duration = Duration::from_micros(200);
const REST: Duration = Duration::from_micros(12);

/// Sizes on the wire that the fabric carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) smallest: Bytes,
    pub(crate) largest: Bytes,
}

/// Hosts that take several segments at once get those that leave the fabric within this time together, on the clock.
pub(crate) const GATHER_US: u64 = 25;

/// No frame of a device is larger.
const LARGEST_FRAME: usize = 1 << 17;

/// Segments of a frame that a host receives at once.
#[derive(Debug)]
struct Arrived {
    place: usize,
    flow: Option<FlowId>,
    frame: u64,
    segments: Range<u32>,
    is_marked: bool,
    /// When the first arrived.
    at: Time,
}

/// A host at the fabric.
struct Port<'a> {
    host: &'a RealHost,
    /// There may be a frame to read.
    readable: bool,
}

pub(crate) struct Fabric<'a> {
    session: &'a mut RecordedSession,
    ports: Vec<Port<'a>>,
    /// By number of the host: its place in `ports`.
    places: Vec<Option<usize>>,
    ways: &'a Ways,
    /// Connections that were seen, and those of programs that belong to no flow of the scenario.
    seen: HashMap<(HostId, HostId, Ports), Way>,
    /// By flow: the connection, as its sender has it.
    connections: HashMap<FlowId, Connection>,
    held: Held,
    /// Frames that hosts receive next.
    arrived: Vec<Arrived>,
    /// Most segments in a packet of a host.
    segments: u32,
    /// The last that a host has sent.
    buffer: Vec<u8>,
    clock: Clock,
    sizes: Sizes,
    lateness: Histogram<u64>,
    refused: u64,
    pub(crate) watchers: Watchers,
    epoll: rustix::fd::OwnedFd,
}

/// Observations of the fabric.
pub(crate) struct Noticed {
    pub(crate) lateness: Lateness,
    /// Frames larger than any packet of the scenario, or for a host that is not real.
    pub(crate) refused: u64,
    /// Time of a processor for each packet delivered.
    pub(crate) cost: Span,
    /// Of hosts, if they were measured.
    pub(crate) responses: Option<Responses>,
}

impl<'a> Fabric<'a> {
    pub(crate) fn new(
        session: &'a mut RecordedSession,
        hosts: &'a [RealHost],
        ways: &'a Ways,
        clock: Clock,
        (sizes, segments): (Sizes, u32),
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (place, host) in hosts.iter().enumerate() {
            let data = epoll::EventData::new_u64(place as u64);
            epoll::add(&epoll, &host.tap, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        }
        let most = hosts.iter().map(|host| host.id.index()).max();
        let mut places = vec![None; most.map_or(0, |most| most + 1)];
        for (place, host) in hosts.iter().enumerate() {
            places[host.id.index()] = Some(place);
        }
        Ok(Self {
            session,
            ports: hosts.iter().map(|host| Port { host, readable: true }).collect(),
            places,
            ways,
            seen: HashMap::new(),
            connections: HashMap::new(),
            held: Held::default(),
            arrived: Vec::new(),
            segments,
            buffer: vec![0; LARGEST_FRAME],
            clock,
            sizes,
            lateness: Histogram::new(3).expect("three digits are possible"),
            refused: 0,
            watchers: Watchers::default(),
            epoll,
        })
    }

    /// Goes on until the traffic is over or interrupted.
    pub(crate) fn run(&mut self, goes_on: &mut dyn FnMut(Time) -> ControlFlow<()>) -> io::Result<()> {
        let mut events = Vec::with_capacity(self.ports.len());
        let mut rested = Instant::now();
        loop {
            let now = self.clock.now();
            self.session.advance_until(now);
            self.deliver();
            if goes_on(now).is_break() {
                return Ok(());
            }
            let room = self.read()?;
            let mut wake = self.session.quiet_until().min(room);
            if self.segments > 1 {
                wake = wake.max(now + self.clock.us(GATHER_US));
            }
            let rest = self.clock.takes(self.clock.now(), wake).min(Duration::from_millis(20));
            if rested.elapsed() > WORK && rest < REST {
                std::thread::sleep(REST);
                rested = Instant::now();
            }
            let waits = Instant::now();
            let rest =
                Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: i64::from(rest.subsec_nanos()) };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&rest)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if waits.elapsed() > REST {
                rested = Instant::now();
            }
            for event in &events {
                self.ports[event.data.u64() as usize].readable = true;
            }
        }
    }

    /// Hands out what has arrived.
    fn deliver(&mut self) {
        for Delivery { at, host, what } in self.session.take_deliveries() {
            let Delivered::Packet(packet) = what else { continue };
            let (packet, Some(place)) = (packet.as_seen(), self.place(host)) else { continue };
            if let Some(cnm) = packet.cnm() {
                if let (Signal::Quantized(feedback), Some(connection)) =
                    (cnm.signal, packet.flow().and_then(|flow| self.connections.get(&flow)))
                {
                    let host = self.ports[place].host;
                    let notice = frames::notice(&cnm, feedback, *connection);
                    let _ = write(host, self.segments > 1, Offload::default(), &[&notice]);
                    self.watchers.on_frame(host, at, true, &[&notice]);
                }
                continue;
            }
            let Piece { frame, segment } = Piece::of(packet.seq());
            let (flow, is_marked) = (packet.flow(), packet.is_marked());
            // Those of a flow stay in order.
            let last = self.arrived.iter_mut().rev().find(|other| other.place == place && other.flow == flow);
            match last {
                Some(last)
                    if (last.frame, last.segments.end, last.is_marked) == (frame, segment, is_marked) =>
                {
                    last.segments.end += 1;
                }
                _ => {
                    let segments = segment..segment + 1;
                    self.arrived.push(Arrived { place, flow, frame, segments, is_marked, at });
                    if self.segments == 1 {
                        self.hand_over();
                    }
                }
            }
        }
        self.hand_over();
        for number in self.session.take_discarded() {
            self.held.release(Piece::of(number).frame, 1);
        }
    }

    /// None if the host is not real.
    fn place(&self, host: HostId) -> Option<usize> {
        self.places.get(host.index()).copied().flatten()
    }

    /// Hosts receive what has arrived for them.
    fn hand_over(&mut self) {
        let mut arrived = std::mem::take(&mut self.arrived);
        for Arrived { place, frame: number, segments, is_marked, at, .. } in arrived.drain(..) {
            let (host, count) = (self.ports[place].host, segments.len() as u32);
            let Some(frame) = self.held.get_mut(number) else { continue };
            // Each segment of it that comes later is either marked or not.
            let whole = &mut frame.bytes;
            whole[..6].copy_from_slice(&frames::hardware_of(host.id.0));
            if frame.cut.count == 1 {
                if is_marked {
                    frames::mark(whole);
                }
                let (offload, whole) = (frame.offload, &frame.bytes);
                let _ = write(host, self.segments > 1, offload, &[whole]);
                self.watchers.on_frame(host, at, true, &[whole]);
            } else {
                let mut joined = Joined::new(frame.offload, &frame.bytes, &frame.cut, segments);
                if is_marked {
                    frames::mark(joined.headers());
                }
                let (offload, payload) = (joined.offload, joined.payload);
                let parts = [&*joined.headers(), payload];
                let _ = write(host, true, offload, &parts);
                self.watchers.on_frame(host, at, true, &parts);
            }
            let late = self.clock.takes(at, self.clock.now()).as_nanos() as u64;
            // It grows with what it has to hold. All are as late as the first.
            let _ = self.lateness.record_n(late, count.into());
            self.held.release(number, count);
        }
        self.arrived = arrived;
    }

    /// Reads frames of hosts whose links have room for them. Returns when there is room for others.
    fn read(&mut self) -> io::Result<Time> {
        let ahead = self.clock.us(AHEAD_US);
        let mut room = Time::NEVER;
        for place in 0..self.ports.len() {
            let Port { host, readable } = self.ports[place];
            if !readable {
                continue;
            }
            let mut backlog = self.session.backlog(host.id);
            loop {
                if backlog > ahead {
                    room = room.min(self.session.now() + (backlog - ahead));
                    break;
                }
                let mut offload = Offload::default();
                let header = if self.segments > 1 { &mut offload.0[..] } else { &mut [] };
                let length = header.len();
                let parts = &mut [IoSliceMut::new(header), IoSliceMut::new(&mut self.buffer)];
                match (&host.tap).read_vectored(parts) {
                    Ok(read) => backlog += self.take_in(host, offload, read.saturating_sub(length)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.ports[place].readable = false;
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(room)
    }

    /// A frame of a host, the first bytes of the buffer. Returns how long it takes the link.
    fn take_in(&mut self, host: &RealHost, offload: Offload, length: usize) -> Span {
        let frame = &self.buffer[..length];
        if let Some(answer) = frames::answer(frame) {
            let _ = write(host, self.segments > 1, Offload::default(), &[&answer]);
            return Span::ZERO;
        }
        let seen = frames::read(frame).filter(|seen| self.place(HostId(seen.to)).is_some());
        let cut = Cut::of(offload, frame).filter(|cut| on_wire(cut, 0, self.sizes) <= self.sizes.largest);
        let (Some(seen), Some(cut)) = (seen, cut) else {
            // What is no IPv4 is none of our business: hosts look for routers and neighbors.
            self.refused += u64::from(frame.get(12..ETHERNET) == Some(&[8, 0]));
            return Span::ZERO;
        };
        self.watchers.on_frame(host, self.session.now(), false, &[frame]);
        let frame = self.held.add(offload, cut, frame);
        let Way { flow, back } = self.way(host.id, HostId(seen.to), seen.ports);
        let mut takes = Span::ZERO;
        for segment in 0..cut.count {
            let (number, size) = (Piece { frame, segment }.number(), on_wire(&cut, segment, self.sizes));
            let packet = Injected::Datagram { number, size, ecn: seen.ecn, back };
            self.session.send(flow, &packet, self.session.now());
            takes += host.rate.time_to_send(size);
        }
        takes
    }

    /// The flow of a connection.
    fn way(&mut self, from: HostId, to: HostId, ports: Ports) -> Way {
        if let Some(way) = self.seen.get(&(from, to, ports)) {
            return *way;
        }
        // Each direction of a connection of other programs is a flow of its own: both may carry data.
        let open = || Way { flow: self.session.open(GroupId(0), from, to), back: false };
        let way = self.ways.find(from, to, ports).unwrap_or_else(open);
        if !way.back {
            self.connections.insert(way.flow, Connection { from: from.0, to: to.0, ports });
        }
        self.seen.insert((from, to, ports), way);
        way
    }

    /// On the thread that it ran on, which did nothing else.
    pub(crate) fn finish(self, bound: Span) -> Noticed {
        let ns = Span::from_ns;
        let lateness = Lateness {
            deliveries: self.lateness.len(),
            median: ns(self.lateness.value_at_quantile(0.5)),
            p99: ns(self.lateness.value_at_quantile(0.99)),
            max: ns(self.lateness.max()),
            bound,
        };
        let cost = sys::own_time().as_nanos() as u64 / self.lateness.len().max(1);
        Noticed { lateness, refused: self.refused, cost: ns(cost), responses: self.watchers.responses }
    }
}

/// Size of a segment on the wire.
fn on_wire(cut: &Cut, segment: u32, sizes: Sizes) -> Bytes {
    Bytes::new((cut.size(segment) + WIRE) as u64).max(sizes.smallest)
}

/// A host receives a frame in parts, with its offloads before it if its device has some.
fn write(host: &RealHost, has_offloads: bool, offload: Offload, parts: &[&[u8]]) -> io::Result<usize> {
    let header = if has_offloads { &offload.0[..] } else { &[] };
    let slice = |at: usize| IoSlice::new(parts.get(at).copied().unwrap_or_default());
    // A device that is full drops, as a card of a host does that is too slow.
    (&host.tap).write_vectored(&[IoSlice::new(header), slice(0), slice(1)])
}

/// The fabric cannot go on.
pub(crate) fn failed(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::NoLiveMachine, format!("the fabric cannot read or write frames: {error}"))
}
