use super::MIN_THRESHOLD;
use crate::cc::Inside;
use crate::units::Bytes;

/// A window that grows like Reno's: by what was acknowledged in slow start, then by one segment per window.
///
/// ```text
/// Slow start                        RFC 5681 §3.1 Eq. 2, bytes counted as in RFC 3465 §2.2, §2.3
///     cwnd += min(acked, L·SMSS)    L = 1 after a timeout
/// Congestion avoidance              RFC 5681 §3.1, RFC 3465 §2.1
///     cwnd += SMSS                  each time cwnd bytes have been acknowledged
/// ```
///
/// It also remembers what it was before the last loss, for a loss that turns out to be none.
#[derive(Clone, Debug)]
pub struct RenoWindow {
    mss: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    /// Acknowledged towards the next segment of congestion avoidance.
    credit: Bytes,
    /// L, the most segments one acknowledgment adds in slow start.
    slow_start_limit: u32,
    /// The same after a timeout.
    limit_after_timeout: u32,
    before_loss: Option<(Bytes, Bytes)>,
}

impl RenoWindow {
    /// A window in slow start. `slow_start_limit` is L of RFC 3465, in segments.
    pub fn new(mss: Bytes, initial_window: Bytes, slow_start_limit: u64) -> Self {
        Self {
            mss,
            cwnd: initial_window,
            ssthresh: Bytes::MAX,
            credit: Bytes::ZERO,
            slow_start_limit: u32::try_from(slow_start_limit).unwrap_or(u32::MAX),
            limit_after_timeout: 1,
            before_loss: None,
        }
    }

    /// The receiver merges up to so many segments: L is as large at least, as in Linux, which has no such limit.
    pub fn merged(self, segments: u64) -> Self {
        let least = u32::try_from(segments).unwrap_or(u32::MAX);
        Self { slow_start_limit: self.slow_start_limit.max(least), limit_after_timeout: least, ..self }
    }

    /// The window.
    pub fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    /// The slow start threshold; [`Bytes::MAX`] before the first congestion.
    pub fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    /// The slow start threshold in bytes, as [observers](crate::cc::Inside) are told; infinite before the first congestion.
    pub(crate) fn reported_threshold(&self) -> Inside {
        let threshold = if self.ssthresh == Bytes::MAX { f64::INFINITY } else { self.ssthresh.as_f64() };
        threshold.into()
    }

    /// Slow start ends at this threshold, at least two segments: another connection left it.
    pub fn remember(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.max(self.mss * MIN_THRESHOLD);
    }

    /// Still below the slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Opens the window for `acked` bytes.
    pub fn grow(&mut self, acked: Bytes) {
        if self.in_slow_start() {
            let most = self.mss.saturating_mul(self.slow_start_limit.into());
            self.cwnd = self.cwnd.saturating_add(acked.min(most));
            return;
        }
        self.credit = self.credit.saturating_add(acked);
        if self.credit >= self.cwnd {
            self.credit -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(self.mss);
        }
    }

    /// Sets window and threshold to `target`, at least `floor`. The threshold stays at two segments at least (RFC 5681 §3.1 Eq. 4),
    /// and a smaller window becomes no larger than that.
    pub fn reduce_to(&mut self, target: Bytes, floor: Bytes) {
        let (target, least) = (target.max(floor), self.mss * MIN_THRESHOLD);
        self.before_loss = None;
        self.ssthresh = target.max(least);
        self.cwnd = target.min(self.cwnd.max(least));
        self.credit = Bytes::ZERO;
    }

    /// Leaves half of what was outstanding, at least two segments (RFC 5681 §3.1 Eq. 4).
    pub fn halve(&mut self, flight_size: Bytes) {
        let before = (self.cwnd, self.ssthresh);
        self.reduce_to(self.used(flight_size) / 2, self.mss * MIN_THRESHOLD);
        self.before_loss = Some(before);
    }

    /// Falls back to one segment, and slow start up to half of what was outstanding (RFC 5681 §3.1 Eq. 4). A repeated
    /// timeout leaves the threshold alone.
    pub fn collapse(&mut self, flight_size: Bytes, repeated: bool) {
        if !repeated {
            self.before_loss = Some((self.cwnd, self.ssthresh));
            self.ssthresh = (self.used(flight_size) / 2).max(self.mss * MIN_THRESHOLD);
        }
        self.cwnd = self.mss;
        self.credit = Bytes::ZERO;
        // One acknowledgment may now cover much that was sent before the timeout (RFC 3465 §2.3).
        self.slow_start_limit = self.slow_start_limit.min(self.limit_after_timeout);
    }

