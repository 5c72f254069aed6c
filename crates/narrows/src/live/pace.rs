use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use narrows_proto::units::{Span, Time};
use narrows_sim::observe::BetweenWindows;

/// Speed of runs requested by those who watch. Shared by all threads of all runs.
#[derive(Debug, Default)]
pub struct Control {
    paused: AtomicBool,
    /// Nobody watches any more.
    released: AtomicBool,
    /// Simulated picoseconds per second; zero for as fast as possible.
    limit: AtomicU64,
}

impl Control {
    /// Lets runs stand still at the end of their window, or go on.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    /// Runs stand still.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Lets no more than this much simulated time pass in a second; none for as fast as possible.
    pub fn limit(&self, per_second: Option<Span>) {
        self.limit.store(per_second.map_or(0, Span::as_ps), Ordering::Release);
    }

    /// From now on runs go on as fast as they can, whatever was asked before or will be.
    pub fn release(&self) {
        self.released.store(true, Ordering::Release);
    }

    fn is_released(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }
}

/// Holds one thread of a run up as its [`Control`] says.
#[derive(Debug)]
pub(crate) struct Pacer {
    control: Arc<Control>,
    /// The pause had begun when the observers beside this one were asked whether they want a review, so they have had it.
    holds: bool,
    /// Since when the limit is in force.
    since: Option<Anchor>,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    limit: u64,
    wall: Instant,
    at: Time,
}

/// Longest time until a request is received.
const NAP: Duration = Duration::from_millis(10);
/// Who is later than this does not catch up.
const LATE: Duration = Duration::from_millis(100);

impl Pacer {
    pub(super) fn new(control: &Arc<Control>) -> Self {
        Self { control: Arc::clone(control), holds: false, since: None }
    }

    fn pause(&mut self) {
        while self.control.is_paused() && !self.control.is_released() {
            sleep(NAP);
        }
        self.since = None;
    }

    fn keep_pace(&mut self, until: Time, limit: u64) {
        let anchor = match self.since {
            Some(anchor) if anchor.limit == limit => anchor,
            _ => *self.since.insert(Anchor { limit, wall: Instant::now(), at: until }),
        };
        let allowed = until.saturating_since(anchor.at).as_ps() as f64 / limit as f64;
        // Nobody waits longer than a day.
        let due = anchor.wall + Duration::from_secs_f64(allowed.min(86_400.0));
        if due.elapsed() > LATE {
            self.since = None;
        }
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let goes_on = self.control.is_paused() || self.control.is_released();
            if left.is_zero() || goes_on || self.control.limit.load(Ordering::Relaxed) != limit {
                return;
            }
            sleep(left.min(NAP));
        }
    }
}

impl BetweenWindows for Pacer {
    fn before_review(&mut self) {
        self.holds = self.control.is_paused();
    }

    fn window_over(&mut self, until: Time) {
        if std::mem::take(&mut self.holds) {
            self.pause();
        }
        match self.control.limit.load(Ordering::Relaxed) {
            0 => self.since = None,
            limit => self.keep_pace(until, limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_released_waits_for_nothing() {
        let control = Arc::new(Control::default());
        control.pause(true);
        control.limit(Some(Span::from_ps(1)));
        control.release();
        let mut pacer = Pacer::new(&control);
        for second in 0..1000 {
            pacer.before_review();
            pacer.window_over(Time::ZERO + Span::from_secs(second));
        }
    }

    #[test]
    fn a_limit_stretches_time() {
        let control = Arc::new(Control::default());
        control.limit(Some(Span::from_ms(1)));
        let mut pacer = Pacer::new(&control);
        let began = Instant::now();
        for us in 0..=50 {
            pacer.before_review();
            pacer.window_over(Time::ZERO + Span::from_us(us));
        }
        assert!(began.elapsed() >= Duration::from_millis(50));
    }
}
