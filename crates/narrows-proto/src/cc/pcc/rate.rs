use super::super::parts::SplitMix;
use super::super::{Ack, Congestion, Controller, Limit, OutOfRange, Path, Ranges};
use super::monitor::{Monitor, Report};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of monitor intervals and of the window that bounds them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    /// Shortest and longest interval, in smoothed round-trip times.
    pub(crate) rtts: [f64; 2],
    /// The least an interval sends, in segments.
    pub(crate) packets: u64,
    /// Window as a multiple of rate times smoothed round-trip time.
    pub(crate) window_rtts: f64,
}

impl Timing {
    pub(crate) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { rtts: [min, max], packets, window_rtts } = *self;
        ranges.unless((0.1..=100.0).contains(&min), "interval_min", min, "0.1 to 100")?;
        ranges.unless((min..=100.0).contains(&max), "interval_max", max, "interval_min to 100")?;
        ranges.unless(
            (1..=10_000).contains(&packets),
            "interval_packets",
            packets,
            "1 to 10 000 segments",
        )?;
        ranges.unless((1.0..=1000.0).contains(&window_rtts), "window_rtts", window_rtts, "1 to 1000")
    }
}

/// Aim of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Results are being waited for.
    Wait,
    /// The next rate in one direction.
    Step,
    /// Number of a trial, and whether it is above the rate or below.
    Trial { number: u8, up: bool },
}

/// The smallest and the largest rate of a connection, in bit/s of payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Bounds {
    pub(crate) fn clamp(self, rate: f64) -> f64 {
        // Also for NaN, which no comparison holds for.
        rate.max(self.min).min(self.max)
    }
}

/// Choice of the rates to try, and conclusions from the results.
pub(crate) trait Strategy {
    /// The first rate, in bit/s of payload, as all others.
    fn start(&mut self, rate: f64);

    /// Aim of the interval that begins now, and its rate.
    fn next(&mut self, bounds: Bounds, dice: &mut SplitMix) -> (Aim, f64);

    /// An interval is over; in the order of sending. True if the rate changed its course, so that intervals under way no
    /// longer matter and a new one begins.
    fn on_report(&mut self, report: &Report<Aim>, bounds: Bounds) -> bool;

    /// The retransmission timer expired: the rate is halved.
    fn on_timeout(&mut self);
}

/// A sender at a rate.
#[derive(Clone, Debug)]
pub(crate) struct RateSender<S> {
    pub(crate) strategy: S,
    monitor: Monitor<Aim>,
    timing: Timing,
    path: Path,
    dice: SplitMix,
    /// The rate of the open interval; none before the first round-trip time.
    pub(crate) rate: Option<f64>,
    srtt: Span,
    /// Window before the first round-trip time.
    opening: Bytes,
}

/// The window is at least this many segments, so that acknowledgments that are delayed still come.
const MIN_WINDOW: u64 = 4;

impl<S: Strategy> RateSender<S> {
    pub(crate) fn new(strategy: S, timing: Timing, path: &Path) -> Self {
        Self {
            strategy,
            monitor: Monitor::new(Aim::Wait),
            timing,
            path: *path,
            dice: SplitMix::new(path.seed),
            rate: None,
            srtt: Span::ZERO,
            opening: path.initial_window,
        }
    }

    /// A rate of less than two segments per round trip cannot be measured; one above the link cannot be sent.
    fn bounds(&self) -> Bounds {
        let least = WireTime::MIN_RATE.as_f64();
        let max = (self.path.link.as_f64() * self.path.mss.as_f64() / self.path.packet.as_f64()).max(least);
        let min = BitRate::per(self.path.mss * 2, self.srtt).as_f64().clamp(least, max);
        Bounds { min, max }
    }

    fn begin(&mut self, ack: &Ack) {
        let (aim, rate) = self.strategy.next(self.bounds(), &mut self.dice);
        let rate = self.bounds().clamp(rate);
        let [min, max] = self.timing.rtts;
        let rtts = min + (max - min) * self.dice.uniform();
        let packets = 8.0 * self.path.mss.as_f64() * self.timing.packets as f64 / rate;
        let length = Span::from_secs_f64((rtts * self.srtt.as_secs_f64()).max(packets));
        self.monitor.begin(ack, aim, rate, length);
        self.rate = Some(rate);
    }
}

