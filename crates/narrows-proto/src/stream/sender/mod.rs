//! The sending half of a connection: queries the parts beside it and acts on their answers.
//!
//! Here is what a sender is made of; [`ack`] is what an acknowledgment does, [`timer`] what the passing of time does, and
//! [`transmit`] what is sent next.

mod ack;
mod connection;
mod timer;
mod transmit;

pub use connection::Connection;
pub use transmit::{Held, Holding};

use super::accurate_ecn::Known;
use super::delivery::Delivery;
use super::pacer::Pacer;
use super::params::Params;
use super::prr::Prr;
use super::rack_tlp::RackTlp;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::segmentation::Bursts;
use super::wire::Segment;
use crate::cc::{Cc, Config, Controller, Ecn, Limit, Reporter};
use crate::units::{BitRate, Bytes, Span, Time};

/// The sending half of a connection while it carries one flow.
///
/// Call [`start`](Sender::start) once, unless the connection has carried flows before ([`again`](Sender::again)),
/// [`on_ack`](Sender::on_ack) for every acknowledgment, [`on_timer`](Sender::on_timer) at [`next_timer`](Sender::next_timer), and
/// [`poll_transmit`](Sender::poll_transmit) whenever the link is free.
#[derive(Debug)]
pub struct Sender {
    size: u64,
    mss: Bytes,
    phase: Phase,
    cc: Cc,
    ecn: Ecn,
    limit: Limit,
    board: Scoreboard,
    rtt: RttEstimator,
    delivery: Delivery,
    rack_tlp: RackTlp,
    repair: Repair,
    prr: Option<Box<Prr>>,
    probe: Probe,
    /// None as long as there was none.
    troubles: Option<Box<Troubles>>,
    pacer: Pacer,
    bursts: Bursts,
    timer: Timer,
    /// When the retransmission timer expires. Progress restarts it; other acknowledgments leave it alone, even if they
    /// change the timeout (RFC 6298 §5.3).
    rto_at: Time,
    /// A round-trip time was measured since the last probe (RFC 8985 §7.3).
    sampled: bool,
    /// The next new segment says that the window was reduced.
    cwr: bool,
    /// The spin bit to return.
    spin: bool,
    /// Packets say that they cannot be marked, because the codepoint of others arrived changed.
    not_ect: bool,
    /// Nothing beyond this byte may be sent: the receiver has no room for it.
    edge: u64,
    /// The most bytes from the first that has not been acknowledged to the last that was sent.
    most: u64,
    /// Round-trip time of an earlier connection to the same host; zero if it is not known.
    recalled: Span,
    /// The window stopped the sender in this round, and in the one before.
    limited: [bool; 2],
    /// See [`Stats::marked`].
    marked: Bytes,
    /// See [`Stats::injected`]; never as long as it was not.
    injected: Time,
    /// Payload sent besides new data of this flow: repetitions, and all of earlier flows.
    sent_besides: Bytes,
    /// Payload that earlier flows of the connection delivered.
    delivered_before: Bytes,
    /// Acknowledgment that the controller received last.
    #[cfg(test)]
    pub(in crate::stream) last_ack: Option<crate::cc::Ack>,
}

/// State that a sender has once something was lost, or taken for lost, or marked ([`Ecn::Classic`]). Of many flows nothing ever is.
#[derive(Debug, Default)]
struct Troubles {
    /// Those that the sender does not count itself.
    counts: Stats,
    undo: Option<Undo>,
    /// SND.UNA at the last expiry of the retransmission timer.
    timed_out_at: Option<u64>,
    /// The window was reduced: until data beyond this byte is acknowledged, further marks and losses are signs of the same
    /// congestion (RFC 3168 §6.1.2). Used with [`Ecn::Classic`] only.
    reduced_until: Option<u64>,
    /// Marks that were counted ([`Ecn::Counted`]).
    marks: Known,
}

/// Properties of the host a sender runs on.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Rate of the host's link.
    pub link: BitRate,
    /// Where random choices of the connection begin.
    pub seed: u64,
}

/// Counts of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Payload retransmitted.
    pub retransmitted: Bytes,
    /// Expiries of the retransmission timer, those of the handshake included.
    pub timeouts: u64,
    /// Times a loss was noticed without a timeout.
    pub recoveries: u64,
    /// Losses and timeouts that were none.
    pub spurious: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Segments that arrived after one sent later, as acknowledgments show; without those that were retransmitted meanwhile.
    pub reordered: u64,
    /// The largest distance of such a segment from the highest byte that had arrived before.
    pub reordering: Bytes,
    /// Payload acknowledged as marked ([`Ecn::Accurate`]), or reductions for marks times the segment size
    /// ([`Ecn::Classic`]).
    pub marked: Bytes,
    /// Congestion notification packets received ([`Ecn::Cnp`]).
    pub cnps: u64,
    /// When the last byte was handed over for the first time, to the link or to a limiter before it; none as long as it was
    /// not.
    pub injected: Option<Time>,
}

impl Stats {
    /// Counts since `earlier`; the same last byte.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            retransmissions: self.retransmissions - earlier.retransmissions,
            retransmitted: self.retransmitted - earlier.retransmitted,
            timeouts: self.timeouts - earlier.timeouts,
            recoveries: self.recoveries - earlier.recoveries,
            spurious: self.spurious - earlier.spurious,
            probes: self.probes - earlier.probes,
            reordered: self.reordered - earlier.reordered,
            reordering: self.reordering,
            marked: self.marked - earlier.marked,
            cnps: self.cnps - earlier.cnps,
            injected: self.injected,
        }
    }
}

