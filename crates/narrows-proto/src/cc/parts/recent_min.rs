use crate::units::{Span, Time};

/// Slots of a window: a minimum is forgotten at most one slot too early.
const SLOTS: u64 = 8;
const PLACES: usize = SLOTS as usize + 2;

/// The smallest of the values seen in a window of time that ends now. For the largest, wrap values in
/// [`Reverse`](std::cmp::Reverse).
///
/// It keeps the values that may still become the minimum: each is younger and larger than the one before. A value that
/// comes within an eighth of the window after a smaller one is represented by that one, so that few places suffice.
#[derive(Clone, Debug)]
pub struct RecentMin<T> {
    /// Oldest and smallest first.
    candidates: [(Time, T); PLACES],
    len: usize,
}

impl<T: Copy + Ord> RecentMin<T> {
    /// Begins with one value.
    pub fn new(now: Time, value: T) -> Self {
        Self { candidates: [(now, value); PLACES], len: 1 }
    }

    /// Takes in a value, forgets what is older than `window`, and returns the minimum of the rest.
    pub fn add(&mut self, now: Time, value: T, window: Span) -> T {
        self.expire(now, window);
        while self.len > 0 && self.candidates[self.len - 1].1 >= value {
            self.len -= 1;
        }
        let spaced = match self.len.checked_sub(1) {
            None => true,
            Some(newest) => now.saturating_since(self.candidates[newest].0) > window / SLOTS,
        };
        if spaced && self.len < PLACES {
            self.candidates[self.len] = (now, value);
            self.len += 1;
        }
        self.candidates[0].1
    }

    /// The minimum when a value was last added.
    pub fn get(&self) -> T {
        self.candidates[0].1
    }

    fn expire(&mut self, now: Time, window: Span) {
        let old = |(at, _): &&(Time, T)| now.saturating_since(*at) > window;
        let expired = self.candidates[..self.len].iter().take_while(old).count();
        self.candidates.copy_within(expired..self.len, 0);
        self.len -= expired;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    const WINDOW: Span = Span::from_us(80);

    #[test]
    fn a_smaller_value_replaces_all_before_it() {
        let mut min = RecentMin::new(at(0), 5);
        assert_eq!(min.add(at(20), 7, WINDOW), 5);
        assert_eq!(min.add(at(40), 3, WINDOW), 3);
        assert_eq!(min.add(at(120), 9, WINDOW), 3);
        assert_eq!(min.add(at(121), 9, WINDOW), 9);
    }

    #[test]
    fn a_shorter_window_forgets_more() {
        let mut min = RecentMin::new(at(0), 5);
        min.add(at(20), 6, WINDOW);
        assert_eq!(min.add(at(40), 7, WINDOW / 4), 6);
    }

    proptest! {
        #[test]
        fn the_result_lies_between_the_minima_of_the_window_and_of_seven_eighths(values in prop::collection::vec((0..40_u64, 0..1000_u32), 1..200)) {
            let mut now = at(0);
            let mut seen = vec![(now, 500)];
            let mut min = RecentMin::new(now, 500);
            for (step, value) in values {
                now += Span::from_us(step);
                seen.push((now, value));
                let found = min.add(now, value, WINDOW);
                let true_min = |window| seen.iter().filter(|(at, _)| now - *at <= window).map(|(_, v)| *v).min().unwrap();
                prop_assert!(found >= true_min(WINDOW) && found <= true_min(WINDOW / 8 * 7), "{found} {seen:?}");
            }
        }
    }
}
