use super::params::{CnpPer, Params, Recovery};
use super::selective::{Answered, Selective};
use super::wire::{AckFrame, Reply};
use crate::cc::Ecn;
use crate::range_set::RangeSet;
use crate::stream::Segment;
use crate::units::Time;

/// The receiving half of a connection that carries one flow. It answers packets and has no timer.
///
/// Differs from Zhu et al. §3.1: a mark that comes while no congestion notification packet may be sent is not remembered
/// until one may; the next mark sends it, as in network cards.
#[derive(Clone, Debug)]
pub struct Receiver {
    ecn: Ecn,
    /// Everything below has arrived.
    next: u64,
    /// Selective repeat, any order: what arrived beyond `next`.
    held: RangeSet,
    /// Length of the flow, once its last packet was taken.
    size: Option<u64>,
    /// Go-back-N: a NAK has named the gap at `next`.
    nak_sent: bool,
    /// Packets taken in order since the last acknowledgment.
    unacknowledged: bool,
    /// The last packet was marked.
    ce: bool,
    /// When the next congestion notification packet may be sent.
    cnp_at: Time,
}

/// A packet whose payload a switch has cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// The packet; its length is not known.
    pub segment: Segment,
    /// The link to the receiver was the one it had no room before.
    pub at_last_hop: bool,
}

impl Receiver {
    /// A receiver to which nothing has arrived.
    pub fn new(ecn: Ecn) -> Self {
        Self {
            ecn,
            next: 0,
            held: RangeSet::default(),
            size: None,
            nak_sent: false,
            unacknowledged: false,
            ce: false,
            cnp_at: Time::ZERO,
        }
    }

    /// Everything has arrived.
    pub fn is_complete(&self) -> bool {
        self.size == Some(self.next)
    }

    /// Bytes that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Nothing has arrived beyond a gap.
    pub fn is_in_order(&self) -> bool {
        self.held.is_empty()
    }

    /// A packet arrived. `send` is called for each answer.
    #[inline]
    pub fn on_segment(&mut self, params: &Params, now: Time, segment: &Segment, mut send: impl FnMut(Reply)) {
        if params.recovery == Recovery::AnyOrder {
            return self.on_any(params, now, segment, send);
        }
        match self.ecn {
            Ecn::Off => {}
            Ecn::Cnp => {
                if self.notifies(params, now, segment) {
                    send(Reply::Cnp);
                }
            }
            Ecn::Classic | Ecn::Accurate | Ecn::Counted => {
                // What came before a change is acknowledged with the marks it had (RFC 8257 §3.2).
                if segment.ce != self.ce && self.unacknowledged {
                    send(self.ack(None));
                }
                self.ce = segment.ce;
            }
        }
        let range = segment.range();
        let answer = if range.start == self.next && self.held.is_empty() {
            self.take_in_order(segment)
        } else if range.end <= self.next {
            // The acknowledgment was lost, or the timeout too short.
            Some(None)
        } else if params.recovery == Recovery::GoBackN {
            let first = !self.nak_sent;
            self.nak_sent = true;
            first.then_some(Some(range.start))
        } else {
            Some(self.keep(segment))
        };
        if let Some(nak) = answer {
            send(self.ack(nak));
        }
    }

    /// Whether a packet is answered by a congestion notification packet.
    #[inline]
    fn notifies(&mut self, params: &Params, now: Time, segment: &Segment) -> bool {
        let out_of_sequence = params.cnp_on_out_of_sequence && segment.seq > self.next;
        // Between queue pairs of one card its host keeps the distance.
        let is_time = params.cnp_per == CnpPer::Nic || now >= self.cnp_at;
        let notifies = (segment.ce || out_of_sequence) && is_time;
        if notifies {
            self.cnp_at = now + params.cnp_interval;
        }
        notifies
    }

    /// A packet arrived where any order is as good.
    fn on_any(&mut self, params: &Params, now: Time, segment: &Segment, mut send: impl FnMut(Reply)) {
        if self.ecn == Ecn::Cnp && self.notifies(params, now, segment) {
            send(Reply::Cnp);
        }
        let range = segment.range();
        // One without payload asks for credit.
        let is_new = !range.is_empty() && range.start >= self.next && !self.held.contains(&range);
        if segment.fin {
            self.size = Some(range.end);
        }
        if is_new && range.start > self.next {
            self.held.insert(range, |_| {});
        } else if is_new {
            self.fill(range.end);
        }
        // One that is marked says so soon (Ultra Ethernet).
        if segment.requests_ack || segment.fin || segment.ce || !is_new || self.is_complete() {
            send(self.selective(params, segment, None));
        }
    }