/// Present repair of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairing {
    /// Nothing.
    Nothing,
    /// A loss that acknowledgments have reported.
    Loss,
    /// All that was on its way when the retransmission timer expired.
    Timeout,
}

/// An answer to "what next?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Send this now.
    Send(Segment),
    /// Ask again then.
    At(Time),
    /// Nothing to send until an acknowledgment or a timer changes that.
    Blocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// SYNs sent so far, and when the last one was; one more is due.
    Opening {
        attempts: u32,
        sent_at: Time,
        due: bool,
    },
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    None,
    /// Fast recovery until this byte is acknowledged.
    Fast {
        until: u64,
    },
    /// Slow start after a timeout; further losses up to this byte belong to it.
    Timeout {
        until: u64,
    },
}

/// Tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    /// To be sent as soon as the link is free.
    Due,
    /// Sent; ends when this byte is acknowledged.
    Out {
        end: u64,
    },
}

/// Whether everything retransmitted since the last loss, and what of it was on its way then, had in fact arrived (RFC 3708 §3;
/// `tcp_init_undo` of Linux).
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// SND.UNA when the window was reduced; duplicates of older data say nothing of it.
    from: u64,
    resent: u64,
    /// Duplicates the receiver has reported (RFC 2883).
    duplicates: u64,
    /// When the segment at `from` had been sent, if once.
    first_sent: Option<Time>,
}

/// Data outstanding before an acknowledgment or a timer changed it.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Off which a reduction takes its part: FlightSize of RFC 5681 §2, or the window.
    reduced: Bytes,
    /// Over which a reduction is spread: what was neither delivered nor lost, or the window.
    spread: Bytes,
    /// That which was neither delivered nor lost.
    inflight: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Time,
    kind: TimerKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerKind {
    Retransmission,
    Probe,
    /// A segment is lost if it is not acknowledged by then (RFC 8985 §6.2 step 5).
    Reordering,
}

impl Sender {
    /// A sender of `size` bytes, at least one.
    pub fn new(params: &Params, cc: &Config, at: Endpoint, size: Bytes) -> Self {
        Self::on(Connection::new(params, cc, at), params, size)
    }

    /// The flow begins.
    pub fn start(&mut self, params: &Params, now: Time) {
        if params.handshake {
            self.phase = Phase::Opening { attempts: 0, sent_at: now, due: true };
        }
    }

    /// It begins with a handshake that is not over.
    pub fn is_opening(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Everything has been acknowledged.
    pub fn is_complete(&self) -> bool {
        self.board.una() == self.size
    }

    /// Outstanding data, as reductions see it.
    #[inline]
    fn flight(&self, params: &Params) -> Flight {
        let inflight = self.inflight();
        if params.reduce_window {
            return Flight { reduced: self.limit.cwnd, spread: self.limit.cwnd, inflight };
        }
        Flight { reduced: self.flight_size(), spread: inflight, inflight }
    }

    /// The window and pacing rate in force.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Payload on its way, that of a burst in the network card included.
    pub fn inflight(&self) -> Bytes {
        self.board.inflight() + self.in_card()
    }

    /// Payload of a burst that has begun and not left.
    #[inline]
    fn in_card(&self) -> Bytes {
        match u64::from(self.bursts.left) {
            0 => Bytes::ZERO,
            left => (self.mss * left).min(Bytes::new(self.size - self.board.next())),
        }
    }

    /// End of what was sent and of what the network card has (SND.NXT).
    fn handed_over(&self) -> u64 {
        self.board.next() + self.in_card().get()
    }

    /// Payload of this flow delivered, in or out of order.
    pub fn delivered(&self) -> Bytes {
        self.delivery.delivered() - self.delivered_before
    }

    /// Payload that earlier flows of the connection delivered.
    pub fn delivered_before(&self) -> Bytes {
        self.delivered_before
    }

    /// The flow began on a connection that had carried others.
    pub fn is_again(&self) -> bool {
        self.delivered_before > Bytes::ZERO
    }

    /// Payload the connection has sent, repetitions included.
    fn sent(&self) -> Bytes {
        Bytes::new(self.board.next()) + self.sent_besides
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Span {
        self.rtt.srtt()
    }

    /// Smallest round-trip time, and mean deviation (RFC 6298); none before the first sample.
    pub fn rtt_range(&self) -> Option<(Span, Span)> {
        self.rtt.has_sample().then(|| (self.rtt.min(), self.rtt.variation()))
    }

    /// Its present repair.
    pub fn repairing(&self) -> Repairing {
        match self.repair {
            Repair::None => Repairing::Nothing,
            Repair::Fast { .. } => Repairing::Loss,
            Repair::Timeout { .. } => Repairing::Timeout,
        }
    }

    /// State of its congestion control besides the limit ([`Controller::inside`]).
    pub fn inside(&self, report: &mut Reporter<'_>) {
        self.cc.inside(report);
    }

    /// Its counts so far.
    pub fn stats(&self) -> Stats {
        let counts = self.troubles.as_ref().map_or_else(Stats::default, |troubles| troubles.counts);
        let injected = (self.injected < Time::NEVER).then_some(self.injected);
        Stats { marked: self.marked, injected, ..counts }
    }

    fn troubles(&mut self) -> &mut Troubles {
        self.troubles.get_or_insert_default()
    }

    /// When to call [`on_timer`](Sender::on_timer).
    pub fn next_timer(&self) -> Time {
        self.timer.at
    }

    /// Both ends have room for everything up to `end`.
    #[inline]
    fn has_room(&self, end: u64) -> bool {
        end - self.board.una() <= self.most && end <= self.edge
    }

    /// FlightSize of RFC 5681 §2.
    fn flight_size(&self) -> Bytes {
        Bytes::new(self.handed_over() - self.board.una())
    }
}
