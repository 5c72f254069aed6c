//! The list of transports, for all that a host asks of one ([`Sending`]), and their part where a flow begins.
//!
//! A new transport implements [`Sending`] for what sends, and gets a line in [`Source`], `each!`, [`Source::new`] and [`Sink::new`]. Its
//! packets are made in `packets.rs`; what a receiver does stands in `incoming.rs`.

use narrows_proto::cc::Signal;
use narrows_proto::rdma::Recovery;
use narrows_proto::stream::{
    AckState, Connection, Endpoint, Handed, Held, Holding, Merging, Poll, Receiver, Sender,
};
use narrows_proto::units::{Bytes, Span, Time};
use narrows_proto::{datagram, rdma};

use super::queue_pair::QueuePair;
use super::sending::{Answer, Done, Sending};
use crate::mechanism::telemetry;
use crate::observe::SenderRef;
use crate::world::{GroupState, TransportState};

/// Methods of all transports with connections, with the settings of their own.
macro_rules! connection {
    ($transport:ident) => {
        #[inline]
        fn poll(&mut self, group: &GroupState, now: Time) -> Poll {
            self.poll_transmit(&group.$transport().params, now)
        }

        fn hold(&mut self, group: &GroupState, now: Time, holding: Holding) -> Held {
            self.hold(&group.$transport().params, now, holding)
        }

        #[inline]
        fn next_timer(&self) -> Time {
            self.next_timer()
        }

        #[inline]
        fn on_timer(&mut self, group: &GroupState, now: Time) -> bool {
            let due = self.next_timer() <= now;
            self.on_timer(&group.$transport().params, now);
            due
        }

        fn srtt(&self) -> Span {
            self.srtt()
        }

        fn delivered(&self) -> Bytes {
            self.delivered()
        }
    };
}

impl Sending for Sender {
    connection!(stream);

    #[inline]
    fn on_ack(&mut self, group: &GroupState, now: Time, answer: Answer<'_>) -> bool {
        self.on_ack(&group.stream().params, now, &answer.parcel.ack_frame());
        self.is_complete()
    }

    fn on_signal(&mut self, group: &GroupState, now: Time, signal: &Signal<'_>) {
        self.on_signal(&group.stream().params, now, signal);
    }

    fn done(&self) -> Option<Done> {
        Some(Done { delivered: self.delivered(), stats: self.stats(), again: self.is_again() })
    }

    #[inline]
    fn as_seen(&self) -> Option<SenderRef<'_>> {
        Some(SenderRef::Stream(self))
    }

    fn is_opening(&self) -> bool {
        self.is_opening()
    }

    fn handed(&self, group: &GroupState) -> Option<Handed> {
        Some(self.handed(&group.stream().params))
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }
}

impl Sending for rdma::Sender {
    connection!(rdma);

    #[inline]
    fn on_ack(&mut self, group: &GroupState, now: Time, answer: Answer<'_>) -> bool {
        let Answer { parcel, reported_rates } = answer;
        if parcel.packet.trailers() > 0
            && let Some(telemetry) = telemetry::read(parcel, reported_rates)
        {
            self.on_telemetry(now, &telemetry);
        }
        let params = &group.rdma().params;
        let frame = match params.recovery {
            Recovery::AnyOrder => parcel.selective_ack_frame(),
            Recovery::GoBackN | Recovery::SelectiveRepeat => parcel.rdma_ack_frame(),
        };
        self.on_ack(params, now, &frame);
        self.is_complete()
    }

    fn on_signal(&mut self, _: &GroupState, now: Time, signal: &Signal<'_>) {
        self.on_signal(now, signal);
    }

    fn on_cnp(&mut self, now: Time) -> bool {
        self.on_cnp(now);
        true
    }

    fn on_grant(&mut self, granted: u64) {
        self.on_grant(granted);
    }

    fn request(&mut self, group: &GroupState, sources: u32) -> Option<u64> {
        self.request(&group.rdma().params, sources)
    }

    fn has_given_up(&self) -> bool {
        self.has_given_up()
    }

