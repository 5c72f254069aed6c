use super::MIN_THRESHOLD;
use crate::units::Bytes;

/// A window in segments, in fractions of them too, with the slow start of TCP and its answers to losses.
///
/// ```text
/// Slow start   cwnd += min(acked, L·SMSS), up to ssthresh; L = 1 after a timeout     RFC 5681 §3.1, RFC 3465 §2.2, §2.3
/// Loss         ssthresh = cwnd = max(FlightSize/2, 2·SMSS)                           RFC 5681 §3.1 Eq. 4, §3.2
/// Timeout      ssthresh as above, cwnd = SMSS                                        RFC 5681 §3.1
/// ```
///
/// The algorithm decides how it moves beyond slow start.
#[derive(Clone, Debug)]
pub struct SegmentWindow {
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
    /// L, the most segments one acknowledgment adds in slow start.
    slow_start_limit: u32,
    /// The same after a timeout.
    limit_after_timeout: u32,
    before_loss: Option<(f64, f64)>,
}

impl SegmentWindow {
    /// A window in slow start. `slow_start_limit` is L of RFC 3465, in segments.
    pub fn new(mss: Bytes, initial_window: Bytes, slow_start_limit: u64) -> Self {
        let mss = mss.as_f64();
        Self {
            mss,
            cwnd: initial_window.as_f64() / mss,
            ssthresh: f64::INFINITY,
            slow_start_limit: u32::try_from(slow_start_limit).unwrap_or(u32::MAX),
            limit_after_timeout: 1,
            before_loss: None,
        }
    }

    /// The receiver merges up to so many segments, as for [`RenoWindow::merged`](super::RenoWindow::merged).
    pub fn merged(self, segments: u64) -> Self {
        let least = u32::try_from(segments).unwrap_or(u32::MAX);
        Self { slow_start_limit: self.slow_start_limit.max(least), limit_after_timeout: least, ..self }
    }

    /// Slow start ends at this threshold, at least two segments: another connection left it.
    pub fn remember(&mut self, ssthresh: Bytes) {
        self.ssthresh = self.segments(ssthresh).max(MIN_THRESHOLD as f64);
    }

    /// The window in bytes.
    pub fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.cwnd * self.mss)
    }

    /// The window in segments.
    pub fn get(&self) -> f64 {
        self.cwnd
    }

    /// `amount` in segments.
    pub fn segments(&self, amount: Bytes) -> f64 {
        amount.as_f64() / self.mss
    }

    /// The slow start threshold in bytes; infinite before the first congestion.
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh * self.mss
    }

    /// Still below the slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Opens the window in slow start for `acked` bytes.
    pub fn slow_start(&mut self, acked: Bytes) {
        let step = self.segments(acked).min(self.slow_start_limit.into());
        self.cwnd = (self.cwnd + step).min(self.ssthresh.max(self.cwnd));
    }

    /// Opens the window by `segments`, beyond slow start.
    pub fn widen(&mut self, segments: f64) {
        self.cwnd += segments;
    }

    /// Takes window and threshold down to `target` segments, at least `floor`. Neither raises the window, and the threshold stays at
    /// two segments at least: slow start leads there from what a timeout or a smaller floor has left.
    pub fn reduce_to(&mut self, target: f64, floor: f64) {
        let target = target.max(floor);
        self.before_loss = None;
        self.ssthresh = target.max(MIN_THRESHOLD as f64);
        self.cwnd = self.cwnd.min(target);
    }

    /// Leaves half of what was outstanding, at least two segments.
    pub fn halve(&mut self, flight_size: Bytes) {
        self.before_loss = Some((self.cwnd, self.ssthresh));
        self.ssthresh = self.half_used(flight_size);
        self.cwnd = self.ssthresh;
    }

    /// Falls back to one segment, and slow start up to half of what was outstanding. A repeated timeout leaves the
    /// threshold alone.
    pub fn collapse(&mut self, flight_size: Bytes, repeated: bool) {
        if !repeated {
            self.before_loss = Some((self.cwnd, self.ssthresh));
            self.ssthresh = self.half_used(flight_size);
        }
        self.cwnd = 1.0;
        // One acknowledgment may now cover much that was sent before the timeout (RFC 3465 §2.3).
        self.slow_start_limit = self.slow_start_limit.min(self.limit_after_timeout);
    }

    /// After an idle time: begins again with `window` or less, as [`RenoWindow::restart`](super::RenoWindow::restart).
    pub fn restart(&mut self, window: Bytes) {
        self.before_loss = None;
        self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
        self.cwnd = self.cwnd.min(self.segments(window));
    }

    /// Half of the part of the window that was in use, at least two segments: a window the sender never filled says nothing of the
    /// path.
    fn half_used(&self, flight_size: Bytes) -> f64 {
        (self.segments(flight_size).min(self.cwnd) / 2.0).max(MIN_THRESHOLD as f64)
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

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut window = SegmentWindow::new(MSS, MSS * 20, 8);
        window.collapse(MSS * 15, false);
        for _ in 0..6 {
            window.slow_start(MSS);
        }
        assert_eq!(window.get(), 7.0);
        window.slow_start(MSS);
        assert_eq!(window.get(), 7.5);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn a_loss_halves_and_a_spurious_one_is_taken_back() {
        let mut window = SegmentWindow::new(MSS, MSS * 20, 2);
        window.halve(MSS * 15);
        assert_eq!(window.cwnd(), Bytes::new(7_500));
        window.undo();
        assert_eq!(window.cwnd(), MSS * 20);
        assert!(window.in_slow_start());
    }

    #[test]
    fn what_came_after_a_loss_is_not_taken_back_with_it() {
        let mut window = SegmentWindow::new(MSS, MSS * 20, 2);
        window.halve(MSS * 20);
        window.reduce_to(4.0, 2.0);
        window.undo();
        assert_eq!(window.get(), 4.0);
    }

    #[test]
    fn after_an_idle_time_the_window_starts_slowly_towards_three_quarters_of_what_it_was() {
        let mut window = SegmentWindow::new(MSS, MSS * 20, 2);
        window.reduce_to(16.0, 2.0);
        window.widen(24.0);
        window.restart(MSS * 10);
        assert_eq!((window.get(), window.ssthresh), (10.0, 30.0));
        window.restart(MSS * 20);
        assert_eq!((window.get(), window.ssthresh), (10.0, 30.0), "it never opens the window");
    }

    #[test]
    fn a_reduction_of_one_segment_leaves_it_in_slow_start_to_two() {
        let mut window = SegmentWindow::new(MSS, MSS * 20, 2);
        window.collapse(MSS * 20, false);
        window.reduce_to(0.5, 2.0);
        assert_eq!((window.get(), window.ssthresh), (1.0, 2.0), "the floor raises the threshold alone");
        window.reduce_to(0.5, 1.0);
        assert_eq!((window.get(), window.ssthresh), (1.0, 2.0), "no floor is below two for the threshold");
        window.slow_start(MSS);
        assert_eq!(window.get(), 2.0);
    }

    #[test]
    fn a_repeated_timeout_keeps_the_threshold() {
        let mut window = SegmentWindow::new(MSS, MSS * 20, 2);
        window.collapse(MSS * 20, false);
        window.collapse(MSS, true);
        assert_eq!((window.get(), window.ssthresh), (1.0, 10.0));
    }
}
