//! Endpoints of quinn-proto.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use bytes::BytesMut;
use narrows_proto::units::Time;
use narrows_sim::Codepoint;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event,
    Incoming, Transmit as QuicTransmit,
};

use crate::datagram::{Datagram, Transmit};
use crate::machine::Machine;
use crate::socket::Socket;

/// An endpoint of quinn-proto with its connections, all of which it accepts. [`Net::step`](crate::Net::step) drives it.
///
/// Apart from handshakes all is up to the program: between two steps it takes [events](Self::next_event), opens
/// streams, reads and writes.
#[derive(Debug)]
pub struct QuicEndpoint {
    socket: Socket,
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Connection>,
    events: VecDeque<(ConnectionHandle, Event)>,
    /// Datagrams that belong to no connection.
    answers: VecDeque<Transmit>,
    buffer: Vec<u8>,
    /// The largest payload that the path carries.
    most: usize,
}

impl QuicEndpoint {
    /// Lets `endpoint` send and receive through `socket`.
    pub fn new(socket: Socket, endpoint: Endpoint) -> Self {
        Self {
            most: socket.net().largest_payload(),
            socket,
            endpoint,
            connections: BTreeMap::new(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            buffer: Vec::new(),
        }
    }

    /// Opens a connection to an address of the network.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        config: ClientConfig,
        to: std::net::SocketAddr,
        server_name: &str,
    ) -> Result<ConnectionHandle, ConnectError> {
        let now = self.instant();
        let (handle, connection) = self.endpoint.connect(now, config, to, server_name)?;
        self.connections.insert(handle, connection);
        Ok(handle)
    }

    /// A connection; none if it is over.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.connections.get_mut(&handle)
    }

    /// The next event of a connection, if there is one.
    pub fn next_event(&mut self) -> Option<(ConnectionHandle, Event)> {
        self.events.pop_front()
    }

    /// Now, as quinn-proto has it.
    pub fn instant(&self) -> Instant {
        let net = self.socket.net();
        net.instant(net.now())
    }

    fn accept(&mut self, incoming: Incoming, now: Instant) {
        self.buffer.clear();
        match self.endpoint.accept(incoming, now, &mut self.buffer, None) {
            Ok((handle, connection)) => {
                self.connections.insert(handle, connection);
                self.exchange(handle);
            }
            Err(refused) => {
                if let Some(answer) = refused.response {
                    self.answers.push_back(transmit(&answer, &self.buffer));
                }
            }
        }
    }

    /// Passes events between a connection and the endpoint.
    fn exchange(&mut self, handle: ConnectionHandle) {
        let Self { endpoint, connections, events, .. } = self;
        let Some(connection) = connections.get_mut(&handle) else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        events.extend(std::iter::from_fn(|| connection.poll()).map(|event| (handle, event)));
        if connection.is_drained() {
            connections.remove(&handle);
        }
    }
}

impl Machine for QuicEndpoint {
    fn socket(&self) -> &Socket {
        &self.socket
    }

    fn receive(&mut self, _: Time, datagram: Datagram) {
        let (now, here) = (self.instant(), self.socket.address().ip());
        let ecn = EcnCodepoint::from_bits(datagram.ecn as u8);
        let payload = BytesMut::from(&datagram.payload[..]);
        self.buffer.clear();
        match self.endpoint.handle(now, datagram.from, Some(here), ecn, payload, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(incoming, now),
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_event(event);
                    self.exchange(handle);
                }
            }
            Some(DatagramEvent::Response(answer)) => {
                self.answers.push_back(transmit(&answer, &self.buffer));
            }
            None => {}
        }
    }

    fn due(&mut self) -> Time {
        let timeouts = self.connections.values_mut().filter_map(Connection::poll_timeout);
        timeouts.min().map_or(Time::NEVER, |timeout| self.socket.net().time(timeout))
    }

    fn wake(&mut self, now: Time) {
        let now = self.socket.net().instant(now);
        let is_due = |connection: &mut Connection| connection.poll_timeout().is_some_and(|at| at <= now);
        let due = self.connections.iter_mut().filter_map(|(handle, one)| is_due(one).then_some(*handle));
        for handle in due.collect::<Vec<_>>() {
            if let Some(connection) = self.connections.get_mut(&handle) {
                connection.handle_timeout(now);
                self.exchange(handle);
            }
        }
    }

    fn transmit(&mut self, now: Time) -> Option<Transmit> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let now = self.socket.net().instant(now);
        let Self { connections, buffer, most, .. } = self;
        let (handle, sent) = connections.iter_mut().find_map(|(handle, connection)| {
            loop {
                buffer.clear();
                let sent = connection.poll_transmit(now, 1, buffer)?;
                // The path drops what is larger than it carries: so its MTU is found.
                if sent.size <= *most {
                    return Some((*handle, transmit(&sent, buffer)));
                }
            }
        })?;
        self.exchange(handle);
        Some(sent)
    }
}

fn transmit(sent: &QuicTransmit, buffer: &[u8]) -> Transmit {
    let ecn = sent.ecn.map_or(Codepoint::NotEct, |ecn| Codepoint::of_bits(ecn as u8));
    Transmit { to: sent.destination, ecn, payload: buffer[..sent.size].to_vec() }
}
