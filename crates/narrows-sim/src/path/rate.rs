//! Rates that change.
//!
//! When the rate changes, the packet on the wire keeps the bits that have been sent and goes on at the new rate. At rate zero it waits.

use std::sync::Arc;

use narrows_proto::units::{BitRate, Span, Time, WireTime};

use super::opportunities::{AtOpportunities, Opportunities};
use super::steps::{Cursor, Piece, Steps};

/// A rate that changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// At given times. It may be zero, but not for ever.
    Steps(Arc<Steps<BitRate>>),
    /// Packets leave at given times.
    Opportunities(Arc<Opportunities>),
}

impl Rate {
    /// Bits that can be sent from one time to another.
    pub fn bits_between(&self, from: Time, until: Time) -> f64 {
        match self {
            Self::Steps(steps) => steps.bits_between(from, until) as f64 / BITS as f64,
            Self::Opportunities(all) => all.between(from, until).as_f64() * 8.0,
        }
    }
}

/// Bit/s times picoseconds that are a bit.
pub(super) const BITS: u64 = 1_000_000_000_000;

impl Steps<BitRate> {
    /// Capacity from one time to another, in bit/s times picoseconds.
    pub(crate) fn bits_between(&self, from: Time, until: Time) -> u128 {
        let (mut bits, mut at) = (0, from);
        if let Some(period) = self.period().filter(|period| until - from >= *period) {
            let rounds = (until - from).as_ps() / period.as_ps();
            bits = u128::from(rounds) * self.of_period(period);
            at += period.saturating_mul(rounds);
        }
        while at < until {
            let piece = self.at(at);
            let end = piece.until.min(until);
            bits += amount(piece.value, end - at);
            at = end;
        }
        bits
    }

    fn of_period(&self, period: Span) -> u128 {
        let (mut bits, mut at) = (0, Time::ZERO);
        while at < Time::ZERO + period {
            let piece = self.at(at);
            bits += amount(piece.value, piece.until - at);
            at = piece.until;
        }
        bits
    }

    /// The mean rate of a period, rounded down; of the last step if it holds for ever.
    pub fn lasting(&self) -> BitRate {
        match self.period() {
            None => self.values().last().unwrap_or(BitRate::ZERO),
            Some(period) => BitRate::from_bps((self.of_period(period) / u128::from(period.as_ps())) as u64),
        }
    }
}

fn amount(rate: BitRate, span: Span) -> u128 {
    u128::from(rate.as_bps()) * u128::from(span.as_ps())
}

/// Sends packets at a rate.
#[derive(Clone, Debug)]
pub(super) enum Sending {
    Fixed(WireTime),
    Steps(AtSteps),
    Opportunities(AtOpportunities),
}

impl Sending {
    pub(super) fn new(rate: Option<&Rate>, fixed: WireTime) -> Self {
        match rate {
            None => Self::Fixed(fixed),
            Some(Rate::Steps(steps)) => Self::Steps(AtSteps::new(steps)),
            Some(Rate::Opportunities(all)) => Self::Opportunities(AtOpportunities::new(all)),
        }
    }

    /// When a packet has been sent that begins at `start`, which is never earlier than the end of the last.
    #[inline]
    pub(super) fn sent_at(&mut self, start: Time, size: u64) -> Time {
        match self {
            Self::Fixed(wire_time) => start + wire_time.of_many(size),
            Self::Steps(steps) => steps.sent_at(start, size),
            Self::Opportunities(all) => all.sent_at(start, size),
        }
    }
}

/// Sends packets at a rate that changes at given times.
#[derive(Clone, Debug)]
pub(super) struct AtSteps {
    cursor: Cursor<BitRate>,
    /// The time of packets at `rate`; none at rate zero.
    wire_time: Option<WireTime>,
    rate: BitRate,
    /// The period, and what can be sent in it.
    period: Option<(Span, u128)>,
}

impl AtSteps {
    fn new(steps: &Arc<Steps<BitRate>>) -> Self {
        let period = steps.period().map(|period| (period, steps.of_period(period)));
        assert!(steps.lasting() > BitRate::ZERO, "a rate is not zero for ever");
        let mut new = Self { cursor: Cursor::new(steps), wire_time: None, rate: BitRate::ZERO, period };
        new.follow(Time::ZERO);
        new
    }

    #[inline]
    fn follow(&mut self, now: Time) -> Piece<BitRate> {
        let piece = self.cursor.at(now);
        if piece.value != self.rate {
            self.rate = piece.value;
            self.wire_time = (piece.value > BitRate::ZERO).then(|| piece.value.wire_time());
        }
        piece
    }

    #[inline]
    fn sent_at(&mut self, start: Time, size: u64) -> Time {
        let piece = self.follow(start);
        if let Some(wire_time) = self.wire_time
            && size <= u64::from(u16::MAX)
        {
            let end = start + wire_time.of_many(size);
            if end <= piece.until {
                return end;
            }
        }
        self.sent_over(start, size)
    }