    /// The headers of a packet arrived, whose payload a switch has cut off.
    pub fn on_trimmed(&mut self, params: &Params, now: Time, trimmed: &Trimmed, mut send: impl FnMut(Reply)) {
        let segment = &trimmed.segment;
        if self.ecn == Ecn::Cnp && self.notifies(params, now, segment) {
            send(Reply::Cnp);
        }
        let is_missing = segment.seq >= self.next && self.held.around(segment.seq).is_none();
        send(self.selective(params, segment, is_missing.then_some(trimmed.at_last_hop)));
    }

    /// The answer to a packet; with `trimmed` it is a NAK, and says whether that was at the last hop.
    fn selective(&self, params: &Params, segment: &Segment, trimmed: Option<bool>) -> Reply {
        let answers = Answered { segment, at_last_hop: trimmed == Some(true) };
        let selective = Selective::new(answers, self.next, &self.held, params.mtu);
        let ece = segment.ce && matches!(self.ecn, Ecn::Classic | Ecn::Accurate | Ecn::Counted);
        Reply::Ack(AckFrame { ack: self.next, nak: trimmed.map(|_| segment.seq), ece, selective })
    }

    /// Everything below `end` has arrived, and what is held from there on.
    fn fill(&mut self, end: u64) {
        self.next = end;
        if let Some(first) = self.held.first().filter(|first| first.start <= self.next) {
            self.next = self.next.max(first.end);
        }
        self.held.remove_below(self.next);
    }

    /// The packet that was expected. Returns the answer, if there is one.
    fn take_in_order(&mut self, segment: &Segment) -> Option<Option<u64>> {
        self.next = segment.range().end;
        self.nak_sent = false;
        self.unacknowledged = true;
        if segment.fin {
            self.size = Some(self.next);
        }
        (segment.requests_ack || segment.fin).then_some(None)
    }

    /// Keeps a packet beyond a gap, or one that fills it. Returns what is to be named.
    fn keep(&mut self, segment: &Segment) -> Option<u64> {
        let range = segment.range();
        if segment.fin {
            self.size = Some(range.end);
        }
        if range.start > self.next {
            self.held.insert(range.clone(), |_| {});
            return Some(range.start);
        }
        self.fill(range.end);
        None
    }