    fn done(&self) -> Option<Done> {
        Some(Done { delivered: self.delivered(), stats: self.stats(), again: false })
    }

    #[inline]
    fn as_seen(&self) -> Option<SenderRef<'_>> {
        Some(SenderRef::Rdma(self))
    }
}

impl Sending for datagram::Source {
    #[inline]
    fn poll(&mut self, _: &GroupState, now: Time) -> Poll {
        self.poll_transmit(now)
    }

    fn on_ack(&mut self, _: &GroupState, now: Time, answer: Answer<'_>) -> bool {
        self.on_echo(now, answer.parcel.packet.seq());
        false
    }

    fn on_signal(&mut self, _: &GroupState, now: Time, signal: &Signal<'_>) {
        self.on_signal(now, signal);
    }
}

/// The sending half in a slot.
#[derive(Debug)]
// Senders are many and sources of datagrams few: a sender is not worth a pointer to follow.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Source {
    Stream(Sender),
    Rdma(rdma::Sender),
    Datagram(datagram::Source),
    /// Its flows are messages that share a connection.
    QueuePair(Box<QueuePair>),
    /// A mechanism, from this place of its own.
    Mechanism(u32),
    /// The flow is complete.
    Over,
}

/// The list of transports, for all that is asked of each.
macro_rules! each {
    ($source:expr, $sender:pat => $asked:expr, else $nothing:expr) => {
        match $source {
            Source::Stream($sender) => $asked,
            Source::Rdma($sender) => $asked,
            Source::Datagram($sender) => $asked,
            Source::QueuePair($sender) => $asked,
            // A mechanism has its turn elsewhere, and what is over sends nothing.
            Source::Mechanism(_) | Source::Over => $nothing,
        }
    };
}

impl Sending for Source {
    #[inline]
    fn poll(&mut self, group: &GroupState, now: Time) -> Poll {
        each!(self, sender => Sending::poll(sender, group, now), else Poll::Blocked)
    }

    #[inline]
    fn on_ack(&mut self, group: &GroupState, now: Time, answer: Answer<'_>) -> bool {
        each!(self, sender => Sending::on_ack(sender, group, now, answer), else false)
    }

    fn on_signal(&mut self, group: &GroupState, now: Time, signal: &Signal<'_>) {
        each!(self, sender => Sending::on_signal(sender, group, now, signal), else ());
    }

    fn hold(&mut self, group: &GroupState, now: Time, holding: Holding) -> Held {
        each!(self, sender => Sending::hold(sender, group, now, holding), else Held::Blocked)
    }

    #[inline]
    fn next_timer(&self) -> Time {
        each!(self, sender => Sending::next_timer(sender), else Time::NEVER)
    }

    #[inline]
    fn on_timer(&mut self, group: &GroupState, now: Time) -> bool {
        each!(self, sender => Sending::on_timer(sender, group, now), else false)
    }

    fn on_cnp(&mut self, now: Time) -> bool {
        each!(self, sender => Sending::on_cnp(sender, now), else false)
    }

    fn on_grant(&mut self, granted: u64) {
        each!(self, sender => Sending::on_grant(sender, granted), else ());
    }

    fn request(&mut self, group: &GroupState, sources: u32) -> Option<u64> {
        each!(self, sender => Sending::request(sender, group, sources), else None)
    }

    fn has_given_up(&self) -> bool {
        each!(self, sender => Sending::has_given_up(sender), else false)
    }

    fn srtt(&self) -> Span {
        each!(self, sender => Sending::srtt(sender), else Span::ZERO)
    }

    fn delivered(&self) -> Bytes {
        each!(self, sender => Sending::delivered(sender), else Bytes::ZERO)
    }

    fn done(&self) -> Option<Done> {
        each!(self, sender => Sending::done(sender), else None)
    }

