//! Effects of an acknowledgment: delivered segments leave the scoreboard, losses and marks are noticed, repairs end, and
//! the controller receives a digest.

use super::{Flight, Phase, Probe, Repair, Sender, Undo};
use crate::cc::{Ack, Congestion, Controller, Ecn, Signal};
use crate::stream::accurate_ecn::CeCount;
use crate::stream::params::Params;
use crate::stream::prr::Prr;
use crate::stream::scoreboard::Noticed;
use crate::stream::sent::{Sent, Tally};
use crate::stream::wire::AckFrame;
use crate::units::{BitRate, Bytes, Span, Time};

impl Sender {
    /// An acknowledgment arrived.
    pub fn on_ack(&mut self, params: &Params, now: Time, frame: &AckFrame) {
        if frame.syn {
            self.on_syn_ack(now, frame);
        }
        if frame.window > 0 {
            let unit = params.receive_buffer.map_or(1, |buffer| buffer.unit());
            self.edge = self.edge.max(frame.ack + u64::from(frame.window) * unit);
        }
        if frame.ack < self.board.una() || self.phase != Phase::Open {
            return;
        }
        self.spin = frame.spin;
        let before = self.flight(params);
        let (una_before, window_before) = (self.board.una(), self.limit.cwnd);
        let mut tally = Tally::new(now, self.rtt.min());
        let repaired = self.board.first().filter(|first| first.retransmitted).map(|first| first.sent_at);
        if frame.ack > una_before {
            self.board.acknowledge(frame.ack, &mut tally);
        }
        let is_taken_back = self.take_sacks(now, frame, &mut tally);
        let moved_on = self.board.una() > una_before;
        self.measure(now, una_before, repaired, &tally, frame);
        if moved_on {
            self.move_on(now, una_before, frame);
        }
        if tally.reordered > 0 {
            self.note_reordering(&tally);
        }
        self.rack_tlp.on_ack(now, &tally, &self.rtt);
        self.finish_probe(&tally);
        self.finish_repair();
        let mut lost = Bytes::ZERO;
        let mut look_again = Time::NEVER;
        // What was retransmitted has arrived, so what was sent before it and has not is lost all the same.
        if self.board.sacked_segments() > 0 || self.repair != Repair::None || is_taken_back {
            (lost, look_again) = self.detect_losses(now, before);
        }
        if frame.ece && self.ecn == Ecn::Classic {
            self.on_mark(now, before);
        }
        if let Some(newest) = tally.newest {
            self.digest(now, frame, &tally, &newest, before);
        }
        self.refresh_limit(params);
        if params.spread_marks && frame.ece && self.limit.cwnd < window_before {
            self.spread_mark(before);
        }
        self.let_out(tally.acked, moved_on && lost == Bytes::ZERO);
        self.arm(params, now, look_again);
    }

    /// A mechanism of switches and hosts has reported.
    pub fn on_signal(&mut self, params: &Params, now: Time, signal: &Signal<'_>) {
        self.cc.on_signal(now, signal);
        self.refresh_limit(params);
    }

    fn on_syn_ack(&mut self, now: Time, frame: &AckFrame) {
        if let Phase::Opening { attempts, sent_at, .. } = self.phase {
            self.phase = Phase::Open;
            self.not_ect |= frame.ce.says_mangled();
            if frame.ce.says_marked() {
                let mss = self.mss;
                self.troubles().marks.owe(mss);
            }
            self.timer.at = Time::NEVER;
            if attempts == 1 {
                let rtt = now.saturating_since(sent_at);
                self.rtt.add(rtt);
                self.rtt.recall(self.recalled);
                self.sampled = true;
                self.cc.on_signal(now, &Signal::Handshake { rtt });
            }
        }
    }

    /// Returns whether they take the last reduction back.
    fn take_sacks(&mut self, now: Time, frame: &AckFrame, tally: &mut Tally) -> bool {
        if frame.sacks.is_empty() {
            return false;
        }
        let duplicate = frame.sacks.duplicate(frame.ack);
        // In the order of sequence: what one acknowledgment reports has not been reordered (RFC 8985 §6.2 step 3).
        for block in frame.sacks.ascending(usize::from(duplicate.is_some())) {
            self.board.sack(block, tally);
        }
        duplicate.is_some_and(|duplicate| {
            self.rack_tlp.on_duplicate(self.board.una(), self.handed_over());
            self.confirm_duplicate(now, duplicate.end)
        })
    }

    #[cold]
    fn note_reordering(&mut self, tally: &Tally) {
        let counts = &mut self.troubles().counts;
        counts.reordered += u64::from(tally.reordered);
        counts.reordering = counts.reordering.max(Bytes::new(tally.distance));
    }

    /// One retransmission, of data up to `end`, was needless. When all of them were, so was the reduction: it is taken back.
    fn confirm_duplicate(&mut self, now: Time, end: u64) -> bool {
        let undo = self.troubles.as_mut().and_then(|troubles| troubles.undo.as_mut());
        let Some(undo) = undo.filter(|undo| undo.resent > 0 && end > undo.from) else { return false };
        undo.duplicates += 1;
        let all_were = undo.duplicates >= undo.resent;
        if all_were {
            self.take_back(now);
        }
        all_were
    }

