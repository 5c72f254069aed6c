//! Interface of mechanisms that keep what waits at a port in queues of their own, and when it is called.
//!
//! A port has a queue for each priority. Where such a mechanism is in use, packets that join one of them are kept by the mechanism, which
//! chooses what leaves it. How much waits in all, which priority goes first and what fits the packet memory stays with the port.

use narrows_proto::units::Time;

use super::at_ports::PortsSite;
use super::marking::Verdict;
use crate::packet::{Packet, Parcel, Trailers};
use crate::record::{DropCause, PortCounters};

/// A queue of a port, at a time. Times never go back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) now: Time,
    pub(crate) port: usize,
    pub(crate) queue: usize,
}

/// A mechanism that keeps the queues of a switch. Only one of them may.
///
/// ```text
/// a packet arrives       pass if it need not wait; otherwise
///                        overflow and give_way if there is no room for it, push when there is
/// a port is free         pop
/// ```
#[allow(unused_variables)]
pub(crate) trait AtQueues: Sized {
    /// Why it drops packets.
    const CAUSE: DropCause;

    /// Its state at the ports of a switch, if it has any there.
    fn new(site: &PortsSite<'_>) -> Option<Self>;

    /// A packet finds the queue empty and the link free, and leaves at once: what becomes of it.
    fn pass(&mut self, place: Place, packet: Packet) -> Verdict;

    /// A packet begins to wait.
    fn push(&mut self, place: Place, parcel: Parcel<'_>);

    /// Takes out the packet that goes next, which must exist, with its trailers: what becomes of it. Of one that is dropped nothing is
    /// sent, and the next is taken out at the same time.
    fn pop(&mut self, place: Place, slots: &mut Trailers) -> (Packet, Verdict);

    /// There is no room for a packet: how many of those that wait give way to it.
    fn overflow(&mut self, place: Place) -> u32 {
        0
    }

    /// Takes out a packet that gives way.
    fn give_way(&mut self, place: Place, slots: &mut Trailers) -> Option<Packet> {
        None
    }

    /// Enters what it has counted at a port so far.
    fn report(&self, port: usize, counters: &mut PortCounters) {}
}
