//! Arrivals at one switch in one window.

use narrows_proto::units::Span;

use crate::packet::{NO_TRAILERS, Packet, Parcel, Trailers};

/// Instead of a wire: the packet is one of the switch itself, or it does not matter.
pub(crate) const OWN: u32 = u32::MAX;

/// A packet that arrives in the window being worked on. The last of the fields is for speed only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) packet: Packet,
    /// Where it leaves, or an impossible number if that is looked up late.
    pub(crate) port: u16,
    /// It brought trailers: the index of the first, plus one.
    pub(crate) trailers: u32,
    /// The wire it leaves on.
    pub(crate) leaves_on: u32,
}

/// Scratch of a thread: the arrivals at one switch in one window.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// In the order of wires.
    pub(crate) list: Vec<Arrival>,
    pub(crate) trailers: Vec<Trailers>,
    /// Order of arrival: the time since an origin, then the place in the list, so that simultaneous arrivals are taken in
    /// the order of wires.
    pub(crate) order: Vec<u64>,
    /// Where routes are looked up late: the wire each of the list came over, counted from the first of the switch.
    pub(crate) wires: Vec<u32>,
    pub(crate) groups: Groups,
    /// Entries of all groups, with their ports.
    pub(crate) order_of_ports: Vec<(u64, u16)>,
}

/// Scratch: arrivals by the port on which they leave.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// In the order of wires, each with its trailers behind it.
    pub(crate) packets: Vec<Packet>,
    /// By port: the order of arrival, as in [`Arrivals::order`].
    pub(crate) leaving: Vec<Vec<u64>>,
    /// Ports on which something leaves.
    pub(crate) touched: Vec<u16>,
    /// Size of all packets together.
    pub(crate) bytes: u64,
}

/// Bits of an entry of [`Arrivals::order`] that hold the place.
const PLACE_BITS: u32 = 24;
/// Windows are shorter than this, so that the time fits the other bits.
pub(crate) const MAX_WINDOW: Span = Span::from_ps(1 << (64 - PLACE_BITS - 1));

impl Arrivals {
    /// Keeps the slots of a packet. Returns their index, plus one.
    #[cold]
    pub(crate) fn keep(&mut self, slots: &Trailers) -> u32 {
        self.trailers.push(*slots);
        self.trailers.len() as u32
    }
}

impl Arrival {
    /// The packet and its slots, which are among those that were kept.
    #[inline(always)]
    pub(crate) fn parcel(self, kept: &[Trailers]) -> Parcel<'_> {
        let trailers = if self.trailers == 0 { &NO_TRAILERS } else { &kept[self.trailers as usize - 1] };
        Parcel { packet: self.packet, trailers }
    }
}

/// Entry of [`Arrivals::order`] and [`Groups::leaving`] of a packet that arrives `since` an origin.
#[inline(always)]
pub(crate) fn entry(since: u64, place: usize) -> u64 {
    since << PLACE_BITS | place as u64
}

/// Fails if there are more places than an entry can hold.
#[inline]
pub(crate) fn check_places(places: usize) {
    assert!(places < 1 << PLACE_BITS, "2^{PLACE_BITS} packets arrive at a switch in one window");
}

/// The place of an entry in its list.
#[inline(always)]
pub(crate) fn place(entry: u64) -> usize {
    (entry & ((1 << PLACE_BITS) - 1)) as usize
}
