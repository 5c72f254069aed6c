//! The sending half of a connection.

use std::collections::VecDeque;
use std::ops::Range;

use super::credits::Requester;
use super::gaps::Gaps;
use super::params::{Params, Recovery};
use super::spread::Spread;
use super::wire::AckFrame;
use crate::cc::{Ack, Cc, Config, Congestion, Controller, Ecn, Limit, Reporter, Signal};
use crate::stream::delivery::Delivery;
use crate::stream::rtt::RttEstimator;
use crate::stream::scoreboard::Scoreboard;
use crate::stream::sent::{Sent, State, Tally};
use crate::stream::{Endpoint, Held, Holding, Poll, Repairing, Segment, Stats};
use crate::telemetry::Telemetry;
use crate::units::{Bytes, Span, Time};

/// The sending half of a connection that carries a message, or several one after the other.
///
/// Call [`on_ack`](Sender::on_ack) for every acknowledgment, [`on_telemetry`](Sender::on_telemetry) before it if it brings
/// some, [`on_cnp`](Sender::on_cnp) for every congestion notification
/// packet, [`on_timer`](Sender::on_timer) at [`next_timer`](Sender::next_timer), and
/// [`poll_transmit`](Sender::poll_transmit) whenever the link is free.
///
/// ```text
/// NAK, go-back-N           what is outstanding is lost; retransmitted from the gap on
/// NAK, selective repeat    what was sent once and lies before the packet named is lost
/// any order                see [`Recovery::AnyOrder`]
/// no progress for the RTO  what is outstanding is lost; in any order what was sent an RTO ago
/// ```
/// Differs from Mittal et al. (IRN): after a timeout everything that is missing is retransmitted and not the first packet
/// alone, so that a lost tail costs one timeout.
#[derive(Debug)]
pub struct Sender {
    /// Where the last message ends.
    pub(super) size: u64,
    /// Where those before it end that are not complete.
    ends: VecDeque<u64>,
    pub(super) mtu: Bytes,
    pub(super) cc: Cc,
    ecn: Ecn,
    pub(super) limit: Limit,
    pub(super) board: Scoreboard,
    rtt: RttEstimator,
    delivery: Delivery,
    gaps: Gaps,
    /// Its credit, if receivers grant some.
    pub(super) credits: Option<Box<Requester>>,
    /// Its choice of paths, if it makes one.
    pub(super) spread: Option<Box<Spread>>,
    /// When the retransmission timer expires; never while nothing is outstanding.
    pub(super) rto_at: Time,
    /// Losses of data below belong to one that was noticed.
    pub(super) repair_until: Option<u64>,
    /// First missing byte at the last expiry of the retransmission timer.
    pub(super) timed_out_at: Option<u64>,
    /// Timeouts since there was progress.
    pub(super) timeouts_in_a_row: u8,
    pub(super) has_given_up: bool,
    /// Packets sent since the last that requested an acknowledgment.
    pub(super) since_request: u64,
    /// The window stopped the sender in this round, and in the one before.
    limited: [bool; 2],
    pub(super) stats: Stats,
}

/// Next action of a sender, before it takes it.
pub(super) enum Next {
    New,
    /// The packet with this number again.
    Resend(u64),
    /// A request for credit.
    Request,
    /// Nothing before this time.
    Wait(Time),
    Nothing,
}

impl Sender {
    /// A sender of a message of `size` bytes; with none it waits for messages to be [posted](Sender::post).
    pub fn new(params: &Params, cc: &Config, at: Endpoint, size: Bytes) -> Self {
        let controller = cc.build(&params.path(at));
        Self {
            size: size.get(),
            ends: VecDeque::new(),
            mtu: params.mtu,
            limit: controller.limit(),
            cc: controller,
            ecn: cc.ecn(),
            board: Scoreboard::default(),
            // Of the round-trip time only the mean and the minimum are used.
            rtt: RttEstimator::new(params.timeout(), Span::ZERO, params.timeout()),
            delivery: Delivery::default(),
            gaps: Gaps::default(),
            credits: cc
                .credits()
                .filter(|_| params.recovery == Recovery::AnyOrder)
                .map(|credits| Box::new(Requester::new(&credits, at.link, params.packet_size(params.mtu)))),
            spread: params.paths.as_ref().map(|paths| Box::new(Spread::new(paths, at.seed))),
            rto_at: Time::NEVER,
            repair_until: None,
            timed_out_at: None,
            timeouts_in_a_row: 0,
            has_given_up: false,
            since_request: 0,
            limited: [false; 2],
            stats: Stats::default(),
        }
    }

