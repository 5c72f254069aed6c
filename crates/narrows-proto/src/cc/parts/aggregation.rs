use super::super::Ack;
use crate::units::{BitRate, Bytes, Span, Time};

/// Data acknowledged at once beyond the estimated rate: a receiver or a link that collects acknowledgments
/// leaves the sender without any for a while, and the window must have room for that.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    /// Since `epoch` this much was acknowledged, always more than the rate promises.
    epoch: Time,
    acked: Bytes,
    /// The most that was acknowledged beyond the promise, in the present part of the filter and in the one before.
    most: [Bytes; 2],
    rounds: u64,
}

impl Aggregation {
    /// A new epoch begins: the connection was idle until now.
    pub fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.acked = Bytes::ZERO;
    }

    /// `rate` is the estimate, `part` the rounds of one part of the filter. An epoch ends at `longest` bytes.
    pub fn on_ack(&mut self, ack: &Ack, rate: BitRate, cwnd: Bytes, part: u64, longest: Bytes) {
        if ack.round_start {
            self.rounds += 1;
            if self.rounds >= part {
                self.rounds = 0;
                self.most = [Bytes::ZERO, self.most[0]];
            }
        }
        let mut promised = rate * ack.now.saturating_since(self.epoch);
        if self.acked <= promised || self.acked.saturating_add(ack.acked) >= longest {
            self.restart(ack.now);
            promised = Bytes::ZERO;
        }
        self.acked = self.acked.saturating_add(ack.acked);
        let extra = self.acked.saturating_sub(promised).min(cwnd);
        self.most[0] = self.most[0].max(extra);
    }

    /// Room for what was acknowledged beyond the promise, at most `limit` worth of `rate`.
    pub fn extra(&self, rate: BitRate, limit: Span) -> Bytes {
        self.most[0].max(self.most[1]).min(rate * limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack};

    /// 1000 B per millisecond.
    const RATE: BitRate = BitRate::from_mbps(8);
    const LIMIT: Span = Span::from_ms(100);

    fn receive(aggregation: &mut Aggregation, at_ms: u64, segments: u64, round_start: bool) -> Bytes {
        let now = Time::ZERO + Span::from_ms(at_ms);
        let ack = Ack { now, round_start, ..ack(MSS * segments) };
        aggregation.on_ack(&ack, RATE, MSS * 1000, 5, Bytes::MAX);
        aggregation.extra(RATE, LIMIT)
    }

    #[test]
    fn what_comes_beyond_the_rate_is_measured_from_the_start_of_a_burst() {
        let mut aggregation = Aggregation::default();
        // At 100 ms the 8 segments begin an epoch; 3 more 1 ms later make 11, of which the rate promised 1.
        assert_eq!(receive(&mut aggregation, 100, 8, false), MSS * 8);
        assert_eq!(receive(&mut aggregation, 101, 3, false), MSS * 10);
        // 9 ms later 10 are promised, still less than 11: the epoch goes on with 12 − 10.
        assert_eq!(receive(&mut aggregation, 110, 1, false), MSS * 10);
        assert_eq!(aggregation.acked, MSS * 12);
        // At 112 ms 12 are promised: a new epoch.
        receive(&mut aggregation, 112, 1, false);
        assert_eq!(aggregation.acked, MSS);
    }

    #[test]
    fn a_burst_is_remembered_for_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        receive(&mut aggregation, 100, 50, false);
        for round in 1..10 {
            assert_eq!(receive(&mut aggregation, 100 + 100 * round, 1, true), MSS * 50, "round {round}");
        }
        assert_eq!(receive(&mut aggregation, 1100, 1, true), MSS);
    }

    #[test]
    fn the_room_is_what_the_path_delivers_in_the_limit_at_the_most() {
        let mut aggregation = Aggregation::default();
        assert_eq!(receive(&mut aggregation, 1000, 500, false), MSS * 100);
    }
}
