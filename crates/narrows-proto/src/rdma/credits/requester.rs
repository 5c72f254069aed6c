//! The part of a sender.

use super::settings::Credits;
use crate::units::{BitRate, Bytes, Span, Time};

/// Credit of one connection at its sender, and its requests for more.
///
/// All amounts are bytes on the wire. Call [`on_sent`](Self::on_sent) for each packet, and then write the
/// [target](Self::pull_target) into it; [`on_feedback`](Self::on_feedback) for whatever the receiver answers, and
/// [`on_pull`](Self::on_pull) for its grants.
#[derive(Clone, Debug)]
pub struct Requester {
    /// Bytes that may still be sent; below zero by a packet at most.
    credit: i64,
    /// Nothing has come back, so that credit is what it began with.
    is_speculating: bool,
    /// Granted in all.
    pulled: u64,
    /// Requested in all, in what was sent so far.
    requested: u64,
    window: u64,
    packet: u64,
    quantum: u64,
    rtt: Span,
    /// When the next request may leave alone.
    rts_at: Time,
}

/// Amounts from which a request is made.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Bytes that were never sent.
    pub backlog: Bytes,
    /// Bytes that are to be retransmitted.
    pub retransmit: Bytes,
    /// Window of the control besides; [`Bytes::MAX`] if there is none.
    pub cwnd: Bytes,
    /// Connections with something to send through the same network card, this one included.
    pub sources: u32,
}

impl Requester {
    /// A new connection through this link, with packets of this size.
    pub fn new(credits: &Credits, link: BitRate, packet: Bytes) -> Self {
        let window = credits.window_of(link, packet).get().min(i64::MAX as u64);
        Self {
            credit: window as i64,
            is_speculating: true,
            pulled: 0,
            requested: 0,
            window,
            packet: packet.get(),
            quantum: credits.quantum.get(),
            rtt: credits.rtt,
            rts_at: Time::ZERO,
        }
    }

    /// A packet may leave, with new payload or not.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.credit > 0
    }

    /// Bytes that may still be sent.
    pub fn credit(&self) -> i64 {
        self.credit
    }

    /// Its packets are sent without a grant (SPEC), because nothing has come back.
    pub fn is_speculating(&self) -> bool {
        self.is_speculating
    }

    /// A packet of this size leaves.
    #[inline]
    pub fn on_sent(&mut self, size: Bytes) {
        self.credit = self.credit.saturating_sub_unsigned(size.get());
    }

    /// The request that a packet carries: all that it wants to have been granted since it began, in whole quanta. `demand` is what is left
    /// when the packet has been sent. Never less than before.
    #[inline]
    pub fn pull_target(&mut self, demand: &Demand) -> u64 {
        self.requested = self.requested.max(self.target(demand));
        self.requested
    }

    fn target(&self, demand: &Demand) -> u64 {
        let Demand { backlog, retransmit, cwnd, sources } = *demand;
        let wanted = backlog.saturating_add(retransmit).get();
        let wanted = wanted.min(cwnd.get().saturating_add(self.packet)).min(self.window);
        let missing = (wanted as i64).saturating_sub(self.credit).max(0) as u64 / u64::from(sources.max(1));
        self.pulled.saturating_add(missing).div_ceil(self.quantum).saturating_mul(self.quantum)
    }

    /// It wants to have been granted more than it has requested.
    pub fn wants_more(&self, demand: &Demand) -> bool {
        self.target(demand) > self.requested
    }

    /// The request to send alone (RTS), if there is no credit for a packet that would carry it and it says more than those before. One for
    /// each round-trip time at most: not before [`rts_from`](Self::rts_from). The retransmission timer must run for it as for a packet.
    pub fn rts(&mut self, now: Time, demand: &Demand) -> Option<u64> {
        if self.may_send() || now < self.rts_at {
            return None;
        }
        let target = self.target(demand);
        if target <= self.requested {
            return None;
        }
        self.requested = target;
        self.rts_at = now + self.rtt;
        Some(target)
    }

    /// When the next request may leave alone.
    pub fn rts_from(&self) -> Time {
        self.rts_at
    }

    /// The retransmission timer expired: the last request may be lost, and the next one repeats it.
    pub fn on_timeout(&mut self) {
        self.requested = self.pulled;
    }

    /// The receiver answered something: what is left of the credit that it began with is void.
    #[inline]
    pub fn on_feedback(&mut self) {
        if self.is_speculating {
            self.is_speculating = false;
            self.credit = self.credit.min(0);
        }
    }

    /// A grant arrived: all that was granted since the connection began.
    #[inline]
    pub fn on_pull(&mut self, granted: u64) {
        self.on_feedback();
        if let Some(more) = granted.checked_sub(self.pulled) {
            self.credit = self.credit.saturating_add_unsigned(more);
            self.pulled = granted;
        }
    }
}
