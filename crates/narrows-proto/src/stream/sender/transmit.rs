//! Choice of what is sent next: the SYN, a probe, what was lost, or new data, as far as the window and the pacing rate allow.

use super::{Phase, Poll, Probe, Repair, Sender, Timer, TimerKind};
use crate::stream::params::Params;
use crate::stream::segmentation::{Cut, Handed, Pace, Room, Segmentation};
use crate::stream::sent::{Sent, State};
use crate::stream::wire::Segment;
use crate::units::{BitRate, Bytes, Span, Time};

/// Next action of a sender, before it takes it.
enum Next {
    /// A SYN; so many have been sent.
    Syn(u32),
    Probe,
    /// The segment with this number again.
    Resend(u64),
    New,
    /// New data, the first of a burst of so many segments.
    Burst(u32),
    /// Nothing before this time.
    Wait(Time),
    Nothing,
}

/// Next action of a sender that something outside of it holds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Send something at once.
    Ready,
    /// Ask again then.
    Until(Time),
    /// Nothing until an acknowledgment or a timer changes that.
    Blocked,
}

/// Settings of a connection while something outside of it holds it up.
#[derive(Clone, Copy, Debug)]
pub struct Holding {
    /// Samples of what is sent from now on are application-limited, as if there had been nothing to send.
    pub app_limited: bool,
    /// The window does not count as used up.
    pub validate_window: bool,
}

impl Sender {
    /// Segment to send at `now`, or when to ask again.
    pub fn poll_transmit(&mut self, params: &Params, now: Time) -> Poll {
        match self.next(params, now) {
            Next::New => self.send_new(params, now),
            Next::Burst(segments) => self.begin_burst(params, now, segments),
            Next::Resend(number) => self.resend(params, now, number),
            Next::Probe => self.send_probe(params, now),
            Next::Syn(attempts) => self.open(params, now, attempts),
            Next::Wait(at) => Poll::At(at),
            Next::Nothing => Poll::Blocked,
        }
    }

    /// Something outside of the connection keeps it from sending at `now`, such as a rate it shares with others. Nothing is
    /// sent.
    pub fn hold(&mut self, params: &Params, now: Time, holding: Holding) -> Held {
        match self.next(params, now) {
            Next::New | Next::Burst(_) | Next::Resend(_) | Next::Probe | Next::Syn(_) => {
                if holding.app_limited {
                    self.delivery.on_idle(self.inflight());
                }
                self.limited[0] |= !holding.validate_window;
                Held::Ready
            }
            Next::Wait(at) => Held::Until(at),
            Next::Nothing => Held::Blocked,
        }
    }

    /// Next action, as far as the connection goes. Notes why there is none: everything was sent, or the window is full.
    #[inline(always)]
    fn next(&mut self, params: &Params, now: Time) -> Next {
        if let Phase::Opening { attempts, due, .. } = self.phase {
            return if due { Next::Syn(attempts) } else { Next::Nothing };
        }
        if self.bursts.left > 0 {
            return Next::New; // the network card has it
        }
        if self.limit.pacing.is_some() && self.pacer.release() > now {
            return if self.has_work() { Next::Wait(self.pacer.release()) } else { Next::Nothing };
        }
        if self.probe == Probe::Due {
            return Next::Probe;
        }
        let inflight = self.board.inflight();
        let window = self.prr.as_ref().map_or(self.limit.cwnd, |prr| prr.window(inflight));
        let fits = |len: Bytes| inflight + len <= window || inflight == Bytes::ZERO;
        if let Some((number, lost)) = self.board.first_lost() {
            if fits(lost) {
                return Next::Resend(number);
            }
        } else if self.board.next() < self.size {
            let len = self.next_len();
            if !self.has_room(self.board.next() + len.get()) {
                // The window would not be used up, so it does not grow (RFC 7661 §4.1).
                self.on_no_room(params, inflight);
                return Next::Nothing;
            }
            if fits(len) {
                return params
                    .segmentation
                    .as_ref()
                    .map_or(Next::New, |settings| self.next_burst(settings, params, now, window));
            }
        } else {
            self.delivery.on_idle(inflight);
            return Next::Nothing;
        }
        self.limited[0] = true;
        Next::Nothing
    }

