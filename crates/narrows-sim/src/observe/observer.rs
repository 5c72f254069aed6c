//! Events that observers are called at.

use narrows_proto::cc::{Limit, Reporter};
use narrows_proto::cnm::Signal;
use narrows_proto::stream::{Repairing, Stats};
use narrows_proto::units::{Bytes, Span, Time};
use narrows_proto::{rdma, stream};

use super::packets::PacketRef;
use crate::ids::{FlowId, LinkId};
use crate::mechanism::list::mechanisms;
use crate::record::{DatagramRecord, DropCause, FlowRecord, PortCounters};

/// A sender of any transport.
#[derive(Clone, Copy, Debug)]
pub enum SenderRef<'a> {
    /// Of a stream.
    Stream(&'a stream::Sender),
    /// Over RDMA.
    Rdma(&'a rdma::Sender),
}

/// The list of transports that have senders, for all that is asked of each.
macro_rules! each {
    ($seen:expr, $sender:ident => $asked:expr) => {
        match $seen {
            SenderRef::Stream($sender) => $asked,
            SenderRef::Rdma($sender) => $asked,
        }
    };
}

impl SenderRef<'_> {
    /// The window and pacing rate in force.
    pub fn limit(self) -> Limit {
        each!(self, sender => sender.limit())
    }

    /// Payload on its way.
    pub fn inflight(self) -> Bytes {
        each!(self, sender => sender.inflight())
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(self) -> Span {
        each!(self, sender => sender.srtt())
    }

    /// Smallest round-trip time, and mean deviation (RFC 6298); none before the first sample.
    pub fn rtt_range(self) -> Option<(Span, Span)> {
        each!(self, sender => sender.rtt_range())
    }

    /// The loss that it repairs.
    pub fn repairing(self) -> Repairing {
        each!(self, sender => sender.repairing())
    }

    /// State of its congestion control besides the limit ([`Controller::inside`](narrows_proto::cc::Controller::inside)).
    pub fn inside(self, tell: &mut Reporter<'_>) {
        each!(self, sender => sender.inside(tell));
    }

    /// Payload delivered, in or out of order.
    pub fn delivered(self) -> Bytes {
        each!(self, sender => sender.delivered())
    }

    /// Counters so far.
    pub fn stats(self) -> Stats {
        each!(self, sender => sender.stats())
    }
}

/// One thing of many that an observer is shown when it requests a review.
#[derive(Clone, Copy, Debug)]
pub enum Reviewed<'a> {
    /// A review begins.
    Begin,
    /// Counters so far of the port of a link and of that link. One link may come twice, from both its ends; then
    /// both together are meant.
    Port(LinkId, &'a PortCounters),
    /// Packets that had nowhere to go.
    NoRoute(&'a PortCounters),
    /// A flow whose sender does not know yet that it is complete.
    Flow(&'a FlowRecord),
    /// The sender of a flow that is under way.
    Sender(FlowId, SenderRef<'a>),
    /// A source of datagrams, or a sink: each has its half.
    Datagrams(&'a DatagramRecord),
}

macro_rules! events {
    ($($name:ident: $event:ident,)*) => {
        /// Something that happened to a mechanism.
        #[derive(Clone, Copy, Debug)]
        pub enum MechanismEvent {
            $(
                #[doc = concat!("To the mechanism `", stringify!($name), "`.")]
                $event(crate::mechanism::$name::$event),
            )*
        }
    };
}

mechanisms!(event => events);

/// Makes the trait of a list of what observers are called at, and the observers that pass all of it on.
macro_rules! observer {
    ($dollar:tt $($(#[$doc:meta])* fn $name:ident($($argument:ident: $kind:ty),*);)*) => {
        /// Is called at what happens. Compose observers in tuples.
        pub trait Observer: Send {
            /// False only if no method does anything; then what they would be called with is not even looked up.
            const ACTIVE: bool = true;

            /// True only if it watches each link by itself: [`queued`](Self::queued) and [`departs`](Self::departs) do nothing, and it does
            /// not matter in which order calls for different links come within a window. Then switches may report port by port.
            const BY_LINK: bool = false;

            $(
                $(#[$doc])*
                #[inline]
                fn $name(&mut self, $($argument: $kind),*) {
                    let _ = ($($argument,)*);
                }
            )*

            /// At `at`, a packet of `size` bytes that waited at the port of `link` begins to be sent, and `backlog` bytes still wait: one call
            /// for both, as it comes with every packet.
            #[inline]
            fn left(&mut self, at: Time, link: LinkId, size: u16, backlog: u64) {
                self.backlog(at, link, backlog);
                self.sent(at, link, size);
            }

            /// Asked at the end of each window: whether to go through all ports and flows of this thread with
            /// [`review`](Self::review), then call [`reviewed`](Self::reviewed). Every run ends with a review.
            #[inline]
            fn wants_review(&mut self) -> bool {
                false
            }
        }

        /// Watches if there is something to watch.
        impl<A: Observer> Observer for Option<A> {
            const BY_LINK: bool = A::BY_LINK;

            $(
                #[inline]
                fn $name(&mut self, $($argument: $kind),*) {
                    if let Some(observer) = self {
                        observer.$name($($argument),*);
                    }
                }
            )*

            #[inline]
            fn left(&mut self, at: Time, link: LinkId, size: u16, backlog: u64) {
                if let Some(observer) = self {
                    observer.left(at, link, size, backlog);
                }
            }

            #[inline]
            fn wants_review(&mut self) -> bool {
                self.as_mut().is_some_and(Observer::wants_review)
            }
        }

        impl<A: Observer, B: Observer> Observer for (A, B) {
            const ACTIVE: bool = A::ACTIVE || B::ACTIVE;
            const BY_LINK: bool = A::BY_LINK && B::BY_LINK;

            $(
                #[inline]
                fn $name(&mut self, $($argument: $kind),*) {
                    self.0.$name($($argument),*);
                    self.1.$name($($argument),*);
                }
            )*

            #[inline]
            fn left(&mut self, at: Time, link: LinkId, size: u16, backlog: u64) {
                self.0.left(at, link, size, backlog);
                self.1.left(at, link, size, backlog);
            }

            #[inline]
            fn wants_review(&mut self) -> bool {
                // Both are asked.
                self.0.wants_review() | self.1.wants_review()
            }
        }

        /// Makes an observer of those of all mechanisms that may be there.
        macro_rules! observers {
            ($dollar($dollar each:ident: $dollar observer:ident,)*) => {
                /// The observers of what mechanisms do.
                #[derive(Debug)]
                pub struct OfMechanisms {
                    $dollar(
                        #[doc = concat!("Of the mechanism `", stringify!($dollar each), "`.")]
                        pub $dollar each: Option<crate::mechanism::$dollar each::$dollar observer>,
                    )*
                }

                impl Observer for OfMechanisms {
                    const BY_LINK: bool =
                        true $dollar(&& crate::mechanism::$dollar each::$dollar observer::BY_LINK)*;

                    $(
                        #[inline]
                        fn $name(&mut self, $($argument: $kind),*) {
                            $dollar(self.$dollar each.$name($($argument),*);)*
                        }
                    )*

                    #[inline]
                    fn wants_review(&mut self) -> bool {
                        // All are asked.
                        false $dollar(| self.$dollar each.wants_review())*
                    }
                }
            };
        }
        pub(super) use observers;
    };
}

observer! { $
    /// At `at`, `backlog` bytes wait at the port of `link`.
    fn backlog(at: Time, link: LinkId, backlog: u64);

    /// At `at`, a packet of `size` bytes begins to be sent over `link`.
    fn sent(at: Time, link: LinkId, size: u16);

    /// At `at`, a packet at the port of `link` was marked.
    fn marked(at: Time, link: LinkId);

    /// At `at`, a packet of `size` bytes was dropped at the port of `link`.
    fn dropped(at: Time, link: LinkId, size: u16, cause: DropCause);

    /// A packet of `size` bytes that would have arrived over `link` at `at` was lost on the way. The node at the far end
    /// reports this; the order of time holds only among these calls.
    fn lost(at: Time, link: LinkId, size: u16, cause: DropCause);

    /// At `at`, a congestion point at the port of `link` has notified a source.
    fn notified(at: Time, link: LinkId, signal: Signal);

    /// At `at`, the host of `flow` has received a message of a congestion point about it; its limiter or near-source loop takes it in.
    fn cnm_received(at: Time, flow: FlowId, signal: Signal);

    /// At `at`, the node at the far end of `link` has paused it until `until`, or no longer.
    fn paused(at: Time, link: LinkId, until: Time);

    /// At `at`, `backlog` of the bytes that wait at the port of `link` are those of its side queue.
    fn side_backlog(at: Time, link: LinkId, backlog: u64);

    /// At `at`, the port of `link` has got a side queue, or has it no longer.
    fn side_queue(at: Time, link: LinkId, exists: bool);

    /// At `at`, something happened to a mechanism.
    fn mechanism(at: Time, event: &MechanismEvent);

    /// At `at`, the sender of `flow` has taken in an acknowledgment, a notification packet or a timer.
    fn window(at: Time, flow: FlowId, sender: SenderRef<'_>);

    /// At `at`, `packet` has joined the port of `link` at a switch, where `backlog` bytes waited that go before it. If it was
    /// marked there, [`marked`](Self::marked) was called just before.
    fn queued(at: Time, link: LinkId, packet: PacketRef<'_>, backlog: u64);

    /// At `at`, `packet` begins to be sent over `link`. Plain ports report it when the packet joins them, so `at` may lie ahead, even
    /// beyond the end of the run.
    fn departs(at: Time, link: LinkId, packet: PacketRef<'_>);

    /// `packet` was dropped at `at` at the port of `link`, or lost on the way over it when it would have arrived; then the
    /// node at the far end reports this, and the order of time holds only among such calls.
    fn discarded(at: Time, link: LinkId, packet: PacketRef<'_>, cause: DropCause);

    /// At `at`, a switch had no route for `packet` and dropped it.
    fn unrouted(at: Time, packet: PacketRef<'_>);

    /// At `at`, `flow` has started, or a client its next one.
    fn started(at: Time, flow: FlowId);

    /// At `at`, the receiver of `flow` had all of it.
    fn completed(at: Time, flow: FlowId);

    /// At `at`, the sender of a flow has learned that it is complete. `record` has no end; the receiver knows that.
    fn closed(at: Time, record: &FlowRecord);

    /// See [`wants_review`](Self::wants_review).
    fn review(what: Reviewed<'_>);

    /// The review is over. All that happened before `until` has been reported, departures from ports included.
    fn reviewed(until: Time);

    /// A window is over: nothing more happens before `until`. The run waits as long as this takes.
    fn window_over(until: Time);
}

impl Observer for () {
    const ACTIVE: bool = false;
    const BY_LINK: bool = true;
}

/// An observer of the moments between two windows, when nothing happens.
pub trait BetweenWindows: std::fmt::Debug + Send {
    /// Observers beside this one are asked whether they want a review.
    fn before_review(&mut self);

    /// A window is over: nothing more happens before `until`. The run waits as long as this takes.
    fn window_over(&mut self, until: Time);
}

impl Observer for Box<dyn BetweenWindows> {
    const BY_LINK: bool = true;

    #[inline]
    fn wants_review(&mut self) -> bool {
        self.before_review();
        false
    }

    #[inline]
    fn window_over(&mut self, until: Time) {
        self.as_mut().window_over(until);
    }
}
