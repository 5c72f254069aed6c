//! Congestion control: how much may be in flight, and how fast it may leave.
//!
//! A [`Controller`] receives digested facts from its transport and answers with a [`Limit`]. It does not read clocks,
//! schedule packets, count rounds or detect losses; the transport does that once for all algorithms.
//!
//! Each algorithm is one file here plus one line in [`registry`]; the registry makes the enum that is dispatched by
//! `match`, the configuration type and the list of names. Controls that are not built in come through [`custom`].

use crate::rdma::Credits;
use crate::telemetry::Telemetry;
use crate::units::{BitRate, Bytes, Span, Time};

pub mod bbr;
pub mod bbr3;
pub mod copa;
pub mod cubic;
pub mod custom;
mod datagrams;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod gemini;
pub mod hpcc;
mod inside;
pub mod kernel;
pub mod nscc;
pub mod parts;
mod pcc;
pub mod pcc_allegro;
pub mod pcc_vivace;
pub mod powertcp;
pub mod prague;
pub mod rackcc;
mod ranges;
pub mod rccc;
pub mod registry;
pub mod reno;
pub mod swift;
pub mod theta_powertcp;
pub mod timely;
pub mod uno;
pub mod vegas;

#[cfg(test)]
mod conformance;

pub use datagrams::DatagramController;
pub use inside::{Described, Inside, Reporter};
pub use ranges::{OutOfRange, Range, Ranges};
pub use registry::{Cc, Config, DatagramCc};

/// A congestion control algorithm at work on one connection.
///
/// Three methods are every algorithm's, four are for those that need them.
pub trait Controller {
    /// An acknowledgment arrived.
    fn on_ack(&mut self, ack: &Ack);

    /// The network was congested. Called at most once per round for losses and for marks.
    fn on_congestion(&mut self, now: Time, event: Congestion);

    /// Limit on the connection until the next call of another method.
    fn limit(&self) -> Limit;

    /// A flow begins on a connection that has sent nothing for `idle`; called before its first packet. If `restart` is
    /// given, so much time has passed that the window says little of the path: it should not exceed this (RFC 5681 §4.1).
    fn on_idle(&mut self, now: Time, idle: Span, restart: Option<Bytes>) {
        let _ = (now, idle, restart);
    }

    /// Something that only some algorithms care about happened: see [`Signal`]. Those that need none of it leave this out.
    #[inline]
    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        let _ = (now, signal);
    }

    /// Payload of a full segment from now on, if the control chooses it. Only with [`Ecn::Counted`].
    fn segment(&self) -> Option<Bytes> {
        None
    }

    /// When to signal [`Signal::Timer`]. Only over [RDMA](crate::rdma).
    #[inline]
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Reports by name what it keeps besides the limit, for observers: `alpha`, `ssthresh_bytes`, `mode`. At most
    /// [`MOST_INSIDE`] names.
    fn inside(&self, report: &mut Reporter<'_>) {
        let _ = report;
    }
}

/// As many values [a controller reports](Controller::inside) at most; further ones are not recorded.
pub const MOST_INSIDE: usize = 16;

