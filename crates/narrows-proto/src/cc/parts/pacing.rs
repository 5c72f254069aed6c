use super::super::Path;
use crate::units::{BitRate, Span, WireTime};

/// Spreads a window over a round trip: `rate = factor·window/RTT`, headers included.
#[derive(Clone, Copy, Debug)]
pub struct WindowPacing {
    /// Bits on the wire for a byte of payload.
    wire_bits: f64,
}

impl WindowPacing {
    /// For packets of `path`.
    pub fn new(path: &Path) -> Self {
        Self { wire_bits: 8.0 * path.packet.as_f64() / path.mss.as_f64() }
    }

    /// The rate on the wire at which `window` bytes of payload leave in `rtt`/`factor`, within the range of rates.
    pub fn rate(&self, window: f64, rtt: Span, factor: f64) -> BitRate {
        let rate = factor * window * self.wire_bits / rtt.as_secs_f64();
        BitRate::from_f64(rate).clamp(WireTime::MIN_RATE, WireTime::MAX_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, path};

    #[test]
    fn headers_are_paced_too() {
        // 10 segments of 1090 B on the wire in 100 us are 872 Mb/s; 1.25 times that.
        let rate = WindowPacing::new(&path()).rate(10.0 * MSS.as_f64(), Span::from_us(100), 1.25);
        assert_eq!(rate, BitRate::from_mbps(1_090));
    }

    #[test]
    fn rates_stay_in_the_range_of_links() {
        let pacing = WindowPacing::new(&path());
        assert_eq!(pacing.rate(15e9, Span::from_ps(1), 2.0), WireTime::MAX_RATE);
        assert_eq!(pacing.rate(1.0, Span::from_secs(100), 1.0), WireTime::MIN_RATE);
    }
}
