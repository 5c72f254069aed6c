use super::super::{Ack, OutOfRange, Path, Ranges};
use crate::units::{Bytes, Span, Time};

/// Settings of [`LinuxHyStart`]; the defaults are those of Linux 6.12.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LinuxHyStart")]
pub struct LinuxHyStartParams {
    /// Look at the length of the train of acknowledgments (`HYSTART_ACK_TRAIN` in `hystart_detect`).
    pub train: bool,
    /// Look at the round-trip time (`HYSTART_DELAY` in `hystart_detect`).
    pub delay: bool,
    /// Slow start does not end below this window, in segments (`hystart_low_window`).
    pub low_window: u64,
    /// Acknowledgments that follow each other within this time belong to one train (`hystart_ack_delta_us`).
    pub ack_delta: Span,
    /// A smaller rise of the round-trip time does not count (`HYSTART_DELAY_MIN`).
    pub least_rise: Span,
    /// A larger rise always counts (`HYSTART_DELAY_MAX`).
    pub most_rise: Span,
    /// The fraction of the smallest round-trip time that counts as a rise, between the two.
    pub rtt_divisor: u64,
    /// Samples a round needs before its round-trip time is judged (`HYSTART_MIN_SAMPLES`).
    pub samples: u32,
    /// The smallest round-trip time of a round is that of all its samples; otherwise that of the first `samples`, as in Linux 4.9.
    pub all_samples: bool,
    /// A train may last longer by the time that four bursts of segmentation offload take at the rate of slow start, up to 1 ms
    /// (`hystart_ack_delay`); Linux 4.9 has no such thing.
    pub burst_slack: bool,
    /// A round lasts on while the window does not limit the sender, as in Linux 4.9, which begins rounds where it opens the window.
    /// Otherwise one begins with the first acknowledgment of what was sent in it.
    pub rounds_when_limited: bool,
    /// Resolution of times: Linux 4.9 counts milliseconds.
    pub clock: Span,
}

impl Default for LinuxHyStartParams {
    fn default() -> Self {
        Self {
            train: true,
            delay: true,
            low_window: 16,
            ack_delta: Span::from_ms(2),
            least_rise: Span::from_ms(4),
            most_rise: Span::from_ms(16),
            rtt_divisor: 8,
            samples: 8,
            all_samples: true,
            burst_slack: true,
            rounds_when_limited: false,
            clock: Span::from_us(1),
        }
    }
}

impl LinuxHyStartParams {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { rtt_divisor, least_rise, most_rise, clock, .. } = *self;
        ranges.unless(rtt_divisor >= 1, "linux_hystart.rtt_divisor", rtt_divisor, "at least 1")?;
        ranges.unless(
            least_rise <= most_rise,
            "linux_hystart.least_rise",
            least_rise,
            "at most most_rise",
        )?;
        let clocks = Span::from_ps(1)..=Span::from_ms(100);
        ranges.unless(clocks.contains(&clock), "linux_hystart.clock", clock, "more than 0 s, at most 100 ms")
    }
}

/// Most payload of a burst of segmentation offload (`GSO_MAX_SIZE`).
const BURST: u64 = 65_536;

/// `HyStart` as Linux has it: leaves slow start when the acknowledgments of a round come for half a round trip on end, or when the
/// round-trip time rises (`hystart_update` in `net/ipv4/tcp_cubic.c`).
///
/// ```text
/// Train   acknowledgments that follow each other within ack_delta, until
///             now − start of the round > (min RTT + slack)/2      without pacing: half of the bandwidth-delay product arrives
///             now − start of the round >  min RTT + slack         with pacing
///         slack = min(1 ms, 4·64 KiB at 2·cwnd/SRTT)              with burst_slack
/// Delay   min RTT of the round > min RTT + clamp(min RTT/divisor, least, most)
///         after `samples` of the round
/// ```
/// Both are looked at from `low_window` on, rounds begin below it, too. A timeout begins them anew. Then the threshold is the window.
///
/// Differs from Linux: samples are not left out for a second after a congestion; slow start does not come that soon, except after a
/// timeout.
#[derive(Clone, Debug)]
pub struct LinuxHyStart {
    params: LinuxHyStartParams,
    mss: Bytes,
    paced: bool,
    found: bool,
    min_rtt: Option<Span>,
    began: Time,
    /// The last acknowledgment of the train.
    last: Time,
    /// The round ends when more than this has been delivered.
    end: Bytes,
    round_min: Option<Span>,
    samples: u32,
}

