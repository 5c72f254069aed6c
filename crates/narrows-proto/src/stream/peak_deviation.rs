use crate::units::Span;

/// The margin of the retransmission timeout as Linux has it (`tcp_rtt_estimator` in `net/ipv4/tcp_input.c`): the largest deviation of a
/// round trip, which the next ones let fall slowly.
///
/// ```text
/// D = mean deviation, four times as in RFC 6298
///     D += |err| − D/4                   err = R − SRTT
///     D += (|err| − D/4)/8               if R fell below SRTT by more than D/4: a path that became shorter is no variation
/// margin    = largest D, at least min    at once
/// margin   −= (margin − largest D of the round)/4    when a round trip ends
/// ```
#[derive(Clone, Debug)]
pub(crate) struct PeakDeviation {
    /// Four times the mean deviation (`mdev_us`).
    deviation: Span,
    /// The largest of this round trip (`mdev_max_us`).
    largest: Span,
    /// `rttvar_us`.
    margin: Span,
    min: Span,
}

impl PeakDeviation {
    /// Before the first sample, with the least margin.
    pub(super) fn new(min: Span) -> Self {
        Self { deviation: Span::ZERO, largest: min, margin: min, min }
    }

    /// A sample, which the smoothed round-trip time does not contain yet; that is zero before the first. Returns what the timeout
    /// exceeds the smoothed round-trip time by.
    pub(super) fn add(&mut self, srtt: Span, sample: Span) -> Span {
        if srtt == Span::ZERO {
            self.deviation = sample * 2;
            self.margin = self.deviation.max(self.min);
            self.largest = self.margin;
            return self.margin;
        }
        let quarter = self.deviation / 4;
        let fell = sample < srtt;
        let error = if fell { srtt - sample } else { sample - srtt };
        if error > quarter {
            let more = error - quarter;
            self.deviation += if fell { more / 8 } else { more };
        } else {
            self.deviation = self.deviation - (quarter - error);
        }
        self.largest = self.largest.max(self.deviation);
        self.margin = self.margin.max(self.largest);
        self.margin
    }

    /// A round trip has ended.
    pub(super) fn end_round(&mut self) {
        if self.largest < self.margin {
            self.margin = self.margin - (self.margin - self.largest) / 4;
        }
        self.largest = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_ms;

    #[test]
    fn a_peak_counts_at_once_and_leaves_by_quarters() {
        let mut peaks = PeakDeviation::new(MS(10));
        assert_eq!(peaks.add(Span::ZERO, MS(40)), MS(80));
        assert_eq!(peaks.add(MS(40), MS(140)), MS(160)); // 80 + 100 − 20
        peaks.end_round();
        assert_eq!(peaks.margin, MS(160), "it was of this round");
        peaks.end_round();
        assert_eq!(peaks.margin, MS(160) - MS(150) / 4);
    }

    #[test]
    fn a_path_that_became_shorter_varies_an_eighth_as_much() {
        let mut peaks = PeakDeviation::new(MS(1));
        peaks.add(Span::ZERO, MS(8)); // D = 16
        assert_eq!(peaks.add(MS(100), MS(64)), MS(20)); // (36 − 4)/8
    }

    #[test]
    fn the_margin_stays_at_the_minimum() {
        let mut peaks = PeakDeviation::new(MS(200));
        peaks.add(Span::ZERO, MS(10));
        for _ in 0..100 {
            assert_eq!(peaks.add(MS(10), MS(10)), MS(200));
            peaks.end_round();
        }
    }
}