    /// The burst that may begin, of which one segment fits into `window`.
    #[inline(never)]
    fn next_burst(&mut self, settings: &Segmentation, params: &Params, now: Time, window: Bytes) -> Next {
        let room = Room {
            next: self.board.next(),
            unsent: self.written(params),
            window,
            inflight: self.board.inflight(),
            receiver: params
                .receive_window
                .map_or(Bytes::MAX, |all| all.saturating_sub(self.flight_size()))
                .min(Bytes::new(self.edge.saturating_sub(self.board.next()))),
            repairs: self.repair != Repair::None,
            oldest_sent_at: self.board.first().map(|first| first.sent_at),
            release: self.pacer.release(),
        };
        let pace = self.pace(params);
        match self.bursts.cut(settings, &pace, now, &room) {
            Cut::Segments(segments) => Next::Burst(segments),
            Cut::Window => {
                self.limited[0] = true;
                Next::Nothing
            }
            Cut::Receiver => Next::Nothing,
        }
    }

    /// Bytes that the application has written and the sender has not sent: its data, as far as the send buffer has room for it.
    fn written(&self, params: &Params) -> Bytes {
        let unsent = Bytes::new(self.size - self.board.next());
        let room = params.send_buffer.unwrap_or(Bytes::MAX).saturating_sub(self.flight_size());
        // Of what does not fit, whole segments.
        if unsent <= room { unsent } else { self.mss * (room.get() / self.mss.get()) }
    }

    /// One of the ends has no room for the next segment. If it is this one, the application cannot write, and nothing is left to send.
    #[cold]
    fn on_no_room(&mut self, params: &Params, inflight: Bytes) {
        if self.written(params) == Bytes::ZERO {
            self.delivery.on_idle(inflight);
        }
    }

    /// The last burst that was handed over.
    #[inline]
    pub fn handed(&self, params: &Params) -> Handed {
        self.bursts.handed(&self.pace(params))
    }

    fn pace(&self, params: &Params) -> Pace {
        Pace {
            mss: self.mss,
            packet: params.packet_size(self.mss),
            rate: self.limit.pacing,
            cwnd: self.limit.cwnd,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
        }
    }

    /// Pays for a burst of so many segments, and sends the first.
    fn begin_burst(&mut self, params: &Params, now: Time, segments: u32) -> Poll {
        self.bursts.begin(now, segments);
        let payload = self.in_card();
        if let Some(rate) = self.limit.pacing {
            let others = u64::from(segments - 1);
            let last = payload - self.mss * others;
            let whole = params.packet_size(self.mss) * others + params.packet_size(last);
            self.pay(params, now, rate, whole);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_send(payload);
        }
        self.send_new(params, now)
    }

    fn has_work(&mut self) -> bool {
        self.board.next() < self.size || self.probe == Probe::Due || self.board.first_lost().is_some()
    }

    /// Differs from RFC 5681 §3.1 and RFC 6298 §5.7: a lost SYN neither shrinks the initial window to one segment nor
    /// raises the timeout to 3 s; both are meant for the Internet of 1 s timeouts.
    fn open(&mut self, params: &Params, now: Time, attempts: u32) -> Poll {
        self.phase = Phase::Opening { attempts: attempts + 1, sent_at: now, due: false };
        let wait = params.initial_rto.saturating_mul(1 << attempts.min(20)).min(params.max_rto);
        self.timer = Timer { at: now + wait, kind: TimerKind::Retransmission };
        Poll::Send(Segment { syn: true, retransmission: attempts > 0, ..Segment::default() })
    }

    /// The window lets nothing out before another acknowledgment, whatever its pacing says.
    pub fn is_full(&self) -> bool {
        let inflight = self.board.inflight();
        let begins = self.bursts.left == 0;
        begins && self.prr.is_none() && inflight > Bytes::ZERO && inflight + self.next_len() > self.limit.cwnd
    }

