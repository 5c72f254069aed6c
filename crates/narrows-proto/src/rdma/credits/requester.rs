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
        let mut missing = (wanted as i64).saturating_sub(self.credit).max(0) as u64;
        if self.is_speculating && backlog > Bytes::ZERO {
            // Credit that the first answer voids must not be all there is.
            missing = missing.max(self.packet);
        }
        let missing = missing / u64::from(sources.max(1));
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

    /// A grant arrived: all that was granted since the connection began. Credit beyond W is void.
    #[inline]
    pub fn on_pull(&mut self, granted: u64) {
        self.on_feedback();
        if let Some(more) = granted.checked_sub(self.pulled) {
            self.credit = self.credit.saturating_add_unsigned(more).min(self.window as i64);
            self.pulled = granted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(4_150);
    /// W at 100 Gb/s over 12 us: 225 000 B.
    const WINDOW: i64 = 225_000;

    fn requester() -> Requester {
        Requester::new(&Credits::default(), BitRate::from_gbps(100), PACKET)
    }

    fn demand(backlog: u64) -> Demand {
        Demand { backlog: Bytes::new(backlog), retransmit: Bytes::ZERO, cwnd: Bytes::MAX, sources: 1 }
    }

    /// After an answer that granted nothing.
    fn empty() -> Requester {
        let mut requester = requester();
        requester.on_feedback();
        requester
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn the_first_window_leaves_without_a_grant() {
        let mut requester = requester();
        let mut packets = 0;
        while requester.may_send() {
            requester.on_sent(PACKET);
            packets += 1;
        }
        // 225 000/4150 = 54.2: the last one takes the credit below zero.
        assert_eq!((packets, requester.credit()), (55, WINDOW - 55 * 4_150));
        assert!(requester.is_speculating());
    }

    #[test]
    fn the_first_answer_voids_what_is_left_of_it_and_later_ones_nothing() {
        let mut requester = requester();
        requester.on_sent(PACKET);
        requester.on_feedback();
        assert_eq!((requester.credit(), requester.is_speculating()), (0, false));
        requester.on_pull(16_384);
        requester.on_feedback();
        assert_eq!(requester.credit(), 16_384);
    }

    #[test]
    fn a_grant_is_an_answer_too() {
        let mut requester = requester();
        requester.on_pull(16_384);
        assert_eq!(requester.credit(), 16_384);
    }

    #[test]
    fn an_overdraft_outlives_the_first_answer() {
        let mut requester = requester();
        (0..55).for_each(|_| requester.on_sent(PACKET));
        requester.on_feedback();
        assert_eq!(requester.credit(), -3_250);
    }

    #[test]
    fn a_lost_grant_is_made_up_for_by_the_next() {
        let [mut all, mut lossy] = [empty(), empty()];
        [16_384, 32_768, 49_152].iter().for_each(|granted| all.on_pull(*granted));
        // The first is lost, and the second overtaken by the third.
        [49_152, 32_768].iter().for_each(|granted| lossy.on_pull(*granted));
        assert_eq!((all.credit(), lossy.credit()), (49_152, 49_152));
    }

    #[test]
    fn packets_request_back_what_they_spend_while_there_is_much_to_send() {
        let mut requester = requester();
        let mut target = |packets: u64| {
            requester.on_sent(PACKET);
            requester.pull_target(&demand(10_000_000 - 4_150 * packets))
        };
        // 4150 B are 17 quanta of 256 B, 8300 B are 33.
        assert_eq!([target(1), target(2)], [4_352, 8_448]);
    }

    #[test]
    fn a_short_message_requests_a_packet_before_the_first_answer() {
        let mut requester = requester();
        requester.on_sent(PACKET);
        assert_eq!(requester.pull_target(&demand(8_300)), 4_352);
        // Nothing is left for the last.
        requester.on_sent(PACKET);
        assert_eq!(requester.pull_target(&demand(0)), 4_352);
    }

    #[test]
    fn credit_has_a_bound() {
        let mut requester = empty();
        requester.on_pull(300_032);
        assert_eq!(requester.credit(), WINDOW);
    }

    #[test]
    fn a_request_is_what_is_to_be_sent_without_the_credit_there_is() {
        // 100 000 B new, 8300 B again, 20 000 B of credit granted before: 88 300 B, 345 quanta, after 79 quanta.
        let mut requester = empty();
        requester.on_pull(79 * 256);
        requester.on_sent(Bytes::new(224));
        let demand = Demand { retransmit: Bytes::new(8_300), ..demand(100_000) };
        assert_eq!(requester.pull_target(&demand), (79 + 345) * 256);
    }

    #[test]
    fn a_request_is_no_more_than_the_window_of_the_control_and_a_packet() {
        // 20 000 + 4150 B = 94.3 quanta.
        let demand = Demand { cwnd: Bytes::new(20_000), ..demand(1_000_000) };
        assert_eq!(empty().pull_target(&demand), 95 * 256);
        // W = 878.9 quanta.
        assert_eq!(empty().pull_target(&Demand { cwnd: Bytes::MAX, ..demand }), 879 * 256);
    }

    #[test]
    fn sources_of_one_card_divide_a_request() {
        // 225 000/3 = 75 000 B, 293 quanta less 8 B.
        let demand = Demand { sources: 3, ..demand(1_000_000) };
        assert_eq!(empty().pull_target(&demand), 293 * 256);
    }

    #[test]
    fn a_request_never_falls() {
        let mut requester = empty();
        assert_eq!(requester.pull_target(&demand(25_600)), 25_600);
        assert_eq!(requester.pull_target(&demand(0)), 25_600);
    }

    #[test]
    fn a_request_leaves_alone_once_in_a_round_trip_time_without_credit() {
        let mut requester = empty();
        assert_eq!(requester.rts(at(0), &demand(0)), None);
        assert_eq!(requester.rts(at(0), &demand(2_560)), Some(2_560));
        assert_eq!(requester.rts_from(), at(12));
        assert_eq!(requester.rts(at(11), &demand(5_120)), None);
        assert_eq!(requester.rts(at(12), &demand(5_120)), Some(5_120));
        // Nothing else to request.
        assert_eq!(requester.rts(at(24), &demand(5_120)), None);
        requester.on_pull(5_120);
        assert_eq!(requester.rts(at(24), &demand(10_000)), None);
    }

    #[test]
    fn a_timeout_lets_a_request_be_repeated() {
        let mut requester = empty();
        assert_eq!(requester.rts(at(0), &demand(2_560)), Some(2_560));
        requester.on_timeout();
        assert_eq!(requester.rts(at(100), &demand(2_560)), Some(2_560));
    }

    #[test]
    fn amounts_beyond_the_range_do_not_wrap() {
        let mut requester = empty();
        requester.on_pull(u64::MAX);
        let most = Demand { retransmit: Bytes::MAX, ..demand(u64::MAX) };
        assert_eq!((requester.credit(), requester.pull_target(&most)), (WINDOW, u64::MAX));
        requester.on_sent(Bytes::MAX);
        assert_eq!((requester.credit(), requester.pull_target(&most)), (i64::MIN, u64::MAX));
    }
}
