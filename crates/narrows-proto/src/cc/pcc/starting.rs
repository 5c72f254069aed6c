use super::rate::Bounds;

/// The starting phase of both versions (Dong et al., NSDI 2015): every interval has twice the rate of the one before, until a
/// result is worse than the one before it. The rate of that one is where the search goes on.
///
/// Results come an interval late, so one more doubling is on its way when the phase ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubling {
    rate: f64,
    tried: bool,
    last: Option<(f64, f64)>,
}

impl Doubling {
    /// Begins at `rate`.
    pub(crate) fn new(rate: f64) -> Self {
        Self { rate, tried: false, last: None }
    }

    /// The rate of the next interval.
    pub(crate) fn next(&mut self, bounds: Bounds) -> f64 {
        let factor = if self.tried { 2.0 } else { 1.0 };
        self.tried = true;
        self.rate = bounds.clamp(factor * self.rate);
        self.rate
    }

    /// An interval at `rate` had this utility. Returns where the search goes on if the phase is over; that is also so if
    /// the rate could not be raised any more.
    pub(crate) fn on_utility(&mut self, rate: f64, utility: f64) -> Option<f64> {
        match self.last.replace((rate, utility)) {
            Some((better, last)) if utility < last => Some(better),
            Some((before, _)) if rate <= before => Some(rate),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min: 1.0, max: 100.0 };

    #[test]
    fn the_rate_doubles_until_a_result_is_worse_and_returns_to_the_better_one() {
        let mut starting = Doubling::new(10.0);
        assert_eq!([(); 3].map(|()| starting.next(BOUNDS)), [10.0, 20.0, 40.0]);
        assert_eq!(starting.on_utility(10.0, 1.0), None);
        assert_eq!(starting.on_utility(20.0, 2.0), None);
        assert_eq!(starting.on_utility(40.0, 1.5), Some(20.0));
    }

    #[test]
    fn at_the_largest_rate_there_is_nothing_left_to_double() {
        let mut starting = Doubling::new(60.0);
        assert_eq!([(); 3].map(|()| starting.next(BOUNDS)), [60.0, 100.0, 100.0]);
        assert_eq!(starting.on_utility(60.0, 1.0), None);
        assert_eq!(starting.on_utility(100.0, 2.0), None);
        assert_eq!(starting.on_utility(100.0, 2.0), Some(100.0));
    }
}