impl<S: Strategy> Controller for RateSender<S> {
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        if self.rate.is_none() {
            self.strategy.start(BitRate::per(self.opening, ack.srtt).as_f64());
        }
        self.monitor.measure(ack);
        let bounds = self.bounds();
        while let Some(report) = self.monitor.next_report(ack, self.path.mss) {
            if self.strategy.on_report(&report, bounds) {
                self.monitor.forget();
            }
        }
        if self.monitor.is_due(ack) {
            self.begin(ack);
        }
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        if let Congestion::Timeout { .. } = event {
            self.monitor.forget();
            self.strategy.on_timeout();
            self.rate = self.rate.map(|rate| rate / 2.0);
            self.opening = self.path.mss;
        }
    }

    fn limit(&self) -> Limit {
        let Some(rate) = self.rate else { return Limit::window(self.opening) };
        let window = Bytes::from_f64(self.timing.window_rtts * rate * self.srtt.as_secs_f64() / 8.0);
        let pacing = self.path.on_wire(BitRate::from_f64(rate));
        Limit {
            cwnd: window.max(self.path.mss * MIN_WINDOW),
            pacing: Some(pacing.clamp(WireTime::MIN_RATE, WireTime::MAX_RATE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::cc::conformance::{MSS, ack, path};

    /// Tries 8 Mb/s and 16 Mb/s in turn, and writes down the reports.
    struct InTurn {
        up: bool,
        reports: Vec<Report<Aim>>,
    }

    impl Strategy for InTurn {
        fn start(&mut self, _rate: f64) {}

        fn next(&mut self, _bounds: Bounds, _dice: &mut SplitMix) -> (Aim, f64) {
            self.up = !self.up;
            (Aim::Trial { number: 0, up: self.up }, if self.up { 16e6 } else { 8e6 })
        }

        fn on_report(&mut self, report: &Report<Aim>, _bounds: Bounds) -> bool {
            self.reports.push(*report);
            false
        }

        fn on_timeout(&mut self) {}
    }

    /// A path of 50 ms that loses every fourth segment sent at 16 Mb/s or more, and delays the others ever longer.
    fn reports_of_two_seconds(timing: Timing) -> Vec<Report<Aim>> {
        let mut sender = RateSender::new(InTurn { up: false, reports: Vec::new() }, timing, &path());
        let step = Span::from_us(1);
        let (mut now, mut next_send) = (Time::ZERO, Time::ZERO);
        let (mut sent, mut delivered, mut lost) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        let mut under_way = VecDeque::new();
        let (mut fast, mut delay) = (0_u64, Span::from_ms(50));
        while now < Time::ZERO + Span::from_secs(2) {
            if now >= next_send {
                let is_fast = sender.rate.is_some_and(|rate| rate > 12e6);
                fast += u64::from(is_fast);
                delay += Span::from_us(if is_fast { 20 } else { 0 });
                under_way.push_back((now, now + delay, is_fast && fast.is_multiple_of(4)));
                sent += MSS;
                next_send = now + BitRate::from_f64(sender.rate.unwrap_or(16e6)).time_to_send(MSS);
            }
            while let Some((sent_at, _, is_lost)) = under_way.pop_front_if(|segment| segment.1 <= now) {
                *(if is_lost { &mut lost } else { &mut delivered }) += MSS;
                if !is_lost {
                    let (rtt, inflight) = (now - sent_at, sent - delivered - lost);
                    sender.on_ack(&Ack {
                        now,
                        rtt: Some(rtt),
                        srtt: rtt,
                        inflight,
                        sent,
                        delivered,
                        lost,
                        ..ack(MSS)
                    });
                }
            }
            now += step;
        }
        sender.strategy.reports
    }

    #[test]
    fn what_a_rate_causes_is_reported_for_that_rate_although_others_are_under_way() {
        // Intervals of half a round trip: two others are under way when a result comes.
        let timing = Timing { rtts: [0.5, 0.5], packets: 1, window_rtts: 2.0 };
        let reports = reports_of_two_seconds(timing);
        assert!(reports.len() > 20, "{}", reports.len());
        for report in &reports {
            let Aim::Trial { up, .. } = report.aim else { panic!("{report:?}") };
            // An interval at 8 Mb/s has 25 segments, one at 16 Mb/s at least 50; boundaries miss a segment or two.
            // At 16 Mb/s a segment of 1000 B leaves each 500 us and is 20 us later than the one before: 0.04.
            let (rate, loss, gradient) = if up { (16e6, 0.25, 0.04) } else { (8e6, 0.0, 0.0) };
            // The gap before the first segment may be that of 8 Mb/s, two of 16 Mb/s; one of them is forgiven: 1/50.
            assert!((report.rate / rate - 1.0).abs() < 0.02, "{report:?}");
            assert!((report.loss - loss).abs() <= 0.045, "{report:?}");
            assert!((report.rtt_gradient - gradient).abs() < 0.004, "{report:?}");
        }
    }
}
