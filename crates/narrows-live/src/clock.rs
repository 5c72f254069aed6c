//! The clock of a live run: time of the scenario, slowed down by a scale.

use std::time::{Duration, Instant};

use narrows_proto::units::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// Seconds of the clock for a second of the scenario.
    scale: f64,
}

impl Clock {
    /// It begins now.
    pub(crate) fn start(scale: f64) -> Self {
        Self { began: Instant::now(), scale }
    }

    /// Time of the scenario.
    pub(crate) fn now(&self) -> Time {
        // A run of a month still has a resolution below a nanosecond.
        Time::from_ps((self.began.elapsed().as_nanos() as f64 * 1_000.0 / self.scale) as u64)
    }

    /// Time of the clock from one time of the scenario to a later one.
    pub(crate) fn takes(&self, from: Time, to: Time) -> Duration {
        Duration::from_nanos(((to.max(from) - from).as_ps() as f64 / 1_000.0 * self.scale) as u64)
    }

    /// Time of the scenario in this many microseconds of the clock.
    pub(crate) fn us(&self, us: u64) -> Span {
        Span::from_ps((us as f64 * 1e6 / self.scale) as u64)
    }
}
