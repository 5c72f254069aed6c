//! Datagrams like UDP's: sent at a rate while a burst lasts, never acknowledged, never retransmitted. As a subflow of a JumboFlow
//! (RackCC) a source also keeps to its share.

use crate::cc::{self, DatagramCc, DatagramController, OutOfRange, Ranges, Signal};
use crate::stream::{Endpoint, Poll, Segment};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of a datagram source.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Datagram")]
pub struct Params {
    /// Payload of one datagram.
    pub payload: Bytes,
    /// The part of every packet that is not payload: 20 B IPv4, 8 B UDP.
    pub headers: Bytes,
    /// Bytes that the link adds to every packet: Ethernet header and checksum 18 B, preamble and gap 20 B.
    pub framing: Bytes,
    /// Smallest packet on the wire, framing included: a 64 B frame, preamble and gap.
    pub min_packet: Bytes,
    /// Bytes that may wait in the host for its link; more is dropped there, the oldest first.
    pub socket_buffer: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            payload: Bytes::new(1472),
            headers: Bytes::new(28),
            framing: Bytes::new(38),
            min_packet: Bytes::new(84),
            socket_buffer: Bytes::new(212_992), // Linux net.core.wmem_default
        }
    }
}

impl Params {
    /// Size of a datagram on the wire.
    pub fn packet_size(&self) -> Bytes {
        (self.payload + self.headers + self.framing).max(self.min_packet)
    }

    /// As congestion controls know a source. Datagrams per round trip with which it begins are like the initial window of streams
    /// (RFC 6928 §2).
    pub fn path(&self, at: Endpoint) -> cc::Path {
        let (mss, packet) = (self.payload, self.packet_size());
        let initial_window = mss * 10;
        cc::Path {
            mss,
            initial_window,
            packet,
            link: at.link,
            seed: at.seed,
            paced: true,
            merged: 1,
            offload: None,
            peer_ecn: cc::PeerEcn::Accurate,
        }
    }

    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let (payload, largest) = (self.payload, Bytes::new(u16::MAX.into()));
        ranges.unless(payload > Bytes::ZERO, "payload", payload, "more than 0 B")?;
        let whole = payload.saturating_add(self.headers).saturating_add(self.framing).max(self.min_packet);
        ranges.unless(
            whole <= largest,
            "payload",
            payload,
            "at most 65 535 B together with headers and framing",
        )?;
        let buffer = self.socket_buffer;
        ranges.unless(buffer >= whole, "socket_buffer", buffer, "room for at least one datagram")
    }
}

/// A source that sends at a rate while a burst lasts.
#[derive(Clone, Debug)]
pub struct Source {
    payload: u32,
    /// Time between two datagrams at the rate of the burst.
    gap: Span,
    /// Number of datagrams that may wait.
    room: u64,
    /// When the next datagram is made; none once that is at or after the end.
    next: Time,
    end: Time,
    /// Datagrams of earlier bursts that still wait.
    backlog: u64,
    sent: u64,
    dropped: u64,
    /// Its congestion control, if it has one.
    cc: Option<Box<DatagramCc>>,
}

impl Source {
    /// A silent source that will send at `rate`, headers included, and no faster than its control allows.
    ///
    /// # Panics
    /// If the rate is outside the range of [`WireTime`].
    pub fn new(params: &Params, rate: BitRate, cc: Option<DatagramCc>) -> Self {
        assert!(rate >= WireTime::MIN_RATE, "a source needs a rate, not {rate}");
        let size = params.packet_size();
        Self {
            payload: params.payload.get() as u32,
            gap: rate.time_to_send(size),
            room: (params.socket_buffer.get() / size.get()).max(1),
            next: Time::NEVER,
            end: Time::ZERO,
            backlog: 0,
            sent: 0,
            dropped: 0,
            cc: cc.map(Box::new),
        }
    }

