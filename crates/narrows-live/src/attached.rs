use std::fs::File;
use std::io;
use std::net::Ipv4Addr;

use narrows::live::Watched;
use narrows_proto::units::Time;
use narrows_sim::HostId;

/// Everything that a live run serves besides its results.
#[derive(Default)]
pub struct Attached<'a> {
    /// Where each program's output goes, in the order of the programs.
    pub outputs: Vec<File>,
    /// Someone who watches, and cannot hold the clock.
    pub watched: Option<&'a Watched>,
    /// Takes each frame of real hosts, on a thread of its own.
    pub frames: Option<OnFrame<'a>>,
}

/// Receiver of frames; an error of it ends the run.
pub type OnFrame<'a> = &'a mut (dyn FnMut(Frame) -> io::Result<()> + Send);

/// A frame at a real host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time of the scenario.
    pub at: Time,
    /// The host.
    pub host: HostId,
    /// Its address.
    pub address: Ipv4Addr,
    /// The host received it, with the marks of switches; else it sent it.
    pub received: bool,
    /// From its hardware addresses on.
    pub bytes: Vec<u8>,
}
