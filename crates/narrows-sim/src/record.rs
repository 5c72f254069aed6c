//! Records of a run: flows, port counters.

use std::ops::AddAssign;

use narrows_proto::stream::Stats;
use narrows_proto::units::{Bytes, Span, Time};

use crate::ids::FlowId;
use crate::mechanism::list::mechanisms;

/// One flow from beginning to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Which flow, or which client.
    pub flow: FlowId,
    /// Number of flows that the same client had started before.
    pub incarnation: u64,
    /// Payload.
    pub size: Bytes,
    /// When the application handed it over.
    pub start: Time,
    /// It began on a connection that had carried other flows.
    pub again: bool,
    /// When the receiver had all of it; none if it did not by the end of the run.
    pub end: Option<Time>,
    /// Payload known to the sender to have arrived.
    pub delivered: Bytes,
    /// The part of it that became known in the measured time ([`Traffic::measured`](crate::traffic::Traffic::measured)).
    pub delivered_measured: Bytes,
    /// Counters of its sender.
    pub stats: Stats,
}

/// Payload that the flows under way had delivered at some moments, by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled(Vec<Vec<Bytes>>);

impl Sampled {
    /// Payload that the flows of a group had delivered at the moment of this number; zero if the run ended before.
    pub fn at(&self, moment: usize, group: usize) -> Bytes {
        self.0.get(moment).and_then(|groups| groups.get(group)).copied().unwrap_or_default()
    }

    /// Adds what a flow of a group had delivered at the moment of this number.
    pub fn add(&mut self, moment: usize, group: usize, delivered: Bytes) {
        if self.0.len() <= moment {
            self.0.resize(moment + 1, Vec::new());
        }
        let groups = &mut self.0[moment];
        if groups.len() <= group {
            groups.resize(group + 1, Bytes::ZERO);
        }
        groups[group] += delivered;
    }

    /// Adds what another thread noted, or real hosts.
    pub fn merge(&mut self, other: &Self) {
        for (moment, groups) in other.0.iter().enumerate() {
            for (group, delivered) in groups.iter().enumerate() {
                self.add(moment, group, *delivered);
            }
        }
    }
}

/// Counters that every thread has of its own. Each says how what two threads counted becomes one: as the `sum`, the `max`, `each` a
/// sum in an array, `of_mechanism`, or `keep`: what is the same in both.
macro_rules! counters {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$meaning:meta])* pub $field:ident: $type:ty = $merge:ident,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$meaning])* pub $field: $type,)*
        }

        impl $name {
            /// Adds what another thread counted.
            pub(crate) fn add(&mut self, other: &Self) {
                $($merge(&mut self.$field, other.$field);)*
            }
        }

        impl $crate::record::Counted for $name {
            fn merge(&mut self, other: Self) {
                self.add(&other);
            }
        }
    };
}

pub(crate) use counters;

pub(crate) fn sum<T: AddAssign>(total: &mut T, part: T) {
    *total += part;
}

pub(crate) fn keep<T>(_: &mut T, _: T) {}

pub(crate) fn max<T: Ord + Copy>(most: &mut T, part: T) {
    *most = part.max(*most);
}

/// Counters that are part of others.
pub(crate) trait Counted: Sized {
    /// See `add`.
    fn merge(&mut self, other: Self);
}

fn of_mechanism<T: Counted>(total: &mut T, part: T) {
    total.merge(part);
}

fn each<const N: usize>(totals: &mut [u64; N], parts: [u64; N]) {
    totals.iter_mut().zip(parts).for_each(|(total, part)| sum(total, part));
}

