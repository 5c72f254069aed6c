//! Time for which a port is stopped, all of it or some of its classes.

use narrows_proto::units::{Span, Time};

/// Since when and until when a port is stopped, as far as is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    since: Time,
    until: Time,
}

impl Default for Stopped {
    fn default() -> Self {
        Self { since: Time::ZERO, until: Time::ZERO }
    }
}

impl Stopped {
    /// A frame says now that the port is stopped until then, or goes on now. Returns for how long it was stopped since the frame before.
    pub(crate) fn change(&mut self, now: Time, until: Time) -> Span {
        let before = self.until_now(now);
        *self = Self { since: now, until };
        before
    }

    /// When it goes on, if no frame says otherwise before.
    #[inline]
    pub(crate) fn until(&self) -> Time {
        self.until
    }

    /// For how long it was stopped since the last frame.
    pub(crate) fn until_now(&self, now: Time) -> Span {
        now.min(self.until).saturating_since(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_stop_counts_until_it_is_over_or_a_frame_ends_it() {
        let mut stopped = Stopped::default();
        let frames = [(10, 30), (20, 40), (25, 25), (50, 60), (80, 90)];
        let spans = frames.map(|(now, until)| stopped.change(at(now), at(until)));
        assert_eq!(spans, [0, 10, 5, 0, 10].map(Span::from_us));
        assert_eq!([85, 100].map(|now| stopped.until_now(at(now))), [5, 10].map(Span::from_us));
    }
}