/// A fact for some algorithms only, because of what they read or of their transport.
///
/// More may follow: match those you need, and the rest with `_`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Signal<'a> {
    /// The handshake took so long; before any acknowledgment of data, and not if it was repeated or there is none.
    Handshake {
        /// Its round-trip time.
        rtt: Span,
    },
    /// An earlier connection to the same host ended with this slow start threshold; before the first packet.
    Remembered {
        /// Slow start ends here.
        ssthresh: Bytes,
    },
    /// A packet was sent. Only over [RDMA](crate::rdma).
    Sent {
        /// Bytes on the wire.
        size: Bytes,
    },
    /// The time of [`next_timer`](Controller::next_timer) has come. Only over [RDMA](crate::rdma).
    Timer,
    /// A congestion notification packet arrived. Only with [`Ecn::Cnp`].
    Cnp,
    /// Telemetry that switches wrote into the packet that the next acknowledgment answers. Only with
    /// [`TELEMETRY`](Algorithm::TELEMETRY).
    Telemetry(&'a Telemetry),
    /// A segment was given up as lost; before [`on_congestion`](Controller::on_congestion) and the acknowledgment that proves it. Not
    /// over [RDMA](crate::rdma).
    Lost(LostSegment),
    /// The switch of its rack or its destination reported. Only with [`NEEDS_RACK`](Algorithm::NEEDS_RACK).
    Rack(rackcc::Advice<'a>),
    /// A packet arrived without its payload, which a switch had trimmed. Only over [RDMA](crate::rdma) that accepts any order.
    Trimmed {
        /// Bytes on the wire that it had before, as in [`Sent`](Signal::Sent).
        size: Bytes,
        /// From when it was sent until the sender is notified.
        rtt: Span,
        /// It was trimmed in front of the last link, that to the receiver.
        at_last_hop: bool,
    },
}

/// Properties of an algorithm that the registry needs besides its behavior.
pub trait Algorithm: Controller + Sized {
    /// Its settings, as they stand in a scenario.
    type Params: Default;

    /// One line for lists.
    const SUMMARY: &'static str;
    /// Where it is defined.
    const SOURCE: &'static str;
    /// It reads delays or rates: its window may fall without a loss or a mark.
    const READS_DELAY: bool = false;
    /// The receiver must acknowledge every segment at once: it takes each wait of an acknowledgment for delay of the network.
    const WANTS_EVERY_ACK: bool = false;
    /// It needs [signals](Signal) that only the [RDMA](crate::rdma) transport sends.
    const NEEDS_RDMA: bool = false;
    /// Its packets collect [telemetry](crate::telemetry) of switches. Only over [RDMA](crate::rdma).
    const TELEMETRY: bool = false;
    /// State that its controllers [report](Controller::inside).
    const INSIDE: Described = &[];
    /// It shares its state with all connections between two racks, through the switch of its rack.
    const NEEDS_RACK: bool = false;

    /// A controller for a new connection.
    fn new(params: &Self::Params, path: &Path) -> Self;

    /// Use of congestion marks by its connections.
    fn ecn(params: &Self::Params) -> Ecn;

    /// Its packets say ECT(1) by themselves: it is scalable (RFC 9331 §4.1).
    fn is_l4s(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// The longest burst of its connections, as time at their rate, if it limits them.
    fn burst(params: &Self::Params) -> Option<Span> {
        let _ = params;
        None
    }

    /// Credits of receivers that its connections need besides its limit.
    fn credits(params: &Self::Params) -> Option<Credits> {
        let _ = params;
        None
    }

    /// Declares and checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    fn check(params: &Self::Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let _ = (params, ranges);
        Ok(())
    }

    /// Writes out settings that were left out, unless they depend on the path.
    fn complete(params: &mut Self::Params) {
        let _ = params;
    }
}

/// Properties of its connection that an algorithm learns before the first packet.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Window before the first acknowledgment.
    pub initial_window: Bytes,
    /// A full segment on the wire, headers and framing included.
    pub packet: Bytes,
    /// Rate of the sender's own link.
    pub link: BitRate,
    /// Where its random choices begin; another for every connection.
    pub seed: u64,
    /// The transport paces the window: acknowledgments of a round come spread over it.
    pub paced: bool,
    /// So many segments may be acknowledged at once because the receiver merges what arrives together; 1 if it does not.
    pub merged: u64,
    /// Bursts that leave at once; none if each segment leaves alone.
    pub offload: Option<Offload>,
    /// Feedback of marks that the receiver has.
    pub peer_ecn: PeerEcn,
}

/// Feedback of marks that a receiver has, as the handshake finds out (RFC 9768 §3.1).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PeerEcn {
    /// Whatever the control needs.
    #[default]
    Accurate,
    /// That of RFC 3168: a mark is repeated until the sender says it has reduced its window.
    Classic,
    /// None.
    Off,
}

/// Bursts of a host with segmentation offload: as much as takes `within` at the rate of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Segments of a burst at a low rate.
    pub least: u64,
    /// Most payload of a burst.
    pub most: Bytes,
    /// A burst takes so long.
    pub within: Span,
}

impl Offload {
    /// Segments of a burst at this rate of payload.
    pub fn segments(&self, payload: BitRate, mss: Bytes) -> u64 {
        self.segments_of((payload * self.within).get(), mss)
    }

    /// Segments of a burst of `bytes`, within its bounds.
    pub(crate) fn segments_of(&self, bytes: u64, mss: Bytes) -> u64 {
        (bytes.min(self.most.get()) / mss.get()).max(self.least)
    }
}

impl Path {
    /// The rate of payload of full segments that have this rate on the wire.
    pub fn payload(&self, on_wire: BitRate) -> BitRate {
        on_wire.scaled(self.mss.as_f64() / self.packet.as_f64())
    }

    /// Segments that offload lets leave in one piece at this pacing rate, if bursts leave at once.
    pub(crate) fn burst(&self, pacing: Option<BitRate>) -> Option<u64> {
        let offload = self.offload?;
        Some(pacing.map_or(offload.least, |rate| offload.segments(self.payload(rate), self.mss)))
    }