    fn next_len(&self) -> Bytes {
        self.mss.min(Bytes::new(self.size - self.board.next()))
    }

    fn send_new(&mut self, params: &Params, now: Time) -> Poll {
        let len = self.next_len();
        let snapshot = self.delivery.on_send(now, self.board.inflight(), self.board.lost());
        if self.board.is_empty() {
            self.restart_timeout(now);
        }
        let seq = self.board.next();
        self.board.push(Sent {
            end: seq + len.get(),
            len: len.get() as u32,
            state: State::InFlight,
            retransmitted: false,
            repeatedly: false,
            app_limited: self.delivery.is_app_limited(),
            sent_at: now,
            snapshot,
        });
        let cwr = self.cwr && self.bursts.begins();
        self.cwr &= !cwr;
        let pushed = params.push_bursts && self.bursts.ends();
        self.arm_after_sending(params, now);
        self.on_sent(params, now, len);
        let fin = seq + len.get() == self.size;
        if fin {
            self.injected = now;
        }
        let (goes_on, not_ect, spin) = (self.bursts.left > 0, self.not_ect, self.spin);
        Poll::Send(Segment {
            seq,
            len: len.get() as u32,
            fin,
            cwr,
            goes_on,
            pushed,
            spin,
            not_ect,
            ..Segment::default()
        })
    }

    fn resend(&mut self, params: &Params, now: Time, number: u64) -> Poll {
        let snapshot = self.delivery.on_send(now, self.board.inflight(), self.board.lost());
        if self.board.is_first(number) {
            // What the timer waits for is on its way again.
            self.restart_timeout(now);
        }
        let sent = self.board.resend(number, now, snapshot, self.delivery.is_app_limited());
        self.sent_besides += sent.bytes();
        let troubles = self.troubles();
        troubles.counts.retransmissions += 1;
        troubles.counts.retransmitted += sent.bytes();
        if let Some(undo) = &mut troubles.undo {
            undo.resent += 1;
        }
        self.arm_after_sending(params, now);
        self.on_sent(params, now, sent.bytes());
        let seq = sent.end - u64::from(sent.len);
        let fin = sent.end == self.size;
        let (not_ect, spin) = (self.not_ect, self.spin);
        Poll::Send(Segment {
            seq,
            len: sent.len,
            fin,
            retransmission: true,
            not_ect,
            spin,
            ..Segment::default()
        })
    }

    /// RFC 8985 §7.3: new data if there is any, the last segment again otherwise.
    fn send_probe(&mut self, params: &Params, now: Time) -> Poll {
        self.troubles().counts.probes += 1;
        let end = self.board.next() + self.next_len().get();
        let retransmission = self.board.next() == self.size || !self.has_room(end);
        let last = self.board.last();
        let poll = match last {
            Some(number) if retransmission => self.resend(params, now, number),
            _ => self.send_new(params, now),
        };
        self.probe = Probe::Out { end: self.board.next() };
        self.sampled = false;
        self.restart_timeout(now);
        self.arm(params, now, Time::NEVER);
        poll
    }

    /// So many bytes leave now, and the next wait for as long as they take at the rate of the connection.
    #[inline]
    fn pay(&mut self, params: &Params, now: Time, rate: BitRate, bytes: Bytes) {
        let is_free = params.pace_from.is_some_and(|first| {
            self.delivered_before + self.sent_besides + Bytes::new(self.handed_over()) < self.mss * first
        });
        let takes = if is_free { Span::ZERO } else { rate.time_to_send(bytes) };
        match params.pacing_credit {
            None => self.pacer.on_send(now, takes),
            Some(part) => self.pacer.on_late_send(now, takes, part),
        }
    }

    fn on_sent(&mut self, params: &Params, now: Time, len: Bytes) {
        if self.bursts.left > 0 {
            self.bursts.left -= 1; // paid for when the burst began
            return;
        }
        if let Some(prr) = &mut self.prr {
            prr.on_send(len);
        }
        if let Some(rate) = self.limit.pacing {
            self.pay(params, now, rate, params.packet_size(len));
        }
    }
}
