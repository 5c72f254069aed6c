//! Timers of a sender: those of its control, and for retransmission.

use super::params::{Params, Recovery};
use super::sender::Sender;
use crate::cc::{Congestion, Controller, Signal};
use crate::units::{Bytes, Time};

impl Sender {
    /// A timer expired. Does nothing before [`next_timer`](Sender::next_timer).
    pub fn on_timer(&mut self, params: &Params, now: Time) {
        if self.cc.next_timer() <= now {
            self.cc.on_signal(now, &Signal::Timer);
            self.limit = self.cc.limit();
        }
        if self.rto_at <= now {
            if let Some(credits) = &mut self.credits {
                credits.on_timeout();
            }
            if params.recovery == Recovery::AnyOrder
                && let Some(later) = self.first_timeout(params, now)
            {
                self.rto_at = later;
            } else if self.board.inflight() > Bytes::ZERO {
                self.on_timeout(params, now);
            } else {
                // What was lost is not retransmitted yet.
                self.restart_timeout(params, now);
            }
        }
    }

    fn on_timeout(&mut self, params: &Params, now: Time) {
        self.stats.timeouts += 1;
        if params.retry_count == Some(self.timeouts_in_a_row) {
            self.has_given_up = true;
            self.rto_at = Time::NEVER;
            return;
        }
        self.timeouts_in_a_row = self.timeouts_in_a_row.saturating_add(1);
        let flight_size = self.flight_size();
        let repeated = self.timed_out_at == Some(self.board.una());
        self.timed_out_at = Some(self.board.una());
        match params.recovery {
            Recovery::AnyOrder => self.lose_late(params, now),
            Recovery::GoBackN | Recovery::SelectiveRepeat => drop(self.board.lose_all()),
        }
        self.repair_until = Some(self.board.next());
        // The answer to the first packet reports soonest what is missing.
        self.since_request = params.ack_every;
        self.cc.on_congestion(now, Congestion::Timeout { flight_size, repeated });
        self.limit = self.cc.limit();
        self.restart_timeout(params, now);
    }

    pub(super) fn restart_timeout(&mut self, params: &Params, now: Time) {
        self.rto_at = now + params.timeout();
    }
}