    /// The rate on the wire at which full segments carry `payload` bits per second.
    pub fn on_wire(&self, payload: BitRate) -> BitRate {
        payload.scaled(self.packet.as_f64() / self.mss.as_f64())
    }
}

/// Use of congestion marks by a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Packets say they cannot be marked.
    Off,
    /// The receiver repeats a mark until the sender says it has reduced its window (RFC 3168 §6.1).
    Classic,
    /// The receiver reports which bytes were marked (RFC 8257 §3.2).
    Accurate,
    /// The receiver counts the packets that arrive marked (accurate ECN feedback, RFC 9768).
    Counted,
    /// The receiver answers marks with congestion notification packets (RoCEv2, DCQCN).
    Cnp,
}

impl Ecn {
    /// The controller is notified of every mark, not only once in a round.
    pub fn is_accurate(self) -> bool {
        matches!(self, Self::Accurate | Self::Counted)
    }
}

/// One acknowledgment, digested.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Round-trip time of the segment sent last among those acknowledged here; none if it had been sent twice.
    pub rtt: Option<Span>,
    /// Time since that segment was sent last: the round-trip time that a timestamp echoes. Too short where the answer is to an earlier
    /// sending.
    pub since_sent: Span,
    /// Smoothed round-trip time, including this sample.
    pub srtt: Span,
    /// Payload known for the first time to have arrived, in or out of order.
    pub acked: Bytes,
    /// The part of `acked` that was reported as marked.
    pub marked: Bytes,
    /// Payload still on its way after this acknowledgment.
    pub inflight: Bytes,
    /// Payload that was on its way before it.
    pub inflight_before: Bytes,
    /// Payload sent since the connection began, repetitions included.
    pub sent: Bytes,
    /// Payload delivered since the connection began, including `acked`.
    pub delivered: Bytes,
    /// Payload given up as lost since the connection began, needlessly or not.
    pub lost: Bytes,
    /// Latest sample of the delivery rate.
    pub delivery: DeliverySample,
    /// This is the first acknowledgment of data sent after the previous one with `round_start`.
    pub round_start: bool,
    /// The window stopped the sender at least once in this round or the one before. If not, the window did not
    /// matter and must not grow.
    pub cwnd_limited: bool,
    /// The window must not grow: a lost segment is being repaired, or this acknowledgment echoes a mark as RFC 3168 has
    /// it (§6.1.2).
    pub in_recovery: bool,
}

/// Delivery rate over the flight of one segment (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliverySample {
    /// Payload delivered while the segment was on its way.
    pub delivered: Bytes,
    /// The longer of the times it took to send and to acknowledge it; zero if there is no sample, or one that is shorter
    /// than any round trip and so the work of reordered acknowledgments.
    pub interval: Span,
    /// The sender had nothing more to send at some time of the flight, so the path may be faster than this.
    pub app_limited: bool,
    /// Payload on its way when the segment was sent, its own included.
    pub inflight: Bytes,
    /// Payload given up as lost since it was sent.
    pub lost: Bytes,
}

impl DeliverySample {
    /// The sample as a rate, rounded down; none without a sample.
    pub fn rate(&self) -> Option<BitRate> {
        (self.interval > Span::ZERO).then(|| BitRate::per(self.delivered, self.interval))
    }
}

/// A segment that was given up as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its first byte.
    pub first: u64,
    /// Its payload.
    pub size: Bytes,
    /// Payload on its way when it was sent, its own included.
    pub inflight: Bytes,
    /// Payload given up as lost since it was sent, its own included.
    pub lost: Bytes,
    /// The sender had nothing more to send at some time of its flight.
    pub app_limited: bool,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A segment was lost; once per recovery (RFC 5681 §3.2).
    Loss {
        /// Payload sent and not acknowledged cumulatively, just before the loss was noticed (RFC 5681 §2).
        flight_size: Bytes,
    },
    /// A mark was echoed; only with [`Ecn::Classic`], and once per window, losses included (RFC 3168 §6.1.2).
    Mark {
        /// Payload sent and not acknowledged cumulatively.
        flight_size: Bytes,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Payload sent and not acknowledged cumulatively.
        flight_size: Bytes,
        /// The timer had expired for the same segment before.
        repeated: bool,
    },
    /// The last loss or timeout was none: everything retransmitted had already arrived.
    Spurious,
}

/// Window and pacing rate that limit a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Payload that may be on its way.
    pub cwnd: Bytes,
    /// Rate at which packets may leave, headers included; as fast as the window allows if empty.
    pub pacing: Option<BitRate>,
}

impl Limit {
    /// Limits the window alone.
    pub const fn window(cwnd: Bytes) -> Self {
        Self { cwnd, pacing: None }
    }
}
