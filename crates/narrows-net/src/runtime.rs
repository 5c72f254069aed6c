//! The runtime and the sockets of quinn.
//!
//! `quinn::Endpoint::new_with_abstract_socket` takes both.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use narrows_sim::Codepoint;
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};

use crate::error::Error;
use crate::executor::Executor;
use crate::socket::Socket;
use crate::timer::Timer;

impl Runtime for Executor {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(InstantTimer(self.net().timer(self.net().time(at))))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        Self::spawn(self, future).detach();
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let message = "a socket of the machine is not in the network: bind one with Net::bind, and use Endpoint::new_with_abstract_socket";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    fn now(&self) -> Instant {
        self.net().instant(self.net().now())
    }
}

/// A timer that is set by instants.
#[derive(Debug)]
struct InstantTimer(Timer);

impl AsyncTimer for InstantTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        let at = self.0.net().time(at);
        self.0.reset(at);
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        let timer = self.net().timer(self.net().now());
        Box::pin(Room { socket: self, timer })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        debug_assert!(transmit.segment_size.is_none(), "one datagram at a time was announced");
        let ecn = transmit.ecn.map_or(Codepoint::NotEct, |ecn| Codepoint::of_bits(ecn as u8));
        match self.send_to(transmit.contents, transmit.destination, ecn) {
            // The path drops what is larger than it carries: so its MTU is found.
            Err(Error::TooLarge { .. }) => Ok(()),
            sent => Ok(sent?),
        }
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let (Some(buffer), Some(meta)) = (buffers.first_mut(), meta.first_mut()) else {
            return Poll::Ready(Ok(0));
        };
        let datagram = ready!(self.poll_receive(context));
        let len = datagram.payload.len().min(buffer.len());
        buffer[..len].copy_from_slice(&datagram.payload[..len]);
        *meta = RecvMeta {
            addr: datagram.from,
            len,
            stride: len,
            ecn: EcnCodepoint::from_bits(datagram.ecn as u8),
            dst_ip: Some(self.address().ip()),
        };
        Poll::Ready(Ok(1))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address())
    }

    fn may_fragment(&self) -> bool {
        false
    }
}

/// Waits for room in the send buffer.
#[derive(Debug)]
struct Room {
    socket: Arc<Socket>,
    timer: Timer,
}

impl UdpPoller for Room {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let room = self.socket.has_room_at();
        if room <= self.socket.net().now() {
            return Poll::Ready(Ok(()));
        }
        if self.timer.at() != room {
            self.timer.reset(room);
        }
        Pin::new(&mut self.timer).poll(context).map(Ok)
    }
}
