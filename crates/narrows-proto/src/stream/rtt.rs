use super::peak_deviation::PeakDeviation;
use crate::units::Span;

/// Round-trip time and retransmission timeout (RFC 6298).
///
/// RTTVAR = 3/4·RTTVAR + 1/4·|SRTT − R|, then SRTT = 7/8·SRTT + 1/8·R (§2.3); RTO = SRTT + max(min, 4·RTTVAR), doubled
/// at each expiry until a new sample arrives (§5.5 and the note that ends §5).
///
/// Differs from RFC 6298 §2.4: the minimum bounds the margin above SRTT and not the sum, as in Linux. RTTVAR vanishes on
/// a path of constant delay; with a minimum below the round-trip time, the timer would then expire just before the
/// answer to each retransmission.
///
/// Segments that were sent once give samples (Karn's rule, §3 of RFC 6298). Where an acknowledgment has none, the timestamp it echoes does
/// (RFC 7323 §4.1), and ends the back-off.
///
/// Differs from Linux: such a sample is exact. There it is a multiple of 1 ms (of 1 us since 6.7, where a route asks for it).
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Span,
    rttvar: Span,
    min: Span,
    rto: Span,
    min_rto: Span,
    max_rto: Span,
    backoff: u32,
    /// In place of 4·RTTVAR.
    peaks: Option<Box<PeakDeviation>>,
}

impl RttEstimator {
    pub(crate) fn new(initial_rto: Span, min_rto: Span, max_rto: Span) -> Self {
        let (srtt, rttvar) = (Span::ZERO, Span::ZERO);
        Self { srtt, rttvar, min: Span::MAX, rto: initial_rto, min_rto, max_rto, backoff: 0, peaks: None }
    }

    /// The same with the margin of [`PeakDeviation`], if `peaks`.
    pub(super) fn with_peaks(self, peaks: bool) -> Self {
        let peaks = peaks.then(|| Box::new(PeakDeviation::new(self.min_rto)));
        Self { peaks, ..self }
    }

    /// The timeout until the next sample, if the round-trip time was this on an earlier connection, and longer than it is so far
    /// (`tcp_init_metrics` of Linux).
    pub(super) fn recall(&mut self, rtt: Span) {
        if rtt > self.srtt {
            self.rto = first_rto(rtt, self.min_rto);
        }
    }

    /// A round trip has ended.
    pub(super) fn end_round(&mut self) {
        if let Some(peaks) = &mut self.peaks {
            peaks.end_round();
        }
    }

    /// It was measured, and since the last timeout.
    pub(super) fn is_current(&self) -> bool {
        self.has_sample() && self.backoff == 0
    }

    pub(crate) fn has_sample(&self) -> bool {
        self.min < Span::MAX
    }

    pub(crate) fn srtt(&self) -> Span {
        self.srtt
    }

    /// RTTVAR.
    pub(crate) fn variation(&self) -> Span {
        self.rttvar
    }

    /// The smallest sample so far; [`Span::MAX`] before the first.
    ///
    /// Differs from RFC 8985 §6.2 step 1: of the whole connection, not of its last minutes.
    pub(crate) fn min(&self) -> Span {
        self.min
    }

    /// The timeout, with back-off.
    pub(crate) fn rto(&self) -> Span {
        self.rto.saturating_mul(1 << self.backoff).min(self.max_rto)
    }

    pub(crate) fn add(&mut self, sample: Span) {
        // Zero would read as "no sample yet".
        let sample = sample.max(Span::from_ps(1));
        let before = self.srtt;
        if self.has_sample() {
            let deviation = if before > sample { before - sample } else { sample - before };
            self.rttvar = self.rttvar - self.rttvar / 4 + deviation / 4;
            self.srtt = before - before / 8 + sample / 8;
        } else {
            self.srtt = sample;
            self.rttvar = sample / 2;
        }
        self.min = self.min.min(sample);
        let margin = match &mut self.peaks {
            None => self.rttvar.saturating_mul(4).max(self.min_rto),
            Some(peaks) => peaks.add(before, sample),
        };
        self.rto = self.srtt + margin;
        self.backoff = 0;
    }

    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }
}

/// The timeout after one sample of the round-trip time (RFC 6298 §2.2).
pub(super) fn first_rto(rtt: Span, min_rto: Span) -> Span {
    rtt + (rtt * 2).max(min_rto)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        RttEstimator::new(Span::from_secs(1), Span::from_ms(1), Span::from_secs(60))
    }

    #[test]
    fn the_first_sample_sets_both() {
        let mut rtt = estimator();
        rtt.add(Span::from_ms(8));
        assert_eq!((rtt.srtt, rtt.rttvar), (Span::from_ms(8), Span::from_ms(4)));
        assert_eq!(rtt.rto(), Span::from_ms(24));
    }

    #[test]
    fn the_variation_uses_the_old_mean() {
        let mut rtt = estimator();
        rtt.add(Span::from_ms(8));
        rtt.add(Span::from_ms(16));
        assert_eq!((rtt.srtt, rtt.rttvar), (Span::from_ms(9), Span::from_ms(5)));
    }

    #[test]
    fn the_timeout_doubles_until_a_sample_arrives() {
        let mut rtt = estimator();
        rtt.add(Span::from_ms(8));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_ms(96));
        rtt.add(Span::from_ms(8));
        assert_eq!(rtt.rto(), Span::from_ms(20));
    }

    #[test]
    fn the_timeout_stays_within_its_bounds() {
        let mut rtt = estimator();
        rtt.add(Span::from_us(10));
        assert_eq!(rtt.rto(), Span::from_us(1010));
        (0..100).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Span::from_secs(60));
    }
}
