use super::super::Ack;
use crate::units::{Bytes, Span, Time};

/// Intervals under way at once. Results come about one interval after the end of theirs; more than three or four are under
/// way only while the round trip grows quickly. If all places are taken the newest interval goes on.
const PLACES: usize = 8;

/// Measures what becomes of data sent in intervals of time, without looking at packets.
///
/// `Ack::sent` counts all payload in the order of sending, and what is no longer on its way was resolved in about that
/// order. So the interval that sent bytes `[from, until)` of that count is complete when `sent − inflight` reaches
/// `until`, and what was lost between reaching `from` and `until` is its loss. A loss is noticed a few segments later
/// than a delivery, so the last losses of an interval may count in the next.
#[derive(Clone, Debug)]
pub(crate) struct Monitor<A> {
    intervals: [Interval<A>; PLACES],
    /// Oldest first; the last one may be open.
    len: usize,
}

/// Aim of an interval, and its measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<A> {
    pub(crate) aim: A,
    /// The rate of sending, payload in bit/s: what was intended, or what was sent if that was less.
    pub(crate) rate: f64,
    /// The part that was lost, 0 to 1.
    pub(crate) loss: f64,
    /// Growth of the round-trip time, in seconds per second of sending.
    pub(crate) rtt_gradient: f64,
}

#[derive(Clone, Copy, Debug)]
struct Interval<A> {
    aim: A,
    /// Intended, in bit/s of payload.
    rate: f64,
    begun: Time,
    /// When it is to end, and when it did; [`Time::NEVER`] while it is open.
    due: Time,
    ended: Time,
    from: Bytes,
    until: Bytes,
    /// Payload lost when `from` was reached.
    lost_before: Option<Bytes>,
    rtts: Line,
}

impl<A: Copy> Monitor<A> {
    /// Nothing under way. `aim` fills empty places.
    pub(crate) fn new(aim: A) -> Self {
        let empty = Interval {
            aim,
            rate: 0.0,
            begun: Time::ZERO,
            due: Time::NEVER,
            ended: Time::NEVER,
            from: Bytes::ZERO,
            until: Bytes::MAX,
            lost_before: None,
            rtts: Line::default(),
        };
        Self { intervals: [empty; PLACES], len: 0 }
    }

    /// Drops all intervals: their results no longer matter.
    pub(crate) fn forget(&mut self) {
        self.len = 0;
    }

    /// From now on `rate` is tried for `length`. The open interval ends.
    pub(crate) fn begin(&mut self, ack: &Ack, aim: A, rate: f64, length: Span) {
        debug_assert!(self.len < PLACES, "an interval begins before one was due");
        if let Some(open) = self.open() {
            open.ended = ack.now;
            open.until = ack.sent;
        }
        self.intervals[self.len] = Interval {
            aim,
            rate,
            begun: ack.now,
            due: ack.now + length,
            ended: Time::NEVER,
            from: ack.sent,
            until: Bytes::MAX,
            lost_before: None,
            rtts: Line::default(),
        };
        self.len += 1;
    }

    /// Whether the open interval has lasted and sent something, or there is none; and there is a place for a new one.
    pub(crate) fn is_due(&mut self, ack: &Ack) -> bool {
        self.len < PLACES && self.open().is_none_or(|open| ack.now >= open.due && ack.sent > open.from)
    }

    fn open(&mut self) -> Option<&mut Interval<A>> {
        self.intervals[..self.len].last_mut().filter(|last| last.ended == Time::NEVER)
    }

    /// Takes in the round-trip time of an acknowledgment, for the interval in which its segment was sent.
    pub(crate) fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let sent_at = Time::ZERO + ack.now.saturating_since(Time::ZERO + rtt);
        let its = |interval: &&mut Interval<A>| interval.begun <= sent_at && sent_at < interval.ended;
        if let Some(interval) = self.intervals[..self.len].iter_mut().find(its) {
            interval.rtts.add((sent_at - interval.begun).as_secs_f64(), rtt.as_secs_f64());
        }
    }

    /// The result of the oldest interval if it is complete. `slack` is what boundaries may miss: a segment.
    pub(crate) fn next_report(&mut self, ack: &Ack, slack: Bytes) -> Option<Report<A>> {
        let resolved = ack.sent.saturating_sub(ack.inflight);
        let oldest = self.intervals[..self.len].first_mut()?;
        if resolved >= oldest.from {
            oldest.lost_before.get_or_insert(ack.lost);
        }
        if oldest.ended == Time::NEVER || resolved < oldest.until {
            return None;
        }
        let report = oldest.report(ack.lost, slack);
        self.intervals.copy_within(1..self.len, 0);
        self.len -= 1;
        Some(report)
    }
}

impl<A: Copy> Interval<A> {
    fn report(&self, lost: Bytes, slack: Bytes) -> Report<A> {
        let sent = self.until.saturating_sub(self.from);
        let lost = lost.saturating_sub(self.lost_before.unwrap_or(lost));
        let seconds = self.ended.saturating_since(self.begun).as_secs_f64();
        let possible = 8.0 * sent.saturating_add(slack).as_f64() / seconds;
        Report {
            aim: self.aim,
            // Exact unless something held the sender back; counted bytes alone would be off by a segment.
            rate: self.rate.min(possible),
            loss: if sent > Bytes::ZERO { (lost.as_f64() / sent.as_f64()).min(1.0) } else { 0.0 },
            rtt_gradient: self.rtts.slope(),
        }
    }
}

