//! Network mechanisms, each with a home of its own: settings, messages, what it does at hosts and switches, what it counts and shows.

pub mod adaptive;
pub(crate) mod at_host;
pub(crate) mod at_ports;
pub(crate) mod at_queues;
pub(crate) mod at_routing;
pub(crate) mod at_switch;
pub(crate) mod buffer;
pub(crate) mod congestion_point;
pub mod drr;
pub mod dualpi2;
pub(crate) mod flow;
pub mod flowlets;
pub mod fq_codel;
pub(crate) mod hosts;
pub mod isolation;
pub mod limiter;
pub(crate) mod list;
pub(crate) mod marking;
pub(crate) mod near_source;
pub(crate) mod pause;
pub(crate) mod pfc;
pub mod rackcc;
pub(crate) mod registry;
pub(crate) mod settings;
pub(crate) mod small_queues;
pub(crate) mod spray;
pub(crate) mod start_delays;
pub(crate) mod telemetry;
pub mod themis;
pub mod trimming;
pub mod wcmp;

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::ids::{HostId, LinkId};
use crate::packet::{Control, Packet};
use crate::record::DropCause;

/// Classes of packets on a link, and queues of a port: eight priorities, and one for what a mechanism keeps apart.
pub(crate) const CLASSES: usize = 9;

/// The class of what a mechanism keeps apart. Its packets wait in the side queue of a port; only one mechanism may use it.
pub(crate) const SIDE_CLASS: usize = 8;

/// One link that leads to a switch which stops its neighbors or is stopped by them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputLink {
    pub(crate) link: LinkId,
    /// The port that leads back over it.
    pub(crate) back: usize,
    pub(crate) rate: BitRate,
    /// Of each of its classes, with priority-based flow control.
    pub(crate) headroom: Bytes,
    /// A host is at its other end.
    pub(crate) from_host: bool,
}

/// The request of a PAUSE frame or one of priority-based flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopFrame {
    /// The link that is to stop.
    pub link: LinkId,
    /// A bit for each class that is to stop, and 256 for the side class; all of a PAUSE frame.
    pub classes: u16,
    /// For how long; zero: it may go on.
    pub lasts: Span,
}

impl StopFrame {
    /// The request of a packet, if it is such a frame.
    pub(crate) fn read(packet: Packet) -> Option<Self> {
        match packet.control()? {
            Control::Pause => Some(pause::read(packet)),
            Control::Pfc => Some(pfc::read(packet)),
            _ => None,
        }
    }
}

/// A frame for the neighbor at the other end of a link, which says what it may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopOrder {
    /// The port that leads to it.
    pub(crate) port: u32,
    pub(crate) frame: Packet,
    /// When to look again whether it still has to be stopped; never if it may go on.
    pub(crate) renew_at: Time,
}

/// Flow control between a switch and its neighbors.
#[derive(Debug)]
pub(crate) enum FlowControl {
    Off,
    Pause(pause::Account),
    Pfc(pfc::Account),
}

impl FlowControl {
    /// Whether it admits packets itself, in place of the packet memory.
    #[inline]
    pub(crate) fn admits(&self) -> bool {
        matches!(self, Self::Pfc(_))
    }

    /// A packet that came in `class` over link number `from` is to wait in a queue of `backlog` bytes. Returns whether the
    /// neighbor is to be notified.
    ///
    /// # Errors
    /// If there is no room for it.
    #[inline]
    pub(crate) fn store(
        &mut self,
        from: u32,
        class: usize,
        size: u64,
        backlog: u64,
    ) -> Result<bool, DropCause> {
        match self {
            Self::Off => Ok(false),
            Self::Pause(account) => Ok(account.store(from, size)),
            Self::Pfc(account) => account.store(from, class, size, backlog),
        }
    }

    /// It waits no longer. Returns whether the neighbor is to be notified.
    #[inline]
    pub(crate) fn release(&mut self, from: u32, class: usize, size: u64) -> bool {
        match self {
            Self::Off => false,
            Self::Pause(account) => account.release(from, size),
            Self::Pfc(account) => account.release(from, class, size),
        }
    }

    /// A mechanism stops the side class at link number `from`, or no longer. Returns whether the neighbor is to be notified.
    pub(crate) fn stop_side(&mut self, from: u32, stopped: bool) -> bool {
        match self {
            Self::Pfc(account) => account.stop_side(from, stopped),
            Self::Off | Self::Pause(_) => false,
        }
    }

    /// The frame for the neighbor of link number `from` at `now`, addressed to `to`.
    pub(crate) fn order(&mut self, now: Time, from: u32, to: HostId) -> Option<StopOrder> {
        match self {
            Self::Off => None,
            Self::Pause(account) => account.order(now, from, to),
            Self::Pfc(account) => account.order(now, from, to),
        }
    }

    /// The time to renew what link number `from` was sent has come, if it is `now`.
    pub(crate) fn is_due(&self, now: Time, from: u32) -> bool {
        match self {
            Self::Off => false,
            Self::Pause(account) => account.is_due(now, from),
            Self::Pfc(account) => account.is_due(now, from),
        }
    }
}

/// Makes the records of all mechanisms.
macro_rules! records {
    ($($name:ident: $record:ident,)*) => {
        /// Counters of mechanisms that belong to no link and no flow.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Records {
            $(
                #[doc = concat!("Of the mechanism `", stringify!($name), "`.")]
                pub $name: $name::$record,
            )*
        }

        impl Records {
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$name.add(&other.$name);)*
            }
        }
    };
}

list::mechanisms!(record => records);
