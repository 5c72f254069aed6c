//! A value that changes at given times.

use std::sync::Arc;

use narrows_proto::units::{Span, Time};

/// A value that changes at given times, once or again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T> {
    /// When each value begins, in order; the first at zero.
    from: Vec<Span>,
    values: Vec<T>,
    /// After this time everything begins again.
    period: Option<Span>,
}

/// A value, and the time for which it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece<T> {
    pub(crate) value: T,
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl<T: Copy> Steps<T> {
    /// Values with the times at which they begin. The last holds for ever, or everything begins again after `period`.
    ///
    /// # Panics
    /// If there are none, the first does not begin at zero, times do not increase, or the period is not later than all of them.
    pub fn new(steps: impl IntoIterator<Item = (Span, T)>, period: Option<Span>) -> Self {
        let (from, values): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        assert!(from.first() == Some(&Span::ZERO), "the first step is at zero");
        assert!(from.is_sorted_by(|before, after| before < after), "steps are in order of time");
        assert!(period.is_none_or(|period| from.last() < Some(&period)), "the period ends after all steps");
        Self { from, values, period }
    }

    /// All values, in order of time.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.values.iter().copied()
    }

    /// Time after which everything begins again, if it does.
    pub fn period(&self) -> Option<Span> {
        self.period
    }

    /// The value at a time, and for how long it holds.
    pub(crate) fn at(&self, time: Time) -> Piece<T> {
        let since = time - Time::ZERO;
        let begin = self.period.map_or(0, |period| since.as_ps() / period.as_ps() * period.as_ps());
        let phase = Span::from_ps(since.as_ps() - begin);
        let place = self.from.partition_point(|from| *from <= phase) - 1;
        let at = |span: Span| Time::from_ps(begin.saturating_add(span.as_ps()));
        let end = self.from.get(place + 1).copied().or(self.period);
        Piece { value: self.values[place], from: at(self.from[place]), until: end.map_or(Time::NEVER, at) }
    }
}

/// Steps, and the piece that was looked at last.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<T> {
    steps: Arc<Steps<T>>,
    piece: Piece<T>,
}

impl<T: Copy> Cursor<T> {
    pub(crate) fn new(steps: &Arc<Steps<T>>) -> Self {
        Self { steps: Arc::clone(steps), piece: steps.at(Time::ZERO) }
    }

    pub(crate) fn steps(&self) -> &Steps<T> {
        &self.steps
    }

    /// The value at a time, and for how long it holds.
    #[inline]
    pub(crate) fn at(&mut self, time: Time) -> Piece<T> {
        if time < self.piece.from || time >= self.piece.until {
            self.piece = self.steps.at(time);
        }
        self.piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    fn values<const N: usize>(steps: Steps<u32>, at: [u64; N]) -> [u32; N] {
        let mut cursor = Cursor::new(&Arc::new(steps));
        at.map(|at| cursor.at(Time::ZERO + ms(at)).value)
    }

    #[test]
    fn a_value_holds_until_the_next_begins_and_the_last_for_ever() {
        let steps = Steps::new([(ms(0), 1), (ms(10), 2), (ms(15), 3)], None);
        assert_eq!(values(steps, [0, 9, 10, 14, 15, 1_000_000, 3]), [1, 1, 2, 2, 3, 3, 1]);
    }

    #[test]
    fn after_the_period_everything_begins_again() {
        let steps = Steps::new([(ms(0), 1), (ms(10), 2)], Some(ms(15)));
        assert_eq!(
            values(steps.clone(), [9, 10, 14, 15, 24, 25, 150_005, 150_010]),
            [1, 2, 2, 1, 1, 2, 1, 2]
        );
        let piece = steps.at(Time::ZERO + ms(26));
        assert_eq!(piece, Piece { value: 2, from: Time::ZERO + ms(25), until: Time::ZERO + ms(30) });
    }
}
