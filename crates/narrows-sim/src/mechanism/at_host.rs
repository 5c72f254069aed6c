//! Interface of mechanisms at a host, and when it is called.

use narrows_proto::stream::Segment;
use narrows_proto::units::{BitRate, Time};

use crate::host::Senders;
use crate::ids::{FlowId, HostId, NodeId};
use crate::network::Network;
use crate::observe::Observer;
use crate::packet::{Control, Packet, Parcel};
use crate::record::PortCounters;
use crate::switch::SwitchConfig;
use crate::traffic::Group;
use crate::world::{GroupState, Log, World};

/// A host as its mechanisms see it.
pub(crate) struct Site<'a> {
    pub(crate) network: &'a Network,
    pub(crate) groups: &'a [Group],
    /// Settings of the switch that its link leads to, if that is a switch.
    pub(crate) switch: Option<&'a SwitchConfig>,
    pub(crate) node: NodeId,
    pub(crate) host: HostId,
    /// Index of its switch among those with hosts, and how many there are.
    pub(crate) leaf: u32,
    pub(crate) leaves: usize,
    /// Rate of its link.
    pub(crate) rate: BitRate,
    /// Of the run.
    pub(crate) seed: u64,
}

/// A moment at a host, and what a mechanism may act upon then.
pub(crate) struct At<'a, O> {
    pub(crate) now: Time,
    pub(crate) senders: &'a mut Senders,
    pub(crate) world: &'a mut World<O>,
}

/// Outcome of the turn of a flow at the network card.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// It sends this, and may have another packet at once.
    GoesOn(Packet),
    /// It sends this, and has another packet of the same burst.
    InBurst(Packet),
    /// It sends this; the agenda knows when it has another.
    Last(Packet),
    /// It sends nothing.
    Nothing,
}

impl Turn {
    /// Of a flow that sends `segment` in this packet and may go on.
    pub(crate) fn after(segment: &Segment, packet: Packet) -> Self {
        if segment.goes_on { Self::InBurst(packet) } else { Self::GoesOn(packet) }
    }
}

/// A mechanism at a host. It is asked only where it is in use; what does not concern it does nothing.
///
/// ```text
/// a flow starts, bursts, ends     on_start, on_burst, on_end
/// a flow has its turn             gate, before_turn, turn; on_sent for what it sends
/// a packet is ready               holds
/// a packet arrives                on_arrival; then, by its kind, on_control, on_syn_ack, on_open, on_datagram, on_received
/// a time comes                    on_timer, wake
/// the run is over                 finish
/// ```
#[allow(unused_variables)]
pub(crate) trait AtHost: Sized {
    /// Its state at a host, if it has any there.
    fn new(site: &Site<'_>) -> Option<Self>;

    /// A flow starts, in this slot.
    fn on_start<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {}

    /// A source of datagrams begins a burst.
    fn on_burst<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {}

    /// A flow ends.
    fn on_end<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {}

    /// It may keep packets from leaving, or change them: only then [`gate`](Self::gate), [`holds`](Self::holds) and
    /// [`on_sent`](Self::on_sent) are asked.
    const RESTRAINS: bool = false;

    /// Some flow may have to wait now.
    fn gates(&self) -> bool {
        false
    }

    /// Whether a flow whose turn it is has to wait, with a packet to this host. Then it has left its queue.
    fn gate<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32, to: HostId) -> bool {
        false
    }

    /// The packet that goes next from a place of its own.
    fn front(&mut self, place: u32) -> Option<Packet> {
        None
    }

    /// A flow that is governed by more than itself is about to have its turn.
    fn before_turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) {}

    /// The turn of such a flow; none if it is somebody else's.
    fn turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> Option<Turn> {
        None
    }

    /// A packet of a flow is sent.
    fn on_sent(&mut self, now: Time, packet: Packet) -> Packet {
        packet
    }

    /// Takes a packet that is ready and may not be sent.
    fn holds(&mut self, parcel: Parcel<'_>) -> bool {
        false
    }

    /// Wants to know of all arrivals.
    fn watches(&self) -> bool {
        false
    }

    /// A packet of this size arrived.
    fn on_arrival(&mut self, size: u16) {}

    /// A message or frame of a mechanism arrived. All are asked.
    fn on_control<O: Observer>(&mut self, at: &mut At<'_, O>, control: Control, parcel: Parcel<'_>) {}

    /// The answer to a SYN arrived.
    fn on_syn_ack<O: Observer>(&mut self, at: &mut At<'_, O>, parcel: Parcel<'_>) {}

    /// Trailer of the answer to a SYN of a flow of this group.
    fn answer_to_syn(&self, group: &GroupState) -> Option<Packet> {
        None
    }

    /// The first packet of a connection to this host arrived.
    fn on_open<O: Observer>(&mut self, at: &mut At<'_, O>, flow: FlowId) {}

    /// A datagram arrived.
    fn on_datagram<O: Observer>(&mut self, at: &mut At<'_, O>, packet: Packet) {}

    /// All of a connection to this host has arrived.
    fn on_received<O: Observer>(&mut self, at: &mut At<'_, O>, flow: FlowId) {}

    /// A time that [`Senders::plan`] noted has come, maybe not for this mechanism.
    fn on_timer<O: Observer>(&mut self, at: &mut At<'_, O>) {}

    /// The agenda has an entry for a place of its own.
    fn wake<O: Observer>(&mut self, at: &mut At<'_, O>, place: u32) {}

    /// The run is over: adds what it counted to the log, and what it counted for the link of the host to `counters`.
    fn finish(&mut self, now: Time, senders: &Senders, counters: &mut PortCounters, log: &mut Log);
}
