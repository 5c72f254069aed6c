/// The largest value of the last few ticks, from three samples: the best, the best since then, and the best since that.
///
/// This is Kathleen Nichols' estimator, which Linux uses (`lib/win_minmax.c`). Memory and time are constant. When the
/// best expires the next one follows; it is the largest of its part of the window, which may be less than the largest of
/// the whole.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMax<V> {
    /// From the best to the newest.
    samples: [Sample<V>; 3],
}

#[derive(Clone, Copy, Debug)]
struct Sample<V> {
    tick: u64,
    value: V,
}

impl<V: Copy + PartialOrd> WindowedMax<V> {
    /// Starts with `value` at tick 0.
    pub fn new(value: V) -> Self {
        Self { samples: [Sample { tick: 0, value }; 3] }
    }

    /// The largest value when the last one was added. Time alone expires nothing.
    pub fn get(&self) -> V {
        self.samples[0].value
    }

    /// Adds a value at `tick`, which never falls. What is more than `window` ticks older expires.
    pub fn add(&mut self, window: u64, tick: u64, value: V) {
        let newest = Sample { tick, value };
        let [best, second, third] = self.samples;
        if value >= best.value || tick - third.tick > window {
            self.samples = [newest; 3];
            return;
        }
        if value >= second.value {
            self.samples = [best, newest, newest];
        } else if value >= third.value {
            self.samples = [best, second, newest];
        }
        self.expire(window, newest);
    }

    /// Drops what is too old, and takes substitutes from later parts of the window before they are needed.
    fn expire(&mut self, window: u64, newest: Sample<V>) {
        let [best, second, third] = self.samples;
        let age = newest.tick - best.tick;
        if age > window {
            let second_too = newest.tick - second.tick > window;
            self.samples = if second_too { [third, newest, newest] } else { [second, third, newest] };
        } else if second.tick == best.tick && age > window / 4 {
            self.samples = [best, newest, newest];
        } else if third.tick == second.tick && age > window / 2 {
            self.samples = [best, second, newest];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter's answer after each value, one per tick, over a window of 10 ticks.
    fn answers(values: &[u64]) -> Vec<u64> {
        let mut filter = WindowedMax::new(0);
        let answer = |(tick, value): (u64, &u64)| {
            filter.add(10, tick, *value);
            filter.get()
        };
        (1..).zip(values).map(answer).collect()
    }

    #[test]
    fn a_larger_value_counts_at_once() {
        assert_eq!(answers(&[3, 5, 4, 9]), [3, 5, 5, 9]);
    }

    #[test]
    fn the_best_is_kept_for_a_window_and_no_longer() {
        // 9 stands at tick 1: it is 10 ticks old at tick 11 and expires at tick 12.
        let answers = answers(&[9, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
        assert_eq!(answers[..11], [9; 11]);
        assert_eq!(answers[11], 5);
    }

    #[test]
    fn when_the_best_expires_the_best_of_what_came_later_follows() {
        // 7 at tick 5 is more than a quarter of the window after the 9 and beaten by nothing later.
        let answers = answers(&[9, 1, 1, 1, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(answers[11..15], [7; 4]);
        // 7 expires 11 ticks after tick 5.
        assert_eq!(answers[15], 1);
    }

    #[test]
    fn without_additions_nothing_expires() {
        let mut filter = WindowedMax::new(0);
        filter.add(10, 1, 9);
        filter.add(10, 1, 2);
        assert_eq!(filter.get(), 9);
        filter.add(10, 100, 1);
        assert_eq!(filter.get(), 1);
    }
}
