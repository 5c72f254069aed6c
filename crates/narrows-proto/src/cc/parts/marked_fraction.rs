use super::super::Ack;
use super::Ewma;
use crate::units::Bytes;

/// The running fraction of marked bytes, one sample per round (RFC 8257 §3.3).
///
/// ```text
/// M     = marked bytes / acknowledged bytes
/// alpha = (1 − g)·alpha + g·M
/// ```
/// A round without acknowledged bytes is no sample.
#[derive(Clone, Debug)]
pub struct MarkedFraction {
    alpha: Ewma,
    /// Bytes acknowledged and marked since the round began.
    acked: Bytes,
    marked: Bytes,
}

impl MarkedFraction {
    /// Starts at `alpha`, in [0, 1]; `gain` is g, the weight of the newest round.
    pub fn new(alpha: f64, gain: f64) -> Self {
        Self { alpha: Ewma::new(alpha, gain), acked: Bytes::ZERO, marked: Bytes::ZERO }
    }

    /// Counts the bytes of `ack`. One that begins a round belongs to the round before.
    pub fn add(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if ack.round_start {
            if self.acked > Bytes::ZERO {
                self.alpha.add(self.marked.as_f64() / self.acked.as_f64());
            }
            self.acked = Bytes::ZERO;
            self.marked = Bytes::ZERO;
        }
    }

    /// alpha, in [0, 1].
    pub fn get(&self) -> f64 {
        self.alpha.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack};

    #[test]
    fn a_round_is_one_sample_whatever_its_acknowledgments() {
        let mut alpha = MarkedFraction::new(0.0, 0.5);
        alpha.add(&ack(MSS * 3));
        assert_eq!(alpha.get(), 0.0);
        alpha.add(&Ack { marked: MSS, round_start: true, ..ack(MSS) });
        assert_eq!(alpha.get(), 0.125);
    }

    #[test]
    fn a_round_begins_with_nothing_counted() {
        let mut alpha = MarkedFraction::new(0.0, 0.5);
        alpha.add(&Ack { marked: MSS, round_start: true, ..ack(MSS) });
        alpha.add(&Ack { round_start: true, ..ack(MSS) });
        assert_eq!(alpha.get(), 0.25);
    }

    #[test]
    fn a_round_without_bytes_is_no_sample() {
        let mut alpha = MarkedFraction::new(1.0, 0.5);
        alpha.add(&Ack { round_start: true, ..ack(Bytes::ZERO) });
        assert_eq!(alpha.get(), 1.0);
    }
}