    /// A mechanism of switches and hosts has reported.
    pub fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        if let Some(cc) = &mut self.cc {
            cc.on_signal(now, signal);
        }
    }

    /// Its destination has echoed all datagrams below `number` that arrived.
    pub fn on_echo(&mut self, now: Time, number: u64) {
        if let Some(cc) = &mut self.cc {
            cc.on_echo(now, number);
        }
    }

    /// Nothing waits, and no burst goes on.
    pub fn is_silent(&self) -> bool {
        self.backlog == 0 && self.next >= self.end
    }

    /// It was silent: what its control knew of the path counts no more.
    pub fn restart(&mut self) {
        if let Some(cc) = &mut self.cc {
            cc.restart();
        }
    }

    /// Makes datagrams from `from` until before `end`. What waits of the burst before goes on waiting.
    pub fn burst(&mut self, from: Time, end: Time) {
        self.backlog += self.made(from);
        self.next = from;
        self.end = end;
    }

    /// Datagrams of this burst that have been made by `now` and wait.
    fn made(&self, now: Time) -> u64 {
        if self.next >= self.end || self.next > now {
            return 0;
        }
        let last = now.min(Time::from_ps(self.end.as_ps() - 1));
        last.saturating_since(self.next).as_ps() / self.gap.as_ps() + 1
    }

    /// Datagrams handed to the link, and dropped in the host because the link was too slow.
    pub fn counts(&self) -> (u64, u64) {
        (self.sent, self.dropped)
    }

    /// Segment to send at `now`, or when to ask again. Its sequence number counts datagrams.
    pub fn poll_transmit(&mut self, now: Time) -> Poll {
        let waiting = self.backlog + self.made(now);
        if waiting == 0 {
            return if self.next < self.end { Poll::At(self.next) } else { Poll::Blocked };
        }
        if let Some(cc) = &mut self.cc
            && let Some(at) = cc.wait(now, self.sent)
        {
            return Poll::At(at);
        }
        // The oldest are dropped, then the oldest is sent.
        let excess = waiting.saturating_sub(self.room);
        self.dropped += excess;
        let old = self.backlog.min(excess + 1);
        self.backlog -= old;
        self.next += self.gap * (excess + 1 - old);
        self.sent += 1;
        if let Some(cc) = &mut self.cc {
            cc.on_sent(now, self.sent - 1);
        }
        Poll::Send(Segment { seq: self.sent - 1, len: self.payload, ..Segment::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// 1538 B at 1.538 Gb/s: one datagram each 8 us.
    fn source() -> Source {
        let mut source = Source::new(&Params::default(), BitRate::from_mbps(1_538), None);
        source.burst(at(0), at(800));
        source
    }

    #[test]
    fn a_burst_is_sent_at_its_rate() {
        let mut source = source();
        let mut sent = Vec::new();
        let mut now = Time::ZERO;
        loop {
            match source.poll_transmit(now) {
                Poll::Send(_) => sent.push(now),
                Poll::At(at) => now = at,
                Poll::Blocked => break,
            }
        }
        assert_eq!(sent.len(), 100);
        assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == Span::from_us(8)));
    }

    #[test]
    fn a_slow_link_makes_the_source_drop_what_has_no_room() {
        let params = Params { socket_buffer: Bytes::new(1538 * 4), ..Params::default() };
        let mut source = Source::new(&params, BitRate::from_mbps(1_538), None);
        source.burst(at(0), at(800));
        source.poll_transmit(at(0));
        // Datagrams 1 to 10 have been made; the last 4 still wait.
        source.poll_transmit(at(80));
        assert_eq!(source.counts(), (2, 6));
        assert!(matches!(source.poll_transmit(at(80)), Poll::Send(_)));
    }

    #[test]
    fn what_waits_of_a_burst_is_sent_after_the_next_has_begun() {
        let mut source = source();
        source.burst(at(800), at(816));
        // 100 datagrams of the first burst and one of the second wait; none is forgotten.
        let sent = std::iter::repeat_with(|| source.poll_transmit(at(800)));
        assert_eq!(sent.take_while(|poll| matches!(poll, Poll::Send(_))).count(), 101);
        assert_eq!(source.poll_transmit(at(800)), Poll::At(at(808)));
        assert_eq!(source.counts(), (101, 0));
    }

    #[test]
    fn a_silent_source_is_blocked() {
        let mut source = Source::new(&Params::default(), BitRate::from_gbps(1), None);
        assert_eq!(source.poll_transmit(at(5)), Poll::Blocked);
    }
}
