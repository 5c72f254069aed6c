use super::sent::{Sent, Snapshot};
use crate::cc::DeliverySample;
use crate::units::{Bytes, Span, Time};

/// Counts what arrived and how fast (draft-cheng-iccrg-delivery-rate-estimation-02 §3).
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Payload delivered so far, and when the last of it was acknowledged.
    delivered: Bytes,
    delivered_at: Time,
    /// When the most recently acknowledged segment had been sent.
    first_sent_at: Time,
    /// Samples are application-limited until this much has been delivered.
    app_limited_until: Bytes,
    /// A round ends when a segment sent after this much had been delivered is acknowledged.
    round_end: Bytes,
}

impl Delivery {
    pub(crate) fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// A segment is about to be sent while `inflight` is on its way and `lost` was ever given up as lost.
    pub(crate) fn on_send(&mut self, now: Time, inflight: Bytes, lost: Bytes) -> Snapshot {
        if inflight == Bytes::ZERO {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let Self { delivered, delivered_at, first_sent_at, .. } = *self;
        Snapshot { delivered, delivered_at, first_sent_at, inflight, lost }
    }

    /// Samples of what is sent from now on are application-limited: nothing is left to send.
    pub(crate) fn on_idle(&mut self, inflight: Bytes) {
        self.app_limited_until = (self.delivered + inflight).max(Bytes::new(1));
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > Bytes::ZERO && self.delivered <= self.app_limited_until
    }

    /// `acked` was delivered; `newest` was sent last of it; `lost` was ever given up as lost. Returns the sample and whether a round
    /// began. A sample over less than `min_rtt` counts as none: acknowledgments were reordered (§3.3).
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        acked: Bytes,
        newest: &Sent,
        min_rtt: Span,
        lost: Bytes,
    ) -> (DeliverySample, bool) {
        self.delivered += acked;
        self.delivered_at = now;
        self.first_sent_at = newest.sent_at;
        let sent = &newest.snapshot;
        let send_time = newest.sent_at.saturating_since(sent.first_sent_at);
        let ack_time = now.saturating_since(sent.delivered_at);
        let interval = Span::max(send_time, ack_time);
        let sample = DeliverySample {
            delivered: self.delivered - sent.delivered,
            interval: if interval < min_rtt { Span::ZERO } else { interval },
            app_limited: newest.app_limited,
            inflight: sent.inflight + newest.bytes(),
            lost: lost - sent.lost,
        };
        let round_start = sent.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
        }
        (sample, round_start)
    }
}
