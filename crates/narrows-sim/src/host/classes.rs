//! What a host does when its switch stops classes of packets: priority-based flow control, and flows that are to be isolated.
//!
//! The card takes flows in turn, so flows to different destinations never wait for each other here; they have, in effect, a
//! queue for each destination. A destination that the switch has named is one the switch can stop by itself.

use narrows_proto::units::{Span, Time};

use super::nic::Nic;
use crate::ids::{HostId, LinkId};
use crate::mechanism::ISOLATED_CLASS;
use crate::mechanism::pfc::Watch;
use crate::packet::{NO_TRAILERS, Packet, Parcel, Trailers};
use crate::record::PortCounters;
use crate::ring::Ring;

/// What a host keeps if its switch stops classes.
#[derive(Debug)]
pub(super) struct Classes {
    /// A bit for each class that is stopped before `until`.
    pub(super) stopped: u16,
    pub(super) until: Time,
    /// Packets that were ready when their class was stopped.
    pub(super) held: Ring<Packet>,
    /// Destinations that are isolated.
    pub(super) named: Vec<Named>,
    /// When the class of isolated flows was last stopped, and then taken again.
    pub(super) calm_since: Time,
    /// How long a destination stays isolated after that.
    pub(super) life: Span,
    /// Slots of flows that wait for the class of isolated flows.
    pub(super) parked: Vec<u32>,
    pub(super) watch: Watch,
    pub(super) counters: PortCounters,
    /// The link that leads to the switch.
    pub(super) link: LinkId,
}

/// A destination that is isolated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) to: HostId,
    pub(super) priority: u8,
    pub(super) at: Time,
}

impl Classes {
    pub(super) fn new(link: LinkId, life: Span) -> Self {
        Self {
            stopped: 0,
            until: Time::ZERO,
            held: Ring::default(),
            named: Vec::new(),
            calm_since: Time::ZERO,
            life,
            parked: Vec::new(),
            watch: Watch::default(),
            counters: PortCounters::default(),
            link,
        }
    }

    pub(super) fn isolated_is_stopped(&self) -> bool {
        self.stopped & 1 << ISOLATED_CLASS != 0
    }

    /// Whether flows of this priority to this destination are isolated.
    #[inline]
    pub(super) fn isolates(&mut self, now: Time, to: HostId, priority: u8) -> bool {
        if self.named.is_empty() {
            return false;
        }
        if !self.isolated_is_stopped() {
            let (calm, life) = (self.calm_since, self.life);
            self.named.retain(|named| now <= named.at.max(calm) + life);
        }
        self.named.iter().any(|named| named.to == to && named.priority == priority)
    }

    /// A packet on its way to the link.
    #[inline]
    pub(super) fn on_wire(&mut self, now: Time, packet: Packet) -> Packet {
        if self.isolates(now, packet.to(), packet.priority()) { packet.isolated() } else { packet }
    }

    /// The next packet that is ready and whose class is not stopped.
    pub(super) fn pop_ready(&mut self, nic: &mut Nic, trailers: &mut Trailers) -> Option<Packet> {
        while let Some(packet) = nic.pop_ready(trailers) {
            if self.stopped & 1 << packet.priority() == 0 {
                return Some(packet);
            }
            self.held.push_with(Parcel { packet, trailers });
        }
        None
    }

    /// What was held goes before what became ready since.
    pub(super) fn let_go(&mut self, nic: &mut Nic) {
        let mut trailers = NO_TRAILERS;
        while let Some(packet) = nic.pop_ready(&mut trailers) {
            self.held.push_with(Parcel { packet, trailers: &trailers });
        }
        while !self.held.is_empty() {
            let packet = self.held.pop(&mut trailers);
            nic.push_ready(Parcel { packet, trailers: &trailers });
        }
    }
}