    /// The edge has moved.
    #[inline]
    fn move_on(&mut self, now: Time, una_before: u64, frame: &AckFrame) {
        if matches!(self.repair, Repair::Timeout { .. }) {
            self.judge_timeout(now, una_before, frame);
        }
        self.restart_timeout(now);
    }

    /// Takes a sample of the round-trip time: of a segment that was sent once, or else by the timestamp.
    #[inline]
    fn measure(&mut self, now: Time, una: u64, repaired: Option<Time>, tally: &Tally, frame: &AckFrame) {
        if let Some(sent_at) = tally.oldest_once {
            self.rtt.add(now.saturating_since(sent_at));
            self.sampled = true;
        } else if let Some(sent_at) = repaired
            && self.board.una() > una
        {
            self.sample_by_timestamp(now, una, sent_at, frame);
        }
    }

    /// All that was acknowledged had been retransmitted; what was at the edge, at `una`, was sent last at `sent_at`. Only then is the echoed
    /// timestamp asked (RFC 7323 §4.1; `tcp_ack_update_rtt` of Linux). It ends the back-off of the timeout.
    ///
    /// An answer that came sooner than the path allows for, or with a duplicate, is to an earlier retransmission, of which the time is not
    /// kept: no sample.
    #[cold]
    fn sample_by_timestamp(&mut self, now: Time, una: u64, sent_at: Time, frame: &AckFrame) {
        let undo = self.troubles.as_ref().and_then(|troubles| troubles.undo);
        let echoed = match undo.filter(|undo| undo.from == una) {
            Some(undo) if !frame.again => undo.first_sent,
            _ => Some(sent_at).filter(|_| frame.again && frame.sacks.duplicate(frame.ack).is_none()),
        };
        let sample = echoed.map(|at| now.saturating_since(at));
        if let Some(sample) = sample.filter(|sample| *sample >= self.rtt.min()) {
            self.rtt.add(sample);
        }
    }

    /// The first acknowledgment after a timeout that moves on. If it answers the first transmission of what the timer has given up, its
    /// answer was only late (RFC 3522; `tcp_packet_delayed` of Linux).
    #[cold]
    fn judge_timeout(&mut self, now: Time, una_before: u64, frame: &AckFrame) {
        let undo = self.troubles.as_ref().and_then(|troubles| troubles.undo);
        if undo.is_some_and(|undo| undo.from == una_before) && !frame.again {
            self.take_back(now);
        }
    }

    /// The last loss or timeout was none: the repair ends, and the window is what it was. After a timeout nothing is retransmitted that
    /// has not been yet (RFC 4015; `tcp_try_undo_loss` of Linux).
    fn take_back(&mut self, now: Time) {
        let troubles = self.troubles();
        troubles.undo = None;
        troubles.counts.spurious += 1;
        if matches!(self.repair, Repair::Timeout { .. }) {
            self.board.find_lost();
        }
        self.cc.on_congestion(now, Congestion::Spurious);
        self.repair = Repair::None;
        self.prr = None;
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
        if self.repair == Repair::None && self.prr.is_some() && !self.has_reduced() {
            self.prr = None; // spread for a mark
        }
        let (Repair::Fast { until } | Repair::Timeout { until }) = self.repair else { return };
        if self.board.una() >= until {
            self.repair = Repair::None;
            self.prr = None;
            self.rack_tlp.on_recovered();
        }
    }

    /// Returns what is lost now, and when more may be.
    pub(super) fn detect_losses(&mut self, now: Time, before: Flight) -> (Bytes, Time) {
        let window = self.reordering_window();
        let before_these = self.board.noticed();
        let (lost, look_again) = self.board.detect_losses(now, &self.rack_tlp, window);
        if lost > Bytes::ZERO {
            self.report_losses(now, before_these);
        }
        if lost > Bytes::ZERO && self.repair == Repair::None {
            self.troubles().counts.recoveries += 1;
            self.repair = Repair::Fast { until: self.handed_over() };
            if self.has_reduced() {
                self.troubles().undo = None;
            } else {
                self.congested(now, Congestion::Loss { flight_size: before.reduced });
            }
            self.prr = Prr::new(self.limit.cwnd, before.spread).map(Box::new);
        }
        (lost, look_again)
    }

    /// Reports to the controller each segment that was noticed to be lost after `noticed`.
    pub(super) fn report_losses(&mut self, now: Time, noticed: Noticed) {
        for segment in self.board.lost_after(noticed) {
            self.cc.on_signal(now, &Signal::Lost(segment));
        }
    }

    /// The window was reduced for data that is still outstanding.
    fn has_reduced(&self) -> bool {
        let until = self.troubles.as_ref().and_then(|troubles| troubles.reduced_until);
        until.is_some_and(|until| self.board.una() <= until)
    }

