//! The fabric between real hosts: the network of the scenario, driven by the clock.
//!
//! Frames of hosts enter it as packets when the link of their host has room for them, and leave it when their last bit arrives. A frame
//! is read from its device only then, so that hosts send at the rate of their links and wait when these are paused.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use narrows::diagnostic::{Code, Diagnostic};
use narrows::results::Lateness;
use narrows_proto::cnm::Signal;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::{Delivered, Delivery, FlowId, GroupId, HostId, Injected, RecordedSession};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::attached::Frame;
use crate::clock::Clock;
use crate::frames::{self, Connection, ETHERNET, Ports, WIRE};
use crate::host::RealHost;
use crate::sys;
use crate::ways::{Way, Ways};

/// A card is handed no more than this much time of its link in advance, on the clock: as long as it may take to wake.
const AHEAD_US: u64 = 50;

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
    places: HashMap<HostId, usize>,
    ways: &'a Ways,
    /// Connections that were seen, and those of programs that belong to no flow of the scenario.
    seen: HashMap<(HostId, HostId, Ports), Way>,
    /// By flow: the connection, as its sender has it.
    connections: HashMap<FlowId, Connection>,
    /// By number: frames in the fabric.
    frames: HashMap<u64, Vec<u8>>,
    /// Number of the next.
    next: u64,
    spare: Vec<Vec<u8>>,
    clock: Clock,
    sizes: Sizes,
    lateness: Histogram<u64>,
    refused: u64,
    /// Takes a copy of each frame.
    pub(crate) capture: Option<Sender<Frame>>,
    epoll: rustix::fd::OwnedFd,
}

/// Observations of the fabric.
pub(crate) struct Noticed {
    pub(crate) lateness: Lateness,
    /// Frames larger than any packet of the scenario, or for a host that is not real.
    pub(crate) refused: u64,
    /// Time of a processor for each packet delivered.
    pub(crate) cost: Span,
}

impl<'a> Fabric<'a> {
    pub(crate) fn new(
        session: &'a mut RecordedSession,
        hosts: &'a [RealHost],
        ways: &'a Ways,
        clock: Clock,
        sizes: Sizes,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (place, host) in hosts.iter().enumerate() {
            let data = epoll::EventData::new_u64(place as u64);
            epoll::add(&epoll, &host.tap, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        }
        Ok(Self {
            session,
            ports: hosts.iter().map(|host| Port { host, readable: true }).collect(),
            places: hosts.iter().enumerate().map(|(place, host)| (host.id, place)).collect(),
            ways,
            seen: HashMap::new(),
            connections: HashMap::new(),
            frames: HashMap::new(),
            next: 0,
            spare: Vec::new(),
            clock,
            sizes,
            lateness: Histogram::new(3).expect("three digits are possible"),
            refused: 0,
            capture: None,
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
            let wake = self.session.quiet_until().min(room);
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
            let (packet, Some(place)) = (packet.as_seen(), self.places.get(&host)) else { continue };
            if let Some(cnm) = packet.cnm() {
                if let (Signal::Quantized(feedback), Some(connection)) =
                    (cnm.signal, packet.flow().and_then(|flow| self.connections.get(&flow)))
                {
                    let (host, notice) =
                        (self.ports[*place].host, frames::notice(&cnm, feedback, *connection));
                    let _ = (&host.tap).write(&notice);
                    self.keep(host, at, true, &notice);
                }
                continue;
            }
            let Some(mut frame) = self.frames.remove(&packet.seq()) else { continue };
            if packet.is_marked() {
                frames::mark(&mut frame);
            }
            frame[..6].copy_from_slice(&frames::hardware_of(host.0));
            // A device that is full drops, as a card of a host does that is too slow.
            let host = self.ports[*place].host;
            let _ = (&host.tap).write(&frame);
            self.keep(host, at, true, &frame);
            let late = self.clock.takes(at, self.clock.now()).as_nanos() as u64;
            // It grows with what it has to hold.
            let _ = self.lateness.record(late);
            self.spare.push(frame);
        }
        let dropped = self.session.take_discarded();
        self.spare.extend(dropped.filter_map(|number| self.frames.remove(&number)));
    }

    /// A frame was sent or received.
    fn keep(&self, host: &RealHost, at: Time, received: bool, frame: &[u8]) {
        if let Some(capture) = &self.capture {
            let bytes = frame.to_vec();
            let _ = capture.send(Frame { at, host: host.id, address: host.address, received, bytes });
        }
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
                let mut frame = self.spare.pop().unwrap_or_default();
                frame.resize(self.sizes.largest.get() as usize + 1, 0);
                match (&host.tap).read(&mut frame) {
                    Ok(length) => frame.truncate(length),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.ports[place].readable = false;
                        self.spare.push(frame);
                        break;
                    }
                    Err(error) => return Err(error),
                }
                backlog += self.take_in(host, frame);
            }
        }
        Ok(room)
    }

    /// A frame of a host. Returns how long it takes the link.
    fn take_in(&mut self, host: &RealHost, frame: Vec<u8>) -> Span {
        if let Some(answer) = frames::answer(&frame) {
            let _ = (&host.tap).write(&answer);
            self.spare.push(frame);
            return Span::ZERO;
        }
        let size = Bytes::new((frame.len() + WIRE) as u64).max(self.sizes.smallest);
        let seen = frames::read(&frame).filter(|seen| self.places.contains_key(&HostId(seen.to)));
        let Some(seen) = seen.filter(|_| size <= self.sizes.largest) else {
            // What is no IPv4 is none of our business: hosts look for routers and neighbors.
            self.refused += u64::from(frame.get(12..ETHERNET) == Some(&[8, 0]));
            self.spare.push(frame);
            return Span::ZERO;
        };
        let Way { flow, back } = self.way(host.id, HostId(seen.to), seen.ports);
        self.keep(host, self.session.now(), false, &frame);
        let number = self.next;
        self.next += 1;
        self.frames.insert(number, frame);
        let packet = Injected::Datagram { number, size, ecn: seen.ecn, back };
        self.session.send(flow, &packet, self.session.now());
        host.rate.time_to_send(size)
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
        Noticed { lateness, refused: self.refused, cost: ns(cost) }
    }
}

/// The fabric cannot go on.
pub(crate) fn failed(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::NoLiveMachine, format!("the fabric cannot read or write frames: {error}"))
}