counters! {
    /// Datagrams that a source sent and that arrived.
    #[derive(Eq)]
    pub struct DatagramRecord {
        /// Which source.
        pub flow: FlowId = keep,
        /// Datagrams handed to the link.
        pub sent: u64 = sum,
        /// Datagrams dropped in the host, for want of room.
        pub dropped_at_source: u64 = sum,
        /// Datagrams that arrived.
        pub received: u64 = sum,
        /// Payload that arrived.
        pub received_bytes: Bytes = sum,
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The whole packet memory was in use.
    BufferFull,
    /// The queue had its share of the memory.
    QueueLimit,
    /// RED chose it.
    Red,
    /// CoDel chose it.
    Codel,
    /// PIE chose it.
    Pie,
    /// DualPI2 chose it.
    DualPi2,
    /// Bit errors on the link.
    LinkError,
    /// The link was down.
    LinkDown,
    /// No path led to the destination.
    NoRoute,
    /// The queue of its limiter was full.
    Limiter,
    /// A policer had no tokens for it.
    Policer,
    /// The link was in a bad state.
    BurstLoss,
    /// A newer acknowledgment made it needless.
    Thinned,
}

impl DropCause {
    /// All causes.
    pub const ALL: [Self; 13] = [
        Self::BufferFull,
        Self::QueueLimit,
        Self::Red,
        Self::Codel,
        Self::Pie,
        Self::DualPi2,
        Self::LinkError,
        Self::LinkDown,
        Self::NoRoute,
        Self::Limiter,
        Self::Policer,
        Self::BurstLoss,
        Self::Thinned,
    ];

    /// Losses on a link, of packets that have been sent.
    pub const ON_LINK: [Self; 4] = [Self::LinkError, Self::LinkDown, Self::BurstLoss, Self::Thinned];

    /// As it stands in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::QueueLimit => "queue_limit",
            Self::Red => "red",
            Self::Codel => "codel",
            Self::Pie => "pie",
            Self::DualPi2 => "dualpi2",
            Self::LinkError => "link_error",
            Self::LinkDown => "link_down",
            Self::NoRoute => "no_route",
            Self::Limiter => "limiter",
            Self::Policer => "policer",
            Self::BurstLoss => "burst_loss",
            Self::Thinned => "thinned",
        }
    }
}

macro_rules! port_counters {
    ($($name:ident: $counters:ident,)*) => {
        counters! {
            #[derive(Eq)]
            /// Counters of one direction of a link and the port it leaves from, over the whole run unless said otherwise.
            pub struct PortCounters {
                /// Packets that began to be sent.
                pub packets: u64 = sum,
                /// Bytes of those, framing included.
                pub bytes: u64 = sum,
                /// Bytes of those that began to be sent in the measured time ([`Traffic::measured`](crate::traffic::Traffic::measured)).
                pub measured_bytes: u64 = sum,
                /// Packets marked.
                pub marks: u64 = sum,
                /// Packets whose codepoint the link changed (ECN).
                pub mangled: u64 = sum,
                /// Packets dropped, by [`DropCause`].
                pub drops: [u64; DropCause::ALL.len()] = each,
                /// Bytes dropped.
                pub dropped_bytes: u64 = sum,
                /// The most bytes that ever waited.
                pub max_backlog: u64 = max,
                /// PAUSE frames sent over it that stop the neighbor.
                pub pauses: u64 = sum,
                /// Messages of its congestion points that ask to slow down, to speed up, and to stop.
                pub slower: u64 = sum,
                /// See [`slower`](Self::slower).
                pub faster: u64 = sum,
                /// See [`slower`](Self::slower).
                pub stops: u64 = sum,
                /// Time for which the neighbor stopped it, or one of its classes.
                pub paused: Span = sum,
                /// The longest time a class of packets that waited stayed stopped (priority-based flow control).
                pub longest_stop: Span = max,
                /// Time for which a class that packets wait in has been stopped when the run ends.
                pub stuck: Span = max,
                $(
                    #[doc = concat!("Of the mechanism `", stringify!($name), "`.")]
                    pub $name: crate::mechanism::$name::$counters = of_mechanism,
                )*
            }
        }
    };
}

mechanisms!(counters => port_counters);

impl PortCounters {
    /// Counts one dropped packet.
    #[inline]
    pub(crate) fn count_drop(&mut self, cause: DropCause, size: u16) {
        self.drops[cause as usize] += 1;
        self.dropped_bytes += u64::from(size);
    }

    /// Messages of its congestion points.
    pub fn messages(&self) -> u64 {
        self.slower + self.faster + self.stops
    }

    /// Packets that came to the port and do not wait there any more: sent over its link, or dropped before. Packets that
    /// were lost on the link are among those sent.
    pub fn handled(&self) -> u64 {
        let on_link = DropCause::ON_LINK.map(|cause| self.drops[cause as usize]);
        self.packets + self.dropped() - on_link.iter().sum::<u64>()
    }

    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }
}