    pub(super) fn reordering_window(&self) -> Span {
        self.rack_tlp.reordering_window(&self.rtt, self.repair != Repair::None, self.board.sacked_segments())
    }

    /// Decides how much a reduction that is spread lets out until the next acknowledgment.
    #[inline]
    pub(super) fn let_out(&mut self, acked: Bytes, safe: bool) {
        let inflight = self.inflight();
        if let Some(prr) = &mut self.prr {
            prr.on_ack(acked, inflight, safe, self.mss);
        }
    }

    fn on_mark(&mut self, now: Time, before: Flight) {
        if self.has_reduced() || matches!(self.repair, Repair::Fast { .. }) {
            return;
        }
        self.marked += self.mss;
        self.congested(now, Congestion::Mark { flight_size: before.reduced });
        self.troubles().undo = None;
    }

    /// The window fell because of a mark. What is outstanding leaves it over a round trip, in which a loss does not reduce it again.
    fn spread_mark(&mut self, before: Flight) {
        if self.repair == Repair::None {
            let next = self.handed_over();
            self.troubles().reduced_until = Some(next);
            self.prr = Prr::new(self.limit.cwnd, before.spread).map(Box::new);
        }
    }

    /// Reports to the controller what was delivered.
    fn digest(&mut self, now: Time, frame: &AckFrame, tally: &Tally, newest: &Sent, before: Flight) {
        let (delivery, round_start) = {
            let (min_rtt, lost) = (self.rtt.min(), self.board.lost());
            self.delivery.on_ack(now, tally.acked, newest, min_rtt, lost)
        };
        if round_start {
            self.limited = [false, self.limited[0]];
            self.bursts.on_round(self.limit.cwnd);
            self.rtt.end_round();
        }
        let marked = match self.ecn {
            Ecn::Accurate if frame.ece => tally.acked,
            Ecn::Counted => self.count_marks(frame, tally.acked),
            _ => Bytes::ZERO,
        };
        self.marked += marked;
        let since_sent = now.saturating_since(newest.sent_at);
        let ack = Ack {
            now,
            rtt: (!newest.retransmitted).then_some(since_sent),
            since_sent,
            srtt: self.rtt.srtt(),
            acked: tally.acked,
            marked,
            inflight: self.inflight(),
            inflight_before: before.inflight,
            sent: self.sent(),
            delivered: self.delivery.delivered(),
            lost: self.board.lost(),
            delivery,
            round_start,
            cwnd_limited: self.limited[0] || self.limited[1],
            in_recovery: matches!(self.repair, Repair::Fast { .. })
                || self.ecn == Ecn::Classic && (frame.ece || self.prr.is_some()),
        };
        #[cfg(test)]
        (self.last_ack = Some(ack));
        self.cc.on_ack(&ack);
        if self.ecn == Ecn::Counted && self.bursts.left == 0 {
            self.mss = self.cc.segment().unwrap_or(self.mss);
        }
    }

    /// The marked part of what an acknowledgment with a count delivers.
    fn count_marks(&mut self, frame: &AckFrame, acked: Bytes) -> Bytes {
        self.not_ect |= frame.mangled;
        if self.troubles.is_none() && matches!(frame.ce, CeCount::Exact(0)) {
            return Bytes::ZERO;
        }
        let mss = self.mss;
        self.troubles().marks.on_ack(frame.ce, acked, mss)
    }

    pub(super) fn congested(&mut self, now: Time, event: Congestion) {
        self.cc.on_congestion(now, event);
        self.limit = self.cc.limit();
        self.prr = None;
        let (una, next) = (self.board.una(), self.handed_over());
        let is_classic = self.ecn == Ecn::Classic;
        self.cwr |= is_classic;
        // A timeout after one that brought nothing belongs to it: both are needless if all that either retransmitted was.
        if !matches!(event, Congestion::Timeout { repeated: true, .. }) {
            let resent = self.board.retransmitted_in_flight();
            let first_sent =
                self.board.first().filter(|first| !first.retransmitted).map(|first| first.sent_at);
            self.troubles().undo = Some(Undo { from: una, resent, duplicates: 0, first_sent });
        }
        if is_classic {
            self.troubles().reduced_until = Some(next);
        }
    }

    /// RFC 9002 §7.7, or what Linux has.
    fn pacing_ratio(&self, params: &Params) -> f64 {
        if params.pace_by_growth { self.bursts.ratio() } else { 1.25 }
    }

    pub(super) fn refresh_limit(&mut self, params: &Params) {
        self.limit = self.cc.limit();
        if !params.proportional_rate_reduction {
            self.prr = None;
        }
        if params.pace_windows && self.limit.pacing.is_none() && self.rtt.has_sample() {
            // RFC 9002 §7.7: N = 1.25 leaves room for the window to grow. The window is payload, the rate has headers.
            let headers = params.packet_size(self.mss).as_f64() / self.mss.as_f64();
            self.limit.pacing = Some(
                BitRate::per(self.limit.cwnd, self.rtt.srtt()).scaled(self.pacing_ratio(params) * headers),
            );
        }
    }
}