impl LinuxHyStart {
    /// At the beginning of a connection.
    pub fn new(params: LinuxHyStartParams, path: &Path) -> Self {
        Self {
            params,
            mss: path.mss,
            paced: path.paced,
            found: false,
            min_rtt: None,
            began: Time::ZERO,
            last: Time::ZERO,
            end: Bytes::ZERO,
            round_min: None,
            samples: 0,
        }
    }

    /// A timeout: slow start begins anew, and what was known of the path is forgotten.
    pub fn forget(&mut self) {
        (self.found, self.min_rtt) = (false, None);
    }

    /// An acknowledgment arrived in slow start, at a window of `cwnd` segments. True says that slow start is over.
    #[must_use]
    pub fn on_ack(&mut self, ack: &Ack, cwnd: f64) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        let over = ack.delivered > self.end;
        if over && !self.params.rounds_when_limited {
            self.begin_round(ack);
        }
        let looks = !self.found && cwnd >= self.params.low_window as f64;
        let ends = looks && (self.train_is_long(ack, cwnd) || self.delay_rose(rtt));
        self.found |= ends;
        if over && self.params.rounds_when_limited && ack.cwnd_limited {
            self.begin_round(ack);
        }
        ends
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.began = self.tick(ack.now);
        self.last = self.began;
        self.end = ack.sent;
        (self.round_min, self.samples) = (None, 0);
    }

    fn train_is_long(&mut self, ack: &Ack, cwnd: f64) -> bool {
        let now = self.tick(ack.now);
        if !self.params.train || now.saturating_since(self.last) > self.params.ack_delta {
            return false;
        }
        self.last = now;
        let longest = self.min_rtt.unwrap_or(Span::MAX) + self.slack(ack, cwnd);
        let longest = if self.paced { longest } else { longest / 2 };
        now.saturating_since(self.began) > Span::from_ps(self.whole_ticks(longest.as_ps()))
    }

    /// Time that aggregation at both ends may add to a train.
    fn slack(&self, ack: &Ack, cwnd: f64) -> Span {
        if !self.params.burst_slack {
            return Span::ZERO;
        }
        // Four bursts at 2·cwnd/SRTT.
        let round_trips = 2.0 * BURST as f64 / (cwnd * self.mss.as_f64());
        Span::from_secs_f64(ack.srtt.as_secs_f64() * round_trips).min(Span::from_ms(1))
    }

    fn delay_rose(&mut self, rtt: Span) -> bool {
        let Self { ref params, min_rtt, .. } = *self;
        let judged = self.samples >= params.samples;
        if params.all_samples || !judged {
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
        }
        if !judged {
            self.samples += 1;
            return false;
        }
        let (Some(least), Some(now)) = (min_rtt, self.round_min) else { return false };
        let rise = (least / params.rtt_divisor).clamp(params.least_rise, params.most_rise);
        params.delay && now > least + rise
    }

    /// The time on a clock of this resolution.
    fn tick(&self, now: Time) -> Time {
        Time::from_ps(self.whole_ticks(now.as_ps()))
    }

    fn whole_ticks(&self, ps: u64) -> u64 {
        ps - ps % self.params.clock.as_ps().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack, path};

    const RTT: Span = Span::from_ms(40);

    fn hystart(params: LinuxHyStartParams) -> LinuxHyStart {
        LinuxHyStart::new(params, &path())
    }

    fn linux_4_9() -> LinuxHyStartParams {
        LinuxHyStartParams {
            all_samples: false,
            burst_slack: false,
            rounds_when_limited: true,
            clock: Span::from_ms(1),
            ..LinuxHyStartParams::default()
        }
    }

    fn at(us: u64, rtt: Span, delivered: u64) -> Ack {
        Ack {
            now: Time::ZERO + Span::from_us(us),
            rtt: Some(rtt),
            srtt: RTT,
            delivered: MSS * delivered,
            sent: MSS * (delivered + 100),
            cwnd_limited: true,
            ..ack(MSS)
        }
    }

    /// Acknowledgments every `gap` from the beginning of a round: after how much of it slow start ends.
    fn train(hystart: &mut LinuxHyStart, gap: u64, cwnd: f64) -> Option<Span> {
        let first = Span::from_ms(1000);
        let ends = |number: &u64| {
            let now = first + Span::from_us(number * gap);
            hystart.on_ack(&at(now.as_ps() / 1_000_000, RTT, 1 + number), cwnd)
        };
        (0..100).find(ends).map(|number| Span::from_us(number * gap))
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // 20 ms of 40, and the slack: 4·64 KiB at 2·100 segments in 40 ms are more than 1 ms.
        assert_eq!(train(&mut hystart(LinuxHyStartParams::default()), 500, 100.0), Some(Span::from_ms(21)));
        // Whole milliseconds, of which more than 20.
        assert_eq!(train(&mut hystart(linux_4_9()), 500, 100.0), Some(Span::from_ms(21)));
        assert_eq!(
            train(&mut hystart(LinuxHyStartParams { burst_slack: false, ..Default::default() }), 500, 100.0),
            Some(Span::from_us(20_500))
        );
    }

    #[test]
    fn a_train_of_a_paced_sender_lasts_for_all_of_the_round_trip() {
        let paced = Path { paced: true, ..path() };
        let mut hystart = LinuxHyStart::new(LinuxHyStartParams::default(), &paced);
        assert_eq!(train(&mut hystart, 500, 100.0), Some(Span::from_us(41_500)));
    }

    #[test]
    fn a_round_begins_below_the_low_window_and_its_train_counts_from_there() {
        // The window has 14 segments with the first acknowledgment of a round, 16 with the third.
        for params in [LinuxHyStartParams::default(), linux_4_9()] {
            let mut hystart = hystart(params);
            let mut ends = |number: &u64| {
                let now = Span::from_ms(1000) + Span::from_us(500 * number);
                hystart.on_ack(&at(now.as_ps() / 1_000_000, RTT, 1 + number), 14.0 + *number as f64)
            };
            // Half of 40 ms and of 1 ms of slack; whole milliseconds.
            assert_eq!((0..100).find(&mut ends), Some(42));
        }
    }

    #[test]
    fn gaps_end_a_train_and_small_windows_have_none() {
        let params = LinuxHyStartParams { delay: false, ..LinuxHyStartParams::default() };
        assert_eq!(train(&mut hystart(params.clone()), 2500, 100.0), None);
        assert_eq!(train(&mut hystart(params.clone()), 500, 15.9), None);
        assert_eq!(train(&mut hystart(LinuxHyStartParams { train: false, ..params }), 500, 100.0), None);
    }

    /// One round of samples after one of 40 ms; the number of samples after which slow start ends.
    fn delay(params: &LinuxHyStartParams, rtts_us: &[u64]) -> Option<usize> {
        let mut hystart = hystart(LinuxHyStartParams { train: false, ..params.clone() });
        assert!(!hystart.on_ack(&at(0, RTT, 1), 100.0));
        let ends = |(number, rtt): (usize, &u64)| {
            hystart.on_ack(&at(100_000 + number as u64 * 3000, Span::from_us(*rtt), 200), 100.0)
        };
        rtts_us.iter().enumerate().position(ends)
    }

    #[test]
    fn a_rise_by_an_eighth_of_the_round_trip_ends_slow_start_after_eight_samples() {
        // 40/8 = 5 ms; the ninth sample finds eight before it.
        assert_eq!(delay(&LinuxHyStartParams::default(), &[45_001; 12]), Some(8));
        assert_eq!(delay(&LinuxHyStartParams::default(), &[45_000; 12]), None);
        let short = LinuxHyStartParams { rtt_divisor: 100, ..LinuxHyStartParams::default() };
        assert_eq!(delay(&short, &[44_000; 12]), None, "4 ms at least");
        assert_eq!(delay(&short, &[44_001; 12]), Some(8));
        let long = LinuxHyStartParams { rtt_divisor: 1, ..LinuxHyStartParams::default() };
        assert_eq!(delay(&long, &[56_001; 12]), Some(8), "16 ms at most");
    }

    #[test]
    fn samples_after_the_eighth_count_in_new_versions_only() {
        // The first that is judged is small itself: the ninth of the round, the tenth where the first belongs to the round before.
        let small = |at: usize| {
            let mut samples = [46_000; 12];
            samples[at] = 41_000;
            samples
        };
        assert_eq!(delay(&LinuxHyStartParams::default(), &small(8)), None);
        assert_eq!(delay(&linux_4_9(), &small(9)), Some(9));
    }

    #[test]
    fn a_timeout_begins_anew_and_nothing_else_does() {
        let mut hystart = hystart(LinuxHyStartParams::default());
        assert!(train(&mut hystart, 500, 100.0).is_some());
        assert_eq!(train(&mut hystart, 500, 100.0), None);
        hystart.forget();
        assert!(train(&mut hystart, 500, 100.0).is_some());
    }
}
