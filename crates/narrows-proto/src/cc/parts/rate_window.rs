use super::super::{OutOfRange, Ranges};
use crate::units::{BitRate, Bytes};

/// Bound on the payload on its way that follows a rate: so much at line rate, and in proportion below it.
///
/// A packet may be sent as long as less is on its way (HPCC's simulations, `IsWinBound` in `rdma-queue-pair.cc`): the bound is
/// rounded up to full packets.
#[derive(Clone, Copy, Debug)]
pub struct RateWindow {
    /// For each bit/s; none without a bound.
    seconds: Option<f64>,
    /// Payload of a full packet.
    mss: Bytes,
}

impl RateWindow {
    /// With `at_line_rate`; none is no bound.
    pub fn new(at_line_rate: Option<Bytes>, line_rate: BitRate, mss: Bytes) -> Self {
        Self { seconds: at_line_rate.map(|window| window.as_f64() / line_rate.as_f64()), mss }
    }

    /// Whether a setting can be one.
    pub fn check(at_line_rate: Option<Bytes>, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let window = at_line_rate.unwrap_or(Bytes::MAX);
        ranges.unless(window > Bytes::ZERO, "window", window, "more than 0 B")
    }

    /// At this rate, in bit/s.
    pub fn at(&self, rate: f64) -> Bytes {
        self.seconds.map_or(Bytes::MAX, |seconds| up_to_packets(seconds * rate, self.mss))
    }
}

/// A window as the full packets of which the last begins within it; at least one.
pub fn up_to_packets(window: f64, mss: Bytes) -> Bytes {
    let packets = libm::ceil(window / mss.as_f64()).max(1.0);
    Bytes::from_f64(packets * mss.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: BitRate = BitRate::from_gbps(10);
    const MSS: Bytes = Bytes::new(1000);

    #[test]
    fn the_window_is_in_proportion_to_the_rate_in_packets_that_begin_within_it() {
        let window = RateWindow::new(Some(Bytes::new(20_500)), LINE, MSS);
        let at = |gbps: f64| window.at(gbps * 1e9).get();
        // 20.5 packets at 10 Gb/s, 10.25 at 5, 0.0205 at 0.01.
        assert_eq!([at(10.0), at(5.0), at(0.01)], [21_000, 11_000, 1_000]);
    }

    #[test]
    fn without_a_window_there_is_no_bound() {
        assert_eq!(RateWindow::new(None, LINE, MSS).at(1.0), Bytes::MAX);
    }
}