    /// After an idle time: begins again with `window` or less, and slow start up to three quarters of what the window was.
    ///
    /// ```text
    /// ssthresh = max(ssthresh, 3/4·cwnd)    RFC 2861, Linux
    /// cwnd     = min(RW, cwnd)              RFC 5681 §4.1
    /// ```
    ///
    /// Differs from RFC 2861 and Linux: they halve the window for each timeout of idle time until it is RW.
    pub fn restart(&mut self, window: Bytes) {
        self.before_loss = None;
        self.ssthresh = self.ssthresh.max(self.cwnd - self.cwnd / 4);
        self.cwnd = self.cwnd.min(window);
        self.credit = Bytes::ZERO;
    }

    /// The part of the window that was in use: a window the sender never filled says nothing of the path.
    fn used(&self, flight_size: Bytes) -> Bytes {
        flight_size.min(self.cwnd)
    }

    /// Takes the last halving or collapse back, unless another reduction came after it.
    pub fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before_loss.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    fn window(segments: u64) -> RenoWindow {
        RenoWindow::new(MSS, MSS * segments, 2)
    }

    fn in_avoidance(segments: u64) -> RenoWindow {
        let mut window = window(segments);
        window.reduce_to(MSS * segments, MSS);
        window
    }

    #[test]
    fn slow_start_adds_what_was_acknowledged_up_to_the_limit() {
        let mut window = window(10);
        window.grow(MSS);
        assert_eq!(window.cwnd(), MSS * 11);
        window.grow(MSS * 5);
        assert_eq!(window.cwnd(), MSS * 13);
    }

    #[test]
    fn avoidance_adds_one_segment_per_window() {
        let mut window = in_avoidance(10);
        for _ in 0..9 {
            window.grow(MSS);
        }
        assert_eq!(window.cwnd(), MSS * 10);
        window.grow(MSS);
        assert_eq!(window.cwnd(), MSS * 11);
    }

    #[test]
    fn a_repeated_timeout_keeps_the_threshold() {
        let mut window = in_avoidance(20);
        window.collapse(MSS * 20, false);
        window.collapse(MSS, true);
        assert_eq!(window.cwnd(), MSS);
        window.grow(MSS);
        assert!(window.in_slow_start());
        assert_eq!(window.ssthresh, MSS * 10);
    }

    #[test]
    fn a_reduction_leaves_the_threshold_at_two_segments_at_least() {
        let mut window = in_avoidance(3);
        window.reduce_to(MSS, MSS);
        assert_eq!(
            (window.cwnd(), window.ssthresh),
            (MSS, MSS * 2),
            "the smaller floor holds for the window"
        );
        window.reduce_to(MSS, MSS * 10);
        assert_eq!((window.cwnd(), window.ssthresh), (MSS * 2, MSS * 10), "no mark opens it beyond two");
    }

    #[test]
    fn after_a_timeout_an_acknowledgment_adds_one_segment_at_the_most() {
        let mut window = window(20);
        window.collapse(MSS * 20, false);
        window.grow(MSS * 8);
        assert_eq!(window.cwnd(), MSS * 2);
    }

    #[test]
    fn after_an_idle_time_the_window_starts_slowly_towards_three_quarters_of_what_it_was() {
        let mut window = in_avoidance(40);
        window.restart(MSS * 10);
        assert_eq!((window.cwnd(), window.ssthresh), (MSS * 10, MSS * 40)); // the threshold was larger
        window.grow(MSS * 2);
        assert_eq!(window.cwnd(), MSS * 12);
        window.ssthresh = MSS * 2;
        window.cwnd = MSS * 40;
        window.restart(MSS * 10);
        assert_eq!((window.cwnd(), window.ssthresh), (MSS * 10, MSS * 30));
        window.restart(MSS * 20);
        assert_eq!(window.cwnd(), MSS * 10, "it never opens the window");
    }

    #[test]
    fn a_spurious_reduction_is_taken_back() {
        let mut window = in_avoidance(20);
        window.halve(MSS * 20);
        window.undo();
        assert_eq!(window.cwnd(), MSS * 20);
    }
}
