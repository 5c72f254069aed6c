//! A token bucket, exact: what it holds is counted in bit/s times picoseconds.

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::rate::BITS;

/// Share of the bucket that a byte takes.
const PER_BYTE: u128 = 8 * BITS as u128;

/// Tokens that come at a rate until the bucket is full.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: u128,
    depth: u128,
    /// Its content at `at`.
    content: u128,
    at: Time,
}

impl Bucket {
    /// Full at the beginning.
    pub(super) fn new(rate: BitRate, depth: Bytes) -> Self {
        let depth = u128::from(depth.get()) * PER_BYTE;
        Self { rate: rate.as_bps().into(), depth, content: depth, at: Time::ZERO }
    }

    fn fill(&mut self, now: Time) {
        let come = self.rate * u128::from((now - self.at).as_ps());
        (self.content, self.at) = (self.depth.min(self.content + come), now);
    }

    /// Takes the tokens of a packet, if there are enough.
    pub(super) fn take(&mut self, now: Time, size: u16) -> bool {
        self.fill(now);
        let needed = u128::from(size) * PER_BYTE;
        let enough = self.content >= needed;
        if enough {
            self.content -= needed;
        }
        enough
    }

    /// When there are enough tokens for a packet, from `now` on, or from the last time on if that is later.
    pub(super) fn when_enough(&mut self, now: Time, size: u64) -> Time {
        self.fill(now.max(self.at));
        let missing = (u128::from(size) * PER_BYTE).saturating_sub(self.content);
        self.at + Span::from_ps(u64::try_from(missing.div_ceil(self.rate)).unwrap_or(u64::MAX))
    }

    /// Takes the tokens of a packet at a time at which there are enough ([`when_enough`](Self::when_enough)).
    pub(super) fn spend(&mut self, at: Time, size: u64) {
        let needed = u128::from(size) * PER_BYTE;
        let come = self.rate * u128::from((at - self.at).as_ps());
        // What comes in the last picosecond beyond what is needed stays.
        self.content = (self.content + come).min(self.depth.max(needed)) - needed;
        self.at = at;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn take_when_enough(bucket: &mut Bucket, now: Time, size: u64) -> Time {
        let at = bucket.when_enough(now, size);
        bucket.spend(at, size);
        at
    }

    #[test]
    fn a_full_bucket_lasts_for_its_depth_over_the_excess_and_then_the_rate_passes() {
        // 100 kB, 10 Mb/s, offered 20 Mb/s in packets of 1000 B, one in 400 us: 8·B/(S − R) = 80 ms, 200 packets; then one of two.
        let mut bucket = Bucket::new(BitRate::from_mbps(10), Bytes::new(100_000));
        let passed: Vec<_> = (0..1_000).map(|number| bucket.take(us(400 * number), 1_000)).collect();
        let first = passed.iter().position(|passed| !passed).unwrap();
        // The packets at 0 and at 79.6 ms count as well: 100 kB + 0.5 kB · n ≥ 1 kB · (n + 1).
        assert_eq!(first, 199);
        let lost = passed[first..].iter().filter(|passed| !**passed).count();
        assert_eq!((lost, passed.len() - first - lost), (401, 400));
    }

    #[test]
    fn ten_packets_leave_at_once_and_then_one_in_each_1_2_ms() {
        let mut bucket = Bucket::new(BitRate::from_mbps(10), Bytes::new(15_000));
        let left: Vec<_> = (0..20).map(|_| take_when_enough(&mut bucket, Time::ZERO, 1_500)).collect();
        let expected: Vec<_> = (0..20_u64).map(|number| us(1_200 * number.saturating_sub(9))).collect();
        assert_eq!(left, expected);
    }

    proptest! {
        /// In any interval no more passes than the bucket holds and what comes meanwhile, and nothing is refused for which there are tokens.
        #[test]
        fn what_passes_is_the_integral_to_the_byte(
            rate in 1_000..1_000_000_000_u64,
            depth in 1_500..100_000_u64,
            offered in prop::collection::vec((0..5_000_000_000_u64, 64..1_500_u16), 1..200),
        ) {
            let mut bucket = Bucket::new(BitRate::from_bps(rate), Bytes::new(depth));
            let (mut now, mut passed) = (0_u64, Vec::<(u64, u64)>::new());
            // Tokens, the long way: what the fullest interval that ends now has left.
            for (gap, size) in offered {
                now += gap;
                let taken = bucket.take(Time::from_ps(now), size);
                let left = |from: usize, passed: &[(u64, u64)]| {
                    let since = passed.get(from).map_or(now, |(at, _)| *at);
                    let bytes: u64 = passed[from..].iter().map(|(_, size)| *size).sum();
                    i128::from(depth) * PER_BYTE as i128 + i128::from(rate) * i128::from(now - since)
                        - i128::from(bytes) * PER_BYTE as i128
                };
                let least = (0..=passed.len()).map(|from| left(from, &passed)).min().unwrap();
                prop_assert_eq!(taken, least >= i128::from(size) * PER_BYTE as i128);
                if taken {
                    passed.push((now, size.into()));
                }
            }
        }

        #[test]
        fn a_packet_waits_until_the_picosecond_in_which_there_are_tokens(
            rate in 1_000..1_000_000_000_u64,
            depth in 1_500..10_000_u64,
            offered in prop::collection::vec((0..50_000_000_000_u64, 64..1_500_u64), 1..100),
        ) {
            let new = || Bucket::new(BitRate::from_bps(rate), Bytes::new(depth));
            let (mut shaper, mut now) = (new(), Time::ZERO);
            for (gap, size) in offered {
                let before = shaper.clone();
                let start = now + Span::from_ps(gap);
                now = take_when_enough(&mut shaper, start, size);
                prop_assert!(now >= start && before.clone().take(now, size as u16));
                prop_assert!(now == start || !before.clone().take(Time::from_ps(now.as_ps() - 1), size as u16));
            }
        }
    }
}