    /// Another message follows those there are. Returns its bytes.
    pub fn post(&mut self, size: Bytes) -> Range<u64> {
        let start = self.size;
        if self.board.una() < start {
            self.ends.push_back(start);
        }
        self.size =
            start.checked_add(size.get()).expect("messages of a queue pair have fewer than 2^64 bytes");
        start..self.size
    }

    /// Where a message ends that this byte belongs to.
    fn end_of_message(&self, byte: u64) -> u64 {
        self.ends.iter().copied().find(|end| byte < *end).unwrap_or(self.size)
    }

    /// Everything below has been acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.board.una()
    }

    /// Everything has been acknowledged.
    pub fn is_complete(&self) -> bool {
        self.board.una() == self.size
    }

    /// There were too many timeouts in a row: it never sends anything again.
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// The window and pacing rate in force.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Payload on its way.
    pub fn inflight(&self) -> Bytes {
        self.board.inflight()
    }

    /// Payload delivered, in or out of order.
    pub fn delivered(&self) -> Bytes {
        self.delivery.delivered()
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
        match (self.repair_until, self.timed_out_at) {
            (None, _) => Repairing::Nothing,
            (Some(_), Some(first)) if first == self.board.una() => Repairing::Timeout,
            (Some(_), _) => Repairing::Loss,
        }
    }

    /// State of its congestion control besides the limit ([`Controller::inside`]).
    pub fn inside(&self, report: &mut Reporter<'_>) {
        self.cc.inside(report);
    }

    /// Its counts so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// When to call [`on_timer`](Sender::on_timer).
    pub fn next_timer(&self) -> Time {
        self.rto_at.min(self.cc.next_timer())
    }

    /// Segment to send at `now`, or when to ask again.
    pub fn poll_transmit(&mut self, params: &Params, now: Time) -> Poll {
        match self.next(params, now) {
            Next::New => self.send_new(params, now),
            Next::Resend(number) => self.resend(params, now, number),
            Next::Request => self.send_request(params, now),
            Next::Wait(at) => Poll::At(at),
            Next::Nothing => Poll::Blocked,
        }
    }

    /// Something outside of the sender keeps it from sending at `now`, such as a rate it shares with others. Nothing is sent.
    pub fn hold(&mut self, params: &Params, now: Time, holding: Holding) -> Held {
        match self.next(params, now) {
            Next::New | Next::Resend(_) | Next::Request => {
                if holding.app_limited {
                    self.delivery.on_idle(self.board.inflight());
                }
                self.limited[0] |= !holding.validate_window;
                Held::Ready
            }
            Next::Wait(at) => Held::Until(at),
            Next::Nothing => Held::Blocked,
        }
    }

    #[inline(always)]
    fn next(&mut self, params: &Params, now: Time) -> Next {
        debug_assert!(!self.has_given_up, "its host closes it");
        if self.limit.pacing.is_some() && self.gaps.release() > now {
            let has_work = self.board.next() < self.size || self.board.first_lost().is_some();
            return if has_work { Next::Wait(self.gaps.release()) } else { Next::Nothing };
        }
        if self.credits.as_ref().is_some_and(|credits| !credits.may_send()) {
            return self.next_without_credit(params, now);
        }
        let inflight = self.board.inflight();
        if let Some((number, len)) = self.board.first_lost() {
            if self.fits(params, len) {
                return Next::Resend(number);
            }
        } else if self.board.next() < self.size {
            if self.fits(params, self.next_len()) {
                return Next::New;
            }
        } else {
            self.delivery.on_idle(inflight);
            return Next::Nothing;
        }
        self.limited[0] = true;
        Next::Nothing
    }

    fn fits(&self, params: &Params, len: Bytes) -> bool {
        let inflight = self.board.inflight();
        let window = params.window.map_or(self.limit.cwnd, |window| window.min(self.limit.cwnd));
        inflight.saturating_add(len) <= window || inflight == Bytes::ZERO
    }

    fn next_len(&self) -> Bytes {
        let next = self.board.next();
        self.mtu.min(Bytes::new(self.end_of_message(next) - next))
    }

    fn send_new(&mut self, params: &Params, now: Time) -> Poll {
        let len = self.next_len();
        let snapshot = self.delivery.on_send(now, self.board.inflight(), self.board.lost());
        if self.board.is_empty() {
            self.restart_timeout(params, now);
        }
        let seq = self.board.next();
        let end = seq + len.get();
        self.board.push(Sent {
            end,
            len: len.get() as u32,
            state: State::InFlight,
            retransmitted: false,
            repeatedly: false,
            app_limited: self.delivery.is_app_limited(),
            sent_at: now,
            snapshot,
        });
        self.on_sent(params, now, len);
        let (len, fin) = (len.get() as u32, end == self.end_of_message(seq));
        if fin {
            self.stats.injected = Some(now);
        }
        Poll::Send(Segment {
            seq,
            len,
            fin,
            requests_ack: self.requests_ack(params, fin),
            entropy: self.entropy(now, seq),
            ..Segment::default()
        })
    }

    fn resend(&mut self, params: &Params, now: Time, number: u64) -> Poll {
        let snapshot = self.delivery.on_send(now, self.board.inflight(), self.board.lost());
        if self.board.is_first(number) {
            // What the timer waits for is on its way again.
            self.restart_timeout(params, now);
        }
        let sent = self.board.repeat(number, now, snapshot, self.delivery.is_app_limited());
        self.stats.retransmissions += 1;
        self.stats.retransmitted += sent.bytes();
        self.on_sent(params, now, sent.bytes());
        let seq = sent.end - u64::from(sent.len);
        let fin = sent.end == self.end_of_message(seq);
        let requests_ack = self.requests_ack(params, fin || params.recovery == Recovery::AnyOrder);
        Poll::Send(Segment {
            seq,
            len: sent.len,
            fin,
            requests_ack,
            retransmission: true,
            entropy: self.entropy(now, seq),
            ..Segment::default()
        })
    }

    /// Whether the packet just sent requests an acknowledgment: each so many, the last of the flow, and the last the window
    /// lets out.
    fn requests_ack(&mut self, params: &Params, fin: bool) -> bool {
        self.since_request += 1;
        let requests = self.since_request >= params.ack_every || fin || !self.fits(params, self.mtu);
        if requests {
            self.since_request = 0;
        }
        requests
    }

    fn on_sent(&mut self, params: &Params, now: Time, len: Bytes) {
        let size = params.packet_size(len);
        if let Some(rate) = self.limit.pacing {
            self.gaps.on_sent(params.gap, now, rate, size);
        }
        if let Some(credits) = &mut self.credits {
            credits.on_sent(size);
        }
        self.cc.on_signal(now, &Signal::Sent { size });
        self.limit = self.cc.limit();
    }

    /// An acknowledgment arrived.
    pub fn on_ack(&mut self, params: &Params, now: Time, frame: &AckFrame) {
        if let Some(credits) = &mut self.credits {
            credits.on_feedback();
        }
        let una_before = self.board.una();
        // In any order acknowledgments overtake each other, too.
        if frame.ack < una_before && params.recovery != Recovery::AnyOrder {
            return;
        }
        let (size_before, inflight_before) = (self.flight_size(), self.board.inflight());
        let mut tally = Tally::new(now, self.rtt.min());
        if frame.ack > una_before {
            self.board.acknowledge(frame.ack, &mut tally);
            self.timeouts_in_a_row = 0;
            while self.ends.front().is_some_and(|end| *end <= frame.ack) {
                self.ends.pop_front();
            }
            self.restart_timeout(params, now);
        }
        let lost = match (frame.nak, params.recovery) {
            (_, Recovery::AnyOrder) => self.take_selective(params, now, frame, &mut tally),
            (None, _) => Bytes::ZERO,
            (Some(_), Recovery::GoBackN) => self.board.lose_all(),
            (Some(named), Recovery::SelectiveRepeat) => {
                let end = named.saturating_add(self.mtu.get()).min(self.size);
                self.board.sack(named..end, &mut tally);
                self.board.lose_below(named)
            }
        };
        if let Some(sent_at) = tally.oldest_once {
            self.rtt.add(now.saturating_since(sent_at));
        }
        self.notice(now, frame, lost, size_before);
        if let Some(newest) = tally.newest {
            self.digest(now, frame, &tally, &newest, inflight_before);
        }
        let before = std::mem::replace(&mut self.limit, self.cc.limit());
        self.gaps.on_rate(params.gap, before.pacing, self.limit.pacing);
        // With credits the timer also waits for a grant.
        if self.board.is_empty() && (self.credits.is_none() || self.is_complete()) {
            self.rto_at = Time::NEVER;
        }
    }

    /// Notifies the controller of losses and marks, once for each repair.
    fn notice(&mut self, now: Time, frame: &AckFrame, lost: Bytes, size_before: Bytes) {
        if self.repair_until.is_some_and(|until| self.board.una() >= until) {
            self.repair_until = None;
        }
        if lost > Bytes::ZERO && self.repair_until.is_none() {
            self.stats.recoveries += 1;
            self.repair_until = Some(self.board.next());
            self.cc.on_congestion(now, Congestion::Loss { flight_size: size_before });
        } else if frame.ece && self.ecn == Ecn::Classic && self.repair_until.is_none() {
            // Further marks on what was sent before are signs of the same congestion.
            self.stats.marked += self.mtu;
            self.repair_until = Some(self.board.next());
            self.cc.on_congestion(now, Congestion::Mark { flight_size: size_before });
        }
    }

    /// Reports to the controller what was delivered.
    fn digest(&mut self, now: Time, frame: &AckFrame, tally: &Tally, newest: &Sent, inflight_before: Bytes) {
        let (since_sent, lost) = (now.saturating_since(newest.sent_at), self.board.lost());
        let (delivery, round_start) = self.delivery.on_ack(now, tally.acked, newest, self.rtt.min(), lost);
        if round_start {
            self.limited = [false, self.limited[0]];
        }
        let marked = if frame.ece && self.ecn.is_accurate() { tally.acked } else { Bytes::ZERO };
        self.stats.marked += marked;
        // One that answers the second transmission says so.
        let is_clear = !newest.retransmitted || (frame.selective.again && !newest.repeatedly);
        self.cc.on_ack(&Ack {
            now,
            rtt: is_clear.then_some(since_sent),
            since_sent,
            srtt: self.rtt.srtt(),
            acked: tally.acked,
            marked,
            inflight: self.board.inflight(),
            inflight_before,
            sent: Bytes::new(self.board.next()) + self.stats.retransmitted,
            delivered: self.delivery.delivered(),
            lost,
            delivery,
            round_start,
            cwnd_limited: self.limited[0] || self.limited[1],
            in_recovery: self.repair_until.is_some(),
        });
    }

    /// Telemetry that switches wrote into the packet that the next acknowledgment answers.
    pub fn on_telemetry(&mut self, now: Time, telemetry: &Telemetry) {
        self.cc.on_signal(now, &Signal::Telemetry(telemetry));
    }

    /// A congestion notification packet arrived.
    pub fn on_cnp(&mut self, now: Time) {
        self.stats.cnps += 1;
        self.on_signal(now, &Signal::Cnp);
    }

    /// A mechanism of switches and hosts has reported.
    pub fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        self.cc.on_signal(now, signal);
        self.limit = self.cc.limit();
    }

    /// Payload sent and not acknowledged cumulatively.
    pub(super) fn flight_size(&self) -> Bytes {
        Bytes::new(self.board.next() - self.board.una())
    }
}
