//! A shaper: a packet waits until a token bucket has enough for it, and then leaves at the rate of the link (`tbf` in Linux).
//!
//! With `peak` it waits until a second bucket has enough for it as well (`peakrate` and `mtu` of `tbf`). In any time T no more passes than
//! ```text
//! min(B + R·T, P + Q·T)      R, B of the shaper; Q, P of its peak
//! ```
//! Where the bucket of the peak holds one packet, what has been saved up leaves at the peak rate, not all at once.
//!
//! The packet that waits has left the queue; the queue and what governs it see a link that is busy.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{BitRate, Bytes, Time};

use super::bucket::Bucket;
use super::policer::check_bucket;

/// Packets wait until a token bucket has enough for them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Tokens per second.
    pub rate: BitRate,
    /// Depth of the bucket, which is full at the beginning.
    pub burst: Bytes,
    /// A second bucket, which limits the rate of bursts; they leave at the rate of the link if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
}

/// The second bucket of a shaper.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Tokens per second, more than those of the first bucket.
    pub rate: BitRate,
    /// Depth of the bucket, which is full at the beginning: the largest packet, or a few.
    pub burst: Bytes,
}

impl Shaper {
    /// Whether its settings are in their ranges, which it declares; those of the peak are [`Peak::check`].
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        check_bucket(self.rate, self.burst, ranges)
    }
}

impl Peak {
    /// Whether its settings are in their ranges, which it declares, at a shaper of this rate.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, rate: BitRate, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        check_bucket(self.rate, self.burst, ranges)?;
        ranges.unless(self.rate > rate, "rate", self.rate, "more than that of the shaper")
    }
}

/// The buckets of a shaper.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    first: Bucket,
    peak: Option<Bucket>,
}

impl Buckets {
    pub(super) fn new(shaper: &Shaper) -> Self {
        let peak = shaper.peak.map(|peak| Bucket::new(peak.rate, peak.burst));
        Self { first: Bucket::new(shaper.rate, shaper.burst), peak }
    }

    /// Takes the tokens of a packet as soon as there are enough, from `now` on, or from the last time on if that is later. Returns when.
    pub(super) fn take_when_enough(&mut self, now: Time, size: u64) -> Time {
        let mut at = self.first.when_enough(now, size);
        if let Some(peak) = &mut self.peak {
            at = at.max(peak.when_enough(now, size));
            peak.spend(at, size);
        }
        self.first.spend(at, size);
        at
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Span;
    use proptest::prelude::*;

    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn buckets(rate: u64, burst: u64, peak: Option<(u64, u64)>) -> Buckets {
        let peak = peak.map(|(rate, burst)| Peak { rate: BitRate::from_bps(rate), burst: Bytes::new(burst) });
        Buckets::new(&Shaper { rate: BitRate::from_bps(rate), burst: Bytes::new(burst), peak })
    }

    #[test]
    fn what_has_been_saved_up_leaves_at_the_peak_rate() {
        // 1500 B take 300 us at 40 Mb/s and 1200 us at 10 Mb/s. The first bucket is empty after n packets: 15 kB + 10 Mb/s · (n − 1) · 300 us
        // are 1500 B · n for n = 13; from then on the packets leave when 1500 B · n − 15 kB have come.
        let mut buckets = buckets(10_000_000, 15_000, Some((40_000_000, 1_500)));
        let left: Vec<_> = (0..20).map(|_| buckets.take_when_enough(Time::ZERO, 1_500)).collect();
        let expected =
            (1..=20_u64).map(|number| us((300 * (number - 1)).max((1_200 * number).saturating_sub(12_000))));
        assert_eq!(left, expected.collect::<Vec<_>>());
    }

    proptest! {
        /// In any interval no more passes than either bucket holds and what comes to it meanwhile, and a packet leaves in the first
        /// picosecond in which that allows it.
        #[test]
        fn what_passes_is_the_lesser_integral_to_the_byte(
            rate in 1_000..1_000_000_000_u64,
            depth in 1_500..20_000_u64,
            faster in 1..1_000_000_000_u64,
            peak_depth in 1_500..10_000_u64,
            offered in prop::collection::vec((0..50_000_000_000_u64, 64..1_500_u64), 1..60),
        ) {
            let limits = [(rate, depth), (rate + faster, peak_depth)];
            let mut buckets = buckets(rate, depth, Some(limits[1]));
            let (mut now, mut passed) = (0_u64, Vec::<(u64, u64)>::new());
            // The time before which a packet would exceed what a bucket allows since an earlier one, the long way, in picoseconds.
            let due = |passed: &[(u64, u64)], size: u64| {
                let begins = (0..=passed.len()).map(|from| {
                    let since = passed.get(from).map(|(at, _)| *at);
                    let bytes = passed[from..].iter().map(|(_, size)| *size).sum::<u64>() + size;
                    let after = |(rate, depth): (u64, u64)| {
                        let bits = (u128::from(bytes) * 8).saturating_sub(u128::from(depth) * 8);
                        let wait = (bits * 1_000_000_000_000).div_ceil(rate.into());
                        since.map_or(0, |since| since + u64::try_from(wait).unwrap_or(u64::MAX))
                    };
                    limits.map(after).into_iter().max().unwrap_or(0)
                });
                begins.max().unwrap_or(0)
            };
            for (gap, size) in offered {
                let start = now + gap;
                let left = buckets.take_when_enough(Time::from_ps(start), size).as_ps();
                prop_assert_eq!(left, start.max(due(&passed, size)));
                passed.push((left, size));
                now = left;
            }
        }
    }
}
