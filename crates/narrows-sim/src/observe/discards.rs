//! Datagrams between external hosts that never arrive.

use narrows_proto::units::Time;

use super::{Observer, PacketKind, PacketRef};
use crate::engine::External;
use crate::ids::{HostId, LinkId};
use crate::record::DropCause;

/// Notes the numbers of datagrams for external hosts that the network has dropped or lost, so that whoever keeps their payload can forget it.
#[derive(Debug)]
pub struct DiscardObserver {
    /// In order.
    external: Vec<HostId>,
    numbers: Vec<u64>,
}

impl DiscardObserver {
    /// No flow of the traffic ends at external hosts, so their datagrams are known by where they go.
    pub fn new(external: &External) -> Self {
        let mut external = external.hosts.clone();
        external.sort_unstable();
        Self { external, numbers: Vec::new() }
    }

    /// Numbers ([`Injected::Datagram`](crate::Injected::Datagram)) since the last call.
    pub fn take(&mut self) -> impl Iterator<Item = u64> {
        self.numbers.drain(..)
    }

    fn note(&mut self, packet: PacketRef<'_>) {
        let is_external = packet.to().is_some_and(|to| self.external.binary_search(&to).is_ok());
        if is_external && packet.kind() == PacketKind::Datagram {
            self.numbers.push(packet.seq());
        }
    }
}

impl Observer for DiscardObserver {
    const BY_LINK: bool = true;

    fn discarded(&mut self, _: Time, _: LinkId, packet: PacketRef<'_>, _: DropCause) {
        self.note(packet);
    }

    fn unrouted(&mut self, _: Time, packet: PacketRef<'_>) {
        self.note(packet);
    }
}
