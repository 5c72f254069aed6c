//! Interface of mechanisms of a whole switch, and when it is called. Those at single ports are called elsewhere
//! (`switch/queued`).

use narrows_proto::units::{BitRate, Time};

use crate::ids::{HostId, NodeId};
use crate::network::Network;
use crate::observe::Observer;
use crate::packet::{Packet, Trailers};
use crate::switch::SwitchConfig;
use crate::traffic::Group;
use crate::world::{Arrival, Log, World};

/// A switch as its mechanisms see it.
pub(crate) struct SwitchSite<'a> {
    pub(crate) network: &'a Network,
    pub(crate) config: &'a SwitchConfig,
    pub(crate) node: NodeId,
    /// Its index among switches with hosts, and how many there are.
    pub(crate) leaf: u32,
    pub(crate) leaves: usize,
    pub(crate) ports: usize,
    /// By wire: the host at its other end, if there is one.
    pub(crate) hosts: Vec<Option<EdgeHost>>,
    /// Of the run.
    pub(crate) seed: u64,
}

/// A host at the other end of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeHost {
    pub(crate) host: HostId,
    /// The port that leads to it.
    pub(crate) port: u16,
    pub(crate) rate: BitRate,
}

/// Decision on a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pass {
    /// It goes on.
    Through(Packet),
    /// It goes on over this uplink, if there is more than one.
    Over(Packet, u32),
    /// It goes on to its destination, when [`AtSwitch::on_last_hop`] has seen what waits there.
    LastHop(Packet),
    /// The mechanism has it.
    Taken,
    /// There is no room for it. It came from this port.
    Full(u16),
}

/// A mechanism of a whole switch. It is asked only where it is in use.
#[allow(unused_variables)]
pub(crate) trait AtSwitch: Sized {
    /// Its state at a switch, if it has any there.
    fn new(site: &SwitchSite<'_>) -> Option<Self>;

    /// By group: the number it keeps with each of its flows at first. Only one mechanism of a network may keep some.
    fn of_groups(network: &Network, groups: &[Group]) -> Vec<u32> {
        Vec::new()
    }

    /// Prefetches what it will need of packets that are about to arrive.
    fn prefetch<O>(&self, arrivals: &[Arrival], world: &World<O>) {}

    /// A packet came over wire number `from`, before its route is looked up.
    fn pass<O: Observer>(&mut self, now: Time, packet: Packet, from: u32, world: &mut World<O>) -> Pass;

    /// A packet that answered [`Pass::LastHop`] finds `backlog` bytes at this port.
    fn on_last_hop(&mut self, now: Time, port: u16, packet: Packet, backlog: u64) -> Packet {
        packet
    }

    /// When it has something to do.
    fn next(&self) -> Time;

    /// Ports whose backlog it wants to know at `at`: those below this number.
    fn wants_backlogs(&self, at: Time) -> u16 {
        0
    }

    /// So many bytes wait at this port.
    fn on_backlog(&mut self, port: u16, backlog: u64) {}

    /// Does what is due at `at`.
    fn step<O: Observer>(&mut self, at: Time, world: &mut World<O>);

    /// A packet that it sends now, and the wire it came over.
    fn take_packet(&mut self) -> Option<(Packet, Trailers, u32)>;

    /// The run is over: adds what it counted to the log.
    fn finish(&self, log: &mut Log);
}
