//! Interface of the sending half of a flow to its host, whatever its transport.

use narrows_proto::cc::Signal;
use narrows_proto::stream::{Handed, Held, Holding, Poll, Stats};
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::observe::SenderRef;
use crate::packet::Parcel;
use crate::world::GroupState;

/// An acknowledgment on its way into a sender.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) parcel: Parcel<'a>,
    /// Rates that telemetry reports, by code.
    pub(crate) reported_rates: &'a [BitRate],
}

/// Progress of a sender so far.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    pub(crate) delivered: Bytes,
    pub(crate) stats: Stats,
    /// On a connection that carried other flows before.
    pub(crate) again: bool,
}

/// Interface of the sending half of a flow to its host. What only some transports have does nothing in the others.
pub(crate) trait Sending {
    /// The segment it sends next, or when to ask again.
    fn poll(&mut self, group: &GroupState, now: Time) -> Poll;

    /// An acknowledgment arrived. Returns whether the flow is complete.
    fn on_ack(&mut self, group: &GroupState, now: Time, answer: Answer<'_>) -> bool;

    /// A mechanism has something for its congestion control.
    fn on_signal(&mut self, group: &GroupState, now: Time, signal: &Signal<'_>);

    /// Something else than the flow keeps it from sending.
    fn hold(&mut self, _: &GroupState, _: Time, _: Holding) -> Held {
        Held::Blocked
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Time has passed. Returns whether a timer was due.
    fn on_timer(&mut self, _: &GroupState, _: Time) -> bool {
        false
    }

    /// A congestion notification packet arrived. Returns whether it is something to this sender.
    fn on_cnp(&mut self, _: Time) -> bool {
        false
    }

    /// A grant arrived: all the credit that it was given, in bytes.
    fn on_grant(&mut self, _: u64) {}

    /// The request for credit in the packet that it has just sent, of so many flows of its host. None if it needs none.
    fn request(&mut self, _: &GroupState, _: u32) -> Option<u64> {
        None
    }

    /// It never sends anything again, though not all has arrived.
    fn has_given_up(&self) -> bool {
        false
    }

    /// Smoothed round-trip time; zero before the first sample.
    fn srtt(&self) -> Span {
        Span::ZERO
    }

    fn delivered(&self) -> Bytes {
        Bytes::ZERO
    }

    /// None if it keeps no record.
    fn done(&self) -> Option<Done> {
        None
    }

    /// As observers see it, if they do.
    fn as_seen(&self) -> Option<SenderRef<'_>> {
        None
    }

    /// It begins with a handshake.
    fn is_opening(&self) -> bool {
        false
    }

    /// The last burst that it handed over. None if it keeps a queue of its own, in the network card.
    fn handed(&self, _: &GroupState) -> Option<Handed> {
        None
    }

    /// Its window has no room.
    fn is_full(&self) -> bool {
        false
    }
}
