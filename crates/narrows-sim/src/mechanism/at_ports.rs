//! Interface of mechanisms at the queued ports of a switch, and when it is called.
//!
//! Packets wait in the queues of their port: one for each priority, and a side queue for what a mechanism keeps apart. A mechanism
//! keeps only what it knows of them. Work to be done elsewhere it leaves in an outbox.

use narrows_proto::units::{Bytes, Time};

use super::{CLASSES, InputLink, SIDE_CLASS};
use crate::ids::{HostId, LinkId, NodeId};
use crate::network::Network;
use crate::observe::Observer;
use crate::packet::Packet;
use crate::record::PortCounters;
use crate::switch::SwitchConfig;
use crate::world::Shared;

/// The ports of a switch as their mechanisms see them.
pub(crate) struct PortsSite<'a> {
    pub(crate) network: &'a Network,
    pub(crate) config: &'a SwitchConfig,
    pub(crate) ports: usize,
    /// The links that lead to the switch, in the order of its wires.
    pub(crate) inputs: &'a [InputLink],
    /// The largest packet.
    pub(crate) largest: Bytes,
    /// Address of messages to neighbors.
    pub(crate) neighbor: HostId,
    pub(crate) node: NodeId,
    /// Of the run.
    pub(crate) seed: u64,
}

/// A port as its mechanisms see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) now: Time,
    pub(crate) port: usize,
    pub(crate) link: LinkId,
    /// Bytes that wait, by queue.
    pub(crate) backlogs: &'a [u64; CLASSES],
    /// A bit for each class that the neighbor downstream has stopped.
    pub(crate) stops: u16,
}

/// A packet that has to wait, maybe where there is no room for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) port: usize,
    pub(crate) packet: Packet,
    /// Bytes that wait in its queue.
    pub(crate) backlog: u64,
}

/// A packet in the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// This one joins a queue in place of the one that arrives.
    Arriving(Packet),
    /// The youngest that waits gives way, and joins a queue again as this one before the one that arrives does.
    Youngest(Packet),
}

/// A packet that is about to join a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    pub(crate) packet: Packet,
    /// The number of the link it came over.
    pub(crate) from: u32,
    /// The class it came in.
    pub(crate) class: usize,
    /// The queue it joins.
    pub(crate) queue: usize,
    /// It does not leave at once.
    pub(crate) waits: bool,
}

/// Outcome of a packet's arrival in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    /// It was counted at its link. Only one mechanism may count.
    pub(crate) counted: bool,
    /// The side class is to be stopped at the link it came over.
    pub(crate) stop: bool,
}

/// A packet that waits no longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// The number of the link it came over.
    pub(crate) from: u32,
    /// The class it came in.
    pub(crate) class: usize,
    /// It was [`counted`](Joined::counted) there.
    pub(crate) counted: bool,
    pub(crate) size: u64,
}

/// A packet that begins to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departing {
    pub(crate) now: Time,
    pub(crate) port: usize,
    /// The number of the link it came over.
    pub(crate) from: u32,
}

/// The queue that sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) queue: usize,
    /// It is the side queue, and others of the priority it belongs to wait.
    pub(crate) paid: bool,
}

/// Work to be done elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) messages: Vec<Message>,
    pub(crate) returns: Vec<Return>,
    /// Ports, and when to ask their mechanisms again.
    pub(crate) looks: Vec<(Time, usize)>,
}

/// A message to the neighbor that a port leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) at: Time,
    pub(crate) port: usize,
    pub(crate) packet: Packet,
}

/// A packet that goes back the way of another, in its own priority. Those of a switch are sent in the order in which they were made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Return {
    pub(crate) at: Time,
    /// The number of the link that the other came over.
    pub(crate) from: u32,
    pub(crate) packet: Packet,
}

