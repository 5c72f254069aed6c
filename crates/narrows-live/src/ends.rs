//! Ends of connections of real hosts: sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;

use mio::net::{TcpListener, TcpStream};
use narrows_proto::cc::Ecn;
use narrows_sim::traffic::Transport;
use narrows_sim::{FlowId, HostId};
use socket2::{Domain, Protocol, Socket, Type};

use crate::frames::Ports;
use crate::sys::TcpInfo;

/// An end of a connection.
#[derive(Debug)]
pub(crate) enum End {
    /// Sends what is left of a flow.
    Sender {
        flow: FlowId,
        ports: Ports,
        stream: TcpStream,
        left: u64,
    },
    Receiver {
        flow: FlowId,
        stream: TcpStream,
    },
    Listener {
        listener: TcpListener,
        host: HostId,
        group: u16,
    },
}

/// Both ends of a connection use ECN if its control does: without it a sender would not know of marks.
pub(crate) fn check_ecn(stream: &TcpStream, transport: &Transport) -> io::Result<()> {
    let wanted = matches!(transport, Transport::Stream { cc, .. } if cc.ecn() != Ecn::Off);
    if wanted && !TcpInfo::of(stream.as_fd())?.has_ecn() {
        return Err(io::Error::other(
            "the ends of a connection have not agreed upon ECN, which its control needs",
        ));
    }
    Ok(())
}

pub(crate) fn address(host: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(host, port)
}

/// A socket in the namespace of this thread.
pub(crate) fn stream(control: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}