/// A straight line through points, by least squares.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    count: f64,
    /// The first y, taken off all: small numbers lose fewer digits.
    origin: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        if self.count == 0.0 {
            self.origin = y;
        }
        let y = y - self.origin;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// Zero if there are too few points.
    fn slope(&self) -> f64 {
        let spread = self.count * self.xx - self.x * self.x;
        if spread > 0.0 { (self.count * self.xy - self.x * self.y) / spread } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack};

    /// At `ms`; counts in segments.
    fn ack_at(ms: u64, sent: u64, delivered: u64, lost: u64) -> Ack {
        Ack {
            now: Time::ZERO + Span::from_ms(ms),
            rtt: None,
            sent: MSS * sent,
            delivered: MSS * delivered,
            lost: MSS * lost,
            inflight: MSS * (sent - delivered - lost),
            ..ack(MSS)
        }
    }

    const LENGTH: Span = Span::from_ms(10);

    #[test]
    fn losses_count_in_the_interval_that_sent_them() {
        // Ten segments of 1000 B in 10 ms are 8 Mb/s. The second interval sends twenty, and its losses become known
        // while the third is under way.
        let mut monitor = Monitor::new('-');
        monitor.begin(&ack_at(0, 0, 0, 0), 'a', 8e6, LENGTH);
        monitor.begin(&ack_at(10, 10, 0, 0), 'b', 16e6, LENGTH);
        monitor.begin(&ack_at(20, 30, 5, 0), 'c', 24e6, LENGTH);
        assert!(monitor.next_report(&ack_at(21, 32, 9, 0), MSS).is_none());
        let first = monitor.next_report(&ack_at(22, 34, 10, 0), MSS).expect("ten are resolved");
        assert_eq!((first.aim, first.rate, first.loss), ('a', 8e6, 0.0));
        assert!(monitor.next_report(&ack_at(22, 34, 10, 0), MSS).is_none());
        assert!(monitor.next_report(&ack_at(29, 50, 24, 5), MSS).is_none());
        let second = monitor.next_report(&ack_at(30, 54, 25, 5), MSS).expect("thirty are resolved");
        assert_eq!((second.aim, second.rate, second.loss), ('b', 16e6, 0.25));
    }

    #[test]
    fn delays_count_in_the_interval_that_sent_the_segment() {
        // Sent at 2, 4, 6, 8 ms and at 12, 14, 16, 18 ms; the round trip of 30 ms grows by 0.2 ms each in the second.
        let mut monitor = Monitor::new('-');
        monitor.begin(&ack_at(0, 0, 0, 0), 'a', 8e6, LENGTH);
        monitor.begin(&ack_at(10, 10, 0, 0), 'b', 8e6, LENGTH);
        monitor.begin(&ack_at(20, 20, 0, 0), 'c', 8e6, LENGTH);
        for (sent_ms, rtt_us) in [
            (2, 30_000),
            (4, 30_000),
            (6, 30_000),
            (8, 30_000),
            (12, 30_200),
            (14, 30_400),
            (16, 30_600),
            (18, 30_800),
        ] {
            let rtt = Span::from_us(rtt_us);
            monitor.measure(&Ack {
                now: Time::ZERO + Span::from_ms(sent_ms) + rtt,
                rtt: Some(rtt),
                ..ack(MSS)
            });
        }
        let last = ack_at(60, 40, 20, 0);
        let first = monitor.next_report(&last, MSS).expect("complete");
        let second = monitor.next_report(&last, MSS).expect("complete");
        assert!(first.rtt_gradient.abs() < 1e-9, "{first:?}");
        // 0.2 ms in 2 ms.
        assert!((second.rtt_gradient - 0.1).abs() < 1e-9, "{second:?}");
    }

    #[test]
    fn a_sender_that_was_held_back_is_judged_by_what_it_sent() {
        let mut monitor = Monitor::new('-');
        monitor.begin(&ack_at(0, 0, 0, 0), 'a', 8e6, LENGTH);
        monitor.begin(&ack_at(10, 4, 0, 0), 'b', 8e6, LENGTH);
        // Four segments, or five if boundaries cut one: 5·8000 bit in 10 ms.
        let report = monitor.next_report(&ack_at(40, 9, 4, 0), MSS).expect("complete");
        assert_eq!(report.rate, 4e6);
    }

    #[test]
    fn without_space_the_newest_interval_goes_on() {
        let mut monitor = Monitor::new('-');
        for number in 0..PLACES as u64 {
            let now = ack_at(10 * number, 10 * number, 0, 0);
            assert!(monitor.is_due(&now));
            monitor.begin(&now, 'a', 8e6, LENGTH);
        }
        assert!(!monitor.is_due(&ack_at(90, 90, 0, 0)));
        let now = ack_at(91, 91, 10, 0);
        monitor.next_report(&now, MSS).expect("the first is complete");
        assert!(monitor.is_due(&now));
    }
}
