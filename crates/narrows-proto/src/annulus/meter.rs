use crate::units::{BitRate, Span, Time};

/// Rate at which packets leave: bytes over intervals that follow each other. A packet counts for the time before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    /// When the interval began, and what has been sent since.
    from: Time,
    sent: u64,
    /// Size of the last packet, and when it left.
    last: u32,
    last_at: Time,
    /// The rate of the interval before, in bytes per second.
    before: f64,
}

impl Meter {
    /// A packet of `size` leaves at `now`. With the first one after `interval` another begins.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, size: u32, interval: Span) {
        self.sent += u64::from(size);
        (self.last, self.last_at) = (size, now);
        let passed = now.saturating_since(self.from);
        if passed >= interval {
            self.before = self.sent as f64 / passed.as_secs_f64();
            (self.from, self.sent) = (now, 0);
        }
    }

    /// The rate of the last `interval` before `now`, taking the rate of the interval before for what is missing of it. The
    /// packet that comes next is not late before it would lower the rate.
    pub(super) fn rate(&self, now: Time, interval: Span) -> BitRate {
        let whole = interval.as_secs_f64();
        let over = |bytes: u64, until: Time| {
            let passed = until.saturating_since(self.from).as_secs_f64();
            let bytes = bytes as f64;
            if passed < whole { (bytes + self.before * (whole - passed)) / whole } else { bytes / passed }
        };
        let until_last = over(self.sent, self.last_at);
        let if_one_came_now = over(self.sent + u64::from(self.last), now);
        BitRate::from_f64(until_last.min(if_one_came_now) * 8.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Span = Span::from_us(30);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A packet of 1500 B every `gap` from `from` on, until before `until`.
    fn send(meter: &mut Meter, from: u64, until: u64, gap: usize) {
        (from..until).step_by(gap).for_each(|us| meter.on_sent(at(us), 1500, INTERVAL));
    }

    #[test]
    fn a_steady_rate_is_measured() {
        // 1500 B every 2 us are 6 Gb/s. An interval ends every 30 us: 15 packets in 30 us.
        let mut meter = Meter::default();
        send(&mut meter, 1_000, 3_000, 2);
        for us in 2_999..3_001 {
            let rate = meter.rate(at(us), INTERVAL).as_f64();
            assert!((5.5e9..=6.5e9).contains(&rate), "{rate} at {us} us");
        }
    }

    #[test]
    fn less_than_a_packet_in_an_interval_is_measured() {
        // 1500 B every 120 us are 100 Mb/s.
        let mut meter = Meter::default();
        send(&mut meter, 1_000, 3_000, 120);
        // The last packet left at 2920 us.
        for us in [2_920, 2_930, 2_960, 3_040] {
            assert_eq!(meter.rate(at(us), INTERVAL), BitRate::from_mbps(100), "{us} us");
        }
        // Two gaps have passed: at most half the rate.
        assert_eq!(meter.rate(at(3_160), INTERVAL), BitRate::from_mbps(50));
    }

    #[test]
    fn a_burst_after_silence_counts_from_its_first_packet() {
        // 1500 B every 1.2 us are 10 Gb/s. 10 packets in 12 us; the first one counts for the silence before it: 9·1500 B in
        // the last 30 us are 3.6 Gb/s.
        let mut meter = Meter::default();
        (0..10_u64).for_each(|n| meter.on_sent(at(90_000) + Span::from_ns(1_200 * n), 1500, INTERVAL));
        let rate = meter.rate(at(90_012), INTERVAL).as_f64();
        assert!((3.6e9..3.61e9).contains(&rate), "{rate}");
    }

    #[test]
    fn nothing_sent_is_no_rate() {
        assert_eq!(Meter::default().rate(at(10), INTERVAL), BitRate::ZERO);
    }
}
