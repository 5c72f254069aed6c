//! Effects of the passing of time: one timer stands for what may prove a loss, the tail loss probe, and the retransmission
//! timeout.

use super::{Phase, Probe, Repair, Sender, Timer, TimerKind};
use crate::cc::Congestion;
use crate::stream::params::Params;
use crate::units::{Bytes, Span, Time};

impl Sender {
    /// Sets the timer: the earliest of what may prove a loss, the tail loss probe, and the retransmission timeout.
    pub(super) fn arm(&mut self, params: &Params, now: Time, look_again: Time) {
        let kind = TimerKind::Reordering;
        if self.board.is_empty() {
            self.timer = Timer { at: Time::NEVER, kind };
        } else if look_again < Time::NEVER {
            let slack = params.reordering_slack.unwrap_or(Span::ZERO);
            let at = look_again.max((look_again + slack).min(now + self.rtt.rto()));
            self.timer = Timer { at, kind };
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
    pub(super) fn arm_after_sending(&mut self, params: &Params, now: Time) {
        if self.timer.kind != TimerKind::Reordering || self.timer.at == Time::NEVER {
            self.arm(params, now, Time::NEVER);
        }
    }

    pub(super) fn restart_timeout(&mut self, now: Time) {
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

    /// PTO of RFC 8985 §7.2: a lone segment may wait for its acknowledgment to be delayed. The retransmission timer cuts it
    /// short.
    fn probe_timeout(&self, params: &Params) -> Span {
        let alone = self.board.len() == 1 && params.ack_every > 1;
        if let Some(timeout) = &params.probe_timeout {
            return timeout.wait(self.rtt.srtt(), alone, params.min_rto);
        }
        self.rtt.srtt() * 2 + if alone { params.ack_wait() } else { Span::ZERO }
    }

    /// The timer expired. Does nothing before [`next_timer`](Sender::next_timer).
    pub fn on_timer(&mut self, params: &Params, now: Time) {
        if now < self.timer.at {
            return;
        }
        self.timer.at = Time::NEVER;
        if let Phase::Opening { due, .. } = &mut self.phase {
            *due = true;
            self.troubles().counts.timeouts += 1;
            return;
        }
        match self.timer.kind {
            TimerKind::Probe => {
                self.probe = Probe::Due;
                self.restart_timeout(now);
                self.arm(params, now, Time::NEVER);
            }
            TimerKind::Reordering => {
                let before = self.flight(params);
                let (_, look_again) = self.detect_losses(now, before);
                self.refresh_limit(params);
                self.let_out(Bytes::ZERO, false);
                self.arm(params, now, look_again);
            }
            TimerKind::Retransmission => self.on_timeout(params, now),
        }
    }

    /// RFC 6298 §5.4 to §5.6, RFC 8985 §6.3.
    fn on_timeout(&mut self, params: &Params, now: Time) {
        let (flight_size, una) = (self.flight(params).reduced, self.board.una());
        let troubles = self.troubles();
        troubles.counts.timeouts += 1;
        let repeated = troubles.timed_out_at.replace(una) == Some(una);
        let stale = self.rack_tlp.stale_before(now, self.reordering_window());
        let noticed = self.board.noticed();
        self.board.lose_after_timeout(stale);
        self.report_losses(now, noticed);
        self.probe = Probe::None;
        self.repair = Repair::Timeout { until: self.handed_over() };
        self.congested(now, Congestion::Timeout { flight_size, repeated });
        self.refresh_limit(params);
        self.rtt.back_off();
        self.restart_timeout(now);
        self.arm(params, now, Time::NEVER);
    }
}