impl View<'_> {
    /// Bytes that wait in the side queue.
    #[inline]
    pub(crate) fn aside(self) -> u64 {
        self.backlogs[SIDE_CLASS]
    }

    /// The neighbor downstream has stopped the side class.
    pub(crate) fn side_is_stopped(self) -> bool {
        self.stops & 1 << SIDE_CLASS != 0
    }
}

/// A mechanism at the queued ports of a switch. It is asked only where it is in use, and all are asked unless said otherwise.
///
/// ```text
/// a packet arrives      queue_of, replace, marks; on_enqueue when it has been taken
/// a port is free        open, choose; on_dequeue, marks, on_departing
/// a packet has left     on_left
/// the neighbor speaks   on_stop when what it stops changes; on_message
/// a time comes          on_timer
/// ```
#[allow(unused_variables)]
pub(crate) trait AtPorts: Sized {
    /// Its state at the ports of a switch, if it has any there.
    fn new(site: &PortsSite<'_>) -> Option<Self>;

    /// The queue that a packet joins, if not that of its priority. The first answer counts.
    #[inline]
    fn queue_of(&self, port: usize, packet: Packet) -> Option<usize> {
        None
    }

    /// It may put packets in the place of others: only then [`replace`](Self::replace) is asked.
    const REPLACES: bool = false;

    /// The packet that is to wait in place of another; it may join another queue. The packet memory is asked whether it has `no_room`, and the
    /// queue for the packet that joined it last. The first answer counts.
    #[inline]
    fn replace(
        &mut self,
        refused: &Refused,
        no_room: impl FnOnce() -> bool,
        youngest: impl FnOnce() -> Option<Packet>,
    ) -> Option<Replaced> {
        None
    }

    /// Whether packets of a queue are marked, if the switch marks. All have to agree.
    #[inline]
    fn marks(&self, queue: usize) -> bool {
        true
    }

    /// A packet joins a queue of a port, which looked like this before.
    #[inline]
    fn on_enqueue<O: Observer>(&mut self, view: View<'_>, joining: &Joining, observer: &mut O) -> Joined {
        Joined::default()
    }

    /// A bit for each queue of a port that may send while its neighbor stops these classes. All have to agree.
    #[inline]
    fn open(&self, port: usize, stops: u16) -> u16 {
        !stops
    }

    /// The queue of a port that sends next, of those that are `ready`, if not the highest. The first packet of the side queue has
    /// `size` bytes. The first answer counts.
    #[inline]
    fn choose(&self, port: usize, ready: u16, size: u16) -> Option<Choice> {
        None
    }

    /// A packet that has waited begins to be sent. The port looks like this without it.
    #[inline]
    fn on_dequeue<O: Observer>(&mut self, view: View<'_>, choice: Choice, packet: Packet, observer: &mut O) {}

    /// A packet begins to be sent, after marking. Returns what is sent.
    #[inline]
    fn on_departing(&mut self, departing: &Departing, packet: Packet, shared: &Shared) -> Packet {
        packet
    }

    /// A packet waits no longer. Returns whether the side class may go on at the link it came over.
    #[inline]
    fn on_left<O: Observer>(&mut self, view: View<'_>, left: &Left, observer: &mut O) -> bool {
        false
    }

    /// The classes that the neighbor downstream stops have changed.
    fn on_stop<O: Observer>(&mut self, view: View<'_>, observer: &mut O) {}

    /// The neighbor at the other end of the link of a port has sent a message, maybe to another mechanism.
    fn on_message<O: Observer>(&mut self, view: View<'_>, message: Packet, observer: &mut O) {}

    /// A time from an outbox has come, maybe from that of another mechanism.
    fn on_timer<O: Observer>(&mut self, view: View<'_>, observer: &mut O) {}

    /// Work to be done elsewhere, if there is any.
    #[inline]
    fn take_outbox(&mut self) -> Option<Outbox> {
        None
    }

    /// Enters what it has counted at a port so far.
    fn report(&self, port: usize, counters: &mut PortCounters) {}
}
