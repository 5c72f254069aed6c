//! The traffic of real hosts: each flow is a connection of the kernel's TCP, with the control of its group.

mod asked;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use narrows::addresses::host_of;
use narrows::plan::Plan;
use narrows_proto::units::{Bytes, Time};
use narrows_sim::observe::WindowRow;
use narrows_sim::traffic::Milestone;
use narrows_sim::{FlowId, FlowRecord, HostId, Sampled};

use crate::clock::Clock;
use crate::due::Due;
use crate::ends::{End, address, check_ecn, stream};
use crate::flow::Flow;
use crate::followers::{Clients, Followers};
use crate::frames::{Connection, Ports};
use crate::host::RealHost;
use crate::host_times::Opened;
use crate::sys::{self, TcpInfo};
use crate::ways::Ways;

/// Servers of the first group listen here, those of the next at the next port.
const FIRST_PORT: u16 = 5_000;

/// Bytes that applications send.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Flows, what was sampled of them, and windows.
pub(crate) type Measured = (Vec<FlowRecord>, Sampled, Vec<WindowRow>);

pub(crate) struct Sockets<'a> {
    plan: &'a Plan,
    hosts: BTreeMap<HostId, &'a RealHost>,
    ways: &'a Ways,
    /// By group: the kernel's control.
    controls: &'a [Option<String>],
    clock: Clock,
    scale: f64,
    poll: Poll,
    /// By token.
    ends: Vec<Option<End>>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    flows: BTreeMap<FlowId, Flow>,
    /// Flows that have begun again since.
    before: Vec<FlowRecord>,
    followers: Followers<'a>,
    clients: Clients,
    /// By request: the flow that answers it.
    responses: BTreeMap<FlowId, FlowId>,
    /// Flows that will start or are under way, and clients that will start some.
    outstanding: usize,
    sampled: Sampled,
    windows: Vec<WindowRow>,
    /// None if hosts are not measured.
    opened: Option<Vec<Opened>>,
    buffer: Vec<u8>,
}

impl<'a> Sockets<'a> {
    pub(crate) fn open(
        plan: &'a Plan,
        hosts: &'a [RealHost],
        ways: &'a Ways,
        controls: &'a [Option<String>],
        scale: f64,
        measures: bool,
    ) -> io::Result<Self> {
        let mut sockets = Self {
            plan,
            hosts: hosts.iter().map(|host| (host.id, host)).collect(),
            ways,
            controls,
            clock: Clock::start(scale),
            scale,
            poll: Poll::new()?,
            ends: Vec::new(),
            due: BinaryHeap::new(),
            flows: BTreeMap::new(),
            before: Vec::new(),
            followers: Followers::new(&plan.traffic.dependents),
            clients: Clients::new(plan, |flow| {
                controls[plan.traffic.flows[flow.index()].group.index()].is_some()
            }),
            responses: plan.traffic.rpcs.iter().flat_map(|rpc| rpc.calls()).collect(),
            outstanding: 0,
            sampled: Sampled::default(),
            windows: Vec::new(),
            opened: measures.then(Vec::new),
            buffer: vec![0; 1 << 18],
        };
        sockets.plan_ahead();
        sockets.listen()?;
        Ok(sockets)
    }

    fn plan_ahead(&mut self) {
        let Plan { traffic, record, stop, .. } = self.plan;
        let mut due: Vec<_> =
            traffic.sampled.iter().enumerate().map(|(n, at)| (*at, Due::Sample(n))).collect();
        due.extend([(traffic.measured.start, Due::MeasureFrom), (traffic.measured.end, Due::MeasureUntil)]);
        if let Some((interval, _)) = &record.windows {
            due.push((Time::ZERO + *interval, Due::Windows));
        }
        // Those that wait for others count as soon as they need not wait any more.
        let is_real = |flow: &&FlowId| self.controls[traffic.flows[flow.index()].group.index()].is_some();
        self.outstanding = self.responses.values().filter(is_real).count();
        for (number, spec) in traffic.flows.iter().enumerate() {
            let flow = FlowId(number as u32);
            if self.controls[spec.group.index()].is_some() && spec.start < Time::NEVER {
                self.outstanding += 1;
                due.push((spec.start, Due::Start(flow)));
            }
        }
        for (start, client) in self.clients.starts() {
            self.outstanding += 1;
            due.push((start, Due::Client(client)));
        }
        due.retain(|(at, _)| *at <= stop.at);
        self.due = due.into_iter().map(Reverse).collect();
    }

    /// Opens the servers of every group at every host that receives flows of it.
    fn listen(&mut self) -> io::Result<()> {
        let mut places: Vec<_> = self.plan.traffic.flows.iter().map(|spec| (spec.to, spec.group.0)).collect();
        places.sort_unstable();
        places.dedup();
        for (to, group) in places {
            let Some(control) = &self.controls[group as usize] else { continue };
            let host = self.hosts[&to];
            host.enter()?;
            let socket = stream(control)?;
            let group = u16::try_from(group).map_err(io::Error::other)?;
            socket.bind(&address(host.address, FIRST_PORT + group).into())?;
            socket.listen(1024)?;
            let listener = TcpListener::from_std(std::net::TcpListener::from(OwnedFd::from(socket)));
            let end = End::Listener { listener, host: to, group };
            self.add(end, Interest::READABLE)?;
        }
        Ok(())
    }

