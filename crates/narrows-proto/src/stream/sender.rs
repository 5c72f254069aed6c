use super::delivery::Delivery;
use super::pacer::Pacer;
use super::params::Params;
use super::prr::Prr;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::scoreboard::{Scoreboard, Sent, State, Tally};
use super::wire::{AckFrame, Segment};
use crate::cc::{Ack, Cc, Config, Congestion, Controller, Ecn, Limit, Path};
use crate::units::{BitRate, Bytes, Span, Time};

/// The sending half of a connection that carries one flow.
///
/// Call [`start`](Sender::start) once, [`on_ack`](Sender::on_ack) for every acknowledgement,
/// [`on_timer`](Sender::on_timer) at [`next_timer`](Sender::next_timer), and
/// [`poll_transmit`](Sender::poll_transmit) whenever the link is free.
#[derive(Clone, Debug)]
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
    rack: Rack,
    repair: Repair,
    prr: Option<Box<Prr>>,
    probe: Probe,
    undo: Option<Undo>,
    pacer: Pacer,
    timer: Timer,
    /// When the retransmission timer expires. Progress restarts it; other acknowledgements leave it alone, even if they
    /// change the timeout (RFC 6298 §5.3).
    rto_at: Time,
    /// A round-trip time was measured since the last probe (RFC 8985 §7.3).
    sampled: bool,
    /// SND.UNA at the last expiry of the retransmission timer.
    timed_out_at: Option<u64>,
    /// The window was reduced: until data beyond this byte is acknowledged, further marks and losses are signs of the same
    /// congestion (RFC 3168 §6.1.2). Used with [`Ecn::Classic`] only.
    reduced_until: Option<u64>,
    /// The next new segment says that the window was reduced.
    cwr: bool,
    /// The window stopped the sender in this round, and in the one before.
    limited: [bool; 2],
    stats: Stats,
}

/// What a sender knows of the host it runs on.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Rate of the host's link.
    pub link: BitRate,
    /// Where random choices of the connection begin.
    pub seed: u64,
}

/// What happened to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Payload sent again.
    pub retransmitted: Bytes,
    /// Expiries of the retransmission timer, those of the handshake included.
    pub timeouts: u64,
    /// Times a loss was noticed without a timeout.
    pub recoveries: u64,
    /// Losses and timeouts that were none.
    pub spurious: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Payload acknowledged as marked ([`Ecn::Accurate`]), or reductions for marks times the segment size
    /// ([`Ecn::Classic`]).
    pub marked: Bytes,
}

/// An answer to "what next?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Send this now.
    Send(Segment),
    /// Ask again then.
    At(Time),
    /// Nothing to send until an acknowledgement or a timer changes that.
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

/// Whether everything sent again since the last loss had in fact arrived (RFC 3708 §3).
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// SND.UNA when the window was reduced; duplicates of older data say nothing of it.
    from: u64,
    resent: u64,
    /// Duplicates the receiver has reported (RFC 2883).
    duplicates: u64,
}