    /// Over a change, or several.
    #[cold]
    fn sent_over(&mut self, start: Time, size: u64) -> Time {
        let mut left = u128::from(size) * 8 * u128::from(BITS);
        let mut at = start;
        if let Some((period, bits)) = self.period {
            // All whole rounds at once; something is left for the rest.
            let rounds = (left - 1) / bits;
            left -= rounds * bits;
            at += period.saturating_mul(u64::try_from(rounds).unwrap_or(u64::MAX));
        }
        loop {
            let piece = self.cursor.steps().at(at);
            let sent = amount(piece.value, piece.until - at);
            if sent >= left {
                let took = left.div_ceil(u128::from(piece.value.as_bps()));
                return at + Span::from_ps(u64::try_from(took).unwrap_or(u64::MAX));
            }
            if piece.until <= at {
                return Time::NEVER;
            }
            left -= sent;
            at = piece.until;
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Bytes;
    use proptest::prelude::*;

    use super::*;

    const MBPS: fn(u64) -> BitRate = BitRate::from_mbps;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn sending(steps: &[(u64, u64)], period: Option<u64>) -> Sending {
        let steps = steps.iter().map(|(us, mbps)| (Span::from_us(*us), MBPS(*mbps)));
        let steps = Steps::new(steps, period.map(Span::from_us));
        Sending::new(Some(&Rate::Steps(Arc::new(steps))), MBPS(1).wire_time())
    }

    #[test]
    fn a_packet_keeps_the_bits_it_has_sent_and_goes_on_at_the_new_rate() {
        // 12 000 bits: 500 us at 12 Mb/s are 6000, the other 6000 take 250 us at 24 Mb/s.
        let mut link = sending(&[(0, 12), (500, 24)], None);
        assert_eq!(link.sent_at(us(0), 1500), us(750));
        assert_eq!(link.sent_at(us(750), 1500), us(1_250));
    }

    #[test]
    fn at_rate_zero_it_waits() {
        let mut link = sending(&[(0, 12), (500, 0), (2_000, 12)], None);
        assert_eq!(link.sent_at(us(0), 1500), us(2_500));
        let mut link = sending(&[(0, 12), (500, 0), (2_000, 12)], None);
        assert_eq!(link.sent_at(us(700), 1500), us(3_000), "it begins while the rate is zero");
    }

    #[test]
    fn a_packet_may_last_for_many_rounds() {
        // 12 bits a round: 1000 rounds, the last of which needs 1 us only.
        let mut link = sending(&[(0, 12), (1, 0)], Some(100));
        assert_eq!(link.sent_at(us(0), 1500), us(99_901));
        // From the middle of a round on.
        let mut link = sending(&[(0, 12), (1, 0)], Some(100));
        assert_eq!(link.sent_at(us(50), 1500), us(100 + 99_901));
    }

    #[test]
    fn without_a_change_the_time_is_that_of_a_wire() {
        for bps in [1_000, 7_000_000_003, 100_000_000_000] {
            let rate = BitRate::from_bps(bps);
            let steps = Steps::new([(Span::ZERO, rate)], None);
            let mut link = Sending::new(Some(&Rate::Steps(Arc::new(steps))), MBPS(1).wire_time());
            for size in [1, 84, 1538, 9000, 65_535, 1 << 40] {
                assert_eq!(link.sent_at(us(3), size), us(3) + rate.time_to_send(Bytes::new(size)));
            }
        }
    }

    #[test]
    fn more_than_ever_can_be_sent_takes_for_ever() {
        for mut link in [sending(&[(0, 12), (500, 24)], None), sending(&[(0, 12), (500, 24)], Some(700))] {
            assert_eq!(link.sent_at(us(1), u64::MAX), Time::NEVER);
        }
    }

    proptest! {
        #[test]
        fn bits_that_leave_are_the_integral_of_the_rate(
            steps in prop::collection::vec((1..5_000_u64, prop::sample::select(vec![0, 1_000, 999_983, 7_000_001, 1_000_000_000_u64])), 1..12),
            repeats: bool,
            sizes in prop::collection::vec(1..9_000_u64, 1..60),
        ) {
            let mut at = 0;
            let mut list = Vec::new();
            for (lasts, bps) in steps {
                list.push((Span::from_us(at), BitRate::from_bps(bps)));
                at += lasts;
            }
            list.push((Span::from_us(at), MBPS(3)));
            let period = repeats.then(|| Span::from_us(at + 77));
            let steps = Arc::new(Steps::new(list, period));
            let mut link = Sending::new(Some(&Rate::Steps(Arc::clone(&steps))), MBPS(1).wire_time());
            let mut now = us(13);
            for size in sizes {
                let end = link.sent_at(now, size);
                let bits = u128::from(size) * 8 * u128::from(BITS);
                // It ends in the picosecond in which the last bit leaves.
                prop_assert!(steps.bits_between(now, end) >= bits);
                prop_assert!(steps.bits_between(now, Time::from_ps(end.as_ps() - 1)) < bits);
                now = end;
            }
        }
    }
}
