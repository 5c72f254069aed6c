//! Sockets at hosts of a network.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use narrows_proto::units::Time;
use narrows_sim::{Codepoint, HostId};

use crate::datagram::Datagram;
use crate::error::Error;
use crate::net::{Net, socket_address};
use crate::state::{Inbox, State};

/// Ports from here on are given to those who ask for any (RFC 6335 §6).
const FIRST_EPHEMERAL: u16 = 49_152;

impl Net {
    /// Binds a socket to a port of a host; port 0 stands for any that is free.
    ///
    /// # Errors
    /// If the host is none of those that the network was given, or the port is in use.
    pub fn bind(&self, host: &str, port: u16) -> Result<Socket, Error> {
        let id = self.given_host(host)?;
        self.with(|state| {
            let is_free = |port: &u16| !state.inboxes.contains_key(&socket_address(id, *port));
            let host = || host.to_owned();
            let port = match port {
                0 => (FIRST_EPHEMERAL..=u16::MAX).find(is_free).ok_or(Error::NoFreePort { host: host() })?,
                port if is_free(&port) => port,
                port => return Err(Error::PortInUse { host: host(), port }),
            };
            let address = socket_address(id, port);
            state.inboxes.insert(address, Inbox::default());
            Ok(Socket { net: self.clone(), host: id, address })
        })
    }
}

/// A port of a host, as a socket of UDP. It is free again when the socket is dropped.
#[derive(Debug)]
pub struct Socket {
    net: Net,
    host: HostId,
    address: SocketAddr,
}

impl Socket {
    /// Its network.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a datagram now. It leaves when the network card has sent what it was handed before.
    ///
    /// # Errors
    /// If the address is no host with sockets or the sender's own, the datagram is too large, or the send buffer is full.
    pub fn send_to(&self, payload: &[u8], to: SocketAddr, ecn: Codepoint) -> Result<(), Error> {
        let other = self.net.host_at(to).ok_or(Error::Unreachable { to })?;
        if other == self.host {
            return Err(Error::ToItself { to });
        }
        self.net.with(|state| state.send((self.host, self.address), (other, to), ecn, payload))
    }

    /// When there is room in the send buffer, at the earliest: now, or later.
    pub fn has_room_at(&self) -> Time {
        self.net.with(|state| Ok(state.has_room_at(self.host))).unwrap_or(Time::NEVER)
    }

    /// The next datagram that has arrived, if any has.
    pub fn receive(&self) -> Option<Datagram> {
        let next = |state: &mut State| Ok(state.inboxes.get_mut(&self.address).and_then(Inbox::next));
        self.net.with(next).ok().flatten()
    }

    /// The next datagram, or one task that is woken when there is one.
    pub fn poll_receive(&self, context: &Context<'_>) -> Poll<Datagram> {
        let polled = self.net.with(|state| {
            let inbox = state.inboxes.entry(self.address).or_default();
            let next = inbox.next();
            // See `Socket::drop`.
            let waited = if next.is_none() { inbox.waiting.replace(context.waker().clone()) } else { None };
            Ok((next, waited))
        });
        polled.ok().and_then(|(next, _)| next).map_or(Poll::Pending, Poll::Ready)
    }

    /// Waits for the next datagram.
    pub async fn received(&self) -> Datagram {
        poll_fn(|context| self.poll_receive(context)).await
    }

    /// Sends a datagram as soon as there is room in the send buffer.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to), but for a full buffer.
    pub async fn sent_to(&self, payload: &[u8], to: SocketAddr, ecn: Codepoint) -> Result<(), Error> {
        loop {
            match self.send_to(payload, to, ecn) {
                Err(Error::Full { until }) => self.net.timer(until).await,
                sent => return sent,
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A task that waited may own another socket: it goes when the lock is free.
        let _inbox = self.net.with(|state| Ok(state.inboxes.remove(&self.address)));
    }
}