/// What was outstanding before an acknowledgement or a timer changed it.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// FlightSize of RFC 5681 §2.
    size: Bytes,
    /// The part of it that was neither delivered nor lost.
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
        let mss = params.mss();
        let path = Path {
            mss,
            initial_window: mss * params.initial_window,
            packet: params.packet_size(mss),
            link: at.link,
            seed: at.seed,
        };
        let controller = cc.build(&path);
        Self {
            size: size.get(),
            mss,
            phase: Phase::Open,
            limit: controller.limit(),
            cc: controller,
            ecn: cc.ecn(),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(params.initial_rto, params.min_rto, params.max_rto),
            delivery: Delivery::default(),
            rack: Rack::default(),
            repair: Repair::None,
            prr: None,
            probe: Probe::None,
            undo: None,
            pacer: Pacer::default(),
            timer: Timer { at: Time::NEVER, kind: TimerKind::Retransmission },
            rto_at: Time::NEVER,
            sampled: false,
            timed_out_at: None,
            reduced_until: None,
            cwr: false,
            limited: [false; 2],
            stats: Stats::default(),
        }
    }

    /// The flow begins.
    pub fn start(&mut self, params: &Params, now: Time) {
        if params.handshake {
            self.phase = Phase::Opening { attempts: 0, sent_at: now, due: true };
        }
    }

    /// Everything has been acknowledged.
    pub fn is_complete(&self) -> bool {
        self.board.una() == self.size
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

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// When to call [`on_timer`](Sender::on_timer).
    pub fn next_timer(&self) -> Time {
        self.timer.at
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, params: &Params, now: Time, frame: &AckFrame) {
        if frame.syn {
            self.on_syn_ack(now);
        }
        if frame.ack < self.board.una() || self.phase != Phase::Open {
            return;
        }
        let before = Flight { size: self.flight_size(), inflight: self.board.inflight() };
        let una_before = self.board.una();
        let mut tally = Tally::new(now, self.rtt.min());
        if frame.ack > una_before {
            self.board.acknowledge(frame.ack, &mut tally);
        }
        self.take_sacks(now, frame, &mut tally);
        if let Some(sent_at) = tally.oldest_once {
            self.rtt.add(now.saturating_since(sent_at));
            self.sampled = true;
        }
        if self.board.una() > una_before {
            self.restart_timeout(now);
        }
        self.rack.on_ack(now, &tally, &self.rtt);
        self.finish_probe(&tally);
        self.finish_repair();
        let mut lost = Bytes::ZERO;
        let mut look_again = Time::NEVER;
        if self.board.sacked_segments() > 0 || self.repair != Repair::None {
            (lost, look_again) = self.detect_losses(now, before);
        }
        if frame.ece && self.ecn == Ecn::Classic {
            self.on_mark(now, before);
        }
        if let Some(newest) = tally.newest {
            self.digest(now, frame, &tally, &newest, before);
        }
        self.refresh_limit(params);
        if let Some(prr) = &mut self.prr {
            prr.on_ack(
                tally.acked,
                self.board.inflight(),
                lost == Bytes::ZERO && self.board.una() > una_before,
                self.mss,
            );
        }
        self.arm(params, now, look_again);
    }

    fn on_syn_ack(&mut self, now: Time) {
        if let Phase::Opening { attempts, sent_at, .. } = self.phase {
            self.phase = Phase::Open;
            self.timer.at = Time::NEVER;
            if attempts == 1 {
                self.rtt.add(now.saturating_since(sent_at));
                self.sampled = true;
            }
        }
    }

    fn take_sacks(&mut self, now: Time, frame: &AckFrame, tally: &mut Tally) {
        if frame.sacks.is_empty() {
            return;
        }
        let duplicate = frame.sacks.duplicate(frame.ack);
        // In the order of sequence: what one acknowledgement reports has not been reordered (RFC 8985 §6.2 step 3).
        for block in frame.sacks.ascending(usize::from(duplicate.is_some())) {
            self.board.sack(block, tally);
        }
        if let Some(duplicate) = duplicate {
            self.rack.on_duplicate(self.board.una(), self.board.next());
            self.confirm_duplicate(now, duplicate.end);
        }
    }

    /// One retransmission, of data up to `end`, was needless. When all of them were, so was the reduction.
    fn confirm_duplicate(&mut self, now: Time, end: u64) {
        let Some(undo) = self.undo.as_mut().filter(|undo| undo.resent > 0 && end > undo.from) else { return };
        undo.duplicates += 1;
        if undo.duplicates >= undo.resent {
            self.undo = None;
            self.stats.spurious += 1;
            self.cc.on_congestion(now, Congestion::Spurious);
            self.repair = Repair::None;
            self.prr = None;
        }
    }

    /// RFC 8985 §7.4: a probe ends when it is acknowledged; one that waits to be sent is not needed once something else is.
    /// Whether a probe repaired a loss does not matter: it sends old data again only at the end of the flow, after which
    /// there is no window to reduce.
    fn finish_probe(&mut self, tally: &Tally) {
        match self.probe {
            Probe::Out { end } if self.board.una() >= end => self.probe = Probe::None,
            Probe::Due if tally.newest.is_some() => self.probe = Probe::None,
            _ => {}
        }
    }

    fn finish_repair(&mut self) {
        let (Repair::Fast { until } | Repair::Timeout { until }) = self.repair else { return };
        if self.board.una() >= until {
            self.repair = Repair::None;
            self.prr = None;
            self.rack.on_recovered();
        }
    }

    /// Returns what is lost now, and when more may be.
    fn detect_losses(&mut self, now: Time, before: Flight) -> (Bytes, Time) {
        let window = self.reordering_window();
        let (lost, look_again) = self.board.detect_losses(now, &self.rack, window);
        if lost > Bytes::ZERO && self.repair == Repair::None {
            self.stats.recoveries += 1;
            self.repair = Repair::Fast { until: self.board.next() };
            if self.has_reduced() {
                self.undo = None;
            } else {
                self.congested(now, Congestion::Loss { flight_size: before.size });
            }
            self.prr = Prr::new(self.limit.cwnd, before.inflight).map(Box::new);
        }
        (lost, look_again)
    }

    /// FlightSize of RFC 5681 §2.
    fn flight_size(&self) -> Bytes {
        Bytes::new(self.board.next() - self.board.una())
    }

    /// The window was reduced for data that is still outstanding.
    fn has_reduced(&self) -> bool {
        self.reduced_until.is_some_and(|until| self.board.una() <= until)
    }

    fn reordering_window(&self) -> Span {
        self.rack.reordering_window(&self.rtt, self.repair != Repair::None, self.board.sacked_segments())
    }

    fn on_mark(&mut self, now: Time, before: Flight) {
        if self.has_reduced() || matches!(self.repair, Repair::Fast { .. }) {
            return;
        }
        self.stats.marked += self.mss;
        self.congested(now, Congestion::Mark { flight_size: before.size });
        self.undo = None;
    }

    /// Tells the controller what was delivered.
    fn digest(&mut self, now: Time, frame: &AckFrame, tally: &Tally, newest: &Sent, before: Flight) {
        let (delivery, round_start) = self.delivery.on_ack(now, tally.acked, newest, self.rtt.min());
        if round_start {
            self.limited = [false, self.limited[0]];
        }
        let accurate_mark = frame.ece && self.ecn == Ecn::Accurate;
        let marked = if accurate_mark { tally.acked } else { Bytes::ZERO };
        self.stats.marked += marked;
        self.cc.on_ack(&Ack {
            now,
            rtt: (!newest.retransmitted).then(|| now.saturating_since(newest.sent_at)),
            srtt: self.rtt.srtt(),
            acked: tally.acked,
            marked,
            inflight: self.board.inflight(),
            inflight_before: before.inflight,
            sent: Bytes::new(self.board.next()) + self.stats.retransmitted,
            delivered: self.delivery.delivered(),
            lost: self.board.lost(),
            delivery,
            round_start,
            cwnd_limited: self.limited[0] || self.limited[1],
            in_recovery: matches!(self.repair, Repair::Fast { .. }) || frame.ece && self.ecn == Ecn::Classic,
        });
    }

    fn congested(&mut self, now: Time, event: Congestion) {
        self.cc.on_congestion(now, event);
        self.limit = self.cc.limit();
        self.undo = Some(Undo { from: self.board.una(), resent: 0, duplicates: 0 });
        self.prr = None;
        if self.ecn == Ecn::Classic {
            self.reduced_until = Some(self.board.next());
            self.cwr = true;
        }
    }

    fn refresh_limit(&mut self, params: &Params) {
        self.limit = self.cc.limit();
        if !params.proportional_rate_reduction {
            self.prr = None;
        }
        if params.pace_windows && self.limit.pacing.is_none() && self.rtt.has_sample() {
            // RFC 9002 §7.7: N = 1.25 leaves room for the window to grow. The window is payload, the rate has headers.
            let headers = params.packet_size(self.mss).as_f64() / self.mss.as_f64();
            self.limit.pacing = Some(BitRate::per(self.limit.cwnd, self.rtt.srtt()).scaled(1.25 * headers));
        }
    }

    /// Sets the timer: the earliest of what may prove a loss, the tail loss probe, and the retransmission timeout.
    fn arm(&mut self, params: &Params, now: Time, look_again: Time) {
        let kind = TimerKind::Reordering;
        if self.board.is_empty() {
            self.timer = Timer { at: Time::NEVER, kind };
        } else if look_again < Time::NEVER {
            self.timer = Timer { at: look_again, kind };
        } else {
            // It may have expired while another timer was set.
            let timeout = self.rto_at.max(now);
            self.timer = if self.may_probe(params) {
                let at = timeout.min(now + self.probe_timeout(params));
                Timer { at, kind: TimerKind::Probe }
            } else {
                Timer { at: timeout, kind: TimerKind::Retransmission }
            };
        }
    }

    /// After something was sent. What may prove a loss stays the next thing to look at.
    fn arm_after_sending(&mut self, params: &Params, now: Time) {
        if self.timer.kind != TimerKind::Reordering || self.timer.at == Time::NEVER {
            self.arm(params, now, Time::NEVER);
        }
    }

    fn restart_timeout(&mut self, now: Time) {
        self.rto_at = now + self.rtt.rto();
    }

    /// RFC 8985 §7.2, §7.3: nothing but the end of the flight can be missing.
    fn may_probe(&self, params: &Params) -> bool {
        params.tail_loss_probe
            && self.probe == Probe::None
            && self.repair == Repair::None
            && self.board.sacked_segments() == 0
            && self.sampled
    }

    /// PTO of RFC 8985 §7.2: a lone segment may wait for its acknowledgement to be delayed. The retransmission timer cuts it
    /// short.
    fn probe_timeout(&self, params: &Params) -> Span {
        let alone = self.board.len() == 1 && params.ack_every > 1;
        self.rtt.srtt() * 2 + if alone { params.ack_delay } else { Span::ZERO }
    }

    /// The timer expired. Does nothing before [`next_timer`](Sender::next_timer).
    pub fn on_timer(&mut self, params: &Params, now: Time) {
        if now < self.timer.at {
            return;
        }
        self.timer.at = Time::NEVER;
        if let Phase::Opening { due, .. } = &mut self.phase {
            *due = true;
            self.stats.timeouts += 1;
            return;
        }
        match self.timer.kind {
            TimerKind::Probe => {
                self.probe = Probe::Due;
                self.restart_timeout(now);
                self.arm(params, now, Time::NEVER);
            }
            TimerKind::Reordering => {
                let before = Flight { size: self.flight_size(), inflight: self.board.inflight() };
                let (_, look_again) = self.detect_losses(now, before);
                self.refresh_limit(params);
                if let Some(prr) = &mut self.prr {
                    prr.on_ack(Bytes::ZERO, self.board.inflight(), false, self.mss);
                }
                self.arm(params, now, look_again);
            }
            TimerKind::Retransmission => self.on_timeout(params, now),
        }
    }

    /// RFC 6298 §5.4 to §5.6, RFC 8985 §6.3.
    fn on_timeout(&mut self, params: &Params, now: Time) {
        self.stats.timeouts += 1;
        let flight_size = self.flight_size();
        let repeated = self.timed_out_at == Some(self.board.una());
        self.timed_out_at = Some(self.board.una());
        let stale = self.rack.stale_before(now, self.reordering_window());
        self.board.lose_after_timeout(stale);
        self.probe = Probe::None;
        self.repair = Repair::Timeout { until: self.board.next() };
        self.congested(now, Congestion::Timeout { flight_size, repeated });
        self.refresh_limit(params);
        self.rtt.back_off();
        self.restart_timeout(now);
        self.arm(params, now, Time::NEVER);
    }

    /// What to send at `now`.
    pub fn poll_transmit(&mut self, params: &Params, now: Time) -> Poll {
        if let Phase::Opening { attempts, due, .. } = self.phase {
            return if due { self.open(params, now, attempts) } else { Poll::Blocked };
        }
        if self.limit.pacing.is_some() && self.pacer.release() > now {
            return if self.has_work() { Poll::At(self.pacer.release()) } else { Poll::Blocked };
        }
        if self.probe == Probe::Due {
            return self.send_probe(params, now);
        }
        let inflight = self.board.inflight();
        let window = self.prr.as_ref().map_or(self.limit.cwnd, |prr| prr.window(inflight));
        let fits = |len: Bytes| inflight + len <= window || inflight == Bytes::ZERO;
        if let Some((number, lost)) = self.board.next_lost() {
            if fits(lost) {
                return self.resend(params, now, number);
            }
        } else if self.board.next() < self.size {
            let len = self.next_len();
            if !params.has_room(self.board.una(), self.board.next() + len.get()) {
                // The window would not be used up, so it does not grow (RFC 7661 §4.1).
                return Poll::Blocked;
            }
            if fits(len) {
                return self.send_new(params, now);
            }
        } else {
            self.delivery.on_idle(inflight);
            return Poll::Blocked;
        }
        self.limited[0] = true;
        Poll::Blocked
    }

    fn has_work(&mut self) -> bool {
        self.board.next() < self.size || self.probe == Probe::Due || self.board.next_lost().is_some()
    }

    /// Differs from RFC 5681 §3.1 and RFC 6298 §5.7: a lost SYN neither shrinks the initial window to one segment nor
    /// raises the timeout to 3 s; both are meant for the Internet of 1 s timeouts.
    fn open(&mut self, params: &Params, now: Time, attempts: u32) -> Poll {
        self.phase = Phase::Opening { attempts: attempts + 1, sent_at: now, due: false };
        let wait = params.initial_rto.saturating_mul(1 << attempts.min(20)).min(params.max_rto);
        self.timer = Timer { at: now + wait, kind: TimerKind::Retransmission };
        Poll::Send(Segment { syn: true, retransmission: attempts > 0, ..Segment::default() })
    }

    fn next_len(&self) -> Bytes {
        self.mss.min(Bytes::new(self.size - self.board.next()))
    }

    fn send_new(&mut self, params: &Params, now: Time) -> Poll {
        let len = self.next_len();
        let snapshot = self.delivery.on_send(now, self.board.inflight());
        if self.board.is_empty() {
            self.restart_timeout(now);
        }
        let seq = self.board.next();
        self.board.push(Sent {
            end: seq + len.get(),
            len: len.get() as u32,
            state: State::InFlight,
            retransmitted: false,
            app_limited: self.delivery.is_app_limited(),
            sent_at: now,
            snapshot,
        });
        let cwr = std::mem::take(&mut self.cwr);
        self.arm_after_sending(params, now);
        self.on_sent(params, now, len);
        Poll::Send(Segment {
            seq,
            len: len.get() as u32,
            fin: seq + len.get() == self.size,
            cwr,
            ..Segment::default()
        })
    }

    fn resend(&mut self, params: &Params, now: Time, number: u64) -> Poll {
        let snapshot = self.delivery.on_send(now, self.board.inflight());
        if self.board.is_first(number) {
            // What the timer waits for is on its way again.
            self.restart_timeout(now);
        }
        let sent = self.board.resend(number, now, snapshot, self.delivery.is_app_limited());
        self.stats.retransmissions += 1;
        self.stats.retransmitted += sent.bytes();
        if let Some(undo) = &mut self.undo {
            undo.resent += 1;
        }
        self.arm_after_sending(params, now);
        self.on_sent(params, now, sent.bytes());
        let seq = sent.end - u64::from(sent.len);
        let fin = sent.end == self.size;
        Poll::Send(Segment { seq, len: sent.len, fin, retransmission: true, ..Segment::default() })
    }

    /// RFC 8985 §7.3: new data if there is any, the last segment again otherwise.
    fn send_probe(&mut self, params: &Params, now: Time) -> Poll {
        self.stats.probes += 1;
        let end = self.board.next() + self.next_len().get();
        let retransmission = self.board.next() == self.size || !params.has_room(self.board.una(), end);
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

    fn on_sent(&mut self, params: &Params, now: Time, len: Bytes) {
        if let Some(prr) = &mut self.prr {
            prr.on_send(len);
        }
        if let Some(rate) = self.limit.pacing {
            self.pacer.on_send(now, rate.time_to_send(params.packet_size(len)));
        }
    }
}