    fn add(&mut self, mut end: End, interest: Interest) -> io::Result<usize> {
        let place = self.ends.len();
        let source: &mut dyn mio::event::Source = match &mut end {
            End::Sender { stream, .. } | End::Receiver { stream, .. } => stream,
            End::Listener { listener, .. } => listener,
        };
        self.poll.registry().register(source, Token(place), interest)?;
        self.ends.push(Some(end));
        Ok(place)
    }

    /// The run begins now, on this thread.
    pub(crate) fn start(&mut self) -> Clock {
        // While it hands data over, it holds the socket: acknowledgments would wait with it for a processor, and come in bursts.
        let _ = sys::go_early();
        self.clock = Clock::start(self.scale);
        self.clock
    }

    /// Sends and receives until the end of the run, or until `goes_on` says no. While something else `is_busy` the end of all flows is not
    /// that of the run.
    pub(crate) fn run(&mut self, goes_on: &dyn Fn() -> bool, is_busy: &dyn Fn() -> bool) -> io::Result<()> {
        let stop = self.plan.stop;
        let mut events = Events::with_capacity(256);
        // Listeners where connections may wait.
        let mut called = VecDeque::new();
        while goes_on() {
            let now = self.clock.now();
            if now >= stop.at || stop.when_drained && self.outstanding == 0 && !is_busy() {
                break;
            }
            while let Some(Reverse((at, what))) = self.due.peek().copied()
                && at <= now
            {
                self.due.pop();
                self.happen(at, what)?;
            }
            let next = self.due.peek().map_or(stop.at, |Reverse((at, _))| *at).min(stop.at);
            let longest = if called.is_empty() { Duration::from_millis(20) } else { Duration::ZERO };
            let rest = self.clock.takes(self.clock.now(), next).min(longest);
            match self.poll.poll(&mut events, Some(rest)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            // Accepting takes longest: flows that begin at one moment do not wait until all those before them are accepted.
            for event in &events {
                let place = event.token().0;
                match self.ends.get(place).and_then(Option::as_ref) {
                    None => {}
                    Some(End::Listener { .. }) => called.push_back(place),
                    Some(End::Sender { .. }) => self.write(place)?,
                    Some(End::Receiver { .. }) => self.read(place)?,
                }
            }
            if let Some(place) = called.pop_front()
                && self.accept(place)?
            {
                called.push_back(place);
            }
        }
        Ok(())
    }

    fn happen(&mut self, at: Time, what: Due) -> io::Result<()> {
        match what {
            Due::Start(flow) => return self.connect(flow, at),
            Due::Client(client) => {
                let transfers = self.clients.begin(client, at);
                if transfers.is_none() {
                    self.outstanding -= 1;
                }
                for (flow, incarnation, size) in transfers.unwrap_or_default() {
                    self.outstanding += 1;
                    self.transfer(flow, incarnation, size, at)?;
                }
            }
            Due::MeasureFrom => self.measure(0),
            Due::MeasureUntil => self.measure(1),
            Due::Sample(moment) => {
                self.learn();
                for (flow, state) in &self.flows {
                    let group = self.plan.traffic.flows[flow.index()].group.index();
                    if state.end.is_none() || state.sender.is_some() {
                        self.sampled.add(moment, group, Bytes::new(state.delivered));
                    }
                }
            }
            Due::Windows => {
                if let Some((interval, watched)) = &self.plan.record.windows {
                    watched.iter().for_each(|flow| self.look(*flow, at));
                    self.due.push(Reverse((at + *interval, Due::Windows)));
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self, flow: FlowId, at: Time) -> io::Result<()> {
        self.transfer(flow, 0, self.plan.traffic.flows[flow.index()].size, at)
    }

    /// Begins a flow.
    fn transfer(&mut self, flow: FlowId, incarnation: u64, size: Bytes, at: Time) -> io::Result<()> {
        let spec = &self.plan.traffic.flows[flow.index()];
        let [from, to] = [spec.from, spec.to].map(|host| self.hosts[&host]);
        let control =
            self.controls[spec.group.index()].as_deref().expect("only groups of real hosts are started");
        let group = spec.group.0 as u16;
        from.enter()?;
        let socket = stream(control)?;
        socket.bind(&address(from.address, 0).into())?;
        let ours = socket.local_addr()?.as_socket_ipv4().map_or(0, |address| address.port());
        let ports = Ports { from: ours, to: FIRST_PORT + group };
        self.ways.enter(spec.from, spec.to, ports, flow);
        match socket.connect(&address(to.address, ports.to).into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let stream = TcpStream::from_std(std::net::TcpStream::from(OwnedFd::from(socket)));
        let end = End::Sender { flow, ports, stream, left: size.get() };
        let sender = self.add(end, Interest::READABLE | Interest::WRITABLE)?;
        let before = self.flows.insert(flow, Flow::new(incarnation, at, size, sender));
        self.before.extend(before.map(|before| before.record(flow)));
        Ok(())
    }

    /// Accepts one connection. Returns whether there was one.
    fn accept(&mut self, place: usize) -> io::Result<bool> {
        let Some(Some(End::Listener { listener, host, group })) = self.ends.get(place) else {
            return Ok(false);
        };
        let (host, group) = (*host, *group);
        let (stream, peer) = match listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            other => other?,
        };
        let SocketAddr::V4(peer) = peer else { return Ok(true) };
        let Some(from) = host_of(peer.ip().octets()).map(HostId) else { return Ok(true) };
        let ports = Ports { from: peer.port(), to: FIRST_PORT + group };
        // Somebody else's program may try the port.
        let Some(way) = self.ways.find(from, host, ports) else { return Ok(true) };
        let receiver = self.add(End::Receiver { flow: way.flow, stream }, Interest::READABLE)?;
        self.read(receiver)?;
        Ok(true)
    }

    fn write(&mut self, place: usize) -> io::Result<()> {
        let Some(Some(End::Sender { flow, ports, stream, left })) = self.ends.get_mut(place) else {
            return Ok(());
        };
        let flow = *flow;
        let spec = &self.plan.traffic.flows[flow.index()];
        let (size, due) =
            self.flows.get(&flow).map_or((Bytes::ZERO, Time::ZERO), |state| (state.size, state.start));
        while *left > 0 {
            let most = (ZEROS.len() as u64).min(*left) as usize;
            match stream.write(&ZEROS[..most]) {
                Ok(written) => {
                    if *left == size.get() {
                        check_ecn(stream, &self.plan.traffic.groups[spec.group.index()].transport)?;
                        if let Some(opened) = &mut self.opened {
                            let connection = Connection { from: spec.from.0, to: spec.to.0, ports: *ports };
                            let took = TcpInfo::of(stream.as_fd())?.rtt(self.scale);
                            opened.push(Opened { connection, due, at: self.clock.now(), took });
                        }
                    }
                    *left -= written as u64;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The kernel gave up; the flow stays unfinished.
                Err(_) => return self.close(place, flow),
            }
        }
        // The receiver closes when it has everything.
        match stream.read(&mut [0; 16]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            _ => self.close(place, flow),
        }
    }

    /// A sending half ends.
    fn close(&mut self, place: usize, flow: FlowId) -> io::Result<()> {
        self.ask(flow);
        let now = self.clock.now();
        if let Some(state) = self.flows.get_mut(&flow) {
            state.sender = None;
            if now < self.plan.traffic.measured.start {
                // It may begin again before that.
                state.measured = [Some(0), Some(0)];
            }
            if state.end.is_some() {
                self.announce(flow, Milestone::Sent, now);
            }
            let next = self.clients.on_end(flow, now);
            self.due.extend(next.map(|(at, client)| Reverse((at, Due::Client(client)))));
            self.outstanding -= 1;
        }
        self.remove(place)
    }

    /// A flow has come so far: others that have waited for that start.
    fn announce(&mut self, flow: FlowId, milestone: Milestone, now: Time) {
        for (at, flow) in self.followers.reach(now, flow, milestone) {
            self.outstanding += 1;
            self.due.push(Reverse((at, Due::Start(flow))));
        }
    }

    fn remove(&mut self, place: usize) -> io::Result<()> {
        if let Some(End::Sender { mut stream, .. } | End::Receiver { mut stream, .. }) =
            self.ends[place].take()
        {
            self.poll.registry().deregister(&mut stream)?;
        }
        Ok(())
    }

    fn read(&mut self, place: usize) -> io::Result<()> {
        let Some(Some(End::Receiver { flow, stream })) = self.ends.get_mut(place) else { return Ok(()) };
        let flow = *flow;
        let Some(state) = self.flows.get_mut(&flow) else { return Ok(()) };
        loop {
            match stream.read(&mut self.buffer) {
                Ok(0) => return self.remove(place),
                Ok(read) => state.received += read as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.remove(place),
            }
            if state.received >= state.size.get() {
                break;
            }
        }
        let now = self.clock.now();
        state.end = Some(now);
        self.remove(place)?;
        self.announce(flow, Milestone::Received, now);
        // A server answers as soon as it has all of the request.
        if let Some(response) = self.responses.get(&flow).copied() {
            self.connect(response, now)?;
        }
        Ok(())
    }

    /// Closes everything. Returns what became of the flows, what was sampled, windows, and connections.
    pub(crate) fn finish(mut self) -> (Measured, Vec<Opened>) {
        self.learn();
        let mut flows = self.before;
        flows.extend(self.flows.iter().map(|(flow, state)| state.record(*flow)));
        ((flows, self.sampled, self.windows), self.opened.unwrap_or_default())
    }
}