    #[inline]
    fn as_seen(&self) -> Option<SenderRef<'_>> {
        each!(self, sender => Sending::as_seen(sender), else None)
    }

    fn is_opening(&self) -> bool {
        each!(self, sender => Sending::is_opening(sender), else false)
    }

    fn handed(&self, group: &GroupState) -> Option<Handed> {
        each!(self, sender => Sending::handed(sender, group), else None)
    }

    fn is_full(&self) -> bool {
        each!(self, sender => Sending::is_full(sender), else false)
    }
}

// What RDMA needs makes no slot larger.
const _: () = assert!(size_of::<rdma::Sender>() <= size_of::<Sender>());

/// Parts that a sender begins with.
pub(crate) struct Begin {
    pub(crate) size: Bytes,
    pub(crate) at: Endpoint,
    /// An idle connection that it goes on with.
    pub(crate) connection: Option<Connection>,
}

impl Source {
    /// It is a flow that is not over.
    pub(crate) fn is_flow(&self) -> bool {
        each!(self, _ => true, else false)
    }

    /// The sending half of a flow that starts now.
    pub(crate) fn new(group: &GroupState, now: Time, begin: Begin) -> Self {
        let Begin { size, at, connection } = begin;
        match &group.transport {
            TransportState::Stream(stream) => Self::Stream(match connection {
                Some(connection) => Sender::again(connection, &stream.params, now, size),
                None => {
                    let mut sender = Sender::new(&stream.params, &stream.cc, at, size);
                    sender.start(&stream.params, now);
                    sender
                }
            }),
            TransportState::Rdma(rdma) => Self::Rdma(rdma::Sender::new(&rdma.params, &rdma.cc, at, size)),
            TransportState::Datagram { params, rate, cc } => {
                let cc = cc.as_ref().and_then(|cc| cc.build_for_datagrams(&params.path(at)));
                Self::Datagram(datagram::Source::new(params, *rate, cc))
            }
        }
    }

    /// Ends it when its flow is complete. Returns its connection, if its group keeps them.
    pub(crate) fn end(&mut self, group: &GroupState) -> Option<Connection> {
        if let TransportState::Stream(stream) = &group.transport
            && stream.params.keep_connections
            && let Self::Stream(sender) = std::mem::replace(self, Self::Over)
        {
            return Some(sender.into_connection());
        }
        *self = Self::Over;
        None
    }

    /// The source of datagrams, if it is one.
    pub(crate) fn datagrams(&mut self) -> Option<&mut datagram::Source> {
        if let Self::Datagram(source) = self { Some(source) } else { None }
    }
}

/// The receiving half in a slot.
#[derive(Debug)]
pub(crate) enum Sink {
    Stream(Receiver),
    /// A stream behind receive offload.
    Merging(Box<Merging>),
    Rdma(rdma::Receiver),
    Datagram {
        received: u64,
        bytes: Bytes,
    },
}

impl Sink {
    /// The receiving half of a flow of this group whose first packet arrives, perhaps on a connection that has carried others.
    pub(crate) fn new(group: &GroupState, now: Time, connection: Option<AckState>) -> Self {
        match &group.transport {
            TransportState::Stream(stream) => {
                let receiver = match connection {
                    None => Receiver::new(stream.ecn),
                    Some(state) => Receiver::resume(stream.ecn, &stream.params, now, state),
                };
                if stream.params.receive_offload.is_none() {
                    return Self::Stream(receiver);
                }
                Self::Merging(Box::new(Merging::to(receiver)))
            }
            TransportState::Rdma(rdma) => Self::Rdma(rdma::Receiver::new(rdma.ecn)),
            TransportState::Datagram { .. } => Self::Datagram { received: 0, bytes: Bytes::ZERO },
        }
    }

    /// State of its acknowledgments when all has arrived, if it is a stream's.
    pub(crate) fn ack_state(&self) -> Option<AckState> {
        match self {
            Self::Stream(receiver) => Some(receiver.ack_state()),
            Self::Merging(merging) => Some(merging.receiver().ack_state()),
            Self::Rdma(_) | Self::Datagram { .. } => None,
        }
    }

    /// It is the end of a connection.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(self, Self::Datagram { .. })
    }
}