    fn ack(&mut self, nak: Option<u64>) -> Reply {
        self.unacknowledged = false;
        Reply::Ack(AckFrame { ack: self.next, nak, ece: self.ce, selective: Selective::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    const LEN: u32 = 1024;

    struct Fixture {
        params: Params,
        receiver: Receiver,
    }

    impl Fixture {
        fn new(recovery: Recovery, ecn: Ecn) -> Self {
            Self { params: Params { recovery, ..Params::default() }, receiver: Receiver::new(ecn) }
        }

        /// Packet `number` arrives; an acknowledgment is wanted.
        fn arrive(&mut self, number: u64) -> Vec<(u64, Option<u64>)> {
            self.arrive_at(0, Segment { requests_ack: true, ..packet(number) })
                .into_iter()
                .filter_map(|reply| match reply {
                    Reply::Ack(frame) => {
                        Some((frame.ack / u64::from(LEN), frame.nak.map(|nak| nak / u64::from(LEN))))
                    }
                    Reply::Cnp => None,
                })
                .collect()
        }

        fn arrive_at(&mut self, us: u64, segment: Segment) -> Vec<Reply> {
            let mut sent = Vec::new();
            let now = Time::ZERO + Span::from_us(us);
            self.receiver.on_segment(&self.params, now, &segment, |reply| sent.push(reply));
            sent
        }
    }

    fn packet(number: u64) -> Segment {
        Segment { seq: number * u64::from(LEN), len: LEN, ..Segment::default() }
    }

    #[test]
    fn packets_are_acknowledged_on_request_and_at_the_end() {
        let mut fixture = Fixture::new(Recovery::GoBackN, Ecn::Off);
        assert_eq!(fixture.arrive_at(0, packet(0)), []);
        assert_eq!(fixture.arrive(1), [(2, None)]);
        assert_eq!(fixture.arrive_at(0, Segment { fin: true, ..packet(2) }).len(), 1);
        assert!(fixture.receiver.is_complete());
    }

    #[test]
    fn going_back_drops_what_is_out_of_order_and_says_so_once_for_each_gap() {
        let mut fixture = Fixture::new(Recovery::GoBackN, Ecn::Off);
        fixture.arrive(0);
        assert_eq!(fixture.arrive(2), [(1, Some(2))]);
        assert_eq!(fixture.arrive(3), []);
        assert_eq!(fixture.arrive(1), [(2, None)], "2 and 3 were dropped");
        assert_eq!(fixture.arrive(3), [(2, Some(3))]);
    }

    #[test]
    fn selective_repeat_keeps_what_is_out_of_order_and_names_each() {
        let mut fixture = Fixture::new(Recovery::SelectiveRepeat, Ecn::Off);
        fixture.arrive(0);
        assert_eq!(fixture.arrive(2), [(1, Some(2))]);
        assert_eq!(fixture.arrive(4), [(1, Some(4))]);
        assert_eq!(fixture.arrive(1), [(3, None)]);
        assert_eq!(fixture.arrive(3), [(5, None)]);
    }

    #[test]
    fn a_last_packet_that_comes_early_does_not_end_the_flow() {
        let mut fixture = Fixture::new(Recovery::SelectiveRepeat, Ecn::Off);
        fixture.arrive_at(0, Segment { fin: true, ..packet(1) });
        assert!(!fixture.receiver.is_complete());
        fixture.arrive(0);
        assert!(fixture.receiver.is_complete());
    }

    #[test]
    fn packets_out_of_sequence_are_notified_of_like_marks_if_that_is_set() {
        for (set, expected) in [(false, [0, 0, 0, 1]), (true, [0, 1, 0, 1])] {
            let mut fixture = Fixture::new(Recovery::GoBackN, Ecn::Cnp);
            fixture.params.cnp_on_out_of_sequence = set;
            // In sequence, beyond a gap, again within the interval, and marked after it.
            let arrivals =
                [(0, packet(0)), (1, packet(2)), (2, packet(3)), (60, Segment { ce: true, ..packet(1) })];
            let cnps = arrivals.map(|(us, segment)| {
                fixture.arrive_at(us, segment).iter().filter(|reply| **reply == Reply::Cnp).count()
            });
            assert_eq!(cnps, expected);
        }
    }

    #[test]
    fn a_duplicate_is_acknowledged_at_once() {
        for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
            let mut fixture = Fixture::new(recovery, Ecn::Off);
            (0..3).for_each(|number| drop(fixture.arrive(number)));
            assert_eq!(fixture.arrive(0), [(3, None)]);
        }
    }

    #[test]
    fn one_notification_packet_is_sent_for_each_interval_with_marks() {
        let mut fixture = Fixture::new(Recovery::GoBackN, Ecn::Cnp);
        let marked = |us: u64, number| (us, Segment { ce: true, ..packet(number) });
        // At 0, 50 and 101 us; the mark at 100 us is not there.
        let arrivals = [marked(0, 0), marked(49, 1), marked(50, 2), (100, packet(3)), marked(101, 4)];
        let sent = arrivals.map(|(us, segment)| fixture.arrive_at(us, segment).contains(&Reply::Cnp));
        assert_eq!(sent, [true, false, true, false, true]);
    }

    #[test]
    fn marks_are_echoed_to_controls_that_read_them() {
        let mut fixture = Fixture::new(Recovery::GoBackN, Ecn::Accurate);
        let ece = |replies: Vec<Reply>| {
            let of = |reply| matches!(reply, Reply::Ack(AckFrame { ece: true, .. }));
            replies.into_iter().map(of).collect::<Vec<_>>()
        };
        assert!(fixture.arrive_at(0, packet(0)).is_empty());
        let marked = Segment { ce: true, requests_ack: true, ..packet(1) };
        assert_eq!(ece(fixture.arrive_at(0, marked)), [false, true], "the first packet was not marked");
    }
}
